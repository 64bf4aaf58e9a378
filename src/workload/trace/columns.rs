//! Which columns of a trace hold what.

use super::TraceError;
use serde::{Deserialize, Serialize};

/// Unit of a column of numeric times. Wall-clock times (`2023-11-16 18:17:03.97996`) need none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum TimeUnit {
    /// Seconds.
    #[default]
    Seconds,
    /// 10⁻³ s.
    Milliseconds,
    /// 10⁻⁶ s.
    Microseconds,
    /// 10⁻⁹ s.
    Nanoseconds,
}

impl TimeUnit {
    /// How many nanoseconds it has.
    #[must_use]
    pub const fn nanoseconds(self) -> u64 {
        match self {
            Self::Seconds => 1_000_000_000,
            Self::Milliseconds => 1_000_000,
            Self::Microseconds => 1000,
            Self::Nanoseconds => 1,
        }
    }
}

/// Columns of a trace by name. Where a file has client and server token counts, or arrival and
/// send times, the map says which are replayed (the server's count, the time of sending).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnMap {
    /// Time of arrival.
    pub arrival: String,
    /// Prompt tokens.
    pub input: String,
    /// Answer tokens.
    pub output: String,
    /// Unit of numeric times; none: seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival_unit: Option<TimeUnit>,
    /// Priority, the lowest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// Session: a request is not sent before the one before it in its session was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Hashes of the prompt's blocks, with “|” between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<String>,
}

impl ColumnMap {
    /// Times in seconds, nothing else read.
    #[must_use]
    pub fn new(arrival: &str, input: &str, output: &str) -> Self {
        Self {
            arrival: arrival.to_owned(),
            input: input.to_owned(),
            output: output.to_owned(),
            arrival_unit: None,
            priority: None,
            session: None,
            blocks: None,
        }
    }
}

/// Headers known without a map: arrival, prompt, answer.
const KNOWN: [[&str; 3]; 4] = [
    ["arrived_at", "num_prefill_tokens", "num_decode_tokens"],
    ["arrival_s", "input_tokens", "output_tokens"],
    // Azure LLM inference traces 2023, as published.
    ["TIMESTAMP", "ContextTokens", "GeneratedTokens"],
    // BurstGPT, as published.
    ["Timestamp", "Request tokens", "Response tokens"],
];

/// Further columns known without a map: priority, session, hashes of blocks.
const OPTIONAL: [&str; 3] = ["priority", "session_id", "block_hash_ids"];

/// The columns of one file.
pub(super) struct Columns {
    names: Vec<String>,
    pub(super) arrival: usize,
    pub(super) input: usize,
    pub(super) output: usize,
    pub(super) unit: TimeUnit,
    pub(super) priority: Option<usize>,
    pub(super) session: Option<usize>,
    pub(super) blocks: Option<usize>,
}

impl Columns {
    /// Finds the columns of a map, or of a known header, among the names of the header.
    pub(super) fn find(
        names: &[String],
        map: Option<&ColumnMap>,
        file: &str,
    ) -> Result<Self, TraceError> {
        let place = |wanted: &str| {
            names.iter().position(|name| name == wanted).or_else(|| {
                names
                    .iter()
                    .position(|name| name.eq_ignore_ascii_case(wanted))
            })
        };
        let missing = |what, expected| TraceError::NoColumn {
            file: file.to_owned(),
            what,
            found: shown(names),
            expected,
        };
        let Some(map) = map else {
            let known = KNOWN.iter().find_map(|[arrival, input, output]| {
                Some((place(arrival)?, place(input)?, place(output)?))
            });
            let (arrival, input, output) = known.ok_or_else(|| {
                let headers: Vec<String> = KNOWN.iter().map(|known| known.join(",")).collect();
                missing(
                    "arrival, prompt tokens and answer tokens that could be recognised",
                    format!("one of {}, or a column map", headers.join(" · ")),
                )
            })?;
            return Ok(Self {
                names: names.to_vec(),
                arrival,
                input,
                output,
                unit: TimeUnit::Seconds,
                priority: place(OPTIONAL[0]),
                session: place(OPTIONAL[1]),
                blocks: place(OPTIONAL[2]),
            });
        };
        let mapped = |what, wanted: &str| {
            place(wanted).ok_or_else(|| missing(what, format!("“{wanted}”, as the map says")))
        };
        let maybe = |what, wanted: &Option<String>| {
            wanted.as_ref().map(|name| mapped(what, name)).transpose()
        };
        Ok(Self {
            names: names.to_vec(),
            arrival: mapped("arrival", &map.arrival)?,
            input: mapped("prompt tokens", &map.input)?,
            output: mapped("answer tokens", &map.output)?,
            unit: map.arrival_unit.unwrap_or_default(),
            priority: maybe("priorities", &map.priority)?,
            session: maybe("sessions", &map.session)?,
            blocks: maybe("block hashes", &map.blocks)?,
        })
    }

    /// Columns in all.
    pub(super) fn count(&self) -> usize {
        self.names.len()
    }

    /// Name of a column.
    pub(super) fn name(&self, column: usize) -> &str {
        self.names.get(column).map_or("", String::as_str)
    }
}

/// The header, cut to what a message holds.
fn shown(names: &[String]) -> String {
    let cut = |name: &String| format!("“{}”", name.chars().take(40).collect::<String>());
    let mut text: Vec<String> = names.iter().take(12).map(cut).collect();
    if names.len() > 12 {
        text.push(format!("and {} more", names.len() - 12));
    }
    text.join(", ")
}
