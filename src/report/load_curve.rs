//! Load curves as a figure and a table: latency and throughput against load, all designs overlaid.
//! The window and the command line export the same through here.

use super::{
    Axis, Cell, Column, Figure, LoadKind, Mark, Metric, Panel, ReportError, Series, Statistic,
    Table,
};
use crate::sim::{Provenance, Summary};
use crate::study::Slo;
use std::sync::Arc;

/// One design's curve: points in order of load.
#[derive(Debug, Clone, PartialEq)]
pub struct CurveSeries {
    /// The design's name.
    pub name: String,
    /// (load, what came of it), in order of load; the load's kind is the workload's.
    pub points: Vec<(f64, Arc<Summary>)>,
}

/// How a set of curves is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct CurveLook {
    /// Headline.
    pub title: String,
    /// Caption under it: model and workload.
    pub subtitle: String,
    /// What the horizontal axis counts.
    pub load: LoadKind,
    /// Which number of latencies.
    pub statistic: Statistic,
    /// Limits to draw.
    pub slo: Option<Slo>,
    /// Remarks under it: what predictions are known to be off by.
    pub remarks: Vec<String>,
}

/// Three panels (TTFT, TPOT, output tokens/s/GPU) against load, saturated points hollow, SLO lines,
/// and where the numbers come from as footnotes. The second value has the same numbers and more.
///
/// # Errors
/// The table can't be made, which no input causes.
pub fn curve_figure(
    series: &[CurveSeries],
    look: &CurveLook,
) -> Result<(Figure, Table), ReportError> {
    let panels = Metric::ALL
        .into_iter()
        .map(|metric| panel(series, look, metric))
        .collect();
    let x = Axis::linear(look.load.name(), look.load.unit());
    let mut figure = Figure::new(look.title.clone(), x, panels);
    figure.subtitle = (!look.subtitle.is_empty()).then(|| look.subtitle.clone());
    let any_saturated = series
        .iter()
        .any(|s| s.points.iter().any(|(_, summary)| summary.saturated));
    figure.muted_means = any_saturated.then(|| "saturated".to_owned());
    figure.footnote = footnotes(series);
    for remark in &look.remarks {
        if !figure.footnote.contains(remark) {
            figure.footnote.push(remark.clone());
        }
    }
    Ok((figure, curve_table(series, look.load)?))
}

fn panel(series: &[CurveSeries], look: &CurveLook, metric: Metric) -> Panel {
    let curves = series
        .iter()
        .enumerate()
        .map(|(index, one)| {
            let points = one
                .points
                .iter()
                .map(|(load, summary)| [*load, metric.of(summary, look.statistic)])
                .collect();
            let mut curve = Series::of_design(index, one.name.clone(), points);
            curve.muted = one.points.iter().map(|(_, s)| s.saturated).collect();
            curve
        })
        .collect();
    let mut panel = Panel::new(
        Axis::linear(metric.name(look.statistic), metric.unit()),
        curves,
    );
    panel.y.range = range(series, look, metric);
    if let Some(limit) = look.slo.as_ref().and_then(|slo| metric.limit(slo)) {
        panel
            .marks
            .push(Mark::limit(limit, format!("SLO {limit:.0} ms")));
    }
    panel
}

fn range(series: &[CurveSeries], look: &CurveLook, metric: Metric) -> Option<[f64; 2]> {
    let values = series
        .iter()
        .flat_map(|s| &s.points)
        .map(|(_, summary)| (metric.of(summary, look.statistic), summary.saturated));
    let limit = look.slo.as_ref().and_then(|slo| metric.limit(slo));
    axis_top(values, limit).map(|top| [0.0, top])
}

/// A value beyond this many limits is simply too long.
const FAR_BEYOND: f64 = 1.75;
/// A limit beyond this many of the values is said, not shown: it would flatten them.
const FAR_LIMIT: f64 = 2.5;
/// How far above the settled values saturated ones are still followed.
const FOLLOWED: f64 = 1.6;

