//! The shape of a language model: layers as data, run-length encoded.
//!
//! Only shapes are stated here; parameters, bytes and FLOPs are derived in `derive`.

use crate::catalog::ModelId;
use serde::{Deserialize, Serialize};

/// A decoder-only language model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Its name in documents.
    pub id: ModelId,
    /// Its name for people, as published.
    pub name: String,
    /// Width of the residual stream.
    pub hidden: u64,
    /// Rows of the embedding table.
    pub vocab: u64,
    /// The LM head is the embedding table.
    #[serde(default)]
    pub tied_embeddings: bool,
    /// Longest context the model was made for, tokens.
    pub max_context: u64,
    /// Layers in order, equal neighbours folded.
    pub layers: Vec<LayerRun>,
    /// Where the shape comes from.
    pub source: String,
}

/// `count` equal layers in a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerRun {
    /// How many.
    pub count: u32,
    /// Their attention.
    pub attention: Attention,
    /// Their feed-forward part.
    pub ffn: Ffn,
}

/// How a layer attends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Attention {
    /// Multi-head, grouped-query or multi-query attention over the whole context.
    Gqa(Gqa),
    /// Multi-head latent attention (DeepSeek-V2): one compressed latent per token is cached.
    Mla(Mla),
}

/// Grouped-query attention; `kv_heads == heads` is MHA, `kv_heads == 1` MQA.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gqa {
    /// Query heads.
    pub heads: u64,
    /// Key and value heads.
    pub kv_heads: u64,
    /// Width of a head; not always hidden / heads.
    pub head_dim: u64,
    /// RMS norms of width `head_dim` on queries and keys.
    #[serde(default)]
    pub qk_norm: bool,
    /// With `qk_norm`: the norms span all heads at once (MiniMax-M2, OLMo-2) and not one head.
    #[serde(default)]
    pub qk_norm_whole: bool,
    /// Biases on the Q, K and V projections.
    #[serde(default)]
    pub qkv_bias: bool,
}

/// Multi-head latent attention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mla {
    /// Query heads.
    pub heads: u64,
    /// Rank of the query compression; none: queries are projected directly.
    pub q_rank: Option<u64>,
    /// Rank of the cached latent.
    pub kv_rank: u64,
    /// Width of a head's part without position.
    pub nope_dim: u64,
    /// Width of a head's rotary part; the rotary key is cached too, once for all heads.
    pub rope_dim: u64,
    /// Width of a value head.
    pub v_dim: u64,
}

/// A layer's feed-forward part. All are gated (gate, up, down).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Ffn {
    /// One MLP for every token.
    Dense {
        /// Its inner width.
        intermediate: u64,
    },
    /// A router picks `top_k` of `experts` MLPs per token.
    Moe(Moe),
}

/// Mixture of experts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moe {
    /// Routed experts.
    pub experts: u64,
    /// Routed experts a token visits.
    pub top_k: u64,
    /// Inner width of a routed expert.
    pub intermediate: u64,
    /// Inner width of all shared experts together; 0: none.
    #[serde(default)]
    pub shared_intermediate: u64,
    /// The router carries a per-expert correction bias (DeepSeek-V3).
    #[serde(default)]
    pub router_bias: bool,
    /// Experts are chosen inside the best `groups_per_token` of `groups` groups (node-limited routing).
    #[serde(default)]
    pub groups: u64,
    /// See `groups`; 0 with `groups` 0.
    #[serde(default)]
    pub groups_per_token: u64,
}

impl Model {
    /// Layers in all.
    #[must_use]
    pub fn layer_count(&self) -> u32 {
        self.layers
            .iter()
            .fold(0, |sum, run| sum.saturating_add(run.count))
    }

    /// The first MoE layer's shape; none: the model is dense.
    #[must_use]
    pub fn moe(&self) -> Option<&Moe> {
        self.layers.iter().find_map(|run| match &run.ffn {
            Ffn::Moe(moe) => Some(moe),
            Ffn::Dense { .. } => None,
        })
    }
}

impl Attention {
    /// Query heads.
    #[must_use]
    pub const fn heads(&self) -> u64 {
        match self {
            Self::Gqa(gqa) => gqa.heads,
            Self::Mla(mla) => mla.heads,
        }
    }

    /// Key-value heads that TP can split; MLA's one latent can't be split.
    #[must_use]
    pub const fn kv_heads(&self) -> u64 {
        match self {
            Self::Gqa(gqa) => gqa.kv_heads,
            Self::Mla(_) => 1,
        }
    }
}
