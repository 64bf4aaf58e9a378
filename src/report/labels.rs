//! Labels inside a plot: of marks and bands.

use super::curve;
use super::figure::{Direction, Mark, Marker, Panel};
use super::fonts::{CAP_HEIGHT, DESCENT};
use super::grid::{Grid, across};
use super::palette::Rgb;
use super::panel::radius;
use super::placer::Placer;
use super::scene::{Anchor, Area, Item, Label, Point, Scene};
use super::style::Measures;

/// Labels of marks and bands, and the markers of notes.
pub(super) fn draw(
    scene: &mut Scene,
    panel: &Panel,
    grid: &Grid,
    m: &Measures,
    placer: &mut Placer,
) {
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
