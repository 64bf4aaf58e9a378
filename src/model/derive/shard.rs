//! The part of a layer that one rank holds.
//!
//! The rules are those of the engines (vLLM's and SGLang's parallel linears, DeepSeek's MLA):
//! - query heads are divided by TP; key-value heads too, and copied where TP exceeds them;
//! - MLA's down-projections make one latent for all heads, so each rank holds them whole; the
//!   up-projections and the output projection are divided by heads;
//! - dense and shared MLPs are divided along their inner width;
//! - routed experts are dealt out over EP, each divided by MoE-TP;
//! - routers and norms are copied.
//!
//! Where a degree doesn't divide, the fullest rank is described (sizes round up). Whether such a
//! layout is legal is for `plan` to say.

use super::parts::{PartFormats, layer_parameters};
use super::product;
use crate::catalog::Dtype;
use crate::model::{Attention, Ffn, Gqa, LayerRun, Model, Precision, Recurrent, WeightFormat};
use crate::units::Bytes;

/// Into how many parts the parts of a layer are divided. Degrees of zero count as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shard {
    /// Attention heads.
    pub attention_tp: u64,
    /// Inner width of dense and shared MLPs.
    pub ffn_tp: u64,
    /// Inner width of routed experts.
    pub moe_tp: u64,
    /// Routed experts, by number.
    pub ep: u64,
}

impl Shard {
    /// One rank holds everything.
    pub const WHOLE: Self = Self {
        attention_tp: 1,
        ffn_tp: 1,
        moe_tp: 1,
        ep: 1,
    };

    /// The usual engine layout: EP takes its ranks from the TP group first, so MoE-TP is what
    /// `ffn_tp` leaves over (`max(1, ffn_tp / ep)`). TP 8 with EP 8 or DP-attention 8 with EP 8:
    /// whole experts; TP 8 with EP 2: experts in quarters.
    #[must_use]
    pub const fn new(attention_tp: u64, ffn_tp: u64, ep: u64) -> Self {
        let ep = if ep == 0 { 1 } else { ep };
        let left = ffn_tp / ep;
        Self {
            attention_tp,
            ffn_tp,
            moe_tp: if left == 0 { 1 } else { left },
            ep,
        }
    }
}

/// Bytes of one layer on one rank, by part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LayerWeights {
    /// Attention matrices and their biases.
    pub attention: Bytes,
    /// A dense layer's MLP.
    pub dense_ffn: Bytes,
    /// Router.
    pub router: Bytes,
    /// Routed experts.
    pub routed_experts: Bytes,
    /// Shared experts.
    pub shared_experts: Bytes,
    /// Norms.
    pub norms: Bytes,
}

impl LayerWeights {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> Bytes {
        self.attention + self.ffn() + self.norms
    }

    /// Router, experts and MLPs: what an FFN rank of a disaggregated pair holds besides norms.
    #[must_use]
    pub fn ffn(&self) -> Bytes {
        self.dense_ffn + self.router + self.routed_experts + self.shared_experts
    }
}

/// Size of the fullest part.
const fn part(whole: u64, degree: u64) -> u64 {
    if degree == 0 {
        whole
    } else {
        whole.div_ceil(degree)
    }
}

fn local_gqa(gqa: &mut Gqa, tp: u64) {
    gqa.heads = part(gqa.heads, tp);
    gqa.kv_heads = part(gqa.kv_heads, tp);
}

fn local_recurrent(recurrent: &mut Recurrent, tp: u64) {
    match recurrent {
        Recurrent::DeltaNet(delta) => {
            delta.key_heads = part(delta.key_heads, tp);
            delta.value_heads = part(delta.value_heads, tp);
        }
        Recurrent::Lightning { heads, .. } => *heads = part(*heads, tp),
        Recurrent::Mamba2(mamba) => {
            mamba.heads = part(mamba.heads, tp);
            // Copied where there are fewer groups than ranks.
            mamba.groups = part(mamba.groups, tp);
        }
        Recurrent::Mamba1(mamba) => mamba.inner = part(mamba.inner, tp),
        Recurrent::ShortConv { width, .. } => *width = part(*width, tp),
        Recurrent::RgLru { width, blocks, .. } => {
            *width = part(*width, tp);
            *blocks = part(*blocks, tp);
        }
        Recurrent::Other { parameters, .. } => *parameters = part(*parameters, tp),
    }
}

