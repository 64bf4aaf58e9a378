//! How an engine's loop runs: which scheduler forms its batches, in which order requests wait, what
//! the host costs and whether it overlaps, which batches run as CUDA graphs, what of the KV cache is
//! kept for reuse and where, and how tokens are drafted.
//!
//! Every setting is an input under the engine's own name; `plan/engine/defaults.rs` says what each
//! engine starts with. A type's `Default` means "as if the engine had no such thing", which is also
//! what documents before version 3 mean.

use crate::catalog::ModelId;
use crate::units::{ByteRate, Bytes, Seconds};
use serde::{Deserialize, Serialize};

/// The loop that forms batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Scheduler {
    /// vLLM V1: one token budget, running requests first, preemption by recompute.
    #[default]
    VllmV1,
    /// SGLang: a batch of prompts whenever some can be admitted, else one decode step; retraction.
    Sglang,
    /// TensorRT-LLM, `GUARANTEED_NO_EVICT`: admits what can finish without eviction.
    GuaranteedNoEvict,
    /// TensorRT-LLM, `MAX_UTILIZATION`: admits what fits now, pauses the last on shortage.
    MaxUtilization,
    /// Sarathi-Serve: decodes first, prompts in chunks of what the budget leaves.
    Sarathi,
    /// Orca: iteration-level batching of whole prompts, memory reserved to the longest answer.
    Orca,
    /// Request-level batching: a batch stays as it is until its last request ends.
    Static,
}

impl Scheduler {
    /// All, in the order shown.
    pub const ALL: [Self; 7] = [
        Self::VllmV1,
        Self::Sglang,
        Self::GuaranteedNoEvict,
        Self::MaxUtilization,
        Self::Sarathi,
        Self::Orca,
        Self::Static,
    ];

    /// Its name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::VllmV1 => "vLLM V1",
            Self::Sglang => "SGLang",
            Self::GuaranteedNoEvict => "GUARANTEED_NO_EVICT",
            Self::MaxUtilization => "MAX_UTILIZATION",
            Self::Sarathi => "Sarathi",
            Self::Orca => "Orca",
            Self::Static => "static batching",
        }
    }

    /// Whether a step's tokens come from the budget, decodes' and prompts' alike. SGLang's chunk is
    /// for prompts only; Orca and static batching have none.
    #[must_use]
    pub const fn has_budget(self) -> bool {
        !matches!(self, Self::Sglang | Self::Orca | Self::Static)
    }
}

/// In which order requests wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum QueueOrder {
    /// First come, first served.
    #[default]
    Fcfs,
    /// By the request's priority, the lowest number first; equal ones by arrival.
    Priority,
    /// By what of the prompt is cached, the longest first (SGLang's `lpm`).
    LongestPrefix,
}

impl QueueOrder {
    /// All, in the order shown.
    pub const ALL: [Self; 3] = [Self::Fcfs, Self::Priority, Self::LongestPrefix];

    /// The engines' word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fcfs => "fcfs",
            Self::Priority => "priority",
            Self::LongestPrefix => "lpm",
        }
    }
}

/// How batches are formed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheduling {
    /// The loop.
    pub scheduler: Scheduler,
    /// In which order requests wait.
    pub order: QueueOrder,
    /// vLLM's `long_prefill_token_threshold`: most tokens of one prompt in a step; 0: no limit.
    pub long_prefill_token_threshold: u32,
    /// vLLM's `max_num_partial_prefills`: most prompts under way at once; 0: no limit.
    pub max_num_partial_prefills: u32,
    /// Share of KV blocks that must stay free when a request is admitted.
    pub watermark: f64,
    /// SGLang's `enable_mixed_chunk`: decodes run in the steps of prompt chunks.
    pub mixed_chunk: bool,
    /// SGLang's `max_prefill_tokens`: most prompt tokens of a batch; 0: no limit.
    pub max_prefill_tokens: u32,
    /// SGLang's `schedule_conservativeness`: times the share of its answer a request is expected
    /// still to need, when another is admitted.
    pub conservativeness: f64,
    /// TensorRT-LLM's `batch_wait_timeout_iters`: most steps in which prompts wait for more of them
    /// while others decode; 0: none.
    #[serde(default)]
    pub batch_wait_iters: u32,
    /// TensorRT-LLM's `batch_wait_max_tokens_ratio`: they wait no longer once the step has this share
    /// of the token budget.
    #[serde(default)]
    pub batch_wait_ratio: f64,
    /// SGLang's `scheduler_recv_interval`: decode steps between looks at what has come in; 0 and 1:
    /// it looks before every step.
    #[serde(default)]
    pub recv_interval: u32,
}

