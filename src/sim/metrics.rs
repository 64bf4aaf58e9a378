//! What is noted while a run goes on, and how it becomes a [`Summary`].
//!
//! The steady window opens when a fifth of the requests have been sent and closes when the last
//! conversation begins (a request on its own is one): before it batches and queues fill, after it
//! they drain. Latencies are those of requests
//! sent inside it, throughput counts tokens delivered inside it. A run too short for that (few
//! requests, or none completed when the window would open) is measured whole.

use super::histogram::{Histogram, bucket, exact_stats};
use super::queue::Nanos;
use super::summary::{Counts, Hidden, Latency, Stats, Window};

/// A completed request, or one that got its first token at least.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub(super) arrival: Nanos,
    pub(super) ttft: Nanos,
    pub(super) e2e: Nanos,
    /// From its sending to that of the round whose answer is read.
    pub(super) hidden: Nanos,
    /// Prompt tokens of all rounds.
    pub(super) input: u32,
    pub(super) output: u32,
}

/// Counters at one instant.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    at: Nanos,
    tokens: u64,
    waiting: u64,
    /// Sent and not ended.
    in_system: u64,
    completed: u64,
    arrived: u64,
}

/// A steady window is this part of the run at least: requests of equal length in a closed loop are
/// sent in waves, and between two sent in one wave nothing happens.
const FEWEST_OF_RUN: Nanos = 10;
/// Fewest requests sent inside a steady window.
const FEWEST_STEADY: u64 = 16;

/// Everything noted.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    pub(super) counts: Counts,
    pub(super) records: Vec<Record>,
    tokens: u64,
    /// Sent, but without a first token.
    waiting: u64,
    steady_itl: Histogram,
    whole_itl: Histogram,
    open: Option<Mark>,
    middle: Option<Mark>,
    close: Option<Mark>,
    /// Requests of the run, and which one opens the window.
    total: u64,
    opens_at: u64,
    /// Conversations of the run, how many have begun, and with which the window's second half
    /// begins.
    starts: u64,
    begun: u64,
    middle_at: u64,
    hidden_rounds: u64,
    hidden_tokens: u64,
    /// The whole run is measured, as a benchmark's client does.
    pub(super) whole: bool,
}

/// The measured numbers.
pub(super) struct Measured {
    pub(super) ttft: Stats,
    pub(super) tpot: Stats,
    pub(super) itl: Stats,
    pub(super) e2e: Stats,
    pub(super) hidden: Option<Hidden>,
    pub(super) window: Window,
    pub(super) requests_per_s: f64,
    pub(super) output_tokens_per_s: f64,
    pub(super) input_tokens_per_s: f64,
    pub(super) saturated: bool,
}

