//! What each engine starts with, as it documents and does, by its version.
//!
//! [`Engine::vllm`], [`Engine::sglang`] and [`Engine::tensorrt_llm`] are the budgets and the memory,
//! with a bare loop: what a document before version 3 means. [`Engine::defaults`] adds the loop.
//! What the server costs beside is in `overheads`.

use super::overheads;
use super::{
    Caching, Draft, Engine, EngineKind, ExpertExchange, FirstToken, GraphMode, Graphs, Host,
    Kernels, KvTransfer, Scheduler, Scheduling,
};
use crate::catalog::Gpu;
use crate::plan::pool::Layout;
use crate::units::{Bytes, Seconds};

/// The first two numbers of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(pub(super) u32, pub(super) u32);

impl Version {
    /// Of `0.11.0`, `v0.19`, `1.0.0rc4`; none: not a version.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches('v');
        let mut parts = text.split('.').map(|part| {
            let end = part.find(|c: char| !c.is_ascii_digit());
            part[..end.unwrap_or(part.len())].parse().ok()
        });
        Some(Self(
            parts.next().flatten()?,
            parts.next().flatten().unwrap_or(0),
        ))
    }
}

/// How an engine's loop starts, since a version.
#[derive(Debug)]
struct Loop {
    kind: EngineKind,
    since: Version,
    scheduler: Scheduler,
    /// Whether host and device overlap.
    overlap: bool,
    /// Whether they can with pipeline parallelism; else the engine turns it off.
    overlap_with_pp: bool,
    /// Whether they can with drafts of the model's own layers or an EAGLE head.
    overlap_with_drafts: bool,
    graphs: GraphMode,
    /// Largest captured size the engine goes to by itself; none: [`SglangTier`] has it.
    graph_size: Option<u32>,
    /// SGLang's `max_prefill_tokens`; 0: the engine has none.
    max_prefill_tokens: u32,
    /// How tokens reach their experts' ranks.
    exchange: ExpertExchange,
}

/// Loops, oldest first. Sources:
/// vLLM: `config/scheduler.py` (`async_scheduling` false in 0.11, resolved to true since 0.14,
/// pull request 27614; with pipeline parallelism and drafts since 0.15, 32359 and 31998),
/// `config/compilation.py` (`FULL_AND_PIECEWISE` since 0.11), `config/vllm.py` (captured up to twice
/// `max_num_seqs` and 512), `envs.py` (`VLLM_ALL2ALL_BACKEND` `naive` before 0.11, all-gather and
/// reduce-scatter since), `v1/core/sched/scheduler.py` (no watermark; `max_num_partial_prefills`
/// is not counted).
/// SGLang: `srt/server_args.py` 0.5 (overlap on, but not with pipeline parallelism or drafts; radix
/// cache on; `fcfs`; `max_prefill_tokens` 16,384; conservativeness 1; no mixed chunks).
/// TensorRT-LLM: `llmapi/llm_args.py` 1.0 (`GUARANTEED_NO_EVICT`, `enable_block_reuse`, overlap
/// scheduler on, graphs of decodes up to a batch of 128).
const LOOPS: [Loop; 6] = [
    Loop {
        kind: EngineKind::Vllm,
        since: Version(0, 8),
        scheduler: Scheduler::VllmV1,
        overlap: false,
        overlap_with_pp: false,
        overlap_with_drafts: false,
        graphs: GraphMode::Piecewise,
        graph_size: Some(512),
        max_prefill_tokens: 0,
        exchange: ExpertExchange::Broadcast,
    },
    Loop {
        kind: EngineKind::Vllm,
        since: Version(0, 11),
        scheduler: Scheduler::VllmV1,
        overlap: false,
        overlap_with_pp: false,
        overlap_with_drafts: false,
        graphs: GraphMode::FullAndPiecewise,
        graph_size: Some(512),
        max_prefill_tokens: 0,
        exchange: ExpertExchange::AllGather,
    },
    Loop {
        kind: EngineKind::Vllm,
        since: Version(0, 14),
        scheduler: Scheduler::VllmV1,
        overlap: true,
        overlap_with_pp: false,
        overlap_with_drafts: false,
        graphs: GraphMode::FullAndPiecewise,
        graph_size: Some(512),
        max_prefill_tokens: 0,
        exchange: ExpertExchange::AllGather,
    },
    Loop {
        kind: EngineKind::Vllm,
        since: Version(0, 15),
        scheduler: Scheduler::VllmV1,
        overlap: true,
        overlap_with_pp: true,
        overlap_with_drafts: true,
        graphs: GraphMode::FullAndPiecewise,
        graph_size: Some(512),
        max_prefill_tokens: 0,
        exchange: ExpertExchange::AllGather,
    },
    Loop {
        kind: EngineKind::Sglang,
        since: Version(0, 5),
        scheduler: Scheduler::Sglang,
        overlap: true,
        overlap_with_pp: false,
        overlap_with_drafts: false,
        graphs: GraphMode::FullDecode,
        graph_size: None,
        max_prefill_tokens: 16_384,
        exchange: ExpertExchange::AllGather,
    },
    Loop {
        kind: EngineKind::TensorRtLlm,
        since: Version(1, 0),
        scheduler: Scheduler::GuaranteedNoEvict,
        overlap: true,
        overlap_with_pp: true,
        overlap_with_drafts: true,
        graphs: GraphMode::FullDecode,
        graph_size: Some(128),
        max_prefill_tokens: 0,
        exchange: ExpertExchange::Automatic,
    },
];

