//! One scheduler and its KV memory, after vLLM's V1 scheduler (`vllm/v1/core/sched/scheduler.py`,
//! 0.11): one token budget for prefills and decodes, running requests first, waiting ones in order
//! of arrival, a prompt cut to the budget that is left; a request that can't get a block takes the
//! blocks of the one admitted last, which goes back to the head of the queue with everything it has
//! generated and is recomputed as one prefill. A request under way in another micro-batch can't
//! give way before its step ends: whoever needs its blocks waits for that, so the request admitted
//! first always gets on.
//!
//! Memory is counted in bytes. A sequence of `n` tokens holds [`SequenceKv::bytes`] of it: blocks of
//! the layers that see everything, of each window up to its cap, and a state from its admission on.
//! Where layers all see everything that is `ceil(n / block)` blocks, as in a plain paged cache.
//!
//! A step costs what changes in it. Decodes of a cohort are a count, a sum of contexts that is
//! affine in the step number, and a histogram of when each needs its next block: a request that
//! joins at step `j` with `b` tokens cached needs one at steps `s` with `s ≡ j − b` modulo the
//! block size. A cohort is one of the pipeline's micro-batches; without a pipeline there is one.

mod batch;
mod cohort;
mod reached;

pub(super) use batch::Batch;

use super::queue::Nanos;
use super::request::{Arena, NONE, ReqId};
use crate::cost::Reach;
use crate::plan::SequenceKv;
use cohort::Cohort;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::rc::Rc;

/// The engine settings a lane runs by.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) budget: u32,
    pub(super) max_seqs: u32,
    pub(super) block: u32,
    pub(super) chunked: bool,
    /// KV memory, bytes.
    pub(super) capacity: u64,
    /// What a sequence takes of it.
    pub(super) kv: Rc<SequenceKv>,
}

/// One scheduler.
#[derive(Debug)]
pub(super) struct Lane {
    settings: Settings,
    /// Bytes neither held nor promised.
    free: u64,
    running: u32,
    waiting: VecDeque<ReqId>,
    /// With KV on the way or to come, in order: decode admits them when blocks are free.
    arriving: VecDeque<ReqId>,
    cohorts: Vec<Cohort>,
    /// Requests routed here and not gone.
    pub(super) outstanding: u32,
    pub(super) preemptions: u64,
    /// Most bytes in use at once.
    pub(super) peak: u64,
    /// Counts admissions, for who came last.
    admissions: u64,
}

/// How one pass of the scheduler went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Everyone who runs got blocks.
    Clean,
    /// Someone had to give way: nobody new is admitted.
    Preempted,
    /// Blocks are with a later request that is under way: wait for its step to end.
    Blocked,
}

/// What a step's end brought.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// Decodes that got a token, newcomers apart.
    pub(super) steady: u32,
    /// When those got their previous one.
    pub(super) since: Nanos,
    /// Newcomers that got their first token here.
    pub(super) newcomers: Vec<ReqId>,
    /// Prompts that ended.
    pub(super) prefilled: Vec<ReqId>,
    /// Decodes that got their last token.
    pub(super) finished: Vec<ReqId>,
}

impl Ended {
    pub(super) fn clear(&mut self) {
        self.steady = 0;
        self.newcomers.clear();
        self.prefilled.clear();
        self.finished.clear();
    }
}

impl Lane {
    pub(super) fn new(settings: Settings, cohorts: usize, reaches: &[Reach]) -> Self {
        let cohort = || Cohort::new(settings.block, &settings.kv, reaches);
        Self {
            free: settings.capacity,
            cohorts: (0..cohorts).map(|_| cohort()).collect(),
            settings,
            running: 0,
            waiting: VecDeque::new(),
            arriving: VecDeque::new(),
            outstanding: 0,
            preemptions: 0,
            peak: 0,
            admissions: 0,
        }
    }

    /// Bytes of a sequence of so many tokens.
    fn bytes_for(&self, tokens: u64) -> u64 {
        self.settings.kv.bytes(tokens)
    }

    /// Whether a request of that many tokens can ever be held.
    pub(super) fn can_hold(&self, tokens: u64) -> bool {
        self.bytes_for(tokens) <= self.settings.capacity
    }

    /// Bytes neither held nor promised.
    pub(super) const fn free(&self) -> u64 {
        self.free
    }

    /// All bytes.
    pub(super) const fn capacity(&self) -> u64 {
        self.settings.capacity
    }

    /// Requests admitted, transfers on the way included.
    pub(super) const fn running(&self) -> u32 {
        self.running
    }

    /// Requests not admitted yet.
    pub(super) fn waiting(&self) -> u32 {
        u32::try_from(self.waiting.len() + self.arriving.len()).unwrap_or(u32::MAX)
    }

    /// A new request to prefill.
    pub(super) fn enqueue(&mut self, id: ReqId) {
        self.waiting.push_back(id);
    }

