//! Holding measured tables against calibrations.

use super::fit::errors_of;
use super::tables::{Refused, Table};
use crate::catalog::Catalog;
use crate::cost::calibrated::{Calibrations, Errors, Hardware, Match, Wanted, relatives};
use std::collections::BTreeMap;

/// Errors of the rows of one operator, GPU, engine, version and precision.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorErrors {
    /// Family of kernels.
    pub operator: String,
    /// GPU.
    pub gpu: String,
    /// Engine.
    pub engine: String,
    /// Its version.
    pub version: String,
    /// Number formats.
    pub precision: String,
    /// Rows given.
    pub rows: usize,
    /// Errors of those that were predicted.
    pub errors: Errors,
    /// How near the surfaces that predicted them were, the farthest.
    pub nearness: Option<Match>,
}

/// What validation found.
#[derive(Debug, Clone, PartialEq)]
pub struct Validation {
    /// By operator, GPU, engine, version, precision.
    pub operators: Vec<OperatorErrors>,
    /// Of all rows.
    pub overall: OperatorErrors,
    /// Rows not predicted, by reason.
    pub refused: Vec<Refused>,
}

/// Predicts every row of the tables.
#[must_use]
pub fn validate(
    tables: &[Table],
    refused: Vec<Refused>,
    calibrations: &Calibrations,
    catalog: &Catalog,
) -> Validation {
    type Group<'a> = (&'a str, String, &'a str, &'a str, &'a str);
    // Rows given, logarithms of measured and predicted times, the farthest surface.
    type Sums = (usize, Vec<f64>, Vec<f64>, Option<Match>);
    let mut groups: BTreeMap<Group<'_>, Sums> = BTreeMap::new();
    let mut refused = refused;
    for table in tables {
        let id = &table.id;
        let group = groups
            .entry((
                table.operator,
                id.gpu.to_string(),
                &id.engine,
                &id.version,
                &id.precision,
            ))
            .or_default();
        group.0 += table.rows.len();
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
        let Some((hardware, (surface, near))) = found else {
            refused.push(Refused {
                file: format!("{} {}", id.family.word(), id.gpu),
                why: format!(
                    "no calibration of {} {} of any relative",
                    id.engine, id.precision
                ),
                line: 0,
                rows: table.rows.len(),
            });
            continue;
        };
        group.3 = group.3.max(Some(near));
        for row in &table.rows {
            let estimate = surface.estimate(&hardware, &row.shape);
            group.1.push(libm::log(row.seconds));
            group.2.push(libm::log(estimate.parts.seconds.max(1e-12)));
        }
    }
    let of = |(operator, gpu, engine, version, precision): Group<'_>, rows, errors, nearness| {
        OperatorErrors {
            operator: operator.to_owned(),
            gpu,
            engine: engine.to_owned(),
            version: version.to_owned(),
            precision: precision.to_owned(),
            rows,
            errors,
            nearness,
        }
    };
    let (mut measured, mut predicted, mut rows, mut nearness) = (Vec::new(), Vec::new(), 0, None);
    let mut operators = Vec::new();
    for (group, (given, own, theirs, near)) in groups {
        rows += given;
        nearness = nearness.max(near);
        operators.push(of(group, given, errors_of(&own, &theirs), near));
        measured.extend(own);
        predicted.extend(theirs);
    }
    let errors = errors_of(&measured, &predicted);
    let overall = of(
        ("all", "all".to_owned(), "all", "all", "all"),
        rows,
        errors,
        nearness,
    );
    Validation {
        operators,
        overall,
        refused,
    }
}
