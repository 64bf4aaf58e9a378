//! The physics matrix products share.
//!
//! A product is cut into tiles that run in waves over the SMs; a library picks, per shape, a tile
//! size and into how many slices it cuts the inner size. The cheapest of the configurations counts:
//!
//! `softmax(waves · (arithmetic of a tile / (share of an SM's peak) + prologue) + summing, bytes /
//! bandwidth, waves · a tile's operands / load rate of an SM)`.
//!
//! What one SM can load does not grow with the memory's bandwidth but with the SM, so it is a rate
//! in GB/s: few tiles on many SMs are bound by it, and with it H100's parameters price H200 within
//! 5 % where a share of bandwidth errs 12 %.

use super::kernel::{Parts, soft_max};

/// Slices of the inner size.
const SLICES: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
/// Step of the inner loop: a tile multiplies whole steps.
const INNER: f64 = 64.0;

/// `batch` products `m × k` by `k × n`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Product {
    pub(super) batch: f64,
    pub(super) m: f64,
    pub(super) n: f64,
    pub(super) k: f64,
    /// Bytes of a weight.
    pub(super) weight: f64,
    /// Bytes of an activation.
    pub(super) activation: f64,
}

/// Rates of the GPU and of the kernel on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rates {
    /// FLOP/s of all SMs.
    pub(super) peak: f64,
    /// Bytes per second reached.
    pub(super) bandwidth: f64,
    /// Bytes per second an SM loads.
    pub(super) load: f64,
    /// Seconds of a wave's beginning and end.
    pub(super) prologue: f64,
    /// Traffic of summing slices, times its bytes.
    pub(super) reduce: f64,
}

impl Product {
    /// Parts of the cheapest configuration, without a launch. `missed` are the shares of weights and
    /// of activations that memory is asked for and not L2; `shares` of an SM's peak are the tiles'.
    pub(super) fn cheapest(
        &self,
        sms: f64,
        rates: Rates,
        missed: (f64, f64),
        tiles: &[(f64, f64)],
        shares: &[f64],
    ) -> Parts {
        let Self {
            batch,
            m,
            n,
            k,
            weight,
            activation,
        } = *self;
        let bytes = batch * (n * k * weight * missed.0 + m * (k * activation + 2.0 * n) * missed.1);
        let memory = bytes / rates.bandwidth;
        let peak = rates.peak / sms;
        let mut best = Parts {
            seconds: f64::INFINITY,
            ..Parts::default()
        };
        for (&(rows, columns), &share) in tiles.iter().zip(shares) {
            let whole = batch * libm::ceil(m / rows) * libm::ceil(n / columns);
            let operands = m.min(rows) * activation + n.min(columns) * weight;
            for slices in SLICES {
                let ctas = whole * slices;
                let waves = libm::ceil(ctas / sms);
                let depth = libm::ceil(k / (slices * INNER)) * INNER;
                let arithmetic = 2.0 * rows * columns * depth / (peak * share);
                let summing = (slices - 1.0) * batch * m * n * 8.0 * rates.reduce / rates.bandwidth;
                let compute = waves * (arithmetic + rates.prologue) + summing;
                let memory = soft_max(memory, waves * operands * depth / rates.load);
                let seconds = soft_max(compute, memory);
                if seconds < best.seconds {
                    best = Parts {
                        compute,
                        memory,
                        link: 0.0,
                        launch: 0.0,
                        seconds,
                    };
                }
                // Slices are for SMs that have no tile.
                if ctas >= 4.0 * sms {
                    break;
                }
            }
        }
        best
    }
}

/// Share of whole tiles a size fills.
pub(super) fn fill(size: f64, tile: f64) -> f64 {
    size / (libm::ceil(size / tile) * tile)
}

/// How often two divides a size, at most ten times.
pub(super) fn power_of_two(size: f64) -> f64 {
    let mut size = size;
    let mut times = 0.0;
    while times < 10.0 && size >= 2.0 && size % 2.0 == 0.0 {
        size /= 2.0;
        times += 1.0;
    }
    times
}
