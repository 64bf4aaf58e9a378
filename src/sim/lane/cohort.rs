//! One micro-batch of a lane, its decodes kept as sums.
//!
//! A request that joins at step `j` with `b` tokens cached sees `b + 1 + (s − j)` tokens at step
//! `s`, so the sum of contexts is affine in `s`; and it needs a block at steps `s ≡ j − b` modulo the
//! block size, so a histogram of `j − b` says how many blocks a step takes. For windows see
//! [`Reached`] and [`BlockDue`].

use super::Settings;
use super::drafts::Drafts;
use super::loops::Owed;
use super::memory::Memory;
use super::reached::{BlockDue, Decode, Reached};
use crate::cost::Reach;
use crate::plan::Scheduler;
use crate::sim::queue::Nanos;
use crate::sim::request::{Arena, NONE, ReqId, Request};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// One micro-batch of a lane: its running requests.
#[derive(Debug)]
pub(super) struct Cohort {
    /// Step it runs next, or is running.
    pub(super) step: u64,
    pub(super) in_flight: bool,
    /// Whether its decodes are in the step under way.
    pub(super) decoding: bool,
    /// When its last step with decodes ended.
    pub(super) last_end: Nanos,
    pub(super) decodes: u32,
    /// Sum over decodes of (cached tokens + 1 − join step): contexts are this + decodes · step.
    pub(super) context_origin: i64,
    /// What they see by each of the model's reaches.
    pub(super) reached: Vec<Reached>,
    /// Bytes of a block of the layers that see everything, and who needs one when; then the same
    /// for each window.
    due: Vec<(u64, BlockDue)>,
    /// (last step, request, life).
    pub(super) finishing: BinaryHeap<Reverse<(u64, ReqId, u32)>>,
    /// Requests with prompt left, in order of admission.
    pub(super) partial: VecDeque<ReqId>,
    /// Admission order of all running requests.
    pub(super) head: u32,
    pub(super) tail: u32,
    /// Got their last token at another time than the others and have not decoded since: (request,
    /// life).
    pub(super) newcomers: Vec<(ReqId, u32)>,
    /// Decodes one by one, where drafts are verified.
    pub(super) drafts: Option<Drafts>,
    /// What the decodes still have to say, for schedulers that reckon with it.
    pub(super) owed: Option<Owed>,
}

impl Cohort {
    /// Empty.
    pub(super) fn new(settings: &Settings, reaches: &[Reach]) -> Self {
        let (block, kv) = (settings.block, &settings.kv);
        let mut due = vec![(kv.growing, BlockDue::new(block, None))];
        for (cap, bytes) in &kv.windows {
            due.push((*bytes, BlockDue::new(block, Some(*cap))));
        }
        let drafts = settings.speculation.as_ref();
        Self {
            step: 0,
            in_flight: false,
            decoding: false,
            last_end: 0,
            decodes: 0,
            context_origin: 0,
            reached: reaches.iter().copied().map(Reached::new).collect(),
            due,
            finishing: BinaryHeap::new(),
            partial: VecDeque::new(),
            head: NONE,
            tail: NONE,
            newcomers: Vec::new(),
            drafts: drafts.map(|own| Drafts::new(own.clone(), reaches, settings.seed)),
            owed: (settings.scheduling.scheduler == Scheduler::Sglang).then(Owed::default),
        }
    }

    pub(super) fn context(&self) -> u64 {
        let step = i64::try_from(self.step).unwrap_or(i64::MAX);
        let sum = self.context_origin + i64::from(self.decodes) * step;
        u64::try_from(sum).unwrap_or(0)
    }

    /// Bytes the decodes take in the next step.
    pub(super) fn bytes_due(&self, requests: &Arena, memory: &Memory) -> u64 {
        if let Some(drafts) = &self.drafts {
            return drafts.bytes_due(requests, memory);
        }
        let each = self.due.iter();
        each.fold(0, |sum: u64, (bytes, due)| {
            sum.saturating_add(bytes.saturating_mul(due.at(self.step)))
        })
    }

    /// Bytes the decodes take in `steps` steps from `from` on, in a run.
    pub(super) fn bytes_over(&self, from: u64, steps: u64) -> u64 {
        let each = self.due.iter();
        each.fold(0, |sum: u64, (bytes, due)| {
            sum.saturating_add(bytes.saturating_mul(due.over(from, steps)))
        })
    }

