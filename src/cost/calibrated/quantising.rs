//! Quantising activations: what a table of products has of it, and whether serving pays it.
//!
//! Tables of FP8 and FP4 products are timed with a BF16 activation that is quantised first. Engines
//! differ in what serving does: TensorRT-LLM's gates and attention write FP8 themselves, and vLLM's
//! compiler merges FP8's into what comes before; block scales and NVFP4's are kernels of their own
//! before a product (TensorRT-LLM's attention can write FP4 too: one product of four, not told apart). Where they are, the product is priced as it was timed.
//! Where not, quantising is taken out, and with it what its launch adds to the floor: a product alone
//! starts as fast as the engine's BF16 product of the same table (H200, TensorRT-LLM 1.3, 1 × 256 × 1,024:
//! 12.8 µs in FP8, 4.0 in BF16).

use super::gemm::GemmFormat;
use super::shape::{Family, Shape};
use super::store::{Calibrations, Wanted};
use super::surface::{Estimate, Surface};
use crate::plan::EngineKind;
use std::sync::Arc;

/// The place of a launch in the parameters of a product.
const LAUNCH: usize = 0;

/// Whether an engine quantises a product's activations in a kernel of its own.
///
/// Sources: TensorRT-LLM `_torch/modules/rms_norm.py` (writes BF16), `gated_mlp.py` (its SwiGLU writes
/// FP8, not FP4), `attention.py` (quantised outputs) and `linear.py` (`fp4_quantize` before FP4
/// products, `fp8_quantize_1x128` before block-scaled ones); vLLM `compilation/fusion.py` and `QuantFP8` (native under the compiler),
/// `scaled_fp4_quant`; SGLang `per_token_group_quant_fp8`, `fp4_quantize`.
const fn is_apart(engine: EngineKind, format: GemmFormat) -> bool {
    match format {
        GemmFormat::Fp8Block | GemmFormat::Nvfp4 => true,
        GemmFormat::Fp8 => matches!(engine, EngineKind::Sglang),
        GemmFormat::Bf16 | GemmFormat::Int8 | GemmFormat::W8a16 | GemmFormat::W4a16 => false,
    }
}

/// The shape as the engine runs it: with its quantising where that is a kernel of its own.
pub(super) fn as_served(shape: Shape, surface: &Surface, engine: EngineKind) -> Shape {
    match shape {
        Shape::Gemm(mut own) if surface.attributes.quantises => {
            own.call.quantises = is_apart(engine, own.format);
            Shape::Gemm(own)
        }
        other => other,
    }
}

/// Share of a surface's launch that is the product's own: that of the same engine's BF16 product.
pub(super) fn own_launch(calibrations: &Calibrations, surface: &Surface) -> f64 {
    let id = &surface.id;
    if id.family != Family::Gemm || !surface.attributes.quantises {
        return 1.0;
    }
    let plain = Wanted {
        gpu: &id.gpu,
        family: Family::Gemm,
        precision: "bfloat16",
        engine: &id.engine,
        version: &id.version,
        kernel: "",
        tags: &[],
    };
    let launch = |own: &Surface| own.parameters.get(LAUNCH).copied();
    match (
        calibrations
            .find(&plain, &[])
            .and_then(|(own, _)| launch(own)),
        launch(surface),
    ) {
        (Some(plain), Some(own)) if own > plain => plain / own,
        _ => 1.0,
    }
}

/// Kernels an engine may take instead, each with the share of its launch that is its own: all of it,
/// since vLLM's and SGLang's benchmarks launch a product's quantising apart.
///
/// TensorRT-LLM times its NVFP4 products (CUTLASS, cuBLASLt, generated ones) for every shape when it
/// starts (`AutoTuner`), its table's benchmark called one of them: 22 µs for one row of 8,192 × 8,192
/// on B200, as long for 4,096 columns of it, where vLLM's and SGLang's take 14 to 16.
///
/// SGLang's block-scaled FP8 on Blackwell is DeepGEMM's kernel, as vLLM's is; its benchmark takes 18 to
/// 29 µs for a few rows of any shape (B200, 0.5.9 and 0.5.14), vLLM's and TensorRT-LLM's 7 to 16: it
/// brings the weights' scales into the kernel's order on each call, which serving does once.
pub(super) fn rivals(
    calibrations: &Calibrations,
    surface: &Arc<Surface>,
    engine: EngineKind,
) -> Vec<(Arc<Surface>, f64)> {
    let id = &surface.id;
    let others: &[(&str, &str)] = match (engine, id.precision.as_str()) {
        (EngineKind::TensorRtLlm, "nvfp4") => &[("vllm", ""), ("sglang", "")],
        // Later versions' benchmark was timed with its host.
        (EngineKind::Sglang, "fp8_block") => &[("vllm", "0.19.0")],
        _ => return Vec::new(),
    };
    if id.family != Family::Gemm {
        return Vec::new();
    }
    others
        .iter()
        .filter_map(|(engine, version)| {
            let wanted = Wanted {
                gpu: &id.gpu,
                family: id.family,
                precision: &id.precision,
                engine,
                version,
                kernel: "",
                tags: &[],
            };
            let (own, _) = calibrations.find(&wanted, &[])?;
            Some((Arc::clone(own), 1.0))
        })
        .collect()
}

/// An estimate without what quantising adds to its launch; `own`: see [`own_launch`].
pub(super) fn without(mut estimate: Estimate, shape: &Shape, own: f64) -> Estimate {
    if let Shape::Gemm(gemm) = shape
        && !gemm.call.quantises
    {
        let less = estimate.parts.launch * (1.0 - own);
        estimate.parts.launch -= less;
        estimate.parts.seconds -= less;
    }
    estimate
}
