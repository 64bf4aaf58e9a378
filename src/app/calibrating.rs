//! Prices of runs and work on calibrations: which fidelity is chosen, comparing calibrations with
//! measured tables, fitting anew. All of it on threads; nothing of it is in the document.

use super::App;
use super::command::CalibrationTask;
use super::files::Purpose;
use super::results::ResultsTab;
use super::results::calibration::figures::{error_by_size_figure, parity_figure};
use super::toasts::Tone;
use crate::calibrate::Comparison;
use crate::catalog::Catalog;
use crate::cost::calibrated::{Calibrations, KIND};
use crate::cost::{Fidelity, Roofline};
use crate::jobs::{
    CalibrationMessage, CalibrationRunner, CalibrationWork, FidelityChoice, Loaded, Refit, Waker,
    WorkProgress,
};
use crate::report::Figure;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Predictions held against measured tables, with their plots.
pub struct Compared {
    /// Where the tables are.
    pub dir: PathBuf,
    /// What was found.
    pub comparison: Comparison,
    /// Predicted against measured.
    pub parity: Option<Figure>,
    /// Error by size.
    pub by_size: Option<Figure>,
}

impl Compared {
    fn new(dir: &Path, whose: &str, comparison: Comparison) -> Self {
        let title = |what: &str| format!("{what}, {whose}");
        Self {
            dir: dir.to_owned(),
            parity: parity_figure(&title("Predicted against measured"), &comparison),
            by_size: error_by_size_figure(&title("Error by size"), &comparison),
            comparison,
        }
    }
}

/// A new fit, before it is kept or forgotten.
pub struct Fit {
    /// The fit.
    pub refit: Arc<Refit>,
    /// By the calibrations in use.
    pub before: Compared,
    /// By the fit, of rows it had not seen.
    pub after: Compared,
}

/// Prices and calibrations, as far as they are known.
pub struct Calibrating {
    /// The fidelity runs are priced by.
    pub choice: FidelityChoice,
    /// Its prices.
    pub fidelity: Arc<dyn Fidelity>,
    /// The calibrations there are; those of a profile among them while it is in use.
    pub calibrations: Arc<Calibrations>,
    /// The fidelity being read.
    pub loading: Option<FidelityChoice>,
    /// The profile used last.
    pub profile: Option<PathBuf>,
    /// The last comparison.
    pub compared: Option<Arc<Compared>>,
    /// The last fit.
    pub fit: Option<Arc<Fit>>,
    /// Where fits are kept; none: they can't be.
    pub home: Option<PathBuf>,
    user_dir: Option<PathBuf>,
    prices: CalibrationRunner,
    work: CalibrationRunner,
}

impl Calibrating {
    /// Reads the calibrations; also why that failed, and then prices are the roofline's.
    pub fn new(
        waker: &Waker,
        catalog: &Arc<Catalog>,
        user_dir: Option<PathBuf>,
        home: Option<&Path>,
    ) -> (Self, Option<String>) {
        let choice = FidelityChoice::default();
        let read = choice.read(
            catalog,
            user_dir.as_deref(),
            &|_, _| {},
            &AtomicBool::new(false),
        );
        let (choice, loaded, refusal) = match read {
            Ok(loaded) => (choice, loaded, None),
            Err(error) => {
                let roofline = Loaded {
                    fidelity: Arc::new(Roofline),
                    calibrations: None,
                };
                (FidelityChoice::Roofline, roofline, Some(error.to_string()))
            }
        };
        let runner = || CalibrationRunner::new(Arc::clone(waker), Arc::clone(catalog));
        let own = Self {
            choice,
            fidelity: loaded.fidelity,
            calibrations: loaded.calibrations.unwrap_or_default(),
            loading: None,
            profile: None,
            compared: None,
            fit: None,
            home: home.map(|home| home.join(KIND)),
            user_dir,
            prices: runner(),
            work: runner(),
        };
        (own, refusal)
    }

    /// What reading prices is at.
    #[must_use]
    pub fn prices_progress(&self) -> Option<WorkProgress> {
        self.prices.progress()
    }

    /// What comparing, fitting or writing is at.
    #[must_use]
    pub fn work_progress(&self) -> Option<WorkProgress> {
        self.work.progress()
    }

    /// Stops everything.
    pub fn cancel(&mut self) {
        self.prices.cancel();
        self.work.cancel();
        self.loading = None;
    }
}

impl App {
    /// Prices runs by a fidelity, once it is read.
    pub(super) fn choose_prices(&mut self, choice: FidelityChoice) {
        self.calibrating.loading = Some(choice.clone());
        self.calibrating.prices.start(CalibrationWork::Prices {
            choice,
            user_dir: self.calibrating.user_dir.clone(),
        });
    }

