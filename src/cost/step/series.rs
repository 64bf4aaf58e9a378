//! What steps cost that differ only in how far their contexts have grown: an arithmetic series.
//!
//! While the same requests decode, everything by tokens stays as it is, and attention moves along a
//! [`Line`](super::line::Line) with whole coefficients. So the price of step `k` is the first one and
//! `k` times a slope, in every part, until a line ends, the host is overtaken, or lanes that wait for
//! each other change places. Sums over steps are exact, and the same as if steps had been priced one
//! by one.

use super::kinds::{Along, Growth};
use super::line::Line;
use super::price::{Femtos, StepPrice};
use crate::cost::operator::Origin;

/// By how much the price grows from one step to the next. All of it is attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slope {
    /// Time of the device.
    pub total: i64,
    /// By [`Origin`] index.
    pub by_origin: [i64; Origin::COUNT],
    /// See [`StepPrice::off`].
    pub off: [i64; 2],
}

impl Slope {
    /// Adds a kind's; returns the steps more for which it is exact.
    pub(super) fn add(&mut self, line: &Line, along: &Along) -> u64 {
        let growth = line.time.growth(&along.more);
        self.total = self.total.saturating_add(growth);
        let sum = &mut self.by_origin[line.origin as usize];
        *sum = sum.saturating_add(growth);
        let mut steps = line.steps(along.value, along.rise);
        steps = steps.min(line.time.steps(&along.seen, &along.more));
        for (sum, off) in self.off.iter_mut().zip(&line.off) {
            *sum = sum.saturating_add(off.growth(&along.more));
            steps = steps.min(off.steps(&along.seen, &along.more));
        }
        steps
    }
}

/// Prices of consecutive steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Series {
    /// Of the first.
    pub first: StepPrice,
    /// More for each one after.
    pub slope: Slope,
    /// Steps after the first for which that is so.
    pub steps: u64,
    /// What the first takes ([`StepPrice::took`]), and how much more each one after.
    pub took: Femtos,
    /// See `took`.
    pub took_slope: i64,
}

impl Series {
    pub(super) fn new(
        first: StepPrice,
        slope: Slope,
        mut steps: u64,
        overlap: bool,
    ) -> Option<Self> {
        let took = first.took(overlap);
        // The device's share of it, and what it must come to before it counts.
        let [_, device, bound] = first.meets(overlap);
        let follows = device >= bound;
        let until_change = match (follows, slope.total) {
            (_, 0) | (true, 1..) | (false, ..0) => u64::MAX,
            (true, ..0) => (device - bound) / slope.total.unsigned_abs(),
            (false, 1..) => (bound - device) / slope.total.unsigned_abs(),
        };
        steps = steps.min(until_change);
        // Nothing saturates before the last step.
        let room = u64::MAX / 4;
        let largest = took.max(first.total);
        if largest > room || took == 0 {
            return None;
        }
        if slope.total > 0 {
            steps = steps.min((room - largest) / slope.total.unsigned_abs());
        }
        Some(Self {
            first,
            slope,
            steps,
            took,
            took_slope: if follows { slope.total } else { 0 },
        })
    }
}

/// A lane's price and slope, of several that wait for each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Racer {
    pub(super) total: Femtos,
    pub(super) slope: Slope,
}

/// Of lanes that wait for the slowest (the first of equals): which that is, and for how many steps
/// more.
pub(super) fn slowest(racers: &[Racer]) -> Option<(usize, u64)> {
    let mut best: Option<(usize, Racer)> = None;
    for (index, own) in racers.iter().enumerate() {
        if best.is_none_or(|(_, best)| own.total > best.total) {
            best = Some((index, *own));
        }
    }
    let (winner, best) = best?;
    let mut steps = u64::MAX;
    for (index, own) in racers.iter().enumerate() {
        let gains = own.slope.total.saturating_sub(best.slope.total);
        if gains > 0 {
            let lead = (best.total - own.total).saturating_sub(u64::from(index < winner));
            steps = steps.min(lead / gains.unsigned_abs());
        }
    }
    Some((winner, steps))
}

/// A lane and how it grows.
pub(super) type Grown<'a> = (super::shape::LaneShape<'a>, Growth<'a>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_stays_until_it_is_overtaken() {
        let racer = |total, slope| Racer {
            total,
            slope: Slope {
                total: slope,
                ..Slope::default()
            },
        };
        assert_eq!(slowest(&[]), None);
        assert_eq!(slowest(&[racer(5, 9), racer(5, 1)]), Some((0, u64::MAX)));
        // 10, 11, 12, … against 4, 7, 10, 13: equal after three steps, ahead after four.
        assert_eq!(slowest(&[racer(10, 1), racer(4, 3)]), Some((0, 3)));
        // Before it in the list, being equal is enough.
        assert_eq!(slowest(&[racer(4, 3), racer(10, 1)]), Some((1, 2)));
    }

    #[test]
    fn host_and_device_change_places_in_time() {
        let first = StepPrice {
            total: 1000,
            host: 1500,
            ..StepPrice::default()
        };
        let slope = Slope {
            total: 100,
            ..Slope::default()
        };
        let series = Series::new(first, slope, 1000, true).unwrap();
        // At 1,500 the device and the host take as long.
        assert_eq!((series.steps, series.took, series.took_slope), (5, 1500, 0));
        let series = Series::new(first, slope, 1000, false).unwrap();
        assert_eq!(
            (series.steps, series.took, series.took_slope),
            (1000, 2500, 100)
        );
    }
}
