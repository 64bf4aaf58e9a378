//! The calibration page: which operators of which GPU and engine are priced by fits of
//! measurements and how far those are off; comparing with measured tables, and fitting one's own.

mod coverage;
mod detail;
pub(in crate::app) mod figures;
mod grid;
mod pages;

use super::{Shown, empty_ui, progress_ui};
use crate::app::calibrating::{Calibrating, Compared};
use crate::app::command::{Action, Actions, CalibrationTask};
use crate::app::files::{FileTask, Purpose};
use crate::app::theme::{Theme, space};
use crate::cost::calibrated::TableId;
use crate::report::{Figure, Table};
use coverage::{Cell, Coverage};
use eframe::egui::{self, Align, Button, Color32, Layout, RichText, Stroke, Ui, vec2};
use figures::{errors_table, parity_table};
use std::sync::Arc;

/// A view of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Page {
    /// GPU × operator × engine.
    #[default]
    Coverage,
    /// Tables by their error.
    Worst,
    /// Predicted against measured.
    Parity,
    /// Error by size.
    BySize,
    /// Rows of measured tables that were not taken.
    Refused,
    /// A new fit beside what there was.
    Fit,
}

impl Page {
    const ALL: [Self; 6] = [
        Self::Coverage,
        Self::Worst,
        Self::Parity,
        Self::BySize,
        Self::Refused,
        Self::Fit,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Coverage => "Coverage",
            Self::Worst => "Worst tables",
            Self::Parity => "Parity",
            Self::BySize => "By size",
            Self::Refused => "Refused rows",
            Self::Fit => "Before and after",
        }
    }
}

/// Whose predictions are shown beside measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Source {
    /// Those of the calibrations in use, of the tables compared last.
    #[default]
    Compared,
    /// The same of the tables fitted last.
    Before,
    /// Those of the new fit.
    After,
}

/// What the page remembers between frames.
#[derive(Debug, Clone, Default)]
pub struct CalibrationView {
    page: Page,
    source: Source,
    /// GPUs without measurements of their own are shown too.
    all_gpus: bool,
    /// The cell whose tables are listed.
    cell: Option<Cell>,
    /// The table whose parameters are listed.
    table: Option<TableId>,
    coverage: Option<Arc<Coverage>>,
}

impl CalibrationView {
    /// A comparison has come.
    pub(in crate::app) fn show_comparison(&mut self) {
        self.page = Page::Parity;
        self.source = Source::Compared;
    }

    /// A fit has come.
    pub(in crate::app) fn show_fit(&mut self) {
        self.page = Page::Fit;
        self.source = Source::After;
    }

    /// Whether the view is one that can be exported.
    pub(super) const fn is_plot(&self) -> bool {
        matches!(self.page, Page::Parity | Page::BySize)
    }

    /// Whether there is something to export.
    pub(super) fn has_plot(&self, own: &Calibrating) -> bool {
        self.compared(own)
            .is_some_and(|own| self.figure(own).is_some())
    }

    /// What an exported file is called.
    pub(in crate::app) const fn export_name(&self) -> &'static str {
        match self.page {
            Page::BySize => "calibration-by-size",
            _ => "calibration-parity",
        }
    }

    /// The plot in view and its numbers.
    pub(in crate::app) fn export(&self, own: &Calibrating) -> Option<(Figure, Table)> {
        let compared = self.compared(own)?;
        let figure = self.figure(compared)?.clone();
        let table = match self.page {
            Page::BySize => errors_table(&compared.comparison),
            _ => parity_table(&compared.comparison),
        };
        Some((figure, table.ok()?))
    }

    fn figure<'a>(&self, compared: &'a Compared) -> Option<&'a Figure> {
        match self.page {
            Page::BySize => compared.by_size.as_ref(),
            _ => compared.parity.as_ref(),
        }
    }

    /// The comparison in view: the one chosen, or the one there is.
    fn compared<'a>(&self, own: &'a Calibrating) -> Option<&'a Compared> {
        let compared = own.compared.as_deref();
        let fit = own.fit.as_deref();
        let chosen = match self.source {
            Source::Compared => compared,
            Source::Before => fit.map(|fit| &fit.before),
            Source::After => fit.map(|fit| &fit.after),
        };
        chosen.or(compared).or(fit.map(|fit| &fit.after))
    }
}