impl Default for Scheduling {
    fn default() -> Self {
        Self {
            scheduler: Scheduler::VllmV1,
            order: QueueOrder::Fcfs,
            long_prefill_token_threshold: 0,
            max_num_partial_prefills: 0,
            watermark: 0.0,
            mixed_chunk: false,
            max_prefill_tokens: 0,
            conservativeness: 1.0,
            batch_wait_iters: 0,
            batch_wait_ratio: 0.0,
            recv_interval: 0,
        }
    }
}

/// What the host costs beside the step's own time (`Engine::host_step_time`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Whether the host prepares a step while the one before runs (vLLM `async_scheduling`, the
    /// overlap scheduler of SGLang and TensorRT-LLM): a step takes the longer of host and device,
    /// else their sum.
    pub overlap: bool,
    /// Host time of a step for each of its sequences.
    pub per_sequence: Seconds,
    /// Before a request reaches its scheduler: HTTP, templates, tokenising. One server does one at
    /// a time.
    pub request: Seconds,
    /// Handing one message to its client: detokenising, streaming. One server does one at a time.
    pub output: Seconds,
    /// Tokens of an answer that a message carries: SGLang and TensorRT-LLM `stream_interval`, vLLM
    /// `--stream-interval`.
    #[serde(default = "one")]
    pub stream_interval: u32,
    /// Issuing one kernel, or one graph.
    pub launch: Seconds,
    /// What a request takes beside all that and no other waits for: network, HTTP, the way of its
    /// first token back.
    #[serde(default)]
    pub network: Seconds,
    /// How long the device stands between two kernels or graphs that are issued apart, however early
    /// they were issued.
    #[serde(default)]
    pub gap: Seconds,
}

const fn one() -> u32 {
    1
}

impl Default for Host {
    fn default() -> Self {
        Self {
            overlap: false,
            per_sequence: Seconds::ZERO,
            request: Seconds::ZERO,
            output: Seconds::ZERO,
            stream_interval: 1,
            launch: Seconds::ZERO,
            network: Seconds::ZERO,
            gap: Seconds::ZERO,
        }
    }
}

impl Host {
    /// What handing one token to its client costs on average.
    #[must_use]
    pub fn per_token(&self) -> Seconds {
        self.output * (1.0 / f64::from(self.stream_interval.max(1)))
    }
}

/// Which batches run as CUDA graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum GraphMode {
    /// None: every kernel is issued by the host.
    #[default]
    None,
    /// The pieces between attention kernels, of any batch.
    Piecewise,
    /// Whole steps of decodes only; others are eager.
    FullDecode,
    /// Whole steps of decodes, pieces of the others.
    FullAndPiecewise,
}

impl GraphMode {
    /// All, in the order shown.
    pub const ALL: [Self; 4] = [
        Self::None,
        Self::Piecewise,
        Self::FullDecode,
        Self::FullAndPiecewise,
    ];

    /// Its name, vLLM's in small letters.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Piecewise => "piecewise",
            Self::FullDecode => "full decode only",
            Self::FullAndPiecewise => "full and piecewise",
        }
    }
}

/// CUDA graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Graphs {
    /// Which batches.
    pub mode: GraphMode,
    /// Largest captured size: tokens in vLLM, sequences in the others (`cuda_graph_max_bs`,
    /// `cuda_graph_config.max_batch_size`); the sizes below it are the engine's.
    pub max_size: u32,
    /// Whether a batch is padded to the next captured size; else only batches of just such a size run
    /// as graphs.
    #[serde(default = "padded")]
    pub padding: bool,
}

const fn padded() -> bool {
    true
}

