//! The bottom panel: curves, their table, what limits a design, memory, theoretical cost, calibrations, problems.

mod band;
mod breakdown;
pub(super) mod calibration;
mod cost;
mod curve;
mod figure;
mod header;
mod memory;
mod model;
mod numbers;
mod plot;
mod problems;
mod step_gantt;
mod still;
mod table;
pub(super) mod validation;

use super::calibrating::Calibrating;
use super::command::Actions;
use super::inspector::Inspected;
use super::outcome::{DesignOutcome, Freshness, Outcome};
use super::style;
use super::theme::Theme;
use super::validating::Validating;
use super::widgets::sentence;
use crate::jobs::CurvePoint;
use crate::plan::Design;
use crate::project::Project;
use crate::report::{LoadKind, Statistic, provenance_line};
use crate::sim::{Provenance, Summary};
pub use calibration::CalibrationView;
pub use cost::CostView;
use eframe::egui::{self, RichText, Ui};
pub use header::progress_ui;
pub use problems::problem_counts;
pub use validation::ValidationView;

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
    /// How far off predictions of measured deployments are.
    Validation,
    /// What is wrong.
    Problems,
}

impl ResultsTab {
    const ALL: [Self; 9] = [
        Self::Curve,
        Self::Table,
        Self::Breakdown,
        Self::Memory,
        Self::Cost,
        Self::Model,
        Self::Calibration,
        Self::Validation,
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
            Self::Validation => "Validation",
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
    /// The validation page.
    pub validation: ValidationView,
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
            validation: std::mem::take(&mut self.validation),
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
    /// Predictions of measured rows.
    pub validating: &'a Validating,
}

impl<'a> Shown<'a> {
    /// Of the document and what is known of it.
    #[must_use]
    pub fn new(
        inspected: &'a Inspected<'a>,
        outcome: &'a Outcome,
        (calibrating, validating): (&'a Calibrating, &'a Validating),
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
            validating,
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
    header::header_ui(ui, view, shown, actions);
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
        ResultsTab::Validation => {
            validation::validation_ui(ui, &mut view.validation, shown, actions);
        }
        ResultsTab::Problems => problems::problems_ui(ui, shown, actions),
    }
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
