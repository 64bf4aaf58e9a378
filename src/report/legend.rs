//! Series named: in rows above the panels, or at the ends of their curves.

use super::curve;
use super::figure::{Dash, Figure, Marker, Panel, Series};
use super::fonts::CAP_HEIGHT;
use super::grid::Grid;
use super::palette::{INK, SOFT_INK};
use super::scene::{Anchor, Item, Label, Pen, Point, Scene};
use super::style::Measures;

/// The series to name: the first of each name.
pub(super) fn named<'a>(panels: &[&'a Panel]) -> Vec<&'a Series> {
    let mut entries: Vec<&Series> = Vec::new();
    for series in panels.iter().flat_map(|panel| &panel.series) {
        if !series.name.is_empty() && entries.iter().all(|entry| entry.name != series.name) {
            entries.push(series);
        }
    }
    entries.truncate(24);
    entries
}

/// Width of the names at the curves' ends, where naming them there works.
pub(super) fn direct_width(panels: &[&Panel], m: &Measures, inner: f64) -> Option<f64> {
    let [panel] = panels else { return None };
    let lines = panel
        .series
        .iter()
        .all(|s| s.dash != Dash::Hidden && !s.points.is_empty());
    let widest = panel
        .series
        .iter()
        .map(|s| m.heading.width(&s.name))
        .fold(0.0, f64::max);
    (lines && panel.series.len() <= 7 && widest > 0.0 && widest < 0.3 * inner)
        .then_some(widest + 1.2 * m.em)
}

/// Rows of legend entries from `corner`; gives their lower end.
pub(super) fn draw(
    scene: &mut Scene,
    figure: &Figure,
    panels: &[&Panel],
    entries: Vec<&Series>,
    m: &Measures,
    corner: [f64; 2],
    inner: f64,
) -> f64 {
    let em = m.em;
    let sample = 2.5 * em;
    let (after_sample, after_name, row) = (0.5 * em, 1.7 * em, 1.45 * em);
    let any_muted = panels
        .iter()
        .flat_map(|p| &p.series)
        .any(|s| s.muted.contains(&true));
    let muted = figure
        .muted_means
        .as_deref()
        .filter(|means| !means.is_empty() && any_muted);
    let (mut x, mut y) = (corner[0], corner[1]);
    let mut place = |width: f64| {
        if x > corner[0] && x + width > corner[0] + inner {
            (x, y) = (corner[0], y + row);
        }
        let at = (x, y);
        x += width + after_name;
        at
    };
    let mut used = None;
    for series in entries {
        let cloud = series.dash == Dash::Hidden;
        let sample = if cloud { em } else { sample };
        let name = m
            .caption
            .shorten(&series.name, inner - sample - after_sample);
        let (left, line) = place(sample + after_sample + m.caption.width(&name));
        let middle = line + row / 2.0;
        if !cloud {
            let pen = Pen {
                color: series.color,
                width: m.curve,
                dash: series.dash,
                opacity: 1.0,
            };
            scene.line([left, middle], [left + sample, middle], pen);
        }
        let at = [left + sample / 2.0, middle];
        let marker = series.marker;
        scene.items.push(Item::Marker {
            at,
            marker,
            radius: m.radius,
            color: series.color,
            hollow: false,
            halo: true,
        });
        let at = [
            left + sample + after_sample,
            middle + CAP_HEIGHT / 2.0 * m.caption.size,
        ];
        scene.text(Label {
            at,
            anchor: Anchor::Start,
            font: m.caption,
            color: INK,
            halo: false,
            text: name,
        });
        used = Some(line + row);
    }
    if let Some(means) = muted {
        let name = m.caption.shorten(means, inner - em - after_sample);
        let (left, line) = place(em + after_sample + m.caption.width(&name));
        let middle = line + row / 2.0;
        let at = [left + em / 2.0, middle];
        scene.items.push(Item::Marker {
            at,
            marker: Marker::Circle,
            radius: m.radius,
            color: SOFT_INK,
            hollow: true,
            halo: true,
        });
        let at = [
            left + em + after_sample,
            middle + CAP_HEIGHT / 2.0 * m.caption.size,
        ];
        scene.text(Label {
            at,
            anchor: Anchor::Start,
            font: m.caption,
            color: SOFT_INK,
            halo: false,
            text: name,
        });
        used = Some(line + row);
    }
    used.unwrap_or(corner[1])
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