impl Default for Graphs {
    fn default() -> Self {
        Self {
            mode: GraphMode::None,
            max_size: 0,
            padding: true,
        }
    }
}

/// Where KV goes when it leaves HBM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TierKind {
    /// The host's memory.
    Host,
    /// Its disks.
    Ssd,
    /// A pool over the network.
    Remote,
}

impl TierKind {
    /// All, nearest first.
    pub const ALL: [Self; 3] = [Self::Host, Self::Ssd, Self::Remote];

    /// Its name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Ssd => "ssd",
            Self::Remote => "remote",
        }
    }
}

/// A tier of the KV cache below HBM. Rates and capacity are of one scheduler: all its GPUs together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tier {
    /// What it is.
    pub kind: TierKind,
    /// How much it holds.
    pub capacity: Bytes,
    /// Towards HBM.
    pub read: ByteRate,
    /// From HBM.
    pub write: ByteRate,
    /// Before the first byte comes.
    pub latency: Seconds,
}

impl Tier {
    /// A tier to start from, of the size and speed such things have: 256 GiB of host memory over
    /// PCIe 5 ×16 at what a copy reaches, 4 TiB of NVMe disks, or 4 TiB behind a 400 Gb/s NIC.
    #[must_use]
    pub fn start(kind: TierKind) -> Self {
        let (gib, read, write, latency) = match kind {
            TierKind::Host => (256, 50.0, 50.0, 10.0),
            TierKind::Ssd => (4096, 12.0, 6.0, 100.0),
            TierKind::Remote => (4096, 40.0, 40.0, 50.0),
        };
        Self {
            kind,
            capacity: Bytes::new(gib << 30),
            read: ByteRate::from_gb_per_s(read),
            write: ByteRate::from_gb_per_s(write),
            latency: Seconds::from_us(latency),
        }
    }
}

/// What of the KV cache is kept for reuse.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caching {
    /// Whether prompts that begin alike share what is cached.
    pub prefix: bool,
    /// Tiers below HBM, nearest first.
    pub tiers: Vec<Tier>,
}

/// Who drafts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Draft {
    /// Looking up what followed before: host only.
    Ngram,
    /// A smaller model beside the target, on the same GPUs.
    Model {
        /// Which.
        model: ModelId,
    },
    /// The model's own multi-token-prediction layers or an EAGLE head: so many decoder layers of the
    /// target's kind per token drafted, and the LM head.
    Mtp {
        /// Layers.
        layers: u32,
    },
}

/// Tokens drafted, verified together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Speculation {
    /// Who drafts.
    pub draft: Draft,
    /// Draft passes, each one token deeper.
    pub steps: u32,
    /// Tokens verified beside the one that is sure: as many as steps in a chain, more in a tree.
    pub verified: u32,
    /// For each depth: how likely a token is accepted when all before it were. The last one holds for
    /// all deeper.
    pub acceptance: Vec<f64>,
}

/// Acceptance to start from where nothing was measured: 0.85 for a model's own layer, as
/// DeepSeek-V3's report has it for its second token (0.85 to 0.90); 0.6, a guess, for others.
const ACCEPTANCE: [f64; 2] = [0.85, 0.6];

impl Speculation {
    /// Tokens a sequence gets from a step on average: the sure one, and of those drafted each that is
    /// accepted after all before it.
    #[must_use]
    pub fn tokens_per_step(&self) -> f64 {
        let mut chance = 1.0;
        let mut likely = 0.0;
        let mut tokens = 1.0;
        for depth in 0..self.steps as usize {
            // The last one given holds for all deeper.
            likely = self.acceptance.get(depth).copied().unwrap_or(likely);
            chance *= likely;
            tokens += chance;
        }
        tokens
    }

    /// Speculation to start from: one token of a model's own layer, three of others, in a chain.
    /// Acceptance depends on model and text: an assumption until it is measured.
    #[must_use]
    pub fn start(draft: Draft) -> Self {
        let own = matches!(draft, Draft::Mtp { .. });
        let steps = if own { 1 } else { 3 };
        Self {
            draft,
            steps,
            verified: steps,
            acceptance: vec![ACCEPTANCE[usize::from(!own)]],
        }
    }
}
