//! The status bar: what the design adds up to, problems, fidelity.

use super::App;
use super::calibrating::Calibrating;
use super::command::{Action, CalibrationTask};
use super::files::{FileTask, Purpose};
use super::results::{ResultsTab, Shown, problem_counts, progress_ui};
use super::style;
use super::theme::{Theme, space};
use super::totals::Totals;
use super::widgets::{hint, sentence};
use crate::jobs::FidelityChoice;
use crate::report::{band_text, fidelity_name, sources_text};
use crate::sim::Provenance;
use eframe::egui::{self, Align, Button, Layout, Popup, PopupCloseBehavior, RichText, Ui, vec2};

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
                fidelity_ui(ui, theme, shown, queue);
                validated_ui(ui, theme, shown, queue);
            });
        });
    }
}

/// What predictions of the design in view are known to be off by.
fn validated_ui(ui: &mut Ui, theme: &Theme, shown: &Shown<'_>, queue: &mut Vec<Action>) {
    let outcome = shown.inspected.outcome;
    let Some(own) = outcome.and_then(|own| own.validated.as_deref()) else {
        return;
    };
    let color = if own.group.is_some() {
        theme.text_muted
    } else {
        theme.warning
    };
    let words = RichText::new(own.short()).small().color(color);
    let button = ui.add(Button::new(words).frame(false).small());
    if button.clicked() {
        queue.push(Action::Results(ResultsTab::Validation));
    }
    button.on_hover_text(own.words());
}

/// What is offered, and what each is.
const CHOICES: [(FidelityChoice, &str, &str); 2] = [
    (
        FidelityChoice::Roofline,
        "Roofline",
        "Datasheet peaks and one efficiency for each class of operators",
    ),
    (
        FidelityChoice::Calibrated,
        "Calibrated",
        "Fits of measured operators; the roofline where there are none",
    ),
];

/// The switch of fidelities, from the right: what it is at, or how far reading the next one is.
fn fidelity_ui(ui: &mut Ui, theme: &Theme, shown: &Shown<'_>, queue: &mut Vec<Action>) {
    let own = shown.calibrating;
    let from = shown.provenance();
    let name = fidelity_name(own.choice.name());
    let words = match from.filter(|from| from.fidelity == own.choice.name()) {
        Some(from) => format!("{name}, {}", band_text(from.band)),
        None => name,
    };
    let text = RichText::new(format!("{words}      "))
        .small()
        .color(theme.text);
    let button = ui.add(Button::new(text).frame_when_inactive(false).small());
    arrow(ui, theme, &button);
    let spoken = format!("Fidelity: {words}");
    button.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, &spoken));
    Popup::menu(&button)
        .close_behavior(PopupCloseBehavior::CloseOnClickOutside)
        .show(|ui| choices_ui(ui, theme, own, queue));
    button.on_hover_ui(|ui| about_ui(ui, theme, from));
    if let Some(progress) = own.prices_progress().filter(|_| own.loading.is_some()) {
        let cancel = ui.add(Button::new(RichText::new("Cancel").small()).small());
        cancel.widget_info(|| {
            egui::WidgetInfo::labeled(egui::Role::Button, true, "Cancel reading prices")
        });
        if cancel.clicked() {
            queue.push(Action::Calibration(CalibrationTask::CancelPrices));
        }
        progress_ui(ui, theme, progress);
    }
}

/// A small triangle at the end of a button that opens a menu.
fn arrow(ui: &Ui, theme: &Theme, button: &egui::Response) {
    let at = button.rect.right_center() - vec2(9.0, 0.0);
    let points = vec![
        at + vec2(-3.5, 2.0),
        at + vec2(0.0, -2.5),
        at + vec2(3.5, 2.0),
    ];
    let shape = egui::Shape::convex_polygon(points, theme.text_muted, egui::Stroke::NONE);
    ui.painter().add(shape);
}

fn choices_ui(ui: &mut Ui, theme: &Theme, own: &Calibrating, queue: &mut Vec<Action>) {
    ui.set_width(300.0);
    let now = own.loading.as_ref().unwrap_or(&own.choice);
    for (choice, name, about) in CHOICES {
        if choice_ui(ui, name, *now == choice) {
            queue.push(Action::Prices(choice));
            ui.close();
        }
        indented(ui, theme, about);
    }
    let measured = matches!(now, FidelityChoice::Measured(_));
    if choice_ui(ui, "Measured", measured) {
        match own.profile.clone().filter(|_| !measured) {
            Some(dir) => queue.push(Action::Prices(FidelityChoice::Measured(dir))),
            None => queue.push(Action::File(FileTask::Ask(Purpose::Profile))),
        }
        ui.close();
    }
    indented(
        ui,
        theme,
        "Your own profile, interpolated; calibrated where it has nothing",
    );
    if let Some(dir) = &own.profile {
        indented(ui, theme, &dir.display().to_string());
        ui.horizontal(|ui| {
            ui.add_space(INDENT);
            if ui.button("Another profile…").clicked() {
                queue.push(Action::File(FileTask::Ask(Purpose::Profile)));
                ui.close();
            }
        });
    }
}

/// One of the fidelities; whether it was chosen.
fn choice_ui(ui: &mut Ui, name: &str, on: bool) -> bool {
    let words = RichText::new(name).family(style::medium());
    let response = ui.add(Button::new(words).selected(on));
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::RadioButton, true, on, name));
    response.clicked()
}

/// Where the words of a button start.
const INDENT: f32 = 10.0;

fn indented(ui: &mut Ui, theme: &Theme, words: &str) {
    ui.horizontal_top(|ui| {
        ui.add_space(INDENT);
        hint(ui, theme, words);
    });
    ui.add_space(2.0);
}

/// Where the times of the result in view come from.
fn about_ui(ui: &mut Ui, theme: &Theme, from: Option<&Provenance>) {
    ui.set_max_width(340.0);
    ui.spacing_mut().item_spacing.y = space::XS;
    let Some(from) = from else {
        ui.label("Where step times come from: click to choose");
        return;
    };
    ui.label(format!("{}.", sentence(&sources_text(from))));
    let band = format!(
        "Step times {}, if all parts are off the same way.",
        band_text(from.band)
    );
    hint(ui, theme, band);
    let shares: Vec<String> = from
        .time_shares
        .iter()
        .take(6)
        .map(|(class, share)| format!("{class} {:.0} %", share * 100.0))
        .collect();
    hint(ui, theme, format!("Time: {}", shares.join(", ")));
    hint(ui, theme, "Click to choose another fidelity.");
}