    /// A prefilled request to decode, its KV elsewhere.
    pub(super) fn expect(&mut self, id: ReqId) {
        self.arriving.push_back(id);
    }

    /// Admits the next expected request if blocks and a place are free, and takes its blocks.
    /// Preempted requests of the lane come first.
    pub(super) fn admit_transfer(&mut self, requests: &Arena) -> Option<ReqId> {
        let id = *self.arriving.front()?;
        if !self.waiting.is_empty() || self.running >= self.settings.max_seqs {
            return None;
        }
        // Its cache and the token it decodes first.
        let need = self.bytes_for(u64::from(requests[id].base) + 1);
        if need > self.free {
            return None;
        }
        // That token's block is taken when it is due, at the first step.
        self.take(self.bytes_for(u64::from(requests[id].base)));
        self.running += 1;
        self.arriving.pop_front()
    }

    fn take(&mut self, bytes: u64) {
        self.free -= bytes;
        self.peak = self.peak.max(self.settings.capacity - self.free);
    }

    /// A transfer has arrived: the request decodes from the next step of the emptiest cohort on.
    pub(super) fn join_from_transfer(&mut self, requests: &mut Arena, id: ReqId) {
        let index = self
            .cohorts
            .iter()
            .enumerate()
            .min_by_key(|(_, cohort)| cohort.decodes)
            .map_or(0, |(index, _)| index);
        self.append(requests, index, id);
        let cohort = &mut self.cohorts[index];
        let life = requests[id].life;
        let step = cohort.step + u64::from(cohort.in_flight);
        cohort.join(requests, id, step);
        cohort.newcomers.push((id, life));
    }

    /// Whether a cohort has something to run or to admit.
    pub(super) fn has_work(&self, cohort: usize) -> bool {
        let c = &self.cohorts[cohort];
        !c.in_flight && (c.head != NONE || !self.waiting.is_empty())
    }

    /// Builds the next step of a cohort and takes its blocks. Returns whether the lane has work in
    /// it.
    pub(super) fn schedule(
        &mut self,
        requests: &mut Arena,
        index: usize,
        batch: &mut Batch,
    ) -> bool {
        let pass = self.build(requests, index, batch);
        // All gave way: the next pass admits again, as the engine's next call would.
        if pass == Pass::Preempted && batch.is_empty() {
            self.build(requests, index, batch);
        }
        self.cohorts[index].in_flight = !batch.is_empty();
        !batch.is_empty()
    }

    fn build(&mut self, requests: &mut Arena, index: usize, batch: &mut Batch) -> Pass {
        batch.clear(self.cohorts[index].step);
        let mut pass = Pass::Clean;
        // Decodes: one token each; some need a block now.
        loop {
            let due = self.cohorts[index].bytes_due();
            if due <= self.free {
                self.take(due);
                break;
            }
            let Some(victim) = self.victim(requests, index) else {
                return Pass::Blocked;
            };
            pass = Pass::Preempted;
            self.preempt(requests, victim, false);
        }
        batch.set_decodes(&self.cohorts[index]);
        let mut budget = self.settings.budget.saturating_sub(batch.decodes);
        // Prompts under way.
        let mut position = 0;
        while let Some(id) = self.cohorts[index].partial.get(position).copied() {
            let request = &requests[id];
            let tokens = (request.base - request.computed).min(budget);
            if tokens == 0 {
                break;
            }
            let held = self.bytes_for(u64::from(request.computed));
            let need = self.bytes_for(u64::from(request.computed + tokens)) - held;
            if need > self.free {
                let Some(victim) = self.victim(requests, index) else {
                    return Pass::Blocked;
                };
                pass = Pass::Preempted;
                self.preempt(requests, victim, victim == index);
                batch.set_decodes(&self.cohorts[index]);
                continue;
            }
            self.take(need);
            budget -= tokens;
            batch.push(requests, id, tokens);
            position += 1;
        }
        if pass == Pass::Clean {
            self.admit_waiting(requests, index, batch, budget);
        }
        pass
    }

    /// Waiting requests, in order, as blocks, places and budget allow.
    fn admit_waiting(
        &mut self,
        requests: &mut Arena,
        index: usize,
        batch: &mut Batch,
        mut budget: u32,
    ) {
        while let Some(id) = self.waiting.front().copied() {
            if self.running >= self.settings.max_seqs || budget == 0 {
                break;
            }
            let rest = requests[id].base - requests[id].computed;
            if !self.settings.chunked && rest > budget {
                break;
            }
            let tokens = rest.min(budget);
            let need = self.bytes_for(u64::from(tokens));
            if need > self.free {
                break;
            }
            self.take(need);
            self.waiting.pop_front();
            self.running += 1;
            self.append(requests, index, id);
            self.cohorts[index].partial.push_back(id);
            budget -= tokens;
            batch.push(requests, id, tokens);
        }
    }

