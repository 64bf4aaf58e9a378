//! Where everything in a figure goes.
//!
//! From the top: title, caption, legend, the grid of panels with the common x axis, footnotes. Heights of texts are
//! known first (they depend on the width only); the panels share what is left, and the figure grows where that is too
//! little. Distances are in em of the base font size, so a figure looks the same at any size.

use super::figure::{
    Arrangement, Dash, Direction, Figure, Legend, MAX_PANELS, Mark, Marker, Panel, Scale, Series,
};
use super::fonts::{CAP_HEIGHT, Weight};
use super::palette::{AXIS, INK, Rgb, SOFT_INK};
use super::panel::{self, Grid};
use super::scale::{Domain, Rounding};
use super::scene::{Anchor, Area, Item, Label, Pen, Scene};
use super::text::Font;
use super::ticks::Tick;

/// Size of a drawing on paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    /// Width in CSS pixels (96 to the inch).
    pub width: f64,
    /// Least height in CSS pixels; the drawing grows where texts need more.
    pub height: f64,
    /// Size of headings and legend; ticks and footnotes are smaller, the title larger.
    pub font_size: f64,
}

impl Style {
    /// A wide figure for a screen or a report.
    pub const WIDE: Self = Self {
        width: 1000.0,
        height: 380.0,
        font_size: 13.0,
    };
    /// One column of a two-column paper: 86 mm wide, texts of 7.5 pt.
    pub const PAPER_COLUMN: Self = Self {
        width: 325.0,
        height: 240.0,
        font_size: 10.0,
    };
    /// Both columns of a two-column paper: 178 mm wide, texts of 7.5 pt.
    pub const PAPER_PAGE: Self = Self {
        width: 673.0,
        height: 220.0,
        font_size: 10.0,
    };
    /// A slide of 16:9.
    pub const SLIDE: Self = Self {
        width: 1280.0,
        height: 720.0,
        font_size: 20.0,
    };

    /// The nearest style that can be drawn: finite, no side beyond 16,384, and at least 18 em wide.
    fn sane(self) -> Self {
        let or = |value: f64, default: f64| if value.is_finite() { value } else { default };
        let font_size = or(self.font_size, Self::WIDE.font_size).clamp(4.0, 200.0);
        Self {
            width: or(self.width, Self::WIDE.width).clamp(18.0 * font_size, 16_384.0),
            height: or(self.height, Self::WIDE.height).clamp(font_size, 16_384.0),
            font_size,
        }
    }
}

impl Default for Style {
    fn default() -> Self {
        Self::WIDE
    }
}

/// Sizes that follow from the font size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measures {
    pub(super) em: f64,
    pub(super) title: Font,
    pub(super) caption: Font,
    pub(super) heading: Font,
    pub(super) tick: Font,
    pub(super) note: Font,
    pub(super) foot: Font,
    pub(super) curve: f64,
    pub(super) hairline: f64,
    pub(super) radius: f64,
}

