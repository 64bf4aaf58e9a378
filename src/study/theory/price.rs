//! Dollars per million decoded tokens.

use super::{DecodeWork, Hardware, Terms};
use crate::units::real;
use crate::units::{Dollars, DollarsPerHour, Seconds};

/// Tokens a price is of.
const MILLION: f64 = 1e6;
const HOUR: f64 = 3600.0;

/// What a million decoded tokens cost on one GPU type, part by part.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DecodeCost {
    /// Attention's core by its FLOPs.
    pub core: Dollars,
    /// The same by its cache bytes; the larger of the two is paid.
    pub memory: Dollars,
    /// Attention's projections.
    pub linears: Dollars,
    /// Feed-forward parts.
    pub ffn: Dollars,
}

impl DecodeCost {
    /// The cache decides attention's core, not the FLOPs.
    #[must_use]
    pub fn memory_bound(&self) -> bool {
        self.memory > self.core
    }

    /// Attention: `max(core, memory) + linears`.
    #[must_use]
    pub fn attention(&self) -> Dollars {
        let core = if self.memory_bound() {
            self.memory
        } else {
            self.core
        };
        core + self.linears
    }

    /// Both halves on this GPU.
    #[must_use]
    pub fn total(&self) -> Dollars {
        self.attention() + self.ffn
    }
}

/// Prices a token's work.
#[must_use]
pub fn decode_cost(work: &DecodeWork, hardware: &Hardware, terms: Terms) -> DecodeCost {
    let per_second = hardware.price.get() / HOUR;
    let pay = |amount: u64, rate: f64| Dollars::new(real(amount) * MILLION * per_second / rate);
    let (core, gemm) = (
        hardware.core_peak(terms).get(),
        hardware.gemm_peak(terms).get(),
    );
    DecodeCost {
        core: pay(work.core_flops, core),
        memory: pay(work.kv_bytes, hardware.bandwidth.get()),
        linears: pay(work.linear_flops, gemm),
        ffn: pay(work.ffn_flops, gemm),
    }
}

/// Seconds a GPU spends on one token's attention, and on its FFN: their costs at a price of one
/// dollar a second.
pub(super) fn decode_time(work: &DecodeWork, hardware: &Hardware, terms: Terms) -> [Seconds; 2] {
    let at_a_dollar = Hardware {
        price: DollarsPerHour::new(HOUR),
        ..hardware.clone()
    };
    let cost = decode_cost(work, &at_a_dollar, terms);
    [cost.attention(), cost.ffn].map(|dollars| Seconds::new(dollars.get() / MILLION))
}
