//! Runs of steps in which nothing changes but counts: the same requests decode, nobody comes to them
//! and nobody leaves.
//!
//! When a step starts, its replica looks how many more like it will follow ([`Lane::unchanged`], and
//! [`Series`] for the price), and asks to be woken at the end of the last instead of the first. What
//! comes from outside before that (a request, KV that has arrived, a window of measurement that opens)
//! first lets it *advance* to where it is then; from there on it steps again. So the result is the same,
//! to the last bit, as if every step had been an event: prices are whole numbers that form arithmetic
//! series, and the end of the run is a sum of those rounded up to nanoseconds, which has a closed form
//! ([`ceiling_sum`]). Device time by class, origin and band, counts of steps and tokens, contexts and
//! blocks are multiplied. What is a product of two such sums has none: latencies between tokens by
//! bucket, and KV memory held over time, are added up in a loop of a few integer operations a step.
//!
//! Tokens that are handed out one at a time come as much later as those before them take, the same in
//! every step, if a step is longer than that. Pipelines and drafts are stepped; so are runs that are
//! recorded.

use super::lane::{Batch, Lane};
use super::ledger::Advanced;
use super::metrics::Metrics;
use super::pricer::Pricer;
use super::queue::Nanos;
use super::replica::ReplicaState;
use super::request::Arena;
use crate::cost::{FEMTOS_PER_NANO, Femtos, Series, StepPrice};

/// Shortest run that is worth finding.
const SHORTEST: u64 = 2;
/// Longest: sums of it stay in range.
const LONGEST: u64 = 1 << 32;
/// Runs up to here are added up one by one.
const BY_ONE: u64 = 16;
/// No run ends later, ns.
const LATEST: i128 = 1 << 62;

/// Steps to come that are known in advance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    /// Their prices. The first is that of the step that has been started.
    series: Series,
    /// When that started.
    start: Nanos,
    /// Steps after it.
    most: u64,
}

/// Nanoseconds a step takes: at least one, so that time goes on.
pub(super) fn step_time(took: Femtos) -> Nanos {
    took.div_ceil(FEMTOS_PER_NANO).max(1)
}

/// The sum of `ceil((base + slope · i) / unit)` for `i` below `count`, all of them positive.
fn ceiling_sum(count: u64, unit: u64, base: u64, slope: i64) -> u128 {
    // From the other end if they fall.
    let last = i128::from(base) + i128::from(slope) * i128::from(count.saturating_sub(1));
    let least = last.min(i128::from(base));
    let base = u128::try_from(least).unwrap_or(0) + u128::from(unit - 1);
    floor_sum(
        u128::from(count),
        u128::from(unit),
        u128::from(slope.unsigned_abs()),
        base,
    )
}

/// The sum of `floor((a · i + b) / m)` for `i` below `n`: points under a line, by Euclid's algorithm.
fn floor_sum(mut n: u128, mut m: u128, mut a: u128, mut b: u128) -> u128 {
    let mut sum = 0;
    while n > 0 {
        sum += (n - 1) * n / 2 * (a / m) + n * (b / m);
        (a, b) = (a % m, b % m);
        let top = a * n + b;
        (n, b) = (top / m, top % m);
        (m, a) = (a.max(1), m);
    }
    sum
}

/// What the first so many steps take.
fn span(series: &Series, steps: u64) -> Nanos {
    let Series {
        took, took_slope, ..
    } = *series;
    if steps > BY_ONE {
        let sum = ceiling_sum(steps, FEMTOS_PER_NANO, took, took_slope);
        return Nanos::try_from(sum).unwrap_or(Nanos::MAX);
    }
    let each = |step: i64| step_time(took.wrapping_add_signed(took_slope * step));
    (0..steps).map(|step| each(step.cast_signed())).sum()
}

