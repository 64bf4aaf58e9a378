//! Measured tables against predictions, table by table: errors, errors by size, and pairs of
//! measured and predicted times for a plot.
//!
//! Predictions are those of calibrations that exist ([`compare`]), or those a new fit made of rows
//! it had not seen ([`held_out`]).

use super::fit::{SizeErrors, by_size, errors_of};
use super::run::{CalibrateError, Outcome, Progress};
use super::tables::{Refused, Table};
use crate::catalog::Catalog;
use crate::cost::calibrated::{
    Calibrations, Errors, Family, Hardware, Match, Surface, TableId, Wanted, relatives,
};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Most pairs kept for plots: every so-many-th row of all.
pub const MOST_PAIRS: usize = 4000;
/// Rows between two looks at whether it was cancelled.
const ROWS_PER_LOOK: usize = 2048;

/// Errors of one table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableErrors {
    /// Which table.
    pub id: TableId,
    /// Rows measured.
    pub rows: usize,
    /// How near the surface that predicted it is; none: nothing could predict it.
    pub near: Option<Match>,
    /// Numbers in that surface: parameters and nodes of its trees.
    pub numbers: usize,
    /// Errors of its rows.
    pub errors: Errors,
    /// The same by size.
    pub by_size: Vec<SizeErrors>,
    /// Measured and predicted seconds of some of its rows.
    pub pairs: Vec<(f64, f64)>,
}

/// Errors of all tables of a family.
#[derive(Debug, Clone, PartialEq)]
pub struct FamilyErrors {
    /// Which.
    pub family: Family,
    /// Errors of their rows.
    pub errors: Errors,
    /// The same by size.
    pub by_size: Vec<SizeErrors>,
}

/// What a comparison found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// By table, in the order of their ids.
    pub tables: Vec<TableErrors>,
    /// By family.
    pub families: Vec<FamilyErrors>,
    /// Of all rows.
    pub overall: Errors,
    /// Rows not taken, by reason.
    pub refused: Vec<Refused>,
}

impl Comparison {
    /// The table of an id.
    #[must_use]
    pub fn table(&self, id: &TableId) -> Option<&TableErrors> {
        self.tables.iter().find(|own| own.id == *id)
    }

    /// Tables that were predicted, the largest median error first.
    #[must_use]
    pub fn worst(&self) -> Vec<&TableErrors> {
        let mut tables: Vec<&TableErrors> = self
            .tables
            .iter()
            .filter(|own| own.near.is_some())
            .collect();
        tables.sort_by(|a, b| {
            let by_error = b.errors.median.total_cmp(&a.errors.median);
            by_error.then_with(|| a.id.cmp(&b.id))
        });
        tables
    }
}

/// One table's rows as natural logarithms of seconds.
struct Logs {
    id: TableId,
    rows: usize,
    near: Option<Match>,
    numbers: usize,
    sizes: Vec<f64>,
    measured: Vec<f64>,
    predicted: Vec<f64>,
}

impl Logs {
    fn of(table: &Table) -> Self {
        Self {
            id: table.id.clone(),
            rows: table.rows.len(),
            near: None,
            numbers: 0,
            sizes: Vec::new(),
            measured: Vec::new(),
            predicted: Vec::new(),
        }
    }

    fn push(&mut self, size: f64, measured: f64, predicted: f64) {
        self.sizes.push(size);
        self.measured.push(libm::log(measured));
        self.predicted.push(libm::log(predicted.max(1e-12)));
    }
}

/// How many numbers a surface is made of.
fn numbers_of(surface: &Surface) -> usize {
    surface.parameters.len() + surface.forest.nodes()
}

/// Predicts every row of the tables by calibrations.
///
/// # Errors
/// `cancel` was set.
pub fn compare(
    tables: &[Table],
    refused: Vec<Refused>,
    calibrations: &Calibrations,
    catalog: &Catalog,
    progress: Progress<'_>,
    cancel: &AtomicBool,
) -> Result<Comparison, CalibrateError> {
    let done = AtomicUsize::new(0);
    let logs: Vec<Logs> = tables
        .par_iter()
        .filter_map(|table| {
            let logs = predict(table, calibrations, catalog, cancel)?;
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, tables.len());
            Some(logs)
        })
        .collect();
    if cancel.load(Ordering::Relaxed) {
        return Err(CalibrateError::Cancelled);
    }
    Ok(sum_up(&logs, refused))
}

