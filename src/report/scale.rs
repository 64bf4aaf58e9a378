//! From a value to a place along an axis: the range shown and the mapping.

use super::figure::{Axis, Scale};
use super::ticks;

/// Beyond this a value is noise, and sums of two of them overflow.
const LARGEST: f64 = 1e300;
/// Below this a positive value is as good as zero on a log axis.
const SMALLEST: f64 = 1e-300;

/// The range an axis shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Domain {
    scale: Scale,
    low: f64,
    high: f64,
}

/// How a range taken from data is rounded out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    /// A little room at both ends (horizontal axes).
    Pad,
    /// Out to the next tick (vertical axes), given the number of ticks wanted.
    ToTick(usize),
}

impl Domain {
    /// Linear or logarithmic.
    pub(super) fn scale(&self) -> Scale {
        self.scale
    }

    /// Whether the scale can show `value` at all.
    pub(super) fn shows(scale: Scale, value: f64) -> bool {
        value.abs() <= LARGEST && (scale == Scale::Linear || value >= SMALLEST)
    }

    /// The range `axis` shows for `values`; `hints` (lines, bands) widen it where they are near the data. `None`
    /// where neither range nor values give one.
    pub(super) fn of(
        axis: &Axis,
        values: impl Iterator<Item = f64>,
        hints: impl Iterator<Item = f64>,
        rounding: Rounding,
    ) -> Option<Self> {
        let scale = axis.scale;
        if let Some([a, b]) = axis.range {
            let (low, high) = (a.min(b), a.max(b));
            if Self::shows(scale, low) && Self::shows(scale, high) && wide_enough(low, high) {
                return Some(Self { scale, low, high });
            }
        }
        let (low, high) = values.filter(|&v| Self::shows(scale, v)).fold(
            None,
            |ends: Option<(f64, f64)>, v| {
                ends.map_or(Some((v, v)), |(l, h)| Some((l.min(v), h.max(v))))
            },
        )?;
        let (mut low, mut high) = (low, high);
        for hint in hints.filter(|&v| Self::shows(scale, v)) {
            let near = match scale {
                Scale::Linear => hint.abs() <= 2.0 * low.abs().max(high.abs()),
                Scale::Log10 => hint <= high * 10.0 && hint >= low / 10.0,
            };
            if near {
                (low, high) = (low.min(hint), high.max(hint));
            }
        }
        Some(match scale {
            Scale::Linear => Self::linear(low, high, rounding),
            Scale::Log10 => Self::log(low, high),
        })
    }

    fn linear(low: f64, high: f64, rounding: Rounding) -> Self {
        let scale = Scale::Linear;
        let (mut low, mut high) = if wide_enough(low, high) {
            (low, high)
        } else {
            // One value: show it with as much room above as below, or from zero.
            let room = if low == 0.0 { 1.0 } else { low.abs() * 0.2 };
            (low - room, high + room)
        };
        // Data that reaches down to within a third of its height is read against zero.
        let (from_zero, to_zero) = (
            low >= 0.0 && low < 0.4 * high,
            high <= 0.0 && high > 0.4 * low,
        );
        match rounding {
            Rounding::Pad => {
                let room = (high - low) * 0.04;
                low = if from_zero { 0.0 } else { low - room };
                high = if to_zero { 0.0 } else { high + room };
            }
            Rounding::ToTick(count) => {
                low = if from_zero { 0.0 } else { low };
                high = if to_zero { 0.0 } else { high };
                let step = ticks::nice_step(high - low, count);
                // A point on the very edge would have half its marker outside; a tick far beyond it wastes paper.
                let (room, most) = ((high - low) * 0.05, (high - low) * 0.15);
                let out = |tick: f64, end: f64| {
                    let padded = end + room.copysign(tick - end);
                    if (tick - end).abs() <= most {
                        tick
                    } else {
                        padded
                    }
                };
                let (floor, ceiling) = (
                    libm::floor((low - room) / step) * step,
                    libm::ceil((high + room) / step) * step,
                );
                (low, high) = (
                    if from_zero { 0.0 } else { out(floor, low) },
                    if to_zero { 0.0 } else { out(ceiling, high) },
                );
            }
        }
        Self { scale, low, high }
    }

    fn log(low: f64, high: f64) -> Self {
        let decades = libm::log10(high) - libm::log10(low);
        let room = libm::pow(10.0, (decades * 0.05).max(0.05));
        Self {
            scale: Scale::Log10,
            low: (low / room).max(SMALLEST),
            high: (high * room).min(LARGEST),
        }
    }