/// Draws the page.
pub(super) fn calibration_ui(
    ui: &mut Ui,
    view: &mut CalibrationView,
    shown: &Shown<'_>,
    actions: &mut Actions,
) {
    head_ui(ui, view, shown, actions);
    match view.page {
        Page::Coverage => coverage_ui(ui, view, shown),
        Page::Worst => pages::worst_ui(ui, view, shown),
        Page::Parity | Page::BySize => pages::plot_ui(ui, view, shown),
        Page::Refused => pages::refused_ui(ui, view, shown),
        Page::Fit => pages::fit_ui(ui, shown, actions),
    }
}

/// From this width on buttons say all of what they do.
const WIDE: f32 = 1040.0;

/// The views, and what can be done with measured tables.
fn head_ui(ui: &mut Ui, view: &mut CalibrationView, shown: &Shown<'_>, actions: &mut Actions) {
    let theme = shown.theme();
    let wide = ui.available_width() >= WIDE;
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing = vec2(1.0, 2.0);
        ui.spacing_mut().button_padding.x = if wide { 8.0 } else { 6.0 };
        for page in Page::ALL {
            let there = match page {
                Page::Refused => view.compared(shown.calibrating).is_some(),
                Page::Fit => shown.calibrating.fit.is_some(),
                _ => true,
            };
            if there && choice_ui(ui, theme, page.name(), view.page == page) {
                view.page = page;
            }
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = space::S;
            if let Some(progress) = shown.calibrating.work_progress() {
                let cancel = ui.add(Button::new("Cancel").small());
                cancel.widget_info(|| {
                    egui::WidgetInfo::labeled(egui::Role::Button, true, "Cancel calibrating")
                });
                if cancel.clicked() {
                    actions.push(Action::Calibration(CalibrationTask::CancelWork));
                }
                progress_ui(ui, theme, progress);
            } else {
                for (purpose, short, long, about) in TASKS {
                    let words = if wide { long } else { short };
                    let button = Button::new(RichText::new(words).color(theme.accent)).frame(false);
                    let response = ui.add(button).on_hover_text(about);
                    response
                        .widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, long));
                    if response.clicked() {
                        actions.push(Action::File(FileTask::Ask(purpose)));
                    }
                }
            }
        });
    });
    // A view that is no longer there.
    let gone = match view.page {
        Page::Refused => view.compared(shown.calibrating).is_none(),
        Page::Fit => shown.calibrating.fit.is_none(),
        _ => false,
    };
    if gone {
        view.page = Page::Coverage;
    }
}

/// What can be done with measured tables, from the right.
const TASKS: [(Purpose, &str, &str, &str); 2] = [
    (
        Purpose::Calibrate,
        "Calibrate…",
        "Calibrate from measured tables…",
        "Fit a folder of measured tables, see the error before and after, then keep it or not",
    ),
    (
        Purpose::Compare,
        "Compare…",
        "Compare with measured tables…",
        "Predict every row of a folder of measured tables and see how far off that is",
    ),
];

fn choice_ui(ui: &mut Ui, theme: &Theme, words: &str, on: bool) -> bool {
    let text = RichText::new(words).color(if on { theme.accent } else { theme.text_muted });
    let fill = if on {
        theme.accent_soft
    } else {
        Color32::TRANSPARENT
    };
    let button = Button::new(text).fill(fill).stroke(Stroke::NONE);
    let response = ui.add(button);
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Tab, true, on, words));
    response.clicked()
}

fn coverage_ui(ui: &mut Ui, view: &mut CalibrationView, shown: &Shown<'_>) {
    let theme = shown.theme();
    let own = shown.calibrating;
    if own.calibrations.surfaces().is_empty() {
        empty_ui(
            ui,
            theme,
            "No calibrations",
            "Every operator is priced by the roofline. Calibrate from measured tables of your own: kernel tables as <operator>/<gpu>.csv.",
        );
        return;
    }
    let coverage = Coverage::current(view.coverage.take(), shown, view.all_gpus);
    view.coverage = Some(Arc::clone(&coverage));
    let detail = view
        .cell
        .as_ref()
        .map_or(0.0, |_| (ui.available_width() * 0.42).clamp(300.0, 460.0));
    let room = ui.available_size();
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = space::L;
        let gap = if detail > 0.0 { space::L } else { 0.0 };
        let left = vec2(room.x - detail - gap, room.y);
        ui.allocate_ui(left, |ui| {
            ui.vertical(|ui| {
                ui.set_width(left.x);
                grid::grid_ui(ui, theme, view, &coverage);
            });
        });
        if detail > 0.0 {
            let right = vec2(detail, room.y);
            ui.allocate_ui(right, |ui| {
                ui.vertical(|ui| {
                    ui.set_width(detail);
                    detail::detail_ui(ui, theme, view, &coverage, shown);
                });
            });
        }
    });
}
