//! The gated delta net's kernels: what is true of any parameters.

use crate::catalog::Catalog;
use crate::cost::calibrated::{
    DeltaChunks, DeltaConvolution, DeltaHeads, DeltaStep, Hardware, Kernel, Parameter,
};
use proptest::prelude::*;

fn hardware() -> Hardware {
    let catalog = Catalog::embedded().unwrap();
    Hardware::of(catalog.gpu(&"h100-sxm".parse().unwrap()).unwrap())
}

fn within(family: &[Parameter], units: &[f64]) -> Vec<f64> {
    family
        .iter()
        .zip(units)
        .map(|(own, unit)| (own.low.ln() + unit * (own.high / own.low).ln()).exp())
        .collect()
}

fn time<K: Kernel>(shape: &K, hardware: &Hardware, parameters: &[f64]) -> f64 {
    let seconds = shape.physics(hardware, parameters).seconds;
    assert!(seconds.is_finite() && seconds > 0.0);
    seconds
}

proptest! {
    #[test]
    fn more_work_is_never_faster_and_better_hardware_never_slower(
        units in prop::collection::vec(0.0..1.0_f64, 12),
        sequences in 1.0..4096.0_f64, tokens in 1.0..1e5_f64, keys in 1_u32..33, groups in 1_u32..9,
        more in 1.0..4.0_f64,
    ) {
        let h100 = hardware();
        let better = Hardware {
            bandwidth: h100.bandwidth * more,
            bf16: h100.bf16 * more,
            sms: (h100.sms * more).floor(),
            l2: h100.l2 * more,
            ..h100
        };
        let of = |groups: u32| DeltaHeads {
            keys: f64::from(keys),
            values: f64::from(keys * groups),
            key_dim: 128.0,
            value_dim: 128.0,
        };
        let (heads, wider) = (of(groups), of(groups + 1));
        macro_rules! grows {
            ($of:ty, $own:expr, $($grown:expr),*) => {{
                let parameters = within(<$of>::PARAMETERS, &units);
                let own = $own;
                let t = time(&own, &h100, &parameters);
                $(
                    let grown = time(&$grown, &h100, &parameters);
                    prop_assert!(grown >= t * (1.0 - 1e-9));
                )*
                let faster = time(&own, &better, &parameters);
                prop_assert!(faster <= t * (1.0 + 1e-9));
            }};
        }
        let own = DeltaConvolution { heads, sequences, tokens, channels: heads.channels() };
        grows!(
            DeltaConvolution, own,
            DeltaConvolution { tokens: tokens * more, ..own },
            DeltaConvolution { sequences: sequences * more, ..own },
            DeltaConvolution { channels: wider.channels(), ..own }
        );
        let own = DeltaChunks { heads, sequences, tokens };
        grows!(
            DeltaChunks, own,
            DeltaChunks { tokens: tokens * more, ..own },
            DeltaChunks { sequences: sequences * more, ..own },
            DeltaChunks { heads: wider, ..own }
        );
        for channels in [0.0, heads.channels()] {
            let own = DeltaStep { heads, sequences, channels };
            grows!(DeltaStep, own, DeltaStep { sequences: sequences * more, ..own }, DeltaStep { heads: wider, ..own });
        }
    }

    #[test]
    fn long_prompts_cost_in_proportion(sequences in 1_u32..64, units in prop::collection::vec(0.0..1.0_f64, 12)) {
        // Beyond what was measured the physics goes on: eight times the tokens, eight times the time.
        let heads = DeltaHeads { keys: 16.0, values: 32.0, key_dim: 128.0, value_dim: 128.0 };
        let of = |tokens| DeltaChunks { heads, sequences: f64::from(sequences), tokens };
        let parameters = within(DeltaChunks::PARAMETERS, &units);
        let (short, long) = (time(&of(1e6), &hardware(), &parameters), time(&of(8e6), &hardware(), &parameters));
        prop_assert!((long / short / 8.0 - 1.0).abs() < 0.1, "{}", long / short);
    }
}
