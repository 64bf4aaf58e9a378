//! How a layer mixes tokens: the kinds of attention and of recurrence models are built of.
//!
//! Only shapes are stated; what is kept for a sequence, what is multiplied and how many parameters
//! that takes is derived in `derive`.

use super::omit::{fp32, is_fp32, is_yes, no, yes};
use crate::catalog::Dtype;
use serde::{Deserialize, Serialize};

/// How a layer attends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Attention {
    /// Multi-head, grouped-query, multi-query or multi-matrix factorisation attention, over the
    /// whole context or part of it.
    Gqa(Gqa),
    /// Multi-head latent attention (DeepSeek-V2): one compressed latent per token is cached.
    Mla(Mla),
    /// Attention over a short window and a compressed past (DeepSeek-V4's CSA and HCA).
    Compressed(Compressed),
    /// Linear attention, state space or convolution: a state of fixed size per sequence.
    Recurrent(Recurrent),
    /// Attention and recurrence side by side in one layer (Falcon-H1, Hymba).
    Parallel {
        /// The attending half.
        attention: Gqa,
        /// The recurrent half.
        recurrent: Recurrent,
    },
    /// One `hidden × hidden` matrix in place of attention (blocks found by architecture search).
    Matrix,
    /// Nothing: the layer is a feed-forward part alone.
    None,
}

/// Which part of the context a layer sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Span {
    /// All of it.
    #[default]
    Full,
    /// The last so many tokens.
    Window(u64),
    /// The current chunk of so many tokens (Llama 4).
    Chunk(u64),
}

impl Span {
    /// Most tokens a layer keeps; none: all of them.
    #[must_use]
    pub const fn cap(self) -> Option<u64> {
        match self {
            Self::Full => None,
            Self::Window(tokens) | Self::Chunk(tokens) => Some(tokens),
        }
    }

    /// Whether it is the whole context.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Full)
    }
}

/// A gate on the output of attention, from the layer's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Gate {
    /// None.
    #[default]
    None,
    /// One number per value (Qwen3-Next: the query projection is twice as wide).
    Full,
    /// One number per head (Step-3.5).
    Head,
}

impl Gate {
    /// Whether there is none.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

/// Grouped-query attention; `kv_heads == heads` is MHA, `kv_heads == 1` MQA, with `q_rank` MFA.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gqa {
    /// Query heads.
    pub heads: u64,
    /// Key and value heads.
    pub kv_heads: u64,
    /// Width of a query and key head; not always hidden / heads.
    pub head_dim: u64,
    /// Width of a value head where it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub v_dim: Option<u64>,
    /// Rank of the query projection: multi-matrix factorisation attention (Step-3, arXiv
    /// 2507.19427 §3). A norm of that width stands between its two matrices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q_rank: Option<u64>,
    /// What it sees.
    #[serde(default, skip_serializing_if = "Span::is_full")]
    pub span: Span,
    /// Norms of width `head_dim` on queries and keys.
    #[serde(default, skip_serializing_if = "no")]
    pub qk_norm: bool,
    /// With `qk_norm`: the norms span all heads at once (MiniMax-M2, OLMo-2) and not one head.
    #[serde(default, skip_serializing_if = "no")]
    pub qk_norm_whole: bool,
    /// Biases on the Q, K and V projections.
    #[serde(default, skip_serializing_if = "no")]
    pub qkv_bias: bool,
    /// A bias on the output projection.
    #[serde(default, skip_serializing_if = "no")]
    pub out_bias: bool,
    /// A learned sink per query head (gpt-oss).
    #[serde(default, skip_serializing_if = "no")]
    pub sinks: bool,
    /// A gate on its output.
    #[serde(default, skip_serializing_if = "Gate::is_none")]
    pub gate: Gate,
    /// It reads the cache of an earlier layer and keeps none of its own (cross-layer attention).
    #[serde(default, skip_serializing_if = "no")]
    pub shares_kv: bool,
    /// Keys serve as values too: one matrix, one cached vector (Gemma 4's global layers).
    #[serde(default, skip_serializing_if = "no")]
    pub keys_are_values: bool,
    /// Picks the tokens attended to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexer: Option<Indexer>,
}

impl Gqa {
    /// Width of a value head.
    #[must_use]
    pub const fn value_dim(&self) -> u64 {
        match self.v_dim {
            Some(width) => width,
            None => self.head_dim,
        }
    }
}

