//! Routed experts of a mixture: two grouped products with the activation between, and the kernels
//! around them that sort tokens by expert, quantise, and sum the experts' outputs.
//!
//! A grouped product is cut into tiles: each expert's copies into rows ([`Load::tiles`]), the weight
//! into columns; tiles run in waves over the SMs. A small tile streams its weights as long as a
//! large one, so a tile of `r × c` takes as long as `(r + edge) · (c + edge)` multiply-adds per
//! inner element. Physics: the cheapest tile size, softly overlapped with the bytes of the visited
//! experts' weights and of activations; plus what moves activations about, per local copy
//! (`permute`), per copy whether local or not (`rows`: kernels that walk all choices of all tokens,
//! as with an expert map), and per token; plus routing per expert and per choice; plus launches.

use super::hardware::Hardware;
use super::kernel::{Features, Kernel, Parameter, Parts, hash};
use super::load::{Load, TILE_ROWS};

/// Number formats: what is multiplied in and what weights are kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MoeFormat {
    /// BF16 throughout.
    Bf16,
    /// FP8 with one scale per tensor or channel.
    Fp8,
    /// FP8 with a scale per block of 128.
    Fp8Block,
    /// NVFP4 both sides.
    Nvfp4,
    /// INT4 weights, BF16 products.
    W4a16,
    /// MXFP4 weights, BF16 products.
    Mxfp4,
    /// MXFP4 weights, FP8 products.
    Mxfp4Fp8,
}

impl MoeFormat {
    /// Its FLOP/s on a GPU.
    #[must_use]
    pub const fn peak(self, hardware: &Hardware) -> f64 {
        match self {
            Self::Bf16 | Self::W4a16 | Self::Mxfp4 => hardware.bf16,
            Self::Fp8 | Self::Fp8Block | Self::Mxfp4Fp8 => hardware.fp8,
            Self::Nvfp4 => hardware.fp4,
        }
    }

    /// Bytes of a weight and of an activation, scales included.
    #[must_use]
    pub const fn bytes(self) -> (f64, f64) {
        match self {
            Self::Bf16 => (2.0, 2.0),
            Self::Fp8 => (1.0, 1.0),
            Self::Fp8Block => (1.0 + 4.0 / 16384.0, 1.0 + 4.0 / 128.0),
            Self::Nvfp4 => (0.5 + 1.0 / 16.0, 0.5 + 1.0 / 16.0),
            Self::W4a16 => (0.5 + 2.0 / 128.0, 2.0),
            Self::Mxfp4 => (0.5 + 1.0 / 32.0, 2.0),
            Self::Mxfp4Fp8 => (0.5 + 1.0 / 32.0, 1.0 + 1.0 / 32.0),
        }
    }
}

/// The experts of one layer on one rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moe {
    /// What falls on them.
    pub load: Load,
    /// Width of a token.
    pub hidden: f64,
    /// Inner width on this rank.
    pub intermediate: f64,
    /// Experts on this rank.
    pub local: f64,
    /// Experts in all: the router's width.
    pub experts: f64,
    /// With a gate (three matrices) or without (two).
    pub gated: bool,
    /// Number formats.
    pub format: MoeFormat,
    /// The weights may still lie in L2 from the run before: a benchmark that runs one layer again
    /// and again. In a model other layers have evicted them.
    pub resident: bool,
    /// Its kernels are issued outside a CUDA graph: the host's time shows where the GPU's is less.
    pub eager: bool,
}

/// Columns of tiles.
const TILE_COLUMNS: [f64; 3] = [64.0, 128.0, 256.0];

const fn parameter(
    name: &'static str,
    about: &'static str,
    start: f64,
    low: f64,
    high: f64,
) -> Parameter {
    Parameter {
        name,
        about,
        start,
        low,
        high,
    }
}

impl Moe {
    /// Multiply-adds' matrices per expert: gate and up side by side, then down.
    fn up(&self) -> f64 {
        if self.gated {
            2.0 * self.intermediate
        } else {
            self.intermediate
        }
    }

    /// Bytes of the visited experts' weights.
    fn weights(&self) -> f64 {
        self.load.visited * (self.up() + self.intermediate) * self.hidden * self.format.bytes().0
    }
}

/// Of a grouped product `n × k`.
struct Product {
    n: f64,
    k: f64,
}

