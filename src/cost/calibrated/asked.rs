//! Which kernel an operator is: its shape as serving runs it (in a CUDA graph, nothing hot in L2,
//! activations quantised by what comes before), and its number formats in the tables' words, the
//! most fitting first.

use super::decode::{Decode, MlaDecode, Packing};
use super::delta::{DeltaChunks, DeltaConvolution, DeltaStep};
use super::gemm::{Call, Gemm, GemmFormat};
use super::head_product::HeadProduct;
use super::load::Load;
use super::moe::{Moe, MoeFormat};
use super::prefill::{AttentionFormat, ContextAttention, MlaContext, MlaWidths};
use super::shape::Shape;
use crate::catalog::Dtype;
use crate::cost::operator::{Brought, Operator};
use crate::cost::reach::Reach;
use crate::model::WeightFormat;

/// The shape to price and the precisions that may price it; nothing where no family has it.
pub(super) fn asked(operator: &Operator) -> Option<(Shape, &'static [&'static str])> {
    match *operator {
        Operator::Linear {
            tokens,
            k,
            n,
            gemm,
            weights,
        } => {
            let (format, words) = gemm_format(gemm, weights);
            let call = Call::default();
            let shape = Gemm {
                m: tokens,
                n,
                k,
                format,
                call,
            };
            Some((Shape::Gemm(shape), words))
        }
        Operator::Experts {
            tokens,
            top_k,
            experts,
            local,
            hidden,
            intermediate,
            matrices,
            gemm,
            weights,
            even,
            brought,
            ..
        } => {
            let (format, words) = moe_format(gemm, weights, brought);
            let skew = if even { 0.0 } else { SKEW };
            let load = Load::skewed(tokens, top_k, experts, local, skew);
            let shape = Moe {
                load: if brought == Brought::Gathered {
                    load
                } else {
                    load.dispatched()
                },
                hidden,
                intermediate,
                local,
                experts,
                gated: matrices > 2.5,
                format,
                resident: false,
                eager: false,
            };
            Some((Shape::Moe(shape), words))
        }
        Operator::HeadProduct {
            tokens,
            heads,
            k,
            n,
        } => {
            let shape = HeadProduct {
                heads,
                tokens,
                n,
                k,
                format: GemmFormat::Bf16,
                call: Call::default(),
            };
            Some((Shape::MlaBmm(shape), &["bfloat16"]))
        }
        Operator::Prefill { .. } => prefill(operator),
        Operator::Decode { .. } => decode(operator),
        Operator::Step {
            sequences,
            delta: Some(heads),
            ..
        } => {
            let shape = DeltaStep {
                heads,
                sequences,
                channels: 0.0,
            };
            Some((Shape::GdnStep(shape), &["bfloat16"]))
        }
        Operator::Convolution { tokens, heads } => {
            let shape = DeltaConvolution {
                heads,
                sequences: 1.0,
                tokens,
                channels: heads.channels(),
            };
            Some((Shape::GdnConvolution(shape), &["bfloat16"]))
        }
        Operator::Scan {
            tokens,
            delta: Some(heads),
            ..
        } => {
            let shape = DeltaChunks {
                heads,
                sequences: 1.0,
                tokens,
            };
            Some((Shape::GdnChunks(shape), &["bfloat16"]))
        }
        _ => None,
    }
}

/// How unequally experts are liked: the `i`-th in proportion to `i^-0.7`. One law for every routed
/// model, since none publishes its own. On measured deployments (1,069 co-located rows, nine models)
/// it leaves the smallest error of 0, 0.3, 0.5, 0.7 and 1; kernels' benchmarks with a power law of 1.2
/// lie between 0.7 and 1.
const SKEW: f64 = 0.7;

/// Bytes of an element of a cache, if a table has such a one.
const fn cache_bytes(kv: Dtype) -> Option<f64> {
    match kv {
        Dtype::Bf16 => Some(2.0),
        Dtype::Fp8 => Some(1.0),
        _ => None,
    }
}

/// The rotated part of an MLA key in every published model.
const ROPE: f64 = 64.0;

fn prefill(operator: &Operator) -> Option<(Shape, &'static [&'static str])> {
    let Operator::Prefill {
        tokens,
        pairs,
        context,
        heads,
        kv_heads,
        qk_dim,
        v_dim,
        window,
        kv,
        latent,
        kv_bytes,
        ..
    } = *operator
    else {
        return None;
    };
    let bytes = cache_bytes(kv)?;
    // Chunks, an indexer's choice, compressed entries: other kernels.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole counts"
    )]
    let causal = {
        let reach = if window > 0.0 {
            Reach::Last(window as u64)
        } else {
            Reach::All
        };
        reach.pairs(tokens as u64, context as u64)
    };
    if (pairs / causal.max(1.0) - 1.0).abs() > 0.01 {
        return None;
    }
    let format = AttentionFormat {
        fp8: false,
        fp8_cache: bytes < 2.0,
    };
    let words: &[&str] = match kv {
        Dtype::Fp8 => &["bfloat16 kv fp8", "fp8 kv fp8"],
        _ => &["bfloat16 kv bfloat16"],
    };
    if latent {
        // Folded, only sparse attention works on prompts: no table of its core alone.
        if qk_dim > 2.0 * v_dim.min(ROPE + 256.0) || v_dim >= 512.0 {
            return None;
        }
        let widths = MlaWidths {
            hidden: 0.0,
            query_latent: 0.0,
            latent: (kv_bytes / bytes - ROPE).max(1.0),
            nope: qk_dim - ROPE,
            rope: ROPE,
            value: v_dim,
        };
        let shape = MlaContext {
            batch: 1.0,
            tokens,
            prior: context,
            heads,
            widths,
            format,
        };
        return Some((Shape::ContextMla(shape), words));
    }
    let shape = ContextAttention {
        batch: 1.0,
        tokens,
        prior: context,
        heads,
        kv_heads,
        head_dim: 0.5 * (qk_dim + v_dim),
        window: if window > 0.0 { window } else { f64::INFINITY },
        format,
        eager: false,
    };
    Some((Shape::ContextAttention(shape), words))
}