/// Multi-head latent attention.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mla {
    /// Query heads.
    pub heads: u64,
    /// Rank of the query compression; none: queries are projected directly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q_rank: Option<u64>,
    /// Rank of the cached latent.
    pub kv_rank: u64,
    /// Width of a head's part without position.
    pub nope_dim: u64,
    /// Width of a head's rotary part; the rotary key is cached too, once for all heads.
    pub rope_dim: u64,
    /// Width of a value head.
    pub v_dim: u64,
    /// A gate on its output.
    #[serde(default, skip_serializing_if = "Gate::is_none")]
    pub gate: Gate,
    /// Picks the tokens attended to (DeepSeek sparse attention, V3.2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexer: Option<Indexer>,
}

/// The lightning indexer of sparse attention (DeepSeek-V3.2-Exp report §2): small heads score every
/// token of the context from an FP8 key each, the best `top_k` are attended to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Indexer {
    /// Scoring heads.
    pub heads: u64,
    /// Width of a scoring head and of the cached key.
    pub dim: u64,
    /// Entries attended to.
    pub top_k: u64,
    /// The layer uses the choice of an earlier layer: no indexer and no index keys of its own.
    #[serde(default, skip_serializing_if = "no")]
    pub shared: bool,
    /// Chooses blocks of tokens (MiniMax-M3): no weights per head, and keys in BF16 or the cache's
    /// format in place of FP8 (vLLM keeps them beside keys and values).
    #[serde(default, skip_serializing_if = "no")]
    pub by_blocks: bool,
}

/// Attention over the last tokens and a compressed past: entries of one latent per `ratio` tokens
/// serve as key and value of all heads (DeepSeek-V4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compressed {
    /// Query heads.
    pub heads: u64,
    /// Width of a head and of an entry, rotary part included.
    pub head_dim: u64,
    /// Rank of the query compression.
    pub q_rank: u64,
    /// Groups of heads of the output projection's first matrix.
    pub out_groups: u64,
    /// Rank of each of those groups.
    pub out_rank: u64,
    /// Tokens kept as they are.
    pub window: u64,
    /// Tokens per compressed entry; 0: the layer sees its window only.
    pub ratio: u64,
    /// Picks the compressed entries attended to; none: all of them (HCA).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexer: Option<Indexer>,
}

impl Compressed {
    /// Entries of two neighbours overlap where the ratio is 4 (CSA): the compressor is then twice
    /// as wide.
    #[must_use]
    pub const fn overlap(&self) -> u64 {
        if self.ratio == 4 { 2 } else { 1 }
    }
}

/// A token mixer with a state of fixed size per sequence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Recurrent {
    /// Gated delta rule, one decay per head (Qwen3-Next, Qwen3.5) or per key channel (Kimi Linear).
    DeltaNet(DeltaNet),
    /// Lightning attention (MiniMax-Text-01, Ling 2.5): a decaying sum of outer products.
    Lightning {
        /// Heads.
        heads: u64,
        /// Width of a head.
        head_dim: u64,
        /// Norm and gate on its output.
        #[serde(default, skip_serializing_if = "no")]
        gated: bool,
    },
    /// Mamba-2 (arXiv 2405.21060).
    Mamba2(Mamba2),
    /// Mamba-1 (arXiv 2312.00752).
    Mamba1(Mamba1),
    /// A gated short convolution (LFM2).
    ShortConv {
        /// Its width; the model's.
        width: u64,
        /// Its length, tokens.
        kernel: u64,
        /// A bias on its matrices and its kernel.
        #[serde(default, skip_serializing_if = "no")]
        bias: bool,
    },
    /// A gated linear recurrence (RecurrentGemma's RG-LRU).
    RgLru {
        /// Its width.
        width: u64,
        /// Blocks of its gates.
        blocks: u64,
        /// Length of its convolution, tokens.
        kernel: u64,
    },
    /// Anything else: what is known is its size.
    Other {
        /// What it is, for people.
        name: String,
        /// Matrix parameters of a layer.
        parameters: u64,
        /// Values of state a sequence keeps, FP32.
        state_values: u64,
    },
}

/// Gated delta rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeltaNet {
    /// Query and key heads.
    pub key_heads: u64,
    /// Value heads.
    pub value_heads: u64,
    /// Width of a key head.
    pub key_dim: u64,
    /// Width of a value head.
    pub value_dim: u64,
    /// Length of the convolution before it, tokens.
    pub kernel: u64,
    /// Decay per key channel, through low-rank matrices (Kimi delta attention); not: per head.
    #[serde(default, skip_serializing_if = "no")]
    pub channel_decay: bool,
    /// With `channel_decay`: the output gate is one full matrix and not two of low rank (Kimi-K3).
    #[serde(default, skip_serializing_if = "no")]
    pub full_gate: bool,
    /// Format of the state.
    #[serde(default = "fp32", skip_serializing_if = "is_fp32")]
    pub state_dtype: Dtype,
}

