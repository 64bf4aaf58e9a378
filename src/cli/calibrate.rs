//! `frontier calibrate`: fits the parameter files from measured tables.

use super::Failure;
use crate::calibrate::{calibrate, report_text, write, write_over};
use crate::catalog::Catalog;
use crate::cost::calibrated::Family;
use clap::Args;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// What to fit, and where to.
#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// Folder of measured tables.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// Folder for the parameter files and the report; without it the report is printed.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Only this family of kernels (repeat for more).
    #[arg(long, value_name = "NAME")]
    pub family: Vec<String>,
}

pub(super) fn run(args: &CalibrateArgs) -> Result<(), Failure> {
    let catalog = Catalog::embedded().map_err(|error| Failure::usage(&error))?;
    let families = args
        .family
        .iter()
        .map(|word| {
            let known = Family::ALL.iter().find(|own| own.word() == word);
            known.copied().ok_or_else(|| {
                let words: Vec<&str> = Family::ALL.iter().map(|own| own.word()).collect();
                Failure::Usage(format!(
                    "unknown family {word:?}; there are {}",
                    words.join(", ")
                ))
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let progress = |done: usize, total: usize| {
        if done.is_multiple_of(20) || done == total {
            complain!("{done} of {total} tables");
        }
    };
    let outcome = calibrate(
        &args.data,
        &catalog,
        &families,
        &progress,
        &AtomicBool::new(false),
    )
    .map_err(|error| Failure::usage(&error))?;
    match &args.out {
        Some(dir) => {
            // Files of all families hold them all: what was not fitted now stays.
            let write = if families.is_empty() {
                write
            } else {
                write_over
            };
            for path in write(&outcome, dir).map_err(|error| Failure::usage(&error))? {
                say!("{}", path.display());
            }
        }
        None => super::print::out(&report_text(&outcome)),
    }
    Ok(())
}
