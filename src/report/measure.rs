//! What a load curve measures: which metric, which number of its distribution, against which load.

use crate::sim::{Stats, Summary};
use crate::study::Slo;
use crate::workload::{Arrivals, Load};

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
