//! How far off predictions of measured operators are, as figures and tables: parity, error by size,
//! the worst tables.

use crate::app::widgets::sentence;
use crate::calibrate::{Comparison, FamilyErrors};
use crate::cost::calibrated::TableId;
use crate::report::palette::{self, SOFT_INK};
use crate::report::{Axis, Cell, Column, Dash, Figure, Marker, Panel, ReportError, Series, Table};

/// Most families shown apart; the rest go together.
const APART: usize = 5;

/// An error: `4.1 %`, or `12 %` from ten on.
#[must_use]
pub(in crate::app) fn error_text(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() < 9.95 {
        format!("{percent:.1} %").replace('-', "−")
    } else {
        format!("{percent:.0} %").replace('-', "−")
    }
}

/// Predicted against measured time, with the lines of what is exact and what is 10 and 25 % off;
/// none: there is nothing to show.
#[must_use]
pub(in crate::app) fn parity_figure(title: &str, comparison: &Comparison) -> Option<Figure> {
    let micro = |seconds: f64| seconds * 1e6;
    let pairs = || comparison.tables.iter().flat_map(|own| &own.pairs);
    let all = || pairs().flat_map(|(measured, predicted)| [micro(*measured), micro(*predicted)]);
    let low = all().filter(|t| *t > 0.0).fold(f64::INFINITY, f64::min) / 1.5;
    let high = all().fold(0.0, f64::max) * 1.5;
    if low >= high {
        return None;
    }
    let mut series: Vec<Series> = Vec::new();
    for (name, factor, dash) in [
        ("exact", 1.0, Dash::Solid),
        ("±10 %", 1.1, Dash::Dashed),
        ("±10 %", 0.9, Dash::Dashed),
        ("±25 %", 1.25, Dash::Dotted),
        ("±25 %", 0.75, Dash::Dotted),
    ] {
        series.push(Series {
            name: name.to_owned(),
            color: SOFT_INK,
            dash,
            marker: Marker::None,
            points: vec![[low, low * factor], [high, high * factor]],
            band: None,
            muted: Vec::new(),
        });
    }
    for (index, (name, families)) in apart(&comparison.families).into_iter().enumerate() {
        let points: Vec<[f64; 2]> = comparison
            .tables
            .iter()
            .filter(|own| families.iter().any(|f| f.family == own.id.family))
            .flat_map(|own| &own.pairs)
            .map(|(measured, predicted)| [micro(*measured), micro(*predicted)])
            .collect();
        let mut cloud = Series::of_design(index, name, points);
        cloud.dash = Dash::Hidden;
        series.push(cloud);
    }
    let range = Some([low, high]);
    let mut panel = Panel::new(Axis::log10("Predicted", "µs"), series);
    panel.y.range = range;
    let mut x = Axis::log10("Measured", "µs");
    x.range = range;
    let mut figure = Figure::new(title, x, vec![panel]);
    figure.footnote = vec![remark(comparison, pairs().count())];
    Some(figure)
}

/// Families with most rows first, as far as they are shown apart, then the others together.
fn apart(families: &[FamilyErrors]) -> Vec<(String, Vec<&FamilyErrors>)> {
    let mut sorted: Vec<&FamilyErrors> = families.iter().collect();
    sorted.sort_by(|a, b| {
        let by_rows = b.errors.rows.cmp(&a.errors.rows);
        by_rows.then_with(|| a.family.cmp(&b.family))
    });
    let rest = if sorted.len() > APART + 1 {
        sorted.split_off(APART)
    } else {
        Vec::new()
    };
    let title = |own: &FamilyErrors| sentence(own.family.title());
    let mut shown: Vec<_> = sorted
        .into_iter()
        .map(|own| (title(own), vec![own]))
        .collect();
    if !rest.is_empty() {
        shown.push(("Others".to_owned(), rest));
    }
    shown
}

fn remark(comparison: &Comparison, points: usize) -> String {
    let all = &comparison.overall;
    let shown = if points < all.rows {
        format!("{points} of {} shown", counted(all.rows, "row"))
    } else {
        counted(all.rows, "row")
    };
    format!(
        "{shown} of {} · median error {}, p95 {}, bias {}",
        counted(comparison.tables.len(), "table"),
        error_text(all.median),
        error_text(all.p95),
        error_text(all.bias)
    )
}

/// Median and p95 error of each family against the size of a call (its tokens, sequences or
/// bytes), in classes of a factor of eight; none: there is nothing to show.
#[must_use]
pub(in crate::app) fn error_by_size_figure(title: &str, comparison: &Comparison) -> Option<Figure> {
    let mut families: Vec<&FamilyErrors> = comparison.families.iter().collect();
    families.sort_by(|a, b| {
        let by_rows = b.errors.rows.cmp(&a.errors.rows);
        by_rows.then_with(|| a.family.cmp(&b.family))
    });
    families.truncate(palette::SERIES.len());
    if families.iter().all(|own| own.by_size.is_empty()) {
        return None;
    }
    type Pick = fn(&crate::cost::calibrated::Errors) -> f64;
    let picks: [(&str, Pick); 2] = [("Median error", |e| e.median), ("p95 error", |e| e.p95)];
    let panels = picks
        .map(|(label, pick)| {
            let series = families
                .iter()
                .enumerate()
                .map(|(index, own)| {
                    let points = own
                        .by_size
                        .iter()
                        .map(|class| [class.from.max(1.0), pick(&class.errors) * 100.0])
                        .collect();
                    Series::of_design(index, sentence(own.family.title()), points)
                })
                .collect();
            Panel::new(Axis::linear(label, "%"), series)
        })
        .into();
    let mut figure = Figure::new(
        title,
        Axis::log10("Size from", "tokens, sequences, bytes"),
        panels,
    );
    figure.footnote = vec![remark(comparison, usize::MAX)];
    Some(figure)
}

