//! Traces of one JSON object a line, after Mooncake's
//! (github.com/kvcache-ai/Mooncake, FAST'25 release):
//! `{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}`, times in
//! milliseconds, a hash for every block of 512 prompt tokens, the last one cut short. Equal hashes
//! are equal blocks after equal beginnings. `priority` and `session_id` are read where they are.

use super::columns::{ColumnMap, TimeUnit};
use super::rows::{PushError, Rows, Said};
use super::value::{Moment, moment, tokens};
use super::{MAX_TRACE_BYTES, Trace, TraceError, TraceOptions};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt::{self, Write as _};
use std::io::{BufRead, Read};

/// Longest line: the blocks of the longest prompt, and room.
const MAX_LINE: u64 = 4 << 20;
/// Longest text of a value.
const MAX_VALUE: usize = 1024;

/// The keys of a row.
struct Keys<'a> {
    arrival: &'a str,
    input: &'a str,
    output: &'a str,
    priority: &'a str,
    session: &'a str,
    blocks: &'a str,
    unit: TimeUnit,
}

impl<'a> Keys<'a> {
    fn of(map: Option<&'a ColumnMap>) -> Self {
        let or = |name: Option<&'a String>, known| name.map_or(known, String::as_str);
        Keys {
            arrival: or(map.map(|m| &m.arrival), "timestamp"),
            input: or(map.map(|m| &m.input), "input_length"),
            output: or(map.map(|m| &m.output), "output_length"),
            priority: or(map.and_then(|m| m.priority.as_ref()), "priority"),
            session: or(map.and_then(|m| m.session.as_ref()), "session_id"),
            blocks: or(map.and_then(|m| m.blocks.as_ref()), "hash_ids"),
            unit: map.map_or(TimeUnit::Milliseconds, |m| {
                m.arrival_unit.unwrap_or_default()
            }),
        }
    }
}

/// Values of the row being read, as text; none where the line does not have them.
#[derive(Default)]
struct Values {
    arrival: Option<String>,
    input: Option<String>,
    output: Option<String>,
    priority: Option<String>,
    session: Option<String>,
}

/// Reads a trace of JSON lines.
pub(super) fn read(
    mut reader: impl BufRead,
    file: &str,
    options: &TraceOptions,
) -> Result<Trace, TraceError> {
    let keys = Keys::of(options.columns.as_ref());
    let mut rows = Rows::new(file, options);
    let mut text = Vec::new();
    let (mut line, mut bytes) = (0, 0);
    loop {
        text.clear();
        line += 1;
        let read = (&mut reader)
            .take(MAX_LINE + 1)
            .read_until(b'\n', &mut text)
            .map_err(|error| TraceError::Read {
                file: file.to_owned(),
                why: error.to_string(),
            })?;
        bytes += read as u64;
        if bytes > MAX_TRACE_BYTES {
            return Err(TraceError::TooLarge {
                file: file.to_owned(),
            });
        }
        if read == 0 {
            return rows.finish();
        }
        let wrong = |why: String| TraceError::Line {
            file: file.to_owned(),
            line,
            why,
        };
        if read as u64 > MAX_LINE {
            return Err(wrong(format!("longer than {} MiB", MAX_LINE >> 20)));
        }
        let row = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
        if row.trim_ascii().is_empty() {
            continue;
        }
        read_row(row, line, &keys, options, &mut rows).map_err(|error| match error {
            PushError::Blocks(why) => wrong(why),
            PushError::Trace(error) => error,
        })?;
    }
}

