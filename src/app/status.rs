//! The status bar: what the design adds up to, problems, fidelity.

use super::App;
use super::command::Action;
use super::results::{ResultsTab, Shown, problem_counts};
use super::theme::{Theme, space};
use super::totals::Totals;
use crate::report::{band_text, fidelity_name};
use eframe::egui::{Align, Button, Layout, RichText, Ui};

impl App {
    pub(super) fn status_ui(
        &self,
        ui: &mut Ui,
        theme: &Theme,
        shown: &Shown<'_>,
        queue: &mut Vec<Action>,
    ) {
        let totals = Totals::of(&self.design().cluster, &self.presets.catalog);
        let small = |words: String| RichText::new(words).small().color(theme.text_muted);
        ui.horizontal_centered(|ui| {
            ui.spacing_mut().item_spacing.x = space::L;
            let noun = if totals.gpus == 1 { "GPU" } else { "GPUs" };
            ui.label(small(format!("{} {noun}", totals.gpus)));
            ui.label(small(totals.price_text()));
            ui.label(small(totals.power_text()));
            let counts = problem_counts(shown);
            let color = match (counts.errors, counts.warnings) {
                (0, 0) => theme.text_muted,
                (0, _) => theme.warning,
                _ => theme.error,
            };
            let words = counts.words();
            let button = Button::new(RichText::new(words).small().color(color))
                .frame(false)
                .small();
            if ui.add(button).on_hover_text("Show the problems").clicked() {
                queue.push(Action::Results(ResultsTab::Problems));
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if let Some(fidelity) = fidelity(shown) {
                    ui.label(small(fidelity))
                        .on_hover_text("Where step times come from, and how far they may be off");
                }
            });
        });
    }
}

/// Fidelity of the design in view: `Roofline`.
fn fidelity(shown: &Shown<'_>) -> Option<String> {
    let line = shown
        .lines
        .iter()
        .find(|l| l.design.id == shown.inspected.design.id)?;
    let from = &line.points.last()?.summary.provenance;
    Some(format!(
        "{}, {}",
        fidelity_name(from.fidelity),
        band_text(from.band)
    ))
}
