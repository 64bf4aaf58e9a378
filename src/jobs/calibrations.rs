//! Background work on calibrations: reading the prices of a fidelity, holding measured tables
//! against them, fitting anew, keeping what was fitted.

use super::curves::Waker;
use super::fidelity::{FidelityChoice, Loaded};
use super::work::{Shared, WorkProgress, guarded};
use crate::calibrate::{
    Comparison, Outcome, calibrate_tables, compare, held_out, read_tables, write_over,
};
use crate::catalog::Catalog;
use crate::cost::calibrated::Calibrations;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};

/// What is to be done.
#[derive(Clone)]
pub enum CalibrationWork {
    /// Read a fidelity's prices.
    Prices {
        /// Which fidelity.
        choice: FidelityChoice,
        /// A user's presets.
        user_dir: Option<PathBuf>,
    },
    /// Predict the rows of measured tables.
    Compare {
        /// Where they are.
        dir: PathBuf,
        /// By these.
        calibrations: Arc<Calibrations>,
    },
    /// Fit measured tables.
    Fit {
        /// Where they are.
        dir: PathBuf,
        /// What predicts them without the new fit.
        calibrations: Arc<Calibrations>,
    },
    /// Write a fit's parameters into a folder of calibrations.
    Keep {
        /// The fit.
        refit: Arc<Refit>,
        /// The folder; it is made.
        dir: PathBuf,
    },
}

/// A new fit of measured tables, and how far off predictions of them are without and with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Refit {
    /// Where the tables are.
    pub dir: PathBuf,
    /// The fit.
    pub outcome: Outcome,
    /// By the calibrations there were.
    pub before: Comparison,
    /// By the fit, of rows it had not seen.
    pub after: Comparison,
}

/// What came of it. Errors are words for people.
pub enum CalibrationMessage {
    /// Prices were read.
    Prices(FidelityChoice, Result<Loaded, String>),
    /// Tables were compared.
    Compared(PathBuf, Result<Arc<Comparison>, String>),
    /// Tables were fitted.
    Fitted(PathBuf, Result<Arc<Refit>, String>),
    /// A fit was written, into these files.
    Kept(PathBuf, Result<Vec<PathBuf>, String>),
}

/// Names of stages, by number.
const STAGES: [&str; 5] = [
    "Reading",
    "Reading tables",
    "Comparing",
    "Fitting",
    "Writing",
];
/// What its threads are called.
const THREAD: &str = "calibration";
const TABLES: u8 = 1;
const COMPARING: u8 = 2;
const FITTING: u8 = 3;
const WRITING: u8 = 4;

/// Runs jobs on calibrations, one at a time; a new one supersedes the old, and what a superseded or
/// cancelled one still says is not heard.
pub struct CalibrationRunner {
    waker: Waker,
    catalog: Arc<Catalog>,
    sender: Sender<(u64, CalibrationMessage)>,
    receiver: Receiver<(u64, CalibrationMessage)>,
    current: Option<Arc<Shared>>,
    /// Number of the last job.
    job: u64,
}

impl CalibrationRunner {
    /// A runner that calls `waker` whenever there is something to poll or progress to show.
    #[must_use]
    pub fn new(waker: Waker, catalog: Arc<Catalog>) -> Self {
        let (sender, receiver) = channel();
        Self {
            waker,
            catalog,
            sender,
            receiver,
            current: None,
            job: 0,
        }
    }

    /// Starts a job; the one before it stops.
    pub fn start(&mut self, work: CalibrationWork) {
        self.cancel();
        self.job += 1;
        let shared = Arc::new(Shared::default());
        self.current = Some(Arc::clone(&shared));
        let worker = Worker {
            shared,
            waker: Arc::clone(&self.waker),
            catalog: Arc::clone(&self.catalog),
        };
        let (job, sender) = (self.job, self.sender.clone());
        let spawned = std::thread::Builder::new()
            .name("calibrations".to_owned())
            .spawn(move || {
                let message = worker.work(&work);
                worker.shared.finished.store(true, Ordering::Release);
                // The receiver is gone only when the window is.
                if sender.send((job, message)).is_ok() {
                    (worker.waker)();
                }
            });
        if spawned.is_err() {
            self.current = None;
        }
    }

    /// Stops the running job: a fit that has begun is finished by its thread and thrown away.
    pub fn cancel(&mut self) {
        self.job += 1;
        if let Some(shared) = self.current.take() {
            shared.cancel.store(true, Ordering::Relaxed);
        }
    }

