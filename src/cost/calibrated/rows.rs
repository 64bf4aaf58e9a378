//! Which surface prices a row-wise kernel.
//!
//! Norms, rotations and activations themselves were only measured on a few GPUs, and on most of those
//! outside CUDA graphs or as kernels years old (a norm of 2023 takes 5 µs for a row on an A100). What
//! every engine's table of every server GPU has is the quantising of an activation: a row-wise kernel
//! too, in a CUDA graph. Its launch, its rates and its use of L2 are those of the others, so with the
//! bytes they move it prices them. In order:
//!
//! 1. the kernel itself, measured with an engine on the GPU;
//! 2. the quantising on the GPU;
//! 3. the quantising on a relative.
//!
//! SGLang's quantising finds its scale too, in two kernels: vLLM's stands for its rows.

use super::relatives::Relative;
use super::store::{Calibrations, Match, Wanted};
use super::surface::Surface;
use super::{Family, Rowwise, Shape};
use crate::catalog::GpuId;
use crate::cost::operator::{Band, Operator, RowKind};
use crate::plan::EngineKind;
use std::sync::Arc;

/// What another row-wise kernel's surface may be off, at least: kernels of one size differ by 20–30 %
/// where several were measured on a GPU (RTX PRO 6000, RTX 4090).
const ANOTHER: Band = Band {
    below: 0.25,
    above: 0.35,
};

/// A kernel's name in engines' tables.
const fn name(kind: RowKind) -> &'static str {
    match kind {
        RowKind::Norm => "norm and residual",
        RowKind::NormOfHeads => "norm of heads",
        RowKind::Rope => "rope",
        RowKind::Activation => "activation",
        RowKind::Embedding => "embedding",
        RowKind::Sampling => "sampling",
        RowKind::Other => "other",
    }
}

/// A row-wise kernel's surface, how near it is and how far off it may be.
pub(super) type Found<'a> = (&'a Arc<Surface>, Match, Band);

/// The surface of a kind of kernel of an engine on a GPU.
pub(super) fn surface<'a>(
    calibrations: &'a Calibrations,
    gpu: &GpuId,
    relatives: &[Relative],
    engine: EngineKind,
    kind: RowKind,
) -> Option<Found<'a>> {
    let itself = || {
        let wanted = wanted(gpu, Family::Rowwise, "bfloat16", "vllm");
        let (found, near) = calibrations.on(gpu, &wanted, |own| {
            own.id.kernel == name(kind) && !own.id.engine.starts_with("profile")
        })?;
        Some((found, near, calibrations.band(found, near)))
    };
    let quantising = |gpu: &GpuId| {
        // Sampling is several kernels.
        if kind == RowKind::Sampling {
            return None;
        }
        let own = match engine {
            EngineKind::TensorRtLlm => "trtllm",
            EngineKind::Vllm | EngineKind::Sglang => "vllm",
        };
        let wanted = wanted(gpu, Family::ScaleMatrix, "fp8", own);
        let same = |surface: &Surface| surface.id.engine != "sglang";
        calibrations.on(gpu, &wanted, same).map(|own| own.0)
    };
    let another = |surface: &'a Arc<Surface>, near| {
        let own = calibrations.band_among(relatives, surface, near);
        let band = Band {
            below: own.below.max(ANOTHER.below),
            above: own.above.max(ANOTHER.above),
        };
        (surface, near, band)
    };
    itself()
        .or_else(|| quantising(gpu).map(|own| another(own, Match::Kernel)))
        .or_else(|| {
            let own = relatives.iter().find_map(|own| quantising(&own.gpu))?;
            Some(another(own, Match::Relative))
        })
}

fn wanted<'a>(gpu: &'a GpuId, family: Family, precision: &'a str, engine: &'a str) -> Wanted<'a> {
    Wanted {
        gpu,
        family,
        precision,
        engine,
        version: "",
        kernel: "",
        tags: &[],
    }
}

/// A row-wise operator as a shape of a surface's family.
pub(super) fn shape(operator: &Operator, surface: &Surface) -> Option<Shape> {
    let Operator::Rows {
        rows, width, bytes, ..
    } = *operator
    else {
        return None;
    };
    let own = Rowwise {
        rows,
        width,
        bytes,
        eager: false,
    };
    Some(match surface.id.family {
        Family::ScaleMatrix => Shape::ScaleMatrix(own),
        _ => Shape::Rowwise(own),
    })
}
