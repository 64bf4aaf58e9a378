//! Which surface prices a row-wise kernel.
//!
//! Norms, rotations and activations themselves were only measured on a few GPUs, and on most of those
//! outside CUDA graphs or as kernels years old. What every engine's table of every server GPU has is
//! the quantising of an activation: a row-wise kernel too, in a CUDA graph. Its launch, its rates and
//! its use of L2 are those of the others, so with the bytes they move it prices them. In order:
//!
//! 1. the kernel itself, measured with an engine on the GPU;
//! 2. the quantising on the GPU;
//! 3. the kernel itself in a profile of the GPU, if its fit is good;
//! 4. the quantising on a relative.
//!
//! SGLang's quantising finds its scale too, in two kernels: vLLM's stands for its rows.

use super::store::{Calibrations, Match, Wanted};
use super::surface::Surface;
use super::{Family, Rowwise, Shape};
use crate::catalog::GpuId;
use crate::cost::operator::{Band, Operator, RowKind};
use crate::plan::EngineKind;
use std::sync::Arc;

/// Largest median error on held-out shapes of a profile that is trusted.
const GOOD: f64 = 0.15;

/// What another row-wise kernel's surface may be off, at least: kernels of one size differ by 20–30 %
/// where several were measured on a GPU (RTX PRO 6000, RTX 4090).
const ANOTHER: Band = Band {
    below: 0.25,
    above: 0.35,
};

/// A kernel's names in tables, the engine's first.
const fn names(kind: RowKind) -> &'static [&'static str] {
    match kind {
        RowKind::Norm => &["norm and residual", "norm"],
        RowKind::NormOfHeads => &["norm of heads"],
        RowKind::Rope => &["rope"],
        RowKind::Activation => &["activation"],
        RowKind::Embedding => &["embedding"],
        RowKind::Sampling => &["sampling"],
        RowKind::Other => &[],
    }
}

/// A row-wise kernel's surface, how near it is and how far off it may be.
pub(super) type Found<'a> = (&'a Arc<Surface>, Match, Band);

/// The surface of a kind of kernel of an engine on a GPU.
pub(super) fn surface<'a>(
    calibrations: &'a Calibrations,
    gpu: &GpuId,
    relatives: &[GpuId],
    engine: EngineKind,
    kind: RowKind,
) -> Option<Found<'a>> {
    let profiled = |own: &Surface| own.id.engine.starts_with("profile");
    let itself = |may: &dyn Fn(&Surface) -> bool| {
        names(kind).iter().find_map(|name| {
            let wanted = wanted(gpu, Family::Rowwise, "bfloat16", "vllm");
            let (found, near) =
                calibrations.on(gpu, &wanted, |own| own.id.kernel == *name && may(own))?;
            Some((found, near, calibrations.band(found, near)))
        })
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
        let own = calibrations.band(surface, near);
        let band = Band {
            below: own.below.max(ANOTHER.below),
            above: own.above.max(ANOTHER.above),
        };
        (surface, near, band)
    };
    itself(&|own| !profiled(own))
        .or_else(|| quantising(gpu).map(|own| another(own, Match::Kernel)))
        .or_else(|| itself(&|own| profiled(own) && own.held_out.median < GOOD))
        .or_else(|| {
            let own = relatives.iter().find_map(quantising)?;
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