/// None: cancelled.
fn predict(
    table: &Table,
    calibrations: &Calibrations,
    catalog: &Catalog,
    cancel: &AtomicBool,
) -> Option<Logs> {
    let id = &table.id;
    let mut logs = Logs::of(table);
    let wanted = Wanted {
        gpu: &id.gpu,
        family: id.family,
        precision: &id.precision,
        engine: &id.engine,
        version: &id.version,
        kernel: &id.kernel,
        tags: &[],
    };
    let found = catalog.gpu(&id.gpu).and_then(|gpu| {
        let kin = relatives(gpu, id.family, catalog);
        Some((Hardware::of(gpu), calibrations.find(&wanted, &kin)?))
    });
    if let Some((hardware, (surface, near))) = found {
        logs.near = Some(near);
        logs.numbers = numbers_of(surface);
        for rows in table.rows.chunks(ROWS_PER_LOOK) {
            if cancel.load(Ordering::Relaxed) {
                return None;
            }
            for row in rows {
                let estimate = surface.estimate(&hardware, &row.shape);
                logs.push(row.shape.size(), row.seconds, estimate.parts.seconds);
            }
        }
    }
    (!cancel.load(Ordering::Relaxed)).then_some(logs)
}

/// What a calibration said of rows it had not seen; `tables` are those it was made of.
#[must_use]
pub fn held_out(outcome: &Outcome, tables: &[Table]) -> Comparison {
    let logs: Vec<Logs> = outcome
        .fits
        .iter()
        .filter_map(|fitted| {
            let table = tables.iter().find(|own| own.id == fitted.surface.id)?;
            let mut logs = Logs::of(table);
            logs.near = Some(Match::Exact);
            logs.numbers = fitted.numbers;
            for (row, (measured, predicted)) in table.rows.iter().zip(&fitted.predicted) {
                logs.push(row.shape.size(), *measured, *predicted);
            }
            Some(logs)
        })
        .collect();
    sum_up(&logs, outcome.refused.clone())
}

fn sum_up(logs: &[Logs], refused: Vec<Refused>) -> Comparison {
    let rows: usize = logs.iter().map(|own| own.measured.len()).sum();
    let stride = rows.div_ceil(MOST_PAIRS).max(1);
    let tables = logs
        .iter()
        .map(|own| TableErrors {
            id: own.id.clone(),
            rows: own.rows,
            near: own.near,
            numbers: own.numbers,
            errors: errors_of(&own.measured, &own.predicted),
            by_size: by_size(&own.sizes, &own.measured, &own.predicted),
            pairs: own
                .measured
                .iter()
                .zip(&own.predicted)
                .step_by(stride)
                .map(|(measured, predicted)| (libm::exp(*measured), libm::exp(*predicted)))
                .collect(),
        })
        .collect();
    let mut by_family: BTreeMap<Family, Vec<&Logs>> = BTreeMap::new();
    for own in logs.iter().filter(|own| !own.measured.is_empty()) {
        by_family.entry(own.id.family).or_default().push(own);
    }
    let families = by_family
        .into_iter()
        .map(|(family, logs)| {
            let (sizes, measured, predicted) = joined(&logs);
            FamilyErrors {
                family,
                errors: errors_of(&measured, &predicted),
                by_size: by_size(&sizes, &measured, &predicted),
            }
        })
        .collect();
    let (_, measured, predicted) = joined(&logs.iter().collect::<Vec<_>>());
    Comparison {
        tables,
        families,
        overall: errors_of(&measured, &predicted),
        refused,
    }
}

fn joined(logs: &[&Logs]) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let all = |pick: fn(&Logs) -> &Vec<f64>| -> Vec<f64> {
        logs.iter().flat_map(|own| pick(own)).copied().collect()
    };
    (
        all(|own| &own.sizes),
        all(|own| &own.measured),
        all(|own| &own.predicted),
    )
}
