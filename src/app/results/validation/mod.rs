//! The validation page: a file of measured deployments, each predicted, and how far off that is — in
//! all, by what one likes to group by, row by row. A row opens as a design.

mod detail;
pub(in crate::app) mod figures;
mod pages;
mod sheet;
mod tables;

use super::{Shown, empty_ui, progress_ui};
use crate::app::command::{Action, Actions, ValidationTask};
use crate::app::files::{FileTask, Purpose};
use crate::app::theme::{Theme, space};
use crate::app::validating::{Checked, Validating};
use crate::report::{Figure, Table};
use crate::validation::{By, Predicted};
use eframe::egui::{self, Align, Button, Color32, Layout, RichText, Stroke, Ui, vec2};
use sheet::Sort;

/// A view of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Page {
    /// Errors of each class.
    #[default]
    Overview,
    /// Predicted against measured.
    Parity,
    /// Errors by a grouping, the worst first.
    Groups,
    /// Condition by condition.
    Rows,
    /// Rows that were not predicted.
    Refused,
}

impl Page {
    const ALL: [Self; 5] = [
        Self::Overview,
        Self::Parity,
        Self::Groups,
        Self::Rows,
        Self::Refused,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Parity => "Measured and predicted",
            Self::Groups => "Groups",
            Self::Rows => "Conditions",
            Self::Refused => "Refused",
        }
    }
}

/// What the page remembers between frames.
#[derive(Debug, Clone)]
pub struct ValidationView {
    page: Page,
    /// What conditions are grouped by.
    by: By,
    group_sort: Sort,
    row_sort: Sort,
    /// Only conditions of this group are listed.
    only: Option<(By, String)>,
    /// The condition whose settings are listed: its place among the predicted.
    chosen: Option<usize>,
}

impl Default for ValidationView {
    fn default() -> Self {
        Self {
            page: Page::default(),
            by: By::default(),
            group_sort: Sort {
                column: tables::GROUP_TPOT,
                descending: true,
            },
            row_sort: Sort {
                column: tables::ROW_TPOT_ERROR,
                descending: true,
            },
            only: None,
            chosen: None,
        }
    }
}

impl ValidationView {
    /// Other rows were predicted: what was chosen among the old ones is gone.
    pub(in crate::app) fn renew(&mut self) {
        self.only = None;
        self.chosen = None;
    }

    /// Whether the view is one that can be exported.
    pub(super) fn is_plot(&self) -> bool {
        self.page == Page::Parity
    }

    /// The plots and their numbers.
    pub(in crate::app) fn export(&self, own: &Validating) -> Option<(Figure, Table)> {
        let checked = own.checked.as_deref()?;
        let title = format!("Measured and predicted, {} prices", checked.prices);
        let figure = figures::exported(&title, &checked.clouds)?;
        Some((figure, figures::conditions_table(checked.predicted()).ok()?))
    }

    /// Whether a condition is listed.
    fn lists(&self, own: &Predicted) -> bool {
        let mut only = self.only.iter();
        only.all(|(by, group)| by.group(own) == *group)
    }
}

/// Draws the page.
pub(super) fn validation_ui(
    ui: &mut Ui,
    view: &mut ValidationView,
    shown: &Shown<'_>,
    actions: &mut Actions,
) {
    let theme = shown.theme();
    let own = shown.validating;
    head_ui(ui, view, own, theme, actions);
    let Some(checked) = own.checked.as_deref() else {
        nothing_ui(ui, theme, own, actions);
        return;
    };
    let wide = view.page != Page::Overview && view.page != Page::Refused;
    let chosen = view.chosen.filter(|_| wide);
    let chosen = chosen.and_then(|index| Some((index, checked.predicted().get(index)?)));
    let room = ui.available_size();
    let side = chosen.map_or(0.0, |_| (room.x * 0.38).clamp(280.0, 460.0));
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = space::L;
        let gap = if side > 0.0 { space::L } else { 0.0 };
        let left = vec2(room.x - side - gap, room.y);
        ui.allocate_ui(left, |ui| {
            ui.vertical(|ui| {
                ui.set_width(left.x);
                page_ui(ui, theme, view, checked, actions);
            });
        });
        if let Some((index, own)) = chosen {
            ui.allocate_ui(vec2(side, room.y), |ui| {
                ui.vertical(|ui| {
                    ui.set_width(side);
                    if detail::detail_ui(ui, theme, index, own, actions) {
                        view.chosen = None;
                    }
                });
            });
        }
    });
}

