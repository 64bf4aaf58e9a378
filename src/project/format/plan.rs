//! Version 1 of a design: model, pools, services and feeds.

use super::bounds::{self, MAX_NAME, MAX_POOLS, MAX_RANGES};
use super::cluster::Cluster;
use super::engine::{
    Caching, ExpertExchange, Graphs, Host, Kernels, Scheduling, Speculation, is_lacking, is_zero,
    lacking,
};
use super::mirror::{Frozen, frozen_enum, frozen_struct};
use super::model::{Dtype, Model};
use crate::catalog::ModelId;
use crate::cluster::GpuRange;
use crate::plan;
use crate::plan::{DesignId, PoolId, ServiceId};
use crate::units::Seconds;

frozen_struct!(Design as plan::Design {
    id: DesignId,
    #[serde(deserialize_with = "bounds::text::<_, MAX_NAME>")]
    name: String,
    cluster: Cluster,
    model: ModelRef,
    #[serde(deserialize_with = "bounds::at_most::<_, _, MAX_POOLS>")]
    pools: Vec<Pool>,
    #[serde(default, deserialize_with = "bounds::at_most::<_, _, MAX_POOLS>")]
    services: Vec<Service>,
    #[serde(default, deserialize_with = "bounds::at_most::<_, _, MAX_POOLS>")]
    feeds: Vec<Feed>,
    #[serde(default = "lacking", skip_serializing_if = "is_lacking")]
    routing: Routing,
});

frozen_struct!(#[derive(PartialEq)] Routing as plan::Routing {
    #[serde(default = "lacking")]
    entry: Rule,
    #[serde(default = "lacking")]
    handover: Rule,
    #[serde(default = "lacking", skip_serializing_if = "is_lacking")]
    prefix: PrefixGuard,
    #[serde(default = "lacking", skip_serializing_if = "is_lacking")]
    local: LocalPrefill,
});

frozen_struct!(#[derive(PartialEq)] PrefixGuard as plan::PrefixGuard {
    #[serde(deserialize_with = "bounds::up_to::<_, 1>")]
    cache_threshold: f64,
    balance_abs_threshold: u32,
    #[serde(deserialize_with = "bounds::finite")]
    balance_rel_threshold: f64,
});

frozen_struct!(#[derive(PartialEq)] LocalPrefill as plan::LocalPrefill {
    max_local_prefill_length: u32,
    max_prefill_queue_size: u32,
});

frozen_enum!(#[derive(PartialEq)] Rule as plan::Rule {
    LeastRequests,
    RoundRobin,
    Random,
    PowerOfTwo,
    LeastTokens,
    LeastKv,
    Sticky,
    PrefixAware,
});

frozen_enum!(ModelRef as plan::ModelRef {
    Preset(id: ModelId),
    Inline(model: Box<Model>),
});

frozen_struct!(Pool as plan::Pool {
    id: PoolId,
    #[serde(deserialize_with = "bounds::text::<_, MAX_NAME>")]
    name: String,
    role: Role,
    #[serde(deserialize_with = "bounds::at_most::<_, _, MAX_RANGES>")]
    gpus: Vec<GpuRange>,
    layout: Layout,
    engine: Engine,
    precision: Precision,
});

frozen_enum!(Role as plan::Role {
    Colocated,
    Prefill,
    Decode,
    Attention,
    Ffn,
});

frozen_struct!(Layout as plan::Layout {
    tp: u32,
    pp: u32,
    dp: u32,
    ep: u32,
    #[serde(default = "bounds::one", skip_serializing_if = "bounds::is_one")]
    cp: u32,
    #[serde(default, skip_serializing_if = "bounds::is_none_of")]
    redundant_experts: u32,
});

frozen_enum!(EngineKind as plan::EngineKind {
    Vllm,
    Sglang,
    TensorRtLlm,
});

frozen_enum!(FirstToken as plan::FirstToken {
    PrefillEnd,
    DecodeAdmission,
});

frozen_enum!(#[derive(PartialEq)] KvTransfer as plan::KvTransfer {
    Pull,
    Push,
    PushChunks,
    PushLayers,
});

frozen_struct!(Engine as plan::Engine {
    kind: EngineKind,
    #[serde(deserialize_with = "bounds::text::<_, MAX_NAME>")]
    version: String,
    max_num_batched_tokens: u32,
    max_num_seqs: u32,
    block_size: u32,
    #[serde(deserialize_with = "bounds::finite")]
    gpu_memory_utilization: f64,
    enable_chunked_prefill: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    num_gpu_blocks: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "bounds::at_most::<_, _, MAX_POOLS>")]
    stage_layers: Vec<u32>,
    host_step_time: Seconds,
    first_token: FirstToken,
    #[serde(default = "lacking", skip_serializing_if = "is_lacking")]
    kv_transfer: KvTransfer,
    #[serde(default = "lacking", skip_serializing_if = "is_lacking")]
    scheduling: Scheduling,
    #[serde(default = "lacking", skip_serializing_if = "is_lacking")]
    host: Host,
    #[serde(default = "lacking", skip_serializing_if = "is_lacking")]
    graphs: Graphs,
    #[serde(default = "lacking", skip_serializing_if = "is_lacking")]
    kernels: Kernels,
    #[serde(default, skip_serializing_if = "is_zero", deserialize_with = "bounds::finite")]
    sustained: f64,
    #[serde(default = "lacking", skip_serializing_if = "is_lacking")]
    caching: Caching,
    #[serde(default = "lacking", skip_serializing_if = "is_lacking")]
    expert_exchange: ExpertExchange,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    speculation: Option<Speculation>,
});

frozen_struct!(Precision as crate::model::Precision {
    weights: Dtype,
    activations: Dtype,
    kv: Dtype,
});

frozen_enum!(Phases as plan::Phases {
    Both,
    Prefill,
    Decode,
});

frozen_enum!(Service as plan::Service {
    Whole { id: ServiceId, pool: PoolId, phases: Phases },
    Afd {
        id: ServiceId,
        attention: Vec<PoolId>,
        ffn: PoolId,
        phases: Phases,
        #[serde(default = "lacking", skip_serializing_if = "is_lacking")]
        split: Split,
    },
});

frozen_struct!(#[derive(PartialEq)] Split as plan::Split {
    micro_batches: u32,
    dispatch: Dtype,
    combine: Dtype,
    broadcast: bool,
});

frozen_struct!(Feed as plan::Feed {
    from: ServiceId,
    to: ServiceId,
});