    /// What has come in since the last call.
    pub fn poll(&mut self) -> Vec<CalibrationMessage> {
        let job = self.job;
        self.receiver
            .try_iter()
            .filter(|(of, _)| *of == job)
            .map(|(_, message)| message)
            .collect()
    }

    /// What the running job is at; none: none runs.
    #[must_use]
    pub fn progress(&self) -> Option<WorkProgress> {
        self.current.as_ref()?.progress(&STAGES)
    }
}

impl Drop for CalibrationRunner {
    fn drop(&mut self) {
        self.cancel();
    }
}

struct Worker {
    shared: Arc<Shared>,
    waker: Waker,
    catalog: Arc<Catalog>,
}

impl Worker {
    fn work(&self, work: &CalibrationWork) -> CalibrationMessage {
        match work {
            CalibrationWork::Prices { choice, user_dir } => {
                let read = guarded(THREAD, || self.prices(choice, user_dir.as_deref()));
                CalibrationMessage::Prices(choice.clone(), read)
            }
            CalibrationWork::Compare { dir, calibrations } => {
                let compared = guarded(THREAD, || self.compare(dir, calibrations));
                CalibrationMessage::Compared(dir.clone(), compared.map(Arc::new))
            }
            CalibrationWork::Fit { dir, calibrations } => {
                let fitted = guarded(THREAD, || self.fit(dir, calibrations));
                CalibrationMessage::Fitted(dir.clone(), fitted.map(Arc::new))
            }
            CalibrationWork::Keep { refit, dir } => {
                self.shared.enter(WRITING);
                let write = || write_over(&refit.outcome, dir).map_err(|error| error.to_string());
                let kept = guarded(THREAD, write);
                CalibrationMessage::Kept(dir.clone(), kept)
            }
        }
    }

    fn step(&self, done: usize, total: usize) {
        self.shared.at(done, total);
        (self.waker)();
    }

    fn prices(&self, choice: &FidelityChoice, user_dir: Option<&Path>) -> Result<Loaded, String> {
        choice
            .read(
                &self.catalog,
                user_dir,
                &|done, total| self.step(done, total),
                &self.shared.cancel,
            )
            .map_err(|error| error.to_string())
    }

    fn compare(&self, dir: &Path, calibrations: &Calibrations) -> Result<Comparison, String> {
        self.shared.enter(TABLES);
        let (tables, refused) = read_tables(dir, &self.catalog).map_err(|e| e.to_string())?;
        self.shared.enter(COMPARING);
        compare(
            &tables,
            refused,
            calibrations,
            &self.catalog,
            &|done, total| self.step(done, total),
            &self.shared.cancel,
        )
        .map_err(|error| error.to_string())
    }

    fn fit(&self, dir: &Path, calibrations: &Calibrations) -> Result<Refit, String> {
        self.shared.enter(TABLES);
        let (tables, refused) = read_tables(dir, &self.catalog).map_err(|e| e.to_string())?;
        let step = |done, total| self.step(done, total);
        self.shared.enter(COMPARING);
        let before = compare(
            &tables,
            refused.clone(),
            calibrations,
            &self.catalog,
            &step,
            &self.shared.cancel,
        )
        .map_err(|error| error.to_string())?;
        self.shared.enter(FITTING);
        let outcome = calibrate_tables(
            tables.clone(),
            refused,
            &self.catalog,
            &[],
            &step,
            &self.shared.cancel,
        )
        .map_err(|error| error.to_string())?;
        if outcome.fits.is_empty() {
            return Err(nothing_to_fit(&outcome));
        }
        let after = held_out(&outcome, &tables);
        Ok(Refit {
            dir: dir.to_owned(),
            outcome,
            before,
            after,
        })
    }
}

/// Why no table was fitted.
fn nothing_to_fit(outcome: &Outcome) -> String {
    let refused: usize = outcome.refused.iter().map(|own| own.rows).sum();
    let first = outcome
        .refused
        .iter()
        .max_by_key(|own| own.rows)
        .map(|own| format!(", most because of {} ({})", own.why, own.file))
        .unwrap_or_default();
    format!(
        "no table has enough rows to fit: {} are too small, {refused} rows were refused{first}",
        outcome.too_small.len()
    )
}

#[cfg(test)]
mod tests;
