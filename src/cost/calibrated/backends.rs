//! Which of an engine's measured kernels a plan runs: by its backend settings, or, where those are
//! left to the engine, as the engine chooses.
//!
//! Tables name kernels as their benchmarks do (`moe_torch_flow_min_latency`,
//! `sglang_flashinfer_trtllm_moe`); a tag is a piece of such a name. The first tag a table of the wanted
//! number format has wins, whatever its version: the same kernel of a neighbouring version is nearer
//! than another kernel of the same one.

use super::relatives::Relative;
use super::shape::Family;
use super::store::{Calibrations, Match, Wanted};
use super::surface::Surface;
use crate::catalog::Gpu;
use crate::plan::{AttentionBackend, Engine, EngineKind, MoeBackend};
use std::sync::Arc;

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
        Family::Gemm => linear(engine, gpu),
        _ => &[],
    }
}

/// vLLM on Blackwell multiplies FP8 with a scale per tensor by FlashInfer's `bmm_fp8` since 0.10.2
/// (`Fp8LinearOp`; vLLM pull request 22895), which leaves it to cuBLAS, as TensorRT-LLM does; its own
/// tables are of the CUTLASS kernel of checkpoints with a scale per channel.
fn linear(engine: &Engine, gpu: &Gpu) -> &'static [&'static str] {
    let flashinfer = gpu.architecture.starts_with("Blackwell") && engine.is_since("0.10.2");
    match engine.kind {
        EngineKind::Vllm if flashinfer => &[CUBLAS],
        _ => &[],
    }
}

/// How TensorRT-LLM's tables name products left to its default, cuBLAS.
const CUBLAS: &str = "torch_flow";

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

/// Words by which tables name kernels of experts.
const MOE_KERNELS: [&str; 7] = [
    "trtllm",
    "min_latency",
    "cutlass",
    "deepgemm",
    "triton",
    "marlin",
    "cutedsl",
];

/// Whether a surface is known to be another kernel than the one asked for outright: of experts, its
/// name has some kernel's word and none of the `tags`; of dense products with a scale per tensor, none
/// of the `tags`.
fn is_another(surface: &Surface, tags: &[&str]) -> bool {
    let has = |tag: &&str| surface.id.kernel.contains(*tag);
    let named = match surface.id.family {
        Family::Moe => MOE_KERNELS.iter().any(has),
        Family::Gemm => surface.id.precision == "fp8",
        _ => false,
    };
    named && !tags.is_empty() && !tags.iter().any(has)
}

/// The surface that stands for a kernel. Where the engine's own tables have another kernel
/// than the one its setting names, the named kernel as another engine's table has it: engines share
/// these libraries, and kernels differ by more than engines do (block-scaled FP8 on B200, 256 experts
/// of 2,048 on eight GPUs, 32 tokens: DeepGEMM 177 µs, TensorRT-LLM's generated kernels 124).
pub(super) fn named_kernel<'a>(
    calibrations: &'a Calibrations,
    wanted: &Wanted<'_>,
    found: (&'a Arc<Surface>, Match),
    relatives: &[Relative],
) -> (&'a Arc<Surface>, Match) {
    let (surface, near) = found;
    if !is_another(surface, wanted.tags) {
        return found;
    }
    let tagged = |own: &Surface| wanted.tags.iter().any(|tag| own.id.kernel.contains(tag));
    calibrations
        .on(wanted.gpu, wanted, tagged)
        .or_else(|| {
            let mut kin = relatives.iter().filter(|_| near == Match::Relative);
            kin.find_map(|own| calibrations.on(&own.gpu, wanted, tagged))
        })
        .unwrap_or(found)
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
