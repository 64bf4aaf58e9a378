//! The roofline fidelity: `max(FLOPs / (peak · e), bytes / (bandwidth · e)) + floor`, with one
//! efficiency `e` per class of kernel. For any GPU a user types in; not fitted to any.
//!
//! Efficiencies are round numbers from published achieved rates: large BF16 GEMMs reach 73–87 % of
//! the dense peak and FP8 ones 71–76 % (ml-engineering's MAMF tables for A100 to GB200); weights
//! stream at 85–90 % of the datasheet's bandwidth (replays of measured vLLM runs on RTX 4090 and
//! RTX PRO 6000 are not served by less, see `tests/stories/replay.rs`); FlashAttention-3 reports up
//! to 75 % of the BF16 peak for long causal prompts and less for short ones; paged decode attention
//! stays below plain streaming. The floor is what the shortest kernel takes inside a CUDA graph.

use super::operator::{Band, Fidelity, OpCost, Operator, Prices};
use crate::catalog::{Dtype, Gpu, Peaks};
use crate::plan::Engine;
use crate::units::ByteRate;
use std::sync::Arc;

/// Datasheet peaks with fixed efficiencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Roofline;

/// Shares of peak arithmetic and of peak bandwidth a class of kernels reaches.
struct Efficiency {
    compute: f64,
    memory: f64,
}

const GEMM: Efficiency = Efficiency {
    compute: 0.75,
    memory: 0.88,
};
const GROUPED: Efficiency = Efficiency {
    compute: 0.60,
    memory: 0.88,
};
const PREFILL: Efficiency = Efficiency {
    compute: 0.55,
    memory: 0.80,
};
const DECODE: Efficiency = Efficiency {
    compute: 0.50,
    memory: 0.78,
};
/// Short chained products with intermediates in memory. An assumption: no published table; a
/// scan of real size is bound by its bytes on all GPUs of the catalog but the oldest.
const SCAN: Efficiency = Efficiency {
    compute: 0.30,
    memory: 0.78,
};
const STREAM: Efficiency = Efficiency {
    compute: 0.50,
    memory: 0.80,
};

/// Shortest kernel inside a CUDA graph, seconds.
const KERNEL_FLOOR: f64 = 2.0e-6;

/// Not a measured band: the honest spread of an uncalibrated roofline on step times.
const BAND: Band = Band {
    below: 0.30,
    above: 0.60,
};

impl Fidelity for Roofline {
    fn name(&self) -> &'static str {
        "roofline"
    }

    fn on(&self, gpu: &Gpu, _: &Engine) -> Arc<dyn Prices> {
        Arc::new(RooflineOn::of(gpu))
    }
}

/// A GPU's roofline.
#[derive(Debug, Clone, PartialEq)]
pub struct RooflineOn {
    peaks: Peaks,
    bandwidth: ByteRate,
}

impl RooflineOn {
    /// Of a GPU.
    #[must_use]
    pub fn of(gpu: &Gpu) -> Self {
        Self {
            peaks: gpu.peaks.clone(),
            bandwidth: gpu.bandwidth,
        }
    }

    /// Seconds an operator's arithmetic takes at the datasheet's peak.
    #[must_use]
    pub fn at_peak(&self, operator: &Operator) -> f64 {
        let (_, dtype) = class(operator);
        operator.work().0 / self.peaks.of(dtype).get()
    }
}

/// A kernel's class and the format it multiplies in.
const fn class(operator: &Operator) -> (Efficiency, Dtype) {
    match *operator {
        Operator::Linear { gemm, .. } => (GEMM, gemm),
        Operator::HeadProduct { .. } => (GEMM, Dtype::Bf16),
        Operator::Experts { gemm, .. } => (GROUPED, gemm),
        Operator::Prefill { .. } => (PREFILL, Dtype::Bf16),
        Operator::Decode { .. } | Operator::Step { .. } => (DECODE, Dtype::Bf16),
        // Products in FP8 (DeepGEMM's `fp8_mqa_logits`), else as attention's.
        Operator::Scores {
            dtype: Dtype::Fp8, ..
        } => (DECODE, Dtype::Fp8),
        Operator::Scores { .. } => (DECODE, Dtype::Bf16),
        Operator::Scan { .. } => (SCAN, Dtype::Bf16),
        Operator::Rows { .. } | Operator::Convolution { .. } => (STREAM, Dtype::Bf16),
    }
}

impl Prices for RooflineOn {
    fn quick(&self) -> bool {
        true
    }

    fn price(&self, operator: &Operator) -> OpCost {
        let (efficiency, dtype) = class(operator);
        let kernels = operator.kernels();
        let (flops, bytes) = operator.work();
        OpCost::roofline(
            flops / (self.peaks.of(dtype).get() * efficiency.compute),
            bytes / (self.bandwidth.get() * efficiency.memory),
            0.0,
            KERNEL_FLOOR * f64::from(kernels),
            kernels,
            BAND,
        )
    }
}