    /// Adds a request to the end of a cohort's running list.
    fn append(&mut self, requests: &mut Arena, index: usize, id: ReqId) {
        requests[id].admission = self.admissions;
        self.admissions += 1;
        self.cohorts[index].append(requests, id);
    }

    /// The cohort whose last request gives way for one of cohort `own`: of all requests that are
    /// not under way, the one admitted last. None if one under way was admitted later still.
    fn victim(&self, requests: &Arena, own: usize) -> Option<usize> {
        let newest = |in_flight: bool| {
            self.cohorts
                .iter()
                .enumerate()
                .filter(|(_, cohort)| cohort.tail != NONE && cohort.in_flight == in_flight)
                .map(|(index, cohort)| (requests[ReqId(cohort.tail)].admission, index))
                .max()
        };
        let (admission, index) = newest(false)?;
        let later_under_way = newest(true).is_some_and(|(other, _)| other > admission);
        (index != own || !later_under_way).then_some(index)
    }

    /// Takes the blocks of a cohort's last request and sends it back to the head of the queue.
    /// `due_taken`: the blocks its decodes need in the step being built are taken already.
    fn preempt(&mut self, requests: &mut Arena, index: usize, due_taken: bool) {
        let id = ReqId(self.cohorts[index].tail);
        let cohort = &mut self.cohorts[index];
        cohort.unlink(requests, id);
        let request = &mut requests[id];
        let held = if request.decoding {
            let done = cohort.step - request.join_step;
            cohort.leave(request.base, request.join_step);
            // One that came by transfer and has not decoded here got its last token elsewhere.
            if cohort.newcomers.iter().all(|(other, _)| *other != id) {
                request.last_token = cohort.last_end;
            }
            // Everything it has is computed again, as one prefill that yields the next token.
            request.produced += u32::try_from(done).unwrap_or(u32::MAX);
            let held = u64::from(request.base) + done + u64::from(due_taken);
            request.base = request.input + request.produced;
            request.decoding = false;
            held
        } else {
            cohort.partial.retain(|other| *other != id);
            u64::from(request.computed)
        };
        request.computed = 0;
        request.life += 1;
        cohort.newcomers.retain(|(other, _)| *other != id);
        self.free += self.bytes_for(held);
        self.running -= 1;
        self.waiting.push_front(id);
        self.preemptions += 1;
    }

    /// Ends a cohort's step: prompts advance, decodes get a token, the finished leave.
    /// `keeps` says whether prefilled requests decode here; those of a prefill pool keep their
    /// blocks until [`Lane::release`].
    pub(super) fn end_step(
        &mut self,
        requests: &mut Arena,
        index: usize,
        batch: &Batch,
        now: Nanos,
        keeps: bool,
        ended: &mut Ended,
    ) {
        let kv = Rc::clone(&self.settings.kv);
        let cohort = &mut self.cohorts[index];
        ended.clear();
        ended.since = cohort.last_end;
        let step = batch.step;
        cohort.newcomers.retain(|(id, life)| {
            let request = &requests[*id];
            if request.life != *life {
                return false;
            }
            let ran = request.join_step == step;
            if ran {
                ended.newcomers.push(*id);
            }
            !ran
        });
        ended.steady = batch.decodes - u32::try_from(ended.newcomers.len()).unwrap_or(0);
        // The last step of some.
        while let Some(Reverse((last, id, life))) = cohort.finishing.peek().copied() {
            if requests[id].life != life {
                cohort.finishing.pop();
                continue;
            }
            if last > step {
                break;
            }
            cohort.finishing.pop();
            let request = &requests[id];
            let held = u64::from(request.base) + (step + 1 - request.join_step);
            cohort.leave(request.base, request.join_step);
            cohort.unlink(requests, id);
            self.free += kv.bytes(held);
            self.running -= 1;
            ended.finished.push(id);
        }
        cohort.next_step();
        cohort.last_end = now;
        cohort.in_flight = false;
        for (id, chunk) in batch.prefills.iter().zip(&batch.chunks) {
            let request = &mut requests[*id];
            request.computed += chunk.tokens;
            if request.computed < request.base {
                continue;
            }
            // The prompt is cached and has yielded a token.
            request.produced += 1;
            let rest = request.output - request.produced;
            let cohort = &mut self.cohorts[index];
            // Prompts end in order of admission, so it is at the front.
            if cohort.partial.front() == Some(id) {
                cohort.partial.pop_front();
            } else {
                cohort.partial.retain(|other| other != id);
            }
            if rest == 0 {
                let held = u64::from(request.base);
                cohort.unlink(requests, *id);
                self.free += kv.bytes(held);
                self.running -= 1;
            } else if keeps {
                let next = cohort.step;
                cohort.join(requests, *id, next);
            } else {
                cohort.unlink(requests, *id);
                self.running -= 1;
            }
            ended.prefilled.push(*id);
        }
    }

    /// Gives back the memory of a request whose KV has left.
    pub(super) fn release(&mut self, tokens: u32) {
        self.free += self.bytes_for(u64::from(tokens));
    }
}
