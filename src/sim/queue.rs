//! The event queue: a binary heap on (time, turn, sequence number). At equal times the ends of steps
//! come first, by replica, then all else first in, first out: so the order does not depend on whether a
//! step's end was put in when the step began or is the end of a run ([`steady`](super::steady)). Events
//! carry ids, never references. Nothing is cancelled by removal: an event that came to nothing has
//! another time than what it is of (a replica's step, the network's next flow) and is dropped when it is popped.

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
    FlowEnd,
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
    /// The first layer of a chunk has been computed: its KV may be sent.
    Sends {
        /// Its slot in the arena.
        slot: u32,
    },
    /// The last byte of a request's KV has arrived.
    Landed {
        /// Its slot in the arena.
        slot: u32,
    },
}

/// Whose turn it is at equal times: a replica's whose step ends, or after those everyone's.
pub(super) type Turn = u32;

impl Event {
    /// Whose turn it is.
    pub(super) const fn turn(&self) -> Turn {
        match self {
            Self::StepEnd { replica, .. } => *replica,
            _ => Turn::MAX,
        }
    }
}

/// Events to come.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    heap: BinaryHeap<Reverse<(Nanos, Turn, u64, Event)>>,
    sequence: u64,
}

impl EventQueue {
    /// Adds an event.
    pub(super) fn push(&mut self, at: Nanos, event: Event) {
        self.heap
            .push(Reverse((at, event.turn(), self.sequence, event)));
        self.sequence += 1;
    }

    /// The earliest event.
    pub(super) fn pop(&mut self) -> Option<(Nanos, Event)> {
        self.heap
            .pop()
            .map(|Reverse((at, _, _, event))| (at, event))
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

    #[test]
    fn steps_end_first_by_replica() {
        let end = |replica| Event::StepEnd { replica, cohort: 0 };
        let mut queue = EventQueue::default();
        for event in [Event::Arrival, end(7), Event::Told, end(2)] {
            queue.push(5, event);
        }
        let order: Vec<Event> =
            std::iter::from_fn(|| queue.pop().map(|(_, event)| event)).collect();
        assert_eq!(order, [end(2), end(7), Event::Arrival, Event::Told]);
    }
}