impl Kernel for Moe {
    const PARAMETERS: &'static [Parameter] = &[
        parameter("launch_us", "launches of all kernels", 15.0, 1.0, 200.0),
        parameter(
            "bandwidth",
            "share of memory bandwidth reached",
            0.8,
            0.05,
            1.05,
        ),
        parameter(
            "share",
            "share of an SM's peak a large tile reaches",
            0.6,
            0.02,
            1.0,
        ),
        parameter(
            "edge",
            "rows and columns a tile is slower by",
            24.0,
            0.5,
            400.0,
        ),
        parameter(
            "prologue_us",
            "filling and emptying a tile's pipeline",
            0.3,
            0.01,
            20.0,
        ),
        parameter(
            "stream_gbs",
            "weights an SM can take in, GB/s: few tiles do not fill the memory's bandwidth",
            40.0,
            0.5,
            500.0,
        ),
        parameter(
            "cache",
            "bandwidth of weights that lie in L2, times memory's",
            2.0,
            1.0,
            6.0,
        ),
        parameter(
            "permute",
            "traffic of local copies, times their bytes",
            1.0,
            0.01,
            8.0,
        ),
        parameter(
            "rows",
            "traffic of all copies, times their bytes",
            0.3,
            0.01,
            8.0,
        ),
        parameter(
            "token",
            "traffic of tokens, times their bytes",
            1.0,
            0.01,
            20.0,
        ),
        parameter("expert_ns", "routing per expert", 5.0, 0.01, 200.0),
        parameter(
            "choice_ns",
            "routing per choice of a token",
            0.05,
            0.001,
            3.0,
        ),
        parameter(
            "host_us",
            "host's time of a call outside a CUDA graph",
            300.0,
            10.0,
            5000.0,
        ),
    ];
    const FEATURES: &'static [&'static str] = &[
        "tokens",
        "hidden",
        "intermediate",
        "local experts",
        "copies",
        "choices",
        "experts",
        "visited",
        "busiest",
        "copies per visited",
        "copies per token",
        "weights",
        "work",
        "expert per L2",
        "tokens per local",
        "mean copies",
        "skew",
        "fill_8",
        "fill_16",
        "tiles_16",
        "fill_32",
        "fill_64",
        "tiles_64",
        "fill_128",
        "tiles_mean",
        "fill_mean",
        "up tail_mean",
        "down tail_mean",
        "up tiles_128",
        "down tiles_128",
        "up tail_128",
        "down tail_128",
        "up tiles_64",
        "down columns",
        "intermediate mod 128",
        "intermediate alignment",
        "hidden mod 256",
    ];
    const SIZES: usize = 5;
    const ANSWERS: usize = 1000;
    const ROWS_PER_ANSWER: usize = 4;

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let &[
            launch,
            bandwidth,
            share,
            edge,
            prologue,
            feed,
            cache,
            permute,
            rows,
            token,
            expert,
            choice,
            host,
        ] = p
        else {
            return Parts::default();
        };
        let Self {
            load,
            hidden,
            intermediate,
            ..
        } = *self;
        let (weight, activation) = self.format.bytes();
        let rate = self.format.peak(hardware) / hardware.sms * share;
        // Weights that fill more than about half of L2 do not stay there.
        let resident = if self.resident {
            let full = self.weights() / (0.6 * hardware.l2);
            1.0 / (1.0 + full * full * full * full)
        } else {
            0.0
        };
        let reached = hardware.bandwidth * bandwidth * (1.0 + (cache - 1.0) * resident);
        let up = self.up();
        let (mut compute, mut memory, mut seconds) = (0.0, 0.0, 0.0);
        for Product { n, k } in [
            Product { n: up, k: hidden },
            Product {
                n: hidden,
                k: intermediate,
            },
        ] {
            let bytes = load.visited * n * k * weight + load.copies * (k * activation + 2.0 * n);
            let read = bytes / reached;
            let weights = load.visited * n * k * weight;
            let mut best = (f64::INFINITY, 0.0, 0.0);
            for (tiles, high) in load.tiles.iter().zip(TILE_ROWS).skip(1) {
                for wide in TILE_COLUMNS {
                    let waves = libm::ceil(tiles * libm::ceil(n / wide) / hardware.sms - 1e-9);
                    let own = waves.max(0.0)
                        * (2.0 * (high + edge) * (wide + edge) * k / rate + prologue * 1e-6);
                    // Each weight is taken in by one SM at least.
                    let streams = load.visited * (n / wide).max(1.0);
                    let fed = weights / (streams.min(hardware.sms).max(1.0) * feed * 1e9);
                    let (a, b, c) = (own * own, read * read, fed * fed);
                    let sum = a * a + b * b + c * c;
                    if sum < best.0 {
                        best = (sum, own, read.max(fed));
                    }
                }
            }
            compute += best.1;
            memory += best.2;
            seconds += libm::sqrt(libm::sqrt(best.0));
        }
        // Gathering, activation, quantising, summing.
        let copy = 2.0 * up + intermediate * (2.0 + activation) + hidden * (activation + 2.0);
        let every = 2.0 * up + intermediate * 2.0 + hidden * 2.0;
        let moved = (permute * load.copies * copy
            + load.tokens * (rows * load.choices * every + token * hidden * 4.0))
            / hardware.bandwidth;
        let routing = (expert * self.experts + choice * load.tokens * load.choices) * 1e-9;
        let launch = launch * 1e-6 + routing;
        let parts = Parts {
            compute,
            memory: memory + moved,
            link: 0.0,
            launch,
            seconds: seconds + moved + launch,
        };
        if self.eager {
            parts.beside_host(host * 1e-6)
        } else {
            parts
        }
    }

    fn features(&self, hardware: &Hardware, out: &mut Features) {
        let Self {
            load,
            hidden,
            intermediate,
            local,
            experts,
            ..
        } = *self;
        let up = self.up();
        for size in [
            load.tokens,
            hidden,
            intermediate,
            local,
            load.copies,
            load.choices,
            experts,
            load.visited,
            load.busiest,
        ] {
            out.log(size);
        }
        out.log(load.copies / load.visited.max(1e-3));
        out.log(load.copies / load.tokens.max(1e-3));
        out.log(self.weights() / 1e6);
        out.log(load.copies * hidden * intermediate / 1e6);
        out.log((up + intermediate) * hidden * self.format.bytes().0 / hardware.l2);
        out.log(load.tokens / local.max(1.0));
        out.log(load.tokens * load.choices / experts.max(1.0));
        out.push((load.busiest * load.visited / load.copies.max(1e-3)).min(32.0));
        for (index, rows) in TILE_ROWS.iter().enumerate().take(5) {
            out.push(load.copies / (load.tiles[index] * rows).max(1.0));
            if index == 1 || index == 3 {
                out.log(load.tiles[index]);
            }
        }
        // The tile that holds what an expert gets on average: several engines choose by it.
        let mean = load.tokens * load.choices / experts.max(1.0);
        let index = TILE_ROWS
            .iter()
            .take(5)
            .filter(|rows| mean > **rows)
            .count();
        let (tiles, rows) = (load.tiles[index], TILE_ROWS[index]);
        out.log(tiles);
        out.push(load.copies / (tiles * rows).max(1.0));
        for columns in [up, hidden] {
            let full = tiles * libm::ceil(columns / 128.0) / hardware.sms;
            out.push(full / libm::ceil(full).max(1.0));
        }
        for columns in [up, hidden] {
            out.log(load.tiles[4] * libm::ceil(columns / 128.0) / hardware.sms);
        }
        for columns in [up, hidden] {
            let full = load.tiles[4] * libm::ceil(columns / 128.0) / hardware.sms;
            out.push(full / libm::ceil(full).max(1.0));
        }
        out.log(load.tiles[3] * libm::ceil(up / 64.0) / hardware.sms);
        out.log(load.visited * libm::ceil(hidden / 128.0));
        out.push(intermediate % 128.0 / 8.0);
        // Powers of two in it: which vector loads and tiles fit.
        let fits = |power: &&f64| intermediate % **power == 0.0;
        let powers = [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];
        out.push(powers.iter().take_while(fits).count() as f64);
        out.push(hidden % 256.0 / 8.0);
    }

    fn key(&self) -> u64 {
        let numbers = [
            self.hidden,
            self.intermediate,
            self.load.choices,
            self.experts,
            self.local,
        ];
        hash(&numbers.map(f64::to_bits)) ^ u64::from(self.gated)
    }

    fn host(&self, parameters: &[f64]) -> f64 {
        let host = parameters.last().copied().unwrap_or(0.0);
        if self.eager { host * 1e-6 } else { 0.0 }
    }

    fn size(&self) -> f64 {
        self.load.tokens
    }
}
