//! vLLM's V1 scheduler (`vllm/v1/core/sched/scheduler.py`, 0.11), and TensorRT-LLM's in-flight
//! batching, which forms its steps alike.
//!
//! One token budget for prefills and decodes: running requests first, waiting ones in order, a prompt
//! cut to the budget that is left, to `long_prefill_token_threshold` and, while another prompt is
//! under way, to nothing if `max_num_partial_prefills` are. Decodes count before prompts under way,
//! which is vLLM's own order wherever at most one prompt is. A request that can't get a block takes
//! the blocks of the one admitted last (by priority: the least urgent), which goes back to the head
//! of the queue; nobody is admitted in a step in which someone had to give way.
//!
//! TensorRT-LLM 1.0 (`cpp/tensorrt_llm/batch_manager/capacityScheduler.cpp`,
//! `microBatchScheduler.cpp`): `MAX_UTILIZATION` admits what fits now and pauses the last to come on
//! shortage; `GUARANTEED_NO_EVICT` admits a request only if it and all running ones can finish, and so
//! nobody ever gives way. Generation requests come first in a step, then prompts, in order of arrival.

use crate::sim::lane::{Batch, Lane, Pass};
use crate::sim::request::Arena;

impl Lane {
    pub(in crate::sim::lane) fn build_vllm(
        &mut self,
        requests: &mut Arena,
        index: usize,
        batch: &mut Batch,
    ) -> Pass {
        let mut pass = self.take_decodes(requests, index, batch);
        if pass == Pass::Blocked {
            return pass;
        }
        let budget = self.settings.budget;
        let mut budget = budget.saturating_sub(batch.decodes + batch.drafted);
        match self.continue_prompts(requests, index, batch, &mut budget) {
            Pass::Clean => {}
            other => pass = other,
        }
        if pass == Pass::Clean && !self.prompts_wait(requests, batch, budget) {
            self.admit_waiting(requests, index, batch, budget);
        }
        pass
    }

    /// Tokens of one prompt that a step may take.
    fn share_of_prompt(&self, rest: u32, budget: u32) -> u32 {
        let threshold = self.settings.scheduling.long_prefill_token_threshold;
        let most = if threshold == 0 {
            rest
        } else {
            rest.min(threshold)
        };
        most.min(budget)
    }

    /// Prompts under way go on, in order of admission.
    fn continue_prompts(
        &mut self,
        requests: &mut Arena,
        index: usize,
        batch: &mut Batch,
        budget: &mut u32,
    ) -> Pass {
        let mut pass = Pass::Clean;
        let mut position = 0;
        while let Some(id) = self.cohorts[index].partial.get(position).copied() {
            let request = &requests[id];
            let tokens = self.share_of_prompt(request.base - request.computed, *budget);
            if tokens == 0 {
                break;
            }
            let upto = request.computed + tokens;
            let need = self.memory.bytes(upto) - self.memory.bytes(request.held);
            if need > self.memory.available() {
                if self.reclaim(requests, None) {
                    continue;
                }
                let Some(victim) = self.victim(requests, index) else {
                    return Pass::Blocked;
                };
                pass = Pass::Preempted;
                let gone = self.first_to_go(requests, victim);
                self.preempt(requests, victim, victim == index);
                *budget += batch.remove(requests, gone);
                let place = self.cohorts[index]
                    .partial
                    .iter()
                    .position(|own| *own == id);
                position = place.unwrap_or_else(|| position.min(batch.prefills.len()));
                batch.set_decodes(requests, &self.cohorts[index]);
                continue;
            }
            self.memory.take(need);
            requests[id].held = upto;
            *budget -= tokens;
            batch.push(requests, id, tokens);
            position += 1;
        }
        pass
    }

    /// Whether prompts wait for more of them while others decode: TensorRT-LLM's
    /// `batch_wait_timeout_iters` (`_torch/pyexecutor/py_executor.py`, `_waiting_requests`).
    fn prompts_wait(&mut self, requests: &Arena, batch: &Batch, budget: u32) -> bool {
        let scheduling = &self.settings.scheduling;
        if scheduling.batch_wait_iters == 0 || batch.decodes == 0 {
            return false;
        }
        let Some(first) = self.waiting.front() else {
            return false;
        };
        let visible = self.visible;
        if requests[first].queued > visible || self.running >= self.settings.max_seqs {
            return false;
        }
        let enough = f64::from(self.settings.budget) * scheduling.batch_wait_ratio;
        let others = batch.decodes + batch.drafted;
        let (mut tokens, mut places) = (0_u32, self.settings.max_seqs - self.running);
        // As many as a step would take; the walk ends where they are enough.
        let _ = self.waiting.find(|id| {
            let rest = requests[id].base - requests[id].computed;
            let fits = places > 0 && requests[id].queued <= visible && rest <= budget - tokens;
            if fits {
                places -= 1;
                tokens += rest;
            }
            !fits || f64::from(tokens + others) >= enough
        });
        let waits =
            self.waited < scheduling.batch_wait_iters && f64::from(tokens + others) < enough;
        self.waited = if waits { self.waited + 1 } else { 0 };
        waits
    }

    /// Waiting requests, in order, as blocks, places and budget allow.
    fn admit_waiting(
        &mut self,
        requests: &mut Arena,
        index: usize,
        batch: &mut Batch,
        mut budget: u32,
    ) {
        let partial = self.settings.scheduling.max_num_partial_prefills as usize;
        while budget > 0
            && let Some((id, rest)) = self.next_waiting(requests)
        {
            let tokens = self.share_of_prompt(rest, budget);
            let is_cut = tokens < rest;
            let crowded =
                is_cut && partial > 0 && self.unfinished_prompts(requests, index, batch) >= partial;
            // A threshold cuts whatever `enable_chunked_prefill` says.
            let beyond = self.share_of_prompt(rest, u32::MAX) > budget;
            if beyond && !self.settings.chunked
                || crowded
                || !self.admit(requests, index, batch, id, tokens, false)
            {
                self.forget_hit(requests, id);
                break;
            }
            budget -= tokens;
        }
    }

    /// Prompts that will still be under way after the step.
    fn unfinished_prompts(&self, requests: &Arena, index: usize, batch: &Batch) -> usize {
        let all = self.cohorts[index].partial.len();
        all - batch
            .prefills
            .iter()
            .zip(&batch.chunks)
            .filter(|(id, chunk)| chunk.context + chunk.tokens == requests[**id].base)
            .count()
    }
}
