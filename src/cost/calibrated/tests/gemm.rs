//! What is true of every product and row-wise kernel, whatever its parameters.

use crate::catalog::{Catalog, GpuId};
use crate::cost::calibrated::{
    Calibrations, Call, Family, Gemm, GemmFormat, Hardware, HeadProduct, Rowwise, Shape,
};
use proptest::prelude::*;

const FORMATS: [GemmFormat; 7] = [
    GemmFormat::Bf16,
    GemmFormat::Fp8,
    GemmFormat::Fp8Block,
    GemmFormat::Nvfp4,
    GemmFormat::Int8,
    GemmFormat::W8a16,
    GemmFormat::W4a16,
];

fn hardware(name: &str) -> Hardware {
    let catalog = Catalog::embedded().unwrap();
    Hardware::of(catalog.gpu(&GpuId::new(name).unwrap()).unwrap())
}

/// Parameters anywhere between their bounds, by shares of the way in the logarithm.
fn parameters(family: Family, shares: &[f64]) -> Vec<f64> {
    let between = |(own, share): (&super::super::Parameter, &f64)| {
        own.low * libm::pow(own.high / own.low, *share)
    };
    let shares = shares.iter().cycle();
    family
        .parameters()
        .iter()
        .zip(shares)
        .map(between)
        .collect()
}

/// A product, one per head, and what is done to its rows, each with `m`, `n`, `k` as sizes.
fn shapes([m, n, k]: [f64; 3], format: GemmFormat, call: Call) -> [Shape; 3] {
    let heads = 1.0 + libm::floor(n / 64.0) % 128.0;
    [
        Shape::Gemm(Gemm {
            m,
            n,
            k,
            format,
            call,
        }),
        Shape::MlaBmm(HeadProduct {
            heads,
            tokens: m,
            n: 128.0,
            k,
            format,
            call,
        }),
        Shape::Rowwise(Rowwise {
            rows: m,
            width: k,
            bytes: 3.0,
            eager: call.eager,
        }),
    ]
}

fn sizes() -> impl Strategy<Value = [f64; 3]> {
    [0.0..17.0, 3.0..17.0, 3.0..17.0_f64]
        .prop_map(|own| own.map(|size| libm::round(libm::exp2(size))))
}

fn calls() -> impl Strategy<Value = Call> {
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(quantises, eager, repeated)| Call {
        quantises,
        eager,
        repeated,
    })
}

proptest! {
    #[test]
    fn more_work_is_never_faster_and_better_hardware_never_slower(
        sizes in sizes(),
        more in 1.0..3.0_f64,
        shares in proptest::collection::vec(0.0..1.0_f64, 20),
        format in proptest::sample::select(&FORMATS[..]),
        call in calls(),
        gpu in proptest::sample::select(&["h100-sxm", "gb300", "l40s", "a100-80-sxm"][..]),
    ) {
        let hardware = hardware(gpu);
        for shape in shapes(sizes, format, call) {
            let own = parameters(shape.family(), &shares);
            let now = shape.physics(&hardware, &own).seconds;
            if format.peak(&hardware) <= 0.0 {
                // No unit for it: no time either, and nothing to compare.
                continue;
            }
            prop_assert!(now.is_finite() && now > 0.0, "{shape:?}: {now}");
            for side in 0..3 {
                let mut larger = sizes;
                larger[side] = libm::ceil(larger[side] * more);
                // Heads are counted from n, and need not grow with it.
                let shape = shapes(larger, format, call).into_iter().find(|own| own.family() == shape.family()).unwrap();
                if side == 1 && shape.family() != Family::Gemm {
                    continue;
                }
                let then = shape.physics(&hardware, &own).seconds;
                prop_assert!(then >= now * (1.0 - 1e-9), "{shape:?}: {then} after {now}");
            }
            let better = [
                Hardware { bandwidth: hardware.bandwidth * more, ..hardware },
                Hardware { l2: hardware.l2 * more, ..hardware },
                Hardware {
                    bf16: hardware.bf16 * more,
                    fp8: hardware.fp8 * more,
                    int8: hardware.int8 * more,
                    fp4: hardware.fp4 * more,
                    ..hardware
                },
            ];
            for other in better {
                prop_assert!(shape.physics(&other, &own).seconds <= now * (1.0 + 1e-9), "{shape:?} on {other:?}");
            }
        }
    }

    #[test]
    fn a_bare_call_holds_least(
        sizes in sizes(),
        shares in proptest::collection::vec(0.0..1.0_f64, 20),
        format in proptest::sample::select(&FORMATS[..]),
        call in calls(),
    ) {
        let hardware = hardware("h200-sxm");
        let [shape, ..] = shapes(sizes, format, call);
        let own = parameters(shape.family(), &shares);
        let time = |call| shapes(sizes, format, call)[0].physics(&hardware, &own).seconds;
        if format.peak(&hardware) > 0.0 {
            let held = time(call);
            let (bare, graph, cold) = (
                time(Call { quantises: false, ..call }),
                time(Call { eager: false, ..call }),
                time(Call { repeated: false, ..call }),
            );
            prop_assert!(bare <= held, "quantising takes time");
            prop_assert!(graph <= held, "a graph hides the host");
            prop_assert!(cold >= held, "cold weights are slower");
        }
    }
}

#[test]
fn beyond_its_tables_a_product_grows_as_physics_says() {
    let calibrations = Calibrations::embedded().unwrap();
    let catalog = Catalog::embedded().unwrap();
    let (mut asked, mut smooth) = (0, 0);
    for surface in calibrations.surfaces() {
        if surface.id.family != Family::Gemm || surface.held_out.rows < 5000 {
            continue;
        }
        let hardware = Hardware::of(catalog.gpu(&surface.id.gpu).unwrap());
        let format = match surface.id.precision.as_str() {
            "bfloat16" => GemmFormat::Bf16,
            "fp8" => GemmFormat::Fp8,
            "fp8_block" => GemmFormat::Fp8Block,
            "nvfp4" => GemmFormat::Nvfp4,
            _ => continue,
        };
        let edge = libm::round(libm::exp(surface.range[0].1));
        let time = |m: f64| {
            let shape = Shape::Gemm(Gemm {
                m,
                n: 4096.0,
                k: 4096.0,
                format,
                call: Call::default(),
            });
            surface.estimate(&hardware, &shape)
        };
        let (at, beyond) = (time(edge), time(edge * 17.0 / 16.0));
        assert!((at.beyond - 1.0).abs() < 1e-3, "{:?}", surface.id);
        assert!(beyond.beyond > 1.05, "{:?}", surface.id);
        // Rows of another power of two may run another kernel, which the forest has learnt.
        let step = beyond.parts.seconds / at.parts.seconds / (17.0 / 16.0);
        assert!(
            (0.75..1.35).contains(&step),
            "{:?}: {step} across the edge",
            surface.id
        );
        smooth += i32::from((0.92..1.08).contains(&step));
        // Where both operands spill from L2 between, twice the rows are somewhat more than that.
        let double = time(edge * 32.0).parts.seconds / time(edge * 16.0).parts.seconds;
        // Kernels for few rows only (vLLM's with swapped operands) are bound by weights for long.
        assert!(
            edge < 1024.0 || (1.9..2.1).contains(&double),
            "{:?}: {double} for twice the rows",
            surface.id
        );
        asked += 1;
    }
    assert!(asked > 50, "{asked} surfaces");
    assert!(smooth * 10 >= asked * 8, "{smooth} of {asked} are smooth");
}
