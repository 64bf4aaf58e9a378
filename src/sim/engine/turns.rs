//! What follows an answer: the next turn of a conversation, the next round of a request.
//!
//! To the client the rounds of one request are one request: it was sent when its first round was,
//! its first token is the first one of the last round, and it ends with that round. A conversation
//! whose turn is refused ends there.

use super::Engine;
use crate::sim::metrics::Record;
use crate::sim::queue::{Event, Nanos};
use crate::sim::request::ReqId;

/// What is known of a client's request besides its present round.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    /// When its first round was sent.
    sent: Nanos,
    /// Prompt tokens of its earlier rounds.
    prompts: u64,
    /// How many there were.
    rounds: u32,
}

/// Earlier rounds by conversation.
#[derive(Debug, Default)]
pub(super) struct Rounds(Vec<Before>);

impl Rounds {
    fn of(&self, session: u32) -> Before {
        self.0.get(session as usize).copied().unwrap_or_default()
    }

    fn note(&mut self, session: u32, before: Before) {
        let index = session as usize;
        if index >= self.0.len() {
            if before.rounds == 0 {
                return;
            }
            self.0.resize(index + 1, Before::default());
        }
        self.0[index] = before;
    }
}

impl Engine<'_> {
    /// Whether it is a later round of a request that was sent before.
    pub(super) fn is_later_round(&self, id: ReqId) -> bool {
        self.requests[id]
            .turn
            .is_some_and(|turn| self.rounds.of(turn.session).rounds > 0)
    }

    /// Whether nobody reads its answer.
    pub(super) fn is_hidden(&self, id: ReqId) -> bool {
        self.requests[id].turn.is_some_and(|turn| turn.hidden)
    }

    /// Notes a request, or a round of one, that has got its last token. Its slot is free after.
    pub(super) fn answered(&mut self, id: ReqId) {
        let request = self.requests[id];
        self.requests.remove(id);
        let before = request.turn.map_or(Before::default(), |turn| {
            let before = self.rounds.of(turn.session);
            let after = if turn.hidden {
                Before {
                    sent: if before.rounds == 0 {
                        request.arrival
                    } else {
                        before.sent
                    },
                    prompts: before.prompts + u64::from(request.input),
                    rounds: before.rounds + 1,
                }
            } else {
                Before::default()
            };
            self.rounds.note(turn.session, after);
            before
        });
        if request.turn.is_some_and(|turn| turn.hidden) {
            self.metrics.hidden_round(request.output);
        } else {
            let first = request.first_token.unwrap_or(self.told);
            let sent = if before.rounds == 0 {
                request.arrival
            } else {
                before.sent
            };
            let prompts = before.prompts + u64::from(request.input);
            self.metrics.counts.completed += 1;
            self.metrics.records.push(Record {
                arrival: sent,
                ttft: first - sent,
                e2e: self.told.max(first) - sent,
                hidden: request.arrival - sent,
                input: u32::try_from(prompts).unwrap_or(u32::MAX),
                output: request.output,
            });
        }
        let mut text = std::mem::take(&mut self.text);
        let next = request
            .turn
            .and_then(|turn| self.source.follow(turn, self.told, &mut text));
        if let Some(drawn) = next {
            let at = drawn.arrival_ns.unwrap_or(self.told).max(self.told);
            let id = self.requests.add(at, &drawn, &mut text);
            self.queue.push(at, Event::Turn { slot: id.0 });
        }
        self.text = text;
        if next.is_none() && self.closed {
            if self.told > self.now {
                self.queue.push(self.told, Event::Told);
            } else {
                self.send_next();
            }
        }
    }

    /// A turn or round is sent that follows another.
    pub(super) fn send_turn(&mut self, id: ReqId) {
        if !self.admit(id, false) && self.closed {
            self.send_next();
        }
    }

    /// A request can't be served: it and its conversation end here. `delivered`: it got a first
    /// token that someone read.
    pub(super) fn lose(&mut self, id: ReqId, delivered: bool) {
        if delivered {
            self.metrics.counts.failed += 1;
        } else {
            self.metrics.refused();
        }
        if let Some(turn) = self.requests[id].turn {
            self.rounds.note(turn.session, Before::default());
            self.source.give_up(turn);
        }
        self.requests.remove(id);
    }
}