/// Where a vertical axis ends; `values` come with whether they are saturated. What matters lies
/// around and below the limit, where the design keeps up. A saturated latency grows with the
/// length of the run and means little, and one far beyond the limit is simply too long: neither
/// may flatten the rest, and the curve leaves through the top instead. None: there is nothing to
/// show.
#[must_use]
pub fn axis_top(values: impl Iterator<Item = (f64, bool)>, limit: Option<f64>) -> Option<f64> {
    let values: Vec<(f64, bool)> = values.filter(|(value, _)| value.is_finite()).collect();
    let most = |reach: f64, settled: bool| {
        values
            .iter()
            .filter(|(value, saturated)| *value <= reach && !(settled && *saturated))
            .map(|(value, _)| *value)
            .fold(0.0_f64, f64::max)
    };
    if most(f64::INFINITY, false) <= 0.0 {
        return None;
    }
    let within = |reach: f64| {
        let (settled, highest) = (most(reach, true), most(reach, false));
        if settled > 0.0 {
            highest.min(FOLLOWED * settled).max(settled)
        } else {
            highest
        }
    };
    // Curves wholly beyond the limit keep an axis of their own.
    let near = limit.map_or(0.0, |limit| within(FAR_BEYOND * limit));
    let top = match limit {
        Some(limit) if near > 0.0 && limit <= FAR_LIMIT * near => near.max(limit),
        _ if near > 0.0 => near,
        _ => within(f64::INFINITY),
    };
    Some(1.08 * top)
}

/// Fidelity, engines, error band, window and seed of the runs, each different wording once.
fn footnotes(series: &[CurveSeries]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for summary in series.iter().flat_map(|s| &s.points).map(|(_, s)| s) {
        let line = provenance_line(summary);
        if !lines.contains(&line) {
            lines.push(line);
        }
        if lines.len() == 3 {
            break;
        }
    }
    lines
}

/// Where a run's numbers come from, in one line.
#[must_use]
pub fn provenance_line(summary: &Summary) -> String {
    let from = &summary.provenance;
    let mut engines: Vec<&str> = Vec::new();
    for engine in &from.engines {
        if !engines.contains(&engine.as_str()) {
            engines.push(engine);
        }
    }
    format!(
        "{}, step times {} · {} · {} · {} window · seed {}",
        fidelity_name(from.fidelity),
        band_text(from.band),
        sources_text(from),
        engines.join(", "),
        summary.window.kind,
        from.seed
    )
}

/// Where prices come from, and what of them reaches beyond what was measured.
#[must_use]
pub fn sources_text(from: &Provenance) -> String {
    let origins = origins_text(&from.origins);
    match extrapolation_text(from) {
        Some(beyond) => format!("{origins}; {beyond}"),
        None => origins,
    }
}

/// `12 % of it beyond what was measured, up to ×80 (attention)`; none: less than half a percent is.
#[must_use]
pub fn extrapolation_text(from: &Provenance) -> Option<String> {
    let own = from.extrapolated.filter(|own| own.share >= 0.005)?;
    let factor = if own.factor < 10.0 {
        format!("{:.1}", own.factor)
    } else {
        format!("{:.0}", own.factor)
    };
    Some(format!(
        "{:.0} % of it beyond what was measured, up to ×{factor} ({})",
        own.share * 100.0,
        own.class
    ))
}

