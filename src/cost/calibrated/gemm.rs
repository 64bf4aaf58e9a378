//! Matrix products `out[m, n] = x[m, k] · w[k, n]`.
//!
//! Physics: [`Product::cheapest`] and a launch. A measured call may hold more than the kernel, and
//! its shape says so: quantising the activation
//! (`launch + bytes / rate`, before the product) and, outside a CUDA graph, the host's time, which
//! runs beside the GPU's. A price without them is the same surface asked about a bare [`Call`].

use super::hardware::Hardware;
use super::kernel::{Features, Kernel, Parameter, Parts, hash, soft_max};
use super::product::{Product, Rates, fill, power_of_two};

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

/// What one call of a product holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Call {
    /// The activation comes in BF16 and is quantised first.
    pub quantises: bool,
    /// It is issued outside a CUDA graph: the host's time shows where the GPU's is less.
    pub eager: bool,
    /// It is issued again and again on a few copies of the weight, which L2 may hold.
    pub repeated: bool,
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
    /// What else the call holds.
    pub call: Call,
}

/// Tile sizes, rows × columns.
const TILES: [(f64, f64); 8] = [
    (32.0, 64.0),
    (64.0, 64.0),
    (64.0, 128.0),
    (64.0, 256.0),
    (128.0, 64.0),
    (128.0, 128.0),
    (128.0, 256.0),
    (256.0, 128.0),
];

const fn share(name: &'static str, start: f64) -> Parameter {
    Parameter {
        name,
        about: "share of an SM's peak a tile reaches",
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
            high: 20.0,
        },
        Parameter {
            name: "host_us",
            about: "host's time of a call outside a CUDA graph",
            start: 60.0,
            low: 1.0,
            high: 1000.0,
        },
        Parameter {
            name: "quantise_us",
            about: "launches of quantising the activation",
            start: 1.5,
            low: 0.05,
            high: 20.0,
        },
        Parameter {
            name: "quantise_gbs",
            about: "rate at which an SM quantises, in and out",
            start: 15.0,
            low: 0.3,
            high: 200.0,
        },
        Parameter {
            name: "bandwidth",
            about: "share of memory bandwidth reached",
            start: 0.75,
            low: 0.1,
            high: 1.0,
        },
        Parameter {
            name: "cache",
            about: "share of L2 up to which weights stay there between calls",
            start: 0.17,
            low: 0.01,
            high: 1.0,
        },
        Parameter {
            name: "load_gbs",
            about: "rate at which an SM loads operands",
            start: 60.0,
            low: 4.0,
            high: 400.0,
        },
        Parameter {
            name: "prologue_us",
            about: "filling and emptying a tile's pipeline",
            start: 0.3,
            low: 0.01,
            high: 10.0,
        },
        Parameter {
            name: "reduce",
            about: "traffic of summing slices of k, times its bytes",
            start: 0.3,
            low: 0.01,
            high: 20.0,
        },
        share("tile_32x64", 0.2),
        share("tile_64x64", 0.3),
        share("tile_64x128", 0.4),
        share("tile_64x256", 0.5),
        share("tile_128x64", 0.4),
        share("tile_128x128", 0.6),
        share("tile_128x256", 0.7),
        share("tile_256x128", 0.7),
    ];
    const FEATURES: &'static [&'static str] = &[
        "m",
        "n",
        "k",
        "mn",
        "nk",
        "mk",
        "m/n",
        "n/k",
        "m/k",
        "work",
        "reuse",
        "tiles 64x64",
        "fill 64x64",
        "tiles 64x128",
        "fill 64x128",
        "tiles 128x64",
        "fill 128x64",
        "tiles 128x128",
        "fill 128x128",
        "tiles 128x256",
        "fill 128x256",
        "tiles 256x128",
        "fill 256x128",
        "tiles 64x256",
        "fill 64x256",
        "m power of 2",
        "n power of 2",
        "k power of 2",
        "fill m",
        "copies in L2",
    ];
    const SIZES: usize = 3;
    const ANSWERS: usize = 1500;

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let &[
            launch,
            host,
            quantise,
            quantise_rate,
            bandwidth,
            cache,
            load,
            prologue,
            reduce,
            ref shares @ ..,
        ] = p
        else {
            return Parts::default();
        };
        let Self {
            m,
            n,
            k,
            format,
            call,
        } = *self;
        let (weight, activation) = format.bytes();
        let product = Product {
            batch: 1.0,
            m,
            n,
            k,
            weight,
            activation,
        };
        let bandwidth = hardware.bandwidth * bandwidth;
        let rates = Rates {
            peak: format.peak(hardware),
            bandwidth,
            load: load * 1e9,
            prologue: prologue * 1e-6,
            reduce,
        };
        // Of copies of the weight used in turn all lie in L2, or next to none.
        let held = n * k * weight / (cache * hardware.l2);
        let missed = if call.repeated {
            (5.0 * (held - 1.0)).clamp(0.02, 1.0)
        } else {
            1.0
        };
        let mut parts = product.cheapest(hardware.sms, rates, (missed, 1.0), &TILES, shares);
        parts.launch = launch * 1e-6;
        if call.quantises {
            let bytes = m * k * (2.0 + activation);
            parts.launch += quantise * 1e-6;
            let quantising = soft_max(
                bytes / bandwidth,
                bytes / (quantise_rate * 1e9 * hardware.sms),
            );
            parts.memory += quantising;
            parts.seconds += quantising;
        }
        parts.seconds += parts.launch;
        if call.eager {
            parts.beside_host(host * 1e-6)
        } else {
            parts
        }
    }

    fn features(&self, hardware: &Hardware, out: &mut Features) {
        let Self { m, n, k, .. } = *self;
        for size in [
            m,
            n,
            k,
            m * n,
            n * k,
            m * k,
            m / n,
            n / k,
            m / k,
            m * n * k / 1e6,
            m * n * k / (m * n + n * k + m * k),
        ] {
            out.log(size);
        }
        for (rows, columns) in [
            (64.0, 64.0),
            (64.0, 128.0),
            (128.0, 64.0),
            (128.0, 128.0),
            (128.0, 256.0),
            (256.0, 128.0),
            (64.0, 256.0),
        ] {
            let full = libm::ceil(m / rows) * libm::ceil(n / columns) / hardware.sms;
            out.log(full);
            out.push(full / libm::ceil(full) * fill(m, rows) * fill(n, columns));
        }
        for size in [m, n, k] {
            out.push(power_of_two(size));
        }
        out.push(fill(m, 64.0));
        // How often the copies of the weight fill L2: as many as reach its size, at most six.
        let weights = n * k * self.format.bytes().0 / hardware.l2;
        out.push(if self.call.repeated {
            (weights * libm::ceil(1.0 / weights).min(6.0)).min(4.0)
        } else {
            4.0
        });
    }

    fn key(&self) -> u64 {
        hash(&[self.n.to_bits(), self.k.to_bits()])
    }

    fn size(&self) -> f64 {
        self.m
    }

    fn host(&self, parameters: &[f64]) -> f64 {
        if self.call.eager {
            parameters.get(1).map_or(0.0, |host| host * 1e-6)
        } else {
            0.0
        }
    }
}
