//! A request's life, and the arena they live in.

use super::prefix::Place;
use super::queue::Nanos;
use crate::workload::{Drawn, Segment, Turn};

/// A request in the arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ReqId(pub(super) u32);

/// No request.
pub(super) const NONE: u32 = u32::MAX;

/// One request.
///
/// A *life* begins when it enters a lane to be prefilled and ends when it finishes, leaves the
/// lane, or is preempted. `base` is what this life must prefill: the prompt, and after a
/// preemption the tokens generated so far as well, in one go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) arrival: Nanos,
    pub(super) input: u32,
    pub(super) output: u32,
    /// Tokens to have in the cache before this life decodes.
    pub(super) base: u32,
    /// Of `base`, how many are there.
    pub(super) computed: u32,
    /// Output tokens produced when the present decoding began; all of them while prefilling.
    pub(super) produced: u32,
    /// Counts lives, so that what was noted for an earlier one is known to be stale.
    pub(super) life: u32,
    /// Step of its cohort at which it decodes first, while it decodes.
    pub(super) join_step: u64,
    /// How many its lane had admitted before it.
    pub(super) admission: u64,
    /// When it came to its scheduler's queue.
    pub(super) queued: Nanos,
    /// Tokens whose memory it holds or shares; while it decodes the cohort knows.
    pub(super) held: u32,
    /// Of those, what lies in the prefix cache.
    pub(super) place: Place,
    /// Whether it decodes (it prefills otherwise).
    pub(super) decoding: bool,
    /// When its first token was delivered.
    pub(super) first_token: Option<Nanos>,
    /// When its latest token was delivered, as far as noted (decoding ones share their cohort's).
    pub(super) last_token: Nanos,
    /// Where it is served: replica and lane, and where its prefill blocks are held in a transfer.
    pub(super) home: (u32, u32),
    /// The lowest is served first, where an engine looks at it.
    pub(super) priority: i32,
    /// Which text it answers with.
    pub(super) answer: u64,
    /// The conversation it is a turn of.
    pub(super) turn: Option<Turn>,
    /// Neighbours in its cohort's running list.
    pub(super) before: u32,
    pub(super) after: u32,
}

/// Tells the name of a request's own prompt from that of its answer.
const OWN: u64 = 1 << 62;

/// All live requests; slots are used again.
#[derive(Debug, Default)]
pub(super) struct Arena {
    slots: Vec<Request>,
    /// What each slot's prompt is made of; nothing: a text of its own.
    texts: Vec<Vec<Segment>>,
    free: Vec<u32>,
}

impl Arena {
    /// A new request, sent at `arrival`; takes over its text and leaves an empty list for the next.
    pub(super) fn add(&mut self, arrival: Nanos, drawn: &Drawn, text: &mut Vec<Segment>) -> ReqId {
        // Lengths are bounded where they are read; sums of two stay in range.
        let tokens = |n: u64| u32::try_from(n).unwrap_or(u32::MAX / 4);
        let (input, output) = (tokens(drawn.input), tokens(drawn.output));
        let request = Request {
            arrival,
            input,
            output,
            base: input,
            computed: 0,
            produced: 0,
            life: 0,
            join_step: 0,
            admission: 0,
            queued: arrival,
            held: 0,
            place: Place::ROOT,
            decoding: false,
            first_token: None,
            last_token: 0,
            home: (0, 0),
            priority: drawn.priority,
            answer: drawn.answer,
            turn: drawn.turn,
            before: NONE,
            after: NONE,
        };
        if let Some(slot) = self.free.pop() {
            // Lives go on counting, so that notes about the slot's earlier tenant stay stale.
            let life = self.slots[slot as usize].life + 1;
            self.slots[slot as usize] = Request { life, ..request };
            std::mem::swap(&mut self.texts[slot as usize], text);
            text.clear();
            ReqId(slot)
        } else {
            self.slots.push(request);
            self.texts.push(std::mem::take(text));
            ReqId(u32::try_from(self.slots.len() - 1).unwrap_or(NONE))
        }
    }

    /// Its slot may be used again.
    pub(super) fn remove(&mut self, id: ReqId) {
        self.slots[id.0 as usize].life += 1;
        self.free.push(id.0);
    }

    /// What its prompt is made of; nothing: a text of its own.
    pub(super) fn text(&self, id: ReqId) -> &[Segment] {
        &self.texts[id.0 as usize]
    }

    /// Spells out a text of its own, and the answer after the prompt, if that is not done yet: what a
    /// prefix cache needs to know.
    pub(super) fn name_text(&mut self, id: ReqId) {
        let request = &self.slots[id.0 as usize];
        let text = &mut self.texts[id.0 as usize];
        if text.last().is_some_and(|last| last.id == request.answer) {
            return;
        }
        if text.is_empty() {
            text.push(Segment {
                id: request.answer ^ OWN,
                tokens: request.input,
            });
        }
        text.push(Segment {
            id: request.answer,
            tokens: request.output,
        });
    }

    /// How many are alive.
    pub(super) fn alive(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

impl std::ops::Index<ReqId> for Arena {
    type Output = Request;
    fn index(&self, id: ReqId) -> &Request {
        &self.slots[id.0 as usize]
    }
}

impl std::ops::IndexMut<ReqId> for Arena {
    fn index_mut(&mut self, id: ReqId) -> &mut Request {
        &mut self.slots[id.0 as usize]
    }
}
