//! What serving asks of prompts' attention, on the shipped calibrations.

use crate::catalog::{Catalog, Dtype};
use crate::cost::calibrated::{Calibrated, Calibrations};
use crate::cost::{Fidelity, Operator};
use crate::plan::{Engine, EngineKind, Layout};
use std::sync::Arc;

/// The attention of 8,192 new tokens, 16 heads over two of KV.
fn prompt(kv: Dtype) -> Operator {
    let tokens = 8192.0;
    Operator::Prefill {
        tokens,
        pairs: tokens * (tokens + 1.0) / 2.0,
        entries: tokens,
        context: 0.0,
        heads: 16.0,
        kv_heads: 2.0,
        window: 0.0,
        kv,
        latent: false,
        qk_dim: 128.0,
        v_dim: 128.0,
        kv_bytes: 256.0 * 2.0 * if kv == Dtype::Fp8 { 1.0 } else { 2.0 },
    }
}

/// A table of FP8 attention was once asked with a BF16 shape: prompts at half their speed.
#[test]
fn a_prompt_over_an_fp8_cache_is_no_slower_than_over_a_bf16_one() {
    let catalog = Arc::new(Catalog::embedded().unwrap());
    let calibrations = Calibrations::embedded().unwrap();
    let fidelity = Calibrated::new(calibrations, Arc::clone(&catalog));
    let mut halved = 0;
    for name in ["h100-sxm", "h200-sxm", "b200-sxm"] {
        let gpu = catalog.gpus().find(|gpu| gpu.id.as_str() == name).unwrap();
        for version in ["1.0", "1.1", "1.2"] {
            let kind = EngineKind::TensorRtLlm;
            let on = fidelity.on(
                gpu,
                &Engine::defaults_of(kind, version, gpu, Layout::SINGLE),
            );
            let (narrow, wide) = (
                on.price(&prompt(Dtype::Fp8)),
                on.price(&prompt(Dtype::Bf16)),
            );
            let of = narrow.seconds / wide.seconds;
            assert!(of < 1.05, "{name}, TensorRT-LLM {version}: {of}");
            halved += usize::from(of < 0.75);
        }
    }
    assert!(halved > 0, "no FP8 kernel was asked");
}
