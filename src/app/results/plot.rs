//! One small plot: curves with dashes and markers, the limit as a line, the nearest point on hover.

use super::Hovered;
use super::curve::is_on;
use super::still::{axis, still};
use crate::app::outcome::Freshness;
use crate::app::style;
use crate::app::theme::Theme;
use crate::app::widgets::marker;
use crate::jobs::CurvePoint;
use crate::report::Dash;
use crate::report::palette::SeriesLook;
use crate::report::ticks::{Tick, linear, nice_step};
use crate::report::{LoadKind, Metric, Statistic, axis_top};
use crate::validation::Band;
use eframe::egui::{
    self, Align, Color32, FontId, Layout, Painter, Pos2, Response, RichText, Shape, Stroke, Ui,
    Vec2, vec2,
};
use egui_plot::{AxisHints, GridMark, HPlacement, PlotPoint, PlotTransform};
use std::ops::RangeInclusive;

/// How far from a point the pointer may be to be told about it, points of the screen.
const REACH: f32 = 26.0;
/// Height of the line over a plot.
const HEADING: f32 = 18.0;
/// How far below the plot's top the points beyond it are marked.
const EDGE: f32 = 6.0;

/// One design's curve in one plot.
pub(super) struct Curve<'a> {
    pub(super) index: usize,
    pub(super) name: &'a str,
    pub(super) color: Color32,
    pub(super) look: SeriesLook,
    pub(super) points: Vec<[f64; 2]>,
    /// What each point stands for, as far as it is known; empty: it is not.
    pub(super) bands: Vec<Option<Band>>,
    pub(super) runs: &'a [CurvePoint],
    pub(super) freshness: Freshness,
}

/// One plot.
pub(super) struct PlotSpec<'a> {
    pub(super) metric: Metric,
    pub(super) statistic: Statistic,
    pub(super) load: LoadKind,
    pub(super) limit: Option<f64>,
    pub(super) theme: &'a Theme,
    pub(super) curves: Vec<Curve<'a>>,
}

impl PlotSpec<'_> {
    /// Whether a point lies above the plot.
    pub(super) fn is_cut(&self) -> bool {
        let (_, y) = bounds(self, 2);
        let mut points = self.curves.iter().flat_map(|curve| &curve.points);
        points.any(|[_, value]| value.is_finite() && value > y.end())
    }
}

/// Draws it; the point under the pointer.
pub(super) fn plot_ui(
    ui: &mut Ui,
    spec: &PlotSpec<'_>,
    size: Vec2,
    hovered: Option<Hovered>,
) -> Option<Hovered> {
    let theme = spec.theme;
    ui.allocate_ui(size, |ui| {
        ui.vertical(|ui| {
            ui.set_width(size.x);
            ui.spacing_mut().item_spacing.y = 2.0;
            let counts = tick_counts(size - vec2(0.0, HEADING));
            let (x, y) = bounds(spec, counts[0]);
            ui.horizontal(|ui| {
                ui.set_min_height(HEADING);
                ui.spacing_mut().item_spacing.x = 4.0;
                ui.label(
                    RichText::new(spec.metric.name(spec.statistic))
                        .family(style::medium())
                        .color(theme.text),
                );
                ui.label(
                    RichText::new(spec.metric.unit())
                        .small()
                        .color(theme.text_muted),
                );
                if let Some(limit) = spec.limit.filter(|limit| limit > y.end()) {
                    // Drawn, it would squeeze the curves.
                    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                        let words = format!("limit {} ms ↑", short(limit));
                        ui.label(RichText::new(words).small().color(theme.error));
                    });
                }
            });
            let unit = spec.load.unit();
            let x_label = if unit.is_empty() {
                spec.load.name().to_owned()
            } else {
                format!("{} ({unit})", spec.load.name())
            };
            let x_label = RichText::new(x_label).small().color(theme.text_muted);
            let plot = still(theme, ("results", spec.metric.name(Statistic::Mean)))
                .x_grid_spacer(move |input| marks(input.bounds, counts[0]))
                .y_grid_spacer(move |input| marks(input.bounds, counts[1]))
                .custom_x_axes(vec![axis(
                    theme,
                    AxisHints::new_x()
                        .label(x_label)
                        .label_spacing(16.0..=24.0)
                        .formatter(move |mark, range| tick_label(mark.value, range, counts[0])),
                )])
                .custom_y_axes(vec![axis(
                    theme,
                    AxisHints::new_y()
                        .placement(HPlacement::Left)
                        .min_thickness(38.0)
                        .label_spacing(12.0..=16.0)
                        .formatter(move |mark, range| tick_label(mark.value, range, counts[1])),
                )])
                .height(ui.available_height())
                .width(size.x);
            let shown = plot.show(ui, |plot| {
                plot.set_plot_bounds_x(x);
                plot.set_plot_bounds_y(y);
            });
            let painter = ui.painter().with_clip_rect(shown.response.rect);
            let to_screen = &shown.transform;
            draw_frame(&painter, &shown.transform, theme);
            draw_limit(&painter, to_screen, spec);
            for curve in &spec.curves {
                super::band::draw_band(&painter, to_screen, curve);
            }
            for curve in &spec.curves {
                draw_curve(&painter, to_screen, curve, spec, hovered);
            }
            let found = nearest(&shown.response, to_screen, spec);
            if let Some(found) = found {
                tooltip(shown.response, spec, found);
            }
            found
        })
        .inner
    })
    .inner
}

