//! Tokens on their way to the ranks that hold their experts, and results back, by kernels that know
//! which ranks want which token (DeepEP, TensorRT-LLM's exchange over NVLink).
//!
//! A calibration prices one where there is one. Else α–β over the drawn links: a token goes once to
//! every rank of the domain that wants it and once to every other domain, or, in low latency, once to
//! every expert; links inside a domain and NICs work at the same time.

use super::calibrated::{Way, distinct};
use super::collective::{BASE, CommGroup, LINK_EFFICIENCY, cost};
use super::operator::{OpCost, Prices};

/// Whose kernel moves the tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RoutedBy {
    /// DeepEP.
    Deepep {
        /// Its low-latency mode, which sends a copy to every expert.
        low_latency: bool,
    },
    /// TensorRT-LLM's over NVLink, which FlashInfer has too.
    Nvlink {
        /// Later than the one both sides take part in.
        one_sided: bool,
    },
    /// A kernel nobody measured, that sends a copy to every expert.
    Direct,
}

/// One way of an exchange.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Routed {
    /// Whose kernel.
    pub by: RoutedBy,
    /// Which way.
    pub way: Way,
    /// Tokens of each rank.
    pub tokens: f64,
    /// Values of a token.
    pub hidden: f64,
    /// Bytes of a value as sent, scales included; 0: only a token's destinations are.
    pub value_bytes: f64,
    /// Experts of a token.
    pub topk: f64,
    /// Experts in all.
    pub experts: f64,
    /// Ranks in all.
    pub ranks: u32,
    /// Scale-up domains they are in.
    pub domains: u32,
    /// Bytes per second of a rank inside its domain, as drawn.
    pub rate: f64,
    /// Bytes per second of a rank's path out of it, as drawn.
    pub nic: f64,
}

impl Routed {
    /// Bytes a rank sends inside its domain and out of it.
    fn bytes(&self) -> (f64, f64) {
        let bytes = self.tokens * self.hidden * self.value_bytes;
        let (ranks, domains) = (f64::from(self.ranks), f64::from(self.domains));
        let elsewhere = 1.0 - 1.0 / domains;
        match self.by {
            RoutedBy::Deepep { low_latency: true } | RoutedBy::Direct => (
                bytes * self.topk * (ranks / domains - 1.0) / ranks,
                bytes * self.topk * elsewhere,
            ),
            RoutedBy::Deepep { low_latency: false } | RoutedBy::Nvlink { .. } => (
                bytes * distinct(self.topk, self.experts, ranks) * (1.0 - 1.0 / ranks),
                bytes * distinct(self.topk, self.experts, domains) * elsewhere,
            ),
        }
    }
}

/// The time of one way among the ranks of a group.
#[must_use]
pub fn routed(group: &CommGroup, asked: &Routed, prices: &dyn Prices) -> OpCost {
    if group.ranks < 2 {
        return cost(0.0, 0.0);
    }
    prices.routed(asked).unwrap_or_else(|| {
        let (inside, across) = asked.bytes();
        let inside = inside / (group.intra_rate * LINK_EFFICIENCY);
        let across = across / (group.inter_rate * LINK_EFFICIENCY);
        let steps = group.intra_step + group.inter_step;
        cost(inside.max(across) + steps, BASE)
    })
}
