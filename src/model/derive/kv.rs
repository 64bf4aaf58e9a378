//! Bytes of KV cache per token of context.
//!
//! A GQA layer keeps a key and a value of every key-value head, `2 · kv_heads · head_dim` values.
//! An MLA layer keeps one latent and one rotary key for all heads, `kv_rank + rope_dim` values
//! (DeepSeek-V2, arXiv 2405.04434 §2.1.3), which TP can't divide.

use super::parts::stored;
use super::{product, sum};
use crate::catalog::Dtype;
use crate::model::{Attention, LayerRun, Model};
use crate::units::Bytes;

/// Values one layer keeps per token on each of `tp` ranks. Key-value heads are copied where there
/// are fewer than ranks.
fn values(attention: &Attention, tp: u64) -> u64 {
    match attention {
        Attention::Gqa(gqa) => product(&[2, gqa.kv_heads.div_ceil(tp.max(1)), gqa.head_dim]),
        Attention::Mla(mla) => sum(&[mla.kv_rank, mla.rope_dim]),
    }
}

/// Bytes per token, all layers, one copy. A 4-bit cache's block scales are counted.
#[must_use]
pub fn kv_bytes_per_token(model: &Model, dtype: Dtype) -> Bytes {
    kv_bytes_per_token_rank(&model.layers, dtype, 1)
}

/// Bytes per token of one layer, one copy.
#[must_use]
pub fn kv_bytes_per_token_layer(attention: &Attention, dtype: Dtype) -> Bytes {
    stored(values(attention, 1), dtype)
}

/// Bytes per token that each of `tp` ranks keeps for these layers (a pipeline stage's, say).
#[must_use]
pub fn kv_bytes_per_token_rank(layers: &[LayerRun], dtype: Dtype, tp: u64) -> Bytes {
    layers
        .iter()
        .map(|run| stored(values(&run.attention, tp), dtype) * u64::from(run.count))
        .sum()
}
