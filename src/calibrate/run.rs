//! Calibrating all tables of a folder and writing the parameter files.

use super::fit::{Fitted, fit_table};
use super::report::report_text;
use super::stand_in::{StandIns, stand_ins};
use super::tables::{Refused, Table, TablesError, read_tables};
use crate::catalog::{Catalog, GpuId};
use crate::cost::calibrated::{CalibrationFile, Family, Hardware, SurfaceRow, VERSION, hash};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The code whose hash says which fit made a file.
#[derive(rust_embed::Embed)]
#[folder = "src/"]
#[include = "calibrate/**/*.rs"]
#[include = "cost/calibrated/**/*.rs"]
struct Code;

/// Called with tables done and in all.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// What a calibration made.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Every table's fit, by table.
    pub fits: Vec<Fitted>,
    /// What it costs where surfaces stand in for others.
    pub stand_ins: StandIns,
    /// Rows not taken.
    pub refused: Vec<Refused>,
    /// Tables with too few rows to fit.
    pub too_small: Vec<(crate::cost::calibrated::TableId, usize)>,
    /// Hash of the measurements.
    pub data: String,
    /// Hash of the code.
    pub code: String,
}

/// Why a calibration has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// The tables can't be read.
    #[error(transparent)]
    Tables(#[from] TablesError),
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The result can't be written.
    #[error("{path}: {why}")]
    Write {
        /// Which file.
        path: String,
        /// Why.
        why: String,
    },
}

/// Fewest rows a table is fitted on.
const FEWEST_ROWS: usize = 12;

/// Fits every table of a folder, or those of some families.
///
/// # Errors
/// The tables can't be read, or `cancel` was set.
pub fn calibrate(
    dir: &Path,
    catalog: &Catalog,
    families: &[Family],
    progress: Progress<'_>,
    cancel: &AtomicBool,
) -> Result<Outcome, CalibrateError> {
    let (tables, refused) = read_tables(dir, catalog)?;
    calibrate_tables(tables, refused, catalog, families, progress, cancel)
}

/// Fits tables that were read, or those of some families.
///
/// # Errors
/// `cancel` was set.
pub fn calibrate_tables(
    mut tables: Vec<Table>,
    refused: Vec<Refused>,
    catalog: &Catalog,
    families: &[Family],
    progress: Progress<'_>,
    cancel: &AtomicBool,
) -> Result<Outcome, CalibrateError> {
    tables.retain(|table| families.is_empty() || families.contains(&table.id.family));
    let data = format!("{:016x}", data_hash(&tables));
    let too_small = tables
        .iter()
        .filter(|table| table.rows.len() < FEWEST_ROWS)
        .map(|table| (table.id.clone(), table.rows.len()))
        .collect();
    tables.retain(|table| table.rows.len() >= FEWEST_ROWS);
    let total = tables.len();
    let done = std::sync::atomic::AtomicUsize::new(0);
    // Longest first, so that no core is left with one at the end; results go back in order.
    let mut order: Vec<usize> = (0..total).collect();
    order.sort_by_key(|index| std::cmp::Reverse(tables[*index].rows.len()));
    let mut fits: Vec<(usize, Fitted)> = order
        .par_iter()
        .with_max_len(1)
        .filter_map(|index| {
            if cancel.load(Ordering::Relaxed) {
                return None;
            }
            let table = &tables[*index];
            let gpu = catalog.gpu(&table.id.gpu)?;
            let fitted = fit_table(table, &Hardware::of(gpu));
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
            Some((*index, fitted))
        })
        .collect();
    if cancel.load(Ordering::Relaxed) {
        return Err(CalibrateError::Cancelled);
    }
    fits.sort_by_key(|(index, _)| *index);
    let fits: Vec<Fitted> = fits.into_iter().map(|(_, fitted)| fitted).collect();
    let surfaces: Vec<_> = fits.iter().map(|own| own.surface.clone()).collect();
    Ok(Outcome {
        stand_ins: stand_ins(&tables, &surfaces, catalog),
        fits,
        refused,
        too_small,
        data,
        code: format!("{:016x}", code_hash()),
    })
}

