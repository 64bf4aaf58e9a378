//! What a layer keeps for a sequence: keys and values, latents, index keys, states.
//!
//! A GQA layer keeps a key and a value of every key-value head, `kv · (d + v)` values a token, of
//! the tokens it still sees. An MLA layer keeps one latent and one rotary key for all heads,
//! `kv_rank + rope` (DeepSeek-V2, arXiv 2405.04434 §2.1.3), which TP can't divide; an indexer one
//! FP8 key of width `dim`. Compressed attention keeps its window, and one entry per `ratio`
//! tokens, and its compressor's unfinished one. Recurrent layers keep a state of fixed size: the last `kernel − 1` inputs of their
//! convolution in BF16, and
//! - gated DeltaNet: `value_heads · key_dim · value_dim`;
//! - lightning attention: `heads · d · d`, FP32;
//! - Mamba-2: `heads · head_dim · state`; Mamba: `inner · state`; RG-LRU: its width, FP32.

use super::mixer::mamba2_channels;
use super::{product, sum};
use crate::catalog::Dtype;
use crate::model::{
    Attention, Compressed, DeltaNet, Gqa, Indexer, LayerRun, Mla, Model, Recurrent, WeightFormat,
};
use crate::units::Bytes;

/// Name of what an indexer keeps: the one part of a layer with heads that TP does not divide.
pub const INDEX_KEYS: &str = "index keys";

/// How many entries a sequence has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extent {
    /// One per token of context.
    Token,
    /// One per token, of the last so many.
    Last(u64),
    /// One per so many whole tokens.
    Every(u64),
    /// One, whatever the context.
    Once,
}

impl Extent {
    /// Entries at a length of context.
    #[must_use]
    pub fn entries(self, tokens: u64) -> u64 {
        match self {
            Self::Token => tokens,
            Self::Last(most) => tokens.min(most),
            Self::Every(ratio) => tokens / ratio.max(1),
            Self::Once => 1,
        }
    }
}

/// One thing a layer keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CachePart {
    /// What it is.
    pub name: &'static str,
    /// Values of one entry, on each rank.
    pub values: u64,
    /// Their format.
    pub dtype: Dtype,
    /// How many entries.
    pub extent: Extent,
}

impl CachePart {
    /// Bytes of one entry, a 4-bit format's scales included.
    #[must_use]
    pub fn entry_bytes(self) -> Bytes {
        WeightFormat::plain(self.dtype).bytes(self.values)
    }

    /// Bytes at a length of context.
    #[must_use]
    pub fn bytes(self, tokens: u64) -> Bytes {
        Bytes::new(
            self.entry_bytes()
                .get()
                .saturating_mul(self.extent.entries(tokens)),
        )
    }
}

/// What one layer keeps on each of `tp` ranks, with keys and values in `kv`. Key-value heads are
/// copied where there are fewer than ranks; latents and index keys are whole on every rank.
#[must_use]
pub fn layer_cache(attention: &Attention, kv: Dtype, tp: u64) -> Vec<CachePart> {
    let tp = tp.max(1);
    let mut parts = Vec::new();
    match attention {
        Attention::Gqa(gqa) => gqa_cache(gqa, kv, tp, &mut parts),
        Attention::Mla(mla) => mla_cache(mla, kv, &mut parts),
        Attention::Compressed(compressed) => compressed_cache(compressed, kv, &mut parts),
        Attention::Recurrent(recurrent) => state(recurrent, tp, &mut parts),
        Attention::Parallel {
            attention,
            recurrent,
        } => {
            gqa_cache(attention, kv, tp, &mut parts);
            state(recurrent, tp, &mut parts);
        }
        Attention::Matrix | Attention::None => {}
    }
    parts.retain(|part| part.values > 0);
    parts
}

fn gqa_cache(gqa: &Gqa, dtype: Dtype, tp: u64, parts: &mut Vec<CachePart>) {
    if gqa.shares_kv {
        return;
    }
    let heads = gqa.kv_heads.div_ceil(tp);
    // A key that is the value too is kept once more all the same: it is rotated, the value not.
    let values = product(&[heads, sum(&[gqa.head_dim, gqa.value_dim()])]);
    parts.push(CachePart {
        name: "keys and values",
        values,
        dtype,
        extent: gqa.span.cap().map_or(Extent::Token, Extent::Last),
    });
    index_keys(gqa.indexer, dtype, Extent::Token, parts);
}

