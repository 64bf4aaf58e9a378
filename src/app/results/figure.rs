//! One panel of a report figure on screen: the same value that exports draw, in the theme's colours,
//! with the nearest point told about on hover.

use super::plot::{dashed, draw_frame, short};
use super::still::{axis, still};
use crate::app::style;
use crate::app::theme::{Theme, text};
use crate::app::widgets::{dot, marker};
use crate::report::palette::{self, LIMIT};
use crate::report::ticks::{Tick, linear, log_candidates};
use crate::report::{Axis, Dash, Direction, Figure, Mark, Panel, Rgb, Scale, Series};
use eframe::egui::{
    self, Align2, Color32, FontId, Painter, Pos2, Response, RichText, Sense, Stroke, Ui, Vec2, vec2,
};
use egui_plot::{AxisHints, GridMark, HPlacement, PlotPoint, PlotTransform};

/// How far from a point the pointer may be to be told about it, points of the screen.
const REACH: f32 = 22.0;
/// Height of the line over a panel.
const HEADING: f32 = 18.0;
/// Height of the legend.
const LEGEND: f32 = 22.0;

/// Names with colour, dash and marker, of all panels' series, once each.
pub(super) fn legend_ui(ui: &mut Ui, theme: &Theme, figure: &Figure) {
    ui.horizontal_wrapped(|ui| {
        ui.set_min_height(LEGEND);
        ui.spacing_mut().item_spacing = vec2(4.0, 2.0);
        let mut named: Vec<&str> = Vec::new();
        for series in figure.panels.iter().flat_map(|panel| &panel.series) {
            if series.name.is_empty() || named.contains(&series.name.as_str()) {
                continue;
            }
            named.push(&series.name);
            let color = on_screen(theme, series.color);
            let words = RichText::new(&series.name);
            let font = egui::TextStyle::Body.resolve(ui.style());
            let galley = ui
                .painter()
                .layout_no_wrap(series.name.clone(), font, theme.text);
            // As one piece, so that a name never leaves its sign on the row before.
            let size = vec2(26.0 + 4.0 + galley.size().x + 10.0, 18.0);
            let layout = egui::Layout::left_to_right(egui::Align::Center);
            ui.allocate_ui_with_layout(size, layout, |ui| {
                ui.set_min_size(size);
                let (rect, _) = ui.allocate_exact_size(vec2(26.0, 14.0), Sense::hover());
                let ends = [rect.left_center(), rect.right_center()];
                dashed(ui.painter(), &ends, series.dash, Stroke::new(1.8, color));
                ui.painter()
                    .add(marker(series.marker, rect.center(), 3.5, color, None));
                ui.label(words);
            });
        }
    });
}

/// Points that are more than their two values.
pub(super) struct Points<'a> {
    /// Series and point to mark.
    pub(super) marked: Option<(usize, usize)>,
    /// What is told about a point, by its series and place.
    pub(super) tip: &'a dyn Fn(&mut Ui, usize, usize),
}

/// The point under the pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pointed {
    pub(super) series: usize,
    pub(super) point: usize,
    pub(super) clicked: bool,
    pub(super) twice: bool,
}

/// Draws the panel at `index`.
pub(super) fn panel_ui(ui: &mut Ui, theme: &Theme, figure: &Figure, index: usize, size: Vec2) {
    points_ui(ui, theme, figure, index, size, None);
}

/// The same with points that can be chosen; lines without markers are none.
pub(super) fn points_ui(
    ui: &mut Ui,
    theme: &Theme,
    figure: &Figure,
    index: usize,
    size: Vec2,
    points: Option<&Points<'_>>,
) -> Option<Pointed> {
    let panel = figure.panels.get(index)?;
    ui.allocate_ui(size, |ui| {
        ui.vertical(|ui| {
            ui.set_width(size.x);
            ui.spacing_mut().item_spacing.y = 2.0;
            ui.horizontal(|ui| {
                ui.set_min_height(HEADING);
                ui.spacing_mut().item_spacing.x = 4.0;
                let heading = RichText::new(&panel.y.label).family(style::medium());
                ui.label(heading.color(theme.text));
                let unit = RichText::new(&panel.y.unit).small();
                ui.label(unit.color(theme.text_muted));
            });
            plot_ui(ui, theme, figure, index, size, points)
        })
        .inner
    })
    .inner
}

