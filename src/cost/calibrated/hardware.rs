//! What the physics needs to know of a GPU.

use crate::catalog::{Dtype, Gpu};

/// A GPU as the physics sees it: datasheet numbers, none of them fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hardware {
    /// Streaming multiprocessors (compute units, AI cores).
    pub sms: f64,
    /// Bytes of last-level cache.
    pub l2: f64,
    /// Bytes per second of device memory.
    pub bandwidth: f64,
    /// FLOP/s, BF16.
    pub bf16: f64,
    /// FLOP/s, FP8; BF16's where there is no unit for it.
    pub fp8: f64,
    /// FLOP/s, INT8.
    pub int8: f64,
    /// FLOP/s, FP4.
    pub fp4: f64,
    /// Bytes per second of the scale-up fabric, one direction.
    pub scale_up: f64,
    /// Bytes per second of the host link, one direction.
    pub pcie: f64,
}

impl Hardware {
    /// Of a catalog row.
    #[must_use]
    pub fn of(gpu: &Gpu) -> Self {
        let peak = |dtype| gpu.peaks.of(dtype).get();
        Self {
            sms: f64::from(gpu.sms),
            l2: gpu.l2.as_f64(),
            bandwidth: gpu.bandwidth.get(),
            bf16: peak(Dtype::Bf16),
            fp8: peak(Dtype::Fp8),
            int8: peak(Dtype::Int8),
            fp4: peak(Dtype::Fp4),
            scale_up: gpu.scale_up.get(),
            pcie: gpu.pcie.get(),
        }
    }
}