impl Measures {
    fn new(em: f64) -> Self {
        let font = |weight, size: f64| Font {
            weight,
            size: size * em,
        };
        Self {
            em,
            title: font(Weight::SemiBold, 1.3),
            caption: font(Weight::Regular, 1.0),
            heading: font(Weight::Medium, 1.0),
            tick: font(Weight::Regular, 0.88),
            note: font(Weight::Medium, 0.85),
            foot: font(Weight::Regular, 0.8),
            curve: 0.14 * em,
            hairline: 0.065 * em,
            radius: 0.3 * em,
        }
    }
}

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
        .then(|| direct_width(&panels, &m, inner))
        .flatten();
    if figure.legend != Legend::Off && (direct.is_none() || figure.muted_means.is_some()) {
        let entries = if direct.is_none() {
            named(&panels)
        } else {
            Vec::new()
        };
        top = legend(
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

    let columns = columns(figure.arrangement, panels.len(), inner, em);
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
    let least = if rows == 1 { 9.0 * em } else { 7.0 * em };
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
                panel::name_curves(&mut scene, panels[i], &grid, &m, style.width - margin);
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

/// Panels side by side.
fn columns(arrangement: Arrangement, panels: usize, inner: f64, em: f64) -> usize {
    let fits = |columns: usize| inner / columns as f64 >= 15.0 * em;
    match arrangement {
        _ if panels <= 1 => 1,
        Arrangement::Column => 1,
        // A plot narrower than this cannot hold its own ticks.
        Arrangement::Row if inner / panels as f64 >= 9.0 * em => panels,
        _ if fits(panels) => panels,
        _ if panels == 4 && fits(2) => 2,
        _ => 1,
    }
}

/// The series to name: the first of each name.
fn named<'a>(panels: &[&'a Panel]) -> Vec<&'a Series> {
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
fn direct_width(panels: &[&Panel], m: &Measures, inner: f64) -> Option<f64> {
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
fn legend(
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

/// What a mark adds to the values along an axis.
fn hints(panel: &Panel, direction: Direction) -> impl Iterator<Item = f64> + '_ {
    let marks = panel.marks.iter().filter_map(move |mark| match mark {
        Mark::Line { along, at, .. } => (*along == direction).then_some(*at),
        Mark::Note { at, .. } => Some(at[usize::from(direction == Direction::Y)]),
    });
    let bands = panel
        .bands
        .iter()
        .filter(move |band| band.along == direction)
        .flat_map(|band| [band.from, band.to]);
    marks.chain(bands)
}

fn x_domain(figure: &Figure, panels: &[&Panel]) -> Option<Domain> {
    let shown = |panel: &Panel, y: f64| Domain::shows(panel.y.scale, y);
    let values = panels.iter().flat_map(|panel| {
        let points = panel.series.iter().flat_map(|s| &s.points);
        points.filter(|p| shown(panel, p[1])).map(|p| p[0])
    });
    let hints = panels.iter().flat_map(|panel| hints(panel, Direction::X));
    Domain::of(&figure.x, values, hints, Rounding::Pad)
}

/// The y range of the points that the x axis shows.
fn y_domain(
    panel: &Panel,
    x: Option<&Domain>,
    figure: &Figure,
    height: f64,
    em: f64,
) -> Option<Domain> {
    let visible = |at: f64| match (x, figure.x.range) {
        (Some(x), Some(_)) => x
            .fraction(at)
            .is_some_and(|f| (-1e-9..=1.0 + 1e-9).contains(&f)),
        _ => Domain::shows(figure.x.scale, at),
    };
    let points = panel
        .series
        .iter()
        .flat_map(|s| &s.points)
        .filter(|p| visible(p[0]))
        .map(|p| p[1]);
    let bands = panel
        .series
        .iter()
        .flat_map(|s| s.band.iter().flatten())
        .filter(|b| visible(b[0]));
    let values = points.chain(bands.flat_map(|b| [b[1], b[2]]));
    Domain::of(
        &panel.y,
        values,
        hints(panel, Direction::Y),
        Rounding::ToTick(vertical_count(height, em)),
    )
}

fn vertical_count(height: f64, em: f64) -> usize {
    (height / (2.1 * em)).clamp(2.0, 8.0) as usize
}

fn vertical_ticks(domain: Option<&Domain>, height: f64, m: &Measures) -> Vec<Tick> {
    let Some(domain) = domain else {
        return Vec::new();
    };
    let apart = |set: &[Tick]| {
        let places: Vec<f64> = set
            .iter()
            .filter_map(|t| domain.fraction(t.value))
            .map(|f| f * height)
            .collect();
        places
            .windows(2)
            .all(|pair| pair[1] - pair[0] >= 1.35 * m.tick.size)
    };
    let count = match domain.scale() {
        Scale::Linear => vertical_count(height, m.em),
        Scale::Log10 => 12,
    };
    domain.ticks(count, apart)
}

fn horizontal_ticks(domain: Option<&Domain>, width: f64, m: &Measures) -> Vec<Tick> {
    let Some(domain) = domain else {
        return Vec::new();
    };
    let apart = |set: &[Tick]| {
        let mut end = f64::NEG_INFINITY;
        set.iter().all(|tick| {
            let half = m.tick.width(&tick.label) / 2.0;
            let middle = domain.fraction(tick.value).unwrap_or(0.0) * width;
            let free = middle - half >= end + 0.8 * m.tick.size;
            end = middle + half;
            free
        })
    };
    let count = (width / (2.4 * m.em)).clamp(2.0, 12.0) as usize;
    domain.ticks(
        if domain.scale() == Scale::Linear {
            count
        } else {
            16
        },
        apart,
    )
}

/// The pen of axis lines.
pub(super) fn axis_pen(m: &Measures) -> Pen {
    Pen::solid(AXIS, m.hairline)
}