fn decode(operator: &Operator) -> Option<(Shape, &'static [&'static str])> {
    let Operator::Decode {
        sequences,
        entries,
        heads,
        kv_heads,
        qk_dim,
        v_dim,
        window,
        kv,
        latent,
        ..
    } = *operator
    else {
        return None;
    };
    let kv_bytes = cache_bytes(kv)?;
    if latent {
        let words: &[&str] = match kv {
            Dtype::Fp8 => &["bfloat16 kv fp8", "fp8", "fp8 kv fp8"],
            _ => &["bfloat16", "bfloat16 kv bfloat16"],
        };
        // Folded: the values are the latent, the keys the latent and the rotated part.
        let widths = MlaWidths {
            latent: v_dim,
            rope: qk_dim - v_dim,
            ..MlaWidths::DEEPSEEK_V3
        };
        let shape = MlaDecode {
            sequences,
            entries,
            heads,
            widths,
            kv_bytes,
            hot: false,
            eager: false,
            tensor_memory: true,
        };
        return Some((Shape::GenerationMla(shape), words));
    }
    let words: &[&str] = match kv {
        Dtype::Fp8 => &["bfloat16 kv fp8", "fp8"],
        _ => &["bfloat16"],
    };
    // Contexts spread about their mean: the nearer it is to the window, the more are past it.
    let near = if window > 0.0 {
        (entries / sequences.max(1.0) / window).min(1.0)
    } else {
        0.0
    };
    let shape = Decode {
        sequences,
        entries,
        heads,
        kv_heads,
        qk_dim,
        v_dim,
        window,
        past_window: near * near * near * near,
        context: entries,
        kv_bytes,
        // Which kernel runs it says whether it packs.
        packing: Packing::Groups,
        hot: false,
        eager: false,
    };
    Some((Shape::Decode(shape), words))
}

/// A product's format and the tables that may price it.
fn gemm_format(gemm: Dtype, weights: WeightFormat) -> (GemmFormat, &'static [&'static str]) {
    match (gemm, weights.dtype) {
        (Dtype::Fp8, _) if weights.scale.is_some() => (GemmFormat::Fp8Block, &["fp8_block", "fp8"]),
        (Dtype::Fp8, _) => (GemmFormat::Fp8, &["fp8", "fp8_static"]),
        (Dtype::Fp4 | Dtype::Mxfp4, _) => (GemmFormat::Nvfp4, &["nvfp4"]),
        (Dtype::Int8, _) => (GemmFormat::Int8, &["sq"]),
        (_, Dtype::Int8 | Dtype::Fp8) => (GemmFormat::W8a16, &["int8_wo", "fp8_wo"]),
        (_, Dtype::Int4 | Dtype::Fp4 | Dtype::Mxfp4) => (GemmFormat::W4a16, &["int4_wo"]),
        _ => (GemmFormat::Bf16, &["bfloat16"]),
    }
}

/// Grouped products' format and the tables that may price them.
fn moe_format(
    gemm: Dtype,
    weights: WeightFormat,
    brought: Brought,
) -> (MoeFormat, &'static [&'static str]) {
    match (gemm, weights.dtype) {
        (Dtype::Fp8, Dtype::Mxfp4) => (MoeFormat::Mxfp4Fp8, &["w4a8_mxfp4_mxfp8"]),
        (Dtype::Fp8, _) if weights.scale.is_some() && brought != Brought::Gathered => {
            (MoeFormat::Fp8Block, dispatched_fp8(brought))
        }
        (Dtype::Fp4, _) if brought != Brought::Gathered => {
            (MoeFormat::Nvfp4, &["nvfp4 dispatched", "nvfp4"])
        }
        (Dtype::Fp8, _) if weights.scale.is_some() => (MoeFormat::Fp8Block, &["fp8_block", "fp8"]),
        (Dtype::Fp8, _) => (MoeFormat::Fp8, &["fp8", "fp8_block"]),
        (Dtype::Fp4, _) => (MoeFormat::Nvfp4, &["nvfp4"]),
        (_, Dtype::Mxfp4) => (MoeFormat::Mxfp4, &["w4a16_mxfp4"]),
        (_, Dtype::Int4 | Dtype::Fp4) => (MoeFormat::W4a16, &["int4_wo"]),
        _ => (MoeFormat::Bf16, &["bfloat16"]),
    }
}

/// Tables of block-scaled FP8 experts after a dispatch: SGLang's with DeepEP by phase, TensorRT-LLM's
/// of wide expert parallelism.
const fn dispatched_fp8(brought: Brought) -> &'static [&'static str] {
    match brought {
        Brought::Masked => &["fp8_block dispatched decode", "fp8_block", "fp8"],
        Brought::Slots => &["fp8_block dispatched", "fp8_block", "fp8"],
        Brought::Listed => &["fp8_block dispatched prefill", "fp8_block", "fp8"],
        Brought::Gathered => &["fp8_block", "fp8"],
    }
}
