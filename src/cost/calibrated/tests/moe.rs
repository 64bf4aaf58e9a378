//! What is true of loads and of routed experts' times, whatever the parameters.

use crate::cost::calibrated::{Family, Hardware, Load, Moe, MoeFormat, Shape, TILE_ROWS};
use proptest::prelude::*;

const H100: Hardware = Hardware {
    sms: 132.0,
    l2: 50.0 * 1024.0 * 1024.0,
    bandwidth: 3.35e12,
    bf16: 989e12,
    fp8: 1979e12,
    int8: 1979e12,
    fp4: 1979e12,
    scale_up: 450e9,
    pcie: 64e9,
};

const FORMATS: [MoeFormat; 7] = [
    MoeFormat::Bf16,
    MoeFormat::Fp8,
    MoeFormat::Fp8Block,
    MoeFormat::Nvfp4,
    MoeFormat::W4a16,
    MoeFormat::Mxfp4,
    MoeFormat::Mxfp4Fp8,
];

fn moe(load: Load, hidden: f64, intermediate: f64, local: f64, format: MoeFormat) -> Moe {
    Moe {
        load,
        hidden,
        intermediate,
        local,
        experts: 128.0,
        gated: true,
        format,
        resident: false,
        eager: false,
    }
}

/// Parameters anywhere in their ranges.
fn parameters() -> impl Strategy<Value = Vec<f64>> {
    let count = Family::Moe.parameters().len();
    proptest::collection::vec(0.0..1.0_f64, count).prop_map(|at| {
        let ranges = Family::Moe.parameters().iter().zip(at);
        ranges
            .map(|(own, at)| own.low * libm::pow(own.high / own.low, at))
            .collect()
    })
}

fn seconds(shape: Moe, hardware: &Hardware, parameters: &[f64]) -> f64 {
    Shape::Moe(shape).physics(hardware, parameters).seconds
}

proptest! {
    /// Independent choices visit `E · (1 − (1 − k/E)^tokens)` experts, and tiles cover the copies.
    #[test]
    fn a_uniform_load_is_what_independent_choices_give(
        tokens in 1_u32..20_000, choices in 1_u32..9, shares in 0_u32..5,
    ) {
        let (tokens, choices) = (f64::from(tokens), f64::from(choices));
        let (experts, local) = (128.0, 128.0 / f64::from(1_u32 << shares));
        let load = Load::uniform(tokens, choices, experts, local);
        let copies = tokens * choices * local / experts;
        prop_assert!((load.copies / copies - 1.0).abs() < 5e-3, "{} {copies}", load.copies);
        let visited = local * (1.0 - libm::pow(1.0 - choices / experts, tokens));
        prop_assert!((load.visited / visited - 1.0).abs() < 5e-3, "{} {visited}", load.visited);
        for (tiles, rows) in load.tiles.iter().zip(TILE_ROWS) {
            prop_assert!(*tiles >= load.visited * 0.999 && tiles * rows >= load.copies * 0.999);
        }
        prop_assert!(load.tiles.is_sorted_by(|a, b| a >= b));
        prop_assert!(load.busiest <= tokens && load.busiest >= copies / local * 0.5 - 1.0);
    }

    /// One more token never makes a layer of independent choices faster, also where the sum over
    /// the binomial law gives way to the normal one.
    #[test]
    fn more_tokens_are_never_faster(tokens in 1_u32..20_000, p in parameters(), format in 0_usize..7) {
        let at = |tokens: u32| {
            let load = Load::uniform(f64::from(tokens), 8.0, 128.0, 32.0);
            seconds(moe(load, 4096.0, 1536.0, 32.0, FORMATS[format]), &H100, &p)
        };
        let (less, more) = (at(tokens), at(tokens + 1 + tokens / 50));
        prop_assert!(more >= less * 0.999, "{less} {more}");
    }

    #[test]
    fn wider_experts_are_never_faster(
        hidden in 128_u32..8192, inner in 64_u32..8192, tokens in 1_u32..5000, p in parameters(), format in 0_usize..7,
    ) {
        let load = Load::uniform(f64::from(tokens), 8.0, 128.0, 16.0);
        let at = |hidden: u32, inner: u32| {
            seconds(moe(load, f64::from(hidden), f64::from(inner), 16.0, FORMATS[format]), &H100, &p)
        };
        let now = at(hidden, inner);
        prop_assert!(at(hidden + hidden / 7 + 1, inner) >= now * (1.0 - 1e-9));
        prop_assert!(at(hidden, inner + inner / 7 + 1) >= now * (1.0 - 1e-9));
    }

    #[test]
    fn better_hardware_is_never_slower(
        tokens in 1_u32..20_000, p in parameters(), format in 0_usize..7, by in 1.0..4.0_f64, resident: bool, eager: bool,
    ) {
        let load = Load::uniform(f64::from(tokens), 8.0, 128.0, 16.0);
        let shape = Moe { resident, eager, ..moe(load, 4096.0, 1536.0, 16.0, FORMATS[format]) };
        let now = seconds(shape, &H100, &p);
        let better = [
            Hardware { bandwidth: H100.bandwidth * by, ..H100 },
            Hardware { bf16: H100.bf16 * by, fp8: H100.fp8 * by, fp4: H100.fp4 * by, ..H100 },
            Hardware { l2: H100.l2 * by, ..H100 },
        ];
        for hardware in better {
            prop_assert!(seconds(shape, &hardware, &p) <= now * (1.0 + 1e-9));
        }
    }

    #[test]
    fn times_and_features_are_finite(
        counts in proptest::collection::vec(0.0..1e6_f64, 0..40), tokens in 0.0..1e7_f64, choices in 0.0..64.0_f64,
        hidden in 0.0..1e5_f64, inner in 0.0..1e5_f64, experts in 0.0..4096.0_f64, p in parameters(), gated: bool, format in 0_usize..7,
    ) {
        let load = Load::of_counts(tokens, choices, counts.iter().copied());
        let local = counts.len() as f64;
        let shape = Moe { experts, gated, ..moe(load, hidden, inner, local, FORMATS[format]) };
        let parts = Shape::Moe(shape).physics(&H100, &p);
        prop_assert!(parts.seconds.is_finite() && parts.seconds > 0.0);
        for part in [parts.compute, parts.memory, parts.launch] {
            prop_assert!(part.is_finite() && part >= 0.0);
        }
        for value in Shape::Moe(shape).features(&H100).values() {
            prop_assert!(value.is_finite());
        }
    }
}

