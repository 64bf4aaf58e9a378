//! Three small plots side by side: TTFT, TPOT and throughput per GPU against load, all designs
//! overlaid in the colour, dash and marker that exports use too.

use super::plot::{Curve, PlotSpec, plot_ui};
use super::{Hovered, Line, ResultsView, Shown, empty_ui, provenance_ui, what_to_do};
use crate::app::command::{Action, Actions};
use crate::app::outcome::Freshness;
use crate::app::theme::space;
use crate::app::widgets::{marker, sentence};
use crate::app::{starter, style};
use crate::report::palette;
use crate::report::{Metric, Statistic, load_value};
use crate::validation::{At, Side, Validated, bands, rank};
use eframe::egui::{self, Button, RichText, Sense, Ui, vec2};
use std::sync::Arc;

pub(super) fn curve_ui(
    ui: &mut Ui,
    view: &mut ResultsView,
    shown: &Shown<'_>,
    actions: &mut Actions,
) {
    let theme = shown.theme();
    if shown.lines.iter().all(|line| line.points.is_empty()) {
        let (title, words) = what_to_do(shown);
        empty_ui(ui, theme, &title, &words);
        return;
    }
    let specs = Metric::ALL.map(|metric| spec(metric, view, shown));
    legend_ui(ui, shown, specs.iter().any(PlotSpec::is_cut), actions);
    let footer = 36.0;
    let height = (ui.available_height() - footer - space::XS).max(80.0);
    let gap = 14.0;
    let width = ((ui.available_width() - 2.0 * gap) / 3.0).max(120.0);
    let mut hovered = None;
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = gap;
        for spec in &specs {
            if let Some(found) = plot_ui(ui, spec, vec2(width, height), view.hovered) {
                hovered = Some(found);
            }
        }
    });
    if view.hovered != hovered {
        view.hovered = hovered;
        // The other plots mark the same point.
        ui.ctx().request_repaint();
    }
    validated_ui(ui, shown);
    provenance_ui(ui, shown);
}

fn spec<'a>(metric: Metric, view: &ResultsView, shown: &'a Shown<'a>) -> PlotSpec<'a> {
    let statistic = view.statistic(shown.project());
    let theme = shown.theme();
    let curves = shown
        .lines
        .iter()
        .filter(|line| !line.points.is_empty())
        .map(|line| Curve {
            index: line.index,
            name: &line.design.name,
            color: style::design_color(theme, line.index),
            look: palette::series(line.index),
            points: line
                .points
                .iter()
                .map(|p| [load_value(p.load), metric.of(&p.summary, statistic)])
                .collect(),
            bands: line_bands(line, metric, statistic),
            runs: line.points,
            freshness: line.freshness,
        })
        .collect();
    PlotSpec {
        metric,
        statistic,
        load: shown.load_kind(),
        limit: metric.limit(&shown.project().slo),
        theme,
        curves,
    }
}

/// A latency over loads.
fn over_loads(line: &Line<'_>, metric: Metric, statistic: Statistic) -> Vec<At> {
    let at = |point: &crate::jobs::CurvePoint| At {
        load: load_value(point.load),
        value: metric.of(&point.summary, statistic),
        saturated: point.summary.saturated,
    };
    line.points.iter().map(at).collect()
}

/// What a curve's points stand for by what its kind is known to be off by; of throughput nothing is.
fn line_bands(
    line: &Line<'_>,
    metric: Metric,
    statistic: Statistic,
) -> Vec<Option<crate::validation::Band>> {
    let validated = line.outcome.and_then(|own| own.validated.as_deref());
    let factors = validated.and_then(|own| match metric {
        Metric::Ttft => own.ttft(),
        Metric::Tpot => own.tpot(),
        Metric::TokensPerGpu => None,
    });
    match (factors, validated.and_then(Validated::tpot)) {
        (Some(own), Some(capacity)) => bands(&over_loads(line, metric, statistic), own, capacity),
        _ => Vec::new(),
    }
}

/// A design's name, its TPOT over loads, and what is known of its kind.
type Known = (String, Vec<At>, Option<Arc<Validated>>);

fn side((name, points, validated): &Known) -> Side<'_> {
    Side {
        name,
        points,
        validated: validated.as_deref(),
    }
}

