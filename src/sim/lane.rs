//! One scheduler and its KV memory.
//!
//! Which requests a step takes is the engine's own affair: [`loops`] has one file per scheduler. This
//! is what they share: a queue, running requests in micro-batches (*cohorts*), memory, and what a
//! step's end brings. A request that can't get a block takes those of another, which goes back to the
//! queue with everything it has generated and is recomputed as one prefill. A request under way in
//! another micro-batch can't give way before its step ends: whoever needs its blocks waits for that,
//! so the request admitted first always gets on.
//!
//! A step costs what changes in it. Decodes of a cohort are a count, a sum of contexts that is
//! affine in the step number, and a histogram of when each needs its next block: a request that
//! joins at step `j` with `b` tokens cached needs one at steps `s` with `s ≡ j − b` modulo the
//! block size. Only drafts, of which each sequence accepts as many as it happens to, are counted one
//! by one ([`drafts`]). A cohort is one of the pipeline's micro-batches; without a pipeline there is
//! one.

mod batch;
mod cohort;
mod drafts;
mod ending;
mod expected;
mod loops;
mod memory;
mod reached;
mod reuse;
mod steady;
mod waiting;

pub(super) use batch::Batch;
pub(super) use ending::Ended;

use super::queue::Nanos;
use super::request::{Arena, NONE, ReqId};
use crate::cost::Reach;
use crate::plan::{Scheduler, Scheduling, SequenceKv, Speculation, Tier};
use crate::sim::prefix::PrefixCache;
use cohort::Cohort;
use memory::Memory;
use std::collections::VecDeque;
use std::rc::Rc;
use waiting::Waiting;

/// The engine settings a lane runs by.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) budget: u32,
    pub(super) max_seqs: u32,
    pub(super) block: u32,
    pub(super) chunked: bool,
    pub(super) scheduling: Scheduling,
    pub(super) speculation: Option<Speculation>,
    /// Whether prompts that begin alike share what is cached.
    pub(super) reuse: bool,
    /// Tiers of the cache below HBM.
    pub(super) tiers: Vec<Tier>,
    /// Longest prompt and answer of the workload: what Orca reserves for each.
    pub(super) longest: u32,
    /// KV memory, bytes.
    pub(super) capacity: u64,
    /// What a sequence takes of it.
    pub(super) kv: Rc<SequenceKv>,
    pub(super) seed: u64,
}

/// One scheduler.
#[derive(Debug)]
pub(super) struct Lane {
    settings: Settings,
    memory: Memory,
    running: u32,
    waiting: Waiting,
    /// With KV on the way or to come, in order: decode admits them when blocks are free.
    arriving: VecDeque<ReqId>,
    cohorts: Vec<Cohort>,
    /// Requests routed here and not gone.
    pub(super) outstanding: u32,
    /// Prompt tokens of them.
    pub(super) outstanding_tokens: u64,
    pub(super) preemptions: u64,
    /// Counts admissions, for who came last.
    admissions: u64,
    /// Requests that came after this are not seen yet: the host put the batch together earlier.
    visible: Nanos,
    /// When the step being built starts.
    now: Nanos,
    /// Reads from lower tiers that have started: who waits, until when.
    loads: Vec<(ReqId, Nanos)>,
    /// Share of its answer a request is expected still to need (SGLang).
    new_token_ratio: f64,
    /// Whether everyone had what he needed when the last step was built, so that who waits was looked at.
    clean: bool,
    /// Steps in which prompts have waited for more of them (TensorRT-LLM).
    waited: u32,
    /// Decode steps since the scheduler looked at what had come in (SGLang), and when it did.
    unseen: u32,
    looked: Nanos,
    /// Nobody more fits until someone leaves (SGLang's `batch_is_full`).
    full: bool,
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

impl Lane {
    pub(super) fn new(settings: Settings, cohorts: usize, reaches: &[Reach]) -> Self {
        let cohort = || Cohort::new(&settings, reaches);
        let cache = settings
            .reuse
            .then(|| PrefixCache::new(settings.block, Rc::clone(&settings.kv), &settings.tiers));
        Self {
            memory: Memory::new(settings.capacity, Rc::clone(&settings.kv), cache),
            cohorts: (0..cohorts).map(|_| cohort()).collect(),
            running: 0,
            waiting: Waiting::new(settings.scheduling.order),
            arriving: VecDeque::new(),
            outstanding: 0,
            outstanding_tokens: 0,
            preemptions: 0,
            admissions: 0,
            visible: Nanos::MAX,
            now: 0,
            loads: Vec::new(),
            new_token_ratio: loops::first_ratio(&settings.scheduling),
            clean: true,
            waited: 0,
            unseen: 0,
            looked: 0,
            full: false,
            settings,
        }
    }

    /// Whether a request of that many tokens can ever be held.
    pub(super) fn can_hold(&self, tokens: u64) -> bool {
        let longest = match self.settings.scheduling.scheduler {
            Scheduler::Orca => tokens.max(u64::from(self.settings.longest)),
            _ => tokens,
        };
        self.memory.kv.bytes(longest) <= self.usable()
    }

