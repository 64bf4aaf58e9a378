//! `mla_bmm`: the absorbed products of MLA's decode path, `num_tokens` rows per head. The tables are of
//! DeepSeek's widths: queries 128 → 512 (`mla_gen_pre`), the latent 512 → 128 (`mla_gen_post`).

use super::{Entry, Line};
use crate::cost::calibrated::{Attributes, Call, GemmFormat, HeadProduct, Shape};

/// Width of a head outside the latent, and of the latent.
const NOPE: f64 = 128.0;
const LATENT: f64 = 512.0;

pub(super) fn read(line: &Line<'_>) -> Result<Entry, String> {
    let (k, n) = match line.text("op_name") {
        "mla_gen_pre" => (NOPE, LATENT),
        "mla_gen_post" => (LATENT, NOPE),
        other => return Err(format!("unknown op_name {other:?}")),
    };
    let precision = line.text("bmm_dtype");
    let format = match precision {
        "bfloat16" => GemmFormat::Bf16,
        "fp8" => GemmFormat::Fp8,
        other => return Err(format!("unknown bmm_dtype {other:?}")),
    };
    let quantises = format == GemmFormat::Fp8;
    let shape = HeadProduct {
        heads: line.positive("num_heads")?,
        tokens: line.positive("num_tokens")?,
        n,
        k,
        format,
        call: Call {
            quantises,
            eager: false,
            repeated: true,
        },
    };
    Ok(Entry {
        shape: Shape::MlaBmm(shape),
        seconds: line.milliseconds("latency_ms")?,
        precision: precision.to_owned(),
        attributes: Attributes {
            quantises,
            hot_l2: true,
            ..Attributes::default()
        },
    })
}
