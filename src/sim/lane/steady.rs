//! What a lane knows of steps to come in which nothing changes but counts: see
//! [`crate::sim::steady`].
//!
//! Nothing changes while everyone decodes, nobody has his last token, no window fills or begins anew,
//! blocks suffice, and who waits goes on waiting: memory only gets less, so who did not fit does not
//! fit later. With a prefix cache that holds as long as nothing is evicted from it.

use super::{Batch, Lane, NONE};
use crate::plan::Scheduler;
use crate::sim::queue::Nanos;
use crate::sim::request::Arena;
use std::cmp::Reverse;

impl Lane {
    /// Tokens of a block.
    pub(in crate::sim) fn block(&self) -> u64 {
        u64::from(self.settings.block.max(1))
    }

    /// Of a step that has just been built: how many step ends, from its own on, change nothing but
    /// counts. `told`: when the tokens of a step of the same decodes that ended now reach their
    /// clients. Lanes of one stage only.
    pub(in crate::sim) fn unchanged(
        &mut self,
        requests: &Arena,
        batch: &mut Batch,
        told: Nanos,
    ) -> u64 {
        if !self.clean || self.has_room_for_transfer(requests) {
            return 0;
        }
        if batch.is_empty() {
            let idle = self.cohorts[0].head == NONE && self.waiting.is_empty();
            return if idle { u64::MAX } else { 0 };
        }
        let cohort = &mut self.cohorts[0];
        if !batch.chunks.is_empty()
            || cohort.is_drafting()
            || !cohort.partial.is_empty()
            || !cohort.newcomers.is_empty()
            // Some have waited for longer than this step.
            || cohort.last_end != told
        {
            return 0;
        }
        // Who was sent back or ended since is still in the list.
        while let Some(Reverse((_, id, life))) = cohort.finishing.peek() {
            if requests[*id].life == *life {
                break;
            }
            cohort.finishing.pop();
        }
        let last = cohort.finishing.peek().map_or(0, |Reverse(own)| own.0);
        let mut most = last.saturating_sub(cohort.step);
        if most == 0 {
            return 0;
        }
        most = most.min(cohort.smooth());
        let Some(room) = self.room_while_waiting(requests) else {
            return 0;
        };
        let cohort = &self.cohorts[0];
        let next = cohort.step + 1;
        if cohort.bytes_over(next, most) > room {
            let block = self.block();
            let cycle = cohort.bytes_over(next, block).max(1);
            most = most.min(room / cycle * block);
        }
        let cohort = &self.cohorts[0];
        batch.growing.clear();
        let growing = cohort.reached.iter().map(|own| own.growth());
        batch.growing.extend(growing);
        most
    }

    /// Bytes that may be taken before who waits could be better off; none if he may be already.
    fn room_while_waiting(&self, requests: &Arena) -> Option<u64> {
        let available = self.memory.available();
        let Some(id) = self.waiting.front() else {
            return Some(available);
        };
        match self.settings.scheduling.scheduler {
            // It looks again only when someone has left.
            Scheduler::Sglang => self.full.then_some(available),
            Scheduler::Static => Some(available),
            _ if self.running >= self.settings.max_seqs => Some(available),
            // Prompts wait for more of them, for so many steps.
            _ if self.settings.scheduling.batch_wait_iters > 0 => None,
            // It had not been seen.
            _ if requests[id].queued > self.visible => None,
            _ if self.memory.cache.is_some() => Some(self.memory.unused()),
            _ => Some(available),
        }
    }

    /// Adds to `bytes` those taken at each of the steps after the one under way.
    pub(in crate::sim) fn add_dues(&self, bytes: &mut [u64]) {
        let cohort = &self.cohorts[0];
        if cohort.decodes == 0 {
            return;
        }
        for (step, sum) in (cohort.step + 1..).zip(bytes) {
            *sum += cohort.bytes_over(step, 1);
        }
    }

    /// So many steps have ended, the tokens of the last `told`, and as many have started, number `n` of
    /// them at `start_of(n)`. `overlap`: the host put each together when the one before started.
    pub(in crate::sim) fn advance(
        &mut self,
        requests: &Arena,
        batch: &mut Batch,
        (steps, told): (u64, Nanos),
        (start_of, overlap): (&dyn Fn(u64) -> Nanos, bool),
    ) {
        if steps == 0 {
            return;
        }
        self.look_on(steps, start_of, overlap);
        if batch.decodes == 0 {
            return;
        }
        let cohort = &self.cohorts[0];
        let next = cohort.step + 1;
        let bytes = cohort.bytes_over(next, steps);
        if bytes <= self.memory.unused() {
            self.memory.take(bytes);
        } else {
            // What is evicted for a block depends on when.
            for step in next..next + steps {
                let bytes = self.cohorts[0].bytes_over(step, 1);
                self.memory.take(bytes);
            }
        }
        self.settle_ratio(steps);
        let cohort = &mut self.cohorts[0];
        cohort.go_on(requests, steps);
        cohort.last_end = told;
        batch.step += steps;
        batch.context += steps * u64::from(batch.decodes);
        for (sum, growing) in batch.reached.iter_mut().zip(&batch.growing) {
            *sum += steps * growing;
        }
    }

    /// What as many calls of [`Self::look`] would have seen.
    fn look_on(&mut self, steps: u64, start_of: &dyn Fn(u64) -> Nanos, overlap: bool) {
        let interval = u64::from(self.settings.scheduling.recv_interval);
        let unseen = u64::from(self.unseen);
        let mut after = unseen.saturating_add(steps);
        if interval > 1 {
            // The first look, then one every interval; one with nothing to do looks always.
            let interval = if self.running == 0 { 1 } else { interval };
            let first = (interval + 1).saturating_sub(unseen).max(1);
            if first <= steps {
                let last = first + (steps - first) / interval * interval;
                self.looked = start_of(last - u64::from(overlap));
                after = 1 + steps - last;
            }
        }
        self.unseen = u32::try_from(after).unwrap_or(u32::MAX);
    }
}
