//! A model kept in the document.

use super::bounds::{self, MAX_EXTRAS, MAX_LAYER_RUNS, MAX_NAME, MAX_TEXT};
use super::mirror::{Frozen, frozen_enum, frozen_struct};
use crate::catalog::{self, ModelId};
use crate::model::{self, MAX_ASSUMPTION, MAX_ASSUMPTIONS};

frozen_enum!(#[derive(PartialEq)] Dtype as catalog::Dtype {
    Fp32,
    Bf16,
    Fp8,
    Int8,
    Fp4,
    Mxfp4,
    Int4,
});

frozen_struct!(Model as model::Model {
    id: ModelId,
    #[serde(deserialize_with = "bounds::text::<_, MAX_NAME>")]
    name: String,
    hidden: u64,
    vocab: u64,
    tied_embeddings: bool,
    max_context: u64,
    #[serde(deserialize_with = "bounds::at_most::<_, _, MAX_LAYER_RUNS>")]
    layers: Vec<LayerRun>,
    #[serde(default, skip_serializing_if = "NormKind::is_rms")]
    norm: NormKind,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "bounds::at_most::<_, _, MAX_EXTRAS>")]
    extras: Vec<Extra>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mtp: Option<Box<LayerRun>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quantization: Option<Quantization>,
    #[serde(deserialize_with = "bounds::text::<_, MAX_TEXT>")]
    source: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "bounds::texts::<_, MAX_ASSUMPTIONS, MAX_ASSUMPTION>")]
    assumptions: Vec<String>,
});

frozen_enum!(#[derive(Default)] NormKind as model::NormKind {
    #[default]
    Rms,
    LayerNorm,
    Bare,
});

impl NormKind {
    const fn is_rms(&self) -> bool {
        matches!(self, Self::Rms)
    }
}

frozen_struct!(Extra as model::Extra {
    #[serde(deserialize_with = "bounds::text::<_, MAX_NAME>")]
    name: String,
    parameters: u64,
    served: bool,
});

frozen_struct!(Quantization as model::Quantization {
    weights: Dtype,
    activations: Dtype,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scale: Option<Scale>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    block: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    head: Option<Dtype>,
});

frozen_struct!(Scale as model::Scale {
    bits: u64,
    per: u64,
});

frozen_struct!(LayerRun as model::LayerRun {
    count: u32,
    attention: Attention,
    ffn: Ffn,
    #[serde(default = "bounds::two", skip_serializing_if = "bounds::is_two")]
    norms: u64,
    #[serde(default, skip_serializing_if = "Kept::is_empty")]
    kept: Kept,
    #[serde(default, skip_serializing_if = "bounds::no")]
    reused: bool,
});

frozen_struct!(#[derive(Default)] Kept as model::Kept {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attention: Option<Dtype>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dense_ffn: Option<Dtype>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    routed_experts: Option<Dtype>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shared_experts: Option<Dtype>,
});

impl Kept {
    const fn is_empty(&self) -> bool {
        self.attention.is_none()
            && self.dense_ffn.is_none()
            && self.routed_experts.is_none()
            && self.shared_experts.is_none()
    }
}

frozen_enum!(Attention as model::Attention {
    Gqa(gqa: Gqa),
    Mla(mla: Mla),
    Compressed(compressed: Compressed),
    Recurrent(recurrent: Recurrent),
    Parallel { attention: Gqa, recurrent: Recurrent },
    Matrix,
    None,
});

frozen_enum!(#[derive(Default)] Span as model::Span {
    #[default]
    Full,
    Window(tokens: u64),
    Chunk(tokens: u64),
});

impl Span {
    const fn is_full(&self) -> bool {
        matches!(self, Self::Full)
    }
}

frozen_enum!(#[derive(Default)] Gate as model::Gate {
    #[default]
    None,
    Full,
    Head,
});