/// About how many ticks there is room for, across and up.
fn tick_counts(room: Vec2) -> [usize; 2] {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a few, and float casts saturate"
    )]
    let fit = |room: f32, each: f32| (room / each).clamp(2.0, 8.0) as usize;
    [fit(room.x - 40.0, 28.0), fit(room.y - 40.0, 23.0)]
}

/// Round values across an axis, as exports have them.
fn marks((low, high): (f64, f64), count: usize) -> Vec<GridMark> {
    let step_size = nice_step(high - low, count);
    linear(low, high, count)
        .into_iter()
        .map(|tick| GridMark {
            value: tick.value,
            step_size,
        })
        .collect()
}

/// What a tick says; all of an axis share decimals and suffix.
fn tick_label(value: f64, range: &RangeInclusive<f64>, count: usize) -> String {
    let step = nice_step(range.end() - range.start(), count);
    let near = |tick: &Tick| (tick.value - value).abs() < step * 1e-3;
    linear(*range.start(), *range.end(), count)
        .into_iter()
        .find(near)
        .map_or_else(|| short(value), |tick| tick.label)
}

/// From zero; across to the tick after the last point, up to where [`axis_top`] says.
fn bounds(spec: &PlotSpec<'_>, x_ticks: usize) -> (RangeInclusive<f64>, RangeInclusive<f64>) {
    let all = || {
        spec.curves
            .iter()
            .flat_map(|c| c.points.iter().zip(c.runs))
            .filter(|(p, _)| p[1].is_finite())
    };
    let right = all().map(|(p, _)| p[0]).fold(0.0, f64::max);
    let values = all().map(|(p, run)| (p[1], run.summary.saturated));
    let top = axis_top(values, spec.limit).unwrap_or(1.0);
    (0.0..=last_tick(right, x_ticks), 0.0..=top)
}

/// The first tick at or after the last value, if it is near, and no point on the very edge.
fn last_tick(right: f64, ticks: usize) -> f64 {
    if right <= 0.0 {
        return 1.0;
    }
    let step = nice_step(right, ticks);
    let tick = (right / step - 1e-9).ceil() * step;
    let edge = right * 1.025;
    if tick > right * 1.15 {
        edge
    } else {
        tick.max(edge)
    }
}

pub(super) fn position(to_screen: &PlotTransform, [x, y]: [f64; 2]) -> Option<Pos2> {
    (x.is_finite() && y.is_finite()).then(|| to_screen.position_from_point(&PlotPoint::new(x, y)))
}

/// Where a point is marked: beyond the top, at the edge above it; and whether it is beyond.
fn marked(to_screen: &PlotTransform, point: [f64; 2]) -> Option<(Pos2, bool)> {
    let at = position(to_screen, point)?;
    let edge = to_screen.frame().top() + EDGE;
    if at.y < to_screen.frame().top() {
        Some((Pos2::new(at.x, edge), true))
    } else {
        Some((at, false))
    }
}

/// The part of a line that is below the plot's top.
fn below(top: f32, [a, b]: [Pos2; 2]) -> Option<[Pos2; 2]> {
    let at_top = |from: Pos2, to: Pos2| from.lerp(to, (top - from.y) / (to.y - from.y));
    match (a.y < top, b.y < top) {
        (true, true) => None,
        (false, false) => Some([a, b]),
        (false, true) => Some([a, at_top(a, b)]),
        (true, false) => Some([at_top(a, b), b]),
    }
}

/// An arrow, so that no series' marker is taken for it: the curve goes on above the plot.
pub(super) fn beyond(painter: &Painter, at: Pos2, color: Color32, hollow: Option<Color32>) {
    let corners = [(0.0, -5.0), (3.4, 0.6), (-3.4, 0.6)];
    let points = corners.iter().map(|(x, y)| at + vec2(*x, *y)).collect();
    let stem = [at + vec2(0.0, 0.6), at + vec2(0.0, 5.5)];
    painter.line_segment(stem, Stroke::new(1.8, color));
    painter.add(Shape::convex_polygon(
        points,
        hollow.unwrap_or(color),
        Stroke::new(1.3, color),
    ));
}

