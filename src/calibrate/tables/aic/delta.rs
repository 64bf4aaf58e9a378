//! `gdn`: kernels of the gated delta net.

use super::{Entry, Line};
use crate::cost::calibrated::{
    Attributes, DeltaChunks, DeltaConvolution, DeltaHeads, DeltaStep, Shape,
};

/// Tables whose convolution ran over `num_k_heads × head_k_dim` channels: a model with 64 value heads
/// takes the same time there as one with 16.
const NARROW: [(&str, &str); 5] = [
    ("sglang", "0.5.9"),
    ("sglang", "0.5.10"),
    ("trtllm", "1.3.0rc10"),
    ("trtllm", "1.3.0rc20"),
    ("vllm", "0.19.0"),
];

pub(super) fn read(line: &Line<'_>) -> Result<Entry, String> {
    let heads = DeltaHeads {
        keys: line.positive("num_k_heads")?,
        values: line.positive("num_v_heads")?,
        key_dim: line.positive("head_k_dim")?,
        value_dim: line.positive("head_v_dim")?,
    };
    let sequences = line.positive("batch_size")?;
    let tokens = line.positive("seq_len")?;
    let table = (line.text("engine"), line.text("backend_version"));
    let channels = if NARROW.contains(&table) {
        heads.keys * heads.key_dim
    } else {
        heads.channels()
    };
    let source = line.text("kernel_source");
    let shape = if source == "causal_conv1d_fn" {
        Shape::GdnConvolution(DeltaConvolution {
            heads,
            sequences,
            tokens,
            channels,
        })
    } else if source == "causal_conv1d_update" {
        Shape::GdnStep(DeltaStep {
            heads,
            sequences,
            channels,
        })
    } else if source.starts_with("chunk_") {
        Shape::GdnChunks(DeltaChunks {
            heads,
            sequences,
            tokens,
        })
    } else if source.starts_with("fused_recurrent_") {
        Shape::GdnStep(DeltaStep {
            heads,
            sequences,
            channels: 0.0,
        })
    } else {
        return Err(format!("unknown kernel_source {source:?}"));
    };
    Ok(Entry {
        shape,
        seconds: line.milliseconds("latency_ms")?,
        // The operation stands with the number format: neither is ever traded for another.
        precision: match shape {
            Shape::GdnStep(DeltaStep { channels, .. }) if channels > 0.0 => {
                "bfloat16 convolution".to_owned()
            }
            _ => "bfloat16".to_owned(),
        },
        attributes: Attributes::default(),
    })
}
