//! Where a label inside a plot goes: the first of several places that covers no other label and the least of the data.

use super::scene::{Area, Label, Point};

/// What inside one plot must stay readable.
#[derive(Debug)]
pub(super) struct Placer {
    plot: Area,
    /// Places along curves and markers.
    data: Vec<Point>,
    /// Straight lines across the plot, with the mark each belongs to.
    lines: Vec<(usize, Area)>,
    taken: Vec<Area>,
}

/// One label over another is worse than any amount of data under it.
const PER_LABEL: usize = 100_000;
/// Lines of other marks.
const PER_LINE: usize = 40;

impl Placer {
    pub(super) fn new(plot: Area) -> Self {
        Self {
            plot,
            data: Vec::new(),
            lines: Vec::new(),
            taken: Vec::new(),
        }
    }

    /// Keeps a curve clear, sampled every `step`.
    pub(super) fn avoid_curve(&mut self, points: &[Point], step: f64) {
        for pair in points.windows(2) {
            let (dx, dy) = (pair[1][0] - pair[0][0], pair[1][1] - pair[0][1]);
            let count = (libm::hypot(dx, dy) / step.max(0.5)).clamp(1.0, 2_000.0) as usize;
            for i in 0..count {
                let t = i as f64 / count as f64;
                self.avoid_point([pair[0][0] + t * dx, pair[0][1] + t * dy]);
            }
        }
        if let Some(&last) = points.last() {
            self.avoid_point(last);
        }
    }

    /// Keeps a point clear.
    pub(super) fn avoid_point(&mut self, point: Point) {
        if self.plot.contains(point) {
            self.data.push(point);
        }
    }

    /// Keeps a mark's line clear of the labels of other marks.
    pub(super) fn avoid_line(&mut self, mark: usize, line: Area) {
        self.lines.push((mark, line));
    }

    /// Puts the label of `mark` to the best of `places`, given best first; moved into the plot if it juts out.
    pub(super) fn place(&mut self, mark: usize, places: &[Label], margin: f64) -> Option<Label> {
        let mut best: Option<(usize, Label)> = None;
        for place in places {
            let label = self.inside(place, margin);
            let area = label.area().grown(margin);
            let moved = usize::from(
                (label.at[0] - place.at[0]).abs() + (label.at[1] - place.at[1]).abs() > 0.01,
            );
            let labels = self
                .taken
                .iter()
                .filter(|taken| taken.overlaps(&area))
                .count();
            let lines = self
                .lines
                .iter()
                .filter(|(owner, line)| *owner != mark && line.overlaps(&area))
                .count();
            // A label that had to be moved may lie on its own point or line.
            let own = if moved > 0 {
                self.lines
                    .iter()
                    .filter(|(owner, line)| *owner == mark && line.overlaps(&label.area()))
                    .count()
            } else {
                0
            };
            let data = self
                .data
                .iter()
                .filter(|&&point| area.contains(point))
                .count();
            let cost = labels * PER_LABEL + (lines + own) * PER_LINE + data * 2 + moved;
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, label));
            }
        }
        let (cost, mut label) = best?;
        // Paper around the letters only where something lies under them.
        label.halo = cost > 1;
        self.taken.push(label.area().grown(margin / 2.0));
        Some(label)
    }

    fn inside(&self, label: &Label, margin: f64) -> Label {
        let mut label = label.clone();
        let area = label.area();
        let (left, right) = (self.plot.left + margin, self.plot.right() - margin);
        let (top, bottom) = (self.plot.top + margin, self.plot.bottom() - margin);
        let shift = |low: f64, high: f64, from: f64, to: f64| {
            if from < low || to - from > high - low {
                low - from
            } else {
                (high - to).min(0.0)
            }
        };
        label.at[0] += shift(left, right, area.left, area.right());
        label.at[1] += shift(top, bottom, area.top, area.bottom());
        label
    }
}