#[expect(
    clippy::cast_precision_loss,
    reason = "spans of a run stay below 2^53 ns"
)]
fn seconds(ns: Nanos) -> f64 {
    ns as f64 * 1e-9
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn per_second(count: u64, span: f64) -> f64 {
    if span > 0.0 { count as f64 / span } else { 0.0 }
}

impl Metrics {
    /// For a run of `requests` in `starts` conversations; in a closed loop the first `burst` begin at
    /// once.
    pub(super) fn new(requests: u64, starts: u64, burst: u64) -> Self {
        Self {
            total: requests,
            opens_at: (requests / 5).max(burst),
            starts,
            middle_at: u64::MAX,
            ..Self::default()
        }
    }

    /// Whether the next request sent is one at which counts are noted: they must be as of then.
    /// `begins`: a conversation with it.
    pub(super) const fn notes(&self, begins: bool) -> bool {
        let begun = self.begun + begins as u64;
        let middles = begun > self.middle_at && self.middle.is_none();
        self.counts.arrived == self.opens_at || begins && (middles || begun == self.starts)
    }

    /// A request is sent; `begins`: a conversation with it.
    pub(super) fn sent(&mut self, now: Nanos, begins: bool) {
        let notes = self.notes(begins);
        let opens = self.counts.arrived == self.opens_at;
        self.counts.arrived += 1;
        self.waiting += 1;
        self.begun += u64::from(begins);
        if !notes {
            return;
        }
        let closes = self.begun == self.starts;
        let mark = self.mark(now);
        if opens && self.close.is_none() {
            self.open = Some(mark);
            self.middle_at = u64::midpoint(self.begun.saturating_sub(1), self.starts);
        }
        if self.middle.is_none() && self.begun > self.middle_at {
            self.middle = Some(mark);
        }
        if begins && closes {
            self.close = Some(mark);
        }
    }

    const fn mark(&self, now: Nanos) -> Mark {
        let counts = &self.counts;
        Mark {
            at: now,
            tokens: self.tokens,
            waiting: self.waiting,
            in_system: counts.arrived - counts.completed - counts.failed,
            completed: counts.completed,
            arrived: counts.arrived,
        }
    }

    pub(super) fn refused(&mut self) {
        self.counts.failed += 1;
        self.waiting -= 1;
    }

    /// A first token; of a hidden round its client waits on.
    pub(super) fn first_token(&mut self, hidden: bool) {
        self.waiting -= u64::from(!hidden);
        self.tokens += 1;
    }

    /// A round nobody reads has ended.
    pub(super) fn hidden_round(&mut self, tokens: u32) {
        self.hidden_rounds += 1;
        self.hidden_tokens += u64::from(tokens);
    }

    /// `count` tokens delivered, each `gap` after the one before it.
    pub(super) fn tokens(&mut self, count: u32, gap: Nanos) {
        let count = u64::from(count);
        self.tokens += count;
        for histogram in self.counting() {
            histogram.add(gap, count);
        }
    }

    /// The histograms that are counting.
    fn counting(&mut self) -> impl Iterator<Item = &mut Histogram> {
        let inside = self.open.is_some() && self.close.is_none();
        let steady = inside.then_some(&mut self.steady_itl);
        std::iter::once(&mut self.whole_itl).chain(steady)
    }

    /// Grows whenever something happens to a request.
    pub(super) const fn progress(&self) -> u64 {
        self.tokens
            + self.counts.arrived
            + self.counts.completed
            + self.counts.failed
            + self.hidden_rounds
    }

    /// Requests of the run.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    pub(super) const fn delivered(&self) -> u64 {
        self.tokens
    }

    /// What each request saw, in order of arrival, prompt and answer.
    pub(super) fn each(&self) -> Vec<Latency> {
        let mut records: Vec<&Record> = self.records.iter().collect();
        records.sort_by_key(|own| (own.arrival, own.input, own.output));
        let one = |own: &Record| Latency {
            arrival: seconds(own.arrival),
            output: own.output,
            ttft: seconds(own.ttft),
            e2e: seconds(own.e2e),
        };
        records.into_iter().map(one).collect()
    }

    /// Sums up a run that ended at `now`.
    pub(super) fn measure(&self, now: Nanos, open_loop: bool) -> Measured {
        let steady = match (self.open, self.close) {
            (Some(open), Some(close))
                if !self.whole
                    && (close.at - open.at) * FEWEST_OF_RUN >= now
                    && open.completed > 0 =>
            {
                let inside = close.arrived - open.arrived + 1;
                (inside >= FEWEST_STEADY).then_some((open, close))
            }
            _ => None,
        };
        let (open, close) = steady.unwrap_or((Mark::default(), self.mark(now)));
        let span = seconds(close.at - open.at);
        let inside: Vec<&Record> = self
            .records
            .iter()
            .filter(|r| (open.at..=close.at).contains(&r.arrival))
            .collect();
        let of = |f: &dyn Fn(&Record) -> Option<f64>| {
            exact_stats(inside.iter().filter_map(|r| f(r)).collect())
        };
        let completed = self
            .records
            .iter()
            .filter(|r| (open.at..=close.at).contains(&(r.arrival + r.e2e)))
            .count() as u64;
        let prompts: u64 = self
            .records
            .iter()
            .filter(|r| (open.at..=close.at).contains(&(r.arrival + r.ttft)))
            .map(|r| u64::from(r.input))
            .sum();
        Measured {
            ttft: of(&|r| Some(seconds(r.ttft))),
            tpot: of(&|r| {
                (r.output > 1).then(|| seconds(r.e2e - r.ttft) / f64::from(r.output - 1))
            }),
            itl: if steady.is_some() {
                self.steady_itl.stats()
            } else {
                self.whole_itl.stats()
            },
            e2e: of(&|r| Some(seconds(r.e2e))),
            hidden: (self.hidden_rounds > 0).then(|| Hidden {
                rounds: self.hidden_rounds,
                tokens: self.hidden_tokens,
                time_s: of(&|r| Some(seconds(r.hidden))),
            }),
            window: Window {
                kind: if steady.is_some() {
                    "steady"
                } else {
                    "whole run"
                },
                start_s: seconds(open.at),
                end_s: seconds(close.at),
                run_end_s: seconds(now),
            },
            requests_per_s: per_second(completed, span),
            output_tokens_per_s: per_second(close.tokens - open.tokens, span),
            input_tokens_per_s: per_second(prompts, span),
            saturated: open_loop && self.is_saturated(open, &inside),
        }
    }

    /// More arrives than leaves: either what is in the system grows by more than a twelfth of what
    /// is sent in the window's second half, or the queue grows (many still wait when the last is
    /// sent, and those sent in the last quarter waited half as long again as those of the second).
    fn is_saturated(&self, open: Mark, inside: &[&Record]) -> bool {
        let (Some(last), true) = (self.close, inside.len() >= 16) else {
            return false;
        };
        if let Some(middle) = self.middle.filter(|middle| middle.completed > 0) {
            let sent = last.arrived - middle.arrived + 1;
            let grown = last.in_system.saturating_sub(middle.in_system);
            // Two counts of a Poisson-like number differ by chance, here more so, because more in
            // the system slows it down: five deviations of that.
            let chance = 25 * (last.in_system + middle.in_system);
            if grown > sent / 12 && grown * grown > chance {
                return true;
            }
        }
        let sent = last.arrived.saturating_sub(self.opens_at);
        if last.waiting < (sent / 20).max(8) {
            return false;
        }
        let span = last.at - open.at;
        let mean = |from: u64, to: u64| {
            let (low, high) = (open.at + span / 4 * from, open.at + span / 4 * to);
            let waits: Vec<f64> = inside
                .iter()
                .filter(|r| (low..=high).contains(&r.arrival))
                .map(|r| seconds(r.ttft))
                .collect();
            exact_stats(waits).mean
        };
        mean(3, 4) > 1.5 * mean(1, 2)
    }
}

/// Latencies between tokens of steps one after another, of which as many deliver a token each.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// Steps by bucket; those in a row in one bucket are one entry.
    buckets: Vec<(usize, u64)>,
    sum: u128,
}

impl Gaps {
    /// Those of a step.
    pub(super) fn add(&mut self, gap: Nanos) {
        let index = bucket(gap);
        self.sum += u128::from(gap);
        match self.buckets.last_mut() {
            Some((last, count)) if *last == index => *count += 1,
            _ => self.buckets.push((index, 1)),
        }
    }

    /// Notes them all, `tokens` in each step, and is empty again.
    pub(super) fn note(&mut self, tokens: u64, metrics: &mut Metrics) {
        let steps: u64 = self.buckets.iter().map(|(_, count)| count).sum();
        metrics.tokens += steps * tokens;
        for histogram in metrics.counting() {
            for (index, count) in &self.buckets {
                histogram.add_to(*index, count * tokens);
            }
            histogram.add_sum(self.sum * u128::from(tokens));
        }
        self.buckets.clear();
        self.sum = 0;
    }
}
