//! Sums over time in bounded memory: bins of one width, which doubles when they are full.
//!
//! A bin is a power of two of nanoseconds wide and its sums are integers, so that folding two into
//! one is exact: a series says the same as if it had been made with its last width from the start.

use crate::sim::queue::Nanos;

/// `K` sums in each bin; bin `i` covers `[i, i + 1)` widths.
#[derive(Debug, Clone)]
pub(super) struct Series<const K: usize> {
    bins: Vec<[u64; K]>,
    /// Logarithm of the width in nanoseconds.
    shift: u32,
    /// A power of two.
    most: usize,
}

impl<const K: usize> Series<K> {
    /// Empty, with so many bins at most (a power of two).
    pub(super) const fn new(most: usize) -> Self {
        Self {
            bins: Vec::new(),
            shift: 0,
            most,
        }
    }

    /// Its bins, and the logarithm of their width.
    #[cfg(test)]
    pub(super) fn bins(&self) -> (&[[u64; K]], u32) {
        (&self.bins, self.shift)
    }

    /// Adds to one sum over `[from, to)`; `part` says how much of it falls from `from` to so much
    /// later. What it says at the whole span is added, none of it lost to rounding.
    pub(super) fn add_over(
        &mut self,
        sum: usize,
        from: Nanos,
        to: Nanos,
        part: impl Fn(Nanos) -> u64,
    ) {
        if to <= from {
            return;
        }
        self.reach(to - 1);
        let mut before = 0;
        let (first, last) = (from >> self.shift, (to - 1) >> self.shift);
        for bin in first..=last {
            let end = if bin == last {
                to
            } else {
                (bin + 1) << self.shift
            };
            let until = part(end - from);
            let own = &mut self.bins[bin as usize][sum];
            *own = own.saturating_add(until - before);
            before = until;
        }
    }

    /// The same for all sums, each so much a nanosecond.
    pub(super) fn add_rates(&mut self, from: Nanos, to: Nanos, rates: &[u64; K]) {
        if to <= from || rates.iter().all(|rate| *rate == 0) {
            return;
        }
        self.reach(to - 1);
        let (first, last) = (from >> self.shift, (to - 1) >> self.shift);
        let mut at = from;
        for bin in first..=last {
            let end = if bin == last {
                to
            } else {
                (bin + 1) << self.shift
            };
            for (own, rate) in self.bins[bin as usize].iter_mut().zip(rates) {
                *own = own.saturating_add(rate.saturating_mul(end - at));
            }
            at = end;
        }
    }

    /// Adds what became true at an instant: it belongs to the time before.
    pub(super) fn add_at(&mut self, sum: usize, at: Nanos, amount: u64) {
        let at = at.saturating_sub(1);
        self.reach(at);
        let own = &mut self.bins[(at >> self.shift) as usize][sum];
        *own = own.saturating_add(amount);
    }

    /// Makes room for an instant.
    fn reach(&mut self, at: Nanos) {
        while at >> self.shift >= self.most as u64 {
            self.double();
        }
        let bin = (at >> self.shift) as usize;
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, [0; K]);
        }
    }

    fn double(&mut self) {
        self.shift += 1;
        let pairs = self.bins.len().div_ceil(2);
        for bin in 0..pairs {
            let mut folded = self.bins[2 * bin];
            if let Some(second) = self.bins.get(2 * bin + 1) {
                for (own, other) in folded.iter_mut().zip(second) {
                    *own = own.saturating_add(*other);
                }
            }
            self.bins[bin] = folded;
        }
        self.bins.truncate(pairs);
    }

    /// Halves how many bins it may have.
    pub(super) fn halve(&mut self) {
        self.most /= 2;
        while self.bins.len() > self.most {
            self.double();
        }
    }

    /// All bins of a run that ended at `end`, as many in every series that may have as many.
    pub(super) fn finished(mut self, end: Nanos) -> (Vec<[u64; K]>, u32) {
        self.reach(end.saturating_sub(1));
        (self.bins, self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_full_series_folds_pairs() {
        let mut series = Series::<1>::new(4);
        for at in 1..=4 {
            series.add_at(0, at, at);
        }
        assert_eq!(series.bins(), (&[[1], [2], [3], [4]][..], 0));
        // The instant 5 belongs to [4, 5): a fifth bin, so widths become 2.
        series.add_at(0, 5, 5);
        assert_eq!(series.bins(), (&[[3], [7], [5]][..], 1));
        series.add_rates(6, 8, &[10]);
        assert_eq!(series.bins(), (&[[3], [7], [5], [20]][..], 1));
    }

    #[test]
    fn a_span_is_shared_out_by_time() {
        let mut series = Series::<2>::new(4);
        series.add_at(1, 16, 0);
        assert_eq!(series.bins().1, 2);
        // From 3 to 9: 1 of the first bin's nanoseconds, 4 of the second's, 1 of the third's.
        series.add_rates(3, 9, &[7, 0]);
        assert_eq!(series.bins().0, &[[7, 0], [28, 0], [7, 0], [0, 0]]);
        // Eleven bytes over six nanoseconds: 1, then up to 9, then up to 11.
        series.add_over(1, 3, 9, |span| 11 * span / 6);
        assert_eq!(series.bins().0, &[[7, 1], [28, 8], [7, 2], [0, 0]]);
    }

    /// What a series with a width given from the start would hold.
    fn plain(shift: u32, spans: &[(u64, u64, u64)]) -> Vec<u64> {
        let mut bins = vec![0; 64];
        for (from, length, rate) in spans {
            for at in *from..from + length {
                bins[(at >> shift) as usize] += rate;
            }
        }
        bins
    }

    proptest! {
        #[test]
        fn folding_says_the_same_as_the_last_width_from_the_start(
            spans in proptest::collection::vec((0_u64..3000, 1_u64..200, 0_u64..9), 1..40),
            halve_after in 0_usize..40,
        ) {
            let mut series = Series::<1>::new(64);
            for (index, (from, length, rate)) in spans.iter().enumerate() {
                if index == halve_after {
                    series.halve();
                }
                series.add_rates(*from, from + length, &[*rate]);
            }
            let end = spans.iter().map(|(from, length, _)| from + length).max().unwrap();
            let (bins, shift) = series.finished(end);
            let most = if halve_after < spans.len() { 32 } else { 64 };
            prop_assert!(bins.len() <= most);
            prop_assert!(shift == 0 || bins.len() > most / 2, "{} bins", bins.len());
            let plain = plain(shift, &spans);
            let same: Vec<u64> = bins.iter().map(|bin| bin[0]).collect();
            prop_assert_eq!(&plain[..same.len()], &same[..]);
        }
    }
}
