//! A panel's place and axes: from values to places in its plot, and the lines and labels that show them.

use super::figure::{Band, Direction};
use super::fonts::CAP_HEIGHT;
use super::palette::{GRID, SOFT_INK};
use super::scale::Domain;
use super::scene::{Anchor, Area, Label, Pen, Point, Scene};
use super::style::{Measures, axis_pen};
use super::ticks::Tick;

/// A panel's place and axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid<'a> {
    pub(super) plot: Area,
    pub(super) x: Option<&'a Domain>,
    pub(super) y: Option<&'a Domain>,
    pub(super) x_ticks: &'a [Tick],
    pub(super) y_ticks: &'a [Tick],
    /// Whether the x ticks are labelled here.
    pub(super) last: bool,
}

impl Grid<'_> {
    /// Distance along `direction`, anything beyond the plot at its edge.
    pub(super) fn clamped(&self, direction: Direction, value: f64) -> Option<f64> {
        Some(match direction {
            Direction::X => self.plot.left + self.x?.clamped(value) * self.plot.width,
            Direction::Y => self.plot.bottom() - self.y?.clamped(value) * self.plot.height,
        })
    }

    /// -1 below the range shown, 1 above it, 0 inside; `None` where there is no such axis or value.
    pub(super) fn side(&self, direction: Direction, value: f64) -> Option<i8> {
        let domain = if direction == Direction::X {
            self.x?
        } else {
            self.y?
        };
        let fraction = domain.fraction(value)?;
        Some(if fraction < -1e-9 {
            -1
        } else if fraction > 1.0 + 1e-9 {
            1
        } else {
            0
        })
    }

    /// The part of the plot that `band` shades.
    pub(super) fn area(&self, band: &Band) -> Option<Area> {
        if band.from.is_nan() || band.to.is_nan() {
            return None;
        }
        let (a, b) = (
            self.clamped(band.along, band.from)?,
            self.clamped(band.along, band.to)?,
        );
        let (low, size) = (a.min(b), (a - b).abs());
        let area = match band.along {
            Direction::X => Area {
                left: low,
                width: size,
                ..self.plot
            },
            Direction::Y => Area {
                top: low,
                height: size,
                ..self.plot
            },
        };
        (size > 0.0).then_some(area)
    }
}

/// Lines across the plot at the labelled ticks.
pub(super) fn grid_lines(scene: &mut Scene, grid: &Grid, m: &Measures) {
    let (plot, pen) = (grid.plot, Pen::solid(GRID, m.hairline));
    for tick in grid.x_ticks {
        if let Some(x) = grid.clamped(Direction::X, tick.value) {
            scene.line([x, plot.top], [x, plot.bottom()], pen);
        }
    }
    for tick in grid.y_ticks {
        if let Some(y) = grid.clamped(Direction::Y, tick.value) {
            scene.line([plot.left, y], [plot.right(), y], pen);
        }
    }
}

/// Axis lines, tick marks and tick labels.
pub(super) fn axes(scene: &mut Scene, grid: &Grid, m: &Measures) {
    let (plot, pen) = (grid.plot, axis_pen(m));
    let (long, short) = (0.3 * m.em, 0.17 * m.em);
    scene.line([plot.left, plot.top], [plot.left, plot.bottom()], pen);
    scene.line(
        [plot.left, plot.bottom()],
        [plot.right(), plot.bottom()],
        pen,
    );
    for (value, length) in tick_lengths(grid.x, grid.x_ticks, long, short) {
        if let Some(x) = grid.clamped(Direction::X, value) {
            scene.line([x, plot.bottom()], [x, plot.bottom() + length], pen);
        }
    }
    for (value, length) in tick_lengths(grid.y, grid.y_ticks, long, short) {
        if let Some(y) = grid.clamped(Direction::Y, value) {
            scene.line([plot.left - length, y], [plot.left, y], pen);
        }
    }
    let font = m.tick;
    let mut tick_label = |at: Point, anchor: Anchor, text: &str| {
        scene.text(Label {
            at,
            anchor,
            font,
            color: SOFT_INK,
            halo: false,
            text: text.to_owned(),
        });
    };
    for tick in grid.y_ticks {
        if let Some(y) = grid.clamped(Direction::Y, tick.value) {
            tick_label(
                [plot.left - 0.5 * m.em, y + CAP_HEIGHT / 2.0 * font.size],
                Anchor::End,
                &tick.label,
            );
        }
    }
    for tick in grid.x_ticks.iter().filter(|_| grid.last) {
        if let Some(x) = grid.clamped(Direction::X, tick.value) {
            tick_label(
                [x, plot.bottom() + 0.58 * m.em + CAP_HEIGHT * font.size],
                Anchor::Middle,
                &tick.label,
            );
        }
    }
}

/// Places of labelled ticks (long) and of the others (short).
fn tick_lengths(domain: Option<&Domain>, ticks: &[Tick], long: f64, short: f64) -> Vec<(f64, f64)> {
    let minor = domain.map(Domain::minor).unwrap_or_default();
    ticks
        .iter()
        .map(|tick| (tick.value, long))
        .chain(minor.into_iter().map(|value| (value, short)))
        .collect()
}

/// The ends of a line across `plot` at `place` along `direction`.
pub(super) fn across(plot: Area, along: Direction, place: f64) -> (Point, Point) {
    match along {
        Direction::X => ([place, plot.top], [place, plot.bottom()]),
        Direction::Y => ([plot.left, place], [plot.right(), place]),
    }
}
