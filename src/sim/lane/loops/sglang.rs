//! SGLang's scheduler (`srt/managers/scheduler.py`, `schedule_policy.py`, `schedule_batch.py`, 0.5).
//!
//! Prompts first: whenever one is under way or can be admitted, the step is a batch of prompts and the
//! decodes wait (with `enable_mixed_chunk` they come along); else every running request decodes one
//! token. A prompt is cut to `chunked_prefill_size` less what the batch has; only one is cut at a
//! time. A request is admitted if its prompt and its answer (4,096 tokens of it at most) fit into what
//! is free or evictable less what running requests are expected still to need: the sum of what they
//! have left times `new_token_ratio`, which starts at 0.7 · `schedule_conservativeness`, falls to 0.14
//! of that within 600 decode steps, and is estimated anew at a retraction. When decodes run out of
//! memory, those that have said least go back to the end of the queue (ties: the longest prompt).
//!
//! `lpm` sorts the queue by what is cached of each prompt while no more than 128 wait.

use super::owed::CLIP;
use crate::plan::{QueueOrder, Scheduler, Scheduling};
use crate::sim::lane::{Batch, Lane, Pass, Waiting};
use crate::sim::request::{Arena, ReqId};
use std::cmp::Reverse;

/// `SGLANG_INIT_NEW_TOKEN_RATIO`, `…_MIN_NEW_TOKEN_RATIO_FACTOR`, `…_DECAY_STEPS`.
const FIRST_RATIO: f64 = 0.7;
const LEAST_RATIO: f64 = 0.14;
const DECAY_STEPS: f64 = 600.0;
/// Steps a retraction should last for (`retract_decode_steps`).
const RETRACT_STEPS: u32 = 20;
/// Longest queue that is sorted by prefix.
const SORTED_QUEUE: usize = 128;

/// `new_token_ratio` of an idle scheduler.
pub(in crate::sim::lane) fn first_ratio(scheduling: &Scheduling) -> f64 {
    (FIRST_RATIO * scheduling.conservativeness).min(1.0)
}

/// What is left for prompts of the step being built.
struct Room {
    /// Bytes, less what running requests are expected to need.
    bytes: f64,
    /// Tokens of `max_prefill_tokens` and of `chunked_prefill_size`.
    input: u32,
    chunk: u32,
}

impl Lane {
    pub(in crate::sim::lane) fn build_sglang(
        &mut self,
        requests: &mut Arena,
        index: usize,
        batch: &mut Batch,
    ) -> Pass {
        if self.running == 0 {
            self.new_token_ratio = first_ratio(&self.settings.scheduling);
            self.full = false;
        }
        self.admit_prompts(requests, index, batch);
        let prompts = !batch.is_empty();
        if prompts && !self.settings.scheduling.mixed_chunk {
            return Pass::Clean;
        }
        match self.take_or_retract(requests, index, batch) {
            Pass::Blocked => Pass::Blocked,
            pass => {
                batch.set_decodes(requests, &self.cohorts[index]);
                pass
            }
        }
    }

    fn admit_prompts(&mut self, requests: &mut Arena, index: usize, batch: &mut Batch) {
        let under_way = self.cohorts[index].partial.front().copied();
        if under_way.is_none() && (self.full || self.waiting.is_empty()) {
            return;
        }
        let mut room = self.room(index);
        if let Some(id) = under_way {
            self.continue_prompt(requests, id, batch, &mut room);
        }
        if self.settings.scheduling.order == QueueOrder::LongestPrefix
            && self.waiting.len() <= SORTED_QUEUE
        {
            let mut waiting = std::mem::replace(&mut self.waiting, Waiting::new(QueueOrder::Fcfs));
            waiting.sort_by_rank(|id| u32::MAX - self.cached(requests, id));
            self.waiting = waiting;
        }
        while !self.waiting.is_empty() {
            if self.running >= self.settings.max_seqs {
                self.full = true;
                break;
            }
            if room.chunk == 0 || room.input == 0 {
                break;
            }
            let Some((id, rest)) = self.next_waiting(requests) else {
                break;
            };
            if !self.admit_prompt(requests, index, (id, rest), batch, &mut room) {
                self.forget_hit(requests, id);
                break;
            }
        }
    }

    fn room(&self, index: usize) -> Room {
        let scheduling = &self.settings.scheduling;
        let cohort = &self.cohorts[index];
        let decodes = if scheduling.mixed_chunk {
            cohort.decodes
        } else {
            0
        };
        let limit = |tokens: u32| if tokens == 0 { u32::MAX } else { tokens };
        let chunk = if self.settings.chunked {
            self.settings.budget
        } else {
            u32::MAX
        };
        let owed: u64 = self
            .cohorts
            .iter()
            .filter_map(|own| own.owed.as_ref().map(|owed| owed.tokens(own.step)))
            .sum();
        #[expect(clippy::cast_precision_loss, reason = "an estimate, as the engine's")]
        let bytes = self.memory.available() as f64
            - owed as f64 * self.new_token_ratio * self.memory.per_token();
        Room {
            bytes,
            input: limit(scheduling.max_prefill_tokens).saturating_sub(decodes),
            chunk: chunk.saturating_sub(decodes),
        }
    }

