//! One panel: bands, grid, marks, curves, axes and the labels among them.

use super::curve;
use super::figure::{Band, Dash, Direction, Mark, Marker, Panel, Series};
use super::fonts::{CAP_HEIGHT, DESCENT};
use super::layout::{Measures, axis_pen};
use super::palette::{GRID, INK, Rgb, SOFT_INK};
use super::placer::Placer;
use super::scale::Domain;
use super::scene::{Anchor, Area, Item, Label, Pen, Point, Scene};
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
    fn clamped(&self, direction: Direction, value: f64) -> Option<f64> {
        Some(match direction {
            Direction::X => self.plot.left + self.x?.clamped(value) * self.plot.width,
            Direction::Y => self.plot.bottom() - self.y?.clamped(value) * self.plot.height,
        })
    }

    /// -1 below the range shown, 1 above it, 0 inside; `None` where there is no such axis or value.
    fn side(&self, direction: Direction, value: f64) -> Option<i8> {
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

    fn area(&self, band: &Band) -> Option<Area> {
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

/// Draws `panel`.
pub(super) fn draw(scene: &mut Scene, panel: &Panel, grid: &Grid, m: &Measures) {
    let plot = grid.plot;
    let clip = scene.clips.len();
    scene.clips.push(plot);
    for band in &panel.bands {
        if let Some(area) = grid.area(band) {
            scene.items.push(Item::Fill {
                area,
                color: band.color,
                opacity: 0.10,
            });
        }
    }
    grid_lines(scene, grid, m);
    mark_lines(scene, panel, grid, m);

    let mut placer = Placer::new(plot);
    let mut any = false;
    if let (Some(x), Some(y)) = (grid.x, grid.y) {
        for series in &panel.series {
            let outline = curve::band(series.band.as_deref().unwrap_or_default(), &plot, x, y);
            if outline.len() > 2 {
                scene.items.push(Item::Polygon {
                    points: outline,
                    color: series.color,
                    opacity: 0.16,
                    clip: Some(clip),
                });
            }
        }
        // Clouds behind lines, lines behind their markers: no curve strikes through another's points.
        let placed: Vec<_> = panel
            .series
            .iter()
            .map(|series| curve::points(series, &plot, x, y))
            .collect();
        let clouds = |hidden: bool| {
            let pairs = panel.series.iter().zip(&placed);
            pairs.filter(move |(series, _)| (series.dash == Dash::Hidden) == hidden)
        };
        for (series, points) in clouds(true) {
            any |= markers(scene, &mut placer, series, points, &plot, m);
        }
        for (series, points) in clouds(false) {
            for stroke in curve::strokes(points) {
                placer.avoid_curve(&stroke.points, 0.4 * m.em);
                let opacity = if stroke.muted { 0.45 } else { 1.0 };
                let pen = Pen {
                    color: series.color,
                    width: m.curve,
                    dash: series.dash,
                    opacity,
                };
                scene.items.push(Item::Path {
                    points: stroke.points,
                    pen,
                    clip: Some(clip),
                });
            }
        }
        for (series, points) in clouds(false) {
            any |= markers(scene, &mut placer, series, points, &plot, m);
        }
    }
    axes(scene, grid, m);
    if any {
        labels(scene, panel, grid, m, &mut placer);
    } else {
        let empty = panel
            .series
            .iter()
            .all(|s| s.points.iter().all(|p| p.iter().any(|v| !v.is_finite())));
        let text = m.caption.shorten(
            if empty {
                "no data"
            } else {
                "no data in this range"
            },
            plot.width,
        );
        let at = [
            plot.left + plot.width / 2.0,
            plot.top + plot.height / 2.0 + m.caption.size * CAP_HEIGHT / 2.0,
        ];
        scene.text(Label {
            at,
            anchor: Anchor::Middle,
            font: m.caption,
            color: SOFT_INK,
            halo: true,
            text,
        });
    }
}

fn radius(marker: Marker, m: &Measures) -> f64 {
    if marker == Marker::Star {
        m.radius * 1.15
    } else {
        m.radius
    }
}

/// Paints the markers of one series; whether any of its points lies inside the plot.
fn markers(
    scene: &mut Scene,
    placer: &mut Placer,
    series: &Series,
    points: &[curve::Placed],
    plot: &Area,
    m: &Measures,
) -> bool {
    let marker = lone(series, points.len());
    // Dense clouds are read as a mass: smaller, and without paper around each point.
    let (shrink, halo) = match points.len() {
        _ if series.dash != Dash::Hidden => (1.0, true),
        0..=60 => (0.9, true),
        61..=400 => (0.7, true),
        _ => (0.45, false),
    };
    let radius = radius(marker, m) * shrink;
    for point in curve::markers(points, series.dash, plot, 1.6 * m.em) {
        // The point counts double: its marker is wider than a line.
        placer.avoid_point(point.at);
        placer.avoid_point(point.at);
        let (at, color, hollow) = (point.at, series.color, point.muted);
        scene.items.push(Item::Marker {
            at,
            marker,
            radius,
            color,
            hollow,
            halo,
        });
    }
    points.iter().any(|p| plot.grown(0.5).contains(p.at))
}

/// A series of a single point is invisible without a marker.
fn lone(series: &Series, points: usize) -> Marker {
    if points == 1 && series.marker == Marker::None {
        Marker::Circle
    } else {
        series.marker
    }
}

fn grid_lines(scene: &mut Scene, grid: &Grid, m: &Measures) {
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
fn axes(scene: &mut Scene, grid: &Grid, m: &Measures) {
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

fn mark_lines(scene: &mut Scene, panel: &Panel, grid: &Grid, m: &Measures) {
    for mark in &panel.marks {
        let Mark::Line {
            along,
            at,
            color,
            dash,
            ..
        } = mark
        else {
            continue;
        };
        if grid.side(*along, *at) != Some(0) {
            continue;
        }
        let Some(place) = grid.clamped(*along, *at) else {
            continue;
        };
        let pen = Pen {
            color: *color,
            width: m.curve * 0.75,
            dash: *dash,
            opacity: 1.0,
        };
        let (from, to) = across(grid.plot, *along, place);
        scene.line(from, to, pen);
    }
}

/// The ends of a line across `plot` at `place` along `direction`.
fn across(plot: Area, along: Direction, place: f64) -> (Point, Point) {
    match along {
        Direction::X => ([place, plot.top], [place, plot.bottom()]),
        Direction::Y => ([plot.left, place], [plot.right(), place]),
    }
}

/// Labels of marks and bands, and the markers of notes.
fn labels(scene: &mut Scene, panel: &Panel, grid: &Grid, m: &Measures, placer: &mut Placer) {
    let plot = grid.plot;
    for (index, mark) in panel.marks.iter().enumerate() {
        match mark {
            Mark::Line { along, at, .. } => {
                if let (Some(0), Some(place)) = (grid.side(*along, *at), grid.clamped(*along, *at))
                {
                    let (from, to) = across(plot, *along, place);
                    let line = Area {
                        left: from[0],
                        top: from[1],
                        width: to[0] - from[0],
                        height: to[1] - from[1],
                    };
                    placer.avoid_line(index, line.grown(0.01));
                }
            }
            Mark::Note {
                at, color, marker, ..
            } => {
                let place = grid
                    .x
                    .zip(grid.y)
                    .and_then(|(x, y)| curve::place(&plot, x, y, *at));
                let Some(at) = place.filter(|&at| plot.grown(0.5).contains(at)) else {
                    continue;
                };
                scene.items.push(Item::Marker {
                    at,
                    marker: *marker,
                    radius: radius(*marker, m),
                    color: *color,
                    hollow: false,
                    halo: true,
                });
                let reach = m.radius * if *marker == Marker::Star { 1.6 } else { 1.0 };
                let own = Area {
                    left: at[0],
                    top: at[1],
                    width: 0.0,
                    height: 0.0,
                }
                .grown(reach);
                placer.avoid_line(index, own);
            }
        }
    }
    let shorten = |text: &str| m.note.shorten(text, plot.width - m.em);
    for (index, mark) in panel.marks.iter().enumerate() {
        let (places, color) = match mark {
            Mark::Line {
                along,
                at,
                label: Some(text),
                color,
                ..
            } => {
                let Some(side) = grid.side(*along, *at) else {
                    continue;
                };
                let Some(place) = grid.clamped(*along, *at) else {
                    continue;
                };
                let text = match (along, side) {
                    (_, 0) => text.clone(),
                    (Direction::Y, 1) => format!("{text} ↑"),
                    (Direction::Y, _) => format!("{text} ↓"),
                    (Direction::X, 1) => format!("{text} →"),
                    (Direction::X, _) => format!("← {text}"),
                };
                (
                    line_places(plot, *along, place, m),
                    (*color, shorten(&text)),
                )
            }
            Mark::Note {
                at, text, color, ..
            } => {
                let place = grid
                    .x
                    .zip(grid.y)
                    .and_then(|(x, y)| curve::place(&plot, x, y, *at));
                let Some(at) = place.filter(|&at| plot.grown(0.5).contains(at)) else {
                    continue;
                };
                (note_places(at, m), (*color, shorten(text)))
            }
            Mark::Line { .. } => continue,
        };
        put(scene, placer, index, &places, color, m);
    }
    for (i, band) in panel.bands.iter().enumerate() {
        let (Some(area), Some(text)) = (grid.area(band), &band.label) else {
            continue;
        };
        let text = m.note.shorten(text, area.width - m.em);
        put(
            scene,
            placer,
            panel.marks.len() + i,
            &corner_places(area, m),
            (band.color, text),
            m,
        );
    }
}

fn put(
    scene: &mut Scene,
    placer: &mut Placer,
    owner: usize,
    places: &[(Point, Anchor)],
    (color, text): (Rgb, String),
    m: &Measures,
) {
    if text.is_empty() {
        return;
    }
    let candidates: Vec<Label> = places
        .iter()
        .map(|&(at, anchor)| Label {
            at,
            anchor,
            font: m.note,
            color,
            halo: true,
            text: text.clone(),
        })
        .collect();
    if let Some(label) = placer.place(owner, &candidates, 0.2 * m.em) {
        scene.text(label);
    }
}

/// Places beside a line across the plot, best first.
fn line_places(plot: Area, along: Direction, place: f64, m: &Measures) -> Vec<(Point, Anchor)> {
    let (cap, drop) = (CAP_HEIGHT * m.note.size, DESCENT * m.note.size);
    let near = 0.32 * m.em;
    match along {
        Direction::Y => {
            let (above, below) = (place - near - drop * 0.4, place + near + cap);
            let (left, middle, right) = (
                plot.left + 0.4 * m.em,
                plot.left + plot.width / 2.0,
                plot.right() - 0.3 * m.em,
            );
            let ends = [
                (left, Anchor::Start),
                (right, Anchor::End),
                (middle, Anchor::Middle),
            ];
            [above, below]
                .iter()
                .flat_map(|&y| ends.map(|(x, anchor)| ([x, y], anchor)))
                .collect()
        }
        Direction::X => {
            let heights = [
                plot.top + cap + 0.4 * m.em,
                plot.top + plot.height / 2.0,
                plot.bottom() - 0.5 * m.em - drop,
            ];
            let sides = [(place + near, Anchor::Start), (place - near, Anchor::End)];
            heights
                .iter()
                .flat_map(|&y| sides.map(|(x, anchor)| ([x, y], anchor)))
                .collect()
        }
    }
}

/// Places around a point, best first.
fn note_places([x, y]: Point, m: &Measures) -> Vec<(Point, Anchor)> {
    let (cap, drop) = (CAP_HEIGHT * m.note.size, DESCENT * m.note.size);
    let (side, off) = (0.75 * m.em, 0.7 * m.em);
    let rows = [
        y - off * 0.8 - drop * 0.5,
        y + cap / 2.0,
        y + off * 0.8 + cap,
    ];
    let mut places = vec![
        ([x + side, rows[0]], Anchor::Start),
        ([x + side, rows[1]], Anchor::Start),
    ];
    places.extend([
        ([x - side, rows[0]], Anchor::End),
        ([x - side, rows[1]], Anchor::End),
    ]);
    places.extend([
        ([x + side, rows[2]], Anchor::Start),
        ([x - side, rows[2]], Anchor::End),
    ]);
    places.extend([
        ([x, rows[0] - off * 0.4], Anchor::Middle),
        ([x, rows[2] + off * 0.4], Anchor::Middle),
    ]);
    places
}

/// Places in the corners of a region, best first.
fn corner_places(area: Area, m: &Measures) -> Vec<(Point, Anchor)> {
    let (cap, drop) = (CAP_HEIGHT * m.note.size, DESCENT * m.note.size);
    let pad = 0.45 * m.em;
    let (top, bottom) = (area.top + pad + cap, area.bottom() - pad - drop);
    let (left, right) = (area.left + pad, area.right() - pad);
    vec![
        ([right, bottom], Anchor::End),
        ([left, top], Anchor::Start),
        ([right, top], Anchor::End),
        ([left, bottom], Anchor::Start),
    ]
}

/// Writes each curve's name right of the plot, level with the curve's end and clear of the other names.
pub(super) fn name_curves(scene: &mut Scene, panel: &Panel, grid: &Grid, m: &Measures, right: f64) {
    let (Some(x), Some(y)) = (grid.x, grid.y) else {
        return;
    };
    let (plot, font) = (grid.plot, m.heading);
    let mut ends: Vec<(f64, Point, &Series)> = panel
        .series
        .iter()
        .filter(|series| !series.name.is_empty())
        .filter_map(|series| {
            let placed = series
                .points
                .iter()
                .rev()
                .filter_map(|&p| curve::place(&plot, x, y, p));
            let at = placed
                .into_iter()
                .find(|&at| plot.grown(0.5).contains(at))?;
            Some((at[1], at, series))
        })
        .collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let wanted: Vec<f64> = ends.iter().map(|end| end.0).collect();
    let levels = spread(
        &wanted,
        1.25 * font.size,
        plot.top,
        plot.bottom() - 0.3 * font.size,
    );
    for (end, level) in ends.iter_mut().zip(levels) {
        end.0 = level;
    }
    let left = plot.right() + 0.9 * m.em;
    for (level, at, series) in ends {
        let pen = Pen {
            color: series.color,
            width: m.hairline,
            dash: Dash::Solid,
            opacity: 0.7,
        };
        let start = at[0] + m.radius * 1.6;
        if left - start > 1.2 * m.em || (level - at[1]).abs() > 0.3 * m.em {
            let knee = plot.right() + 0.2 * m.em;
            let points = vec![
                [start.min(knee), at[1]],
                [knee, at[1]],
                [left - 0.25 * m.em, level],
            ];
            scene.items.push(Item::Path {
                points,
                pen,
                clip: None,
            });
        }
        let text = font.shorten(&series.name, right - left);
        let at = [left, level + CAP_HEIGHT / 2.0 * font.size];
        scene.text(Label {
            at,
            anchor: Anchor::Start,
            font,
            color: INK,
            halo: false,
            text,
        });
    }
}

/// Levels as near to the `wanted` ones (in rising order) as a distance of `row` allows, between `top` and `bottom` where
/// they fit: levels that would touch form a block centred on what its members want.
fn spread(wanted: &[f64], row: f64, top: f64, bottom: f64) -> Vec<f64> {
    // Blocks of (first level wanted on average, members).
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    let inside =
        |first: f64, members: usize| first.min(bottom - row * (members - 1) as f64).max(top);
    for &level in wanted {
        let mut block = (inside(level, 1), 1);
        while let Some(&(first, members)) = blocks.last() {
            if first + row * members as f64 <= block.0 {
                break;
            }
            blocks.pop();
            let (a, b) = (members as f64, block.1 as f64);
            let mean = (first * a + (block.0 - row * a) * b) / (a + b);
            block = (inside(mean, members + block.1), members + block.1);
        }
        blocks.push(block);
    }
    blocks
        .iter()
        .flat_map(|&(first, members)| (0..members).map(move |i| first + row * i as f64))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn names_spread_evenly_around_their_curves() {
        assert_eq!(spread(&[10.0, 50.0], 12.0, 0.0, 100.0), [10.0, 50.0]);
        assert_eq!(
            spread(&[50.0, 50.0, 50.0], 12.0, 0.0, 100.0),
            [38.0, 50.0, 62.0]
        );
        assert_eq!(spread(&[95.0, 99.0], 12.0, 0.0, 100.0), [88.0, 100.0]);
        assert_eq!(spread(&[0.0, 1.0], 12.0, 0.0, 100.0), [0.0, 12.0]);
        assert_eq!(spread(&[], 12.0, 0.0, 100.0), [0.0; 0]);
        let crowded = spread(&[5.0; 30], 12.0, 0.0, 100.0);
        assert!(
            crowded
                .windows(2)
                .all(|pair| pair[1] - pair[0] >= 12.0 - 1e-9)
        );
    }
}