/// Index keys are FP8 whatever the cache is (DeepSeek-V3.2-Exp), but for those that choose blocks:
/// vLLM keeps MiniMax-M3's in the cache's format.
fn index_keys(indexer: Option<Indexer>, kv: Dtype, extent: Extent, parts: &mut Vec<CachePart>) {
    if let Some(own) = indexer.filter(|own| !own.shared) {
        parts.push(CachePart {
            name: INDEX_KEYS,
            values: own.dim,
            dtype: if own.by_blocks { kv } else { Dtype::Fp8 },
            extent,
        });
    }
}

fn mla_cache(mla: &Mla, dtype: Dtype, parts: &mut Vec<CachePart>) {
    parts.push(CachePart {
        name: "latent and rotary key",
        values: sum(&[mla.kv_rank, mla.rope_dim]),
        dtype,
        extent: Extent::Token,
    });
    index_keys(mla.indexer, dtype, Extent::Token, parts);
}

fn compressed_cache(own: &Compressed, dtype: Dtype, parts: &mut Vec<CachePart>) {
    parts.push(CachePart {
        name: "window",
        values: own.head_dim,
        dtype,
        extent: Extent::Last(own.window),
    });
    if own.ratio > 0 {
        parts.push(CachePart {
            name: "compressed entries",
            values: own.head_dim,
            dtype,
            extent: Extent::Every(own.ratio),
        });
        index_keys(own.indexer, dtype, Extent::Every(own.ratio), parts);
        compressor_state(
            "compressor state",
            own.ratio,
            own.overlap(),
            own.head_dim,
            parts,
        );
        if let Some(index) = own.indexer.filter(|index| !index.shared) {
            let name = "index compressor state";
            compressor_state(name, own.ratio, own.overlap(), index.dim, parts);
        }
    }
}

/// What a compressor keeps of the tokens of an entry that is not whole yet: key-values and gates of
/// width `overlap · dim`, FP32, for as many tokens as an entry is made of (vLLM's
/// `deepseek_v4` keeps them as a window of `overlap · ratio` tokens).
fn compressor_state(
    name: &'static str,
    ratio: u64,
    overlap: u64,
    dim: u64,
    parts: &mut Vec<CachePart>,
) {
    parts.push(CachePart {
        name,
        values: product(&[overlap, ratio, 2, overlap, dim]),
        dtype: Dtype::Fp32,
        extent: Extent::Once,
    });
}

/// The state of a recurrent layer on each of `tp` ranks that divide its heads or channels.
fn state(recurrent: &Recurrent, tp: u64, parts: &mut Vec<CachePart>) {
    let mut once = |name, values: u64, dtype| {
        parts.push(CachePart {
            name,
            values,
            dtype,
            extent: Extent::Once,
        });
    };
    let window = |kernel: u64| kernel.saturating_sub(1);
    match recurrent {
        Recurrent::DeltaNet(delta) => {
            let convolved = product(&[delta_channels(delta, tp), window(delta.kernel)]);
            once("convolution state", convolved, Dtype::Bf16);
            let heads = delta.value_heads.div_ceil(tp);
            let values = product(&[heads, delta.key_dim, delta.value_dim]);
            once("recurrent state", values, delta.state_dtype);
        }
        Recurrent::Lightning {
            heads, head_dim, ..
        } => {
            let values = product(&[heads.div_ceil(tp), *head_dim, *head_dim]);
            once("recurrent state", values, Dtype::Fp32);
        }
        Recurrent::Mamba2(mamba) => {
            let mut local = mamba.clone();
            local.heads = mamba.heads.div_ceil(tp);
            local.groups = mamba.groups.div_ceil(tp);
            let convolved = product(&[mamba2_channels(&local), window(mamba.kernel)]);
            once("convolution state", convolved, Dtype::Bf16);
            let values = product(&[local.heads, mamba.head_dim, mamba.state]);
            once("recurrent state", values, mamba.state_dtype);
        }
        Recurrent::Mamba1(mamba) => {
            let inner = mamba.inner.div_ceil(tp);
            let convolved = product(&[inner, window(mamba.kernel)]);
            once("convolution state", convolved, Dtype::Bf16);
            let values = product(&[inner, mamba.state]);
            once("recurrent state", values, mamba.state_dtype);
        }
        Recurrent::ShortConv { width, kernel, .. } => {
            let convolved = product(&[width.div_ceil(tp), window(*kernel)]);
            once("convolution state", convolved, Dtype::Bf16);
        }
        Recurrent::RgLru { width, kernel, .. } => {
            let width = width.div_ceil(tp);
            once(
                "convolution state",
                product(&[width, window(*kernel)]),
                Dtype::Bf16,
            );
            once("recurrent state", width, Dtype::Fp32);
        }
        Recurrent::Other { state_values, .. } => {
            once("recurrent state", state_values.div_ceil(tp), Dtype::Fp32);
        }
    }
}

