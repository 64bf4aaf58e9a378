//! `computescale` and `scale_matrix`: the scale of an activation `m × k`, and quantising it. Rows of
//! zero (the step is fused away, or below the timer) are refused: nothing has no logarithm.

use super::{Entry, Line};
use crate::cost::calibrated::{Attributes, Rowwise, Shape};

/// BF16 in; a scale comes out.
pub(super) fn scale(line: &Line<'_>) -> Result<Entry, String> {
    read(line, 2.0, Shape::ComputeScale)
}

/// BF16 in, FP8 out.
pub(super) fn quantise(line: &Line<'_>) -> Result<Entry, String> {
    read(line, 3.0, Shape::ScaleMatrix)
}

fn read(line: &Line<'_>, bytes: f64, shape: fn(Rowwise) -> Shape) -> Result<Entry, String> {
    let precision = line.text("quant_dtype");
    if precision != "fp8" {
        return Err(format!("unknown quant_dtype {precision:?}"));
    }
    let own = Rowwise {
        rows: line.positive("m")?,
        width: line.positive("k")?,
        bytes,
        eager: false,
    };
    Ok(Entry {
        shape: shape(own),
        seconds: line.milliseconds("latency_ms")?,
        precision: precision.to_owned(),
        attributes: Attributes {
            hot_l2: true,
            ..Attributes::default()
        },
    })
}
