//! What decode kernels of all attentions have in common: work items over keys and values, split
//! where there are too few of them for the GPU's SMs.
//!
//! One item is a sequence and a KV head (or a query head, where heads are not packed). It walks its
//! tokens in tiles. Three things bound it:
//!
//! - **memory**: bytes of keys and values at a share of the bandwidth, or of the L2's where the same
//!   keys were read just before and still lie there;
//! - **SMs**: all items' starts and tiles over all SMs;
//! - **one item's chain** of tiles, which no other SM shortens. Engines cut it into splits as long as
//!   SMs are free, and each split keeps some tokens, and combine the parts.
//!
//! They overlap as a power sum. Splitting is left out where the combining costs more than it gains.
//! Every term falls with SMs, bandwidth and L2 and rises with sequences, tokens and heads.

use super::super::hardware::Hardware;

/// Tokens of a tile.
pub(super) const TILE: f64 = 128.0;

/// How a kernel's items run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Items {
    /// How many.
    pub(super) count: f64,
    /// Tokens each walks.
    pub(super) tokens: f64,
    /// Tiles each walks over what its tokens need: a window's ragged edge.
    pub(super) edge: f64,
    /// Seconds of an SM for starting and ending one.
    pub(super) start: f64,
    /// Seconds of an SM for a tile.
    pub(super) tile: f64,
    /// Seconds of a tile in the chain of one item.
    pub(super) chain: f64,
    /// Fewest tokens of a split, not below a tile's.
    pub(super) split: f64,
    /// Most splits.
    pub(super) splits: f64,
    /// Items an SM holds at once.
    pub(super) resident: f64,
    /// Seconds of combining splits.
    pub(super) combine: f64,
    /// Exponent of the power sum.
    pub(super) overlap: f64,
}

impl Items {
    /// Seconds on the SMs alone, and in all with the memory's seconds.
    pub(super) fn seconds(&self, hardware: &Hardware, memory: f64) -> (f64, f64) {
        let tiles = (self.tokens / TILE).max(1.0);
        let spread = self.count / hardware.sms * (self.start + (tiles + self.edge) * self.tile);
        let chain = |splits: f64| (tiles / splits + self.edge) * self.chain;
        let all = |chain: f64| power_sum([memory, spread, chain], self.overlap);
        let whole = all(chain(1.0));
        let most = (self.tokens / self.split).min(self.splits).max(1.0);
        let splits = (hardware.sms * self.resident / self.count.max(1e-9)).clamp(1.0, most);
        let cut = all(chain(splits)) + self.combine;
        (
            spread,
            if splits > 1.0 && cut < whole {
                cut
            } else {
                whole
            },
        )
    }
}

/// `(a^p + b^p + c^p)^(1/p)`.
pub(super) fn power_sum(terms: [f64; 3], exponent: f64) -> f64 {
    let largest = terms.iter().fold(0.0_f64, |most, own| most.max(*own));
    if largest <= 0.0 {
        return 0.0;
    }
    let sum: f64 = terms
        .iter()
        .map(|own| libm::pow(own / largest, exponent))
        .sum();
    largest * libm::pow(sum, 1.0 / exponent)
}

/// The share of bytes that a repeated reading finds in L2, where `usable` of it holds them: nearly
/// all that fit, nearly none of what is half as large again.
pub(super) fn found_in_l2(bytes: f64, hardware: &Hardware, usable: f64) -> f64 {
    let over = bytes / (hardware.l2 * usable).max(1.0);
    let square = over * over;
    1.0 / (1.0 + square * square * square)
}
