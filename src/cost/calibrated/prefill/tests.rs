use super::super::gemm::GemmFormat;
use super::super::hardware::Hardware;
use super::super::kernel::{Kernel, Parameter};
use super::span::{Tiling, Walk};
use super::{AttentionFormat, ContextAttention, DsaContext, MlaContext, MlaModule, MlaWidths};
use proptest::prelude::*;

/// An H100 SXM by its datasheet.
const H100: Hardware = Hardware {
    sms: 132.0,
    l2: 50.0 * 1_048_576.0,
    bandwidth: 3.35e12,
    bf16: 989e12,
    fp8: 1979e12,
    int8: 1979e12,
    fp4: 1979e12,
    scale_up: 450e9,
    pcie: 64e9,
};

fn starts(family: &[Parameter]) -> Vec<f64> {
    family.iter().map(|own| own.start).collect()
}

/// Anywhere between the bounds of a family, by a share of the way for each parameter.
fn between(family: &[Parameter], shares: &[f64]) -> Vec<f64> {
    family
        .iter()
        .zip(shares.iter().cycle())
        .map(|(own, share)| own.low * libm::pow(own.high / own.low, *share))
        .collect()
}

fn seconds<K: Kernel>(shape: &K, hardware: &Hardware, parameters: &[f64]) -> f64 {
    let parts = shape.physics(hardware, parameters);
    for part in [parts.compute, parts.memory, parts.link, parts.launch] {
        assert!(part.is_finite() && part >= 0.0, "{parts:?}");
    }
    assert!(
        parts.seconds.is_finite() && parts.seconds > 0.0,
        "{parts:?}"
    );
    parts.seconds
}

/// Better hardware in every way but its SMs: a peak on more SMs is a smaller peak of each.
fn better() -> [Hardware; 4] {
    [
        Hardware {
            bf16: H100.bf16 * 1.7,
            fp8: H100.fp8 * 1.7,
            fp4: H100.fp4 * 1.7,
            ..H100
        },
        Hardware {
            bandwidth: H100.bandwidth * 1.7,
            ..H100
        },
        Hardware {
            l2: H100.l2 * 1.7,
            ..H100
        },
        Hardware {
            bf16: H100.bf16 * 2.0,
            fp8: H100.fp8 * 2.0,
            fp4: H100.fp4 * 2.0,
            sms: H100.sms * 2.0,
            ..H100
        },
    ]
}

/// What must hold of any family: `more` are the same shape with more to do.
fn holds<K: Kernel>(shape: &K, more: &[K], parameters: &[f64]) {
    let base = seconds(shape, &H100, parameters);
    for (index, own) in more.iter().enumerate() {
        let larger = seconds(own, &H100, parameters);
        assert!(
            larger >= base * (1.0 - 1e-9),
            "more work {index}: {base} → {larger}"
        );
    }
    for (index, hardware) in better().iter().enumerate() {
        let faster = seconds(shape, hardware, parameters);
        assert!(
            faster <= base * (1.0 + 1e-9),
            "better hardware {index}: {base} → {faster}"
        );
    }
    let mut features = super::super::kernel::Features::default();
    shape.features(&H100, &mut features);
    assert_eq!(features.values().len(), K::FEATURES.len());
    for (value, name) in features.values().iter().zip(K::FEATURES) {
        assert!((-8.0..56.0).contains(value), "{name} is {value}");
    }
}

fn attention() -> impl Strategy<Value = ContextAttention> {
    (
        (1.0..300_f64, 1.0..200_000_f64, 0.0..1_000_000_f64),
        (0..5_u32, 1..17_u32),
        prop::sample::select(vec![64.0, 80.0, 96.0, 128.0, 192.0, 256.0, 512.0]),
        prop::option::of(1.0..40_000_f64),
        any::<(bool, bool)>(),
    )
        .prop_map(
            |((batch, tokens, prior), (kv, group), head_dim, window, (fp8, fp8_cache))| {
                let kv_heads = f64::from(1 << kv);
                ContextAttention {
                    batch: batch.floor(),
                    tokens: tokens.floor(),
                    prior: prior.floor(),
                    heads: kv_heads * f64::from(group),
                    kv_heads,
                    head_dim,
                    window: window.map_or(f64::INFINITY, f64::floor),
                    format: AttentionFormat { fp8, fp8_cache },
                    eager: false,
                }
            },
        )
}

