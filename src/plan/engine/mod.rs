//! Serving engines: their settings, each under the engine's own name, and their defaults.
//!
//! The three engines have the same few knobs under different names, and the memory fraction means
//! a different thing in each; [`EngineKind::word`] is the table of names, `plan::memory` has the
//! rules.

mod runtime;

pub use runtime::{
    Caching, Draft, GraphMode, Graphs, Host, QueueOrder, Scheduler, Scheduling, Speculation, Tier,
    TierKind,
};

use super::pool::Layout;
use crate::catalog::Gpu;
use crate::units::{Bytes, Seconds};
use serde::{Deserialize, Serialize};

/// Which serving engine's memory and defaults a pool has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EngineKind {
    /// vLLM, V1 scheduler.
    Vllm,
    /// SGLang.
    Sglang,
    /// TensorRT-LLM, PyTorch backend.
    TensorRtLlm,
}

/// A setting every engine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Setting {
    /// Share of memory; of what, differs.
    MemoryFraction,
    /// Token budget of a step, or of a prefill chunk.
    TokenBudget,
    /// Most requests running in one scheduler.
    MaxSequences,
    /// Tokens of a KV block.
    BlockSize,
    /// Whether a prompt may be cut to fit the budget.
    ChunkedPrefill,
    /// KV blocks as the engine reports them.
    Blocks,
}

/// Each setting's name in vLLM, SGLang and TensorRT-LLM. Sources: vLLM 0.11
/// `vllm/engine/arg_utils.py`, SGLang 0.5 `srt/server_args.py`, TensorRT-LLM 1.0
/// `llmapi/llm_args.py`.
const WORDS: [(Setting, [&str; 3]); 6] = [
    (
        Setting::MemoryFraction,
        [
            "gpu_memory_utilization",
            "mem_fraction_static",
            "free_gpu_memory_fraction",
        ],
    ),
    (
        Setting::TokenBudget,
        [
            "max_num_batched_tokens",
            "chunked_prefill_size",
            "max_num_tokens",
        ],
    ),
    (
        Setting::MaxSequences,
        ["max_num_seqs", "max_running_requests", "max_batch_size"],
    ),
    (
        Setting::BlockSize,
        ["block_size", "page_size", "tokens_per_block"],
    ),
    (
        Setting::ChunkedPrefill,
        [
            "enable_chunked_prefill",
            "chunked prefill",
            "enable_chunked_prefill",
        ],
    ),
    (Setting::Blocks, ["num_gpu_blocks", "KV pages", "KV blocks"]),
];

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

    /// The engine's own name of a setting.
    #[must_use]
    pub fn word(self, setting: Setting) -> &'static str {
        let column = match self {
            Self::Vllm => 0,
            Self::Sglang => 1,
            Self::TensorRtLlm => 2,
        };
        WORDS
            .iter()
            .find(|(own, _)| *own == setting)
            .map_or("", |(_, words)| words[column])
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
    /// Host time added to each step.
    pub host_step_time: Seconds,
    /// See [`FirstToken`].
    pub first_token: FirstToken,
    /// How batches are formed.
    #[serde(default)]
    pub scheduling: Scheduling,
    /// What the host costs.
    #[serde(default)]
    pub host: Host,
    /// CUDA graphs.
    #[serde(default)]
    pub graphs: Graphs,
    /// What of the KV cache is kept for reuse.
    #[serde(default)]
    pub caching: Caching,
    /// Speculative decoding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speculation: Option<Speculation>,
}

impl Engine {
    /// An engine's defaults on a GPU, for a layout.
    #[must_use]
    pub fn defaults(kind: EngineKind, gpu: &Gpu, layout: Layout) -> Self {
        match kind {
            EngineKind::Vllm => Self::vllm(is_large(gpu)),
            EngineKind::Sglang => Self::sglang(gpu.memory, layout),
            EngineKind::TensorRtLlm => Self::tensorrt_llm(),
        }
    }

    /// vLLM's defaults for its API server (`vllm/engine/arg_utils.py`, 0.11): GPUs of 70 GiB and
    /// more except the A100 get a budget of 8,192 tokens and 1,024 sequences, others 2,048 and 256.
    /// The block is FlashAttention's 16 tokens. Host time is off until it is calibrated.
    #[must_use]
    pub fn vllm(large_gpu: bool) -> Self {
        Self {
            kind: EngineKind::Vllm,
            version: "0.11.0".to_owned(),
            max_num_batched_tokens: if large_gpu { 8192 } else { 2048 },
            max_num_seqs: if large_gpu { 1024 } else { 256 },
            block_size: 16,
            gpu_memory_utilization: 0.9,
            enable_chunked_prefill: true,
            num_gpu_blocks: None,
            host_step_time: Seconds::ZERO,
            first_token: FirstToken::DecodeAdmission,
            scheduling: Scheduling::default(),
            host: Host::default(),
            graphs: Graphs::default(),
            caching: Caching::default(),
            speculation: None,
        }
    }

