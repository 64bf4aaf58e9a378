//! Which of an engine's kernels run: engines have several for the same product, by backend, and times
//! differ by a factor of two and more.

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