impl Loop {
    /// Of a version: the newest that is not newer; of one that is older than all or can't be read,
    /// the oldest, and of one that can't be read the one of the engine's default version.
    fn of(kind: EngineKind, version: &str) -> Option<&'static Self> {
        let version = Version::read(version).or_else(|| Version::read(kind.default_version()))?;
        let mut own = LOOPS.iter().filter(|known| known.kind == kind).peekable();
        let oldest = own.peek().copied();
        own.take_while(|known| known.since <= version)
            .last()
            .or(oldest)
    }
}

impl EngineKind {
    /// The version whose defaults and rules these are.
    #[must_use]
    pub const fn default_version(self) -> &'static str {
        match self {
            Self::Vllm => "0.11.0",
            Self::Sglang => "0.5",
            Self::TensorRtLlm => "1.0",
        }
    }

    /// The engine's own loops; others are for study.
    #[must_use]
    pub const fn schedulers(self) -> &'static [Scheduler] {
        match self {
            Self::Vllm => &[Scheduler::VllmV1],
            Self::Sglang => &[Scheduler::Sglang],
            // `CapacitySchedulerPolicy` has STATIC_BATCH too.
            Self::TensorRtLlm => &[
                Scheduler::GuaranteedNoEvict,
                Scheduler::MaxUtilization,
                Scheduler::Static,
            ],
        }
    }
}

impl Engine {
    /// An engine's defaults on a GPU, for a layout, in the version this program knows best.
    #[must_use]
    pub fn defaults(kind: EngineKind, gpu: &Gpu, layout: Layout) -> Self {
        Self::defaults_of(kind, kind.default_version(), gpu, layout)
    }

