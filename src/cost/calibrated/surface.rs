//! One table's fit: parameters, forest, the range it was measured in and how far it was off on
//! shapes it had not seen.

use super::forest::Forest;
use super::hardware::Hardware;
use super::kernel::Parts;
use super::residuals::Residuals;
use super::shape::{Family, Shape};
use crate::catalog::GpuId;
use crate::cost::operator::Band;

/// Which measurements.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId {
    /// On which GPU.
    pub gpu: GpuId,
    /// Of which kernels.
    pub family: Family,
    /// Whose: `vllm`, `sglang`, `trtllm`, `nccl`, …
    pub engine: String,
    /// Of which version.
    pub version: String,
    /// In which number formats, in the table's words: `bfloat16`, `fp8_block`, `bfloat16 kv fp8`.
    pub precision: String,
    /// Which kernel of the engine; empty where the table does not say.
    pub kernel: String,
}

/// What a table's times contain besides the kernel in a CUDA graph. Declared, so that nothing is
/// counted twice.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attributes {
    /// Quantising the activations is in it.
    pub quantises: bool,
    /// Seconds of host time per call that serving hides in a CUDA graph.
    pub host: f64,
    /// It was measured again and again on the same data, which may lie in L2.
    pub hot_l2: bool,
}

/// How far predictions were off.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Errors {
    /// Rows.
    pub rows: usize,
    /// Median of |predicted / measured − 1|.
    pub median: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Median of predicted / measured − 1.
    pub bias: f64,
    /// 10th percentile of ln(measured / predicted).
    pub low: f64,
    /// 90th percentile of ln(measured / predicted).
    pub high: f64,
}

impl Errors {
    /// The band of a prediction: p10–p90 of measured against predicted.
    #[must_use]
    pub fn band(&self) -> Band {
        Band {
            below: (1.0 - libm::exp(self.low)).max(0.0),
            above: (libm::exp(self.high) - 1.0).max(0.0),
        }
    }
}

/// A fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Surface {
    /// Of which table.
    pub id: TableId,
    /// What the table contains.
    pub attributes: Attributes,
    /// Parameters, in the family's order.
    pub parameters: Vec<f64>,
    /// The kernel choice.
    pub forest: Forest,
    /// Least and largest of the size features it was fitted on.
    pub range: Vec<(f64, f64)>,
    /// On held-out shape keys.
    pub held_out: Errors,
    /// What the fit leaves of the measurements themselves: a user's own profile keeps them.
    pub residuals: Option<Residuals>,
}

/// A price of a surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Parts and time.
    pub parts: Parts,
    /// How far outside the measured range the shape lies: a factor on the farthest size, 1 inside.
    pub beyond: f64,
    /// Whether a measurement lies near enough to have decided it.
    pub measured: bool,
}

impl Surface {
    /// The price of a shape on some hardware (the table's own, or a relative's).
    #[must_use]
    pub fn estimate(&self, hardware: &Hardware, shape: &Shape) -> Estimate {
        let features = shape.features(hardware);
        let (left, nearest) = match &self.residuals {
            Some(own) => own.at(features.values()),
            None => (0.0, f64::INFINITY),
        };
        let factor = libm::exp(self.forest.sum(features.values()) + left);
        let beyond = self
            .range
            .iter()
            .zip(features.values())
            .map(|((low, high), value)| (low - value).max(value - high))
            .fold(0.0, f64::max);
        Estimate {
            parts: shape.physics(hardware, &self.parameters).times(factor),
            beyond: if beyond > 1e-6 {
                libm::exp(beyond)
            } else {
                1.0
            },
            measured: nearest < 0.35,
        }
    }
}
