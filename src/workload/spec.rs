//! A workload as the document keeps it.

use super::trace::{ColumnMap, Trace};
use crate::units::Tokens;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use thiserror::Error;

/// Most requests of one run.
pub const MAX_REQUESTS: u64 = 100_000_000;
/// Longest prompt or answer, tokens.
pub const MAX_TOKENS: u64 = 16_777_216;
/// Widest spread, standard deviation over mean; beyond it samples say nothing of their mean.
pub const MAX_CV: f64 = 100.0;

/// How gaps between arrivals are spread.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Process {
    /// Independent arrivals: exponential gaps, never truncated.
    Poisson,
    /// Gamma gaps with a coefficient of variation; 1 is Poisson, above it bursts.
    Gamma {
        /// Standard deviation of the gaps over their mean, > 0.
        cv: f64,
    },
    /// Equal gaps.
    Constant,
}

/// When requests arrive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Arrivals {
    /// At a rate, whatever the cluster does.
    Open {
        /// Spread of the gaps.
        process: Process,
    },
    /// As soon as an earlier one ends: so many are in flight.
    Closed,
    /// As recorded in the trace.
    Trace,
}

/// How long prompts or answers are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Length {
    /// Always the same.
    Fixed(Tokens),
    /// Any whole number between two, equally likely.
    Uniform {
        /// Shortest.
        min: Tokens,
        /// Longest.
        max: Tokens,
    },
    /// Log-normal, rounded, at least 1, at most `max`.
    LogNormal {
        /// Mean before clipping.
        mean: Tokens,
        /// Standard deviation over mean.
        cv: f64,
        /// Longest.
        max: Tokens,
    },
}

/// The load one run is under: the axis of a load curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Load {
    /// Requests per second.
    Rate(f64),
    /// Requests in flight.
    Concurrency(u32),
    /// A trace's time axis divided by this: 2 is twice the recorded rate.
    TraceSpeed(f64),
}

/// A workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// When requests arrive.
    pub arrivals: Arrivals,
    /// Prompt lengths (unless a trace says them).
    pub input: Length,
    /// Answer lengths (unless a trace says them).
    pub output: Length,
    /// Requests of one run; 0 with a trace: all of it.
    pub requests: u64,
    /// Seed of every random stream.
    pub seed: u64,
    /// The trace, for `Arrivals::Trace`: path as written in the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceFile>,
}

/// A trace on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceFile {
    /// Path, absolute or relative to the document.
    pub path: String,
    /// Which columns to read; none: recognised from the header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<ColumnMap>,
}

/// What is wrong with a workload.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum WorkloadError {
    /// A length of zero tokens, or beyond the limit.
    #[error("{what} lengths must be from 1 to {MAX_TOKENS} tokens, not {value}")]
    Length {
        /// Prompt or answer.
        what: &'static str,
        /// The value.
        value: u64,
    },
    /// A range whose ends are swapped.
    #[error("{what} lengths run from {min} to {max}: the first must not be above the second")]
    Range {
        /// Prompt or answer.
        what: &'static str,
        /// Shortest.
        min: u64,
        /// Longest.
        max: u64,
    },
    /// A number that must be finite and positive.
    #[error("{what} must be a finite number above 0, not {value}")]
    NotPositive {
        /// What it is.
        what: &'static str,
        /// The value.
        value: f64,
    },
    /// A spread too wide to draw from.
    #[error("{what} must be at most {MAX_CV}, not {value}")]
    Spread {
        /// What it is.
        what: &'static str,
        /// The value.
        value: f64,
    },
    /// No requests, or too many.
    #[error("a run has from 1 to {MAX_REQUESTS} requests, not {0}")]
    Requests(u64),
    /// The load does not go with the arrivals.
    #[error("{load} does not go with {arrivals} arrivals")]
    Mismatch {
        /// The load given.
        load: &'static str,
        /// The arrivals of the workload.
        arrivals: &'static str,
    },
    /// Arrivals beyond what a run can span.
    #[error(
        "the requests arrive over more than 100 years: raise the load or ask for fewer requests"
    )]
    TooSlow,
    /// Trace arrivals without a trace.
    #[error("the workload replays a trace, but none is loaded: name a CSV file")]
    NoTrace,
}