/// Channels a DeltaNet's convolution works on, on each of `tp` ranks.
fn delta_channels(delta: &DeltaNet, tp: u64) -> u64 {
    let key = product(&[delta.key_heads.div_ceil(tp), delta.key_dim]);
    let value = product(&[delta.value_heads.div_ceil(tp), delta.value_dim]);
    sum(&[key, key, value])
}

/// Bytes one more token adds while every window still has room for it, all layers, one copy.
#[must_use]
pub fn kv_bytes_per_token(model: &Model, kv: Dtype) -> Bytes {
    kv_bytes_per_token_rank(&model.layers, kv, 1)
}

/// The same for each of `tp` ranks, of these layers (a pipeline stage's, say). What is kept once
/// per several tokens counts with its share, rounded up over all layers.
#[must_use]
pub fn kv_bytes_per_token_rank(layers: &[LayerRun], kv: Dtype, tp: u64) -> Bytes {
    per_token(layers, kv, tp, |extent| !matches!(extent, Extent::Once))
}

/// Bytes one more token adds once every window is full: what layers that see all of the context
/// keep.
#[must_use]
pub fn kv_bytes_per_token_growing(layers: &[LayerRun], kv: Dtype, tp: u64) -> Bytes {
    per_token(layers, kv, tp, |extent| {
        matches!(extent, Extent::Token | Extent::Every(_))
    })
}

fn per_token(layers: &[LayerRun], kv: Dtype, tp: u64, counts: impl Fn(Extent) -> bool) -> Bytes {
    // Shares of entries of several tokens are summed in 2^20ths, which all ratios in use divide.
    const PARTS: u128 = 1 << 20;
    let mut total: u128 = 0;
    for run in layers {
        for part in layer_cache(&run.attention, kv, tp) {
            if !counts(part.extent) {
                continue;
            }
            let every = match part.extent {
                Extent::Every(ratio) => u128::from(ratio.max(1)),
                Extent::Token | Extent::Last(_) | Extent::Once => 1,
            };
            let bytes = u128::from(part.entry_bytes().get()) * u128::from(run.count);
            total = total.saturating_add(bytes.saturating_mul(PARTS) / every);
        }
    }
    Bytes::new(u64::try_from(total.div_ceil(PARTS)).unwrap_or(u64::MAX))
}

/// Bytes a sequence of `tokens` keeps, all layers, one copy: windows at their cap, states
/// included.
#[must_use]
pub fn kv_bytes_per_sequence(model: &Model, kv: Dtype, tokens: u64) -> Bytes {
    kv_bytes_per_sequence_rank(&model.layers, kv, 1, tokens)
}

/// The same for each of `tp` ranks, of these layers.
#[must_use]
pub fn kv_bytes_per_sequence_rank(layers: &[LayerRun], kv: Dtype, tp: u64, tokens: u64) -> Bytes {
    sum_parts(layers, kv, tp, |part| part.bytes(tokens))
}

/// Bytes of fixed state a sequence keeps on each of `tp` ranks, whatever its length.
#[must_use]
pub fn state_bytes_per_sequence(layers: &[LayerRun], tp: u64) -> Bytes {
    sum_parts(layers, Dtype::Bf16, tp, |part| match part.extent {
        Extent::Once => part.entry_bytes(),
        Extent::Token | Extent::Last(_) | Extent::Every(_) => Bytes::ZERO,
    })
}

fn sum_parts(layers: &[LayerRun], kv: Dtype, tp: u64, bytes: impl Fn(CachePart) -> Bytes) -> Bytes {
    let mut total: u64 = 0;
    for run in layers {
        let parts = layer_cache(&run.attention, kv, tp);
        let layer: u64 = parts
            .into_iter()
            .fold(0, |sum, part| sum.saturating_add(bytes(part).get()));
        total = total.saturating_add(layer.saturating_mul(u64::from(run.count)));
    }
    Bytes::new(total)
}