    /// Ends of steps from the next on that change nothing but counts, as far as the decodes' contexts
    /// and blocks go.
    pub(super) fn smooth(&self) -> u64 {
        let sums = self.reached.iter().map(|own| own.steps(self.step));
        let dues = self.due.iter().map(|(_, own)| own.steps(self.step));
        sums.chain(dues).min().unwrap_or(u64::MAX)
    }

    /// Goes so many steps of a run on.
    pub(super) fn go_on(&mut self, requests: &Arena, steps: u64) {
        self.step += steps;
        if let Some(owed) = &mut self.owed {
            owed.advance(requests, self.step);
        }
    }

    /// Whether its decodes verify drafts.
    pub(super) const fn is_drafting(&self) -> bool {
        self.drafts.is_some()
    }

    /// Tokens drafted for a decode in its next step.
    pub(super) fn planned(&self, request: &Request) -> u32 {
        self.drafts.as_ref().map_or(0, |own| own.planned(request))
    }

    /// The step has ended: the next one is one on.
    pub(super) fn next_step(&mut self, requests: &Arena) {
        self.step += 1;
        for sum in &mut self.reached {
            sum.advance(self.step);
        }
        for (_, due) in &mut self.due {
            due.advance(self.step);
        }
        if let Some(owed) = &mut self.owed {
            owed.advance(requests, self.step);
        }
    }

    /// Adds a request to the decodes from `step` on.
    pub(super) fn join(&mut self, requests: &mut Arena, id: ReqId, step: u64) {
        let request = &mut requests[id];
        request.join_step = step;
        request.decoding = true;
        request.held = request.base;
        self.decodes += 1;
        let rest = request.output - request.produced;
        let life = request.life;
        if let Some(drafts) = &mut self.drafts {
            drafts.join(id);
            return;
        }
        if let Some(owed) = &mut self.owed {
            owed.join(step, rest, id, life);
        }
        let decode = Decode {
            join: step,
            base: u64::from(request.base),
        };
        self.context_origin +=
            i64::from(request.base) + 1 - i64::try_from(step).unwrap_or(i64::MAX);
        for sum in &mut self.reached {
            sum.join(decode, self.step);
        }
        for (_, due) in &mut self.due {
            due.join(decode, self.step);
        }
        self.finishing
            .push(Reverse((step + u64::from(rest) - 1, id, life)));
    }

    /// Takes a request out of the decodes. Returns how many steps it has decoded since it joined, or
    /// since it was last noted in `base`.
    pub(super) fn leave(&mut self, requests: &Arena, id: ReqId) -> u32 {
        self.decodes -= 1;
        if let Some(drafts) = &mut self.drafts {
            drafts.leave(id);
            return 0;
        }
        let request = &requests[id];
        let (base, join_step) = (request.base, request.join_step);
        let decode = Decode {
            join: join_step,
            base: u64::from(base),
        };
        self.context_origin -= i64::from(base) + 1 - i64::try_from(join_step).unwrap_or(i64::MAX);
        for sum in &mut self.reached {
            sum.leave(decode, self.step);
        }
        for (_, due) in &mut self.due {
            due.leave(decode, self.step);
        }
        if let Some(owed) = &mut self.owed {
            owed.leave(self.step, join_step, request.output - request.produced);
        }
        u32::try_from(self.step.saturating_sub(join_step)).unwrap_or(u32::MAX)
    }

    /// Tokens a decode has said by now.
    pub(super) fn said(&self, request: &Request) -> u32 {
        let here = if self.is_drafting() {
            0
        } else {
            self.step.saturating_sub(request.join_step)
        };
        request.produced + u32::try_from(here).unwrap_or(u32::MAX)
    }

    /// Its running requests, in order of admission.
    pub(super) fn running<'a>(&self, requests: &'a Arena) -> impl Iterator<Item = ReqId> + 'a {
        let mut next = self.head;
        std::iter::from_fn(move || {
            if next == NONE {
                return None;
            }
            let id = ReqId(next);
            next = requests[id].after;
            Some(id)
        })
    }

    pub(super) fn append(&mut self, requests: &mut Arena, id: ReqId) {
        requests[id].before = self.tail;
        requests[id].after = NONE;
        if self.tail == NONE {
            self.head = id.0;
        } else {
            requests[ReqId(self.tail)].after = id.0;
        }
        self.tail = id.0;
    }

    pub(super) fn unlink(&mut self, requests: &mut Arena, id: ReqId) {
        let (before, after) = (requests[id].before, requests[id].after);
        if before == NONE {
            self.head = after;
        } else {
            requests[ReqId(before)].after = after;
        }
        if after == NONE {
            self.tail = before;
        } else {
            requests[ReqId(after)].before = before;
        }
    }
}