/// Where the prices of the time spent come from: `83 % of the time from calibrated operators, 17 %
/// roofline`. Shares under half a percent are not said.
#[must_use]
pub fn origins_text(origins: &[(&'static str, f64)]) -> String {
    let mut origins: Vec<(&str, f64)> = origins
        .iter()
        .copied()
        .filter(|(_, share)| *share >= 0.005)
        .collect();
    origins.sort_by(|a, b| b.1.total_cmp(&a.1));
    let Some(((first, most), rest)) = origins.split_first() else {
        return "no device time".to_owned();
    };
    let source = match *first {
        "calibrated" => "from calibrated operators",
        "measured" => "from measured operators",
        "calibrated, extrapolated" => "from calibrated operators, extrapolated",
        "a relative's calibration" => "from a relative’s calibration",
        "a relative's calibration, extrapolated" => "from a relative’s calibration, extrapolated",
        "roofline" => "from the roofline",
        other => other,
    };
    let mut out = if rest.is_empty() {
        format!("all of the time {source}")
    } else {
        format!("{:.0} % of the time {source}", most * 100.0)
    };
    for (name, share) in rest {
        let name = match *name {
            "calibrated, extrapolated" => "extrapolated",
            "a relative's calibration" => "a relative’s",
            "a relative's calibration, extrapolated" => "a relative’s, extrapolated",
            other => other,
        };
        out.push_str(&format!(", {:.0} % {name}", share * 100.0));
    }
    out
}

/// A fidelity at the start of a line: `Roofline`.
#[must_use]
pub fn fidelity_name(fidelity: &str) -> String {
    let mut chars = fidelity.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

/// An error band: `±30 %`, or `−30 % to +60 %` where it is lopsided.
#[must_use]
pub fn band_text((low, high): (f64, f64)) -> String {
    let (low, high) = (low * 100.0, high * 100.0);
    if (low + high).abs() < 0.5 {
        format!("±{high:.0} %")
    } else {
        format!("{low:+.0} % to {high:+.0} %").replace('-', "−")
    }
}

/// Every point of every curve with the numbers people ask for, one row each.
///
/// # Errors
/// A row does not fit its columns, which no input causes.
pub fn curve_table(series: &[CurveSeries], load: LoadKind) -> Result<Table, ReportError> {
    let mut columns = vec![
        Column::new("design", ""),
        Column::new(load.name(), load.unit()),
    ];
    for latency in ["TTFT", "TPOT", "ITL", "E2E"] {
        for statistic in Statistic::ALL {
            columns.push(Column::new(format!("{latency} {}", statistic.name()), "ms"));
        }
    }
    for (name, unit) in [
        ("requests", "1/s"),
        ("output tokens", "1/s"),
        ("output tokens", "1/s/GPU"),
        ("input tokens", "1/s"),
        ("arrived", ""),
        ("completed", ""),
        ("failed", ""),
        ("in flight", ""),
        ("saturated", ""),
        ("fidelity", ""),
        ("seed", ""),
    ] {
        columns.push(Column::new(name, unit));
    }
    let mut table = Table::new(columns);
    for one in series {
        for (load, summary) in &one.points {
            table.push(row(&one.name, *load, summary))?;
        }
    }
    Ok(table)
}

fn row(design: &str, load: f64, summary: &Summary) -> Vec<Cell> {
    let mut cells = vec![Cell::Text(design.to_owned()), Cell::Number(load)];
    for stats in [
        &summary.ttft_s,
        &summary.tpot_s,
        &summary.itl_s,
        &summary.e2e_s,
    ] {
        for statistic in Statistic::ALL {
            cells.push(if stats.count == 0 {
                Cell::Empty
            } else {
                Cell::Number(statistic.of(stats) * 1e3)
            });
        }
    }
    let counts = &summary.requests;
    cells.extend([
        Cell::Number(summary.requests_per_s),
        Cell::Number(summary.output_tokens_per_s),
        Cell::Number(summary.output_tokens_per_s_per_gpu),
        Cell::Number(summary.input_tokens_per_s),
        Cell::Count(counts.arrived),
        Cell::Count(counts.completed),
        Cell::Count(counts.failed),
        Cell::Count(counts.in_flight),
        Cell::Text(if summary.saturated { "yes" } else { "no" }.to_owned()),
        Cell::Text(summary.provenance.fidelity.to_owned()),
        Cell::Count(summary.provenance.seed),
    ]);
    cells
}

#[cfg(test)]
mod tests;
