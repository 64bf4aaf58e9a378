//! One micro-batch of a lane, its decodes kept as sums.
//!
//! A request that joins at step `j` with `b` tokens cached sees `b + 1 + (s − j)` tokens at step
//! `s`, so the sum of contexts is affine in `s`; and it needs a block at steps `s ≡ j − b` modulo the
//! block size, so a histogram of `j − b` says how many blocks a step takes. For windows see
//! [`Reached`] and [`BlockDue`].

use super::reached::{BlockDue, Decode, Reached};
use crate::cost::Reach;
use crate::plan::SequenceKv;
use crate::sim::queue::Nanos;
use crate::sim::request::{Arena, NONE, ReqId};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// One micro-batch of a lane: its running requests.
#[derive(Debug)]
pub(super) struct Cohort {
    /// Step it runs next, or is running.
    pub(super) step: u64,
    pub(super) in_flight: bool,
    /// When its last step ended.
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
    /// Came in from a transfer and have not decoded here yet: (request, life).
    pub(super) newcomers: Vec<(ReqId, u32)>,
}

impl Cohort {
    /// Empty, for blocks of a size.
    pub(super) fn new(block: u32, kv: &SequenceKv, reaches: &[Reach]) -> Self {
        let mut due = vec![(kv.growing, BlockDue::new(block, None))];
        for (cap, bytes) in &kv.windows {
            due.push((*bytes, BlockDue::new(block, Some(*cap))));
        }
        Self {
            step: 0,
            in_flight: false,
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
        }
    }

    pub(super) fn context(&self) -> u64 {
        let step = i64::try_from(self.step).unwrap_or(i64::MAX);
        let sum = self.context_origin + i64::from(self.decodes) * step;
        u64::try_from(sum).unwrap_or(0)
    }

    /// Bytes the decodes take in the next step.
    pub(super) fn bytes_due(&self) -> u64 {
        let each = self.due.iter();
        each.fold(0, |sum: u64, (bytes, due)| {
            sum.saturating_add(bytes.saturating_mul(due.at(self.step)))
        })
    }

    /// The step has ended: the next one is one on.
    pub(super) fn next_step(&mut self) {
        self.step += 1;
        for sum in &mut self.reached {
            sum.advance(self.step);
        }
        for (_, due) in &mut self.due {
            due.advance(self.step);
        }
    }

    /// Adds a request to the decodes from `step` on.
    pub(super) fn join(&mut self, requests: &mut Arena, id: ReqId, step: u64) {
        let request = &mut requests[id];
        request.join_step = step;
        request.decoding = true;
        let decode = Decode {
            join: step,
            base: u64::from(request.base),
        };
        self.decodes += 1;
        self.context_origin +=
            i64::from(request.base) + 1 - i64::try_from(step).unwrap_or(i64::MAX);
        for sum in &mut self.reached {
            sum.join(decode, self.step);
        }
        for (_, due) in &mut self.due {
            due.join(decode, self.step);
        }
        let rest = u64::from(request.output - request.produced);
        self.finishing
            .push(Reverse((step + rest - 1, id, request.life)));
    }

    /// Takes a request out of the decodes.
    pub(super) fn leave(&mut self, base: u32, join_step: u64) {
        let decode = Decode {
            join: join_step,
            base: u64::from(base),
        };
        self.decodes -= 1;
        self.context_origin -= i64::from(base) + 1 - i64::try_from(join_step).unwrap_or(i64::MAX);
        for sum in &mut self.reached {
            sum.leave(decode, self.step);
        }
        for (_, due) in &mut self.due {
            due.leave(decode, self.step);
        }
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