fn check_spread(what: &'static str, value: f64) -> Result<(), WorkloadError> {
    if value > MAX_CV {
        return Err(WorkloadError::Spread { what, value });
    }
    Ok(())
}

impl Length {
    /// Checks the numbers.
    ///
    /// # Errors
    /// A length of zero or beyond [`MAX_TOKENS`], swapped ends, or a spread that is no number.
    pub fn check(self, what: &'static str) -> Result<(), WorkloadError> {
        let one = |tokens: Tokens| {
            if (1..=MAX_TOKENS).contains(&tokens.get()) {
                Ok(())
            } else {
                Err(WorkloadError::Length {
                    what,
                    value: tokens.get(),
                })
            }
        };
        match self {
            Self::Fixed(n) => one(n),
            Self::Uniform { min, max } => {
                one(min)?;
                one(max)?;
                if min > max {
                    return Err(WorkloadError::Range {
                        what,
                        min: min.get(),
                        max: max.get(),
                    });
                }
                Ok(())
            }
            Self::LogNormal { mean, cv, max } => {
                one(mean)?;
                one(max)?;
                if !(cv.is_finite() && cv >= 0.0) {
                    return Err(WorkloadError::NotPositive {
                        what: "the coefficient of variation of lengths",
                        value: cv,
                    });
                }
                check_spread("the coefficient of variation of lengths", cv)?;
                Ok(())
            }
        }
    }

    /// Longest it can be.
    #[must_use]
    pub const fn longest(self) -> u64 {
        match self {
            Self::Fixed(n) => n.get(),
            Self::Uniform { max, .. } | Self::LogNormal { max, .. } => max.get(),
        }
    }

    /// Mean, before clipping.
    #[must_use]
    pub fn mean(self) -> f64 {
        match self {
            Self::Fixed(n) => n.as_f64(),
            Self::Uniform { min, max } => f64::midpoint(min.as_f64(), max.as_f64()),
            Self::LogNormal { mean, .. } => mean.as_f64(),
        }
    }
}

impl Workload {
    /// Prompt and answer of fixed length, Poisson arrivals.
    #[must_use]
    pub const fn fixed(input: u64, output: u64, requests: u64) -> Self {
        Self {
            arrivals: Arrivals::Open {
                process: Process::Poisson,
            },
            input: Length::Fixed(Tokens::new(input)),
            output: Length::Fixed(Tokens::new(output)),
            requests,
            seed: 1,
            trace: None,
        }
    }

    /// Checks every number, and that `load` goes with the arrivals.
    ///
    /// # Errors
    /// What is wrong, by name.
    pub fn check(&self, load: Load, trace: Option<&Arc<Trace>>) -> Result<(), WorkloadError> {
        let positive = |what, value: f64| {
            if value.is_finite() && value > 0.0 {
                Ok(())
            } else {
                Err(WorkloadError::NotPositive { what, value })
            }
        };
        match (self.arrivals, load) {
            (Arrivals::Open { process }, Load::Rate(rate)) => {
                positive("the request rate", rate)?;
                if let Process::Gamma { cv } = process {
                    positive("the coefficient of variation of arrivals", cv)?;
                    check_spread("the coefficient of variation of arrivals", cv)?;
                }
            }
            (Arrivals::Closed, Load::Concurrency(n)) => positive("the concurrency", f64::from(n))?,
            (Arrivals::Trace, Load::TraceSpeed(speed)) => {
                positive("the trace speed", speed)?;
                if trace.is_none() {
                    return Err(WorkloadError::NoTrace);
                }
            }
            (arrivals, load) => {
                return Err(WorkloadError::Mismatch {
                    load: match load {
                        Load::Rate(_) => "a request rate",
                        Load::Concurrency(_) => "a concurrency",
                        Load::TraceSpeed(_) => "a trace speed",
                    },
                    arrivals: match arrivals {
                        Arrivals::Open { .. } => "open-loop",
                        Arrivals::Closed => "closed-loop",
                        Arrivals::Trace => "trace",
                    },
                });
            }
        }
        if !matches!(self.arrivals, Arrivals::Trace) {
            self.input.check("prompt")?;
            self.output.check("answer")?;
            if !(1..=MAX_REQUESTS).contains(&self.requests) {
                return Err(WorkloadError::Requests(self.requests));
            }
        }
        Ok(())
    }
}
