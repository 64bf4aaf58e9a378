//! What is done to each row of an activation on its own: finding a scale, quantising, a norm, an
//! activation function, a rotation, a residual.
//!
//! Physics: `launch + softmax(bytes / bandwidth, bytes / (SMs · load rate), rows / SMs · time of a
//! row, a row's bytes / rate of its block)`. What the kernel before wrote and the one after reads
//! passes through L2 while it fits, in serving as in a benchmark, and memory is not asked for it.

use super::hardware::Hardware;
use super::kernel::{Features, Kernel, Parameter, Parts, hash, soft_max};
use super::product::power_of_two;

/// The shape of a row-wise kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rowwise {
    /// Rows: tokens.
    pub rows: f64,
    /// Elements of a row.
    pub width: f64,
    /// Bytes moved for each, in and out.
    pub bytes: f64,
    /// It is issued outside a CUDA graph: the host's time shows where the GPU's is less.
    pub eager: bool,
}

impl Kernel for Rowwise {
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "launch_us",
            about: "launch and drain",
            start: 2.0,
            low: 0.1,
            high: 30.0,
        },
        Parameter {
            name: "host_us",
            about: "host's time of a call outside a CUDA graph",
            start: 5.0,
            low: 0.5,
            high: 300.0,
        },
        Parameter {
            name: "bandwidth",
            about: "share of memory bandwidth reached",
            start: 0.7,
            low: 0.005,
            high: 1.0,
        },
        Parameter {
            name: "cache",
            about: "share of L2 up to which data passes through it",
            start: 0.3,
            low: 0.01,
            high: 1.0,
        },
        Parameter {
            name: "load_gbs",
            about: "rate at which an SM moves rows",
            start: 40.0,
            low: 0.1,
            high: 400.0,
        },
        Parameter {
            name: "row_us",
            about: "an SM's time for a row, however short",
            start: 0.02,
            low: 0.000_1,
            high: 2.0,
        },
        Parameter {
            name: "row_gbs",
            about: "rate at which one row is moved",
            start: 20.0,
            low: 0.2,
            high: 2000.0,
        },
    ];
    const FEATURES: &'static [&'static str] = &[
        "rows",
        "width",
        "elements",
        "rows per SM",
        "bytes in L2",
        "width power of 2",
    ];
    const SIZES: usize = 2;
    const ANSWERS: usize = 120;

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let &[launch, host, bandwidth, cache, load, row, row_rate] = p else {
            return Parts::default();
        };
        let Self {
            rows,
            width,
            bytes,
            eager,
        } = *self;
        let all = rows * width * bytes;
        let held = all / (cache * hardware.l2);
        let missed = (held - 1.0).clamp(0.02, 1.0);
        let memory = soft_max(
            all * missed / (hardware.bandwidth * bandwidth),
            all / (load * 1e9 * hardware.sms),
        );
        let issue = soft_max(
            rows / hardware.sms * row * 1e-6,
            width * bytes / (row_rate * 1e9),
        );
        let parts = Parts::overlapped(issue, memory, 0.0, launch * 1e-6);
        if eager {
            parts.beside_host(host * 1e-6)
        } else {
            parts
        }
    }

    fn features(&self, hardware: &Hardware, out: &mut Features) {
        let Self {
            rows, width, bytes, ..
        } = *self;
        out.log(rows);
        out.log(width);
        out.log(rows * width);
        out.push((rows / hardware.sms).min(16.0));
        out.push((rows * width * bytes / hardware.l2).min(4.0));
        out.push(power_of_two(width));
    }

    fn key(&self) -> u64 {
        hash(&[self.width.to_bits()])
    }

    fn size(&self) -> f64 {
        self.rows
    }

    fn host(&self, parameters: &[f64]) -> f64 {
        if self.eager {
            parameters.get(1).map_or(0.0, |host| host * 1e-6)
        } else {
            0.0
        }
    }
}
