//! The bottom panel: curves, their table, what limits a design, memory, theoretical cost, calibrations, problems.

mod breakdown;
pub(super) mod calibration;
mod cost;
mod curve;
mod figure;
mod memory;
mod model;
mod numbers;
mod plot;
mod problems;
mod still;
mod table;

use super::calibrating::Calibrating;
use super::command::{Actions, UiCommand};
use super::inspector::Inspected;
use super::outcome::{DesignOutcome, Freshness, Outcome};
use super::style;
use super::theme::{Theme, space};
use super::widgets::sentence;
use crate::jobs::{CalibrationProgress, CurvePoint};
use crate::plan::Design;
use crate::project::Project;
use crate::report::{LoadKind, Statistic, provenance_line};
use crate::sim::{Provenance, Summary};
pub use calibration::CalibrationView;
pub use cost::CostView;
use eframe::egui::{self, Button, RichText, Sense, Stroke, Ui};
pub use problems::problem_counts;

/// A tab of the panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResultsTab {
    /// Latency and throughput against load.
    #[default]
    Curve,
    /// The same as numbers.
    Table,
    /// What limits a design, and where its time goes.
    Breakdown,
    /// What fills the GPUs.
    Memory,
    /// What decoding costs at the very least.
    Cost,
    /// What follows from the model's shape.
    Model,
    /// How good the prices are.
    Calibration,
    /// What is wrong.
    Problems,
}

impl ResultsTab {
    const ALL: [Self; 8] = [
        Self::Curve,
        Self::Table,
        Self::Breakdown,
        Self::Memory,
        Self::Cost,
        Self::Model,
        Self::Calibration,
        Self::Problems,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Curve => "Curve",
            Self::Table => "Table",
            Self::Breakdown => "Breakdown",
            Self::Memory => "Memory",
            Self::Cost => "Cost",
            Self::Model => "Model",
            Self::Calibration => "Calibration",
            Self::Problems => "Problems",
        }
    }
}

/// What the panel remembers between frames.
#[derive(Debug, Clone, Default)]
pub struct ResultsView {
    /// The tab in view.
    pub tab: ResultsTab,
    /// The mean is plotted instead of the document's percentile.
    pub mean: bool,
    /// The point under the pointer.
    pub hovered: Option<Hovered>,
    /// The load whose breakdown is looked at; none: the highest that is served.
    pub load: breakdown::Chosen,
    /// The cost page.
    pub cost: CostView,
    /// What the model tab is set to.
    pub model: model::ModelView,
    /// The calibration page.
    pub calibration: CalibrationView,
}

/// The point under the pointer: marked in all plots.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hovered {
    /// The design's place among the tabs.
    pub design: usize,
    /// The point's place on its curve.
    pub point: usize,
}

impl ResultsView {
    /// Another document was opened: the tab stays and what is not of the document, the rest is
    /// forgotten.
    pub fn reset(&mut self) {
        *self = Self {
            tab: self.tab,
            calibration: std::mem::take(&mut self.calibration),
            ..Self::default()
        };
    }

    /// Which number of latencies is shown.
    #[must_use]
    pub fn statistic(&self, project: &Project) -> Statistic {
        if self.mean {
            Statistic::Mean
        } else {
            Statistic::nearest(project.curve.percentile)
        }
    }
}

/// One design as the panel sees it.
pub struct Line<'a> {
    /// Its place among the tabs: its letter, colour, dash and marker.
    pub index: usize,
    /// The design.
    pub design: &'a Design,
    /// What is known of it.
    pub outcome: Option<&'a DesignOutcome>,
    /// Points to show.
    pub points: &'a [CurvePoint],
    /// How fresh they are.
    pub freshness: Freshness,
}

/// What the panel reads.
pub struct Shown<'a> {
    /// What the inspector reads too.
    pub inspected: &'a Inspected<'a>,
    /// All designs, in order of their tabs.
    pub lines: Vec<Line<'a>>,
    /// How far the running job is.
    pub progress: Option<(u32, u32)>,
    /// Prices and calibrations.
    pub calibrating: &'a Calibrating,
}

impl<'a> Shown<'a> {
    /// Of the document and what is known of it.
    #[must_use]
    pub fn new(
        inspected: &'a Inspected<'a>,
        outcome: &'a Outcome,
        calibrating: &'a Calibrating,
        progress: Option<(u32, u32)>,
    ) -> Self {
        let line = |(index, design): (usize, &'a Design)| {
            let known = outcome.design(&design.id);
            let (points, freshness) =
                known.map_or((&[][..], Freshness::Fine), DesignOutcome::shown);
            Line {
                index,
                design,
                outcome: known,
                points,
                freshness,
            }
        };
        Self {
            inspected,
            lines: inspected
                .project
                .designs
                .iter()
                .enumerate()
                .map(line)
                .collect(),
            progress,
            calibrating,
        }
    }

