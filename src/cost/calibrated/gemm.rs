//! Matrix products `out[m, n] = x[m, k] · w[k, n]`.
//!
//! A product is cut into tiles that run in waves over the SMs; a library picks, per shape, a tile
//! size and into how many slices it cuts `k`. Physics: the cheapest of the configurations, each
//! `waves × (arithmetic of a tile / (share of an SM's peak) + prologue)`, softly overlapped with
//! the bytes of operands and result, plus a launch.

use super::hardware::Hardware;
use super::kernel::{Features, Kernel, Parameter, Parts, hash, soft_max};

/// Number formats of a product: what it multiplies in and what its weights are kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GemmFormat {
    /// BF16 or FP16 throughout.
    Bf16,
    /// FP8 with one scale per tensor, or per token and channel.
    Fp8,
    /// FP8 with a scale per block of 128.
    Fp8Block,
    /// NVFP4 with a scale per 16 values.
    Nvfp4,
    /// INT8 both sides (SmoothQuant).
    Int8,
    /// INT8 weights, BF16 products.
    W8a16,
    /// INT4 weights, BF16 products.
    W4a16,
}

impl GemmFormat {
    /// Its FLOP/s on a GPU.
    #[must_use]
    pub const fn peak(self, hardware: &Hardware) -> f64 {
        match self {
            Self::Bf16 | Self::W8a16 | Self::W4a16 => hardware.bf16,
            Self::Fp8 | Self::Fp8Block => hardware.fp8,
            Self::Nvfp4 => hardware.fp4,
            Self::Int8 => hardware.int8,
        }
    }

    /// Bytes of a weight and of an activation, scales included.
    #[must_use]
    pub const fn bytes(self) -> (f64, f64) {
        match self {
            Self::Bf16 => (2.0, 2.0),
            Self::Fp8 | Self::Int8 => (1.0, 1.0),
            Self::Fp8Block => (1.0 + 4.0 / 16384.0, 1.0 + 4.0 / 128.0),
            Self::Nvfp4 => (0.5 + 1.0 / 16.0, 0.5 + 1.0 / 16.0),
            Self::W8a16 => (1.0, 2.0),
            Self::W4a16 => (0.5 + 2.0 / 128.0, 2.0),
        }
    }
}

/// A product's shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gemm {
    /// Rows of the activation: tokens.
    pub m: f64,
    /// Columns of the weight.
    pub n: f64,
    /// Inner size.
    pub k: f64,
    /// Number formats.
    pub format: GemmFormat,
}

/// Tile sizes, rows × columns.
const TILES: [(f64, f64); 7] = [
    (64.0, 64.0),
    (64.0, 128.0),
    (64.0, 256.0),
    (128.0, 64.0),
    (128.0, 128.0),
    (128.0, 256.0),
    (256.0, 128.0),
];
const SLICES: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

const fn share(name: &'static str, about: &'static str, start: f64) -> Parameter {
    Parameter {
        name,
        about,
        start,
        low: 0.02,
        high: 1.0,
    }
}

impl Kernel for Gemm {
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "launch_us",
            about: "launch and drain",
            start: 2.5,
            low: 0.3,
            high: 80.0,
        },
        share("bandwidth", "share of memory bandwidth reached", 0.75),
        Parameter {
            name: "prologue_us",
            about: "filling and emptying a tile's pipeline",
            start: 0.5,
            low: 0.01,
            high: 10.0,
        },
        Parameter {
            name: "reduce",
            about: "traffic of summing slices of k, times its bytes",
            start: 1.0,
            low: 0.01,
            high: 20.0,
        },
        Parameter {
            name: "occupancy",
            about: "exponent of the share of SMs busy in the bandwidth reached",
            start: 0.3,
            low: 0.01,
            high: 1.0,
        },
        share("tile_64x64", "share of an SM's peak", 0.4),
        share("tile_64x128", "share of an SM's peak", 0.5),
        share("tile_64x256", "share of an SM's peak", 0.5),
        share("tile_128x64", "share of an SM's peak", 0.5),
        share("tile_128x128", "share of an SM's peak", 0.6),
        share("tile_128x256", "share of an SM's peak", 0.7),
        share("tile_256x128", "share of an SM's peak", 0.7),
    ];
    const FEATURES: &'static [&'static str] = &[
        "m",
        "n",
        "k",
        "work",
        "bytes",
        "fill_64",
        "tiles_64x128",
        "tiles_128x128",
        "waves_128x128",
        "tail_128x128",
        "waves_128x256",
        "tail_128x256",
        "waves_64x64",
        "tail_64x64",
        "n mod 256",
        "k mod 256",
        "m mod 64",
    ];
    const SIZES: usize = 3;

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let &[
            launch,
            bandwidth,
            prologue,
            reduce,
            occupancy,
            ref shares @ ..,
        ] = p
        else {
            return Parts::default();
        };
        let Self { m, n, k, format } = *self;
        let peak = format.peak(hardware) / hardware.sms;
        let (weight, activation) = format.bytes();
        let bytes = n * k * weight + m * (k * activation + 2.0 * n);
        let mut best = Parts {
            seconds: f64::INFINITY,
            ..Parts::default()
        };
        for (&(rows, columns), &share) in TILES.iter().zip(shares) {
            let tiles = libm::ceil(m / rows) * libm::ceil(n / columns);
            for slices in SLICES {
                let ctas = tiles * slices;
                let waves = libm::ceil(ctas / hardware.sms);
                let tile =
                    2.0 * rows * columns * libm::ceil(k / slices / 64.0) * 64.0 / (peak * share);
                let summing = (slices - 1.0) * m * n * 8.0 * reduce / hardware.bandwidth;
                let compute = waves * (tile + prologue * 1e-6) + summing;
                let busy = (ctas / hardware.sms).min(1.0);
                let memory = bytes / (hardware.bandwidth * bandwidth * libm::pow(busy, occupancy));
                let seconds = soft_max(compute, memory) + launch * 1e-6;
                if seconds < best.seconds {
                    best = Parts {
                        compute,
                        memory,
                        link: 0.0,
                        launch: launch * 1e-6,
                        seconds,
                    };
                }
            }
        }
        best
    }

    fn features(&self, hardware: &Hardware, out: &mut Features) {
        let Self { m, n, k, .. } = *self;
        for size in [m, n, k, m * n * k / 1e6, m * k + n * k + m * n] {
            out.log(size);
        }
        out.push(m / (64.0 * libm::ceil(m / 64.0)));
        for (rows, columns) in [(64.0, 128.0), (128.0, 128.0)] {
            out.log(libm::ceil(m / rows) * libm::ceil(n / columns));
        }
        for (rows, columns) in [(128.0, 128.0), (128.0, 256.0), (64.0, 64.0)] {
            let full = libm::ceil(m / rows) * libm::ceil(n / columns) / hardware.sms;
            out.log(libm::ceil(full));
            out.push(full / libm::ceil(full));
        }
        out.push(n % 256.0 / 8.0);
        out.push(k % 256.0 / 8.0);
        out.push(m % 64.0 / 8.0);
    }

    fn key(&self) -> u64 {
        hash(&[self.n.to_bits(), self.k.to_bits()])
    }

    fn size(&self) -> f64 {
        self.m
    }
}