/// What the predictions of the design in view are known to be off by, and whether it can be ranked
/// beside the nearest of the others.
fn validated_ui(ui: &mut Ui, shown: &Shown<'_>) {
    let theme = shown.theme();
    let validated = |line: &Line<'_>| line.outcome.and_then(|own| own.validated.clone());
    let mut own = None;
    let mut others = Vec::new();
    for line in shown.lines.iter().filter(|line| !line.points.is_empty()) {
        let side = (
            starter::letter(line.index),
            over_loads(line, Metric::Tpot, Statistic::Mean),
            validated(line),
        );
        if line.design.id == shown.inspected.design.id {
            own = Some(side);
        } else {
            others.push(side);
        }
    }
    let Some(own) = own else { return };
    let nearest = others
        .iter()
        .filter_map(|other| rank(&side(&own), &side(other)))
        .min_by(|a, b| a.apart.total_cmp(&b.apart));
    let ranking = nearest.map(|own| own.words());
    let errors = own.2.as_ref().map(|own| own.words());
    let parts: Vec<String> = ranking.into_iter().chain(errors).collect();
    if parts.is_empty() {
        return;
    }
    let words = sentence(&parts.join(" · "));
    let exact = own.2.as_ref().is_some_and(|own| own.group.is_some());
    let color = if exact { theme.text } else { theme.warning };
    let text = RichText::new(words.as_str()).small().color(color);
    ui.add(egui::Label::new(text).truncate())
        .on_hover_text(words);
}

/// Designs by colour, dash and marker; a click brings one into view.
fn legend_ui(ui: &mut Ui, shown: &Shown<'_>, cut: bool, actions: &mut Actions) {
    let theme = shown.theme();
    ui.horizontal(|ui| {
        ui.set_min_height(20.0);
        ui.spacing_mut().item_spacing.x = space::XS;
        for line in &shown.lines {
            let color = style::design_color(theme, line.index);
            let look = palette::series(line.index);
            let (rect, _) = ui.allocate_exact_size(vec2(26.0, 14.0), Sense::hover());
            let ends = [rect.left_center(), rect.right_center()];
            super::plot::dashed(
                ui.painter(),
                &ends,
                look.dash,
                egui::Stroke::new(1.8, color),
            );
            ui.painter()
                .add(marker(look.marker, rect.center(), 3.5, color, None));
            let words = format!("{} {}", starter::letter(line.index), line.design.name);
            let mut text = RichText::new(words).color(theme.text);
            if line.design.id == shown.inspected.design.id {
                text = text.family(style::medium());
            }
            if ui.add(Button::new(text).frame(false)).clicked() {
                actions.push(Action::Show(line.design.id.clone()));
            }
            let note = match line.freshness {
                _ if line.points.is_empty() => "not run",
                Freshness::Fine => "",
                Freshness::Coarse => "coarse",
                Freshness::Stale => "edited since",
            };
            if !note.is_empty() {
                ui.label(RichText::new(note).small().color(theme.text_muted));
            }
            ui.add_space(space::M);
        }
        let saturated = shown
            .lines
            .iter()
            .any(|l| l.points.iter().any(|p| p.summary.saturated));
        if saturated {
            let (rect, _) = ui.allocate_exact_size(vec2(12.0, 14.0), Sense::hover());
            ui.painter().add(marker(
                crate::report::Marker::Circle,
                rect.center(),
                3.5,
                theme.text_muted,
                Some(theme.panel),
            ));
            ui.label(RichText::new("saturated").small().color(theme.text_muted))
                .on_hover_text("More load than the design serves: queues grow all through the run");
        }
        let banded = |line: &Line<'_>| {
            let validated = line.outcome.and_then(|own| own.validated.as_deref());
            !line.points.is_empty() && validated.and_then(Validated::tpot).is_some()
        };
        if shown.lines.iter().any(banded) {
            ui.add_space(space::S);
            let (rect, _) = ui.allocate_exact_size(vec2(16.0, 10.0), Sense::hover());
            ui.painter()
                .rect_filled(rect, 2.0, theme.text_muted.gamma_multiply(0.2));
            ui.label(RichText::new("likely").small().color(theme.text_muted))
                .on_hover_text("Where four of five measured deployments of the nearest validated kind lie around their predictions; a bar in place of a point: near saturation, where a little more load decides");
        }
        if cut {
            ui.add_space(space::S);
            let (rect, _) = ui.allocate_exact_size(vec2(12.0, 14.0), Sense::hover());
            super::plot::beyond(ui.painter(), rect.center(), theme.text_muted, None);
            ui.label(
                RichText::new("above the plot")
                    .small()
                    .color(theme.text_muted),
            )
            .on_hover_text("Too high to show without flattening the rest; point at it");
        }
    });
}

/// Keeps `Hovered` meaningful when curves shrink.
pub(super) fn is_on(hovered: Option<Hovered>, design: usize, point: usize) -> bool {
    hovered.is_some_and(|h| h.design == design && h.point == point)
}