fn plot_ui(
    ui: &mut Ui,
    theme: &Theme,
    figure: &Figure,
    index: usize,
    size: Vec2,
    points: Option<&Points<'_>>,
) -> Option<Pointed> {
    let panel = figure.panels.get(index)?;
    let room = size - vec2(52.0, HEADING + 44.0);
    let x = Scaled::of(&figure.x, panel, 0, room.x, 44.0);
    let y = Scaled::of(&panel.y, panel, 1, room.y, 26.0);
    let (x_marks, y_marks) = (x.marks(), y.marks());
    let (x_ticks, y_ticks) = (x.clone(), y.clone());
    let x_title = RichText::new(figure.x.title()).small();
    let plot = still(theme, ("theory", &figure.title, index))
        .x_grid_spacer(move |_| x_marks.clone())
        .y_grid_spacer(move |_| y_marks.clone())
        .custom_x_axes(vec![axis(
            theme,
            AxisHints::new_x()
                .label(x_title.color(theme.text_muted))
                .label_spacing(8.0..=12.0)
                .formatter(move |mark, _| x_ticks.label(mark.value)),
        )])
        .custom_y_axes(vec![axis(
            theme,
            AxisHints::new_y()
                .placement(HPlacement::Left)
                .min_thickness(38.0)
                .label_spacing(8.0..=12.0)
                .formatter(move |mark, _| y_ticks.label(mark.value)),
        )])
        .height(ui.available_height())
        .width(size.x);
    let shown = plot.show(ui, |plot| {
        plot.set_plot_bounds_x(x.low..=x.high);
        plot.set_plot_bounds_y(y.low..=y.high);
    });
    let painter = ui.painter().with_clip_rect(shown.response.rect);
    let drawing = Drawing {
        painter: &painter,
        theme,
        transform: &shown.transform,
        x: &x,
        y: &y,
    };
    draw_frame(&painter, &shown.transform, theme);
    for series in &panel.series {
        drawing.series(series);
    }
    drawing.marks(&panel.marks);
    let ring = |(series, point): (usize, usize)| {
        let own = panel.series.get(series)?;
        let at = drawing.place(*own.points.get(point)?)?;
        let color = on_screen(theme, own.color);
        Some(painter.circle_stroke(at, 7.0, Stroke::new(1.5, color)))
    };
    points.and_then(|own| own.marked).and_then(ring);
    let (series, point) = drawing.nearest(&shown.response, panel, points.is_some())?;
    ring((series, point));
    let pointed = Pointed {
        series,
        point,
        clicked: shown.response.clicked(),
        twice: shown.response.double_clicked(),
    };
    match points {
        Some(own) => {
            let response = shown
                .response
                .on_hover_cursor(egui::CursorIcon::PointingHand);
            response.on_hover_ui_at_pointer(|ui| (own.tip)(ui, series, point));
        }
        None => {
            let own = &panel.series[series];
            tooltip(shown.response, theme, figure, panel, own, own.points[point]);
        }
    }
    Some(pointed)
}

/// An axis with its range and ticks, in the plot's own (logarithmic or plain) numbers.
#[derive(Clone)]
struct Scaled {
    scale: Scale,
    low: f64,
    high: f64,
    ticks: Vec<Tick>,
}

impl Scaled {
    fn of(axis: &Axis, panel: &Panel, dimension: usize, room: f32, each: f32) -> Self {
        let [low, high] = axis
            .range
            .or_else(|| data_range(axis.scale, panel, dimension))
            .unwrap_or([1.0, 10.0]);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a few, and float casts saturate"
        )]
        let most = (room / each).clamp(2.0, 12.0) as usize;
        let ticks = match axis.scale {
            Scale::Linear => linear(low, high, most),
            Scale::Log10 => {
                let mut sets = log_candidates(low, high);
                let fits = sets.iter().position(|set| set.len() <= most);
                let sparsest = sets.len().saturating_sub(1);
                sets.swap_remove(fits.unwrap_or(sparsest))
            }
        };
        let mut scaled = Self {
            scale: axis.scale,
            low,
            high,
            ticks,
        };
        let ends = [scaled.map(low), scaled.map(high)];
        if let [Some(low), Some(high)] = ends {
            (scaled.low, scaled.high) = (low, high);
        }
        scaled
    }

    /// A value in the plot's numbers; none: the axis can't show it.
    fn map(&self, value: f64) -> Option<f64> {
        match self.scale {
            Scale::Linear => value.is_finite().then_some(value),
            Scale::Log10 => (value > 0.0 && value.is_finite()).then(|| libm::log10(value)),
        }
    }

    fn marks(&self) -> Vec<GridMark> {
        let step_size = (self.high - self.low) / 4.0;
        self.ticks
            .iter()
            .filter_map(|tick| self.map(tick.value))
            .map(|value| GridMark { value, step_size })
            .collect()
    }

    fn label(&self, at: f64) -> String {
        let near = |tick: &&Tick| self.map(tick.value).is_some_and(|v| (v - at).abs() < 1e-6);
        let tick = self.ticks.iter().find(near);
        tick.map(|tick| tick.label.clone()).unwrap_or_default()
    }
}

