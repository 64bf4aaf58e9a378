//! The shape of a language model: layers as data, run-length encoded.
//!
//! Only shapes are stated here; parameters, bytes and FLOPs are derived in `derive`.

use super::attention::Attention;
use super::omit::{is_two, is_yes, is_zero, no, two, yes};
use super::precision::Scale;
use crate::catalog::{Dtype, ModelId};
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
    #[serde(default, skip_serializing_if = "no")]
    pub tied_embeddings: bool,
    /// Longest context the model was made for, tokens.
    pub max_context: u64,
    /// Layers in order, equal neighbours folded.
    pub layers: Vec<LayerRun>,
    /// Norms subtract the mean and have a bias (LayerNorm), or have no parameters; RMS otherwise.
    #[serde(default, skip_serializing_if = "NormKind::is_rms")]
    pub norm: NormKind,
    /// Further parameters: of the served model (position tables, per-layer embeddings) or beside
    /// it (a vision tower).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extras: Vec<Extra>,
    /// Layers that predict further tokens (MTP), each with a projection of two hidden vectors to
    /// one; not part of the served model unless speculation uses them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtp: Option<Box<LayerRun>>,
    /// How the checkpoint was quantised; none: it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantization: Option<Quantization>,
    /// Where the shape comes from.
    pub source: String,
    /// What was taken for granted when it was imported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
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
    /// Norms of width `hidden` in each.
    #[serde(default = "two", skip_serializing_if = "is_two")]
    pub norms: u64,
    /// Parts the checkpoint keeps in a format of their own.
    #[serde(default, skip_serializing_if = "Kept::is_empty")]
    pub kept: Kept,
    /// Its matrices are those of an earlier layer (Zamba2's shared blocks): they are multiplied
    /// again and it keeps a cache of its own, but they take no memory a second time.
    #[serde(default, skip_serializing_if = "no")]
    pub reused: bool,
}

/// What the norms are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum NormKind {
    /// Root mean square: one vector.
    #[default]
    Rms,
    /// LayerNorm: a scale and a bias.
    LayerNorm,
    /// LayerNorm without bias counts as RMS; this one has no parameters at all (OLMo 1).
    Bare,
}

impl NormKind {
    /// Whether it is the usual one.
    #[must_use]
    pub const fn is_rms(&self) -> bool {
        matches!(self, Self::Rms)
    }

    /// Vectors of a norm.
    #[must_use]
    pub const fn vectors(self) -> u64 {
        match self {
            Self::Rms => 1,
            Self::LayerNorm => 2,
            Self::Bare => 0,
        }
    }
}

/// Parameters beside the layers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extra {
    /// What they are.
    pub name: String,
    /// How many; kept in BF16.
    pub parameters: u64,
    /// Part of the served language model; not: reported beside it (vision tower, audio encoder).
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub served: bool,
}

/// Formats of a layer's parts that the checkpoint fixes, whatever precision a pool asks for
/// (`ignore`, `modules_to_not_convert`, mixed precision). None: the pool's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// Attention's matrices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention: Option<Dtype>,
    /// A dense MLP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dense_ffn: Option<Dtype>,
    /// Routed experts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routed_experts: Option<Dtype>,
    /// Shared experts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_experts: Option<Dtype>,
}

impl Kept {
    /// Nothing is fixed.
    pub const NONE: Self = Self {
        attention: None,
        dense_ffn: None,
        routed_experts: None,
        shared_experts: None,
    };

    /// Whether nothing is fixed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::NONE
    }
}

/// How a checkpoint was quantised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantization {
    /// Format of the linear weights that nothing else is said of.
    pub weights: Dtype,
    /// Format of their inputs.
    pub activations: Dtype,
    /// Scales kept beside the weights; none: one per tensor or channel, too few to count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    /// Rows and columns of a weight share a scale in blocks of so many: no rank may hold part of
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u64>,
    /// Format of the LM head; none: BF16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Dtype>,
}

/// A layer's feed-forward part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Ffn {
    /// One MLP for every token.
    Dense {
        /// Its inner width.
        intermediate: u64,
        /// Three matrices (gate, up, down); not: two.
        #[serde(default = "yes", skip_serializing_if = "is_yes")]
        gated: bool,
        /// Biases on them.
        #[serde(default, skip_serializing_if = "no")]
        bias: bool,
    },
    /// A router picks `top_k` of `experts` MLPs per token.
    Moe(Moe),
    /// One `hidden × hidden` matrix (blocks found by architecture search).
    Matrix,
    /// Nothing: the layer is its attention alone.
    None,
}

impl Ffn {
    /// A gated MLP without biases.
    #[must_use]
    pub const fn gated(intermediate: u64) -> Self {
        Self::Dense {
            intermediate,
            gated: true,
            bias: false,
        }
    }
}

/// Mixture of experts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moe {
    /// Routed experts.
    pub experts: u64,
    /// Routed experts a token visits.
    pub top_k: u64,
    /// Inner width of a routed expert.
    pub intermediate: u64,
    /// Inner width of all shared experts together; 0: none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shared_intermediate: u64,
    /// The router carries a per-expert correction bias (DeepSeek-V3).
    #[serde(default, skip_serializing_if = "no")]
    pub router_bias: bool,
    /// Experts are chosen inside the best `groups_per_token` of `groups` groups (node-limited routing).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub groups: u64,
    /// See `groups`; 0 with `groups` 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub groups_per_token: u64,
    /// Experts of two matrices (up, down), without a gate.
    #[serde(default, skip_serializing_if = "no")]
    pub ungated: bool,
    /// Biases on the experts' matrices and the router (gpt-oss).
    #[serde(default, skip_serializing_if = "no")]
    pub bias: bool,
    /// A gate on the shared experts' output, `hidden × 1` (Qwen2-MoE).
    #[serde(default, skip_serializing_if = "no")]
    pub shared_gate: bool,
    /// Routed experts work in a space of this width, between two matrices all of them share
    /// (Nemotron-3); none: on the hidden vector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latent: Option<u64>,
    /// Choices of the router that do nothing (LongCat-Flash).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub zero_experts: u64,
}

impl LayerRun {
    /// `count` layers with two norms each and nothing fixed by a checkpoint.
    #[must_use]
    pub const fn new(count: u32, attention: Attention, ffn: Ffn) -> Self {
        Self {
            count,
            attention,
            ffn,
            norms: 2,
            kept: Kept::NONE,
            reused: false,
        }
    }
}

impl Model {
    /// A model of layers alone: RMS norms, nothing beside them, not quantised.
    #[must_use]
    pub fn of_layers(id: ModelId, hidden: u64, vocab: u64, layers: Vec<LayerRun>) -> Self {
        Self {
            name: id.to_string(),
            id,
            hidden,
            vocab,
            tied_embeddings: false,
            max_context: 131_072,
            layers,
            norm: NormKind::Rms,
            extras: Vec::new(),
            mtp: None,
            quantization: None,
            source: String::new(),
            assumptions: Vec::new(),
        }
    }

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
            Ffn::Dense { .. } | Ffn::Matrix | Ffn::None => None,
        })
    }
}
