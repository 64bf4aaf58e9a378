//! Where everything in a figure goes.
//!
//! From the top: title, caption, legend, the grid of panels with the common x axis, footnotes. Heights of texts are
//! known first (they depend on the width only); the panels share what is left, and the figure grows where that is too
//! little. Distances are in em of the base font size, so a figure looks the same at any size.

use super::axes::{horizontal_ticks, vertical_ticks, x_domain, y_domain};
use super::figure::{Arrangement, Figure, Legend, MAX_PANELS, Panel};
use super::grid::Grid;
use super::legend;
use super::palette::{INK, Rgb, SOFT_INK};
use super::panel;
use super::scale::Domain;
use super::scene::{Anchor, Area, Label, Scene};
use super::style::{Measures, Style};
use super::text::Font;
use super::ticks::Tick;

/// Line height of running text, in its own size.
const LEADING: f64 = 1.32;

/// The drawing of `figure`.
pub(super) fn compose(figure: &Figure, style: &Style) -> Scene {
    let style = style.sane();
    let m = Measures::new(style.font_size);
    let em = m.em;
    let margin = em;
    let inner = style.width - 2.0 * margin;
    let mut scene = Scene {
        width: style.width,
        ..Scene::default()
    };
    let panels: Vec<&Panel> = figure.panels.iter().take(MAX_PANELS).collect();

    let mut top = margin;
    let mut block = |scene: &mut Scene, lines: Vec<String>, font: Font, color: Rgb, after: f64| {
        for text in &lines {
            let at = [margin, top + font.size * (0.5 * (LEADING - 1.0) + 0.9)];
            scene.text(Label {
                at,
                anchor: Anchor::Start,
                font,
                color,
                halo: false,
                text: text.clone(),
            });
            top += font.size * LEADING;
        }
        if !lines.is_empty() {
            top += after;
        }
    };
    block(
        &mut scene,
        m.title.wrap(&figure.title, inner, 3),
        m.title,
        INK,
        0.15 * em,
    );
    let caption = figure.subtitle.as_deref().unwrap_or_default();
    block(
        &mut scene,
        m.caption.wrap(caption, inner, 3),
        m.caption,
        SOFT_INK,
        0.25 * em,
    );

    let direct = (figure.legend == Legend::Direct)
        .then(|| legend::direct_width(&panels, &m, inner))
        .flatten();
    if figure.legend != Legend::Off && (direct.is_none() || figure.muted_means.is_some()) {
        let entries = if direct.is_none() {
            legend::named(&panels)
        } else {
            Vec::new()
        };
        top = legend::draw(
            &mut scene,
            figure,
            &panels,
            entries,
            &m,
            [margin, top + 0.25 * em],
            inner,
        );
    }
    top += if top > margin { 0.75 * em } else { 0.0 };

    let columns = columns(figure.arrangement, panels.len(), inner, style.height, em);
    let rows = panels.len().div_ceil(columns).max(1);
    let gap = 2.0 * em;
    let cell = (inner - gap * (columns - 1) as f64) / columns as f64;
    let headings: Vec<Vec<String>> = panels
        .iter()
        .map(|p| m.heading.wrap(&p.y.title(), cell, 2))
        .collect();
    let heading_lines = |row: usize| {
        headings
            .chunks(columns)
            .nth(row)
            .into_iter()
            .flatten()
            .map(Vec::len)
            .max()
            .unwrap_or(0) as f64
    };
    let heading_height = |row: usize| heading_lines(row) * m.heading.size * LEADING + 0.55 * em;

    let x_title = m.heading.wrap(&figure.x.title(), inner, 2);
    let foot: Vec<String> = figure
        .footnote
        .iter()
        .take(12)
        .flat_map(|line| m.foot.wrap(line, inner, 3))
        .collect();
    let under_plot = 0.55 * em + m.tick.size * 1.1;
    let x_title_height = if x_title.is_empty() {
        0.0
    } else {
        0.35 * em + x_title.len() as f64 * m.heading.size * LEADING
    };
    let foot_height = if foot.is_empty() {
        0.0
    } else {
        0.7 * em + foot.len() as f64 * m.foot.size * LEADING
    };
    let between = 1.0 * em;
    let fixed: f64 = (0..rows).map(heading_height).sum::<f64>()
        + between * (rows - 1) as f64
        + under_plot
        + x_title_height
        + foot_height
        + margin;
    let least = least_plot(rows as f64) * em;
    let plot_height = ((style.height - top - fixed) / rows as f64).max(least);
    scene.height = libm::ceil(top + fixed + plot_height * rows as f64);

    let x = x_domain(figure, &panels);
    let y: Vec<Option<Domain>> = panels
        .iter()
        .map(|panel| y_domain(panel, x.as_ref(), figure, plot_height, em))
        .collect();
    let y_ticks: Vec<Vec<Tick>> = y
        .iter()
        .map(|y| vertical_ticks(y.as_ref(), plot_height, &m))
        .collect();
    let mut plots = (f64::INFINITY, f64::NEG_INFINITY);
    for column in 0..columns {
        let members = || (column..panels.len()).step_by(columns);
        let widest = members()
            .flat_map(|i| &y_ticks[i])
            .map(|t| m.tick.width(&t.label))
            .fold(0.0, f64::max);
        let gutter = if widest > 0.0 {
            widest + 0.55 * em
        } else {
            0.0
        };
        let left = margin + column as f64 * (cell + gap);
        let plot_width = (cell - gutter - direct.unwrap_or(0.3 * em)).max(4.0 * em);
        let x_ticks = horizontal_ticks(x.as_ref(), plot_width, &m);
        let mut row_top = top;
        for i in members() {
            let row = i / columns;
            let spare = heading_lines(row) - headings[i].len() as f64;
            for (line, text) in headings[i].iter().enumerate() {
                let baseline =
                    row_top + (spare + line as f64) * m.heading.size * LEADING + m.heading.size;
                let at = [left, baseline];
                let text = text.clone();
                scene.text(Label {
                    at,
                    anchor: Anchor::Start,
                    font: m.heading,
                    color: INK,
                    halo: false,
                    text,
                });
            }
            row_top += heading_height(row);
            let plot = Area {
                left: left + gutter,
                top: row_top,
                width: plot_width,
                height: plot_height,
            };
            plots = (plots.0.min(plot.left), plots.1.max(plot.right()));
            let last = row + 1 == rows;
            let grid = Grid {
                plot,
                x: x.as_ref(),
                y: y[i].as_ref(),
                x_ticks: &x_ticks,
                y_ticks: &y_ticks[i],
                last,
            };
            panel::draw(&mut scene, panels[i], &grid, &m);
            if direct.is_some() {
                legend::name_curves(&mut scene, panels[i], &grid, &m, style.width - margin);
            }
            row_top += plot_height + between;
        }
    }

    let mut baseline =
        scene.height - margin - foot_height - x_title_height + 0.35 * em + m.heading.size;
    for text in x_title {
        // Below the middle of the plots, unless that pushes it off the paper.
        let room = (inner - m.heading.width(&text)) / 2.0;
        let middle = if plots.0 < plots.1 {
            (plots.0 + plots.1) / 2.0
        } else {
            style.width / 2.0
        };
        let at = [
            middle.clamp(style.width / 2.0 - room, style.width / 2.0 + room),
            baseline,
        ];
        scene.text(Label {
            at,
            anchor: Anchor::Middle,
            font: m.heading,
            color: INK,
            halo: false,
            text,
        });
        baseline += m.heading.size * LEADING;
    }
    let mut baseline = scene.height - margin - foot_height + 0.7 * em + m.foot.size;
    for text in foot {
        let at = [margin, baseline];
        scene.text(Label {
            at,
            anchor: Anchor::Start,
            font: m.foot,
            color: SOFT_INK,
            halo: false,
            text,
        });
        baseline += m.foot.size * LEADING;
    }
    scene
}

