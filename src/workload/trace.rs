//! Recorded traces: CSV files with a request a line, or JSON lines after Mooncake.
//!
//! Columns are recognised from the header (ours, the Azure 2023 and BurstGPT releases) or named by
//! a [`ColumnMap`], which also picks a side where a file has two: client or server token counts,
//! arrival or send times. Priorities, sessions and the hashes of prompt blocks are read where there
//! are any. Files are strangers' files: read as a stream, bounded in size, rows, blocks and values,
//! and a wrong value is refused by line and column, never guessed at.

mod columns;
mod facts;
mod lines;
mod rows;
mod table;
mod value;

pub use columns::{ColumnMap, TimeUnit};
pub use facts::TraceFacts;
pub use rows::{MAX_TRACE_BLOCKS, MAX_TRACE_ROWS};

use super::draw::Segment;
use crate::units::Seconds;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use thiserror::Error;

/// Largest trace file, bytes.
pub const MAX_TRACE_BYTES: u64 = 256 << 20;
/// Prompt tokens of a block where a trace does not say: Mooncake's.
pub const TRACE_BLOCK: u32 = 512;

/// One recorded request.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TraceRequest {
    /// Seconds from the first arrival of the trace.
    pub arrival_s: f64,
    /// Prompt tokens.
    pub input: u64,
    /// Answer tokens.
    pub output: u64,
}

/// A trace in memory, sorted by arrival.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    /// Its requests; rows of equal time stay in the file's order.
    pub requests: Vec<TraceRequest>,
    /// Its name for people: the file's.
    pub name: String,
    /// What was put right or changed on reading, for the user to see.
    pub warnings: Vec<String>,
    /// What else it says.
    pub extras: Extras,
}

/// What some traces say of their requests.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Extras {
    /// Priorities, row by row; empty if no row says one.
    pub(super) priorities: Vec<i32>,
    /// What prompts are made of, row by row; empty if no row says it.
    spots: Vec<Spot>,
    texts: Vec<Segment>,
    /// Who follows whom.
    pub(super) links: Links,
    /// The facts, in words.
    about: String,
}

/// Where a row's text is in the list of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Spot {
    start: u32,
    count: u32,
}

/// Rows of sessions; empty if no row names one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Links {
    /// The row after each in its session; `u32::MAX`: none.
    pub(super) next: Vec<u32>,
    /// The first row of its session.
    pub(super) head: Vec<u32>,
}

impl Trace {
    /// What it is like, in words: requests, pace, blocks met again.
    #[must_use]
    pub fn about(&self) -> &str {
        &self.extras.about
    }

    /// What a row's prompt is made of, as far as the trace says it.
    pub(super) fn text(&self, row: usize) -> &[Segment] {
        let spot = self.extras.spots.get(row).copied().unwrap_or_default();
        let start = spot.start as usize;
        let end = start + spot.count as usize;
        self.extras.texts.get(start..end).unwrap_or_default()
    }
}

/// What becomes of requests recorded at the same time: clocks of traces tick coarsely (Mooncake's
/// every three seconds), and a burst that never was is no load to measure under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Ties {
    /// They arrive together, in the file's order.
    #[default]
    Together,
    /// In equal steps until the next time recorded.
    Even,
    /// At random times until then, the same ones whenever the trace is read.
    Random,
}

/// A part of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// From, after the first arrival.
    pub from: Seconds,
    /// To, itself excluded.
    pub to: Seconds,
}

/// How a trace is read.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceOptions {
    /// Which columns; none: recognised from the header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<ColumnMap>,
    /// Leave out rows without answer tokens (requests that failed) instead of refusing them.
    #[serde(default)]
    pub drop_failed: bool,
    /// Requests of equal time.
    #[serde(default)]
    pub ties: Ties,
    /// Prompt tokens of a hashed block; none: [`TRACE_BLOCK`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_tokens: Option<u32>,
    /// Replay this part only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
}

impl TraceOptions {
    /// Prompt tokens of a block.
    pub(super) fn block(&self) -> u32 {
        self.block_tokens.unwrap_or(TRACE_BLOCK).max(1)
    }
}

