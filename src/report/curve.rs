//! From a series' points to what is painted: places in the plot, the pieces of its line, and no more of either than
//! can be seen.

use super::figure::{Dash, Series};
use super::scale::Domain;
use super::scene::{Area, Point};

/// Distances along an axis beyond this many plots are cut: the same line, but in numbers every renderer can hold.
const FAR: f64 = 1000.0;

/// A point with its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Placed {
    pub(super) at: Point,
    pub(super) muted: bool,
    /// Whether a gap precedes it.
    pub(super) starts: bool,
}

/// Where a value pair lies in `plot`; `None` where an axis cannot show it.
pub(super) fn place(plot: &Area, x: &Domain, y: &Domain, [px, py]: [f64; 2]) -> Option<Point> {
    let cut = |fraction: f64| fraction.clamp(-FAR, FAR);
    Some([
        plot.left + cut(x.fraction(px)?) * plot.width,
        plot.bottom() - cut(y.fraction(py)?) * plot.height,
    ])
}

/// The series' points that the axes can show, thinned out to what `plot` can resolve.
pub(super) fn points(series: &Series, plot: &Area, x: &Domain, y: &Domain) -> Vec<Placed> {
    let mut placed = Vec::with_capacity(series.points.len());
    let mut starts = true;
    for (i, &point) in series.points.iter().enumerate() {
        match place(plot, x, y, point) {
            Some(at) => {
                placed.push(Placed {
                    at,
                    muted: series.is_muted(i),
                    starts,
                });
                starts = false;
            }
            None => starts = true,
        }
    }
    if placed.len() as f64 <= plot.width * 2.0 {
        placed
    } else if series.dash == Dash::Hidden {
        distinct(placed, plot)
    } else {
        extremes(placed)
    }
}

/// One point per pixel and kind inside the plot.
fn distinct(points: Vec<Placed>, plot: &Area) -> Vec<Placed> {
    let mut seen = std::collections::BTreeSet::new();
    points
        .into_iter()
        .filter(|p| {
            plot.contains(p.at)
                && seen.insert((p.at[0].round() as i64, p.at[1].round() as i64, p.muted))
        })
        .collect()
}

/// First, lowest, highest and last point of each run that stays within one pixel column: the line looks the same.
fn extremes(points: Vec<Placed>) -> Vec<Placed> {
    let column = |p: &Placed| p.at[0].floor();
    points
        .chunk_by(|a, b| column(a) == column(b) && a.muted == b.muted && !b.starts)
        .flat_map(|run| {
            let by_height =
                |(_, a): &(usize, &Placed), (_, b): &(usize, &Placed)| a.at[1].total_cmp(&b.at[1]);
            let top = run.iter().enumerate().min_by(by_height).map(|(i, _)| i);
            let bottom = run.iter().enumerate().max_by(by_height).map(|(i, _)| i);
            let mut kept: Vec<usize> = [Some(0), top, bottom, run.len().checked_sub(1)]
                .into_iter()
                .flatten()
                .collect();
            kept.sort_unstable();
            kept.dedup();
            kept.into_iter().filter_map(|i| run.get(i).copied())
        })
        .collect()
}

/// A piece of a line that is drawn in one stroke.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stroke {
    pub(super) points: Vec<Point>,
    pub(super) muted: bool,
}

/// The line through `points` in pieces that are unbroken and wholly muted or not; a piece between a muted point and
/// another is muted.
pub(super) fn strokes(points: &[Placed]) -> Vec<Stroke> {
    let mut strokes: Vec<Stroke> = Vec::new();
    for pair in points.windows(2) {
        let [from, to] = [pair[0], pair[1]];
        if to.starts {
            continue;
        }
        let muted = from.muted || to.muted;
        match strokes.last_mut() {
            Some(stroke)
                if !from.starts
                    && stroke.muted == muted
                    && stroke.points.last() == Some(&from.at) =>
            {
                stroke.points.push(to.at);
            }
            _ => strokes.push(Stroke {
                points: vec![from.at, to.at],
                muted,
            }),
        }
    }
    strokes
}

/// Of the points inside `plot` those that get a marker: along a line none closer than `apart` to the one before, unless
/// the kind changes; of a cloud all.
pub(super) fn markers(points: &[Placed], dash: Dash, plot: &Area, apart: f64) -> Vec<Placed> {
    let inside = points.iter().filter(|p| plot.grown(0.5).contains(p.at));
    if dash == Dash::Hidden || points.len() as f64 * apart * 0.5 <= plot.width {
        return inside.copied().collect();
    }
    let mut kept: Vec<Placed> = Vec::new();
    for point in inside {
        let far = |last: &Placed| {
            libm::hypot(point.at[0] - last.at[0], point.at[1] - last.at[1]) >= apart
        };
        if kept
            .last()
            .is_none_or(|last| far(last) || last.muted != point.muted)
        {
            kept.push(*point);
        }
    }
    kept
}

/// The outline of an uncertainty band: along its low side and back along its high side.
pub(super) fn band(values: &[[f64; 3]], plot: &Area, x: &Domain, y: &Domain) -> Vec<Point> {
    let mut sides: Vec<[f64; 3]> = Vec::with_capacity(values.len());
    for &[at, low, high] in values {
        let (Some(low), Some(high)) = (place(plot, x, y, [at, low]), place(plot, x, y, [at, high]))
        else {
            continue;
        };
        let (top, bottom) = (low[1].min(high[1]), low[1].max(high[1]));
        match sides.last_mut() {
            // Within half a pixel: the same place, and the band covers both.
            Some(last) if (last[0] - low[0]).abs() < 0.5 => {
                *last = [last[0], last[1].min(top), last[2].max(bottom)];
            }
            _ => sides.push([low[0], top, bottom]),
        }
    }
    let there = sides.iter().map(|s| [s[0], s[2]]);
    let back = sides.iter().rev().map(|s| [s[0], s[1]]);
    there.chain(back).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: f64, y: f64, muted: bool, starts: bool) -> Placed {
        Placed {
            at: [x, y],
            muted,
            starts,
        }
    }

    #[test]
    fn lines_break_at_gaps_and_fade_where_muted() {
        let points = [
            at(0.0, 0.0, false, true),
            at(1.0, 1.0, false, false),
            at(2.0, 2.0, true, false),
            at(3.0, 3.0, true, false),
            at(9.0, 9.0, false, true),
            at(10.0, 9.0, false, false),
        ];
        let strokes = strokes(&points);
        let shape: Vec<_> = strokes.iter().map(|s| (s.points.len(), s.muted)).collect();
        assert_eq!(shape, [(2, false), (3, true), (2, false)]);
    }

    #[test]
    fn thinning_keeps_peaks() {
        let mut points: Vec<_> = (0..10_000)
            .map(|i| at(f64::from(i) / 100.0, f64::from(i % 7), false, i == 0))
            .collect();
        points[5_003].at[1] = 1e3;
        points[7_777].at[1] = -1e3;
        let thin = extremes(points);
        assert!(thin.len() <= 400);
        assert!(thin.iter().any(|p| p.at[1] == 1e3) && thin.iter().any(|p| p.at[1] == -1e3));
    }

    #[test]
    fn a_cloud_on_one_pixel_is_one_point() {
        let plot = Area {
            left: 0.0,
            top: 0.0,
            width: 10.0,
            height: 10.0,
        };
        let cloud = vec![at(5.0, 5.0, false, true); 10_000];
        assert_eq!(distinct(cloud, &plot).len(), 1);
    }
}