/// Panels side by side. Of what the width allows, [`Arrangement::Auto`] takes the one whose plots are nearest to
/// [`ASPECT`].
fn columns(arrangement: Arrangement, panels: usize, inner: f64, height: f64, em: f64) -> usize {
    let fits = |columns: usize, least: f64| inner / columns as f64 >= least * em;
    // How far from the wanted aspect, as a factor; heights are those of a plot under the usual texts.
    let misfit = |columns: usize| {
        let rows = panels.div_ceil(columns) as f64;
        let plot_width = inner / columns as f64 - 5.0 * em;
        let plot_height = ((height - 10.0 * em) / rows - 2.5 * em).max(least_plot(rows) * em);
        libm::log(plot_width / plot_height / ASPECT).abs()
    };
    match arrangement {
        _ if panels <= 1 => 1,
        Arrangement::Column => 1,
        // A plot narrower than this cannot hold its own ticks.
        Arrangement::Row if fits(panels, 9.0) => panels,
        Arrangement::Row | Arrangement::Auto => {
            let candidates = [panels, 2, 1].into_iter();
            candidates
                .filter(|&columns| panels.is_multiple_of(columns))
                .filter(|&columns| columns == 1 || fits(columns, 15.0))
                .min_by(|&a, &b| misfit(a).total_cmp(&misfit(b)))
                .unwrap_or(1)
        }
    }
}

/// Width of a plot over its height that reads best for a curve.
const ASPECT: f64 = 1.6;

/// Least height of a plot, in em.
fn least_plot(rows: f64) -> f64 {
    if rows <= 1.0 { 9.0 } else { 7.0 }
}
