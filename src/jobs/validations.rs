//! The background job behind the validation page: reads a file of measured rows, predicts every
//! condition of it, and sums the errors up.

use super::curves::Waker;
use super::work::{Shared, WorkProgress, guarded};
use crate::catalog::Catalog;
use crate::cost::Fidelity;
use crate::model::Models;
use crate::validation::{Outcome, Predictor, Recipes, read_rows};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// What is to be predicted, by what.
#[derive(Clone)]
pub struct ValidationJob {
    /// The file of measured rows.
    pub rows: PathBuf,
    /// A user's presets: recipes are read from there, too.
    pub user_dir: Option<PathBuf>,
    /// Whose prices.
    pub fidelity: Arc<dyn Fidelity>,
    /// Hardware.
    pub catalog: Arc<Catalog>,
    /// Models.
    pub models: Arc<Models>,
}

/// What came of a file.
pub struct ValidatedRows {
    /// Which file.
    pub rows: PathBuf,
    /// What predicted it: it draws a row again as a design.
    pub predictor: Predictor,
    /// Conditions measured and predicted.
    pub outcome: Outcome,
}

/// What a job tells at its end. Errors are words for people.
pub struct ValidationMessage {
    /// Which file.
    pub rows: PathBuf,
    /// What came of it.
    pub found: Result<Arc<ValidatedRows>, String>,
}

/// Names of stages, by number.
const STAGES: [&str; 2] = ["Reading rows", "Predicting rows"];
const PREDICTING: u8 = 1;

/// Runs validations, one at a time; a new one supersedes the old, and what a superseded or cancelled
/// one still says is not heard.
pub struct ValidationRunner {
    waker: Waker,
    sender: Sender<(u64, ValidationMessage)>,
    receiver: Receiver<(u64, ValidationMessage)>,
    current: Option<Arc<Shared>>,
    /// Number of the last job.
    job: u64,
}

impl ValidationRunner {
    /// A runner that calls `waker` whenever there is something to poll or progress to show.
    #[must_use]
    pub fn new(waker: Waker) -> Self {
        let (sender, receiver) = channel();
        Self {
            waker,
            sender,
            receiver,
            current: None,
            job: 0,
        }
    }

    /// Starts a job; the one before it stops.
    pub fn start(&mut self, job: ValidationJob) {
        self.cancel();
        self.job += 1;
        let shared = Arc::new(Shared::default());
        self.current = Some(Arc::clone(&shared));
        let (number, sender, waker) = (self.job, self.sender.clone(), Arc::clone(&self.waker));
        let spawned = std::thread::Builder::new()
            .name("validations".to_owned())
            .spawn(move || {
                let rows = job.rows.clone();
                let found = guarded("validation", || work(job, &shared, &waker)).map(Arc::new);
                shared.finished.store(true, Ordering::Release);
                // The receiver is gone only when the window is.
                if sender
                    .send((number, ValidationMessage { rows, found }))
                    .is_ok()
                {
                    waker();
                }
            });
        if spawned.is_err() {
            self.current = None;
        }
    }

    /// Stops the running job.
    pub fn cancel(&mut self) {
        self.job += 1;
        if let Some(shared) = self.current.take() {
            shared.cancel.store(true, Ordering::Relaxed);
        }
    }

    /// What has come in since the last call.
    pub fn poll(&mut self) -> Vec<ValidationMessage> {
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

impl Drop for ValidationRunner {
    fn drop(&mut self) {
        self.cancel();
    }
}

fn work(job: ValidationJob, shared: &Shared, waker: &Waker) -> Result<ValidatedRows, String> {
    let rows = read_rows(&job.rows).map_err(|error| error.to_string())?;
    if rows.measured.is_empty() {
        return Err(nothing_to_predict(&job.rows, rows.refused.len()));
    }
    let recipes = Recipes::load(job.user_dir.as_deref()).map_err(|error| error.to_string())?;
    let predictor = Predictor {
        catalog: job.catalog,
        models: job.models,
        recipes: Arc::new(recipes),
        fidelity: job.fidelity,
    };
    shared.enter(PREDICTING);
    let (done, total) = (AtomicUsize::new(0), rows.measured.len());
    let step = || {
        shared.at(done.fetch_add(1, Ordering::Relaxed) + 1, total);
        waker();
    };
    let outcome = predictor.validate(rows, &step, &shared.cancel);
    Ok(ValidatedRows {
        rows: job.rows,
        predictor,
        outcome,
    })
}

fn nothing_to_predict(file: &Path, refused: usize) -> String {
    match refused {
        0 => format!("{} has no rows", file.display()),
        _ => format!(
            "all {refused} rows of {} are refused: “frontier validate --rows” lists why",
            file.display()
        ),
    }
}

#[cfg(test)]
mod tests;