    /// Where `value` is between the low end (0) and the high end (1); beyond them outside the range. `None` where
    /// the scale cannot show it.
    pub(super) fn fraction(&self, value: f64) -> Option<f64> {
        if !Self::shows(self.scale, value) {
            return None;
        }
        Some(match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log10 => {
                let (low, high) = (libm::log10(self.low), libm::log10(self.high));
                (libm::log10(value) - low) / (high - low)
            }
        })
    }

    /// As [`Self::fraction`], with anything beyond an end (infinities and what a log axis cannot show included) at
    /// that end.
    pub(super) fn clamped(&self, value: f64) -> f64 {
        match self.fraction(value) {
            Some(fraction) => fraction.clamp(0.0, 1.0),
            None if value > self.low => 1.0,
            None => 0.0,
        }
    }

    /// Labelled ticks: the densest set of about `count` or fewer that `fits`.
    pub(super) fn ticks(
        &self,
        count: usize,
        fits: impl Fn(&[ticks::Tick]) -> bool,
    ) -> Vec<ticks::Tick> {
        let sets = match self.scale {
            Scale::Linear => (1..=count.max(1))
                .rev()
                .map(|count| ticks::linear(self.low, self.high, count))
                .collect(),
            Scale::Log10 => ticks::log_candidates(self.low, self.high),
        };
        let mut sparsest = Vec::new();
        for set in sets {
            if set.len() <= count + 1 && fits(&set) {
                return set;
            }
            sparsest = set;
        }
        sparsest.truncate(1);
        sparsest
    }

    /// Unlabelled ticks.
    pub(super) fn minor(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => Vec::new(),
            Scale::Log10 => ticks::log_minor(self.low, self.high),
        }
    }
}

fn wide_enough(low: f64, high: f64) -> bool {
    high - low > low.abs().max(high.abs()) * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(axis: &Axis, values: &[f64], hints: &[f64]) -> Option<Domain> {
        Domain::of(
            axis,
            values.iter().copied(),
            hints.iter().copied(),
            Rounding::ToTick(5),
        )
    }

    #[test]
    fn latencies_are_read_against_zero_and_round_out_to_a_tick() {
        let axis = Axis::linear("TTFT", "ms");
        let domain = of(&axis, &[120.0, 880.0], &[]).expect("range");
        assert_eq!((domain.low, domain.high), (0.0, 1000.0));
        assert_eq!(domain.fraction(250.0), Some(0.25));
        let high = of(&axis, &[900.0, 1000.0], &[]).expect("range");
        assert!(
            high.low > 800.0,
            "a small change must stay visible: {high:?}"
        );
    }

    #[test]
    fn a_near_limit_widens_the_range_and_a_far_one_does_not() {
        let axis = Axis::linear("TTFT", "ms");
        assert!(of(&axis, &[100.0, 800.0], &[1500.0]).expect("range").high >= 1500.0);
        assert!(of(&axis, &[100.0, 800.0], &[20_000.0]).expect("range").high < 1500.0);
    }

    #[test]
    fn what_cannot_be_shown_is_left_out() {
        let log = Axis::log10("rate", "");
        let domain =
            of(&log, &[0.0, -3.0, f64::NAN, f64::INFINITY, 1.0, 100.0], &[]).expect("range");
        assert!(domain.low > 0.5 && domain.high < 200.0);
        assert_eq!(domain.fraction(0.0), None);
        assert_eq!(
            (domain.clamped(0.0), domain.clamped(f64::INFINITY)),
            (0.0, 1.0)
        );
        assert_eq!(of(&log, &[0.0, -1.0], &[]), None);
        assert_eq!(of(&Axis::linear("x", ""), &[f64::NAN], &[]), None);
    }

    #[test]
    fn a_single_value_lands_inside() {
        for value in [0.0, 5.0, -5.0, 1e-12, 1e300, -1e300] {
            let domain = of(&Axis::linear("x", ""), &[value], &[]).expect("range");
            let at = domain.fraction(value).expect("shown");
            assert!(at > 0.0 && at < 1.0, "{value} lands at {at}");
        }
    }

    #[test]
    fn impossible_ranges_fall_back_to_the_data() {
        for range in [[1.0, 1.0], [f64::NAN, 1.0], [0.0, f64::INFINITY]] {
            let axis = Axis {
                range: Some(range),
                ..Axis::linear("x", "")
            };
            assert_eq!(of(&axis, &[0.0, 9.0], &[]).map(|d| d.high), Some(10.0));
        }
        let log = Axis {
            range: Some([0.0, 10.0]),
            ..Axis::log10("x", "")
        };
        assert!(of(&log, &[1.0, 2.0], &[]).is_some_and(|d| d.low > 0.0));
        let swapped = Axis {
            range: Some([10.0, 0.0]),
            ..Axis::linear("x", "")
        };
        assert_eq!(
            of(&swapped, &[3.0], &[]).map(|d| (d.low, d.high)),
            Some((0.0, 10.0))
        );
    }
}