impl Gate {
    const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

frozen_struct!(Gqa as model::Gqa {
    heads: u64,
    kv_heads: u64,
    head_dim: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    v_dim: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    q_rank: Option<u64>,
    #[serde(default, skip_serializing_if = "Span::is_full")]
    span: Span,
    qk_norm: bool,
    qk_norm_whole: bool,
    qkv_bias: bool,
    #[serde(default, skip_serializing_if = "bounds::no")]
    out_bias: bool,
    #[serde(default, skip_serializing_if = "bounds::no")]
    sinks: bool,
    #[serde(default, skip_serializing_if = "Gate::is_none")]
    gate: Gate,
    #[serde(default, skip_serializing_if = "bounds::no")]
    shares_kv: bool,
    #[serde(default, skip_serializing_if = "bounds::no")]
    keys_are_values: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    indexer: Option<Indexer>,
});

frozen_struct!(Mla as model::Mla {
    heads: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    q_rank: Option<u64>,
    kv_rank: u64,
    nope_dim: u64,
    rope_dim: u64,
    v_dim: u64,
    #[serde(default, skip_serializing_if = "Gate::is_none")]
    gate: Gate,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    indexer: Option<Indexer>,
});

frozen_struct!(Indexer as model::Indexer {
    heads: u64,
    dim: u64,
    top_k: u64,
    #[serde(default, skip_serializing_if = "bounds::no")]
    shared: bool,
    #[serde(default, skip_serializing_if = "bounds::no")]
    by_blocks: bool,
});

frozen_struct!(Compressed as model::Compressed {
    heads: u64,
    head_dim: u64,
    q_rank: u64,
    out_groups: u64,
    out_rank: u64,
    window: u64,
    ratio: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    indexer: Option<Indexer>,
});

frozen_enum!(Recurrent as model::Recurrent {
    DeltaNet(delta: DeltaNet),
    Lightning { heads: u64, head_dim: u64, gated: bool },
    Mamba2(mamba: Mamba2),
    Mamba1(mamba: Mamba1),
    ShortConv { width: u64, kernel: u64, bias: bool },
    RgLru { width: u64, blocks: u64, kernel: u64 },
    Other {
        #[serde(deserialize_with = "bounds::text::<_, MAX_NAME>")]
        name: String,
        parameters: u64,
        state_values: u64,
    },
});

frozen_struct!(DeltaNet as model::DeltaNet {
    key_heads: u64,
    value_heads: u64,
    key_dim: u64,
    value_dim: u64,
    kernel: u64,
    channel_decay: bool,
    #[serde(default, skip_serializing_if = "bounds::no")]
    full_gate: bool,
    state_dtype: Dtype,
});

frozen_struct!(Mamba2 as model::Mamba2 {
    heads: u64,
    head_dim: u64,
    state: u64,
    groups: u64,
    kernel: u64,
    bias: bool,
    conv_bias: bool,
    norm: bool,
    state_dtype: Dtype,
});

frozen_struct!(Mamba1 as model::Mamba1 {
    inner: u64,
    state: u64,
    dt_rank: u64,
    kernel: u64,
    bias: bool,
    conv_bias: bool,
    inner_norms: bool,
    state_dtype: Dtype,
});

frozen_enum!(Ffn as model::Ffn {
    Dense {
        intermediate: u64,
        #[serde(default = "bounds::yes", skip_serializing_if = "bounds::is_yes")]
        gated: bool,
        #[serde(default, skip_serializing_if = "bounds::no")]
        bias: bool,
    },
    Moe(moe: Moe),
    Matrix,
    None,
});

frozen_struct!(Moe as model::Moe {
    experts: u64,
    top_k: u64,
    intermediate: u64,
    shared_intermediate: u64,
    router_bias: bool,
    groups: u64,
    groups_per_token: u64,
    #[serde(default, skip_serializing_if = "bounds::no")]
    ungated: bool,
    #[serde(default, skip_serializing_if = "bounds::no")]
    bias: bool,
    #[serde(default, skip_serializing_if = "bounds::no")]
    shared_gate: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latent: Option<u64>,
    #[serde(default, skip_serializing_if = "bounds::is_zero")]
    zero_experts: u64,
});
