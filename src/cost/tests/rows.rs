//! Row-wise kernels by measured surfaces, and how far prices reach beyond measurements.

use super::runtime::planned;
use super::*;
use crate::plan::{Engine, EngineKind};

fn calibrated() -> Arc<dyn Fidelity> {
    Arc::new(Calibrated::new(
        Calibrations::embedded().unwrap(),
        Arc::new(Catalog::embedded().unwrap()),
    ))
}

fn norm(rows: f64, width: f64) -> Operator {
    Operator::Rows {
        kind: RowKind::Norm,
        rows,
        width,
        bytes: 8.0,
    }
}

#[test]
fn a_norm_takes_its_launch_at_decode_and_its_bytes_at_prefill() {
    let fidelity = calibrated();
    let catalog = Catalog::embedded().unwrap();
    for (gpu, kind, origin) in [
        ("h100-sxm", EngineKind::Vllm, Origin::Calibrated),
        ("h200-sxm", EngineKind::TensorRtLlm, Origin::Calibrated),
        ("b200-sxm", EngineKind::Sglang, Origin::Calibrated),
        ("a100-80-sxm", EngineKind::Vllm, Origin::Relative),
        ("b300-sxm", EngineKind::Vllm, Origin::Relative),
    ] {
        let own = catalog.gpu(&gpu.parse().unwrap()).unwrap();
        let engine = Engine {
            kind,
            ..Engine::vllm(true)
        };
        let prices = fidelity.on(own, &engine);
        // Inside CUDA graphs tables of all these have floors of 1.3 to 3.5 µs.
        for rows in [1.0, 16.0, 64.0] {
            let price = prices.price(&norm(rows, 8192.0));
            let us = price.seconds * 1e6;
            assert!((1.0..6.0).contains(&us), "{gpu} {rows}: {us}");
            assert_eq!(price.origin, origin, "{gpu}");
            assert!(price.band.below > 0.02 && price.band.above > 0.02, "{gpu}");
        }
        // 16,384 rows of 64 KiB are far beyond L2: between the datasheet's bandwidth and a third of it.
        let bytes = 16_384.0 * 8192.0 * 8.0;
        let share = bytes / own.bandwidth.get() / prices.price(&norm(16_384.0, 8192.0)).seconds;
        assert!((0.33..1.05).contains(&share), "{gpu}: {share}");
    }
}

#[test]
fn the_experts_weighted_sum_is_counted_once() {
    let plan = planned("qwen3-30b-a3b", Layout::SINGLE, |_| {});
    let kernels = experts(
        &plan.model,
        0,
        plan.pools[0].layout,
        Precision::BF16,
        64.0,
        64.0,
    );
    // Router, softmax and choice, the experts with their sum: no more.
    assert_eq!(kernels.len(), 3);
    let sum = kernels.iter().find_map(|(_, own)| match own {
        Operator::Experts { .. } => Some(own.work().1),
        _ => None,
    });
    // 127.4 of 128 experts' three matrices of 2,048 × 768; copies in, through and out; and their sum.
    let visited = 128.0 * (1.0 - libm::pow(1.0 - 8.0 / 128.0, 64.0));
    let copies = 64.0 * 8.0;
    let by_hand = visited * 3.0 * 2048.0 * 768.0 * 2.0
        + copies * (4.0 * 2048.0 + 6.0 * 768.0)
        + (copies + 64.0) * 2.0 * 2048.0;
    assert!((sum.unwrap() / by_hand - 1.0).abs() < 1e-9);
}

#[test]
fn norms_of_heads_are_kernels_of_their_own() {
    let of = |model: &str| {
        let plan = planned(model, Layout::SINGLE, |_| {});
        let kernels = by_tokens(&plan.model, 0, Layout::SINGLE, Precision::BF16, 4.0);
        let heads = kernels.into_iter().filter_map(|(_, own)| match own {
            Operator::Rows {
                kind: RowKind::NormOfHeads,
                rows,
                width,
                ..
            } => Some((rows, width)),
            _ => None,
        });
        heads.collect::<Vec<_>>()
    };
    // 32 query and 4 key heads of four tokens.
    assert_eq!(of("qwen3-30b-a3b"), [(4.0 * 36.0, 128.0)]);
    assert_eq!(of("llama-3.1-8b"), []);
}

#[test]
fn a_plan_says_how_far_its_prices_reach() {
    let plan = planned("llama-3.1-8b", Layout::SINGLE, |_| {});
    let farthest = |fidelity: &Arc<dyn Fidelity>, context: u64| {
        let mut pricer = StepPricer::new(&plan.topology, &plan.model, &plan.pools[0], fidelity);
        let lane = LaneShape {
            decodes: 1,
            context,
            sampled: 1,
            ..LaneShape::default()
        };
        let price = pricer.stage(0, &[lane]);
        let beyond = [Origin::Extrapolated, Origin::RelativeExtrapolated];
        let time: u64 = beyond.map(|own| price.by_origin[own as usize]).iter().sum();
        (pricer.farthest(), time)
    };
    let roofline: Arc<dyn Fidelity> = Arc::new(Roofline);
    assert_eq!(farthest(&roofline, 1 << 28), (None, 0));
    let calibrated = calibrated();
    // A quarter of a billion tokens: no table goes there.
    let (far, time) = farthest(&calibrated, 1 << 28);
    let (factor, class) = far.unwrap();
    assert!(factor > 100.0 && time > 0, "{factor} {time}");
    assert_eq!(class, Class::Attention);
    let near = farthest(&calibrated, 4096).0;
    assert!(
        near.is_none_or(|(near, _)| near < factor / 10.0),
        "{near:?}"
    );
}