/// Why a file is not a trace.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TraceError {
    /// The file can't be read.
    #[error("can't read the trace {file}: {why}")]
    Read {
        /// The file.
        file: String,
        /// What the system says.
        why: String,
    },
    /// The file is too large.
    #[error("the trace {file} is larger than {} MiB: cut it to the hours of interest", MAX_TRACE_BYTES >> 20)]
    TooLarge {
        /// The file.
        file: String,
    },
    /// Too many rows.
    #[error("the trace {file} has more than {most} {what}: cut it to the hours of interest")]
    TooManyRows {
        /// The file.
        file: String,
        /// How many there may be.
        most: usize,
        /// Rows or blocks.
        what: &'static str,
    },
    /// A header but no requests, or nothing at all.
    #[error("the trace {file} has no requests: expected a header line and a line per request")]
    Empty {
        /// The file.
        file: String,
    },
    /// Columns are separated by something else than commas.
    #[error(
        "the trace {file} separates its columns by {separator}: save it with commas between columns and decimal points in numbers"
    )]
    Dialect {
        /// The file.
        file: String,
        /// What separates the columns.
        separator: &'static str,
    },
    /// The header lacks a column.
    #[error(
        "the trace {file} has no column for {what}; its columns are {found}. Expected {expected}"
    )]
    NoColumn {
        /// The file.
        file: String,
        /// What the column should hold.
        what: &'static str,
        /// The columns there are.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// A row is longer or shorter than the header.
    #[error(
        "{file}, line {line}: {found} values in a row, the header has {expected} (a decimal comma or a thousands separator splits a value: write 1234.5)"
    )]
    RowLength {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// Values in the row.
        found: usize,
        /// Columns of the header.
        expected: usize,
    },
    /// A value is not what it should be.
    #[error("{file}, line {line}, column {column} ({name}): {why}")]
    Value {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// The column, from 1.
        column: usize,
        /// The column's name.
        name: String,
        /// What is wrong and what would be right.
        why: String,
    },
    /// A line is not what it should be.
    #[error("{file}, line {line}: {why}")]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// What is wrong and what would be right.
        why: String,
    },
    /// Not text.
    #[error("{file}, line {line}: not UTF-8 text: save the trace as a CSV file in UTF-8")]
    NotText {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
    },
}

/// Reads a trace file.
///
/// # Errors
/// The file can't be read, is too large (told from its size, before reading), or is no trace.
pub fn read_trace(path: &Path, options: &TraceOptions) -> Result<Trace, TraceError> {
    let shown = path.display().to_string();
    let unreadable = |error: std::io::Error| TraceError::Read {
        file: shown.clone(),
        why: error.to_string(),
    };
    // Looked at before opening: opening a pipe would wait for its writer.
    let facts = std::fs::metadata(path).map_err(unreadable)?;
    if !facts.is_file() {
        return Err(TraceError::Read {
            file: shown,
            why: "it is not a file".to_owned(),
        });
    }
    if facts.len() > MAX_TRACE_BYTES {
        return Err(TraceError::TooLarge { file: shown });
    }
    let file = File::open(path).map_err(unreadable)?;
    let mut trace = read_trace_from(file, &shown, options)?;
    if let Some(name) = path.file_name() {
        trace.name = name.to_string_lossy().into_owned();
    }
    Ok(trace)
}

/// Reads a trace from anywhere; `name` is what messages call it.
///
/// # Errors
/// The text can't be read, is too large, or is no trace.
pub fn read_trace_from(
    reader: impl Read,
    name: &str,
    options: &TraceOptions,
) -> Result<Trace, TraceError> {
    let mut reader = BufReader::with_capacity(1 << 16, reader);
    let first = reader.fill_buf().map_err(|error| TraceError::Read {
        file: name.to_owned(),
        why: error.to_string(),
    })?;
    let first = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first);
    // No column is called “{”.
    if first.trim_ascii_start().starts_with(b"{") {
        lines::read(reader, name, options)
    } else {
        table::read(reader, name, options)
    }
}

#[cfg(test)]
mod tests;
