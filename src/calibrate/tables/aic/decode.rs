//! `generation_attention`, `generation_mla`, `mla_generation_module`, `wideep_generation_mla` and
//! `dsa_generation_module`: one decode step of `batch_size` sequences with `step` tokens in the
//! cache, over those and the new one.
//!
//! The benchmarks read the same cache again and again inside a CUDA graph: hot in L2 where it fits.

use super::prefill::{indexed, projections};
use super::{Entry, Line};
use crate::cost::calibrated::{
    Attributes, Decode, DsaDecodeBlock, GemmFormat, MlaDecode, MlaDecodeBlock, MlaWidths, Packing,
    Shape,
};

const HOT: Attributes = Attributes {
    quantises: false,
    host: 0.0,
    hot_l2: true,
};

/// Bytes of an element of the cache.
fn cache(line: &Line<'_>) -> Result<f64, String> {
    match line.text("kv_cache_dtype") {
        "bfloat16" | "float16" => Ok(2.0),
        "fp8" | "int8" => Ok(1.0),
        other => Err(format!("unknown kv_cache_dtype {other:?}")),
    }
}

/// What is multiplied in, and what the cache holds where that is something else.
fn precision(line: &Line<'_>, products: &str) -> String {
    let (products, cache) = (line.text(products), line.text("kv_cache_dtype"));
    if products == cache {
        products.to_owned()
    } else {
        format!("{products} kv {cache}")
    }
}

fn entry(
    line: &Line<'_>,
    shape: Shape,
    precision: String,
    attributes: Attributes,
) -> Result<Entry, String> {
    Ok(Entry {
        shape: shape.run_by(line.text("engine"), line.text("kernel_source")),
        seconds: line.milliseconds("latency_ms")?,
        precision,
        attributes,
    })
}

pub(super) fn attention(line: &Line<'_>) -> Result<Entry, String> {
    let (heads, kv_heads) = (
        line.positive("num_heads")?,
        line.positive("num_key_value_heads")?,
    );
    if kv_heads > heads {
        return Err("more num_key_value_heads than num_heads".to_owned());
    }
    let (sequences, dim) = (line.positive("batch_size")?, line.positive("head_dim")?);
    let window = line.number_or("window_size", 0.0)?;
    let context = line.number("step")? + 1.0;
    let attended = if window > 0.0 {
        context.min(window)
    } else {
        context
    };
    let shape = Decode {
        sequences,
        entries: sequences * attended,
        heads,
        kv_heads,
        qk_dim: dim,
        v_dim: dim,
        window,
        past_window: if attended < context { 1.0 } else { 0.0 },
        context: sequences * context,
        kv_bytes: cache(line)?,
        packing: Packing::Groups,
        hot: true,
        eager: false,
    };
    entry(
        line,
        Shape::Decode(shape),
        precision(line, "attn_dtype"),
        HOT,
    )
}

fn core(line: &Line<'_>, widths: MlaWidths, context: f64) -> Result<MlaDecode, String> {
    let sequences = line.positive("batch_size")?;
    Ok(MlaDecode {
        sequences,
        entries: sequences * context,
        heads: line.positive("num_heads")?,
        widths,
        kv_bytes: cache(line)?,
        hot: true,
        eager: false,
        tensor_memory: true,
    })
}

pub(super) fn mla(line: &Line<'_>) -> Result<Entry, String> {
    let core = core(line, MlaWidths::DEEPSEEK_V3, line.number("step")? + 1.0)?;
    entry(
        line,
        Shape::GenerationMla(core),
        precision(line, "mla_dtype"),
        HOT,
    )
}

/// As blocks of prefill have it: `bfloat16 kv fp8 gemm nvfp4`.
fn block_precision(line: &Line<'_>, projections: &str) -> String {
    format!(
        "{} kv {} gemm {projections}",
        line.text("mla_dtype"),
        line.text("kv_cache_dtype")
    )
}

pub(super) fn mla_module(line: &Line<'_>) -> Result<Entry, String> {
    let block = MlaDecodeBlock {
        core: core(line, MlaWidths::DEEPSEEK_V3, line.number("step")? + 1.0)?,
        projections: projections(line)?,
    };
    let precision = block_precision(line, line.text("gemm_type"));
    entry(line, Shape::MlaGenerationModule(block), precision, HOT)
}

/// The context is in `isl`. Older rows leave `gemm_type` empty: the weights are FP8 in blocks there
/// as in the newer ones.
pub(super) fn wideep_mla(line: &Line<'_>) -> Result<Entry, String> {
    let context = line.number_or("step", 0.0)? + line.positive("isl")?;
    let untold = line.text("gemm_type").is_empty();
    let block = MlaDecodeBlock {
        core: core(line, MlaWidths::DEEPSEEK_V3, context)?,
        projections: if untold {
            GemmFormat::Fp8Block
        } else {
            projections(line)?
        },
    };
    let word = if untold {
        "fp8_block"
    } else {
        line.text("gemm_type")
    };
    let attributes = Attributes {
        quantises: true,
        ..HOT
    };
    entry(
        line,
        Shape::WideepGenerationMla(block),
        block_precision(line, word),
        attributes,
    )
}

/// Tokens the indexers of both models choose.
const CHOSEN: f64 = 2048.0;

pub(super) fn dsa_module(line: &Line<'_>) -> Result<Entry, String> {
    let (widths, index_heads) = indexed(line)?;
    let context = line.number("step")? + 1.0;
    let core = core(line, widths, context.min(CHOSEN))?;
    let shape = DsaDecodeBlock {
        context: core.sequences * context,
        block: MlaDecodeBlock {
            core,
            projections: projections(line)?,
        },
        index_heads,
        index_dim: 128.0,
        chosen: CHOSEN,
    };
    let precision = block_precision(line, line.text("gemm_type"));
    entry(line, Shape::DsaGenerationModule(shape), precision, HOT)
}
