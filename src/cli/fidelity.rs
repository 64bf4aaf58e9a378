//! `--fidelity` and `--profile`: whose prices a run takes.

use super::Failure;
use crate::jobs::FidelityChoice;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Whose prices.
#[derive(Debug, Default, Args)]
pub struct FidelityArgs {
    /// Where step times come from; measured needs --profile.
    #[arg(long, value_enum, default_value_t)]
    fidelity: Kind,
    /// Folder of your own measured tables (see README, Calibration).
    #[arg(long, value_name = "DIR")]
    profile: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Kind {
    /// Datasheet peaks and one efficiency per class of kernel.
    Roofline,
    /// Fits of measured tables; roofline where there are none.
    #[default]
    Calibrated,
    /// Your profile, interpolated; calibrated where it has nothing.
    Measured,
}

impl FidelityArgs {
    pub(super) fn choice(&self) -> Result<FidelityChoice, Failure> {
        match (self.fidelity, &self.profile) {
            (Kind::Measured, Some(dir)) => Ok(FidelityChoice::Measured(dir.clone())),
            (Kind::Measured, None) => Err(Failure::Usage(
                "--fidelity measured needs --profile DIR".to_owned(),
            )),
            (_, Some(_)) => Err(Failure::Usage(
                "--profile is read with --fidelity measured".to_owned(),
            )),
            (Kind::Roofline, None) => Ok(FidelityChoice::Roofline),
            (Kind::Calibrated, None) => Ok(FidelityChoice::Calibrated),
        }
    }
}
