//! One measured condition: what was measured and predicted, and the settings it was simulated with,
//! each under who says so.

use super::figures::Latency;
use crate::app::command::{Action, Actions, ValidationTask};
use crate::app::dialogs::primary;
use crate::app::results::calibration::figures::error_text;
use crate::app::results::plot::short;
use crate::app::style;
use crate::app::theme::{Theme, space};
use crate::app::widgets::hint;
use crate::validation::{Predicted, Setting};
use eframe::egui::{self, Align, Button, Grid, Label, Layout, RichText, ScrollArea, Ui};

/// Draws it; whether it was closed.
pub(super) fn detail_ui(
    ui: &mut Ui,
    theme: &Theme,
    index: usize,
    own: &Predicted,
    actions: &mut Actions,
) -> bool {
    let mut closed = false;
    let c = &own.measured.condition;
    ui.horizontal(|ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let close = ui.add(Button::new("×").frame(false));
            close.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "Close row"));
            closed = close.clicked();
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                let version = &own.prediction.version;
                let words = format!("{} {version} · {}", c.engine.name(), c.model);
                let text = RichText::new(words).family(style::medium());
                ui.add(Label::new(text.color(theme.text)).truncate())
                    .on_hover_text(own.measured.ids.join("\n"));
            });
        });
    });
    facts_ui(ui, theme, own);
    ui.horizontal(|ui| {
        if ui.add(primary(theme, "Open as a design…")).clicked() {
            actions.push(Action::Validation(ValidationTask::AskOpen(index)));
        }
        let about = RichText::new(about(own)).small().color(theme.text_muted);
        ui.add(Label::new(about).truncate())
            .on_hover_text(own.measured.ids.join("\n"));
    });
    ScrollArea::vertical()
        .id_salt("condition")
        .auto_shrink([false, false])
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 2.0;
            ui.spacing_mut().interact_size.y = 16.0;
            latencies_ui(ui, theme, own);
            ui.add_space(space::XS);
            for (source, settings) in by_source(&own.prediction.settings) {
                settings_ui(ui, theme, source, &settings);
            }
        });
    closed
}

fn facts_ui(ui: &mut Ui, theme: &Theme, own: &Predicted) {
    let c = &own.measured.condition;
    let s = c.sharding();
    let layout = if c.deployment.is_colocated() {
        "a replica of"
    } else {
        "prefill and decode apart, decode of"
    };
    let mut spread = format!("TP {}", s.tp);
    for (name, degree) in [("PP", s.pp), ("DP", s.dp), ("EP", s.ep)] {
        if degree > 1 {
            spread.push_str(&format!(" {name} {degree}"));
        }
    }
    let words = format!(
        "{} · {} · {layout} {spread} · {} in, {} out, {} in flight",
        c.system, c.precision, c.isl, c.osl, c.concurrency
    );
    ui.add(Label::new(RichText::new(words).small().color(theme.text)).wrap());
}

/// Where it is from.
fn about(own: &Predicted) -> String {
    let c = &own.measured.condition;
    let rows = match own.measured.ids.len() {
        1 => format!("Line {}", own.measured.line),
        more => format!(
            "Mean of {more} rows, the first on line {}",
            own.measured.line
        ),
    };
    let parts = [c.campaign.as_str(), c.date.as_str(), c.image.as_str()];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    let all: Vec<String> = std::iter::once(rows)
        .chain(parts.map(ToOwned::to_owned))
        .collect();
    all.join(" · ")
}

fn latencies_ui(ui: &mut Ui, theme: &Theme, own: &Predicted) {
    Grid::new("latencies")
        .num_columns(4)
        .spacing(egui::vec2(space::L, 2.0))
        .show(ui, |ui| {
            let muted = |words: &str| RichText::new(words).small().color(theme.text_muted);
            for words in ["", "measured", "predicted", "off by"] {
                ui.label(muted(words));
            }
            ui.end_row();
            for latency in Latency::ALL {
                let [measured, predicted] = latency.of(own).map(|s| short(s * 1e3));
                let error = latency.error(own);
                ui.label(RichText::new(latency.name()).family(style::medium()));
                ui.label(format!("{measured} ms"));
                ui.label(format!("{predicted} ms"));
                let color = if error.abs() > 0.2 {
                    theme.warning
                } else {
                    theme.text
                };
                let sign = if error > 0.0 { "+" } else { "" };
                ui.label(RichText::new(format!("{sign}{}", error_text(error))).color(color));
                ui.end_row();
            }
        });
    let shares = own.prediction.summary.provenance.time_shares.iter();
    let shares: Vec<String> = shares
        .filter(|(_, share)| *share >= 0.01)
        .map(|(class, share)| format!("{class} {:.0} %", share * 100.0))
        .collect();
    if !shares.is_empty() {
        hint(ui, theme, format!("Time: {}", shares.join(", ")));
    }
}

/// Settings under who says so, in the order they come.
fn by_source(settings: &[Setting]) -> Vec<(&str, Vec<&Setting>)> {
    let mut all: Vec<(&str, Vec<&Setting>)> = Vec::new();
    for own in settings {
        match all.iter_mut().find(|(source, _)| *source == own.source) {
            Some((_, list)) => list.push(own),
            None => all.push((&own.source, vec![own])),
        }
    }
    all
}

fn settings_ui(ui: &mut Ui, theme: &Theme, source: &str, settings: &[&Setting]) {
    ui.add_space(space::XS);
    let text = RichText::new(source).small().italics();
    ui.add(Label::new(text.color(theme.text_muted)).wrap());
    Grid::new(("settings", source))
        .num_columns(2)
        .spacing(egui::vec2(space::M, 1.0))
        .show(ui, |ui| {
            for own in settings {
                let name = RichText::new(&own.name).small().color(theme.text);
                ui.label(name).on_hover_text(format!("Of {}", own.of));
                let value = RichText::new(&own.value).small().family(style::medium());
                ui.add(Label::new(value).truncate())
                    .on_hover_text(format!("{}: {}", own.of, own.value));
                ui.end_row();
            }
        });
}
