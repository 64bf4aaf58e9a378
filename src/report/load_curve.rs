//! Load curves as a figure and a table: latency and throughput against load, all designs overlaid.
//! The window and the command line export the same through here.

use super::{Axis, Cell, Column, Figure, Mark, Panel, ReportError, Series, Table};
use crate::sim::{Stats, Summary};
use crate::study::Slo;
use crate::workload::{Arrivals, Load};
use std::sync::Arc;

/// One design's curve: points in order of load.
#[derive(Debug, Clone, PartialEq)]
pub struct CurveSeries {
    /// The design's name.
    pub name: String,
    /// (load, what came of it), in order of load; the load's kind is the workload's.
    pub points: Vec<(f64, Arc<Summary>)>,
}

/// Which number of a latency's distribution is plotted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Statistic {
    /// Mean.
    Mean,
    /// Median.
    P50,
    /// 90th percentile.
    P90,
    /// 95th percentile.
    #[default]
    P95,
    /// 99th percentile.
    P99,
}

impl Statistic {
    /// All, in the order shown.
    pub const ALL: [Self; 5] = [Self::Mean, Self::P50, Self::P90, Self::P95, Self::P99];

    /// The field's word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
        }
    }

    /// The percentile; none: the mean.
    #[must_use]
    pub const fn percentile(self) -> Option<f64> {
        match self {
            Self::Mean => None,
            Self::P50 => Some(50.0),
            Self::P90 => Some(90.0),
            Self::P95 => Some(95.0),
            Self::P99 => Some(99.0),
        }
    }

    /// The kept percentile nearest to one asked for (0 to 100); p95 of anything that is no number.
    #[must_use]
    pub fn nearest(percentile: f64) -> Self {
        let distance = |s: &Self| s.percentile().map(|p| (p - percentile).abs());
        if !percentile.is_finite() {
            return Self::P95;
        }
        Self::ALL
            .into_iter()
            .filter_map(|s| distance(&s).map(|d| (s, d)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map_or(Self::P95, |(s, _)| s)
    }

    /// Its value, seconds.
    #[must_use]
    pub const fn of(self, stats: &Stats) -> f64 {
        match self {
            Self::Mean => stats.mean,
            Self::P50 => stats.p50,
            Self::P90 => stats.p90,
            Self::P95 => stats.p95,
            Self::P99 => stats.p99,
        }
    }
}

/// What the horizontal axis counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadKind {
    /// Requests per second.
    Rate,
    /// Requests in flight.
    Concurrency,
    /// Times the recorded speed.
    TraceSpeed,
}

impl LoadKind {
    /// The kind that goes with a workload's arrivals.
    #[must_use]
    pub const fn of(arrivals: Arrivals) -> Self {
        match arrivals {
            Arrivals::Open { .. } => Self::Rate,
            Arrivals::Closed => Self::Concurrency,
            Arrivals::Trace => Self::TraceSpeed,
        }
    }

    /// What the axis is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rate => "Request rate",
            Self::Concurrency => "Requests in flight",
            Self::TraceSpeed => "Trace speed",
        }
    }

    /// Its unit.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Rate => "1/s",
            Self::Concurrency => "",
            Self::TraceSpeed => "×",
        }
    }
}

/// A load as a number on the axis of its kind.
#[must_use]
pub fn load_value(load: Load) -> f64 {
    match load {
        Load::Rate(rate) => rate,
        Load::Concurrency(n) => f64::from(n),
        Load::TraceSpeed(speed) => speed,
    }
}

/// What the vertical axis of a panel shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Time to first token, ms.
    Ttft,
    /// Time per output token, ms.
    Tpot,
    /// Output tokens per second per GPU of the design.
    TokensPerGpu,
}

impl Metric {
    /// All, in the order shown.
    pub const ALL: [Self; 3] = [Self::Ttft, Self::Tpot, Self::TokensPerGpu];

    /// What it is called: `TTFT p95`.
    #[must_use]
    pub fn name(self, statistic: Statistic) -> String {
        match self {
            Self::Ttft => format!("TTFT {}", statistic.name()),
            Self::Tpot => format!("TPOT {}", statistic.name()),
            Self::TokensPerGpu => "Output throughput".to_owned(),
        }
    }

    /// Its unit.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Ttft | Self::Tpot => "ms",
            Self::TokensPerGpu => "tokens/s/GPU",
        }
    }

    /// Its value of a run, in its unit; NaN where nothing was measured.
    #[must_use]
    pub fn of(self, summary: &Summary, statistic: Statistic) -> f64 {
        let latency = |stats: &Stats| {
            if stats.count == 0 {
                f64::NAN
            } else {
                statistic.of(stats) * 1e3
            }
        };
        match self {
            Self::Ttft => latency(&summary.ttft_s),
            Self::Tpot => latency(&summary.tpot_s),
            Self::TokensPerGpu => summary.output_tokens_per_s_per_gpu,
        }
    }

    /// The limit an SLO sets on it, in its unit.
    #[must_use]
    pub fn limit(self, slo: &Slo) -> Option<f64> {
        let seconds = match self {
            Self::Ttft => slo.ttft.get(),
            Self::Tpot => slo.tpot.get(),
            Self::TokensPerGpu => return None,
        };
        (seconds > 0.0).then_some(seconds * 1e3)
    }
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

/// Keeps a saturated point's latency, which grows with the length of the run and means little,
/// from flattening the rest: the axis ends a little above the highest unsaturated point or the
/// limit, whichever is higher.
fn range(series: &[CurveSeries], look: &CurveLook, metric: Metric) -> Option<[f64; 2]> {
    let values = || series.iter().flat_map(|s| &s.points);
    let top = |keep: &dyn Fn(&Summary) -> bool| {
        values()
            .filter(|(_, summary)| keep(summary))
            .map(|(_, summary)| metric.of(summary, look.statistic))
            .filter(|value| value.is_finite())
            .fold(0.0, f64::max)
    };
    let settled = top(&|summary| !summary.saturated);
    let highest = top(&|_| true);
    let limit = look.slo.as_ref().and_then(|slo| metric.limit(slo));
    let near_limit = limit.filter(|limit| settled == 0.0 || *limit < 4.0 * settled);
    let wanted = (1.6 * settled).max(1.15 * near_limit.unwrap_or(0.0));
    (settled > 0.0 && highest > wanted).then_some([0.0, wanted])
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
    let (low, high) = (from.band.0 * 100.0, from.band.1 * 100.0);
    let band = if (low + high).abs() < 0.5 {
        format!("±{high:.0} %")
    } else {
        format!("{low:+.0} % to {high:+.0} %").replace('-', "−")
    };
    format!(
        "{} · {} · step times {band} · {} window · seed {}",
        from.fidelity,
        from.engines.join(", "),
        summary.window.kind,
        from.seed
    )
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
