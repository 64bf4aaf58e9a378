//! Which measured kernel serving's shapes are asked of, on the shipped calibrations.

use crate::catalog::{Catalog, Dtype};
use crate::cost::calibrated::{Calibrated, Calibrations};
use crate::cost::{Brought, Fidelity, Operator, Origin};
use crate::model::{Scale, WeightFormat};
use crate::plan::{Engine, EngineKind, Layout, MoeBackend};
use std::sync::Arc;

struct Asked {
    catalog: Arc<Catalog>,
    fidelity: Calibrated,
}

impl Asked {
    fn new() -> Self {
        let catalog = Arc::new(Catalog::embedded().unwrap());
        let fidelity = Calibrated::new(Calibrations::embedded().unwrap(), Arc::clone(&catalog));
        Self { catalog, fidelity }
    }

    /// Microseconds of an operator on an engine of a version, with changed settings.
    fn us(
        &self,
        gpu: &str,
        (kind, version): (EngineKind, &str),
        change: impl FnOnce(&mut Engine),
        operator: &Operator,
    ) -> f64 {
        let gpu = self
            .catalog
            .gpus()
            .find(|own| own.id.as_str() == gpu)
            .unwrap();
        let mut engine = Engine::defaults_of(kind, version, gpu, Layout::SINGLE);
        change(&mut engine);
        let price = self.fidelity.on(gpu, &engine).price(operator);
        assert_ne!(price.origin, Origin::Roofline, "{operator:?}");
        price.seconds * 1e6
    }
}

/// A scale of 32 bits for every 128 × 128 weights, as DeepSeek-V3's checkpoint has them.
const BLOCKS: Option<Scale> = Some(Scale {
    bits: 32,
    per: 16_384,
});

/// A layer's experts of DeepSeek-V3 on one of `ranks` GPUs, for `tokens` of all lanes.
fn experts(tokens: f64, ranks: f64, scale: Option<Scale>, brought: Brought) -> Operator {
    let local = 256.0 / ranks;
    Operator::Experts {
        tokens,
        top_k: 8.0,
        experts: 256.0,
        local,
        copies: tokens * 8.0 / ranks,
        visited: local,
        even: true,
        brought,
        hidden: 7168.0,
        intermediate: 2048.0,
        matrices: 3.0,
        gemm: Dtype::Fp8,
        weights: WeightFormat {
            dtype: Dtype::Fp8,
            scale,
        },
    }
}

/// A table of experts that are given all tokens was once asked of experts that a dispatch brings theirs:
/// a rank of 128 paid for the 15/16 of the tokens it never sees.
#[test]
fn dispatched_experts_do_not_pay_for_tokens_of_other_ranks() {
    let asked = Asked::new();
    for gpu in ["h100-sxm", "h200-sxm", "b200-sxm", "gb200"] {
        let us = |brought| {
            let own = experts(16_384.0, 128.0, BLOCKS, brought);
            asked.us(gpu, (EngineKind::Sglang, "0.5.9"), |_| {}, &own)
        };
        let (gathered, masked, listed) = (
            us(Brought::Gathered),
            us(Brought::Masked),
            us(Brought::Listed),
        );
        assert!(masked < gathered / 3.0, "{gpu}: {masked} of {gathered} µs");
        assert!(listed < gathered / 3.0, "{gpu}: {listed} of {gathered} µs");
        // 1,024 copies of three products in FP8: no faster than the tensor cores.
        let least = 1024.0 * 3.0 * 2.0 * 7168.0 * 2048.0 / 5e15 * 1e6;
        assert!(masked > least, "{gpu}: {masked} µs");
    }
}

/// Where an engine's own table has another kernel than its setting names, the named one of an engine that
/// has it is asked: here TensorRT-LLM's generated kernels, which only its rivals' tables have for
/// block-scaled FP8 on B200.
#[test]
fn a_named_kernel_is_looked_up_where_it_was_measured() {
    let asked = Asked::new();
    let own = experts(32.0, 8.0, BLOCKS, Brought::Gathered);
    let us = |backend| {
        let change = |engine: &mut Engine| engine.kernels.moe = backend;
        asked.us("b200-sxm", (EngineKind::TensorRtLlm, "1.2"), change, &own)
    };
    let (generated, deepgemm) = (us(MoeBackend::TrtllmGen), us(MoeBackend::DeepGemm));
    assert!(
        (generated - deepgemm).abs() > 1.0,
        "{generated} and {deepgemm} µs are one table"
    );
}

/// vLLM on Blackwell leaves FP8 with a scale per tensor to cuBLAS since 0.10.2, by FlashInfer: nearer to
/// what TensorRT-LLM's tables say than to its own CUTLASS kernels'.
#[test]
fn vllm_multiplies_fp8_on_blackwell_as_cublas_does() {
    let asked = Asked::new();
    let own = Operator::Linear {
        tokens: 8192.0,
        k: 8192.0,
        n: 8192.0,
        gemm: Dtype::Fp8,
        weights: WeightFormat {
            dtype: Dtype::Fp8,
            scale: None,
        },
    };
    let still = |engine: &mut Engine| engine.sustained = 0.0;
    let us = |kind, version| asked.us("b200-sxm", (kind, version), still, &own);
    let (before, since) = (us(EngineKind::Vllm, "0.9"), us(EngineKind::Vllm, "0.10.2"));
    let cublas = us(EngineKind::TensorRtLlm, "1.2");
    assert!(since < 0.8 * before, "{since} of {before} µs");
    assert!((since / cublas - 1.0).abs() < 0.15, "{since}, {cublas} µs");
}