    /// Bytes a lone request may take.
    fn usable(&self) -> u64 {
        self.memory.capacity - self.watermark()
    }

    /// Its memory.
    pub(super) const fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Requests admitted, transfers on the way included.
    pub(super) const fn running(&self) -> u32 {
        self.running
    }

    /// The decodes of a batch, and the tokens of each.
    #[cfg(test)]
    pub(super) fn decoding(
        &self,
        requests: &Arena,
        index: usize,
        batch: &Batch,
    ) -> Vec<(u64, u32)> {
        let cohort = &self.cohorts[index];
        let ids = cohort.running(requests);
        if batch.decodes == 0 {
            return Vec::new();
        }
        ids.filter(|id| requests[*id].decoding)
            .map(|id| (requests[id].answer, 1 + cohort.planned(&requests[id])))
            .collect()
    }

    /// Requests not admitted yet.
    pub(super) fn waiting(&self) -> u32 {
        u32::try_from(self.waiting.len() + self.arriving.len()).unwrap_or(u32::MAX)
    }

    /// A new request to prefill.
    pub(super) fn enqueue(&mut self, requests: &mut Arena, id: ReqId, now: Nanos) {
        requests[id].queued = now;
        if self.settings.reuse {
            requests.name_text(id);
        }
        self.waiting.push_back(requests, id);
    }

    /// Whether a cohort has something to run or to admit.
    pub(super) fn has_work(&self, cohort: usize) -> bool {
        let c = &self.cohorts[cohort];
        !c.in_flight && (c.head != NONE || !self.waiting.is_empty())
    }

    /// Builds the next step of a cohort and takes its blocks. Returns whether the lane has work in
    /// it. The host put the batch together at `seen`; who came later waits for the next.
    pub(super) fn schedule(
        &mut self,
        requests: &mut Arena,
        index: usize,
        batch: &mut Batch,
        (now, seen): (Nanos, Nanos),
    ) -> bool {
        self.now = now;
        self.visible = self.look(seen);
        let mut pass = self.build(requests, index, batch);
        // All gave way: the next pass admits again, as the engine's next call would.
        if batch.is_empty() && pass == Pass::Preempted {
            pass = self.build(requests, index, batch);
        }
        self.clean = pass == Pass::Clean;
        // A step with prompts is followed by a look.
        self.unseen = if batch.chunks.is_empty() {
            self.unseen.saturating_add(1)
        } else {
            u32::MAX
        };
        let cohort = &mut self.cohorts[index];
        cohort.in_flight = !batch.is_empty();
        cohort.decoding = batch.decodes > 0;
        cohort.in_flight
    }

    /// Up to when the scheduler has seen requests: with `scheduler_recv_interval` it looks every so many
    /// decode steps, after one with prompts, and when it has nothing to do
    /// (`srt/managers/scheduler_recv_skipper.py`).
    fn look(&mut self, seen: Nanos) -> Nanos {
        let interval = self.settings.scheduling.recv_interval;
        if interval <= 1 {
            return seen;
        }
        if self.running == 0 || self.unseen >= interval {
            self.unseen = 0;
            self.looked = seen.min(self.now);
        }
        self.looked
    }

    fn build(&mut self, requests: &mut Arena, index: usize, batch: &mut Batch) -> Pass {
        batch.clear(self.cohorts[index].step);
        match self.settings.scheduling.scheduler {
            Scheduler::VllmV1 | Scheduler::MaxUtilization | Scheduler::GuaranteedNoEvict => {
                self.build_vllm(requests, index, batch)
            }
            Scheduler::Sarathi => self.build_sarathi(requests, index, batch),
            Scheduler::Sglang => self.build_sglang(requests, index, batch),
            Scheduler::Orca => self.build_orca(requests, index, batch),
            Scheduler::Static => self.build_static(requests, index, batch),
        }
    }

    /// The request at the head of the queue that may be admitted next, if there is a place and it has
    /// been seen, and the tokens of its prompt that are not cached; those to be read from below
    /// first are put aside. [`Self::forget_hit`] if it is not admitted.
    fn next_waiting(&mut self, requests: &mut Arena) -> Option<(ReqId, u32)> {
        loop {
            let id = self.waiting.front()?;
            if self.running >= self.settings.max_seqs || requests[id].queued > self.visible {
                return None;
            }
            if self.find_hit(requests, id) > 0 && self.start_load(requests, id) {
                continue;
            }
            return Some((id, requests[id].base - requests[id].computed));
        }
    }

    /// Takes the decodes' blocks of the next step, sending others back where there are none, and
    /// puts the decodes into the batch.
    fn take_decodes(&mut self, requests: &mut Arena, index: usize, batch: &mut Batch) -> Pass {
        let mut pass = Pass::Clean;
        loop {
            let due = self.cohorts[index].bytes_due(requests, &self.memory);
            if due <= self.memory.available() {
                self.memory.take(due);
                break;
            }
            if self.reclaim(requests, None) {
                continue;
            }
            let Some(victim) = self.victim(requests, index) else {
                return Pass::Blocked;
            };
            pass = Pass::Preempted;
            self.preempt(requests, victim, false);
        }
        batch.set_decodes(requests, &self.cohorts[index]);
        pass
    }

