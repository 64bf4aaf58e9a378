//! The panel's tabs, and beside them what the tab in view can be asked: which statistic, an export,
//! how far a run is.

use super::{ResultsTab, ResultsView, Shown, problem_counts};
use crate::app::command::{Actions, UiCommand};
use crate::app::edit::Edit;
use crate::app::style;
use crate::app::theme::{Theme, space};
use crate::jobs::WorkProgress;
use crate::report::Statistic;
use eframe::egui::{self, Button, ComboBox, RichText, Sense, Stroke, Ui, WidgetInfo};

/// Below this width tabs stand closer, percentiles are a list, and only the top bar says how a run is going.
const NARROW: f32 = 860.0;

pub(super) fn header_ui(
    ui: &mut Ui,
    view: &mut ResultsView,
    shown: &Shown<'_>,
    actions: &mut Actions,
) {
    let theme = shown.theme();
    ui.horizontal(|ui| {
        ui.set_min_height(30.0);
        ui.spacing_mut().item_spacing.x = space::XS;
        let narrow = ui.available_width() < NARROW;
        if narrow {
            ui.spacing_mut().button_padding.x = 5.0;
            ui.spacing_mut().item_spacing.x = 1.0;
        }
        for tab in ResultsTab::ALL {
            let problems = problem_counts(shown).problems();
            let words = match tab {
                ResultsTab::Problems if problems > 0 => format!("Problems {problems}"),
                _ => tab.name().to_owned(),
            };
            if tab_ui(ui, theme, &words, view.tab == tab) {
                view.tab = tab;
            }
        }
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = space::S;
            let curves = matches!(view.tab, ResultsTab::Curve | ResultsTab::Table);
            let calibration = view.tab == ResultsTab::Calibration && view.calibration.is_plot();
            let validation = view.tab == ResultsTab::Validation && view.validation.is_plot();
            if curves || calibration || validation || view.tab == ResultsTab::Cost {
                let any = match view.tab {
                    ResultsTab::Calibration => view.calibration.has_plot(shown.calibrating),
                    ResultsTab::Validation => shown.validating.checked.is_some(),
                    ResultsTab::Cost => true,
                    _ => shown.lines.iter().any(|l| !l.points.is_empty()),
                };
                let export = Button::new(RichText::new("Export…").color(theme.accent)).frame(false);
                if ui
                    .add_enabled(any, export)
                    .on_hover_text(UiCommand::ExportPlot.tooltip())
                    .clicked()
                {
                    actions.command(UiCommand::ExportPlot);
                }
            }
            if curves {
                statistic_ui(ui, view, shown, narrow, actions);
            }
            // The top bar says it too.
            if !(narrow && curves) {
                run_progress_ui(ui, shown, actions);
            }
        });
    });
}

fn tab_ui(ui: &mut Ui, theme: &Theme, words: &str, on: bool) -> bool {
    let text = RichText::new(words).family(style::medium()).color(if on {
        theme.text
    } else {
        theme.text_muted
    });
    let response = ui.add(
        Button::new(text)
            .frame_when_inactive(false)
            .sense(Sense::click()),
    );
    response.widget_info(|| WidgetInfo::selected(egui::Role::Tab, true, on, words));
    if on {
        let rect = response.rect;
        ui.painter().hline(
            rect.x_range().shrink(7.0),
            rect.bottom() + 1.0,
            Stroke::new(2.0, theme.accent),
        );
    }
    response.clicked()
}

/// Mean and percentiles as one row of buttons; as a list where tabs leave no room for it.
fn statistic_ui(
    ui: &mut Ui,
    view: &mut ResultsView,
    shown: &Shown<'_>,
    narrow: bool,
    actions: &mut Actions,
) {
    let now = view.statistic(shown.project());
    let chosen = if narrow {
        statistic_list_ui(ui, now)
    } else {
        statistic_row_ui(ui, shown.theme(), now)
    };
    match chosen.filter(|chosen| *chosen != now) {
        None => {}
        Some(chosen) => match chosen.percentile() {
            None => view.mean = true,
            Some(percentile) => {
                view.mean = false;
                actions.edit(Edit::project(format!("Plot {}", chosen.name()), move |p| {
                    p.curve.percentile = percentile
                }));
            }
        },
    }
}

fn statistic_list_ui(ui: &mut Ui, now: Statistic) -> Option<Statistic> {
    let mut chosen = None;
    let list = ComboBox::from_id_salt("statistic")
        .width(64.0)
        .selected_text(now.name())
        .show_ui(ui, |ui| {
            for statistic in Statistic::ALL {
                let label = ui.selectable_label(statistic == now, statistic.name());
                if label.clicked() {
                    chosen = Some(statistic);
                }
            }
        });
    list.response
        .widget_info(|| WidgetInfo::labeled(egui::Role::ComboBox, true, "Statistic"));
    chosen
}

fn statistic_row_ui(ui: &mut Ui, theme: &Theme, now: Statistic) -> Option<Statistic> {
    let mut chosen = None;
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing.x = 1.0;
        ui.spacing_mut().button_padding.x = 7.0;
        // Laid out from the right.
        for statistic in Statistic::ALL.into_iter().rev() {
            let on = statistic == now;
            let text = RichText::new(statistic.name()).small().color(if on {
                theme.accent
            } else {
                theme.text_muted
            });
            let button = Button::new(text)
                .fill(if on {
                    theme.accent_soft
                } else {
                    egui::Color32::TRANSPARENT
                })
                .stroke(Stroke::NONE);
            if ui.add(button).clicked() {
                chosen = Some(statistic);
            }
        }
    });
    chosen
}

fn run_progress_ui(ui: &mut Ui, shown: &Shown<'_>, actions: &mut Actions) {
    let Some((done, total)) = shown.progress else {
        return;
    };
    let theme = shown.theme();
    let cancel = ui
        .add(Button::new("Cancel").small())
        .on_hover_text(UiCommand::Cancel.tooltip());
    if cancel.clicked() {
        actions.command(UiCommand::Cancel);
    }
    bar_ui(ui, theme, done as usize, total as usize);
}

/// How far work on calibrations is, from the right: a bar, and what it is at.
pub fn progress_ui(ui: &mut Ui, theme: &Theme, at: WorkProgress) {
    bar_ui(ui, theme, at.done, at.total);
    let words = if at.total > 0 {
        format!("{}, {} of {}", at.stage, at.done, at.total)
    } else {
        format!("{}…", at.stage)
    };
    ui.label(RichText::new(words).small().color(theme.text_muted));
}

fn bar_ui(ui: &mut Ui, theme: &Theme, done: usize, total: usize) {
    #[expect(clippy::cast_precision_loss, reason = "a share of a bar")]
    let share = done as f32 / total.max(1) as f32;
    let (rect, _) = ui.allocate_exact_size(egui::vec2(96.0, 4.0), Sense::hover());
    ui.painter().rect_filled(rect, 2.0, theme.line);
    let mut full = rect;
    full.set_width(rect.width() * share.clamp(0.0, 1.0));
    ui.painter().rect_filled(full, 2.0, theme.accent);
}
