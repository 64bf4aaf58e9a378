//! Version 1 of a model kept in the document.

use super::bounds::{self, MAX_LAYER_RUNS, MAX_NAME, MAX_TEXT};
use super::mirror::{Frozen, frozen_enum, frozen_struct};
use crate::catalog::{self, ModelId};
use crate::model;

frozen_enum!(Dtype as catalog::Dtype {
    Fp32,
    Bf16,
    Fp8,
    Int8,
    Fp4,
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
    #[serde(deserialize_with = "bounds::text::<_, MAX_TEXT>")]
    source: String,
});

frozen_struct!(LayerRun as model::LayerRun {
    count: u32,
    attention: Attention,
    ffn: Ffn,
});

frozen_enum!(Attention as model::Attention {
    Gqa(gqa: Gqa),
    Mla(mla: Mla),
});

frozen_struct!(Gqa as model::Gqa {
    heads: u64,
    kv_heads: u64,
    head_dim: u64,
    qk_norm: bool,
    qk_norm_whole: bool,
    qkv_bias: bool,
});

frozen_struct!(Mla as model::Mla {
    heads: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    q_rank: Option<u64>,
    kv_rank: u64,
    nope_dim: u64,
    rope_dim: u64,
    v_dim: u64,
});

frozen_enum!(Ffn as model::Ffn {
    Dense { intermediate: u64 },
    Moe(moe: Moe),
});

frozen_struct!(Moe as model::Moe {
    experts: u64,
    top_k: u64,
    intermediate: u64,
    shared_intermediate: u64,
    router_bias: bool,
    groups: u64,
    groups_per_token: u64,
});