#[test]
fn features_are_as_many_as_their_names() {
    let load = Load::balanced(64.0, 8.0, 128.0, 32.0);
    let shape = Shape::Moe(moe(load, 4096.0, 1536.0, 32.0, MoeFormat::Bf16));
    assert_eq!(
        shape.features(&H100).values().len(),
        Family::Moe.features().len()
    );
}

#[test]
fn an_even_load_below_one_copy_each_visits_as_many_experts_as_copies() {
    let load = Load::balanced(4.0, 8.0, 128.0, 64.0);
    assert_eq!((load.copies, load.visited, load.busiest), (16.0, 16.0, 1.0));
    assert_eq!(load.tiles, [16.0; 6]);
    let load = Load::balanced(4096.0, 8.0, 128.0, 64.0);
    assert_eq!(
        (load.copies, load.visited, load.busiest),
        (16384.0, 64.0, 256.0)
    );
    assert_eq!(load.tiles, [2048.0, 1024.0, 512.0, 256.0, 128.0, 64.0]);
}

/// Mixtral's experts in BF16 for one token: two experts' weights at memory's speed.
#[test]
fn a_token_reads_its_experts() {
    let load = Load::uniform(1.0, 2.0, 8.0, 8.0);
    let shape = Moe {
        experts: 8.0,
        ..moe(load, 4096.0, 14336.0, 8.0, MoeFormat::Bf16)
    };
    let starts: Vec<f64> = Family::Moe
        .parameters()
        .iter()
        .map(|own| own.start)
        .collect();
    let read = 2.0 * 3.0 * 4096.0 * 14336.0 * 2.0 / 3.35e12;
    let parts = Shape::Moe(shape).physics(&H100, &starts);
    assert!(
        parts.memory > read && parts.memory < 2.0 * read,
        "{} {read}",
        parts.memory
    );
}

// LLMServingSim's count of what Qwen3-30B-A3B's router does with real text (bench/core/gate_stats.py):
// 8 tokens visit 47.6 of 128 experts, 128 tokens 120.6, and half way 0.87 of what equally liked ones
// would. A skew of 0.7 says 43.2, 126.2 and 0.82 to 0.84; one of 0.6 is within 5 % of all three.
#[test]
fn a_trained_router_visits_about_as_many_experts_as_was_counted() {
    let visited = |tokens| Load::skewed(tokens, 8.0, 128.0, 128.0, 0.7).visited;
    let uniform = |tokens| Load::uniform(tokens, 8.0, 128.0, 128.0).visited;
    println!(
        "{:.1} {:.1} {:.3} {:.3}",
        visited(8.0),
        visited(128.0),
        visited(16.0) / uniform(16.0),
        visited(32.0) / uniform(32.0)
    );
    assert!((visited(8.0) / 47.6 - 1.0).abs() < 0.1);
    assert!((visited(128.0) / 120.6 - 1.0).abs() < 0.06);
    for tokens in [16.0, 32.0] {
        let share = visited(tokens) / uniform(tokens);
        assert!((share / 0.87 - 1.0).abs() < 0.07, "{share}");
    }
}
