//! `frontier validate --ops DIR`: measured operator tables against the calibrations.

use crate::calibrate::{OperatorErrors, Validation, read_tables, validate};
use crate::catalog::{Catalog, user_presets_dir};
use crate::cli::Failure;
use crate::cost::calibrated::Calibrations;
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn run(dir: &Path, json_wanted: bool) -> Result<(), Failure> {
    let user = user_presets_dir();
    let catalog = Catalog::load(user.as_deref()).map_err(|error| Failure::usage(&error))?;
    let calibrations =
        Calibrations::load(user.as_deref()).map_err(|error| Failure::usage(&error))?;
    let (tables, refused) = read_tables(dir, &catalog).map_err(|error| Failure::usage(&error))?;
    let found = validate(&tables, refused, &calibrations, &catalog);
    if json_wanted {
        let text = serde_json::to_string_pretty(&as_json(&found))
            .map_err(|error| Failure::usage(&error))?;
        say!("{text}");
    } else {
        print(&found);
    }
    Ok(())
}

fn row(own: &OperatorErrors) -> Value {
    json!({
        "operator": own.operator,
        "gpu": own.gpu,
        "engine": own.engine,
        "version": own.version,
        "precision": own.precision,
        "rows": own.rows,
        "predicted": own.errors.rows,
        "median_ape": own.errors.median,
        "p95_ape": own.errors.p95,
        "bias": own.errors.bias,
        "priced_by": own.nearness.map(|near| near.name()),
    })
}

fn as_json(found: &Validation) -> Value {
    json!({
        "operators": found.operators.iter().map(row).collect::<Vec<_>>(),
        "overall": row(&found.overall),
        "refused": found.refused.iter().map(|own| json!({
            "file": own.file, "line": own.line, "rows": own.rows, "reason": own.why,
        })).collect::<Vec<_>>(),
    })
}

fn print(found: &Validation) {
    say!(
        "{:<24} {:<13} {:<8} {:<12} {:<18} {:>8} {:>9} {:>8} {:>8} {:>8}  priced by",
        "operator",
        "GPU",
        "engine",
        "version",
        "precision",
        "rows",
        "predicted",
        "median",
        "p95",
        "bias"
    );
    for own in found.operators.iter().chain([&found.overall]) {
        say!(
            "{:<24} {:<13} {:<8} {:<12} {:<18} {:>8} {:>9} {:>7.1}% {:>7.1}% {:>+7.1}%  {}",
            own.operator,
            own.gpu,
            own.engine,
            own.version,
            own.precision,
            own.rows,
            own.errors.rows,
            own.errors.median * 100.0,
            own.errors.p95 * 100.0,
            own.errors.bias * 100.0,
            own.nearness.map_or("nothing", |near| near.name()),
        );
    }
    for own in &found.refused {
        say!(
            "refused {} rows of {} (first: line {}): {}",
            own.rows,
            own.file,
            own.line,
            own.why
        );
    }
}