/// Writes one file per GPU (fits that are good enough) and the report, into a folder that is made. Files of GPUs without
/// tables are left.
///
/// # Errors
/// A file can't be written.
pub fn write(outcome: &Outcome, dir: &Path) -> Result<Vec<PathBuf>, CalibrateError> {
    put_all(outcome, dir, |_, file| Ok(file))
}

/// The same over the files that lie there: tables that were not fitted now stay in them.
///
/// # Errors
/// A file can't be read or written.
pub fn write_over(outcome: &Outcome, dir: &Path) -> Result<Vec<PathBuf>, CalibrateError> {
    put_all(outcome, dir, |path, file| {
        let failed = |why: String| CalibrateError::Write {
            path: path.display().to_string(),
            why,
        };
        match std::fs::read_to_string(path) {
            Ok(text) => CalibrationFile::read(&text, &path.display().to_string())
                .map(|older| file.over(older))
                .map_err(|error| failed(format!("the older file there: {error}"))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(file),
            Err(error) => Err(failed(error.to_string())),
        }
    })
}

fn put_all(
    outcome: &Outcome,
    dir: &Path,
    join: impl Fn(&Path, CalibrationFile) -> Result<CalibrationFile, CalibrateError>,
) -> Result<Vec<PathBuf>, CalibrateError> {
    let failed = |path: &Path, why: &dyn std::fmt::Display| CalibrateError::Write {
        path: path.display().to_string(),
        why: why.to_string(),
    };
    std::fs::create_dir_all(dir).map_err(|error| failed(dir, &error))?;
    let mut by_gpu: BTreeMap<&GpuId, Vec<SurfaceRow>> = BTreeMap::new();
    for fitted in outcome.fits.iter().filter(|own| own.ships()) {
        by_gpu
            .entry(&fitted.surface.id.gpu)
            .or_default()
            .push(SurfaceRow::of(&fitted.surface));
    }
    let mut written = Vec::new();
    let mut put = |name: String, text: String| {
        let path = dir.join(name);
        // Beside it first: a full disk must not leave half a file in place of a whole one.
        let part = path.with_extension("part");
        std::fs::write(&part, text)
            .and_then(|()| std::fs::rename(&part, &path))
            .map_err(|error| failed(&path, &error))?;
        written.push(path);
        Ok::<(), CalibrateError>(())
    };
    for (gpu, surfaces) in by_gpu {
        let file = CalibrationFile {
            version: VERSION,
            data: outcome.data.clone(),
            code: outcome.code.clone(),
            gpu: gpu.clone(),
            parameters: surfaces.iter().map(|row| named(row.family())).collect(),
            stand_ins: outcome
                .stand_ins
                .by_gpu
                .get(gpu)
                .cloned()
                .unwrap_or_default(),
            surfaces,
        };
        let name = format!("{gpu}.ron");
        let file = join(&dir.join(&name), file)?;
        put(name, file.text())?;
    }
    put("report.md".to_owned(), report_text(outcome))?;
    Ok(written)
}

/// A family with its parameters' names.
fn named(family: Family) -> (Family, Vec<String>) {
    let names = family.parameters().iter();
    (family, names.map(|own| own.name.to_owned()).collect())
}

fn data_hash(tables: &[Table]) -> u64 {
    let mut state = hash(&[]);
    for table in tables {
        for word in [
            table.id.gpu.to_string(),
            table.id.engine.clone(),
            table.id.version.clone(),
            table.id.precision.clone(),
            table.id.kernel.clone(),
        ] {
            let bytes: Vec<u64> = word.bytes().map(u64::from).collect();
            state = hash(&[state, hash(&bytes)]);
        }
        for row in &table.rows {
            state = hash(&[
                state,
                row.shape.key(),
                row.shape.size().to_bits(),
                row.seconds.to_bits(),
            ]);
        }
    }
    state
}

fn code_hash() -> u64 {
    let mut names: Vec<_> = Code::iter().collect();
    names.sort_unstable();
    names
        .iter()
        .filter_map(|name| Code::get(name))
        .fold(hash(&[]), |state, file| {
            let bytes: Vec<u64> = file.data.iter().map(|byte| u64::from(*byte)).collect();
            hash(&[state, hash(&bytes)])
        })
}