/// The layer as the fullest rank sees it, sizes rounded up. Its router still scores all experts.
#[must_use]
pub fn layer_on_rank(run: &LayerRun, shard: Shard) -> LayerRun {
    let mut local = run.clone();
    let tp = shard.attention_tp;
    match &mut local.attention {
        Attention::Gqa(gqa) => local_gqa(gqa, tp),
        Attention::Mla(mla) => mla.heads = part(mla.heads, tp),
        Attention::Compressed(own) => {
            own.heads = part(own.heads, tp);
            own.out_groups = part(own.out_groups, tp);
        }
        Attention::Recurrent(recurrent) => local_recurrent(recurrent, tp),
        Attention::Parallel {
            attention,
            recurrent,
        } => {
            local_gqa(attention, tp);
            local_recurrent(recurrent, tp);
        }
        Attention::Matrix | Attention::None => {}
    }
    match &mut local.ffn {
        Ffn::Dense { intermediate, .. } => *intermediate = part(*intermediate, shard.ffn_tp),
        Ffn::Moe(moe) => {
            moe.experts = part(moe.experts, shard.ep);
            moe.intermediate = part(moe.intermediate, shard.moe_tp);
            moe.shared_intermediate = part(moe.shared_intermediate, shard.ffn_tp);
        }
        Ffn::Matrix | Ffn::None => {}
    }
    local
}

/// Bytes of one layer (not the run's `count`) on the fullest rank.
#[must_use]
pub fn layer_weights(
    model: &Model,
    run: &LayerRun,
    precision: Precision,
    shard: Shard,
) -> LayerWeights {
    let hidden = model.hidden;
    let parts = layer_parameters(&layer_on_rank(run, shard), hidden);
    let router = layer_parameters(run, hidden).router;
    let formats = PartFormats::of(run.kept, precision, model.quantization.as_ref());
    let wide = |count| WeightFormat::plain(Dtype::Bf16).bytes(count);
    let routed = product(&[parts.routed_expert, parts.experts]);
    LayerWeights {
        attention: formats.attention.bytes(parts.attention)
            + wide(parts.attention_bias)
            + wide(parts.attention_small),
        dense_ffn: formats.dense_ffn.bytes(parts.dense_ffn),
        router: wide(router),
        routed_experts: formats.routed_experts.bytes(routed) + wide(parts.ffn_bias),
        shared_experts: formats.shared_experts.bytes(parts.shared_experts),
        norms: wide(product(&[parts.norms, model.norm.vectors()])),
    }
}

/// Bytes of one layer (not the run's `count`) on the fullest rank of the layout
/// [`Shard::new`] makes of the degrees.
#[must_use]
pub fn layer_weight_bytes(
    model: &Model,
    run: &LayerRun,
    precision: Precision,
    attention_tp: u64,
    ffn_tp: u64,
    ep: u64,
) -> Bytes {
    let shard = Shard::new(attention_tp, ffn_tp, ep);
    layer_weights(model, run, precision, shard).total()
}

/// Rows of the embedding table as an engine allocates them over `tp` ranks: a multiple of 64
/// (vLLM's `VocabParallelEmbedding`), then of `tp`, so that every rank has equally many.
#[must_use]
pub fn padded_vocab(vocab: u64, tp: u64) -> u64 {
    let rows = vocab.div_ceil(64).saturating_mul(64);
    part(rows, tp).saturating_mul(tp.max(1))
}

/// Bytes of one rank's part of the embedding table, BF16, vocabulary padded
/// ([`padded_vocab`]) and divided by TP.
#[must_use]
pub fn embedding_bytes(model: &Model, tp: u64) -> Bytes {
    let rows = padded_vocab(model.vocab, tp) / tp.max(1);
    WeightFormat::plain(Dtype::Bf16).bytes(product(&[rows, model.hidden]))
}

/// Bytes of one rank's part of the LM head, in the checkpoint's format for it (BF16 unless stated);
/// none where the embedding table serves as head. (A
/// last pipeline stage that is not also the first then holds [`embedding_bytes`] of its own.)
#[must_use]
pub fn head_bytes(model: &Model, tp: u64) -> Bytes {
    if model.tied_embeddings {
        return Bytes::ZERO;
    }
    let format = model.quantization.and_then(|own| own.head);
    let rows = padded_vocab(model.vocab, tp) / tp.max(1);
    WeightFormat::plain(format.unwrap_or(Dtype::Bf16)).bytes(product(&[rows, model.hidden]))
}