impl ReplicaState {
    /// Looks ahead from the step that has just been started at `start`, whose price is `first`. When the
    /// last step of the run ends, if it is one.
    pub(super) fn look_ahead(
        &mut self,
        requests: &mut Arena,
        pricer: &mut Pricer,
        (start, first): (Nanos, StepPrice),
    ) -> Option<Nanos> {
        if self.stage_free.len() != 1 || self.stepped {
            return None;
        }
        let (mut most, mut tokens) = (LONGEST, 0);
        for (lane, batch) in self.lanes.iter_mut().zip(&mut self.batches[0]) {
            // Its tokens are handed out after those of the lanes before it.
            tokens += u64::from(batch.decodes);
            let told = start + self.back.work(tokens);
            most = most.min(lane.unchanged(requests, batch, told));
            if most < SHORTEST {
                return None;
            }
        }
        let series = match self.batches[0].as_slice() {
            [batch] => pricer.series(&[batch.grown()], first, self.overlap),
            batches => {
                let lanes: Vec<_> = batches.iter().map(Batch::grown).collect();
                pricer.series(&lanes, first, self.overlap)
            }
        }?;
        most = most.min(series.steps);
        let last = i128::from(series.took) + i128::from(series.took_slope) * i128::from(most);
        let longest = last.max(i128::from(series.took)) / i128::from(FEMTOS_PER_NANO) + 1;
        if most < SHORTEST || longest * i128::from(most + 1) + i128::from(start) > LATEST {
            return None;
        }
        // All of a step's tokens have been handed out before those of the next come.
        let shortest = last.min(i128::from(series.took)) / i128::from(FEMTOS_PER_NANO);
        let first_end = start + step_time(series.took);
        if i128::from(self.back.work(tokens)) > shortest || !self.back.is_idle_at(first_end) {
            return None;
        }
        let run = Run {
            series,
            start,
            most,
        };
        self.run = Some(run);
        Some(start + span(&series, most + 1))
    }

    /// Brings a run to where it is before `limit`: steps that end earlier have ended, and the one
    /// after is under way. Returns how many have, if there was a run; what they told clients is noted
    /// in `metrics`.
    pub(super) fn advance(
        &mut self,
        requests: &mut Arena,
        metrics: &mut Metrics,
        limit: Nanos,
    ) -> Option<u64> {
        let Run {
            series,
            start,
            most,
        } = self.run.take()?;
        let levels = self.levels();
        let block = self.lanes.first().map_or(1, Lane::block);
        let dues = &mut self.dues;
        dues.clear();
        dues.resize(usize::try_from(most.min(block)).unwrap_or(1), 0);
        for lane in &self.lanes {
            lane.add_dues(dues);
        }
        let (mut took, mut held, mut kv) = (series.took, levels.held, 0_u128);
        let (mut began, mut ends) = (start, start + step_time(took));
        let first_end = ends;
        let mut steps = 0;
        let mut due = dues.iter().cycle();
        while steps < most && ends < limit {
            self.gaps.add(ends - began);
            held += due.next().unwrap_or(&0);
            took = took.wrapping_add_signed(series.took_slope);
            let own = step_time(took);
            kv += u128::from(own) * u128::from(held);
            (began, ends) = (ends, ends + own);
            steps += 1;
        }
        let mut running = 0;
        let back = self.back;
        let start_of = |step: u64| match step {
            0 => start,
            _ if step == steps => began,
            _ => start + span(&series, step),
        };
        for (lane, batch) in self.lanes.iter_mut().zip(&mut self.batches[0]) {
            running += u64::from(batch.decodes);
            let told = began + back.work(running);
            lane.advance(requests, batch, (steps, told), (&start_of, self.overlap));
        }
        if steps > 0 {
            self.back.passed(began, running);
        }
        self.gaps.note(running, metrics);
        self.ledger.advance(&Advanced {
            series: &series,
            steps,
            levels,
            batches: &self.batches[0],
            now: began,
            first_stages: ends - first_end,
            kv,
        });
        if steps > 0 {
            self.started = began;
            self.last_end = Some(began);
            self.stage_free[0] = ends;
            self.spans[0] = (began, ends);
            self.steps += steps;
            self.request_steps += steps * running;
        }
        self.ends_at = ends;
        #[cfg(test)]
        {
            self.advanced += steps;
        }
        Some(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_sum_of_rounded_steps_is_that_of_brute_force(
            count in 0_u64..400,
            unit in 1_u64..3_000_000,
            base in 1_u64..20_000_000,
            slope in -50_000_i64..5_000_000,
        ) {
            let base = base + 400 * 50_000;
            let own = |i: u64| base.wrapping_add_signed(slope * i64::try_from(i).unwrap());
            let sum: u128 = (0..count).map(|i| u128::from(own(i).div_ceil(unit))).sum();
            prop_assert_eq!(ceiling_sum(count, unit, base, slope), sum);
        }
    }
}
