//! Recorded traces: CSV files with a time of arrival, prompt tokens and answer tokens per row.
//!
//! Columns are recognised from the header (ours, the Azure 2023 and BurstGPT releases) or named by
//! a [`ColumnMap`], which also picks a side where a file has two: client or server token counts,
//! arrival or send times. Files are strangers' files: read as a stream, bounded in size, rows and
//! values, and a wrong value is refused by line and column, never guessed at.

mod columns;
mod value;

pub use columns::{ColumnMap, TimeUnit};

use columns::Columns;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use thiserror::Error;
use value::{Moment, moment, tokens};

/// Largest trace file, bytes.
pub const MAX_TRACE_BYTES: u64 = 256 << 20;
/// Most rows of a trace.
pub const MAX_TRACE_ROWS: usize = 5_000_000;
/// Longest time a trace may span, ns: 31 years.
const MAX_SPAN_NS: i128 = 1_000_000_000_000_000_000;

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
    /// What was put right on reading, for the user to see.
    pub warnings: Vec<String>,
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
    #[error(
        "the trace {file} has more than {MAX_TRACE_ROWS} rows: cut it to the hours of interest"
    )]
    TooManyRows {
        /// The file.
        file: String,
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
pub fn read_trace(path: &Path, map: Option<&ColumnMap>) -> Result<Trace, TraceError> {
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
    let mut trace = read_trace_from(BufReader::with_capacity(1 << 16, file), &shown, map)?;
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
    map: Option<&ColumnMap>,
) -> Result<Trace, TraceError> {
    let mut csv = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(reader.take(MAX_TRACE_BYTES + 1));
    let mut record = csv::ByteRecord::new();
    if !advance(&mut csv, &mut record, name)? {
        return Err(TraceError::Empty {
            file: name.to_owned(),
        });
    }
    let columns = Columns::find(&fields_of_header(&record, name)?, map, name)?;
    let mut rows: Vec<(i128, u64, u64)> = Vec::new();
    let mut failed = 0_u64;
    let mut unsorted: Option<(u64, u64)> = None;
    while advance(&mut csv, &mut record, name)? {
        let line = record.position().map_or(0, csv::Position::line);
        let Some(row) = read_row(&record, line, &columns, name)? else {
            failed += 1;
            continue;
        };
        if rows.len() == MAX_TRACE_ROWS {
            return Err(TraceError::TooManyRows {
                file: name.to_owned(),
            });
        }
        if rows.last().is_some_and(|last| last.0 > row.0) {
            unsorted = Some(unsorted.map_or((1, line), |(count, first)| (count + 1, first)));
        }
        rows.push(row);
    }
    if csv.position().byte() > MAX_TRACE_BYTES {
        return Err(TraceError::TooLarge {
            file: name.to_owned(),
        });
    }
    let mut warnings = Vec::new();
    if let Some((count, line)) = unsorted {
        rows.sort_by_key(|row| row.0);
        warnings.push(format!(
            "{count} rows arrive before the row above them (the first on line {line}): sorted by arrival"
        ));
    }
    if failed > 0 {
        warnings.push(format!(
            "{failed} failed requests (no answer tokens) left out"
        ));
    }
    Ok(Trace {
        requests: rebase(&rows, name)?,
        name: name.to_owned(),
        warnings,
    })
}

/// Reads the next record; false at the end.
fn advance(
    csv: &mut csv::Reader<impl Read>,
    record: &mut csv::ByteRecord,
    name: &str,
) -> Result<bool, TraceError> {
    let more = csv
        .read_byte_record(record)
        .map_err(|error| TraceError::Read {
            file: name.to_owned(),
            why: error.to_string(),
        })?;
    if csv.position().byte() > MAX_TRACE_BYTES {
        return Err(TraceError::TooLarge {
            file: name.to_owned(),
        });
    }
    Ok(more)
}

/// The names in the header, without a byte order mark.
fn fields_of_header(record: &csv::ByteRecord, name: &str) -> Result<Vec<String>, TraceError> {
    let mut names = Vec::new();
    for field in record {
        let text = std::str::from_utf8(field).map_err(|_| TraceError::NotText {
            file: name.to_owned(),
            line: 1,
        })?;
        names.push(
            text.trim_start_matches('\u{feff}')
                .trim_matches('"')
                .to_owned(),
        );
    }
    if let [only] = names.as_slice() {
        let separator = match only {
            text if text.contains(';') => Some("semicolons"),
            text if text.contains('\t') => Some("tabs"),
            text if text.contains('|') => Some("vertical bars"),
            _ => None,
        };
        if let Some(separator) = separator {
            return Err(TraceError::Dialect {
                file: name.to_owned(),
                separator,
            });
        }
    }
    Ok(names)
}

/// One row as time in ns, prompt and answer tokens; none if it is a failed request to leave out.
fn read_row(
    record: &csv::ByteRecord,
    line: u64,
    columns: &Columns,
    name: &str,
) -> Result<Option<(i128, u64, u64)>, TraceError> {
    if record.len() != columns.count() {
        return Err(TraceError::RowLength {
            file: name.to_owned(),
            line,
            found: record.len(),
            expected: columns.count(),
        });
    }
    let text = |column: usize| {
        let bytes = record.get(column).unwrap_or_default();
        std::str::from_utf8(bytes).map_err(|_| TraceError::NotText {
            file: name.to_owned(),
            line,
        })
    };
    let wrong = |column: usize, why: String| TraceError::Value {
        file: name.to_owned(),
        line,
        column: column + 1,
        name: columns.name(column).to_owned(),
        why,
    };
    let Moment(at) =
        moment(text(columns.arrival)?, columns.unit).map_err(|why| wrong(columns.arrival, why))?;
    let input = tokens(text(columns.input)?, "prompt").map_err(|why| wrong(columns.input, why))?;
    let output =
        tokens(text(columns.output)?, "answer").map_err(|why| wrong(columns.output, why))?;
    if output == 0 && columns.drop_failed {
        return Ok(None);
    }
    for (column, count, advice) in [
        (columns.input, input, "remove the row"),
        (
            columns.output,
            output,
            "a failed request? Remove the row, or set drop_failed in the column map to leave such rows out",
        ),
    ] {
        if count == 0 {
            return Err(wrong(
                column,
                format!("a request has at least 1 token, not 0: {advice}"),
            ));
        }
    }
    Ok(Some((at, input, output)))
}

/// Counts time from the first arrival. Whole nanoseconds until here: the clock of a whole year
/// has no room for fractions of a microsecond in a float.
fn rebase(rows: &[(i128, u64, u64)], name: &str) -> Result<Vec<TraceRequest>, TraceError> {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return Err(TraceError::Empty {
            file: name.to_owned(),
        });
    };
    if last.0 - first.0 > MAX_SPAN_NS {
        return Err(TraceError::Read {
            file: name.to_owned(),
            why: "it spans more than 31 years: is the unit of its times another (arrival_unit of the column map)?".to_owned(),
        });
    }
    Ok(rows
        .iter()
        .map(|(at, input, output)| {
            #[expect(clippy::cast_precision_loss, reason = "below 2^60 ns, and µs suffice")]
            let arrival_s = (at - first.0) as f64 / 1e9;
            TraceRequest {
                arrival_s,
                input: *input,
                output: *output,
            }
        })
        .collect())
}

#[cfg(test)]
mod tests;
