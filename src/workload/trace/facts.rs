//! What a trace is like, before it is replayed: how long, how fast and how unevenly, and how much
//! of its prompts a cache without end would have seen before.

use super::Trace;
use crate::units::Seconds;
use std::collections::HashSet;
use std::fmt;

/// Seconds over which the fastest and the slowest pace are told.
const PACE_S: f64 = 60.0;

/// A trace in numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TraceFacts {
    /// Requests.
    pub requests: usize,
    /// First to last arrival, s.
    pub span_s: f64,
    /// Requests per second over the span; none if all arrive at once.
    pub rate: Option<f64>,
    /// Requests per second of the slowest and the fastest whole minute; none below two minutes.
    pub pace: Option<(f64, f64)>,
    /// Share of prompt blocks an earlier prompt has begun with, 0 to 1; none without hashes.
    pub seen_before: Option<f64>,
}

impl fmt::Display for TraceFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} requests", self.requests)?;
        match self.rate {
            Some(rate) => write!(f, " in {}, {rate:.3} a second", Seconds::new(self.span_s))?,
            None => f.write_str(", all at the same time")?,
        }
        if let Some((slowest, fastest)) = self.pace {
            write!(f, " (slowest minute {slowest:.3}, fastest {fastest:.3})")?;
        }
        if let Some(share) = self.seen_before {
            write!(
                f,
                "; {:.1} % of the prompt blocks were met before",
                share * 100.0
            )?;
        }
        Ok(())
    }
}

impl Trace {
    /// Counts it up.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts of rows and blocks")]
    pub fn facts(&self) -> TraceFacts {
        let span = self.requests.last().map_or(0.0, |last| last.arrival_s);
        let count = self.requests.len();
        TraceFacts {
            requests: count,
            span_s: span,
            rate: (span > 0.0).then(|| count as f64 / span),
            pace: self.pace(span),
            seen_before: self.seen_before(),
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole minutes of at most 31 years"
    )]
    fn pace(&self, span: f64) -> Option<(f64, f64)> {
        let whole = (span / PACE_S).floor() as u64;
        if whole < 2 {
            return None;
        }
        let (mut least, mut most, mut minutes) = (u64::MAX, 0, 0);
        let (mut minute, mut count) = (0, 0);
        for request in &self.requests {
            let at = (request.arrival_s / PACE_S).floor() as u64;
            if at != minute {
                least = least.min(count);
                most = most.max(count);
                minutes += 1;
                (minute, count) = (at, 0);
            }
            count += 1;
        }
        // A minute nobody arrived in.
        if minutes < whole {
            least = 0;
        }
        Some((least as f64 / PACE_S, most as f64 / PACE_S))
    }

    /// Blocks met again, over all blocks: a hash names its beginning too, so a block met again
    /// follows the same ones.
    #[expect(
        clippy::cast_precision_loss,
        reason = "bounded by the blocks of a trace"
    )]
    fn seen_before(&self) -> Option<f64> {
        let mut seen = HashSet::new();
        let (mut hits, mut all) = (0_u64, 0_u64);
        for row in 0..self.extras.spots.len() {
            let mut same = true;
            for segment in self.text(row) {
                all += 1;
                let new = seen.insert(segment.id);
                same &= !new;
                hits += u64::from(same);
            }
        }
        (all > 0).then(|| hits as f64 / all as f64)
    }
}