    /// The defaults of a version. A version that can't be read has those of
    /// [`EngineKind::default_version`].
    #[must_use]
    pub fn defaults_of(kind: EngineKind, version: &str, gpu: &Gpu, layout: Layout) -> Self {
        let bare = match kind {
            EngineKind::Vllm => Self::vllm(is_large(gpu)),
            EngineKind::Sglang => Self::sglang(gpu.memory, layout),
            EngineKind::TensorRtLlm => Self::tensorrt_llm(),
        };
        let mut bare = Self {
            version: version.to_owned(),
            ..bare
        };
        if kind == EngineKind::Sglang {
            bare.max_num_seqs = SGLANG_REQUESTS;
        }
        let Some(own) = Loop::of(kind, version) else {
            return bare;
        };
        let most = own
            .graph_size
            .unwrap_or_else(|| SglangTier::of(gpu.memory, layout).graph_batch);
        // vLLM captures counts of tokens, up to two for each sequence; the others batches.
        let reached = match kind {
            EngineKind::Vllm => bare
                .max_num_seqs
                .saturating_mul(2)
                .min(bare.max_num_batched_tokens),
            EngineKind::Sglang | EngineKind::TensorRtLlm => bare.max_num_seqs,
        };
        let mut engine = Self {
            scheduling: Scheduling {
                scheduler: own.scheduler,
                max_prefill_tokens: own.max_prefill_tokens,
                ..Scheduling::default()
            },
            host: Host {
                overlap: own.overlap && (layout.pp <= 1 || own.overlap_with_pp),
                ..Host::default()
            },
            graphs: Graphs {
                mode: own.graphs,
                max_size: most.min(reached),
                // `enable_padding` is off as TensorRT-LLM starts, in every version so far (1.0 to 1.4).
                padding: kind != EngineKind::TensorRtLlm,
            },
            caching: Caching {
                prefix: true,
                ..Caching::default()
            },
            expert_exchange: own.exchange,
            ..bare
        };
        overheads::put(&mut engine);
        engine
    }

    /// Why this engine does not overlap host and device as it is set; none: it can.
    #[must_use]
    pub fn no_overlap(&self, layout: Layout) -> Option<&'static str> {
        let own = Loop::of(self.kind, &self.version)?;
        if layout.pp > 1 && !own.overlap_with_pp {
            return Some("pipeline parallelism");
        }
        let drafts = self.speculation.is_some();
        // Drafts of the n-gram on the host wait for the tokens of the step before.
        let ngram = drafts
            && self.kind == EngineKind::Vllm
            && matches!(
                self.speculation.as_ref().map(|own| &own.draft),
                Some(Draft::Ngram)
            );
        (drafts && (ngram || !own.overlap_with_drafts)).then_some("these drafts")
    }

    /// vLLM's budgets and memory for its API server (`vllm/engine/arg_utils.py`, 0.11): GPUs of
    /// 70 GiB and more except the A100 get a budget of 8,192 tokens and 1,024 sequences, others 2,048
    /// and 256. The block is FlashAttention's 16 tokens. The loop is bare.
    #[must_use]
    pub fn vllm(large_gpu: bool) -> Self {
        Self {
            kind: EngineKind::Vllm,
            version: EngineKind::Vllm.default_version().to_owned(),
            max_num_batched_tokens: if large_gpu { 8192 } else { 2048 },
            max_num_seqs: if large_gpu { 1024 } else { 256 },
            block_size: 16,
            gpu_memory_utilization: 0.9,
            enable_chunked_prefill: true,
            num_gpu_blocks: None,
            stage_layers: Vec::new(),
            host_step_time: Seconds::ZERO,
            first_token: FirstToken::DecodeAdmission,
            kv_transfer: KvTransfer::Pull,
            scheduling: Scheduling::default(),
            host: Host::default(),
            graphs: Graphs::default(),
            kernels: Kernels::default(),
            sustained: 0.0,
            caching: Caching::default(),
            expert_exchange: ExpertExchange::AllGather,
            speculation: None,
        }
    }

    /// SGLang's budgets and memory (`srt/server_args.py`, 0.5) by what the driver shows:
    /// the chunk by [`SglangTier`], divided by DP with DP-attention; pages of one token; at least
    /// 2,048 running requests (`model_runner.py`: that or what 512 full contexts' worth of tokens
    /// holds, up to 4,096; here no more than the chunk, since the bare loop takes decodes from its
    /// budget); and the static fraction that leaves, in MiB, 512 for metadata,
    /// 1.5 per chunk token (2,048 at least), 2 per captured batch size, 1,024 / 8 per rank, with
    /// DP-attention 3 (4.5 above 300) per captured size and lane, and 10 GiB at least above 60 GiB.
    #[must_use]
    pub fn sglang(memory: Bytes, layout: Layout) -> Self {
        let tier = SglangTier::of(memory, layout);
        let whole = memory.as_f64() / MIB;
        let chunk = tier.chunk / layout.dp.max(1);
        let graphs = f64::from(tier.graph_batch);
        let lanes = f64::from(layout.dp.max(1));
        let ranks = f64::from(ranks(layout).saturating_mul(layout.pp.max(1)));
        // The fraction is fixed before DP-attention divides the chunk.
        let mut reserved = 512.0 + 1.5 * f64::from(tier.chunk.max(2048)) + 2.0 * graphs;
        reserved += ranks / 8.0 * 1024.0;
        if layout.dp > 1 {
            let each = if tier.graph_batch > 300 { 4.5 } else { 3.0 };
            reserved += graphs * lanes * each;
        }
        if whole > 60.0 * 1024.0 {
            reserved = reserved.max(10.0 * 1024.0);
        }
        let fraction = ((whole - reserved) / whole.max(1.0) * 1000.0).round() / 1000.0;
        Self {
            kind: EngineKind::Sglang,
            version: EngineKind::Sglang.default_version().to_owned(),
            max_num_batched_tokens: chunk.max(1),
            max_num_seqs: chunk.clamp(1, SGLANG_REQUESTS),
            block_size: 1,
            gpu_memory_utilization: fraction.clamp(0.1, 1.0),
            kv_transfer: KvTransfer::PushChunks,
            ..Self::vllm(true)
        }
    }

    /// TensorRT-LLM's budgets and memory for its PyTorch backend (`llmapi/llm_args.py`, 1.0): 2,048
    /// requests, 8,192 tokens, blocks of 32, 0.9 of what is free for KV, no chunked prefill.
    #[must_use]
    pub fn tensorrt_llm() -> Self {
        Self {
            kind: EngineKind::TensorRtLlm,
            version: EngineKind::TensorRtLlm.default_version().to_owned(),
            max_num_batched_tokens: 8192,
            max_num_seqs: 2048,
            block_size: 32,
            gpu_memory_utilization: 0.9,
            enable_chunked_prefill: false,
            ..Self::vllm(true)
        }
    }
}