/// The two axes as hairlines.
pub(super) fn draw_frame(painter: &Painter, to_screen: &PlotTransform, theme: &Theme) {
    let frame = *to_screen.frame();
    let stroke = Stroke::new(1.0, theme.text_muted.gamma_multiply(0.6));
    painter.vline(frame.left(), frame.y_range(), stroke);
    painter.hline(frame.x_range(), frame.bottom() - 0.5, stroke);
}

fn draw_limit(painter: &Painter, to_screen: &PlotTransform, spec: &PlotSpec<'_>) {
    let Some(limit) = spec.limit else { return };
    let frame = *to_screen.frame();
    let y = to_screen.position_from_point_y(limit);
    let theme = spec.theme;
    if y < frame.top() {
        // Far above: the heading says it.
        return;
    }
    let ends = [Pos2::new(frame.left(), y), Pos2::new(frame.right(), y)];
    dashed(painter, &ends, Dash::Dashed, Stroke::new(1.2, theme.error));
    let roomy = y - frame.top() > 18.0;
    let (lift, align) = if roomy {
        (-2.0, egui::Align2::LEFT_BOTTOM)
    } else {
        (2.0, egui::Align2::LEFT_TOP)
    };
    painter.text(
        ends[0] + egui::vec2(6.0, lift),
        align,
        format!("limit {} ms", short(limit)),
        FontId::proportional(crate::app::theme::text::SMALL),
        theme.error,
    );
}

/// How much of a curve shows through while its points are of coarser runs or of an earlier design.
pub(super) const fn strength(freshness: Freshness) -> f32 {
    match freshness {
        Freshness::Fine => 1.0,
        Freshness::Coarse => 0.55,
        Freshness::Stale => 0.3,
    }
}

fn draw_curve(
    painter: &Painter,
    to_screen: &PlotTransform,
    curve: &Curve<'_>,
    spec: &PlotSpec<'_>,
    hovered: Option<Hovered>,
) {
    let color = curve.color.gamma_multiply(strength(curve.freshness));
    let faint = color.gamma_multiply(0.45);
    let at: Vec<Option<Pos2>> = curve
        .points
        .iter()
        .map(|p| position(to_screen, *p))
        .collect();
    for (i, pair) in at.windows(2).enumerate() {
        let visible = |ends| below(to_screen.frame().top(), ends);
        if let [Some(a), Some(b)] = pair
            && let Some(ends) = visible([*a, *b])
        {
            let saturated = curve.runs.get(i + 1).is_some_and(|r| r.summary.saturated);
            let stroke = Stroke::new(1.8, if saturated { faint } else { color });
            dashed(painter, &ends, curve.look.dash, stroke);
        }
    }
    for (i, point) in curve.points.iter().enumerate() {
        let Some((pos, is_beyond)) = marked(to_screen, *point) else {
            continue;
        };
        let saturated = curve.runs.get(i).is_some_and(|r| r.summary.saturated);
        let hollow = saturated.then_some(spec.theme.panel);
        let band = curve.bands.get(i).copied().flatten();
        if is_beyond {
            beyond(painter, pos, color, hollow);
        } else if !band.is_some_and(|band| band.near_saturation) {
            painter.add(marker(curve.look.marker, pos, 3.6, color, hollow));
        }
        if is_on(hovered, curve.index, i) {
            painter.circle_stroke(pos, 7.5, Stroke::new(1.5, curve.color));
        }
    }
}

/// A line with a series' dash.
pub(super) fn dashed(painter: &Painter, ends: &[Pos2; 2], dash: Dash, stroke: Stroke) {
    let shapes = match dash {
        Dash::Hidden => return,
        Dash::Solid => vec![Shape::line_segment(*ends, stroke)],
        Dash::Dashed => Shape::dashed_line(ends, stroke, 7.0, 4.0),
        Dash::Dotted => Shape::dotted_line(ends, stroke.color, 4.5, stroke.width * 0.65),
        Dash::DashDot => {
            Shape::dashed_line_with_offset(ends, stroke, &[8.0, 2.0], &[4.0, 4.0], 0.0)
        }
    };
    painter.extend(shapes);
}

fn nearest(response: &Response, to_screen: &PlotTransform, spec: &PlotSpec<'_>) -> Option<Hovered> {
    let pointer = response.hover_pos()?;
    let frame = *to_screen.frame();
    spec.curves
        .iter()
        .flat_map(|curve| {
            curve
                .points
                .iter()
                .enumerate()
                .filter_map(move |(point, p)| {
                    let (pos, _) = marked(to_screen, *p)
                        .filter(|(pos, _)| frame.expand(4.0).contains(*pos))?;
                    let hovered = Hovered {
                        design: curve.index,
                        point,
                    };
                    Some((hovered, pos.distance(pointer)))
                })
        })
        .filter(|(_, distance)| *distance <= REACH)
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(hovered, _)| hovered)
}

