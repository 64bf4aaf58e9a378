//! How an engine's loop runs, since version 3. What an older file lacks means the loop had no such
//! thing, which is each type's default.

use super::bounds::{self, MAX_POOLS};
use super::mirror::{Frozen, frozen_enum, frozen_struct};
use crate::catalog::ModelId;
use crate::plan;
use crate::units::{ByteRate, Bytes, Seconds};

/// The value of a part an older file lacks.
pub(super) fn lacking<T: Frozen<Live: Default>>() -> T {
    T::freeze(&T::Live::default())
}

/// Whether a part need not be written.
pub(super) fn is_lacking<T: Frozen<Live: Default> + PartialEq>(value: &T) -> bool {
    *value == lacking()
}

/// Whether a number an older file lacks need not be written.
pub(super) fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

frozen_enum!(#[derive(PartialEq)] Scheduler as plan::Scheduler {
    VllmV1,
    Sglang,
    GuaranteedNoEvict,
    MaxUtilization,
    Sarathi,
    Orca,
    Static,
});

frozen_enum!(#[derive(PartialEq)] QueueOrder as plan::QueueOrder {
    Fcfs,
    Priority,
    LongestPrefix,
});

frozen_struct!(#[derive(PartialEq)] Scheduling as plan::Scheduling {
    scheduler: Scheduler,
    order: QueueOrder,
    long_prefill_token_threshold: u32,
    max_num_partial_prefills: u32,
    #[serde(deserialize_with = "bounds::finite")]
    watermark: f64,
    mixed_chunk: bool,
    max_prefill_tokens: u32,
    #[serde(deserialize_with = "bounds::finite")]
    conservativeness: f64,
    #[serde(default, skip_serializing_if = "is_zero")]
    batch_wait_iters: u32,
    #[serde(default, skip_serializing_if = "is_zero", deserialize_with = "bounds::finite")]
    batch_wait_ratio: f64,
    #[serde(default, skip_serializing_if = "is_zero")]
    recv_interval: u32,
});

frozen_struct!(#[derive(PartialEq)] Host as plan::Host {
    overlap: bool,
    per_sequence: Seconds,
    request: Seconds,
    output: Seconds,
    #[serde(default = "bounds::one", skip_serializing_if = "bounds::is_one")]
    stream_interval: u32,
    launch: Seconds,
    #[serde(default, skip_serializing_if = "is_zero")]
    network: Seconds,
    #[serde(default, skip_serializing_if = "is_zero")]
    gap: Seconds,
});

frozen_enum!(#[derive(PartialEq)] MoeBackend as plan::MoeBackend {
    Auto,
    Cutlass,
    TrtllmGen,
    DeepGemm,
    Triton,
    Marlin,
    CuteDsl,
});

frozen_enum!(#[derive(PartialEq)] AttentionBackend as plan::AttentionBackend {
    Auto,
    FlashAttention,
    FlashInfer,
    TrtllmGen,
    Triton,
});

frozen_struct!(#[derive(PartialEq)] Kernels as plan::Kernels {
    moe: MoeBackend,
    attention: AttentionBackend,
});

frozen_enum!(#[derive(PartialEq)] ExpertExchange as plan::ExpertExchange {
    AllGather,
    Automatic,
    Broadcast,
    Deepep,
    DeepepNormal,
    DeepepLowLatency,
    NvlinkTwoSided,
    NvlinkOneSided,
    Pplx,
});

frozen_enum!(#[derive(PartialEq)] GraphMode as plan::GraphMode {
    None,
    Piecewise,
    FullDecode,
    FullAndPiecewise,
});

frozen_struct!(#[derive(PartialEq)] Graphs as plan::Graphs {
    mode: GraphMode,
    max_size: u32,
    #[serde(default = "bounds::yes", skip_serializing_if = "bounds::is_yes")]
    padding: bool,
});

frozen_enum!(#[derive(PartialEq)] TierKind as plan::TierKind {
    Host,
    Ssd,
    Remote,
});

frozen_struct!(#[derive(PartialEq)] Tier as plan::Tier {
    kind: TierKind,
    capacity: Bytes,
    read: ByteRate,
    write: ByteRate,
    latency: Seconds,
});

frozen_struct!(#[derive(PartialEq)] Caching as plan::Caching {
    prefix: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "bounds::at_most::<_, _, MAX_POOLS>")]
    tiers: Vec<Tier>,
});

frozen_enum!(Draft as plan::Draft {
    Ngram,
    Model { model: ModelId },
    Mtp { layers: u32 },
});

frozen_struct!(Speculation as plan::Speculation {
    draft: Draft,
    steps: u32,
    verified: u32,
    #[serde(deserialize_with = "bounds::shares")]
    acceptance: Vec<f64>,
});
