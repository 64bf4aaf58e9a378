//! Which of an engine's measured kernels a plan runs: by its backend settings, or, where those are
//! left to the engine, as the engine chooses.
//!
//! Tables name kernels as their benchmarks do (`moe_torch_flow_min_latency`,
//! `sglang_flashinfer_trtllm_moe`); a tag is a piece of such a name. The first tag a table of the wanted
//! number format has wins, whatever its version: the same kernel of a neighbouring version is nearer
//! than another kernel of the same one.

use super::shape::Family;
use super::surface::Surface;
use crate::catalog::Gpu;
use crate::plan::{AttentionBackend, Engine, EngineKind, MoeBackend};

/// Whether serving runs what a table measured.
///
/// On GB200 TensorRT-LLM 1.3.0rc10's benchmark of decode attention ran something else: of 30,348 rows
/// that 1.3.0rc20 has too they take 1.3 times as long at the median and 13 times at long contexts, where
/// rc20 and B200's agree within 1 %, and no deployment shows it. On H200 vLLM 0.14.0's own all-reduce
/// takes longer for half a megabyte than for a whole one, and twice what 0.18 to 0.24 and H100's do. The
/// fits are kept to be held against their tables.
pub(super) fn is_served(surface: &Surface) -> bool {
    let id = &surface.id;
    let own = (
        id.family,
        id.gpu.as_str(),
        id.engine.as_str(),
        id.version.as_str(),
    );
    !NOT_SERVED.contains(&own)
}

/// Tables of what serving does not run.
const NOT_SERVED: [(Family, &str, &str, &str); 2] = [
    (Family::Decode, "gb200", "trtllm", "1.3.0rc10"),
    (Family::CustomAllreduce, "h200-sxm", "vllm", "0.14.0"),
];

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
