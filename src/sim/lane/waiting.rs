//! Requests that wait to be admitted, in the engine's order.

use crate::plan::QueueOrder;
use crate::sim::queue::Nanos;
use crate::sim::request::{Arena, ReqId};
use std::collections::{BTreeSet, VecDeque};

/// Requests that wait.
#[derive(Debug)]
pub(super) enum Waiting {
    /// As they came; those sent back go to the head.
    Arrival(VecDeque<ReqId>),
    /// The lowest priority number first, then by arrival.
    Priority(BTreeSet<(i32, Nanos, ReqId)>),
}

impl Waiting {
    pub(super) fn new(order: QueueOrder) -> Self {
        match order {
            QueueOrder::Fcfs | QueueOrder::LongestPrefix => Self::Arrival(VecDeque::new()),
            QueueOrder::Priority => Self::Priority(BTreeSet::new()),
        }
    }

    fn key(requests: &Arena, id: ReqId) -> (i32, Nanos, ReqId) {
        (requests[id].priority, requests[id].arrival, id)
    }

    pub(super) fn push_back(&mut self, requests: &Arena, id: ReqId) {
        match self {
            Self::Arrival(queue) => queue.push_back(id),
            Self::Priority(queue) => {
                queue.insert(Self::key(requests, id));
            }
        }
    }

    /// Sent back: first in line among equals.
    pub(super) fn push_front(&mut self, requests: &Arena, id: ReqId) {
        match self {
            Self::Arrival(queue) => queue.push_front(id),
            Self::Priority(queue) => {
                queue.insert(Self::key(requests, id));
            }
        }
    }

    pub(super) fn front(&self) -> Option<ReqId> {
        match self {
            Self::Arrival(queue) => queue.front().copied(),
            Self::Priority(queue) => queue.first().map(|key| key.2),
        }
    }

    pub(super) fn pop_front(&mut self) {
        match self {
            Self::Arrival(queue) => {
                queue.pop_front();
            }
            Self::Priority(queue) => {
                queue.pop_first();
            }
        }
    }

    /// The first that is so.
    pub(super) fn find(&self, mut is_so: impl FnMut(ReqId) -> bool) -> Option<ReqId> {
        match self {
            Self::Arrival(queue) => queue.iter().copied().find(|id| is_so(*id)),
            Self::Priority(queue) => queue.iter().map(|key| key.2).find(|id| is_so(*id)),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Arrival(queue) => queue.len(),
            Self::Priority(queue) => queue.len(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sorts by a rank, the lowest first, equal ones as they are.
    pub(super) fn sort_by_rank(&mut self, mut rank: impl FnMut(ReqId) -> u32) {
        if let Self::Arrival(queue) = self {
            queue.make_contiguous().sort_by_cached_key(|id| rank(*id));
        }
    }
}