/// From the lowest to the highest value shown, with a little room; from zero on a plain axis.
fn data_range(scale: Scale, panel: &Panel, dimension: usize) -> Option<[f64; 2]> {
    let along = if dimension == 0 {
        Direction::X
    } else {
        Direction::Y
    };
    let of_marks = panel.marks.iter().filter_map(|mark| match mark {
        Mark::Line { along: of, at, .. } if *of == along => Some(*at),
        Mark::Note { at, .. } => Some(at[dimension]),
        Mark::Line { .. } => None,
    });
    let points = panel.series.iter().flat_map(|series| &series.points);
    let values: Vec<f64> = points
        .map(|point| point[dimension])
        .chain(of_marks)
        .filter(|value| value.is_finite() && (*value > 0.0 || scale == Scale::Linear))
        .collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match scale {
        _ if low > high => None,
        Scale::Linear => Some([low.min(0.0), high.max(low + 1.0) * 1.05]),
        Scale::Log10 => Some([low / 1.3, high * 1.4]),
    }
}

/// What is drawn on, and how values become places.
struct Drawing<'a> {
    painter: &'a Painter,
    theme: &'a Theme,
    transform: &'a PlotTransform,
    x: &'a Scaled,
    y: &'a Scaled,
}

impl Drawing<'_> {
    fn place(&self, [x, y]: [f64; 2]) -> Option<Pos2> {
        let point = PlotPoint::new(self.x.map(x)?, self.y.map(y)?);
        Some(self.transform.position_from_point(&point))
    }

    fn series(&self, series: &Series) {
        let painter = self.painter.with_clip_rect(*self.transform.frame());
        let color = on_screen(self.theme, series.color);
        let at: Vec<Option<Pos2>> = series.points.iter().map(|p| self.place(*p)).collect();
        for pair in at.windows(2) {
            if let [Some(a), Some(b)] = pair {
                dashed(&painter, &[*a, *b], series.dash, Stroke::new(1.8, color));
            }
        }
        // Dense clouds are read as a mass: smaller, and thinner where they are few.
        let (radius, color) = match at.len() {
            _ if series.dash != Dash::Hidden => (3.4, color),
            0..=60 => (3.0, color),
            61..=400 => (2.4, color.gamma_multiply(0.8)),
            _ => (1.7, color.gamma_multiply(0.55)),
        };
        for at in at.into_iter().flatten() {
            painter.add(marker(series.marker, at, radius, color, None));
        }
    }

    fn marks(&self, marks: &[Mark]) {
        let frame = *self.transform.frame();
        let font = FontId::proportional(text::SMALL);
        let mut row = 0_u8;
        for mark in marks {
            match mark {
                Mark::Line {
                    along,
                    at,
                    label,
                    color,
                    dash,
                } => {
                    let color = on_screen(self.theme, *color);
                    let (ends, anchor, lift) = match along {
                        Direction::X => {
                            let Some(x) = self.x.map(*at) else { continue };
                            let x = self.transform.position_from_point_x(x);
                            let ends = [Pos2::new(x, frame.top()), Pos2::new(x, frame.bottom())];
                            // Names of neighbours stand on different heights.
                            let down = 14.0 * f32::from(row % 4);
                            row = row.saturating_add(1);
                            let right = x > frame.right() - 90.0;
                            let (anchor, aside) = if right {
                                (Align2::RIGHT_TOP, -4.0)
                            } else {
                                (Align2::LEFT_TOP, 4.0)
                            };
                            (ends, anchor, vec2(aside, 2.0 + down))
                        }
                        Direction::Y => {
                            let Some(y) = self.y.map(*at) else { continue };
                            let y = self.transform.position_from_point_y(y);
                            let ends = [Pos2::new(frame.left(), y), Pos2::new(frame.right(), y)];
                            if y - frame.top() > 16.0 {
                                (ends, Align2::LEFT_BOTTOM, vec2(6.0, -2.0))
                            } else {
                                (ends, Align2::LEFT_TOP, vec2(6.0, 2.0))
                            }
                        }
                    };
                    let stroke = Stroke::new(1.2, color);
                    dashed(&self.painter.with_clip_rect(frame), &ends, *dash, stroke);
                    if let Some(label) = label {
                        self.words(ends[0] + lift, anchor, label, &font, color);
                    }
                }
                Mark::Note {
                    at,
                    text,
                    color,
                    marker: shape,
                } => {
                    let Some(at) = self.place(*at) else { continue };
                    let color = on_screen(self.theme, *color);
                    self.painter.add(marker(*shape, at, 4.2, color, None));
                    let anchor = Align2::LEFT_BOTTOM;
                    self.words(at + vec2(7.0, -3.0), anchor, text, &font, color);
                }
            }
        }
    }

    /// Words on a ground of the panel's colour, so that no line runs through them.
    fn words(&self, at: Pos2, anchor: Align2, words: &str, font: &FontId, color: Color32) {
        let ink = color.lerp_to_gamma(self.theme.text, 0.3);
        let galley = self
            .painter
            .layout_no_wrap(words.to_owned(), font.clone(), ink);
        let rect = anchor.anchor_size(at, galley.size());
        let ground = self.theme.panel.gamma_multiply(0.8);
        self.painter.rect_filled(rect.expand(1.0), 2.0, ground);
        self.painter.galley(rect.min, galley, ink);
    }

    /// The nearest point in reach: its series and its place there.
    fn nearest(&self, response: &Response, panel: &Panel, marked: bool) -> Option<(usize, usize)> {
        let pointer = response.hover_pos()?;
        panel
            .series
            .iter()
            .enumerate()
            .filter(|(_, series)| !marked || series.marker != crate::report::Marker::None)
            .flat_map(|(at, series)| {
                let points = series.points.iter().enumerate();
                points.map(move |(place, point)| (at, place, *point))
            })
            .filter_map(|(series, place, point)| {
                let distance = self.place(point)?.distance(pointer);
                (distance <= REACH).then_some((series, place, distance))
            })
            .min_by(|a, b| a.2.total_cmp(&b.2))
            .map(|(series, place, _)| (series, place))
    }
}

