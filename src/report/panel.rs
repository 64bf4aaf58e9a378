//! One panel: bands, grid, marks, curves, axes and the labels among them.

use super::curve;
use super::figure::{Dash, Mark, Marker, Panel, Series};
use super::fonts::CAP_HEIGHT;
use super::grid::{self, Grid, across};
use super::labels;
use super::palette::SOFT_INK;
use super::placer::Placer;
use super::scene::{Anchor, Area, Item, Label, Pen, Scene};
use super::style::Measures;

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
    grid::grid_lines(scene, grid, m);
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
    grid::axes(scene, grid, m);
    if any {
        labels::draw(scene, panel, grid, m, &mut placer);
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

/// Size of a marker.
pub(super) fn radius(marker: Marker, m: &Measures) -> f64 {
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

/// Lines across the plot that marks ask for.
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
