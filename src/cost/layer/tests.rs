//! Layers against measured ones.

use super::*;
use crate::catalog::{Catalog, GpuId, ModelId};
use crate::cost::calibrated::{Calibrated, Calibrations};
use crate::cost::operator::Fidelity;
use crate::model::Models;
use crate::plan::{Engine, EngineKind, Layout};
use std::sync::Arc;

/// Sequences on each of the four GPUs of Table 9: a batch of 256.
const SEQUENCES: f64 = 64.0;

/// Seconds of one attention layer with its linears on a GPU of Table 9, context and all.
fn attention_layer(model: &str, gpu: &str, context: f64) -> f64 {
    let catalog = Arc::new(Catalog::embedded().unwrap());
    let models = Models::embedded().unwrap();
    let model = models.get(&ModelId::new(model).unwrap()).unwrap();
    let gpu = catalog.gpu(&GpuId::new(gpu).unwrap()).unwrap();
    let engine = Engine::defaults(EngineKind::Vllm, gpu, Layout::SINGLE);
    let calibrated = Calibrated::new(Calibrations::embedded().unwrap(), Arc::clone(&catalog));
    let prices = calibrated.on(gpu, &engine);
    // FP8 where the GPU has it; the core is BF16 throughout.
    let precision = if gpu.peaks.fp8.is_some() {
        Precision::FP8
    } else {
        Precision::BF16
    };
    let layer = on_rank(model, 0, Layout::SINGLE);
    let gemm = Gemm::of(model, precision, layer.kept.attention);
    let mut kernels = Kernels::new();
    projections::of(
        &layer.attention,
        real(model.hidden),
        gemm,
        SEQUENCES,
        &mut kernels,
    );
    let shape = AttentionShape::of(model, 0, Layout::SINGLE, precision);
    kernels.extend(shape.decode(SEQUENCES));
    let core = shape
        .attend_one_each(SEQUENCES, SEQUENCES * context)
        .unwrap();
    kernels.push((Class::Attention, core));
    for (class, op) in &kernels {
        let p = prices.price(op);
        println!(
            "  {} {:?} {:.1} {:?} [{:.1} {:.1}]",
            class.name(),
            p.origin,
            p.seconds * 1e6,
            op,
            p.compute * 1e6,
            p.memory * 1e6
        );
    }
    kernels
        .iter()
        .map(|(_, own)| prices.price(own).seconds)
        .sum()
}

#[test]
fn step3s_table_of_attention_layers() {
    for (model, gpu, short, long) in [
        ("step-3", "h800-sxm", 281.0, 791.0),
        ("step-3", "h20-96", 438.0, 1452.0),
        ("step-3", "a800-80-sxm", 531.0, 1484.0),
        ("deepseek-v3", "h800-sxm", 372.0, 1125.0),
        ("deepseek-v3", "h20-96", 1252.0, 4817.0),
        ("qwen3-235b-a22b", "h800-sxm", 382.0, 1391.0),
        ("qwen3-235b-a22b", "h20-96", 812.0, 3042.0),
        ("qwen3-235b-a22b", "a800-80-sxm", 791.0, 3010.0),
    ] {
        for (context, measured) in [(8192.0, short), (32768.0, long)] {
            let own = attention_layer(model, gpu, context) * 1e6;
            println!(
                "{model} {gpu} {context}: {own:.0} of {measured} ({:+.1} %)",
                100.0 * (own / measured - 1.0)
            );
        }
    }
}
