//! `context_attention`, `context_mla`, `mla_context_module`, `wideep_context_mla` and
//! `dsa_context_module`: prefill of `batch_size` sequences of `isl` new tokens, `step` cached before.
//!
//! All of them are timed again and again on the same tensors, which may lie in L2 from the call
//! before. `wideep_context_mla` is timed without a CUDA graph: half a millisecond of host time is
//! its floor on every GPU.

use super::{Entry, Line};
use crate::cost::calibrated::{
    AttentionFormat, Attributes, ContextAttention, DsaContext, GemmFormat, MlaContext, MlaModule,
    MlaWidths, Shape,
};

const HOT: Attributes = Attributes {
    quantises: false,
    host: 0.0,
    hot_l2: true,
};

fn fp8(line: &Line<'_>, column: &str) -> Result<bool, String> {
    match line.text(column) {
        "bfloat16" | "float16" => Ok(false),
        "fp8" | "fp8_block" => Ok(true),
        other => Err(format!("unknown {column} {other:?}")),
    }
}

/// Some versions' tables do not have the column: weights are then of the block's own format.
fn projections_word<'a>(line: &'a Line<'_>) -> &'a str {
    match line.text("gemm_type") {
        "" => line.text("mla_dtype"),
        word => word,
    }
}

pub(super) fn projections(line: &Line<'_>) -> Result<GemmFormat, String> {
    match projections_word(line) {
        "bfloat16" => Ok(GemmFormat::Bf16),
        "fp8" => Ok(GemmFormat::Fp8),
        "fp8_block" => Ok(GemmFormat::Fp8Block),
        "nvfp4" => Ok(GemmFormat::Nvfp4),
        other => Err(format!("unknown gemm_type {other:?}")),
    }
}

/// `bfloat16 kv fp8`.
fn precision(line: &Line<'_>, column: &str) -> String {
    format!("{} kv {}", line.text(column), line.text("kv_cache_dtype"))
}

fn entry(
    line: &Line<'_>,
    shape: Shape,
    precision: String,
    attributes: Attributes,
) -> Result<Entry, String> {
    Ok(Entry {
        shape,
        seconds: line.milliseconds("latency_ms")?,
        precision,
        attributes,
    })
}

pub(super) fn attention(line: &Line<'_>) -> Result<Entry, String> {
    let window = line.number_or("window_size", 0.0)?;
    let shape = ContextAttention {
        batch: line.positive("batch_size")?,
        tokens: line.positive("isl")?,
        prior: line.number_or("step", 0.0)?,
        heads: line.positive("num_heads")?,
        kv_heads: line.positive("num_key_value_heads")?,
        head_dim: line.positive("head_dim")?,
        window: if window > 0.0 { window } else { f64::INFINITY },
        format: AttentionFormat {
            fp8: fp8(line, "attn_dtype")?,
            fp8_cache: fp8(line, "kv_cache_dtype")?,
        },
        eager: false,
    };
    if shape.kv_heads > shape.heads {
        return Err("more num_key_value_heads than num_heads".to_owned());
    }
    entry(
        line,
        Shape::ContextAttention(shape),
        precision(line, "attn_dtype"),
        HOT,
    )
}

fn core(line: &Line<'_>, widths: MlaWidths, fp8_core: bool) -> Result<MlaContext, String> {
    Ok(MlaContext {
        batch: line.positive("batch_size")?,
        tokens: line.positive("isl")?,
        prior: line.number_or("step", 0.0)?,
        heads: line.positive("num_heads")?,
        widths,
        format: AttentionFormat {
            fp8: fp8_core,
            fp8_cache: fp8(line, "kv_cache_dtype")?,
        },
    })
}

pub(super) fn mla(line: &Line<'_>) -> Result<Entry, String> {
    let shape = core(line, MlaWidths::DEEPSEEK_V3, fp8(line, "mla_dtype")?)?;
    entry(
        line,
        Shape::ContextMla(shape),
        precision(line, "mla_dtype"),
        HOT,
    )
}

fn block(line: &Line<'_>, fp8_core: bool) -> Result<(MlaModule, String), String> {
    let block = MlaModule {
        core: core(line, MlaWidths::DEEPSEEK_V3, fp8_core)?,
        projections: projections(line)?,
    };
    let word = projections_word(line);
    let precision = format!("{} gemm {word}", precision(line, "mla_dtype"));
    Ok((block, precision))
}

pub(super) fn mla_module(line: &Line<'_>) -> Result<Entry, String> {
    let (block, precision) = block(line, fp8(line, "mla_dtype")?)?;
    entry(line, Shape::MlaContextModule(block), precision, HOT)
}

/// Its `mla_dtype` is that of the weights: the core runs in BF16.
pub(super) fn wideep_mla(line: &Line<'_>) -> Result<Entry, String> {
    let (block, precision) = block(line, false)?;
    let attributes = Attributes {
        quantises: true,
        host: 0.5e-3,
        hot_l2: true,
    };
    entry(line, Shape::WideepContextMla(block), precision, attributes)
}

/// Widths and indexer heads of the models with sparse attention: each one's `config.json`.
pub(super) fn indexed(line: &Line<'_>) -> Result<(MlaWidths, f64), String> {
    match line.text("model") {
        "deepseek-ai/DeepSeek-V3.2" | "deepseek-ai/DeepSeek-V3.2-Exp" => {
            Ok((MlaWidths::DEEPSEEK_V3, 64.0))
        }
        "zai-org/GLM-5" => Ok((MlaWidths::GLM_5, 32.0)),
        other => Err(format!("unknown model {other:?}")),
    }
}

pub(super) fn dsa_module(line: &Line<'_>) -> Result<Entry, String> {
    let (widths, index_heads) = indexed(line)?;
    let shape = DsaContext {
        core: core(line, widths, fp8(line, "mla_dtype")?)?,
        projections: projections(line)?,
        index_heads,
        index_dim: 128.0,
        chosen: 2048.0,
    };
    let precision = format!(
        "{} gemm {}",
        precision(line, "mla_dtype"),
        line.text("gemm_type")
    );
    entry(line, Shape::DsaContextModule(shape), precision, HOT)
}
