//! Bands around the points of a load curve, and whether a ranking of two designs is safe.
//!
//! A prediction p stands for [p·low, p·high], the band of what was measured of its kind. Near
//! saturation latency follows how near it is: a capacity that is off by the same band moves the curve
//! along its loads, so the band there is that of the curve between the moved loads, and open above
//! where the moved load is more than is served.

use super::nearest::Validated;

/// Near saturation: from this share of the lowest saturated load.
const NEAR: f64 = 0.8;

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct At {
    /// Its load.
    pub load: f64,
    /// A latency.
    pub value: f64,
    /// Whether queues grew.
    pub saturated: bool,
}

/// What a point stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// From.
    pub low: f64,
    /// To; infinite: the load may be more than is served.
    pub high: f64,
    /// Whether the point alone would say too much: it is near saturation.
    pub near_saturation: bool,
}

/// The bands of a curve's points, in order of their loads; none of saturated ones. `own` are the
/// factors of the latency, `capacity` those of TPOT, which throughput goes by.
#[must_use]
pub fn bands(points: &[At], own: (f64, f64), capacity: (f64, f64)) -> Vec<Option<Band>> {
    let limit = points
        .iter()
        .filter(|at| at.saturated)
        .map(|at| at.load)
        .fold(f64::INFINITY, f64::min);
    let band = |at: &At| {
        if at.saturated || !at.value.is_finite() {
            return None;
        }
        let mut band = Band {
            low: at.value * own.0,
            high: at.value * own.1,
            near_saturation: at.load >= NEAR * limit,
        };
        if band.near_saturation {
            let more = at.load * capacity.1.max(1.0);
            band.high = if more >= limit {
                f64::INFINITY
            } else {
                band.high.max(between(points, more) * own.1)
            };
            let less = at.load * capacity.0.min(1.0);
            band.low = band.low.min(between(points, less) * own.0);
        }
        Some(band)
    };
    points.iter().map(band).collect()
}

/// A curve's value at a load: in proportion between its points, its ends' beyond them.
fn between(points: &[At], load: f64) -> f64 {
    let sound = || points.iter().filter(|at| at.value.is_finite());
    let below = sound().rfind(|at| at.load <= load);
    let above = sound().find(|at| at.load > load);
    match (below, above) {
        (Some(a), Some(b)) => a.value + (b.value - a.value) * (load - a.load) / (b.load - a.load),
        (Some(own), None) | (None, Some(own)) => own.value,
        (None, None) => f64::NAN,
    }
}

/// A design's TPOT over loads, and what it is known to be off by.
pub struct Side<'a> {
    /// Its name.
    pub name: &'a str,
    /// TPOT by load, in order of the loads.
    pub points: &'a [At],
    /// Its errors.
    pub validated: Option<&'a Validated>,
}

/// Which of two designs is faster, and whether that is safe.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// The faster one.
    pub better: String,
    /// The other.
    pub other: String,
    /// The highest load that both serve.
    pub load: f64,
    /// The other's TPOT over the faster one's, less 1.
    pub apart: f64,
    /// How far apart they must be to be told apart; none: nothing near was validated.
    pub needed: Option<f64>,
}

impl Ranking {
    /// Whether it would stay if both were off as far as their kinds were measured to be.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        self.needed.is_some_and(|needed| self.apart > needed)
    }

    /// In a sentence.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { better, other, .. } = self;
        let apart = format!("{:.0} %", self.apart * 100.0);
        match self.needed {
            None => {
                format!("{better} is {apart} ahead of {other} in TPOT: ranking open, not validated")
            }
            Some(needed) if self.apart > needed => format!(
                "{better} is {apart} ahead of {other} in TPOT, beyond both bands ({:.0} %): ranking safe",
                needed * 100.0
            ),
            Some(needed) => format!(
                "{better} and {other} are {apart} apart in TPOT, within their bands ({:.0} %): ranking not safe",
                needed * 100.0
            ),
        }
    }
}

/// Ranks two designs at the highest load both serve; none: there is none.
#[must_use]
pub fn rank(a: &Side<'_>, b: &Side<'_>) -> Option<Ranking> {
    let served = |side: &Side<'_>| {
        let points = side.points.iter();
        let own: Vec<At> = points
            .filter(|at| !at.saturated && at.value.is_finite())
            .copied()
            .collect();
        own
    };
    let (own, others) = (served(a), served(b));
    let load = own.last()?.load.min(others.last()?.load);
    if load < own.first()?.load.max(others.first()?.load) {
        return None;
    }
    let values = [between(&own, load), between(&others, load)];
    let ([better, other], [low, high]) = if values[0] <= values[1] {
        ([a, b], values)
    } else {
        ([b, a], [values[1], values[0]])
    };
    if low.is_nan() || low <= 0.0 {
        return None;
    }
    let bands = better
        .validated
        .and_then(Validated::tpot)
        .zip(other.validated.and_then(Validated::tpot));
    Some(Ranking {
        better: better.name.to_owned(),
        other: other.name.to_owned(),
        load,
        apart: high / low - 1.0,
        // The faster one at its slowest, the other at its fastest.
        needed: bands.map(|(better, other)| (better.1 / other.0 - 1.0).max(0.0)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::group;
    use super::*;

    fn curve(values: &[(f64, f64)], saturated_from: f64) -> Vec<At> {
        let at = |&(load, value): &(f64, f64)| At {
            load,
            value,
            saturated: load >= saturated_from,
        };
        values.iter().map(at).collect()
    }

    #[test]
    fn bands_open_towards_saturation() {
        let points = curve(
            &[
                (1.0, 10.0),
                (5.0, 12.0),
                (8.5, 20.0),
                (9.5, 40.0),
                (10.0, 99.0),
            ],
            10.0,
        );
        let own = bands(&points, (0.9, 1.1), (0.9, 1.1));
        let light = own[0].unwrap();
        assert_eq!((light.low, light.high), (9.0, 11.0));
        assert!(!light.near_saturation);
        let near = own[2].unwrap();
        assert!(near.near_saturation);
        // At 9.35 of 8.5 × 1.1 the curve is at 37: 40.7 with its own factor.
        assert!((near.high - 37.0 * 1.1).abs() < 1e-9, "{near:?}");
        assert!(near.low < 20.0 * 0.9);
        assert_eq!(own[3].unwrap().high, f64::INFINITY, "more than is served");
        assert_eq!(own[4], None);
    }

    #[test]
    fn a_ranking_is_safe_where_bands_do_not_meet() {
        let validated = Validated {
            kind: group("h200-sxm", 9).kind,
            group: Some(group("h200-sxm", 9)),
            differs: Vec::new(),
            beyond: Vec::new(),
        };
        let slow = curve(&[(1.0, 20.0), (4.0, 26.0)], 9.0);
        for (tpot, safe) in [(20.0, true), (25.0, false)] {
            let fast = curve(&[(1.0, 15.0), (3.0, tpot), (8.0, 90.0)], 8.0);
            let side = |name, points, validated| Side {
                name,
                points,
                validated,
            };
            let a = side("A", &slow, Some(&validated));
            let b = side("B", &fast, Some(&validated));
            let ranking = rank(&a, &b).unwrap();
            assert_eq!(
                (ranking.load, ranking.better.as_str()),
                (3.0, if tpot < 24.0 { "B" } else { "A" })
            );
            assert_eq!(ranking.is_safe(), safe, "{}", ranking.words());
            let open = rank(&a, &side("B", &fast, None)).unwrap();
            assert!(!open.is_safe() && open.words().contains("open"));
        }
    }
}
