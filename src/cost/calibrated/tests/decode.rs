//! What is true of every decode attention, whatever its parameters.

use super::super::Parameter;
use crate::catalog::{Catalog, GpuId};
use crate::cost::calibrated::{Decode, Hardware, Kernel, MlaDecode, MlaWidths, Packing, Parts};
use proptest::prelude::*;

fn hardware(name: &str) -> Hardware {
    let catalog = Catalog::embedded().unwrap();
    Hardware::of(catalog.gpu(&GpuId::new(name).unwrap()).unwrap())
}

/// Parameters anywhere between their bounds, by shares of the way in the logarithm.
fn parameters(family: &[Parameter], shares: &[f64]) -> Vec<f64> {
    family
        .iter()
        .zip(shares.iter().cycle())
        .map(|(own, share)| own.low * libm::pow(own.high / own.low, *share))
        .collect()
}

fn attention() -> impl Strategy<Value = Decode> {
    (
        (1_u32..600, 1_u32..400_000),
        (0_u32..5, 1_u32..17),
        prop::sample::select(vec![64.0, 128.0, 256.0]),
        prop::sample::select(vec![Packing::Groups, Packing::UpTo32, Packing::Never]),
        any::<(bool, bool, bool)>(),
    )
        .prop_map(
            |((sequences, tokens), (kv, group), dim, packing, (fp8, hot, eager))| {
                let (sequences, kv_heads) = (f64::from(sequences), f64::from(1 << kv));
                let entries = sequences * f64::from(tokens);
                Decode {
                    sequences,
                    entries,
                    heads: kv_heads * f64::from(group),
                    kv_heads,
                    qk_dim: dim,
                    v_dim: dim,
                    window: 0.0,
                    past_window: 0.0,
                    context: entries,
                    kv_bytes: if fp8 { 1.0 } else { 2.0 },
                    packing,
                    hot,
                    eager,
                }
            },
        )
}

fn latent() -> impl Strategy<Value = MlaDecode> {
    (
        1_u32..600,
        1_u32..400_000,
        0_u32..8,
        any::<(bool, bool, bool, bool)>(),
    )
        .prop_map(
            |(sequences, tokens, heads, (fp8, hot, eager, tensor_memory))| {
                let sequences = f64::from(sequences);
                MlaDecode {
                    sequences,
                    entries: sequences * f64::from(tokens),
                    heads: f64::from(1 << heads),
                    widths: MlaWidths::DEEPSEEK_V3,
                    kv_bytes: if fp8 { 1.0 } else { 2.0 },
                    hot,
                    eager,
                    tensor_memory,
                }
            },
        )
}

/// Finite, positive; no less time for any of `more`; no more on better hardware.
fn holds<K: Kernel + std::fmt::Debug>(
    shape: &K,
    more: &[K],
    gpu: &Hardware,
    shares: &[f64],
    factor: f64,
) -> Result<(), TestCaseError> {
    let own = parameters(K::PARAMETERS, shares);
    let now = shape.physics(gpu, &own).seconds;
    prop_assert!(now.is_finite() && now > 0.0, "{shape:?}: {now}");
    for larger in more {
        let then = larger.physics(gpu, &own).seconds;
        prop_assert!(then >= now * (1.0 - 1e-9), "{larger:?}: {then} after {now}");
    }
    for better in [
        Hardware {
            bandwidth: gpu.bandwidth * factor,
            ..*gpu
        },
        Hardware {
            bf16: gpu.bf16 * factor,
            fp8: gpu.fp8 * factor,
            ..*gpu
        },
        Hardware {
            l2: gpu.l2 * factor,
            ..*gpu
        },
    ] {
        let Parts { seconds, .. } = shape.physics(&better, &own);
        prop_assert!(
            seconds <= now * (1.0 + 1e-9),
            "{better:?}: {seconds} from {now}"
        );
    }
    Ok(())
}

proptest! {
    #[test]
    fn heads_and_their_keys(
        own in attention(),
        more in 1.0..3.0_f64,
        shares in prop::collection::vec(0.0..1.0_f64, 21),
        gpu in prop::sample::select(&["h100-sxm", "gb300", "l40s", "a100-80-sxm"][..]),
    ) {
        let longer = Decode { entries: own.entries * more, context: own.context * more, ..own };
        let many = Decode { sequences: own.sequences * more, ..longer };
        let wider = Decode { qk_dim: own.qk_dim * more, v_dim: own.v_dim * more, ..own };
        let whole = Decode { kv_bytes: own.kv_bytes * more, ..own };
        holds(&own, &[longer, many, wider, whole], &hardware(gpu), &shares, more)?;
    }

    #[test]
    fn latents(
        own in latent(),
        more in 1.0..3.0_f64,
        shares in prop::collection::vec(0.0..1.0_f64, 18),
        gpu in prop::sample::select(&["h100-sxm", "gb300", "l40s", "a100-80-sxm"][..]),
    ) {
        let longer = MlaDecode { entries: own.entries * more, ..own };
        let many = MlaDecode { sequences: own.sequences * more, ..longer };
        let whole = MlaDecode { kv_bytes: own.kv_bytes * more, ..own };
        holds(&own, &[longer, many, whole], &hardware(gpu), &shares, more)?;
    }
}
