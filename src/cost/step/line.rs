//! Decode attention in whole numbers.
//!
//! Between two knots of its [`Curve`](super::curve::Curve) the price is a straight line over what the
//! sequences see. Here it is one with whole coefficients: so many femtoseconds, and so many for each
//! entry more. A price is then the same whichever way it is come to, and steps whose contexts grow by
//! the same amount each cost an arithmetic series, whose sum is exact ([`Series`](super::Series)).
//! Rounding the slope down takes at most a femtosecond for each entry between two knots off.

use super::curve::{Priced, Stretch};
use super::price::{Femtos, signed};
use crate::cost::operator::Origin;

/// Sorts of entries a layer attends to: a window and what is compressed, at most.
pub(super) const SHARES: usize = 2;

/// What the sequences of a lane see, by share.
pub(super) type Seen = [u64; SHARES];

/// A whole number of femtoseconds, and one for each entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Affine {
    base: i64,
    each: [i64; SHARES],
}

fn whole(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

impl Affine {
    /// As it is, below nothing too.
    fn raw(&self, seen: &Seen) -> i64 {
        self.base.saturating_add(self.growth(seen))
    }

    /// Femtoseconds at so many entries.
    pub(super) fn at(&self, seen: &Seen) -> Femtos {
        u64::try_from(self.raw(seen)).unwrap_or(0)
    }

    /// What so many entries more add.
    pub(super) fn growth(&self, more: &Seen) -> i64 {
        let [first, second] = [0, 1].map(|i| self.each[i].saturating_mul(whole(more[i])));
        first.saturating_add(second)
    }

    /// Times more of `more` before it falls below nothing or leaves the range.
    pub(super) fn steps(&self, seen: &Seen, more: &Seen) -> u64 {
        let (now, growth) = (self.raw(seen), self.growth(more));
        let room = match growth {
            0 => return if now < 0 { 0 } else { u64::MAX },
            1.. => (i64::MAX / 4).saturating_sub(now),
            _ => now,
        };
        u64::try_from(room).unwrap_or(0) / growth.unsigned_abs()
    }
}

/// The price of a kind of layer's attention between two values of its curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Line {
    pub(super) time: Affine,
    /// How much less, and how much more, it may be.
    pub(super) off: [Affine; 2],
    pub(super) origin: Origin,
    /// Entries per sequence from and up to which it holds.
    begin: f64,
    until: f64,
}

impl Line {
    /// Of a stretch of the curve over entries per sequence: `layers` such layers, `per` entries per
    /// sequence for each of what is seen.
    pub(super) fn of(stretch: &Stretch, layers: f64, per: [f64; SHARES]) -> Self {
        // One share: the line is exact at the first whole number after its knot. Two: at nothing.
        let first = if per[1] == 0.0 && per[0] > 0.0 {
            (stretch.knot / per[0]).ceil()
        } else {
            0.0
        };
        let at_first = stretch.at(first * per[0]).seconds;
        let affine = |share: f64| {
            let scale = layers * share;
            let each = per.map(|per| signed(scale * stretch.slope * per));
            #[expect(clippy::cast_possible_truncation, reason = "float casts saturate")]
            let before = each[0].saturating_mul(first as i64);
            Affine {
                base: signed(scale * at_first).saturating_sub(before),
                each,
            }
        };
        let Priced { origin, band, .. } = stretch.near;
        Self {
            time: affine(1.0),
            off: [affine(band.below), affine(band.above)],
            origin,
            begin: stretch.begin,
            until: stretch.until,
        }
    }

    /// Whether it holds at so many entries per sequence.
    pub(super) fn holds(&self, value: f64) -> bool {
        self.begin <= value && value < self.until
    }

    /// Steps more in which it surely holds: `value` entries per sequence now, `growth` more each.
    pub(super) fn steps(&self, value: f64, growth: f64) -> u64 {
        if growth <= 0.0 {
            return u64::MAX;
        }
        // A step less than it says, for what sums of floats round.
        let steps = (self.until - value) / growth * (1.0 - 1e-9) - 1.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "float casts saturate"
        )]
        let steps = steps as u64;
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::super::curve::Curve;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// In whole numbers a line is the curve, and never falls where the curve rises.
        #[test]
        fn a_line_is_the_curve_in_whole_femtoseconds(
            (fixed, each, bend) in (0.0..1e-4_f64, 0.0..1e-9_f64, 0.0..1.0_f64),
            (count, layers) in (1u32..300, 1u32..90),
            seen in prop::collection::vec(1u64..50_000_000, 1..30),
        ) {
            let price = |x: f64| Priced {
                seconds: fixed + each * x * (1.0 + bend * x / (x + 5000.0)),
                ..Priced::NOTHING
            };
            let (count, layers) = (f64::from(count), f64::from(layers));
            let mut curve = Curve::new();
            let mut seen = seen;
            seen.sort_unstable();
            let mut before = 0;
            for entries in seen {
                #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
                let value = entries as f64 / count;
                let exact = curve.at(value, price).seconds * layers * 1e15;
                let line = *curve.line(value, layers, [1.0 / count, 0.0], price);
                prop_assert!(line.holds(value));
                let own = line.time.at(&[entries, 0]);
                #[expect(clippy::cast_precision_loss, reason = "test")]
                let (own_f, lost) = (own as f64, entries as f64);
                prop_assert!(own_f <= exact * (1.0 + 1e-9) + 1.0, "{own} {exact}");
                prop_assert!(own_f >= exact * (1.0 - 1e-9) - lost - 2.0, "{own} {exact}");
                prop_assert!(own >= before);
                before = own;
            }
        }
    }
}