/// The pairs of a parity plot as numbers.
///
/// # Errors
/// A row does not fit its columns, which no input causes.
pub(in crate::app) fn parity_table(comparison: &Comparison) -> Result<Table, ReportError> {
    let mut table = Table::new(id_columns([("measured", "µs"), ("predicted", "µs")]));
    for own in &comparison.tables {
        for (measured, predicted) in &own.pairs {
            let mut row = id_cells(&own.id);
            row.extend([Cell::Number(measured * 1e6), Cell::Number(predicted * 1e6)]);
            table.push(row)?;
        }
    }
    Ok(table)
}

/// Errors of every table, and by size.
///
/// # Errors
/// A row does not fit its columns, which no input causes.
pub(in crate::app) fn errors_table(comparison: &Comparison) -> Result<Table, ReportError> {
    let mut table = Table::new(id_columns([
        ("size from", ""),
        ("size to", ""),
        ("rows", ""),
        ("median error", ""),
        ("p90 error", ""),
        ("p95 error", ""),
        ("bias", ""),
    ]));
    for own in &comparison.tables {
        let all = [(Cell::Empty, Cell::Empty, own.errors)].into_iter();
        let classes = own.by_size.iter();
        let classes = classes.map(|c| (Cell::Number(c.from), Cell::Number(c.to), c.errors));
        for (from, to, errors) in all.chain(classes) {
            let mut row = id_cells(&own.id);
            row.extend([
                from,
                to,
                Cell::Count(errors.rows as u64),
                Cell::Number(errors.median),
                Cell::Number(errors.p90),
                Cell::Number(errors.p95),
                Cell::Number(errors.bias),
            ]);
            table.push(row)?;
        }
    }
    Ok(table)
}

fn id_columns<const N: usize>(more: [(&str, &str); N]) -> Vec<Column> {
    [
        "operator",
        "gpu",
        "engine",
        "version",
        "precision",
        "kernel",
    ]
    .into_iter()
    .map(|name| Column::new(name, ""))
    .chain(more.map(|(name, unit)| Column::new(name, unit)))
    .collect()
}

fn id_cells(id: &TableId) -> Vec<Cell> {
    vec![
        id.family.word().into(),
        id.gpu.to_string().into(),
        id.engine.clone().into(),
        id.version.clone().into(),
        id.precision.clone().into(),
        id.kernel.clone().into(),
    ]
}

/// A count and its noun: `1 table`, `2 tables`.
#[must_use]
pub(in crate::app) fn counted(count: usize, noun: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{} {noun}{end}", count_text(count))
}

/// Rows with thousands apart: `14 203`.
#[must_use]
pub(in crate::app) fn count_text(count: usize) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::TableErrors;
    use crate::cost::calibrated::{Errors, Family, Match};

    fn comparison(tables: usize) -> Comparison {
        let families = Family::ALL.iter().take(tables);
        let errors = Errors {
            rows: 3,
            median: 0.05,
            p90: 0.1,
            p95: 0.123,
            ..Errors::default()
        };
        Comparison {
            tables: families
                .clone()
                .map(|family| TableErrors {
                    id: TableId {
                        gpu: crate::catalog::GpuId::from_label("h200-sxm"),
                        family: *family,
                        engine: "vllm".to_owned(),
                        version: "1".to_owned(),
                        precision: "bfloat16".to_owned(),
                        kernel: String::new(),
                    },
                    rows: 3,
                    near: Some(Match::Exact),
                    numbers: 10,
                    errors,
                    by_size: Vec::new(),
                    pairs: vec![(1e-6, 1.1e-6), (1e-3, 0.9e-3)],
                })
                .collect(),
            families: families
                .map(|family| FamilyErrors {
                    family: *family,
                    errors,
                    by_size: Vec::new(),
                })
                .collect(),
            overall: errors,
            refused: Vec::new(),
        }
    }

    #[test]
    fn parity_shows_every_family_and_has_one_range_on_both_axes() {
        for tables in [1, Family::ALL.len()] {
            let comparison = comparison(tables);
            let figure = parity_figure("p", &comparison).unwrap();
            let panel = &figure.panels[0];
            assert_eq!(figure.x.range, panel.y.range);
            let clouds = panel.series.iter().filter(|s| s.dash == Dash::Hidden);
            assert!(clouds.clone().count() <= palette::SERIES.len());
            let points: usize = clouds.map(|s| s.points.len()).sum();
            assert_eq!(points, 2 * comparison.tables.len());
            assert_eq!(parity_table(&comparison).unwrap().rows().len(), points);
        }
        assert_eq!(parity_figure("p", &Comparison::default()), None);
        assert_eq!(error_by_size_figure("p", &Comparison::default()), None);
    }

    #[test]
    fn errors_and_counts_read_well() {
        assert_eq!(error_text(0.0412), "4.1 %");
        assert_eq!(error_text(-0.123), "−12 %");
        assert_eq!(count_text(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(count_text(12), "12");
    }
}
