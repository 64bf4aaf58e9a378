//! Rows as they are read, and how they become a [`Trace`]: sorted, ties spread, time from 0, who
//! follows whom.

use super::{Extras, Links, Spot, Ties, Trace, TraceError, TraceOptions, TraceRequest, Window};
use crate::workload::draw::{Segment, own_text};
use crate::workload::rng::{Stream, uniform};
use crate::workload::sessions::MAX_TURNS;
use std::collections::HashMap;

/// Most rows of a trace.
pub const MAX_TRACE_ROWS: usize = 5_000_000;
/// Most blocks of all prompts together.
pub const MAX_TRACE_BLOCKS: usize = 16_000_000;
/// Longest time a trace may span, ns: 31 years.
const MAX_SPAN_NS: i128 = 1_000_000_000_000_000_000;
/// No row, no session.
const NONE: u32 = u32::MAX;

/// Names of blocks or sessions as small numbers, in order of appearance. The maps are looked into,
/// never walked, so their order decides nothing.
#[derive(Debug, Default)]
struct Names {
    numbers: HashMap<u64, u32>,
    texts: HashMap<Box<str>, u32>,
}

impl Names {
    /// Number of a name; `7` and `"7"` are the same.
    fn of(&mut self, name: &str) -> u32 {
        match name.parse() {
            Ok(number) => self.of_number(number),
            Err(_) => {
                let next = self.next();
                match self.texts.get(name) {
                    Some(known) => *known,
                    None => *self.texts.entry(name.into()).or_insert(next),
                }
            }
        }
    }

    fn of_number(&mut self, number: u64) -> u32 {
        let next = self.next();
        *self.numbers.entry(number).or_insert(next)
    }

    /// Bounded by the rows and blocks a trace may have.
    fn next(&self) -> u32 {
        u32::try_from(self.numbers.len() + self.texts.len()).unwrap_or(NONE)
    }
}

/// One row.
#[derive(Debug, Clone, Copy)]
struct Row {
    at: i128,
    input: u64,
    output: u64,
    priority: i32,
    session: u32,
    text: Spot,
}

/// What one row says.
#[derive(Debug)]
pub(super) struct Said<'a> {
    pub(super) line: u64,
    pub(super) at: i128,
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) priority: i32,
    pub(super) session: Option<&'a str>,
}

