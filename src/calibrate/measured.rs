//! A user's profile as a measured fidelity: every table is fitted, and what the fit leaves of its
//! rows is kept to be interpolated.

use super::fit::fit_once;
use super::run::{CalibrateError, Progress};
use super::tables::read_tables;
use crate::catalog::Catalog;
use crate::cost::calibrated::{Hardware, Surface};
use rayon::prelude::*;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The surfaces of a folder of tables, with their measurements.
///
/// # Errors
/// The tables can't be read, or `cancel` was set.
pub fn measured(
    dir: &Path,
    catalog: &Catalog,
    progress: Progress<'_>,
    cancel: &AtomicBool,
) -> Result<Vec<Surface>, CalibrateError> {
    let (tables, _) = read_tables(dir, catalog)?;
    let done = AtomicUsize::new(0);
    let surfaces = tables
        .par_iter()
        .filter_map(|table| {
            if cancel.load(Ordering::Relaxed) {
                return None;
            }
            let gpu = catalog.gpu(&table.id.gpu)?;
            let surface = fit_once(table, &Hardware::of(gpu));
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, tables.len());
            Some(surface)
        })
        .collect();
    if cancel.load(Ordering::Relaxed) {
        return Err(CalibrateError::Cancelled);
    }
    Ok(surfaces)
}
