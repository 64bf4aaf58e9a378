//! A trace replayed: row by row, a session's rows one after the other.
//!
//! The first row of a session comes at its recorded time. A later one comes at its own, or when the
//! row before it has been answered if that is later. Without block hashes a later prompt is taken
//! to begin with the earlier one and its answer, if it is long enough for that; otherwise it is a
//! new text.

use super::{ANSWER, Classes, Drawn, QUESTION, Segment, Turn, nanoseconds};
use crate::workload::trace::Trace;
use std::sync::Arc;

/// The rows of a trace, in order.
#[derive(Debug, Clone)]
pub(super) struct Replay {
    trace: Arc<Trace>,
    speed: f64,
    classes: Classes,
    row: usize,
    rows: usize,
    starts: u64,
}

impl Replay {
    /// The first `most` rows.
    pub(super) fn new(trace: Arc<Trace>, speed: f64, most: u64, classes: Classes) -> Self {
        let all = trace.requests.len();
        let rows = usize::try_from(most).map_or(all, |most| most.min(all));
        let heads = trace.extras.links.head.iter().take(rows).enumerate();
        let later = heads.filter(|(row, head)| **head as usize != *row).count();
        Self {
            trace,
            speed,
            classes,
            row: 0,
            rows,
            starts: (rows - later) as u64,
        }
    }

    pub(super) const fn requests(&self) -> u64 {
        self.rows as u64
    }

    pub(super) const fn starts(&self) -> u64 {
        self.starts
    }

    pub(super) fn longest(&self) -> u64 {
        let rows = self.trace.requests.iter().take(self.rows);
        rows.map(|row| row.input + row.output).max().unwrap_or(0)
    }

    /// The next row that follows no other.
    pub(super) fn begin(&mut self, text: &mut Vec<Segment>) -> Option<Drawn> {
        let head = |row: usize| {
            self.trace
                .extras
                .links
                .head
                .get(row)
                .map_or(row, |h| *h as usize)
        };
        while self.row < self.rows && head(self.row) != self.row {
            self.row += 1;
        }
        if self.row == self.rows {
            return None;
        }
        let row = self.row;
        self.row += 1;
        self.send(row, 0, text)
    }

    /// See [`super::Source::follow`].
    pub(super) fn follow(&self, turn: Turn, now: u64, text: &mut Vec<Segment>) -> Option<Drawn> {
        let row = self.next(turn.session as usize)?;
        self.send(row, now, text)
    }

    /// The row after this one in its session.
    fn next(&self, row: usize) -> Option<usize> {
        let next = *self.trace.extras.links.next.get(row)? as usize;
        (next < self.rows).then_some(next)
    }

    fn send(&self, row: usize, earliest: u64, text: &mut Vec<Segment>) -> Option<Drawn> {
        let request = self.trace.requests.get(row)?;
        let in_session = !self.trace.extras.links.next.is_empty();
        let hashed = self.trace.text(row);
        if hashed.is_empty() && in_session {
            self.grow(row, text);
        } else {
            text.extend_from_slice(hashed);
        }
        Some(Drawn {
            arrival_ns: Some(nanoseconds(request.arrival_s / self.speed).max(earliest)),
            input: request.input,
            output: request.output,
            priority: match self.trace.extras.priorities.get(row) {
                Some(priority) => *priority,
                None => self.classes.of(row as u64),
            },
            answer: ANSWER | row as u64,
            turn: in_session.then(|| Turn {
                session: u32::try_from(row).unwrap_or(u32::MAX),
                hidden: false,
            }),
        })
    }

    /// The text of a row as far as its session says it.
    fn grow(&self, row: usize, text: &mut Vec<Segment>) {
        let short = |tokens: u64| u32::try_from(tokens).unwrap_or(u32::MAX);
        let mut at = self
            .trace
            .extras
            .links
            .head
            .get(row)
            .map_or(row, |h| *h as usize);
        let mut tokens = 0;
        while let Some(request) = self.trace.requests.get(at) {
            if tokens > request.input {
                text.clear();
                tokens = 0;
            }
            if request.input > tokens {
                text.push(Segment {
                    id: QUESTION | at as u64,
                    tokens: short(request.input - tokens),
                });
                tokens = request.input;
            }
            if at == row {
                return;
            }
            text.push(Segment {
                id: ANSWER | at as u64,
                tokens: short(request.output),
            });
            tokens += request.output;
            let Some(next) = self.next(at) else { return };
            at = next;
        }
    }
}

#[cfg(test)]
mod tests;
