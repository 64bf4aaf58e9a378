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

use super::parts::{layer_parameters, stored};
use super::product;
use crate::catalog::Dtype;
use crate::model::{Attention, Ffn, LayerRun, Model, Precision};
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

/// The layer as the fullest rank sees it. Its router still scores all experts.
fn local(run: &LayerRun, shard: Shard) -> LayerRun {
    let mut local = run.clone();
    match &mut local.attention {
        Attention::Gqa(gqa) => {
            gqa.heads = part(gqa.heads, shard.attention_tp);
            gqa.kv_heads = part(gqa.kv_heads, shard.attention_tp);
        }
        Attention::Mla(mla) => mla.heads = part(mla.heads, shard.attention_tp),
    }
    match &mut local.ffn {
        Ffn::Dense { intermediate } => *intermediate = part(*intermediate, shard.ffn_tp),
        Ffn::Moe(moe) => {
            moe.experts = part(moe.experts, shard.ep);
            moe.intermediate = part(moe.intermediate, shard.moe_tp);
            moe.shared_intermediate = part(moe.shared_intermediate, shard.ffn_tp);
        }
    }
    local
}

/// Bytes of one layer (not the run's `count`) on the fullest rank.
#[must_use]
pub fn layer_weights(
    run: &LayerRun,
    hidden: u64,
    precision: Precision,
    shard: Shard,
) -> LayerWeights {
    let parts = layer_parameters(&local(run, shard), hidden);
    let router = layer_parameters(run, hidden).router;
    let linear = |count| stored(count, precision.weights);
    let kept = |count| stored(count, Dtype::Bf16);
    LayerWeights {
        attention: linear(parts.attention) + kept(parts.attention_bias),
        dense_ffn: linear(parts.dense_ffn),
        router: kept(router),
        routed_experts: linear(product(&[parts.routed_expert, parts.experts])),
        shared_experts: linear(parts.shared_experts),
        norms: kept(parts.norms),
    }
}

/// Bytes of one layer (not the run's `count`) on the fullest rank of the layout
/// [`Shard::new`] makes of the degrees.
#[must_use]
pub fn layer_weight_bytes(
    run: &LayerRun,
    hidden: u64,
    precision: Precision,
    attention_tp: u64,
    ffn_tp: u64,
    ep: u64,
) -> Bytes {
    let shard = Shard::new(attention_tp, ffn_tp, ep);
    layer_weights(run, hidden, precision, shard).total()
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
    stored(product(&[rows, model.hidden]), Dtype::Bf16)
}

/// Bytes of one rank's part of the LM head; none where the embedding table serves as head. (A
/// last pipeline stage that is not also the first then holds [`embedding_bytes`] of its own.)
#[must_use]
pub fn head_bytes(model: &Model, tp: u64) -> Bytes {
    if model.tied_embeddings {
        Bytes::ZERO
    } else {
        embedding_bytes(model, tp)
    }
}