/// SGLang's running requests.
const SGLANG_REQUESTS: u32 = 2048;

/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;

/// vLLM's question: 70 GiB or more, and not an A100.
fn is_large(gpu: &Gpu) -> bool {
    gpu.memory.gib() >= 70.0 && !gpu.name.to_lowercase().contains("a100")
}

/// Ranks SGLang calls `tp_size`: its DP-attention lanes lie inside it.
const fn ranks(layout: Layout) -> u32 {
    layout.tp.saturating_mul(layout.dp)
}

/// SGLang's sizes by a GPU's memory (`server_args.py`, 0.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SglangTier {
    /// `chunked_prefill_size`.
    chunk: u32,
    /// `cuda_graph_max_bs`.
    graph_batch: u32,
}

/// Below so many GiB: the chunk, and the largest captured batch with fewer than 4 ranks and more.
const SGLANG_TIERS: [(f64, u32, [u32; 2]); 5] = [
    (20.0, 2048, [8, 8]),
    (35.0, 2048, [24, 80]),
    (60.0, 4096, [32, 160]),
    (160.0, 8192, [256, 512]),
    (f64::INFINITY, 16_384, [512, 512]),
];

impl SglangTier {
    fn of(memory: Bytes, layout: Layout) -> Self {
        let wide = usize::from(ranks(layout) >= 4);
        SGLANG_TIERS
            .iter()
            .find(|(below, ..)| memory.gib() < *below)
            .map_or(
                Self {
                    chunk: 4096,
                    graph_batch: 160,
                },
                |(_, chunk, graphs)| Self {
                    chunk: *chunk,
                    graph_batch: graphs[wide],
                },
            )
    }
}

#[cfg(test)]
mod tests;