fn latent() -> impl Strategy<Value = MlaContext> {
    (
        1.0..300_f64,
        1.0..200_000_f64,
        0.0..1_000_000_f64,
        0..8_u32,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(batch, tokens, prior, heads, glm, fp8)| MlaContext {
            batch: batch.floor(),
            tokens: tokens.floor(),
            prior: prior.floor(),
            heads: f64::from(1 << heads),
            widths: if glm {
                MlaWidths::GLM_5
            } else {
                MlaWidths::DEEPSEEK_V3
            },
            format: AttentionFormat {
                fp8,
                fp8_cache: fp8,
            },
        })
}

fn more_latent(own: MlaContext) -> [MlaContext; 4] {
    [
        MlaContext {
            batch: own.batch + 1.0,
            ..own
        },
        MlaContext {
            tokens: own.tokens + 1.0,
            ..own
        },
        MlaContext {
            prior: own.prior + 100.0,
            ..own
        },
        MlaContext {
            heads: own.heads * 2.0,
            ..own
        },
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn attention_is_monotone_and_finite(own in attention(), shares in prop::collection::vec(0.0..1_f64, 23)) {
        let p = between(ContextAttention::PARAMETERS, &shares);
        let more = [
            ContextAttention { batch: own.batch + 1.0, ..own },
            ContextAttention { tokens: own.tokens + 1.0, ..own },
            ContextAttention { tokens: own.tokens * 1.5, ..own },
            ContextAttention { prior: own.prior + 100.0, ..own },
            ContextAttention { heads: own.heads + own.kv_heads, ..own },
            ContextAttention { window: own.window * 1.1, ..own },
            ContextAttention { head_dim: own.head_dim * 1.25, ..own },
        ];
        holds(&own, &more, &p);
    }

    #[test]
    fn latent_attention_is_monotone_and_finite(own in latent(), shares in prop::collection::vec(0.0..1_f64, 19)) {
        holds(&own, &more_latent(own), &between(MlaContext::PARAMETERS, &shares));
        let block = |core| MlaModule { core, projections: GemmFormat::Fp8Block };
        holds(&block(own), &more_latent(own).map(block), &between(MlaModule::PARAMETERS, &shares));
    }

    #[test]
    fn sparse_attention_is_monotone_and_finite(own in latent(), shares in prop::collection::vec(0.0..1_f64, 17)) {
        let block = |core| DsaContext {
            core,
            projections: GemmFormat::Bf16,
            index_heads: 64.0,
            index_dim: 128.0,
            chosen: 2048.0,
        };
        let p = between(DsaContext::PARAMETERS, &shares);
        // Where a context outgrows what is chosen, another kernel takes over: compare on one side.
        let side = |core: &MlaContext| core.prior + core.tokens <= 2048.0;
        let more: Vec<DsaContext> =
            more_latent(own).into_iter().filter(|core| side(core) == side(&own)).map(block).collect();
        holds(&block(own), &more, &p);
    }

    /// What a query sees is counted as it would be one by one.
    #[test]
    fn seen_keys_are_counted(tokens in 1..400_u32, prior in 0..400_u32, window in prop::option::of(1..500_u32)) {
        let walk = Walk {
            batch: 1.0,
            tokens: f64::from(tokens),
            prior: f64::from(prior),
            heads: 1.0,
            kv_heads: 1.0,
            window: window.map_or(f64::INFINITY, f64::from),
        };
        let sum: u32 = (1..=tokens).map(|i| (prior + i).min(window.unwrap_or(u32::MAX))).sum();
        prop_assert!((walk.seen() * f64::from(tokens) - f64::from(sum)).abs() < 1e-6);
    }
}

/// Llama-3.1-8B's heads, 8 Ki tokens: within what FlashAttention-3 publishes for H100 (570–660
/// TFLOP/s, causal, heads of 128; Shah et al. 2024, figure 5) at the share of peak fits find.
#[test]
fn long_prompts_reach_published_rates() {
    let own = ContextAttention {
        batch: 2.0,
        tokens: 8192.0,
        prior: 0.0,
        heads: 32.0,
        kv_heads: 8.0,
        head_dim: 128.0,
        window: f64::INFINITY,
        format: AttentionFormat {
            fp8: false,
            fp8_cache: false,
        },
        eager: false,
    };
    let mut p = starts(ContextAttention::PARAMETERS);
    let peak = ContextAttention::PARAMETERS
        .iter()
        .position(|own| own.name == "peak")
        .unwrap();
    p[peak] = 0.68;
    let flops = 4.0 * own.batch * own.heads * own.head_dim * own.tokens * (own.tokens + 1.0) / 2.0;
    let rate = flops / own.physics(&H100, &p).seconds / 1e12;
    assert!((520.0..670.0).contains(&rate), "{rate} TFLOP/s");
    // Far beyond any table: four times the pairs, nearly four times the time.
    let far = |tokens| {
        ContextAttention { tokens, ..own }
            .physics(&H100, &p)
            .seconds
    };
    assert!((far(2_097_152.0) / far(1_048_576.0) - 4.0).abs() < 0.01);
}

/// A window bounds what a long prompt takes: linear in its tokens.
#[test]
fn windows_make_prompts_linear() {
    let own = ContextAttention {
        batch: 1.0,
        tokens: 65_536.0,
        prior: 0.0,
        heads: 64.0,
        kv_heads: 8.0,
        head_dim: 64.0,
        window: 128.0,
        format: AttentionFormat {
            fp8: false,
            fp8_cache: false,
        },
        eager: false,
    };
    let mut p = starts(ContextAttention::PARAMETERS);
    let visited = ContextAttention::PARAMETERS
        .iter()
        .position(|own| own.name == "visited")
        .unwrap();
    p[visited] = 0.001;
    let twice = ContextAttention {
        tokens: own.tokens * 2.0,
        ..own
    };
    let ratio = twice.physics(&H100, &p).seconds / own.physics(&H100, &p).seconds;
    assert!((1.9..2.3).contains(&ratio), "{ratio}");
}

/// A sequence's new tokens over a prior context take what the whole takes less what its beginning
/// took, while the SMs are full.
#[test]
fn chunks_add_up_to_the_whole() {
    let whole = ContextAttention {
        batch: 1.0,
        tokens: 65_536.0,
        prior: 0.0,
        heads: 32.0,
        kv_heads: 8.0,
        head_dim: 128.0,
        window: f64::INFINITY,
        format: AttentionFormat {
            fp8: false,
            fp8_cache: false,
        },
        eager: false,
    };
    let p = starts(ContextAttention::PARAMETERS);
    let chunks: f64 = (0..8)
        .map(|chunk| {
            let own = ContextAttention {
                tokens: 8192.0,
                prior: 8192.0 * f64::from(chunk),
                ..whole
            };
            own.physics(&H100, &p).seconds
        })
        .sum();
    let ratio = chunks / whole.physics(&H100, &p).seconds;
    assert!((0.98..1.1).contains(&ratio), "{ratio}");
}

/// One query over a long context does not leave 131 SMs idle.
#[test]
fn a_long_prior_context_is_shared_out() {
    let walk = Walk {
        batch: 1.0,
        tokens: 1.0,
        prior: 131_072.0,
        heads: 8.0,
        kv_heads: 1.0,
        window: f64::INFINITY,
    };
    let tiling = Tiling {
        prologue: 1e-6,
        load: 1e-6,
        small: 0.2,
        packed: 1.0,
        tail: 0.5,
        edge: 0.0,
        visited: 0.0,
    };
    let one = walk.core(1.0, 1e-9, &tiling);
    let many = walk.core(132.0, 1e-9, &tiling);
    assert!(many < one / 20.0, "{one} on one SM, {many} on all");
}