fn read_row(
    row: &[u8],
    line: u64,
    keys: &Keys<'_>,
    options: &TraceOptions,
    rows: &mut Rows<'_>,
) -> Result<(), PushError> {
    let mut values = Values::default();
    let mut json = serde_json::Deserializer::from_slice(row);
    let mut whole = None;
    let seed = RowSeed {
        keys,
        values: &mut values,
        rows,
        whole: &mut whole,
    };
    let read = seed.deserialize(&mut json).and_then(|()| json.end());
    // An error of the whole file, on its way through the JSON reader.
    if let Some(error) = whole {
        return Err(PushError::Trace(error));
    }
    let wrong = |why| Err(PushError::Blocks(why));
    if let Err(error) = read {
        let (text, place) = (error.to_string(), error.column());
        let text = text.split(" at line ").next().unwrap_or_default();
        return wrong(format!("column {place}: {text}"));
    }
    let value = |value: &Option<String>, key: &str, other: &str| match value {
        Some(value) => Ok(value.clone()),
        None => Err(PushError::Blocks(format!(
            "no “{key}”: expected an object such as {{\"timestamp\": 0, \"input_length\": 512, \"output_length\": 10, \"hash_ids\": [1]}}{other}"
        ))),
    };
    let named = |key: &str, why: String| PushError::Blocks(format!("“{key}”: {why}"));
    let arrival = value(&values.arrival, keys.arrival, "")?;
    let Moment(at) = moment(&arrival, keys.unit).map_err(|why| named(keys.arrival, why))?;
    let input = tokens(&value(&values.input, keys.input, "")?, "prompt")
        .map_err(|why| named(keys.input, why))?;
    let output = tokens(&value(&values.output, keys.output, "")?, "answer")
        .map_err(|why| named(keys.output, why))?;
    if output == 0 && options.drop_failed {
        rows.skip();
        return Ok(());
    }
    for (key, count) in [(keys.input, input), (keys.output, output)] {
        if count == 0 {
            return wrong(format!(
                "“{key}”: a request has at least 1 token, not 0 (a failed request? Remove the row, or leave such rows out by drop_failed)"
            ));
        }
    }
    let priority = match values.priority.as_deref() {
        None | Some("") => 0,
        Some(text) => super::value::priority(text).map_err(|why| named(keys.priority, why))?,
    };
    let said = Said {
        line,
        at,
        input,
        output,
        priority,
        session: values.session.as_deref().filter(|name| !name.is_empty()),
    };
    rows.push(&said, false)
}

/// Reads the object of a line into the values and blocks of a row.
struct RowSeed<'k, 'v, 'r, 'a> {
    keys: &'k Keys<'k>,
    values: &'v mut Values,
    rows: &'r mut Rows<'a>,
    whole: &'r mut Option<TraceError>,
}

impl<'de> DeserializeSeed<'de> for RowSeed<'_, '_, '_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RowSeed<'_, '_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<std::borrow::Cow<'_, str>>()? {
            let keys = self.keys;
            let value = match &*key {
                key if key == keys.blocks => {
                    self.rows.no_blocks();
                    map.next_value_seed(BlocksSeed {
                        rows: &mut *self.rows,
                        whole: &mut *self.whole,
                    })?;
                    continue;
                }
                key if key == keys.arrival => &mut self.values.arrival,
                key if key == keys.input => &mut self.values.input,
                key if key == keys.output => &mut self.values.output,
                key if key == keys.priority => &mut self.values.priority,
                key if key == keys.session => &mut self.values.session,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *value = Some(map.next_value_seed(Scalar)?);
        }
        Ok(())
    }
}

/// A number or a text, as text; null is empty.
struct Scalar;

impl<'de> DeserializeSeed<'de> for Scalar {
    type Value = String;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Writing to a text does not fail.
fn shown(value: impl fmt::Display) -> String {
    let mut text = String::new();
    let _ = write!(text, "{value}");
    text
}

impl Visitor<'_> for Scalar {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a text")
    }

    fn visit_u64<E>(self, value: u64) -> Result<String, E> {
        Ok(shown(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<String, E> {
        Ok(shown(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<String, E> {
        Ok(shown(value))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<String, E> {
        if value.len() > MAX_VALUE {
            return Err(E::custom(format_args!(
                "a text of {} bytes: at most {MAX_VALUE} are read here",
                value.len()
            )));
        }
        Ok(value.to_owned())
    }

    fn visit_unit<E>(self) -> Result<String, E> {
        Ok(String::new())
    }
}

/// Reads a list of hashes into the blocks of a row.
struct BlocksSeed<'r, 'a> {
    rows: &'r mut Rows<'a>,
    whole: &'r mut Option<TraceError>,
}

impl<'de> DeserializeSeed<'de> for BlocksSeed<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for BlocksSeed<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of block hashes")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(full) = seq.next_element_seed(Hash(&mut *self.rows))? {
            if let Err(error) = full {
                *self.whole = Some(error);
                return Err(serde::de::Error::custom("too many blocks"));
            }
        }
        Ok(())
    }
}

/// Reads one hash: a whole number of up to 64 bits, or a text.
struct Hash<'r, 'a>(&'r mut Rows<'a>);

impl<'de> DeserializeSeed<'de> for Hash<'_, '_> {
    type Value = Result<(), TraceError>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Hash<'_, '_> {
    type Value = Result<(), TraceError>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a block hash: a whole number of up to 64 bits, or a text")
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(self.0.block_number(value))
    }

    /// A hash that was written as a signed number: the same 64 bits.
    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(self.0.block_number(value.cast_unsigned()))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Self::Value, E> {
        if value.len() > MAX_VALUE {
            return Err(E::custom(format_args!(
                "a block hash of {} bytes: at most {MAX_VALUE} are read",
                value.len()
            )));
        }
        Ok(self.0.block(value))
    }
}
