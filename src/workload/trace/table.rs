//! Traces in CSV: a header, and a request a line.

use super::columns::Columns;
use super::rows::{PushError, Rows, Said};
use super::value::{Moment, moment, priority, tokens};
use super::{MAX_TRACE_BYTES, Trace, TraceError, TraceOptions};
use std::io::Read;

/// Reads a trace in CSV.
pub(super) fn read(
    reader: impl Read,
    name: &str,
    options: &TraceOptions,
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
    let header = fields_of_header(&record, name)?;
    let columns = Columns::find(&header, options.columns.as_ref(), name)?;
    let mut rows = Rows::new(name, options);
    while advance(&mut csv, &mut record, name)? {
        read_row(&record, &columns, options.drop_failed, name, &mut rows)?;
    }
    rows.finish()
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

/// Reads one row, and leaves it out if it is a failed request.
fn read_row(
    record: &csv::ByteRecord,
    columns: &Columns,
    drop_failed: bool,
    name: &str,
    rows: &mut Rows<'_>,
) -> Result<(), TraceError> {
    let line = record.position().map_or(0, csv::Position::line);
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
    if output == 0 && drop_failed {
        rows.skip();
        return Ok(());
    }
    for (column, count, advice) in [
        (columns.input, input, "remove the row"),
        (
            columns.output,
            output,
            "a failed request? Remove the row, or leave such rows out by drop_failed",
        ),
    ] {
        if count == 0 {
            return Err(wrong(
                column,
                format!("a request has at least 1 token, not 0: {advice}"),
            ));
        }
    }
    let priority = match columns.priority {
        None => 0,
        Some(column) => match text(column)? {
            "" => 0,
            value => priority(value).map_err(|why| wrong(column, why))?,
        },
    };
    let session = columns.session.map(text).transpose()?;
    if let Some(column) = columns.blocks {
        let hashes = text(column)?;
        for hash in hashes.split('|').map(str::trim) {
            if hash.is_empty() && hashes.is_empty() {
                break;
            }
            if hash.is_empty() {
                return Err(wrong(
                    column,
                    "an empty block hash: expected hashes with “|” between them".to_owned(),
                ));
            }
            rows.block(hash)?;
        }
    }
    let said = Said {
        line,
        at,
        input,
        output,
        priority,
        session: session.filter(|name| !name.is_empty()),
    };
    rows.push(&said, true).map_err(|error| match error {
        PushError::Blocks(why) => wrong(columns.blocks.unwrap_or(columns.input), why),
        PushError::Trace(error) => error,
    })
}