/// Mamba-2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mamba2 {
    /// Heads.
    pub heads: u64,
    /// Width of a head.
    pub head_dim: u64,
    /// Width of the state per channel.
    pub state: u64,
    /// Groups that share B and C.
    pub groups: u64,
    /// Length of the convolution, tokens.
    pub kernel: u64,
    /// Biases on the in and out projections.
    #[serde(default, skip_serializing_if = "no")]
    pub bias: bool,
    /// A bias on the convolution.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub conv_bias: bool,
    /// A gated norm before the out projection.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub norm: bool,
    /// Format of the state.
    #[serde(default = "fp32", skip_serializing_if = "is_fp32")]
    pub state_dtype: Dtype,
}

/// Mamba-1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mamba1 {
    /// Inner width.
    pub inner: u64,
    /// Width of the state per channel.
    pub state: u64,
    /// Rank of the step size.
    pub dt_rank: u64,
    /// Length of the convolution, tokens.
    pub kernel: u64,
    /// Biases on the in and out projections.
    #[serde(default, skip_serializing_if = "no")]
    pub bias: bool,
    /// A bias on the convolution.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub conv_bias: bool,
    /// Norms on B, C and the step size (Jamba).
    #[serde(default, skip_serializing_if = "no")]
    pub inner_norms: bool,
    /// Format of the state.
    #[serde(default = "fp32", skip_serializing_if = "is_fp32")]
    pub state_dtype: Dtype,
}

impl Attention {
    /// Query heads (or heads of the recurrence); 0 where there is nothing to divide.
    #[must_use]
    pub const fn heads(&self) -> u64 {
        match self {
            Self::Gqa(gqa) | Self::Parallel { attention: gqa, .. } => gqa.heads,
            Self::Mla(mla) => mla.heads,
            Self::Compressed(compressed) => compressed.heads,
            Self::Recurrent(recurrent) => recurrent.heads(),
            Self::Matrix | Self::None => 0,
        }
    }

    /// Key-value heads that TP can split; a latent or shared vector can't be split and counts as
    /// one, no cache as 0.
    #[must_use]
    pub const fn kv_heads(&self) -> u64 {
        match self {
            Self::Gqa(gqa) | Self::Parallel { attention: gqa, .. } => gqa.kv_heads,
            Self::Mla(_) | Self::Compressed(_) => 1,
            Self::Recurrent(_) | Self::Matrix | Self::None => 0,
        }
    }

    /// The field's word for it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Gqa(gqa) | Self::Parallel { attention: gqa, .. } => match gqa {
                Gqa {
                    q_rank: Some(_), ..
                } => "MFA",
                gqa if gqa.kv_heads == gqa.heads => "MHA",
                Gqa { kv_heads: 1, .. } => "MQA",
                _ => "GQA",
            },
            Self::Mla(Mla {
                indexer: Some(_), ..
            }) => "MLA + DSA",
            Self::Mla(_) => "MLA",
            Self::Compressed(Compressed { ratio: 0, .. }) => "window",
            Self::Compressed(Compressed {
                indexer: Some(_), ..
            }) => "CSA",
            Self::Compressed(_) => "HCA",
            Self::Recurrent(recurrent) => recurrent.kind(),
            Self::Matrix => "matrix",
            Self::None => "none",
        }
    }
}

impl Recurrent {
    /// Heads TP divides; 1 where it is divided by channels.
    #[must_use]
    pub const fn heads(&self) -> u64 {
        match self {
            Self::DeltaNet(delta) => delta.value_heads,
            Self::Lightning { heads, .. } => *heads,
            Self::Mamba2(mamba) => mamba.heads,
            Self::Mamba1(mamba) => mamba.inner,
            Self::RgLru { blocks, .. } => *blocks,
            Self::ShortConv { .. } | Self::Other { .. } => 1,
        }
    }

    /// The field's word for it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::DeltaNet(DeltaNet {
                channel_decay: true,
                ..
            }) => "KDA",
            Self::DeltaNet(_) => "gated DeltaNet",
            Self::Lightning { .. } => "lightning",
            Self::Mamba2(_) => "Mamba-2",
            Self::Mamba1(_) => "Mamba",
            Self::ShortConv { .. } => "short convolution",
            Self::RgLru { .. } => "RG-LRU",
            Self::Other { .. } => "recurrent",
        }
    }
}
