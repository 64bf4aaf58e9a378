//! Which prices a run takes, and getting them.

use crate::calibrate::{CalibrateError, Progress, measured};
use crate::catalog::Catalog;
use crate::cost::calibrated::{Calibrated, CalibrationError, Calibrations};
use crate::cost::{Fidelity, Roofline};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A fidelity as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum FidelityChoice {
    /// Datasheet peaks and one efficiency per class.
    Roofline,
    /// Fits of public measurements, or of a user's; roofline where there are none.
    #[default]
    Calibrated,
    /// A user's own profile, interpolated; calibrated where it has nothing.
    Measured(PathBuf),
}

/// Why prices can't be had.
#[derive(Debug, thiserror::Error)]
pub enum FidelityError {
    /// The calibrations can't be read.
    #[error(transparent)]
    Calibration(#[from] CalibrationError),
    /// The profile can't be read.
    #[error("profile: {0}")]
    Profile(#[from] CalibrateError),
}

impl FidelityChoice {
    /// Its word.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Roofline => "roofline",
            Self::Calibrated => "calibrated",
            Self::Measured(_) => "measured",
        }
    }

    /// Reads what it needs. A profile is fitted first, which takes seconds.
    ///
    /// # Errors
    /// A calibration file or the profile can't be read.
    pub fn load(
        &self,
        catalog: &Arc<Catalog>,
        user_dir: Option<&Path>,
        progress: Progress<'_>,
        cancel: &AtomicBool,
    ) -> Result<Arc<dyn Fidelity>, FidelityError> {
        self.read(catalog, user_dir, progress, cancel)
            .map(|loaded| loaded.fidelity)
    }

    /// The same with the calibrations that prices come from.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn read(
        &self,
        catalog: &Arc<Catalog>,
        user_dir: Option<&Path>,
        progress: Progress<'_>,
        cancel: &AtomicBool,
    ) -> Result<Loaded, FidelityError> {
        let calibrations = || match user_dir {
            Some(dir) => Calibrations::load(Some(dir)).map(Arc::new),
            None => Calibrations::embedded(),
        };
        Ok(match self {
            Self::Roofline => Loaded {
                fidelity: Arc::new(Roofline),
                calibrations: None,
            },
            Self::Calibrated => {
                let all = calibrations()?;
                Loaded {
                    fidelity: Arc::new(Calibrated::new(Arc::clone(&all), Arc::clone(catalog))),
                    calibrations: Some(all),
                }
            }
            Self::Measured(dir) => {
                let own = measured(dir, catalog, progress, cancel)?;
                let over = Arc::new(calibrations()?.with(own));
                let prices = Calibrated::measured(Arc::clone(&over), Arc::clone(catalog));
                Loaded {
                    fidelity: Arc::new(prices),
                    calibrations: Some(over),
                }
            }
        })
    }
}

/// Prices ready for runs.
#[derive(Clone)]
pub struct Loaded {
    /// The prices.
    pub fidelity: Arc<dyn Fidelity>,
    /// The calibrations they come from; none: from datasheets alone.
    pub calibrations: Option<Arc<Calibrations>>,
}