    /// Where the numbers of the design in view come from, or of the first design that has some.
    #[must_use]
    pub fn provenance(&self) -> Option<&'a Provenance> {
        self.summary().map(|summary| &summary.provenance)
    }

    fn summary(&self) -> Option<&'a Summary> {
        let viewed = |line: &&Line<'_>| line.design.id == self.inspected.design.id;
        let first = self.lines.iter().find(viewed);
        let point = first
            .into_iter()
            .chain(&self.lines)
            .find_map(|l| l.points.last());
        point.map(|point| &*point.summary)
    }

    fn theme(&self) -> &'a Theme {
        self.inspected.theme
    }

    fn project(&self) -> &'a Project {
        self.inspected.project
    }

    fn load_kind(&self) -> LoadKind {
        LoadKind::of(self.project().workload.arrivals)
    }
}

/// Draws the panel.
pub fn results_ui(ui: &mut Ui, view: &mut ResultsView, shown: &Shown<'_>, actions: &mut Actions) {
    // A panel is as high as what is in it; this one is as high as the user made it.
    ui.set_min_height(ui.available_height());
    header_ui(ui, view, shown, actions);
    match view.tab {
        ResultsTab::Curve => curve::curve_ui(ui, view, shown, actions),
        ResultsTab::Table => table::table_ui(ui, view, shown),
        ResultsTab::Breakdown => breakdown::breakdown_ui(ui, view, shown),
        ResultsTab::Memory => memory::memory_ui(ui, shown, actions),
        ResultsTab::Cost => cost::cost_ui(ui, &mut view.cost, shown),
        ResultsTab::Model => model::model_ui(ui, &mut view.model, shown),
        ResultsTab::Calibration => {
            calibration::calibration_ui(ui, &mut view.calibration, shown, actions);
        }
        ResultsTab::Problems => problems::problems_ui(ui, shown, actions),
    }
}

/// Below this width tabs stand closer and only the top bar says how a run is going.
const NARROW: f32 = 860.0;

fn header_ui(ui: &mut Ui, view: &mut ResultsView, shown: &Shown<'_>, actions: &mut Actions) {
    let theme = shown.theme();
    ui.horizontal(|ui| {
        ui.set_min_height(30.0);
        ui.spacing_mut().item_spacing.x = space::XS;
        let narrow = ui.available_width() < NARROW;
        if narrow {
            ui.spacing_mut().button_padding.x = 7.0;
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
            if curves || calibration || view.tab == ResultsTab::Cost {
                let any = match view.tab {
                    ResultsTab::Calibration => view.calibration.has_plot(shown.calibrating),
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
                statistic_ui(ui, view, shown, actions);
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
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Tab, true, on, words));
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

/// Mean and percentiles as one row of buttons.
fn statistic_ui(ui: &mut Ui, view: &mut ResultsView, shown: &Shown<'_>, actions: &mut Actions) {
    let theme = shown.theme();
    let now = view.statistic(shown.project());
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
            if ui.add(button).clicked() && !on {
                match statistic.percentile() {
                    None => view.mean = true,
                    Some(percentile) => {
                        view.mean = false;
                        actions.edit(super::edit::Edit::project(
                            format!("Plot {}", statistic.name()),
                            move |p| p.curve.percentile = percentile,
                        ));
                    }
                }
            }
        }
    });
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
pub fn progress_ui(ui: &mut Ui, theme: &Theme, at: CalibrationProgress) {
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

/// Where the numbers shown come from, in one line; all of it on hover.
fn provenance_ui(ui: &mut Ui, shown: &Shown<'_>) {
    let words = shown.summary().map(provenance_line).unwrap_or_default();
    let text = RichText::new(words).small().color(shown.theme().text_muted);
    ui.add(egui::Label::new(text).truncate());
}

/// What a panel without content says: what is missing, and what to do about it.
fn empty_ui(ui: &mut Ui, theme: &Theme, title: &str, words: &str) {
    ui.vertical_centered(|ui| {
        ui.add_space((ui.available_height() / 2.0 - 30.0).max(8.0));
        ui.label(
            RichText::new(title)
                .font(style::heading(15.0))
                .color(theme.text),
        );
        ui.add(egui::Label::new(RichText::new(words).color(theme.text_muted)).wrap());
    });
}

/// The first thing that keeps the designs from running: what an empty plot says.
fn what_to_do(shown: &Shown<'_>) -> (String, String) {
    let design = shown.inspected.design;
    let trouble = shown.inspected.outcome.and_then(DesignOutcome::trouble);
    if design.cluster.groups.is_empty() {
        return (
            "Nothing is drawn yet".to_owned(),
            "Drag a node from the left onto the canvas, then paint a role on its GPUs.".to_owned(),
        );
    }
    if design.pools.is_empty() {
        return (
            "No GPU has a role yet".to_owned(),
            "Paint a role on some GPUs: choose one on the left, or press B, and drag over them."
                .to_owned(),
        );
    }
    match trouble {
        Some(cause) => ("This design can't run yet".to_owned(), sentence(cause)),
        None if shown.progress.is_some() => ("Simulating…".to_owned(), String::new()),
        None => ("No results".to_owned(), "Press F5 to simulate.".to_owned()),
    }
}
