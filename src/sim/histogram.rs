//! A weighted histogram of latencies with logarithmic buckets, in constant memory.
//!
//! A bucket is a power of two cut in 128, so a percentile is within 0.4 % of the exact one. Bucket
//! numbers come from the bits of the integer, no logarithm is taken.

use super::summary::Stats;

/// Buckets per power of two.
const CUTS: u32 = 128;
const CUT_BITS: u32 = CUTS.trailing_zeros();

/// Weighted samples of nanoseconds.
#[derive(Debug, Clone, Default)]
pub(super) struct Histogram {
    weights: Vec<u64>,
    count: u64,
    sum: u128,
}

/// Which bucket a sample falls into.
pub(super) const fn bucket(ns: u64) -> usize {
    if ns < CUTS as u64 {
        return ns as usize;
    }
    let shift = 63 - ns.leading_zeros() - CUT_BITS;
    ((shift + 1) * CUTS) as usize + ((ns >> shift) as u32 - CUTS) as usize
}

/// Middle of a bucket, nanoseconds.
fn middle(bucket: usize) -> f64 {
    let bucket = u32::try_from(bucket).unwrap_or(u32::MAX);
    if bucket < CUTS {
        return f64::from(bucket);
    }
    let shift = bucket / CUTS - 1;
    #[expect(clippy::cast_precision_loss, reason = "a power of two")]
    let width = (1u64 << shift) as f64;
    (f64::from(bucket % CUTS + CUTS) + 0.5) * width
}

impl Histogram {
    /// Adds `weight` samples of `ns`.
    pub(super) fn add(&mut self, ns: u64, weight: u64) {
        if weight == 0 {
            return;
        }
        self.add_to(bucket(ns), weight);
        self.add_sum(u128::from(ns) * u128::from(weight));
    }

    /// Adds `weight` samples to a bucket; their sum is added apart.
    pub(super) fn add_to(&mut self, index: usize, weight: u64) {
        if self.weights.len() <= index {
            self.weights.resize(index + 1, 0);
        }
        self.weights[index] += weight;
        self.count += weight;
    }

    /// Adds to the sum of samples that were counted by [`Self::add_to`].
    pub(super) const fn add_sum(&mut self, ns: u128) {
        self.sum += ns;
    }

    /// Mean and percentiles, seconds.
    #[expect(clippy::cast_precision_loss, reason = "a mean of sums below 2^90")]
    pub(super) fn stats(&self) -> Stats {
        if self.count == 0 {
            return Stats::default();
        }
        let at = |percent: u64| {
            let rank = (self.count * percent).div_ceil(100).max(1);
            let mut seen = 0;
            for (index, weight) in self.weights.iter().enumerate() {
                seen += weight;
                if seen >= rank {
                    return middle(index) * 1e-9;
                }
            }
            0.0
        };
        Stats {
            count: self.count,
            mean: self.sum as f64 / self.count as f64 * 1e-9,
            p50: at(50),
            p90: at(90),
            p95: at(95),
            p99: at(99),
        }
    }
}

/// Mean and percentiles of exact samples, seconds. Percentiles by nearest rank.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts and sums stay far below 2^53"
)]
pub(super) fn exact_stats(mut samples: Vec<f64>) -> Stats {
    if samples.is_empty() {
        return Stats::default();
    }
    samples.sort_unstable_by(f64::total_cmp);
    let n = samples.len();
    let at = |percent: usize| samples[(n * percent).div_ceil(100).clamp(1, n) - 1];
    Stats {
        count: n as u64,
        mean: samples.iter().sum::<f64>() / n as f64,
        p50: at(50),
        p90: at(90),
        p95: at(95),
        p99: at(99),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_are_in_order_and_narrow() {
        assert!((1..5000).all(|ns| bucket(ns) >= bucket(ns - 1)));
        for ns in (0..5000).chain((0..50).map(|i| 1u64 << i)) {
            let b = bucket(ns);
            #[expect(clippy::cast_precision_loss, reason = "test")]
            let exact = ns as f64;
            assert!(
                (middle(b) - exact).abs() <= exact.mul_add(0.004, 0.5),
                "{ns}"
            );
        }
    }

    proptest! {
        #[test]
        fn percentiles_are_near_the_exact(values in proptest::collection::vec(1u64..1_000_000_000, 1..300)) {
            let mut histogram = Histogram::default();
            for ns in &values {
                histogram.add(*ns, 1);
            }
            #[expect(clippy::cast_precision_loss, reason = "test")]
            let exact = exact_stats(values.iter().map(|ns| *ns as f64 * 1e-9).collect());
            let rough = histogram.stats();
            prop_assert!((rough.p95 - exact.p95).abs() <= exact.p95 * 0.005 + 1e-9);
            prop_assert!((rough.mean - exact.mean).abs() <= exact.mean * 1e-9);
        }
    }
}
