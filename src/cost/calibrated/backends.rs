//! Which of an engine's measured kernels a plan runs: by its backend settings, or, where those are
//! left to the engine, as the engine chooses.
//!
//! Tables name kernels as their benchmarks do (`moe_torch_flow_min_latency`,
//! `sglang_flashinfer_trtllm_moe`); a tag is a piece of such a name. The first tag a table of the wanted
//! number format has wins, whatever its version: the same kernel of a neighbouring version is nearer
//! than another kernel of the same one.

use super::shape::Family;
use crate::catalog::Gpu;
use crate::plan::{AttentionBackend, Engine, EngineKind, MoeBackend};

/// Tags of kernels, the most wanted first; empty: whichever the version has most of.
pub(super) fn tags(engine: &Engine, gpu: &Gpu, family: Family) -> &'static [&'static str] {
    match family {
        Family::Moe => moe(engine, gpu),
        Family::ContextAttention | Family::Decode => attention(engine.kernels.attention),
        _ => &[],
    }
}

fn moe(engine: &Engine, gpu: &Gpu) -> &'static [&'static str] {
    match engine.kernels.moe {
        // SGLang's `auto` on Blackwell is FlashInfer's TensorRT-LLM kernels for both FP8 and FP4 since
        // 0.5.5 (`server_args.py`); TensorRT-LLM's is CUTLASS (`MoeConfig.backend`).
        MoeBackend::Auto => match engine.kind {
            EngineKind::Sglang if gpu.architecture.starts_with("Blackwell") => {
                &["flashinfer_trtllm"]
            }
            EngineKind::TensorRtLlm => &["cutlass"],
            EngineKind::Sglang | EngineKind::Vllm => &[],
        },
        MoeBackend::Cutlass => &["cutlass"],
        // TensorRT-LLM's own benchmark calls them after their first use.
        MoeBackend::TrtllmGen => &["trtllm", "min_latency"],
        MoeBackend::DeepGemm => &["deepgemm"],
        MoeBackend::Triton => &["triton", "fused_moe"],
        MoeBackend::Marlin => &["marlin"],
        MoeBackend::CuteDsl => &["cutedsl"],
    }
}

const fn attention(backend: AttentionBackend) -> &'static [&'static str] {
    match backend {
        AttentionBackend::Auto => &[],
        AttentionBackend::FlashAttention => &["fa3", "flash_attn", "flash_attention"],
        AttentionBackend::FlashInfer => &["flashinfer"],
        AttentionBackend::TrtllmGen => &["trtllm", "torch_flow"],
        AttentionBackend::Triton => &["triton"],
    }
}