    /// Bytes that must stay free when a request is admitted.
    fn watermark(&self) -> u64 {
        let share = self.settings.scheduling.watermark;
        if share <= 0.0 {
            return 0;
        }
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a capacity below 2^53"
        )]
        let bytes = (self.memory.capacity as f64 * share) as u64;
        bytes.min(self.memory.capacity)
    }

    /// Bytes kept for a request to its end by loops that never evict; 0: none.
    fn promise_for(&self, requests: &Arena, id: ReqId) -> u64 {
        let request = &requests[id];
        match self.settings.scheduling.scheduler {
            Scheduler::GuaranteedNoEvict | Scheduler::Static => self
                .memory
                .bytes(request.input.saturating_add(request.output)),
            Scheduler::Orca => {
                let whole = request.input.saturating_add(request.output);
                self.memory.bytes(whole.max(self.settings.longest))
            }
            Scheduler::VllmV1
            | Scheduler::Sglang
            | Scheduler::MaxUtilization
            | Scheduler::Sarathi => 0,
        }
    }

    /// Admits the request at the head of the queue with `tokens` of its prompt, if its blocks are
    /// there; what of its prompt is cached has been found and pinned. `whole`: the blocks of all its
    /// prompt are taken at once.
    fn admit(
        &mut self,
        requests: &mut Arena,
        index: usize,
        batch: &mut Batch,
        id: ReqId,
        tokens: u32,
        whole: bool,
    ) -> bool {
        let request = requests[id];
        let upto = if whole {
            request.base
        } else {
            request.computed + tokens
        };
        let place = request.place;
        // What was read from below it holds already.
        let is_loaded = request.held > 0;
        let own = self.memory.private(request.held, place.tokens);
        let need = self.memory.private(upto, place.tokens) - if is_loaded { own } else { 0 };
        let available = if is_loaded {
            self.memory.available()
        } else {
            self.memory.available_beside(place.node)
        };
        if need.saturating_add(self.watermark()) > available {
            // Nobody runs who would leave: others that were read from below have the memory.
            return self.running == 0
                && self.reclaim(requests, Some(id))
                && self.admit(requests, index, batch, id, tokens, whole);
        }
        let promise = self.promise_for(requests, id);
        if promise > 0 && !self.memory.promise(promise) {
            return false;
        }
        if let (Some(cache), false) = (&mut self.memory.cache, is_loaded) {
            cache.admit(place, request.base, 0);
        }
        self.memory.take(need);
        requests[id].held = upto;
        self.waiting.pop_front();
        self.running += 1;
        self.append(requests, index, id);
        self.cohorts[index].partial.push_back(id);
        batch.push(requests, id, tokens);
        true
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

    /// Who of a cohort gives way first: by priority the lowest and latest, else the one admitted
    /// last.
    fn first_to_go(&self, requests: &Arena, index: usize) -> ReqId {
        let tail = ReqId(self.cohorts[index].tail);
        match self.waiting {
            Waiting::Arrival(_) => tail,
            Waiting::Priority(_) => self.cohorts[index]
                .running(requests)
                .max_by_key(|id| (requests[*id].priority, requests[*id].arrival, *id))
                .unwrap_or(tail),
        }
    }

    /// Sends a request of a cohort back to the queue. `due_taken`: the blocks its decodes need in the
    /// step being built are taken already.
    fn preempt(&mut self, requests: &mut Arena, index: usize, due_taken: bool) {
        let id = self.first_to_go(requests, index);
        self.send_back(requests, index, id, due_taken);
        self.waiting.push_front(requests, id);
    }

    /// Takes the blocks of a running request; everything it has is computed again, as one prefill
    /// that yields the next token.
    fn send_back(&mut self, requests: &mut Arena, index: usize, id: ReqId, due_taken: bool) {
        let cohort = &mut self.cohorts[index];
        cohort.unlink(requests, id);
        if requests[id].decoding {
            let due = if due_taken {
                1 + cohort.planned(&requests[id])
            } else {
                0
            };
            let done = cohort.leave(requests, id);
            let request = &mut requests[id];
            // One that came by transfer and has not decoded here got its last token elsewhere.
            if !cohort.newcomers.iter().any(|(other, _)| *other == id) && !cohort.is_drafting() {
                request.last_token = cohort.last_end;
            }
            request.held = request.base + done + due;
            request.produced += done;
            request.decoding = false;
        } else {
            cohort.partial.retain(|other| *other != id);
        }
        cohort.newcomers.retain(|(other, _)| *other != id);
        let computed = if requests[id].base == requests[id].computed {
            // It decoded: all but the last token is in the cache.
            requests[id].input + requests[id].produced - 1
        } else {
            requests[id].computed
        };
        self.let_go(requests, id, computed);
        let request = &mut requests[id];
        request.base = request.input + request.produced;
        request.computed = 0;
        request.life += 1;
        self.running -= 1;
        self.preemptions += 1;
        self.full = false;
    }
}
