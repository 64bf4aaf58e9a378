//! Which of an engine's kernels run: engines have several for the same product, by backend, and times
//! differ by a factor of two and more.

use super::{Engine, EngineKind};
use crate::catalog::Gpu;
use serde::{Deserialize, Serialize};

/// Kernels of experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum MoeBackend {
    /// As the engine chooses for the GPU and the number format.
    #[default]
    Auto,
    /// CUTLASS grouped products.
    Cutlass,
    /// TensorRT-LLM's generated kernels (`TRTLLM`, `flashinfer_trtllm`).
    TrtllmGen,
    /// `DeepGEMM`.
    DeepGemm,
    /// Triton.
    Triton,
    /// Marlin: 4-bit weights, 16-bit activations.
    Marlin,
    /// CUTLASS's Python DSL (`flashinfer_cutedsl`).
    CuteDsl,
}

impl MoeBackend {
    /// All, in the order shown.
    pub const ALL: [Self; 7] = [
        Self::Auto,
        Self::Cutlass,
        Self::TrtllmGen,
        Self::DeepGemm,
        Self::Triton,
        Self::Marlin,
        Self::CuteDsl,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Cutlass => "cutlass",
            Self::TrtllmGen => "trtllm",
            Self::DeepGemm => "deepgemm",
            Self::Triton => "triton",
            Self::Marlin => "marlin",
            Self::CuteDsl => "cutedsl",
        }
    }
}

/// Kernels of attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum AttentionBackend {
    /// As the engine chooses for the GPU.
    #[default]
    Auto,
    /// FlashAttention (3 on Hopper).
    FlashAttention,
    /// FlashInfer.
    FlashInfer,
    /// TensorRT-LLM's generated kernels (`trtllm_mha`, `trtllm_mla`, XQA).
    TrtllmGen,
    /// Triton.
    Triton,
}

impl AttentionBackend {
    /// All, in the order shown.
    pub const ALL: [Self; 5] = [
        Self::Auto,
        Self::FlashAttention,
        Self::FlashInfer,
        Self::TrtllmGen,
        Self::Triton,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::FlashAttention => "flash attention",
            Self::FlashInfer => "flashinfer",
            Self::TrtllmGen => "trtllm",
            Self::Triton => "triton",
        }
    }
}

/// Which kernels run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernels {
    /// Experts.
    pub moe: MoeBackend,
    /// Attention.
    pub attention: AttentionBackend,
}

/// Architectures whose FlashAttention is 2: its kernel for batches with prompts does not put the query
/// heads of a group side by side.
const FLASH_ATTENTION_2: [&str; 3] = ["Ampere", "Ada Lovelace", "RTX Blackwell"];

impl Engine {
    /// Whether decodes that share a step with prompts run in the prompts' attention kernel, as prompts
    /// of one token. vLLM's FlashAttention backend calls one kernel for a batch; version 3 packs a
    /// group's query heads into a tile of rows, version 2 only where no sequence has more than one
    /// token. Other backends and engines keep decodes and prompts apart.
    ///
    /// Source: vLLM `v1/attention/backends/flash_attn.py`; FlashAttention `csrc/flash_attn/flash_api.cpp`
    /// (`seqlenq_ngroups_swapped`) and `hopper/heuristics.h` (`should_pack_gqa`).
    #[must_use]
    pub fn decodes_as_prompts(&self, gpu: &Gpu) -> bool {
        let flash = matches!(
            self.kernels.attention,
            AttentionBackend::Auto | AttentionBackend::FlashAttention
        );
        self.kind == EngineKind::Vllm
            && flash
            && FLASH_ATTENTION_2.contains(&gpu.architecture.as_str())
    }
}

impl Engine {
    /// Most tokens of a lane whose shared experts run beside the routed ones, on a stream of their own.
    ///
    /// Sources: SGLang `models/deepseek_v2.py`, `qwen2_moe.py` (1,024 tokens, not with an all-to-all
    /// backend); vLLM `VLLM_SHARED_EXPERTS_STREAM_TOKEN_THRESHOLD` (256, since 0.11.1); TensorRT-LLM
    /// `_torch/modules/multi_stream_utils.py` (inside a captured CUDA graph only).
    #[must_use]
    pub fn shared_experts_beside(&self) -> u32 {
        match self.kind {
            EngineKind::Sglang if self.expert_exchange.is_deepep() => 0,
            EngineKind::Sglang => 1024,
            EngineKind::Vllm if self.is_since("0.11.1") => 256,
            EngineKind::Vllm => 0,
            EngineKind::TensorRtLlm => self.graphs.max_size,
        }
    }
}