    /// Holds measured tables against the calibrations.
    pub(super) fn compare_with(&mut self, dir: PathBuf) {
        self.view.results.tab = ResultsTab::Calibration;
        self.calibrating.work.start(CalibrationWork::Compare {
            dir,
            calibrations: Arc::clone(&self.calibrating.calibrations),
        });
    }

    /// Fits measured tables.
    pub(super) fn calibrate_from(&mut self, dir: PathBuf) {
        self.view.results.tab = ResultsTab::Calibration;
        self.calibrating.work.start(CalibrationWork::Fit {
            dir,
            calibrations: Arc::clone(&self.calibrating.calibrations),
        });
    }

    pub(super) fn calibration_task(&mut self, task: CalibrationTask) {
        let own = &mut self.calibrating;
        match task {
            CalibrationTask::CancelPrices => {
                own.prices.cancel();
                own.loading = None;
            }
            CalibrationTask::CancelWork => own.work.cancel(),
            CalibrationTask::Discard => own.fit = None,
            CalibrationTask::Keep => {
                if let (Some(fit), Some(dir)) = (&own.fit, &own.home) {
                    let (refit, dir) = (Arc::clone(&fit.refit), dir.clone());
                    own.work.start(CalibrationWork::Keep { refit, dir });
                }
            }
        }
    }

    /// Takes in what the threads have to say.
    pub(super) fn take_calibration_news(&mut self) {
        let news = self.calibrating.prices.poll();
        for message in news.into_iter().chain(self.calibrating.work.poll()) {
            match message {
                CalibrationMessage::Prices(choice, read) => self.priced(choice, read),
                CalibrationMessage::Compared(dir, Ok(comparison)) => {
                    let compared =
                        Compared::new(&dir, "calibrations in use", (*comparison).clone());
                    self.calibrating.compared = Some(Arc::new(compared));
                    self.view.results.calibration.show_comparison();
                }
                CalibrationMessage::Fitted(dir, Ok(refit)) => {
                    let fit = Fit {
                        before: Compared::new(&dir, "before", refit.before.clone()),
                        after: Compared::new(
                            &dir,
                            "held-out shapes of the new fit",
                            refit.after.clone(),
                        ),
                        refit,
                    };
                    self.calibrating.fit = Some(Arc::new(fit));
                    self.view.results.calibration.show_fit();
                }
                CalibrationMessage::Kept(dir, Ok(files)) => self.kept_fit(&dir, files.len()),
                CalibrationMessage::Compared(dir, Err(cause)) => {
                    self.fail(
                        "Can't compare with these tables",
                        dir,
                        cause,
                        Purpose::Compare,
                    );
                }
                CalibrationMessage::Fitted(dir, Err(cause)) => {
                    self.fail(
                        "Can't calibrate from these tables",
                        dir,
                        cause,
                        Purpose::Calibrate,
                    );
                }
                CalibrationMessage::Kept(_, Err(cause)) => {
                    let words = format!("The calibration is not kept: {cause}");
                    self.toasts.push(Tone::Warning, words);
                }
            }
        }
    }

    fn priced(&mut self, choice: FidelityChoice, read: Result<Loaded, String>) {
        self.calibrating.loading = None;
        match read {
            Ok(loaded) => {
                if let FidelityChoice::Measured(dir) = &choice {
                    self.calibrating.profile = Some(dir.clone());
                }
                self.calibrating.choice = choice;
                self.calibrating.fidelity = loaded.fidelity;
                if let Some(calibrations) = loaded.calibrations {
                    self.calibrating.calibrations = calibrations;
                }
                self.simulate_again();
            }
            Err(cause) => match choice {
                FidelityChoice::Measured(dir) => {
                    self.fail("Can't use this profile", dir, cause, Purpose::Profile);
                }
                FidelityChoice::Roofline | FidelityChoice::Calibrated => {
                    let words = format!("Prices are as they were: {cause}");
                    self.toasts.push(Tone::Warning, words);
                }
            },
        }
    }

    /// A fit lies in the user's presets: they are read again, and runs are priced by it.
    fn kept_fit(&mut self, dir: &Path, files: usize) {
        self.calibrating.fit = None;
        self.calibrating.user_dir = dir.parent().map(Path::to_owned);
        let noun = if files == 1 { "file" } else { "files" };
        let words = format!("Wrote {files} {noun} into {}; runs use them", dir.display());
        self.toasts.push(Tone::Done, words);
        let choice = match &self.calibrating.choice {
            own @ FidelityChoice::Measured(_) => own.clone(),
            _ => FidelityChoice::Calibrated,
        };
        self.choose_prices(choice);
    }
}