/// All rows so far.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    file: &'a str,
    options: &'a TraceOptions,
    rows: Vec<Row>,
    /// Blocks of all prompts, and where those of the row being read begin.
    texts: Vec<Segment>,
    begun: usize,
    blocks: Names,
    sessions: Names,
    prioritised: bool,
    failed: u64,
    /// How many rows came before the one above them, and the first one's line.
    unsorted: Option<(u64, u64)>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(file: &'a str, options: &'a TraceOptions) -> Self {
        Self {
            file,
            options,
            rows: Vec::new(),
            texts: Vec::new(),
            begun: 0,
            blocks: Names::default(),
            sessions: Names::default(),
            prioritised: false,
            failed: 0,
            unsorted: None,
        }
    }

    /// A failed request, left out.
    pub(super) fn skip(&mut self) {
        self.failed += 1;
        self.texts.truncate(self.begun);
    }

    /// A block of the row being read, by its hash.
    pub(super) fn block(&mut self, hash: &str) -> Result<(), TraceError> {
        let id = self.blocks.of(hash);
        self.block_of(id)
    }

    /// The same where the hash is a number.
    pub(super) fn block_number(&mut self, hash: u64) -> Result<(), TraceError> {
        let id = self.blocks.of_number(hash);
        self.block_of(id)
    }

    fn block_of(&mut self, id: u32) -> Result<(), TraceError> {
        if self.texts.len() == MAX_TRACE_BLOCKS {
            return Err(TraceError::TooManyRows {
                file: self.file.to_owned(),
                most: MAX_TRACE_BLOCKS,
                what: "blocks",
            });
        }
        self.texts.push(Segment {
            id: u64::from(id),
            tokens: 0,
        });
        Ok(())
    }

    /// Forgets the blocks of the row being read.
    pub(super) fn no_blocks(&mut self) {
        self.texts.truncate(self.begun);
    }

    /// Ends a row. `whole`: only whole blocks may have been named, and what remains of the prompt
    /// is its own. The error is what is wrong with the blocks.
    pub(super) fn push(&mut self, said: &Said<'_>, whole: bool) -> Result<(), PushError> {
        if self.rows.len() == MAX_TRACE_ROWS {
            return Err(PushError::Trace(TraceError::TooManyRows {
                file: self.file.to_owned(),
                most: MAX_TRACE_ROWS,
                what: "rows",
            }));
        }
        let text = self
            .end_text(said.input, whole)
            .map_err(PushError::Blocks)?;
        if self.rows.last().is_some_and(|last| last.at > said.at) {
            let first = self.unsorted.map_or(said.line, |(_, first)| first);
            self.unsorted = Some((self.unsorted.map_or(1, |(count, _)| count + 1), first));
        }
        self.prioritised |= said.priority != 0;
        let session = said.session.map_or(NONE, |name| self.sessions.of(name));
        self.rows.push(Row {
            at: said.at,
            input: said.input,
            output: said.output,
            priority: said.priority,
            session,
            text,
        });
        Ok(())
    }

    /// Gives the blocks of the row their lengths: all are full but the last, which is the rest.
    fn end_text(&mut self, input: u64, whole: bool) -> Result<Spot, String> {
        let begun = self.begun;
        let named = self.texts.len() - begun;
        let block = self.options.block();
        let all = input.div_ceil(u64::from(block));
        let full = input / u64::from(block);
        if named > 0 && named as u64 != all && !(whole && named as u64 == full) {
            return Err(format!(
                "a prompt of {input} tokens is {all} blocks of {block}, not the {named} named here (is the block another length? Say so in the trace's options)"
            ));
        }
        let mut left = input;
        for segment in &mut self.texts[begun..] {
            let tokens = left.min(u64::from(block));
            left -= tokens;
            segment.tokens = u32::try_from(tokens).unwrap_or(block);
        }
        if named > 0 && left > 0 {
            self.texts.push(own_text(
                self.rows.len() as u64,
                u32::try_from(left).unwrap_or(block),
            ));
        }
        self.begun = self.texts.len();
        Ok(Spot {
            start: u32::try_from(begun).unwrap_or(NONE),
            count: u32::try_from(self.texts.len() - begun).unwrap_or(0),
        })
    }

    /// The trace.
    pub(super) fn finish(mut self) -> Result<Trace, TraceError> {
        let mut warnings = Vec::new();
        if let Some((count, line)) = self.unsorted {
            self.rows.sort_by_key(|row| row.at);
            warnings.push(format!(
                "{count} rows arrive before the row above them (the first on line {line}): sorted by arrival"
            ));
        }
        if self.failed > 0 {
            warnings.push(format!(
                "{} failed requests (no answer tokens) left out",
                self.failed
            ));
        }
        let (Some(first), Some(last)) = (self.rows.first(), self.rows.last()) else {
            return Err(TraceError::Empty {
                file: self.file.to_owned(),
            });
        };
        let start = first.at;
        if last.at - start > MAX_SPAN_NS {
            return Err(TraceError::Read {
                file: self.file.to_owned(),
                why: "it spans more than 31 years: is the unit of its times another (arrival_unit of the column map)?".to_owned(),
            });
        }
        for row in &mut self.rows {
            row.at -= start;
        }
        if let Some(window) = self.options.window {
            warnings.push(self.cut(window)?);
        }
        let moved = self.spread();
        if moved > 0 {
            warnings.push(match self.options.ties {
                Ties::Together => String::new(),
                Ties::Even => format!(
                    "{moved} requests recorded at the same time as another are spread evenly until the next time recorded"
                ),
                Ties::Random => format!(
                    "{moved} requests recorded at the same time as another are spread at random until the next time recorded"
                ),
            });
        }
        let links = self.links()?;
        let mut trace = Trace {
            requests: self.rows.iter().map(request).collect(),
            name: self.file.to_owned(),
            warnings,
            extras: Extras {
                priorities: column(self.prioritised, &self.rows, |row| row.priority),
                spots: column(!self.texts.is_empty(), &self.rows, |row| row.text),
                texts: self.texts,
                links,
                about: String::new(),
            },
        };
        trace.extras.about = trace.facts().to_string();
        Ok(trace)
    }

    /// Leaves only the rows inside a window, and counts time from its start.
    fn cut(&mut self, window: Window) -> Result<String, TraceError> {
        #[expect(clippy::cast_possible_truncation, reason = "float casts saturate")]
        let ns = |seconds: f64| (seconds * 1e9).round() as i128;
        let (from, to) = (ns(window.from.get()), ns(window.to.get()));
        let all = self.rows.len();
        self.rows.retain(|row| (from..to).contains(&row.at));
        if self.rows.is_empty() {
            return Err(TraceError::Read {
                file: self.file.to_owned(),
                why: format!(
                    "none of its {all} requests arrives from {} to {} after the first",
                    window.from, window.to
                ),
            });
        }
        let start = self.rows[0].at;
        for row in &mut self.rows {
            row.at -= start;
        }
        Ok(format!(
            "{} of {all} requests are replayed: those from {} to {}",
            self.rows.len(),
            window.from,
            window.to
        ))
    }

    /// Spreads rows of equal time until the next time there is (after the last: as long as before
    /// it). Returns how many were moved.
    fn spread(&mut self) -> u64 {
        let mut random = match self.options.ties {
            Ties::Together => return 0,
            Ties::Even => None,
            // A stream of the trace's own: whoever replays it replays the same.
            Ties::Random => Some(Stream::new(0, "trace ties", 0)),
        };
        let (mut moved, mut start, mut gap) = (0, 0, 0);
        while start < self.rows.len() {
            let at = self.rows[start].at;
            let count = self.rows[start..]
                .iter()
                .take_while(|row| row.at == at)
                .count();
            if let Some(next) = self.rows.get(start + count) {
                gap = next.at - at;
            }
            let group = &mut self.rows[start..start + count];
            let offsets = offsets(group.len(), gap, random.as_mut());
            for (row, offset) in group.iter_mut().zip(offsets) {
                moved += u64::from(offset > 0);
                row.at += offset;
            }
            start += count;
        }
        moved
    }

    /// Which row follows which in a session; nothing if no row names one.
    fn links(&self) -> Result<Links, TraceError> {
        if self.rows.iter().all(|row| row.session == NONE) {
            return Ok(Links::default());
        }
        let mut links = Links {
            next: vec![NONE; self.rows.len()],
            head: (0..u32::try_from(self.rows.len()).unwrap_or(NONE)).collect(),
        };
        let sessions = self.sessions.next() as usize;
        // Its latest row and how many it has.
        let mut latest = vec![(NONE, 0_u32); sessions];
        for (index, row) in self.rows.iter().enumerate() {
            let Some((last, turns)) = latest.get_mut(row.session as usize) else {
                continue;
            };
            let index = u32::try_from(index).unwrap_or(NONE);
            if let Some(next) = links.next.get_mut(*last as usize) {
                *next = index;
                links.head[index as usize] = links.head[*last as usize];
            }
            *last = index;
            *turns += 1;
            if *turns > MAX_TURNS {
                return Err(TraceError::Read {
                    file: self.file.to_owned(),
                    why: format!(
                        "a session has more than {MAX_TURNS} requests: does its column name sessions?"
                    ),
                });
            }
        }
        Ok(links)
    }
}