fn tooltip(
    response: Response,
    theme: &Theme,
    figure: &Figure,
    panel: &Panel,
    series: &Series,
    point: [f64; 2],
) {
    response.on_hover_ui_at_pointer(|ui| {
        ui.spacing_mut().item_spacing.y = 2.0;
        ui.horizontal(|ui| {
            dot(ui, on_screen(theme, series.color));
            ui.label(RichText::new(&series.name).family(style::medium()));
        });
        egui::Grid::new("point").num_columns(2).show(ui, |ui| {
            for (axis, value) in [(&figure.x, point[0]), (&panel.y, point[1])] {
                let what = RichText::new(&axis.label).small().color(theme.text_muted);
                ui.label(what);
                let value = format!("{} {}", short(value), axis.unit);
                ui.label(RichText::new(value).small());
                ui.end_row();
            }
        });
    });
}

/// A colour of the report in the theme's tone.
fn on_screen(theme: &Theme, color: Rgb) -> Color32 {
    if color == palette::SOFT_INK {
        return theme.text_muted;
    }
    let tones = palette::SERIES.iter().map(|look| look.tone);
    let tone = tones.chain([LIMIT]).find(|tone| tone.on_light == color);
    match tone {
        Some(tone) if theme.dark => style::color(tone.on_dark),
        _ => style::color(color),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_series_colour_has_a_tone_for_the_dark() {
        for look in palette::SERIES {
            let dark = on_screen(&Theme::dark(), look.tone.on_light);
            assert_eq!(dark, style::color(look.tone.on_dark));
            let light = on_screen(&Theme::light(), look.tone.on_light);
            assert_eq!(light, style::color(look.tone.on_light));
        }
    }

    #[test]
    fn ticks_of_a_logarithmic_axis_are_found_where_they_are_drawn() {
        let panel = Panel::new(
            Axis::log10("y", ""),
            vec![Series::of_design(
                0,
                "a",
                vec![[1024.0, 0.02], [131_072.0, 2.0]],
            )],
        );
        let axis = Scaled::of(&Axis::log10("x", ""), &panel, 0, 400.0, 44.0);
        let marks = axis.marks();
        assert!(marks.len() >= 2);
        assert!(marks.iter().all(|mark| !axis.label(mark.value).is_empty()));
        assert!(
            axis.low < 3.02 && axis.high > 5.11,
            "{} {}",
            axis.low,
            axis.high
        );
    }
}
