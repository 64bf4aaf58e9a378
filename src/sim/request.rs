//! A request's life, and the arena they live in.

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
    /// Whether it decodes (it prefills otherwise).
    pub(super) decoding: bool,
    /// When its first token was delivered.
    pub(super) first_token: Option<Nanos>,
    /// When its latest token was delivered, as far as noted (decoding ones share their cohort's).
    pub(super) last_token: Nanos,
    /// Where it is served: replica and lane, and where its prefill blocks are held in a transfer.
    pub(super) home: (u32, u32),
    /// The lowest is served first, where an engine looks at it.
    #[expect(dead_code, reason = "schedulers by priority look at it")]
    pub(super) priority: i32,
    /// Which text it answers with.
    #[expect(dead_code, reason = "prefix caches look at it")]
    pub(super) answer: u64,
    /// The conversation it is a turn of.
    #[expect(dead_code, reason = "its next turn follows it")]
    pub(super) turn: Option<Turn>,
    /// Neighbours in its cohort's running list.
    pub(super) before: u32,
    pub(super) after: u32,
}

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
    #[expect(dead_code, reason = "prefix caches look at it")]
    pub(super) fn text(&self, id: ReqId) -> &[Segment] {
        &self.texts[id.0 as usize]
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
