//! A product per head, all heads in one launch: the absorbed weights of MLA's decode path (queries
//! into the latent, the latent out into values).
//!
//! Physics: [`Product::cheapest`] with the heads as batch, without slices to speak of, and a launch.
//! FP8 tables hold quantising the activation (their floors lie 2–4 µs above BF16's, and long inputs
//! take several bytes of memory an activation).

use super::gemm::{Call, GemmFormat};
use super::hardware::Hardware;
use super::kernel::{Features, Kernel, Parameter, Parts, hash, soft_max};
use super::product::{Product, Rates, fill};

/// The shape of a product per head.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeadProduct {
    /// Heads on this GPU.
    pub heads: f64,
    /// Rows of each head: tokens.
    pub tokens: f64,
    /// Columns of a head's weight.
    pub n: f64,
    /// Inner size.
    pub k: f64,
    /// Number formats.
    pub format: GemmFormat,
    /// What else the call holds.
    pub call: Call,
}

/// Tile sizes, rows × columns.
const TILES: [(f64, f64); 3] = [(64.0, 64.0), (64.0, 128.0), (128.0, 128.0)];

const fn share(name: &'static str, start: f64) -> Parameter {
    Parameter {
        name,
        about: "share of an SM's peak a tile reaches",
        start,
        low: 0.005,
        high: 1.0,
    }
}

impl Kernel for HeadProduct {
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "launch_us",
            about: "launch and drain",
            start: 3.0,
            low: 0.3,
            high: 20.0,
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
            start: 10.0,
            low: 0.1,
            high: 200.0,
        },
        Parameter {
            name: "bandwidth",
            about: "share of memory bandwidth reached",
            start: 0.75,
            low: 0.05,
            high: 1.0,
        },
        Parameter {
            name: "load_gbs",
            about: "rate at which an SM loads operands",
            start: 60.0,
            low: 2.0,
            high: 400.0,
        },
        Parameter {
            name: "prologue_us",
            about: "filling and emptying a tile's pipeline",
            start: 0.3,
            low: 0.01,
            high: 10.0,
        },
        share("tile_64x64", 0.3),
        share("tile_64x128", 0.4),
        share("tile_128x128", 0.5),
    ];
    const FEATURES: &'static [&'static str] = &[
        "tokens",
        "heads",
        "n",
        "k",
        "rows",
        "work",
        "tiles 64x128",
        "fill 64x128",
        "tiles 128x128",
        "fill 128x128",
    ];
    const SIZES: usize = 4;
    const ANSWERS: usize = 100;

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let &[
            launch,
            quantise,
            quantise_rate,
            bandwidth,
            load,
            prologue,
            ref shares @ ..,
        ] = p
        else {
            return Parts::default();
        };
        let Self {
            heads,
            tokens,
            n,
            k,
            format,
            call,
        } = *self;
        let (weight, activation) = format.bytes();
        let bandwidth = hardware.bandwidth * bandwidth;
        let product = Product {
            batch: heads,
            m: tokens,
            n,
            k,
            weight,
            activation,
        };
        let rates = Rates {
            peak: format.peak(hardware),
            bandwidth,
            load: load * 1e9,
            prologue: prologue * 1e-6,
            reduce: 1.0,
        };
        // Weights are few, and activations pass from kernel to kernel: L2 holds both while they fit.
        let held = |bytes: f64, times: f64| (times * bytes / hardware.l2 - 1.0).clamp(0.02, 1.0);
        let weights = if call.repeated {
            held(heads * n * k * weight, 1.0)
        } else {
            1.0
        };
        let passing = held(heads * tokens * (k * activation + 2.0 * n), 2.5);
        let mut parts = product.cheapest(hardware.sms, rates, (weights, passing), &TILES, shares);
        parts.launch = launch * 1e-6;
        if call.quantises {
            let bytes = heads * tokens * k * (2.0 + activation);
            parts.launch += quantise * 1e-6;
            let quantising = soft_max(
                bytes / bandwidth,
                bytes / (quantise_rate * 1e9 * hardware.sms),
            );
            parts.memory += quantising;
            parts.seconds += quantising;
        }
        parts.seconds += parts.launch;
        parts
    }

    fn features(&self, hardware: &Hardware, out: &mut Features) {
        let Self {
            heads,
            tokens,
            n,
            k,
            ..
        } = *self;
        for size in [
            tokens,
            heads,
            n,
            k,
            tokens * heads,
            tokens * heads * n * k / 1e6,
        ] {
            out.log(size);
        }
        for (rows, columns) in [(64.0, 128.0), (128.0, 128.0)] {
            let full = heads * libm::ceil(tokens / rows) * libm::ceil(n / columns) / hardware.sms;
            out.log(full);
            out.push(full / libm::ceil(full) * fill(tokens, rows));
        }
    }

    fn key(&self) -> u64 {
        hash(&[self.heads.to_bits(), self.n.to_bits(), self.k.to_bits()])
    }

    fn size(&self) -> f64 {
        self.tokens
    }
}
