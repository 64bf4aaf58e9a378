//! What attention of a step costs, remembered: prices at knots, between them straight lines.
//!
//! Decode attention of a batch is a curve over the entries its sequences see; prefill attention of
//! a chunk a grid over its tokens and its context, kept as the ratio to the roofline, which is cheap
//! and has the curvature. Knots lie at 1 and 1½ times powers of two and are priced when first
//! asked, so that a run pays for the few it sees.

use super::line::{Line, SHARES};
use crate::cost::operator::{Band, OpCost, Origin};

/// Time with where it comes from and how far it may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Priced {
    pub(super) seconds: f64,
    pub(super) origin: Origin,
    pub(super) band: Band,
}

impl Priced {
    pub(super) const NOTHING: Self = Self {
        seconds: 0.0,
        origin: Origin::Given,
        band: Band {
            below: 0.0,
            above: 0.0,
        },
    };

    /// Of one operator.
    pub(super) const fn of(cost: &OpCost) -> Self {
        Self {
            seconds: cost.seconds,
            origin: cost.origin,
            band: cost.band,
        }
    }

    pub(super) const fn times(self, count: f64) -> Self {
        Self {
            seconds: self.seconds * count,
            ..self
        }
    }
}

/// Knots: 0, then 1, 1½, 2, 3, 4, 6, … up to 2³⁰.
const KNOTS: usize = 62;

/// The knot at or below a value.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "1 … 2³⁰"
)]
fn knot_below(value: f64) -> usize {
    if value < 1.0 {
        return 0;
    }
    let whole = value.min(1_073_741_823.0) as u32;
    let octave = 31 - whole.leading_zeros();
    let half = if octave == 0 {
        u32::from(value >= 1.5)
    } else {
        whole >> (octave - 1) & 1
    };
    1 + (2 * octave + half) as usize
}

/// The value of a knot.
fn knot(index: usize) -> f64 {
    if index == 0 {
        return 0.0;
    }
    let octave = (index - 1) / 2;
    let octave = f64::from(1_u32 << octave.min(30));
    if (index - 1).is_multiple_of(2) {
        octave
    } else {
        1.5 * octave
    }
}

/// Where a value lies: the knot below, and how far to the next.
fn between(value: f64) -> (usize, f64) {
    let below = knot_below(value).min(KNOTS - 2);
    let (from, to) = (knot(below), knot(below + 1));
    (below, (value - from) / (to - from))
}

/// Half a gap between two knots: a straight line, with origin and band of the nearer knot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    /// The knot at or below it, and the price there.
    pub(super) knot: f64,
    seconds: f64,
    /// Seconds per unit of the value.
    pub(super) slope: f64,
    pub(super) near: Priced,
    /// From and up to which value.
    pub(super) begin: f64,
    pub(super) until: f64,
}

impl Stretch {
    /// The price at a value of it.
    pub(super) fn at(&self, value: f64) -> Priced {
        Priced {
            seconds: (self.seconds + self.slope * (value - self.knot)).max(0.0),
            ..self.near
        }
    }
}

/// Prices over the average entries of a batch.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    knots: Box<[Option<Priced>; KNOTS]>,
    /// The line last asked for.
    line: Option<Line>,
}

impl Curve {
    pub(super) fn new() -> Self {
        Self {
            knots: Box::new([None; KNOTS]),
            line: None,
        }
    }

    /// Where a value lies; beyond the last knot the last line goes on.
    fn stretch(&mut self, value: f64, mut price: impl FnMut(f64) -> Priced) -> Stretch {
        let below = knot_below(value).min(KNOTS - 2);
        let (low, high) = (knot(below), knot(below + 1));
        let mut at = |index: usize| *self.knots[index].get_or_insert_with(|| price(knot(index)));
        let (from, to) = (at(below), at(below + 1));
        let middle = 0.5 * (low + high);
        let is_first = value < middle;
        Stretch {
            knot: low,
            seconds: from.seconds,
            slope: (to.seconds - from.seconds) / (high - low),
            near: if is_first { from } else { to },
            begin: if is_first { low } else { middle },
            until: match (is_first, below == KNOTS - 2) {
                (true, _) => middle,
                (false, true) => f64::INFINITY,
                (false, false) => high,
            },
        }
    }

    /// The price at a value, in whole numbers: see [`Line::of`].
    pub(super) fn line(
        &mut self,
        value: f64,
        layers: f64,
        per: [f64; SHARES],
        price: impl FnMut(f64) -> Priced,
    ) -> &Line {
        let line = match self.line {
            Some(line) if line.holds(value) => line,
            _ => Line::of(&self.stretch(value, price), layers, per),
        };
        self.line.insert(line)
    }

    /// The price at a value.
    pub(super) fn at(&mut self, value: f64, price: impl FnMut(f64) -> Priced) -> Priced {
        self.stretch(value, price).at(value)
    }
}

/// Ratios over tokens and context of a chunk.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    cells: Vec<Option<[Priced; 2]>>,
}

impl Grid {
    pub(super) const fn new() -> Self {
        Self { cells: Vec::new() }
    }

    /// The ratios of two classes of kernels at a chunk, as factors in `seconds`.
    pub(super) fn at(
        &mut self,
        tokens: f64,
        context: f64,
        mut ratio: impl FnMut(f64, f64) -> [Priced; 2],
    ) -> [Priced; 2] {
        if self.cells.is_empty() {
            self.cells = vec![None; KNOTS * KNOTS];
        }
        let ((t, x), (c, y)) = (between(tokens.max(1.0)), between(context));
        // Beyond the last knot the ratio stays.
        let (x, y) = (x.min(1.0), y.min(1.0));
        let mut at = |t: usize, c: usize| {
            *self.cells[t * KNOTS + c].get_or_insert_with(|| ratio(knot(t), knot(c)))
        };
        let corners = [at(t, c), at(t + 1, c), at(t, c + 1), at(t + 1, c + 1)];
        let weights = [(1.0 - x) * (1.0 - y), x * (1.0 - y), (1.0 - x) * y, x * y];
        std::array::from_fn(|class| Priced {
            seconds: corners
                .iter()
                .zip(weights)
                .map(|(own, weight)| own[class].seconds * weight)
                .sum(),
            ..corners[if x < 0.5 { 0 } else { 1 }][class]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_between_its_knots() {
        for index in 1..KNOTS - 1 {
            assert_eq!(knot_below(knot(index)), index);
            assert!(knot(index) < knot(index + 1));
            let middle = 0.5 * (knot(index) + knot(index + 1));
            let (below, share) = between(middle);
            assert_eq!(below, index);
            assert!((share - 0.5).abs() < 1e-9);
        }
        assert_eq!(between(0.5), (0, 0.5));
    }

    #[test]
    fn a_straight_line_is_kept_exactly() {
        let mut curve = Curve::new();
        for value in [0.0, 0.3, 1.0, 7.7, 100.0, 123_456.0, 2e9] {
            let priced = curve.at(value, |x| Priced {
                seconds: 2.0 + 3.0 * x,
                ..Priced::NOTHING
            });
            assert!(
                (priced.seconds / (2.0 + 3.0 * value) - 1.0).abs() < 1e-12,
                "{value}"
            );
        }
    }
}
