//! Serving engines: their settings, each under the engine's own name, and their defaults.
//!
//! The three engines have the same knobs under different names, and the memory fraction means a
//! different thing in each. `words.rs` is the table of names, `defaults.rs` what each engine starts
//! with, `values.rs` reads and writes a setting as text, `plan::memory` has the rules of memory.

mod capture;
mod defaults;
mod exchange;
mod handover;
mod kernels;
mod overheads;
mod runtime;
mod values;
mod words;

pub use values::{Difference, SettingError};
pub use words::{Part, Setting};

pub use capture::{Captured, Padded};
pub use exchange::{Carrier, ExpertExchange, Joined, low_latency_tokens};
pub use handover::KvTransfer;
pub use kernels::{AttentionBackend, Kernels, MoeBackend};
pub use overheads::Overheads;
pub use runtime::{
    Caching, Draft, GraphMode, Graphs, Host, QueueOrder, Scheduler, Scheduling, Speculation, Tier,
    TierKind,
};

use crate::units::Seconds;
use serde::{Deserialize, Serialize};

/// Which serving engine's memory and defaults a pool has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EngineKind {
    /// vLLM, V1 scheduler.
    Vllm,
    /// SGLang.
    Sglang,
    /// TensorRT-LLM, PyTorch backend.
    TensorRtLlm,
}

impl Engine {
    /// Whether its version is that or a later one.
    #[must_use]
    pub fn is_since(&self, version: &str) -> bool {
        defaults::Version::read(&self.version) >= defaults::Version::read(version)
    }
}

impl EngineKind {
    /// All, in the order shown.
    pub const ALL: [Self; 3] = [Self::Vllm, Self::Sglang, Self::TensorRtLlm];

    /// The engine's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vllm => "vLLM",
            Self::Sglang => "SGLang",
            Self::TensorRtLlm => "TensorRT-LLM",
        }
    }

    /// What the memory fraction is a fraction of.
    #[must_use]
    pub const fn fraction_means(self) -> &'static str {
        match self {
            Self::Vllm => {
                "Share of the GPU's memory for weights, activations, buffers and KV; CUDA graphs come out of the rest"
            }
            Self::Sglang => {
                "Share of the memory free at start for weights and KV; activations and CUDA graphs live in the rest"
            }
            Self::TensorRtLlm => {
                "Share of what weights, activations and buffers leave free that becomes KV"
            }
        }
    }
}

/// When a disaggregated request's first token, computed by prefill, reaches the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FirstToken {
    /// When prefill ends.
    PrefillEnd,
    /// When its KV has arrived and decode has admitted it.
    DecodeAdmission,
}

/// An engine's settings. The fields have vLLM's names; [`EngineKind::word`] has the others'.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// Which engine.
    pub kind: EngineKind,
    /// Its version.
    pub version: String,
    /// Token budget of a step.
    pub max_num_batched_tokens: u32,
    /// Most requests running in one scheduler.
    pub max_num_seqs: u32,
    /// Tokens of a KV block.
    pub block_size: u32,
    /// Share of memory the engine may use; see [`EngineKind::fraction_means`].
    pub gpu_memory_utilization: f64,
    /// Whether a prompt may be cut to fit the budget.
    pub enable_chunked_prefill: bool,
    /// Measured KV blocks per scheduler; none: derived from memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_gpu_blocks: Option<u64>,
    /// Layers of each pipeline stage; empty: equal shares, see `plan::memory`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stage_layers: Vec<u32>,
    /// Host time added to each step.
    pub host_step_time: Seconds,
    /// See [`FirstToken`].
    pub first_token: FirstToken,
    /// How a prompt's KV gets from prefill to decode: of the prefill side.
    #[serde(default)]
    pub kv_transfer: KvTransfer,
    /// How batches are formed.
    #[serde(default)]
    pub scheduling: Scheduling,
    /// What the host costs.
    #[serde(default)]
    pub host: Host,
    /// CUDA graphs.
    #[serde(default)]
    pub graphs: Graphs,
    /// Which kernels run.
    #[serde(default)]
    pub kernels: Kernels,
    /// How much longer than in a short benchmark a kernel takes that keeps the tensor cores wholly
    /// busy, as a share: under sustained load power holds clocks down.
    #[serde(default)]
    pub sustained: f64,
    /// What of the KV cache is kept for reuse.
    #[serde(default)]
    pub caching: Caching,
    /// How tokens reach their experts' ranks.
    #[serde(default)]
    pub expert_exchange: ExpertExchange,
    /// Speculative decoding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speculation: Option<Speculation>,
}
