//! Conversations under way: their text so far and what comes next.
//!
//! Every number is drawn from a stream named by the conversation, the turn and the round, so a turn
//! is the same whenever it comes and whatever else does.

use super::{ANSWER, Classes, Drawn, LATEST_NS, QUESTION, SYSTEM, Segment, TOOL, Turn};
use super::{count, length, wait};
use crate::workload::rng::Stream;
use crate::workload::sessions::{Count, Hidden, Sessions};
use crate::workload::spec::{Length, Workload};

/// Bits of a turn and of a round in the name of a text: `MAX_TURNS` of each.
const BITS: u32 = 13;

/// One conversation.
#[derive(Debug, Clone, Default)]
struct Talk {
    index: u64,
    priority: i32,
    /// The present turn, from 0, and how many there are.
    turn: u32,
    turns: u32,
    /// The present round of it, from 0, and how many are hidden.
    round: u32,
    hidden: u32,
    /// Answer tokens of the present round.
    output: u32,
    /// The present prompt.
    text: Vec<Segment>,
    tokens: u64,
    /// Of it, what the turn began with: segments and tokens.
    base: (usize, u64),
}

/// All conversations of a run.
#[derive(Debug, Clone)]
pub(super) struct Talks {
    seed: u64,
    input: Length,
    output: Length,
    sessions: Sessions,
    hidden: Option<Hidden>,
    classes: Classes,
    slots: Vec<Talk>,
    free: Vec<u32>,
    longest: u64,
    starts: u64,
    /// Turns that conversations still to begin may have.
    left: u64,
}

impl Talks {
    /// Conversations of `requests` turns together.
    pub(super) fn new(workload: &Workload, requests: u64, classes: Classes) -> Self {
        let sessions = workload.sessions.unwrap_or(Sessions::SINGLE);
        let mut talks = Self {
            seed: workload.seed,
            input: workload.input,
            output: workload.output,
            sessions,
            hidden: workload.hidden,
            classes,
            slots: Vec::new(),
            free: Vec::new(),
            longest: workload.longest_context(),
            starts: 0,
            left: requests,
        };
        talks.starts = match sessions.turns {
            Count::Fixed(turns) => requests.div_ceil(u64::from(turns.max(1))),
            Count::Uniform { .. } | Count::Geometric { .. } => {
                let (mut starts, mut left) = (0, requests);
                while left > 0 {
                    left -= u64::from(talks.turns(starts)).min(left);
                    starts += 1;
                }
                starts
            }
        };
        talks
    }

    pub(super) const fn starts(&self) -> u64 {
        self.starts
    }

    /// Longest prompt and answer together.
    pub(super) const fn longest(&self) -> u64 {
        self.longest
    }

    /// Turns of a conversation; the last one's are cut to fit.
    fn turns(&self, index: u64) -> u32 {
        let mut stream = Stream::new(self.seed, "turns", index);
        count(self.sessions.turns, 1, &mut stream).max(1)
    }

    /// Begins conversation `index`.
    pub(super) fn begin(
        &mut self,
        index: u64,
        arrival_ns: Option<u64>,
        text: &mut Vec<Segment>,
    ) -> Drawn {
        let turns = u64::from(self.turns(index)).min(self.left.max(1));
        self.left = self.left.saturating_sub(turns);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Talk::default());
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        let priority = self.classes.of(index);
        let talk = &mut self.slots[slot as usize];
        let mut kept = std::mem::take(&mut talk.text);
        kept.clear();
        *talk = Talk {
            index,
            priority,
            turns: u32::try_from(turns).unwrap_or(1),
            text: kept,
            ..Talk::default()
        };
        if let Some(system) = self.sessions.system {
            let mut stream = Stream::new(self.seed, "system prompts", index);
            let which = stream.below(u64::from(system.distinct));
            talk.say(SYSTEM | which, system.tokens.get());
        }
        self.ask(slot);
        self.send(slot, arrival_ns, text)
    }

    /// Adds the new tokens of a turn.
    fn ask(&mut self, slot: u32) {
        let talk = &mut self.slots[slot as usize];
        talk.round = 0;
        let entity = talk.entity();
        let stream = |purpose| Stream::new(self.seed, purpose, entity);
        let new = length(self.input, &mut stream("new tokens of a turn"));
        talk.say(QUESTION | entity, new);
        talk.base = (talk.text.len(), talk.tokens);
        talk.hidden = self
            .hidden
            .map_or(0, |h| count(h.rounds, 0, &mut stream("hidden rounds")));
    }

    /// The present round as a request.
    fn send(&mut self, slot: u32, arrival_ns: Option<u64>, text: &mut Vec<Segment>) -> Drawn {
        let talk = &mut self.slots[slot as usize];
        let is_hidden = talk.round < talk.hidden;
        let (answers, purpose) = match self.hidden {
            Some(hidden) if is_hidden => (hidden.tokens, "hidden answers"),
            _ => (self.output, "answers of a turn"),
        };
        let entity = talk.entity();
        let output = length(answers, &mut Stream::new(self.seed, purpose, entity));
        talk.output = u32::try_from(output).unwrap_or(u32::MAX);
        text.extend_from_slice(&talk.text);
        Drawn {
            arrival_ns,
            input: talk.tokens,
            output,
            priority: talk.priority,
            answer: ANSWER | entity,
            turn: Some(Turn {
                session: slot,
                hidden: is_hidden,
            }),
        }
    }

    /// See [`super::Source::follow`].
    pub(super) fn follow(
        &mut self,
        turn: Turn,
        now: u64,
        text: &mut Vec<Segment>,
    ) -> Option<Drawn> {
        let talk = self.slots.get_mut(turn.session as usize)?;
        let entity = talk.entity();
        let answer = (ANSWER | entity, u64::from(talk.output));
        let waited = match self.hidden {
            Some(hidden) if turn.hidden => {
                talk.say(answer.0, answer.1);
                if let Some(tool) = hidden.tool {
                    let mut stream = Stream::new(self.seed, "tool results", entity);
                    talk.say(TOOL | entity, length(tool, &mut stream));
                }
                talk.round += 1;
                wait(
                    hidden.wait,
                    &mut Stream::new(self.seed, "tool waits", entity),
                )
            }
            hidden => {
                talk.turn += 1;
                if talk.turn == talk.turns {
                    self.free.push(turn.session);
                    return None;
                }
                if hidden.is_some_and(|hidden| !hidden.kept) {
                    talk.text.truncate(talk.base.0);
                    talk.tokens = talk.base.1;
                }
                talk.say(answer.0, answer.1);
                self.ask(turn.session);
                wait(
                    self.sessions.think,
                    &mut Stream::new(self.seed, "think times", entity),
                )
            }
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a power of two in range"
        )]
        let latest = LATEST_NS as u64;
        let at = now.saturating_add(waited).min(latest);
        Some(self.send(turn.session, Some(at), text))
    }

    /// Ends a conversation.
    pub(super) fn give_up(&mut self, turn: Turn) {
        self.free.push(turn.session);
    }
}

impl Talk {
    /// Which conversation, turn and round: fits 60 bits with `MAX_REQUESTS` conversations.
    const fn entity(&self) -> u64 {
        (self.index << (2 * BITS)) | ((self.turn as u64) << BITS) | self.round as u64
    }

    fn say(&mut self, id: u64, tokens: u64) {
        self.text.push(Segment {
            id,
            tokens: u32::try_from(tokens).unwrap_or(u32::MAX),
        });
        self.tokens += tokens;
    }
}

#[cfg(test)]
mod tests;