    /// SGLang's defaults (`srt/server_args.py`, 0.5) by the memory the driver shows:
    /// the chunk by [`SglangTier`], divided by DP with DP-attention; pages of one token; at least
    /// 2,048 running requests (`model_runner.py`: that or what 512 full contexts' worth of tokens
    /// holds, up to 4,096; here no more than the chunk, since the scheduler that is simulated takes
    /// decodes from its budget); and the static fraction that leaves, in MiB, 512 for metadata,
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
            version: "0.5".to_owned(),
            max_num_batched_tokens: chunk.max(1),
            max_num_seqs: chunk.clamp(1, 2048),
            block_size: 1,
            gpu_memory_utilization: fraction.clamp(0.1, 1.0),
            ..Self::vllm(true)
        }
    }

    /// TensorRT-LLM's defaults for its PyTorch backend (`llmapi/llm_args.py`, 1.0): 2,048
    /// requests, 8,192 tokens, blocks of 32, 0.9 of what is free for KV, no chunked prefill; the
    /// capacity scheduler admits only what can finish without eviction.
    #[must_use]
    pub fn tensorrt_llm() -> Self {
        Self {
            kind: EngineKind::TensorRtLlm,
            version: "1.0".to_owned(),
            max_num_batched_tokens: 8192,
            max_num_seqs: 2048,
            block_size: 32,
            gpu_memory_utilization: 0.9,
            enable_chunked_prefill: false,
            ..Self::vllm(true)
        }
    }

    /// The engine's own name of a setting.
    #[must_use]
    pub fn word(&self, setting: Setting) -> &'static str {
        self.kind.word(setting)
    }
}

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
pub(super) struct SglangTier {
    /// `chunked_prefill_size`.
    pub(super) chunk: u32,
    /// `cuda_graph_max_bs`.
    pub(super) graph_batch: u32,
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
    pub(super) fn of(memory: Bytes, layout: Layout) -> Self {
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
mod tests {
    use super::*;
    use crate::catalog::{Catalog, GpuId};

    fn gpu(id: &str) -> Gpu {
        let catalog = Catalog::embedded().unwrap();
        catalog.gpu(&GpuId::new(id).unwrap()).unwrap().clone()
    }

    #[test]
    fn defaults_are_the_engines_own() {
        let tp = |tp| Layout {
            tp,
            ..Layout::SINGLE
        };
        let vllm = |id| Engine::defaults(EngineKind::Vllm, &gpu(id), Layout::SINGLE);
        assert_eq!(vllm("h100-sxm").max_num_batched_tokens, 8192);
        assert_eq!(vllm("h100-sxm").max_num_seqs, 1024);
        assert_eq!(vllm("a100-80-sxm").max_num_batched_tokens, 2048);
        assert_eq!(vllm("rtx-4090").max_num_seqs, 256);
        let sglang = |id, layout| Engine::defaults(EngineKind::Sglang, &gpu(id), layout);
        let h100 = sglang("h100-sxm", tp(1));
        assert_eq!((h100.max_num_batched_tokens, h100.block_size), (8192, 1));
        // (81559 − 512 − 12288 − 512 − 128) / 81559.
        assert!((h100.gpu_memory_utilization - 0.835).abs() < 1e-9);
        assert_eq!(sglang("b200-sxm", tp(8)).max_num_batched_tokens, 16_384);
        assert_eq!(sglang("rtx-4090", tp(1)).max_num_batched_tokens, 2048);
        let lanes = Layout {
            dp: 8,
            ep: 8,
            ..Layout::SINGLE
        };
        assert_eq!(sglang("h200-sxm", lanes).max_num_batched_tokens, 1024);
        let trt = Engine::defaults(EngineKind::TensorRtLlm, &gpu("h100-sxm"), tp(1));
        assert_eq!(
            (trt.max_num_seqs, trt.max_num_batched_tokens, trt.block_size),
            (2048, 8192, 32)
        );
    }

    #[test]
    fn every_setting_has_a_name_in_every_engine() {
        for (setting, _) in WORDS {
            for kind in EngineKind::ALL {
                assert!(!kind.word(setting).is_empty(), "{setting:?} {kind:?}");
            }
        }
        assert_eq!(
            EngineKind::Sglang.word(Setting::MemoryFraction),
            "mem_fraction_static"
        );
        assert_eq!(
            EngineKind::TensorRtLlm.word(Setting::BlockSize),
            "tokens_per_block"
        );
    }
}
