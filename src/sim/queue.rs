//! The event queue: a binary heap on (time, sequence number), so equal times are first in, first
//! out. Events carry ids, never references. Nothing is cancelled by removal: an event that came to
//! nothing carries a generation and is dropped when it is popped.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Simulated time, nanoseconds from the first arrival.
pub(super) type Nanos = u64;

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// The next request arrives.
    Arrival,
    /// A turn or round follows an answered one.
    Turn {
        /// Its slot in the arena.
        slot: u32,
    },
    /// A step of a replica leaves its last stage.
    StepEnd {
        /// Which replica.
        replica: u32,
        /// Which of its micro-batches.
        cohort: u32,
    },
    /// A replica's first stage is free for another micro-batch.
    StageFree {
        /// Which replica.
        replica: u32,
    },
    /// The network's next flow ends, if nothing has changed since.
    FlowEnd {
        /// Generation of the rates it was computed from.
        generation: u64,
    },
    /// A request has passed its server's front end: it comes to its scheduler's queue.
    Queued {
        /// Its slot in the arena.
        slot: u32,
    },
    /// A client in a closed loop has its answer's last token, and sends the next request.
    Told,
    /// What is cached of a request's prompt below HBM has been read.
    Loaded {
        /// Its slot in the arena.
        slot: u32,
    },
    /// The last byte of a request's KV has arrived.
    Landed {
        /// Its slot in the arena.
        slot: u32,
    },
}

/// Events to come.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    heap: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    sequence: u64,
}

impl EventQueue {
    /// Adds an event.
    pub(super) fn push(&mut self, at: Nanos, event: Event) {
        self.heap.push(Reverse((at, self.sequence, event)));
        self.sequence += 1;
    }

    /// The earliest event.
    pub(super) fn pop(&mut self) -> Option<(Nanos, Event)> {
        self.heap.pop().map(|Reverse((at, _, event))| (at, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_are_first_in_first_out() {
        let mut queue = EventQueue::default();
        queue.push(5, Event::StageFree { replica: 1 });
        queue.push(5, Event::Arrival);
        queue.push(1, Event::StageFree { replica: 2 });
        assert_eq!(queue.pop(), Some((1, Event::StageFree { replica: 2 })));
        assert_eq!(queue.pop(), Some((5, Event::StageFree { replica: 1 })));
        assert_eq!(queue.pop(), Some((5, Event::Arrival)));
        assert_eq!(queue.pop(), None);
    }
}
