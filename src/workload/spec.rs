//! A workload as the document keeps it.

use super::sessions::{Conversation, Hidden, MAX_CLASSES, MAX_SYSTEM_PROMPTS, MAX_TURNS};
use super::sessions::{PriorityClass, Sessions, check_classes};
use super::trace::{Trace, TraceOptions};
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
    /// Prompt lengths (unless a trace says them); in conversations the new tokens of a turn.
    pub input: Length,
    /// Answer lengths (unless a trace says them).
    pub output: Length,
    /// Requests of one run; 0 with a trace: all of it. A turn of a conversation is a request, with
    /// all its hidden rounds.
    pub requests: u64,
    /// Seed of every random stream.
    pub seed: u64,
    /// The trace, for `Arrivals::Trace`: path as written in the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceFile>,
    /// Requests come as turns of conversations (unless a trace says who follows whom).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Sessions>,
    /// Rounds of a request before the one whose answer is read (not with a trace).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<Hidden>,
    /// Shares of priorities (unless a trace says them); empty: all are 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<PriorityClass>,
}

/// A trace on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceFile {
    /// Path, absolute or relative to the document.
    pub path: String,
    /// How it is read.
    #[serde(default)]
    pub options: TraceOptions,
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
    #[error(
        "the spread (standard deviation over mean) of {what} must be from 0 to {MAX_CV}, not {value}"
    )]
    Spread {
        /// What it is.
        what: &'static str,
        /// The value.
        value: f64,
    },
    /// Fewer or more than can be.
    #[error("{what} must be from {least} to {MAX_TURNS}, not {value}")]
    Count {
        /// What is counted.
        what: &'static str,
        /// Fewest.
        least: u32,
        /// The value.
        value: u32,
    },
    /// A range whose ends are swapped.
    #[error("{what} run from {min} to {max}: the first must not be above the second")]
    Counts {
        /// What is counted.
        what: &'static str,
        /// Fewest.
        min: u32,
        /// Most.
        max: u32,
    },
    /// A mean outside of what is possible.
    #[error("the mean of {what} must be from {least} to {max}, not {mean}")]
    MeanCount {
        /// What is counted.
        what: &'static str,
        /// Fewest.
        least: u32,
        /// Most.
        max: u32,
        /// The mean.
        mean: f64,
    },
    /// A wait that is none.
    #[error("{what} must be from 0 s to a month, not {value} s")]
    Wait {
        /// Which.
        what: &'static str,
        /// Seconds.
        value: f64,
    },
    /// No system prompts, or too many.
    #[error("there are from 1 to {MAX_SYSTEM_PROMPTS} different system prompts, not {0}")]
    SystemPrompts(u32),
    /// Too many classes.
    #[error("a workload has at most {MAX_CLASSES} priority classes, not {0}")]
    Classes(usize),
    /// A conversation that grows too long.
    #[error(
        "a conversation may grow to {0} tokens, at most {MAX_TOKENS} are possible: fewer turns or rounds, or shorter ones"
    )]
    Conversation(u64),
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
    #[error("the workload replays a trace, but none is loaded: name a CSV or JSONL file")]
    NoTrace,
}

/// A spread that can be drawn from; 0 is constant.
pub(super) fn check_spread(what: &'static str, value: f64) -> Result<(), WorkloadError> {
    if !(0.0..=MAX_CV).contains(&value) {
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
                check_spread("lengths", cv)
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
            sessions: None,
            hidden: None,
            priorities: Vec::new(),
        }
    }

    /// What its conversations are made of; a request on its own is one of a single turn.
    pub(super) fn conversation(&self) -> Conversation {
        Conversation {
            input: self.input,
            output: self.output,
            sessions: self.sessions.unwrap_or(Sessions::SINGLE),
            hidden: self.hidden,
        }
    }

    /// Longest prompt and answer together, tokens, unless a trace says it.
    #[must_use]
    pub fn longest_context(&self) -> u64 {
        self.conversation().longest()
    }

    /// Longest prompt, tokens, unless a trace says it.
    #[must_use]
    pub fn longest_prompt(&self) -> u64 {
        self.longest_context().saturating_sub(self.output.longest())
    }

    /// Mean prompt and answer tokens of a request, hidden rounds included, unless a trace says it.
    #[must_use]
    pub fn means(&self) -> (f64, f64) {
        self.conversation().means()
    }

    /// Mean turns of a conversation.
    #[must_use]
    pub fn mean_turns(&self) -> f64 {
        self.conversation().sessions.turns.mean(1).max(1.0)
    }

    /// Seconds of thinking and of tools per request, on average.
    #[must_use]
    pub fn mean_pause(&self) -> f64 {
        self.conversation().pause()
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
                    check_spread("arrivals", cv)?;
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
            if let Some(sessions) = &self.sessions {
                sessions.check()?;
            }
            if let Some(hidden) = &self.hidden {
                hidden.check()?;
            }
            if self.sessions.is_some() || self.hidden.is_some() {
                self.conversation().check()?;
            }
        }
        check_classes(&self.priorities)
    }
}
