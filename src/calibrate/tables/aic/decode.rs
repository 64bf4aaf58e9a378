//! `generation_attention`: one decode step of `batch_size` sequences with `step` tokens in the
//! cache, over those and the new one.
//!
//! The benchmark reads the same cache again and again inside a CUDA graph: hot in L2 where it fits.

use super::{Entry, Line};
use crate::cost::calibrated::{Attributes, Decode, Packing, Shape};

pub(super) fn read(line: &Line<'_>) -> Result<Entry, String> {
    let (sequences, heads, kv_heads) = (
        line.positive("batch_size")?,
        line.positive("num_heads")?,
        line.positive("num_key_value_heads")?,
    );
    if kv_heads > heads {
        return Err("more KV heads than heads".to_owned());
    }
    let dim = line.positive("head_dim")?;
    let window = line.number_or("window_size", 0.0)?;
    let context = line.number("step")? + 1.0;
    let attended = if window > 0.0 {
        context.min(window)
    } else {
        context
    };
    let (attention, cache) = (line.text("attn_dtype"), line.text("kv_cache_dtype"));
    let shape = Decode {
        sequences,
        entries: sequences * attended,
        heads,
        kv_heads,
        qk_dim: dim,
        v_dim: dim,
        window,
        past_window: if attended < context { 1.0 } else { 0.0 },
        kv_bytes: bytes_of(cache)?,
        packing: Packing::Groups,
        hot: true,
    };
    Ok(Entry {
        shape: Shape::Decode(shape).run_by(line.text("engine"), line.text("kernel_source")),
        seconds: line.milliseconds("latency_ms")?,
        precision: precision(attention, cache),
        attributes: Attributes {
            hot_l2: true,
            ..Attributes::default()
        },
    })
}

/// Bytes of an element of a cache.
pub(super) fn bytes_of(cache: &str) -> Result<f64, String> {
    match cache {
        "bfloat16" | "float16" => Ok(2.0),
        "fp8" | "int8" => Ok(1.0),
        other => Err(format!("unknown kv_cache_dtype {other:?}")),
    }
}

/// What is multiplied in, and what the cache holds where that is something else.
pub(super) fn precision(products: &str, cache: &str) -> String {
    if products == cache {
        products.to_owned()
    } else {
        format!("{products} kv {cache}")
    }
}