fn page_ui(
    ui: &mut Ui,
    theme: &Theme,
    view: &mut ValidationView,
    checked: &Checked,
    actions: &mut Actions,
) {
    match view.page {
        Page::Overview => pages::overview_ui(ui, theme, checked),
        Page::Parity => pages::parity_ui(ui, theme, view, checked, actions),
        Page::Groups => tables::groups_ui(ui, theme, view, checked),
        Page::Rows => tables::rows_ui(ui, theme, view, checked, actions),
        Page::Refused => pages::refused_ui(ui, theme, checked),
    }
}

const VALIDATE: &str = "Validate with measured rows…";

/// The views, and what can be done.
fn head_ui(
    ui: &mut Ui,
    view: &mut ValidationView,
    own: &Validating,
    theme: &Theme,
    actions: &mut Actions,
) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing = vec2(1.0, 2.0);
        ui.spacing_mut().button_padding.x = 6.0;
        if let Some(checked) = own.checked.as_deref() {
            for page in Page::ALL {
                let words = match page {
                    Page::Refused => format!("Refused {}", checked.found.outcome.refused.len()),
                    _ => page.name().to_owned(),
                };
                if choice_ui(ui, theme, &words, page.name(), view.page == page) {
                    view.page = page;
                }
            }
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = space::S;
            if let Some(progress) = own.progress() {
                let cancel = ui.add(Button::new("Cancel").small());
                cancel.widget_info(|| {
                    egui::WidgetInfo::labeled(egui::Role::Button, true, "Cancel validating")
                });
                if cancel.clicked() {
                    actions.push(Action::Validation(ValidationTask::Cancel));
                }
                progress_ui(ui, theme, progress);
            } else if own.checked.is_some() {
                let words = RichText::new("Validate…").color(theme.accent);
                let button = ui.add(Button::new(words).frame(false));
                button
                    .widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, VALIDATE));
                if button.clicked() {
                    actions.push(Action::File(FileTask::Ask(Purpose::Rows)));
                }
                button.on_hover_text("Predict every row of another file, or this one again");
            }
        });
    });
}

fn choice_ui(ui: &mut Ui, theme: &Theme, words: &str, spoken: &str, on: bool) -> bool {
    let text = RichText::new(words).color(if on { theme.accent } else { theme.text_muted });
    let fill = if on {
        theme.accent_soft
    } else {
        Color32::TRANSPARENT
    };
    let button = Button::new(text).fill(fill).stroke(Stroke::NONE);
    let response = ui.add(button);
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Tab, true, on, spoken));
    response.clicked()
}

/// What the page wants before there is anything.
fn nothing_ui(ui: &mut Ui, theme: &Theme, own: &Validating, actions: &mut Actions) {
    if own.progress().is_some() {
        empty_ui(
            ui,
            theme,
            "Predicting measured deployments…",
            "Every row is drawn as a design and simulated as its client measured it.",
        );
        return;
    }
    ui.vertical_centered(|ui| {
        ui.add_space((ui.available_height() / 2.0 - 70.0).max(4.0));
        let width = ui.available_width().min(620.0);
        ui.allocate_ui(vec2(width, 0.0), |ui| {
            ui.vertical_centered(|ui| {
                let title = RichText::new("How far off are predictions of whole deployments?");
                ui.label(title.font(crate::app::style::heading(15.0)).color(theme.text));
                let muted = |words: &str| RichText::new(words).color(theme.text_muted);
                ui.add(egui::Label::new(muted(
                    "Choose a CSV file with a row for each benchmark run: id, backend, model_path, system, mode (agg, disagg), isl, osl, concurrency, tp_size, …, silicon_ttft_ms, silicon_tpot_ms. Nothing of it is kept.",
                )).wrap());
                ui.add_space(space::S);
                if ui.add(crate::app::dialogs::primary(theme, VALIDATE)).clicked() {
                    actions.push(Action::File(FileTask::Ask(Purpose::Rows)));
                }
                ui.add_space(space::XS);
                ui.label(muted("The same without a window: frontier validate --rows FILE.csv").small());
            });
        });
    });
}
