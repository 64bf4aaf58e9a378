//! `frontier calibrate`: fits the parameter files from measured tables (`--data`), or engines' overheads
//! from measured deployments (`--rows`).

use super::{Failure, overheads};
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
    #[arg(
        long,
        value_name = "DIR",
        required_unless_present = "rows",
        conflicts_with = "rows"
    )]
    pub data: Option<PathBuf>,
    /// Table of measured deployments (CSV, a row per run), to fit engines' overheads.
    #[arg(long, value_name = "FILE")]
    pub rows: Option<PathBuf>,
    /// With --rows: rounds of simulations; 0 holds what is shipped against what it has not seen.
    #[arg(long, value_name = "COUNT", default_value_t = 2, requires = "rows")]
    pub rounds: usize,
    /// Folder for the parameter files and the report (with --rows a file); without it the report is printed.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Only this family of kernels (repeat for more).
    #[arg(long, value_name = "NAME")]
    pub family: Vec<String>,
}

pub(super) fn run(args: &CalibrateArgs) -> Result<(), Failure> {
    let data = match (&args.rows, &args.data) {
        (Some(rows), _) => return overheads::run(rows, args.rounds, args.out.as_deref()),
        (None, Some(data)) => data,
        (None, None) => {
            return Err(Failure::Usage(
                "calibrate needs --data DIR or --rows FILE".to_owned(),
            ));
        }
    };
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
        data,
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