    /// The prompt that was cut goes on.
    fn continue_prompt(
        &mut self,
        requests: &mut Arena,
        id: ReqId,
        batch: &mut Batch,
        room: &mut Room,
    ) {
        let request = &requests[id];
        let rest = request.base - request.computed;
        let tokens = rest.min(room.chunk);
        let upto = request.computed + tokens;
        let need = self.memory.bytes(upto) - self.memory.bytes(request.held);
        if tokens > 0 && need > self.memory.available() && self.reclaim(requests, None) {
            return self.continue_prompt(requests, id, batch, room);
        }
        if tokens == 0 || need > self.memory.available() {
            // It holds what it has until decodes free more.
            room.chunk = 0;
            return;
        }
        self.memory.take(need);
        let answer = if tokens == rest {
            answer(requests, id)
        } else {
            0
        };
        requests[id].held = upto;
        batch.push(requests, id, tokens);
        #[expect(clippy::cast_precision_loss, reason = "an estimate, as the engine's")]
        let taken = need as f64 + f64::from(answer) * self.memory.per_token();
        room.bytes -= taken;
        room.input = room.input.saturating_sub(tokens);
        room.chunk -= tokens;
    }

    /// Admits a waiting request if it fits; whether more may follow.
    fn admit_prompt(
        &mut self,
        requests: &mut Arena,
        index: usize,
        (id, rest): (ReqId, u32),
        batch: &mut Batch,
        room: &mut Room,
    ) -> bool {
        let answer = answer(requests, id);
        let per_token = self.memory.per_token();
        let whole = (f64::from(rest) + f64::from(answer)) * per_token;
        let alone = self.running == 0;
        if whole >= room.bytes && !alone {
            self.full = true;
            return false;
        }
        if rest >= room.input && !batch.is_empty() {
            return false;
        }
        let page = self.settings.block.max(1);
        let tokens = if rest <= room.chunk {
            rest
        } else {
            room.chunk / page * page
        };
        if tokens == 0 || !self.admit(requests, index, batch, id, tokens, false) {
            self.full |= tokens > 0;
            return false;
        }
        let answer = if tokens == rest {
            f64::from(answer)
        } else {
            0.0
        };
        room.bytes -= (f64::from(tokens) + answer) * per_token;
        room.input = room.input.saturating_sub(tokens);
        room.chunk = if tokens == rest {
            room.chunk - tokens
        } else {
            0
        };
        true
    }

    /// Takes the decodes' memory; where there is too little, those that have said least go.
    fn take_or_retract(&mut self, requests: &mut Arena, index: usize, batch: &mut Batch) -> Pass {
        let mut retracted = false;
        loop {
            let due = self.cohorts[index].bytes_due(requests, &self.memory);
            if due <= self.memory.available() {
                self.memory.take(due);
                break;
            }
            if self.reclaim(requests, None) {
                continue;
            }
            if self.cohorts[index].decodes > 1 {
                let cohort = &self.cohorts[index];
                let said = |id: &ReqId| {
                    let request = &requests[*id];
                    (cohort.said(request), Reverse(request.input), *id)
                };
                let decodes = cohort.running(requests).filter(|id| requests[*id].decoding);
                let Some(id) = decodes.min_by_key(said) else {
                    return Pass::Blocked;
                };
                self.send_back(requests, index, id, false);
                self.waiting.push_back(requests, id);
            } else {
                // The last one can only wait for other micro-batches, or take from them.
                let Some(victim) = self.victim(requests, index) else {
                    return Pass::Blocked;
                };
                let gone = self.first_to_go(requests, victim);
                self.preempt(requests, victim, false);
                batch.remove(requests, gone);
            }
            retracted = true;
        }
        if retracted {
            self.estimate_ratio(requests, index);
            return Pass::Preempted;
        }
        Pass::Clean
    }

    fn estimate_ratio(&mut self, requests: &Arena, index: usize) {
        let cohort = &self.cohorts[index];
        let (mut said, mut whole) = (0_u64, 0_u64);
        for id in cohort.running(requests).filter(|id| requests[*id].decoding) {
            let request = &requests[id];
            said += u64::from(cohort.said(request) + RETRACT_STEPS);
            whole += u64::from(request.output);
        }
        #[expect(clippy::cast_precision_loss, reason = "an estimate, as the engine's")]
        let ratio = said as f64 / whole.max(1) as f64;
        self.new_token_ratio = ratio.min(1.0);
    }

    /// Decode steps have ended: what requests are expected still to need shrinks.
    pub(in crate::sim::lane) fn settle_ratio(&mut self, steps: u64) {
        if self.settings.scheduling.scheduler == Scheduler::Sglang {
            let first = first_ratio(&self.settings.scheduling);
            let least = first * LEAST_RATIO;
            let step = (first - least) / DECAY_STEPS;
            for _ in 0..steps {
                if self.new_token_ratio <= least {
                    break;
                }
                self.new_token_ratio = (self.new_token_ratio - step).max(least);
            }
        }
    }
}

/// What is counted of the answer a request has still to give.
fn answer(requests: &Arena, id: ReqId) -> u32 {
    let request = &requests[id];
    (request.output - request.produced).min(CLIP)
}
