//! The calibration's report as Markdown: every table's held-out error, worst first, by size, and
//! what each number of the fit buys.

use super::run::Outcome;
use crate::cost::calibrated::{Errors, Family};
use std::fmt::Write as _;

/// The report.
#[must_use]
pub fn report_text(outcome: &Outcome) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "# Calibration\n\nData {} · code {}. Errors are on held-out shape keys (whole keys, four folds).\n",
        outcome.data, outcome.code
    );
    let _ = writeln!(
        out,
        "## By family\n\n| family | tables | rows | median | p95 | worst table's median | bytes |\n|---|---|---|---|---|---|---|"
    );
    for family in Family::ALL {
        let fits: Vec<_> = outcome
            .fits
            .iter()
            .filter(|own| own.surface.id.family == *family)
            .collect();
        if fits.is_empty() {
            continue;
        }
        let pairs: Vec<(f64, f64)> = fits
            .iter()
            .flat_map(|own| own.predicted.iter().copied())
            .collect();
        let (measured, predicted): (Vec<f64>, Vec<f64>) = pairs
            .iter()
            .map(|(m, p)| (libm::log(*m), libm::log(*p)))
            .unzip();
        let all = super::errors_of(&measured, &predicted);
        let worst = fits
            .iter()
            .map(|own| own.surface.held_out.median)
            .fold(0.0, f64::max);
        let bytes: usize = fits
            .iter()
            .map(|own| own.surface.forest.size() + 8 * own.surface.parameters.len())
            .sum();
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {bytes} |",
            family.title(),
            fits.len(),
            all.rows,
            percent(all.median),
            percent(all.p95),
            percent(worst)
        );
    }
    let _ = writeln!(
        out,
        "\n## A GPU left out: its tables asked of its nearest relative's surfaces\n\n| GPU | relative | family | rows | median | p95 | bias |\n|---|---|---|---|---|---|---|"
    );
    for (gpu, kin, family, errors) in &outcome.stand_ins.left_out {
        let _ = writeln!(
            out,
            "| {gpu} | {kin} | {} | {} | {} | {} | {} |",
            family.title(),
            errors.rows,
            percent(errors.median),
            percent(errors.p95),
            percent(errors.bias)
        );
    }
    let _ = writeln!(
        out,
        "\n## By table, worst first\n\n| table | rows | median | p90 | p95 | bias | physics alone: median, p95 | numbers | median by size |\n|---|---|---|---|---|---|---|---|---|"
    );
    let mut fits: Vec<_> = outcome.fits.iter().collect();
    fits.sort_by(|a, b| {
        b.surface
            .held_out
            .median
            .total_cmp(&a.surface.held_out.median)
            .then_with(|| a.surface.id.cmp(&b.surface.id))
    });
    for fitted in fits {
        let (
            id,
            Errors {
                rows,
                median,
                p90,
                p95,
                bias,
                ..
            },
        ) = (&fitted.surface.id, fitted.surface.held_out);
        let sizes: Vec<String> = fitted
            .by_size
            .iter()
            .map(|own| format!("≥{}: {}", own.from, percent(own.errors.median)))
            .collect();
        let _ = writeln!(
            out,
            "| {} {} {} {} {} {} | {rows} | {} | {} | {} | {} | {}, {} | {} | {} |",
            id.family.word(),
            id.gpu,
            id.engine,
            id.version,
            id.precision,
            id.kernel,
            percent(median),
            percent(p90),
            percent(p95),
            percent(bias),
            percent(fitted.physics.median),
            percent(fitted.physics.p95),
            fitted.numbers,
            sizes.join(", ")
        );
    }
    if !outcome.refused.is_empty() {
        let _ = writeln!(
            out,
            "\n## Rows not taken\n\n| file | first line | rows | why |\n|---|---|---|---|"
        );
        for own in &outcome.refused {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} |",
                own.file, own.line, own.rows, own.why
            );
        }
    }
    for fitted in outcome.fits.iter().filter(|own| !own.ships()) {
        let id = &fitted.surface.id;
        let _ = writeln!(
            out,
            "\nNot written, median error above 35 %: {} {} {} {} {} {}",
            id.family.word(),
            id.gpu,
            id.engine,
            id.version,
            id.precision,
            id.kernel
        );
    }
    for (id, rows) in &outcome.too_small {
        let _ = writeln!(
            out,
            "\nNot fitted, {rows} rows: {} {} {} {} {} {}",
            id.family.word(),
            id.gpu,
            id.engine,
            id.version,
            id.precision,
            id.kernel
        );
    }
    out
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