/// Why a row can't be one.
#[derive(Debug)]
pub(super) enum PushError {
    /// Its blocks.
    Blocks(String),
    /// The file as a whole.
    Trace(TraceError),
}

/// Where in a gap `count` rows go, in order.
fn offsets(count: usize, gap: i128, random: Option<&mut Stream>) -> Vec<i128> {
    let Some(stream) = random.filter(|_| count > 1) else {
        return (0..count as i128)
            .map(|index| gap * index / count as i128)
            .collect();
    };
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "below 2^60 ns, and µs suffice"
    )]
    let mut places: Vec<i128> = (0..count)
        .map(|_| (uniform(stream) * gap as f64) as i128)
        .collect();
    places.sort_unstable();
    places
}

/// Time as seconds only here: whole nanoseconds until then, for the clock of a whole year has no
/// room for fractions of a microsecond in a float.
fn request(row: &Row) -> TraceRequest {
    #[expect(clippy::cast_precision_loss, reason = "below 2^60 ns, and µs suffice")]
    let arrival_s = row.at as f64 / 1e9;
    TraceRequest {
        arrival_s,
        input: row.input,
        output: row.output,
    }
}

/// A value of every row, if any has it.
fn column<T>(any: bool, rows: &[Row], of: fn(&Row) -> T) -> Vec<T> {
    let rows = if any { rows } else { &[] };
    rows.iter().map(of).collect()
}