fn tooltip(response: Response, spec: &PlotSpec<'_>, at: Hovered) {
    let Some(curve) = spec.curves.iter().find(|c| c.index == at.design) else {
        return;
    };
    let Some(run) = curve.runs.get(at.point) else {
        return;
    };
    let summary = &run.summary;
    let theme = spec.theme;
    response.on_hover_ui_at_pointer(|ui| {
        ui.spacing_mut().item_spacing.y = 2.0;
        ui.spacing_mut().interact_size.y = 15.0;
        ui.horizontal(|ui| {
            crate::app::widgets::dot(ui, curve.color);
            ui.label(RichText::new(curve.name).family(style::medium()));
        });
        let load = format!("{} {}", short(curve.points[at.point][0]), spec.load.unit());
        let mut lines = vec![(spec.load.name().to_owned(), load)];
        for metric in Metric::ALL {
            let value = metric.of(summary, spec.statistic);
            let text = if value.is_finite() {
                format!("{} {}", short(value), metric.unit())
            } else {
                "–".to_owned()
            };
            lines.push((metric.name(spec.statistic), text));
        }
        lines.push((
            "Completed".to_owned(),
            format!(
                "{} of {}",
                summary.requests.completed, summary.requests.arrived
            ),
        ));
        egui::Grid::new("tooltip").num_columns(2).show(ui, |ui| {
            for (what, value) in lines {
                ui.label(RichText::new(what).small().color(theme.text_muted));
                ui.label(RichText::new(value).small());
                ui.end_row();
            }
        });
        if let Some(band) = curve.bands.get(at.point).copied().flatten() {
            let high = if band.high.is_finite() {
                format!("{} {}", short(band.high), spec.metric.unit())
            } else {
                "more than is served".to_owned()
            };
            let words = format!("Likely from {} to {high}", short(band.low));
            ui.label(RichText::new(words).small().color(theme.text_muted));
        }
        if summary.saturated {
            ui.label(
                RichText::new("Saturated: queues grow")
                    .small()
                    .color(theme.warning),
            );
        }
    });
}

/// A number with three digits that matter: `1.2k`, `412`, `24.1`, `0.35`.
#[must_use]
pub(super) fn short(value: f64) -> String {
    let trim = |text: String| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text
        }
    };
    match value.abs() {
        a if a >= 999_500.0 => trim(format!("{:.2}", value / 1e6)) + "M",
        a if a >= 9_995.0 => trim(format!("{:.1}", value / 1e3)) + "k",
        a if a >= 99.95 => format!("{value:.0}"),
        a if a >= 9.995 => trim(format!("{value:.1}")),
        a if a >= 0.0995 || a == 0.0 => trim(format!("{value:.2}")),
        _ => trim(format!("{value:.4}")),
    }
}

/// Whether a series of this look can be told apart without colour.
#[cfg(test)]
fn has_second_sign(look: SeriesLook) -> bool {
    look.dash != Dash::Hidden && look.marker != crate::report::Marker::None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits_that_matter() {
        for (value, text) in [
            (0.0, "0"),
            (0.35, "0.35"),
            (24.14, "24.1"),
            (412.3, "412"),
            (1200.0, "1200"),
            (12_340.0, "12.3k"),
            (2_500_000.0, "2.5M"),
        ] {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn an_axis_ends_soon_after_its_points() {
        for (right, ticks) in [(188.0, 5), (9.3, 5), (11_400.0, 8), (0.7, 4), (200.0, 5)] {
            let end = last_tick(right, ticks);
            assert!(end > right && end < right * 1.16, "{right}: {end}");
        }
        assert_eq!(last_tick(188.0, 6), 200.0);
        assert!(last_tick(0.0, 5) > 0.0);
    }

    #[test]
    fn lines_end_at_the_top_and_ticks_read_alike() {
        let (low, high) = (Pos2::new(0.0, 100.0), Pos2::new(10.0, -100.0));
        assert_eq!(below(0.0, [low, high]), Some([low, Pos2::new(5.0, 0.0)]));
        assert_eq!(below(0.0, [high, low]), Some([Pos2::new(5.0, 0.0), low]));
        assert_eq!(below(0.0, [high, high]), None);
        let label = |value| tick_label(value, &(0.0..=12_000.0), 6);
        assert_eq!(
            [label(0.0), label(2000.0), label(12_000.0)],
            ["0", "2k", "12k"]
        );
    }

    #[test]
    fn designs_differ_by_more_than_colour() {
        assert!((0..12).all(|i| has_second_sign(crate::report::palette::series(i))));
    }
}
