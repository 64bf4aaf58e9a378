//! Counts as real numbers, for products and ratios.

/// A count as a real number. Exact below 2^53, which counts of models, tokens and bytes stay below;
/// beyond it to the sixteen digits an f64 has.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "see above")]
pub const fn real(count: u64) -> f64 {
    count as f64
}
