//! Validation in the window: predicting a file of measured rows on threads, and drawing one of its
//! rows as a design.

use super::App;
use super::command::ValidationTask;
use super::dialogs::Dialog;
use super::edit::Edit;
use super::files::Purpose;
use super::results::ResultsTab;
use super::results::validation::figures::{Cloud, parity_clouds};
use super::starter::{fresh_design_id, fresh_name};
use super::toasts::Tone;
use crate::jobs::{ValidatedRows, ValidationJob, ValidationRunner, Waker, WorkProgress};
use crate::plan::DesignId;
use crate::validation::{By, Group, Headline, KnownErrors, Predicted, workload_of};
use crate::workload::Length;
use std::path::PathBuf;
use std::sync::Arc;

/// A file's rows, predicted, with what the page shows of them.
pub struct Checked {
    /// What came of the file.
    pub found: Arc<ValidatedRows>,
    /// Whose prices predicted it.
    pub prices: &'static str,
    /// Errors of each class.
    pub headlines: Vec<Headline>,
    /// Errors by each grouping.
    pub groups: Vec<(By, Vec<Group>)>,
    /// Points of the parity plots, by engine.
    pub clouds: Vec<Cloud>,
}

impl Checked {
    fn new(found: Arc<ValidatedRows>, prices: &'static str) -> Self {
        let predicted = &found.outcome.predicted;
        Self {
            prices,
            headlines: found.outcome.headlines(),
            groups: By::ALL
                .into_iter()
                .map(|by| (by, by.groups(predicted)))
                .collect(),
            clouds: parity_clouds(predicted),
            found,
        }
    }

    /// Conditions that were predicted.
    #[must_use]
    pub fn predicted(&self) -> &[Predicted] {
        &self.found.outcome.predicted
    }

    /// Errors by a grouping.
    #[must_use]
    pub fn groups(&self, by: By) -> &[Group] {
        let own = self.groups.iter().find(|(own, _)| *own == by);
        own.map_or(&[], |(_, groups)| groups)
    }
}

/// The last validation and the one that runs.
pub struct Validating {
    /// The last one; none: there was none yet.
    pub checked: Option<Arc<Checked>>,
    /// What predictions were known to be off by when the program was made.
    pub known: Arc<KnownErrors>,
    user_dir: Option<PathBuf>,
    runner: ValidationRunner,
    /// Whose prices the running one takes.
    prices: &'static str,
}

impl Validating {
    /// None yet; also why the known errors can't be read, and then none are known.
    pub fn new(waker: &Waker, user_dir: Option<PathBuf>) -> (Self, Option<String>) {
        let (known, refusal) = match KnownErrors::load(user_dir.as_deref()) {
            Ok(known) => (known, None),
            Err(error) => (KnownErrors::default(), Some(error.to_string())),
        };
        let own = Self {
            checked: None,
            known: Arc::new(known),
            user_dir,
            runner: ValidationRunner::new(Arc::clone(waker)),
            prices: "",
        };
        (own, refusal)
    }

    /// What the running one is at.
    #[must_use]
    pub fn progress(&self) -> Option<WorkProgress> {
        self.runner.progress()
    }

    /// Stops it.
    pub fn cancel(&mut self) {
        self.runner.cancel();
    }
}

impl App {
    /// Predicts a file of measured rows.
    pub(super) fn validate_rows(&mut self, rows: PathBuf) {
        self.view.results.tab = ResultsTab::Validation;
        self.validating.prices = self.calibrating.choice.name();
        self.validating.runner.start(ValidationJob {
            rows,
            user_dir: self.validating.user_dir.clone(),
            fidelity: Arc::clone(&self.calibrating.fidelity),
            catalog: Arc::clone(&self.presets.catalog),
            models: Arc::clone(&self.presets.models),
        });
    }

    pub(super) fn validation_task(&mut self, task: ValidationTask) {
        match task {
            ValidationTask::Cancel => self.validating.cancel(),
            ValidationTask::AskOpen(index) => self.ask_open_measured(index),
        }
    }

    /// Takes in what the threads have to say.
    pub(super) fn take_validation_news(&mut self) {
        for message in self.validating.runner.poll() {
            match message.found {
                Ok(found) => {
                    let checked = Checked::new(found, self.validating.prices);
                    self.validating.checked = Some(Arc::new(checked));
                    self.view.results.validation.renew();
                }
                Err(cause) => {
                    let title = "Can't validate with these rows";
                    self.fail(title, message.rows, cause, Purpose::Rows);
                }
            }
        }
    }

    /// Asks whether a measured row comes with its client's load.
    fn ask_open_measured(&mut self, index: usize) {
        let Some(checked) = self.validating.checked.clone() else {
            return;
        };
        let Some(own) = checked.predicted().get(index) else {
            return;
        };
        let c = &own.measured.condition;
        let workload = workload_of(c, &checked.found.predictor.recipes);
        self.dialog = Some(Dialog::Measured {
            index,
            name: own.measured.ids.first().cloned().unwrap_or_default(),
            load: format!(
                "{} requests in flight, prompts {}, answers {}",
                c.concurrency,
                words(workload.input),
                words(workload.output)
            ),
        });
    }

    /// Draws a measured row as a design of the document: one step, with its client's load or not.
    pub(super) fn open_measured(&mut self, index: usize, with_workload: bool) {
        let Some(checked) = self.validating.checked.clone() else {
            return;
        };
        let Some(own) = checked.predicted().get(index) else {
            return;
        };
        let condition = &own.measured.condition;
        let mut design = match checked.found.predictor.draw(condition) {
            Ok(drawn) => drawn.design,
            Err(error) => {
                self.toasts.push(Tone::Warning, error.to_string());
                return;
            }
        };
        let designs = &self.project().designs;
        let id: DesignId = fresh_design_id(designs);
        design.id = id.clone();
        design.name = fresh_name(&design.name, designs);
        let load = condition.concurrency.max(1);
        let workload =
            with_workload.then(|| workload_of(condition, &checked.found.predictor.recipes));
        self.history
            .apply(Edit::project("Open a measured row", move |project| {
                project.designs.push(design);
                if let Some(workload) = workload {
                    project.workload = workload;
                    // The row's own load is a point of the curve.
                    let mut loads = vec![load.div_ceil(4), load.div_ceil(2), load];
                    loads.push(load.saturating_mul(2));
                    loads.dedup();
                    project.curve.loads = loads.into_iter().map(f64::from).collect();
                }
            }));
        self.show(id);
    }
}

/// Lengths of a client.
fn words(length: Length) -> String {
    match length {
        Length::Fixed(tokens) => format!("of {} tokens", tokens.get()),
        Length::Uniform { min, max } => format!("of {} to {} tokens", min.get(), max.get()),
        _ => "as measured".to_owned(),
    }
}
