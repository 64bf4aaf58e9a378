//! Comma-separated tables, plain or in gzip, read line by line with named columns.

use super::TablesError;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Most bytes read of one file, unpacked.
const MOST_BYTES: u64 = 2 << 30;
/// Most rows read of one file.
pub(super) const MOST_ROWS: u64 = 10_000_000;

/// Columns that go by another name elsewhere.
const ALIASES: [(&str, &str); 4] = [
    ("latency_ms", "latency"),
    ("backend_version", "version"),
    ("kernel_source", "kernel"),
    ("engine", "framework"),
];

/// Header and current line of a file.
pub(super) struct Line<'a> {
    header: &'a csv::StringRecord,
    record: &'a csv::StringRecord,
}

impl Line<'_> {
    /// A column's text, by its name or another it goes by; missing and empty columns are empty.
    pub(super) fn text(&self, column: &str) -> &str {
        let find = |wanted: &str| self.header.iter().position(|name| name == wanted);
        find(column)
            .or_else(|| {
                let (_, other) = ALIASES.iter().find(|(own, _)| *own == column)?;
                find(other)
            })
            .and_then(|index| self.record.get(index))
            .unwrap_or("")
    }

    /// Whether there is such a column.
    pub(super) fn has(&self, column: &str) -> bool {
        self.header.iter().any(|name| name == column)
    }

    /// A column's number, not negative.
    pub(super) fn number(&self, column: &str) -> Result<f64, String> {
        let text = self.text(column);
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() && (0.0..=1e18).contains(&value) => Ok(value),
            _ if text.is_empty() => Err(format!("{column} is missing")),
            _ => Err(format!("{column} is not a number of a plausible size")),
        }
    }

    /// A column's number, above zero.
    pub(super) fn positive(&self, column: &str) -> Result<f64, String> {
        let value = self.number(column)?;
        if value > 0.0 {
            Ok(value)
        } else {
            Err(format!("{column} is zero"))
        }
    }

    /// A column's number, or what it is where the column is missing or empty.
    pub(super) fn number_or(&self, column: &str, other: f64) -> Result<f64, String> {
        if self.text(column).is_empty() {
            Ok(other)
        } else {
            self.number(column)
        }
    }

    /// A latency in milliseconds as seconds, above zero; `latency_us` or `seconds` where the table
    /// has those instead.
    pub(super) fn milliseconds(&self, column: &str) -> Result<f64, String> {
        if self.text(column).is_empty() {
            for (other, unit) in [("latency_us", 1e-6), ("seconds", 1.0)] {
                if self.has(other) {
                    return Ok(self.positive(other)? * unit);
                }
            }
        }
        Ok(self.positive(column)? * 1e-3)
    }
}

type Reader = csv::Reader<std::io::Take<Box<dyn Read>>>;

fn open(path: &Path) -> Result<(Reader, csv::StringRecord), TablesError> {
    let unreadable = |why: String| TablesError::Unreadable {
        place: path.display().to_string(),
        why,
    };
    let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
    let packed = path.extension().is_some_and(|ending| ending == "gz");
    let stream: Box<dyn Read> = if packed {
        Box::new(MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(stream.take(MOST_BYTES));
    let header = reader
        .headers()
        .map_err(|error| unreadable(error.to_string()))?
        .clone();
    Ok((reader, header))
}

/// The column names of a file.
pub(super) fn header(path: &Path) -> Result<csv::StringRecord, TablesError> {
    Ok(open(path)?.1)
}

/// Calls `each` with every line of a file and its number.
pub(super) fn lines(path: &Path, mut each: impl FnMut(&Line<'_>, u64)) -> Result<(), TablesError> {
    let (mut reader, header) = open(path)?;
    let unreadable = |why: String| TablesError::Unreadable {
        place: path.display().to_string(),
        why,
    };
    let mut record = csv::StringRecord::new();
    let mut line = 1;
    loop {
        match reader.read_record(&mut record) {
            Ok(false) => return Ok(()),
            Ok(true) => line += 1,
            Err(error) => return Err(unreadable(error.to_string())),
        }
        if line > MOST_ROWS {
            return Err(unreadable(format!("more than {MOST_ROWS} rows")));
        }
        let line_of = Line {
            header: &header,
            record: &record,
        };
        each(&line_of, line);
    }
}
