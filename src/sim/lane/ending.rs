//! What a step's end brings: prompts advance, decodes get a token, the finished leave.

use super::{Batch, Lane};
use crate::sim::queue::Nanos;
use crate::sim::request::{Arena, ReqId};
use std::cmp::Reverse;

/// What a step's end brought.
#[derive(Debug, Default)]
pub(in crate::sim) struct Ended {
    /// Decodes that got a token, those told apart left out.
    pub(in crate::sim) steady: u32,
    /// When those got their previous one.
    pub(in crate::sim) since: Nanos,
    /// Decodes told apart, by when they got their last token or how many they get now: newcomers,
    /// and all that verify drafts.
    pub(in crate::sim) apart: Vec<(ReqId, u32)>,
    /// Prompts that ended.
    pub(in crate::sim) prefilled: Vec<ReqId>,
    /// Decodes that got their last token.
    pub(in crate::sim) finished: Vec<ReqId>,
}

impl Ended {
    /// Tokens it brought.
    pub(in crate::sim) fn tokens(&self) -> u64 {
        let apart: u32 = self.apart.iter().map(|(_, tokens)| tokens).sum();
        u64::from(self.steady + apart) + self.prefilled.len() as u64
    }

    pub(super) fn clear(&mut self) {
        self.steady = 0;
        self.apart.clear();
        self.prefilled.clear();
        self.finished.clear();
    }
}

impl Lane {
    /// Ends a cohort's step. `keeps` says whether prefilled requests decode here; those of a prefill
    /// pool keep their blocks until [`Lane::release`].
    pub(in crate::sim) fn end_step(
        &mut self,
        requests: &mut Arena,
        index: usize,
        batch: &Batch,
        now: Nanos,
        keeps: bool,
        ended: &mut Ended,
    ) {
        ended.clear();
        ended.since = self.cohorts[index].last_end;
        if batch.decodes > 0 {
            if self.cohorts[index].is_drafting() {
                self.end_drafts(requests, index, ended);
            } else {
                self.end_decodes(requests, index, batch, ended);
            }
            self.cohorts[index].next_step(requests);
            self.cohorts[index].last_end = now;
            self.settle_ratio(1);
        }
        let cohort = &mut self.cohorts[index];
        cohort.in_flight = false;
        if cohort.decodes == 0 {
            // Nobody waits for a token since before.
            cohort.last_end = now;
        }
        let paused = cohort.decodes > 0 && batch.decodes == 0;
        for (id, chunk) in batch.prefills.iter().zip(&batch.chunks) {
            self.end_chunk(requests, index, *id, chunk.tokens, keeps, paused);
            if requests[*id].computed >= requests[*id].base {
                ended.prefilled.push(*id);
            }
        }
    }

    /// Tokens of a step that has just ended reach their clients then.
    pub(in crate::sim) fn told(&mut self, index: usize, now: Nanos, at: Nanos) {
        let cohort = &mut self.cohorts[index];
        if cohort.last_end == now {
            cohort.last_end = at;
        }
    }

    /// Decodes each get a token; those for whom it is the last leave.
    fn end_decodes(
        &mut self,
        requests: &mut Arena,
        index: usize,
        batch: &Batch,
        ended: &mut Ended,
    ) {
        let cohort = &mut self.cohorts[index];
        let step = batch.step;
        cohort.newcomers.retain(|(id, life)| {
            let request = &requests[*id];
            if request.life != *life {
                return false;
            }
            let ran = request.join_step == step;
            if ran {
                ended.apart.push((*id, 1));
            }
            !ran
        });
        ended.steady = batch.decodes - u32::try_from(ended.apart.len()).unwrap_or(0);
        while let Some(Reverse((last, id, life))) = self.cohorts[index].finishing.peek().copied() {
            if requests[id].life != life {
                self.cohorts[index].finishing.pop();
                continue;
            }
            if last > step {
                break;
            }
            self.cohorts[index].finishing.pop();
            self.finish(requests, index, id, 1);
            ended.finished.push(id);
        }
    }

    /// A decode has its last token. `now`: tokens it gets in the step that ends.
    pub(super) fn finish(&mut self, requests: &mut Arena, index: usize, id: ReqId, now: u32) {
        let cohort = &mut self.cohorts[index];
        let done = cohort.leave(requests, id);
        cohort.unlink(requests, id);
        let request = &mut requests[id];
        let cached = request.base + done + now;
        if request.held < cached {
            request.held = cached;
        }
        // The last token itself is never computed.
        let whole = request.input.saturating_add(request.output);
        self.let_go(requests, id, whole.saturating_sub(1).min(cached));
        self.running -= 1;
        self.full = false;
    }

    fn end_chunk(
        &mut self,
        requests: &mut Arena,
        index: usize,
        id: ReqId,
        tokens: u32,
        keeps: bool,
        paused: bool,
    ) {
        requests[id].computed += tokens;
        let computed = requests[id].computed;
        self.share(requests, id, computed);
        let request = &mut requests[id];
        if request.computed < request.base {
            return;
        }
        // The prompt is cached and has yielded a token.
        request.produced += 1;
        request.held = request.base;
        let (rest, life) = (request.output - request.produced, request.life);
        let cohort = &mut self.cohorts[index];
        // Prompts mostly end in order of admission, so it is at the front.
        if cohort.partial.front() == Some(&id) {
            cohort.partial.pop_front();
        } else {
            cohort.partial.retain(|other| *other != id);
        }
        if rest == 0 {
            cohort.unlink(requests, id);
            let base = requests[id].base;
            self.let_go(requests, id, base);
            self.running -= 1;
            self.full = false;
        } else if keeps {
            let next = cohort.step;
            cohort.join(requests, id, next);
            if paused {
                // The others wait for their next token since longer.
                cohort.newcomers.push((id, life));
            }
        } else {
            cohort.unlink(requests, id);
            self.running -= 1;
        }
    }
}
