//! Strict, bounded parsing: no key twice, not too long, not too deep (serde_json stops at 128
//! levels), not too many values.

use super::ImportError;
use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;

/// Longest text read.
const LONGEST: usize = 16 * 1024 * 1024;
/// Most values read; a config has a few hundred.
const MOST_VALUES: usize = 1_000_000;
/// Steps of a path that messages about broken JSON show.
const SHOWN_STEPS: usize = 4;

/// Parses a text whose root is an object.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, ImportError> {
    if text.len() > LONGEST {
        return Err(ImportError::TooLarge {
            bytes: text.len(),
            limit: LONGEST,
        });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim();
    if let Some(what) = something_else(text) {
        return Err(ImportError::NotJson { what });
    }
    let plain = without_words(text);
    let watch = Watch::default();
    let mut reader = serde_json::Deserializer::from_str(&plain);
    let parsed = Strict(&watch)
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value));
    match parsed {
        Ok(Value::Object(map)) => Ok(map),
        Ok(other) => Err(ImportError::NotAnObject {
            path: "the file".to_owned(),
            found: describe(&other),
        }),
        Err(error) => Err(watch.verdict().unwrap_or_else(|| watch.syntax(&error))),
    }
}

/// Before a word that stands where JSON has a number.
const NO_NUMBER: char = '\u{1}';
/// Words Python writes for numbers JSON does not have.
const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// Python writes `Infinity` and `NaN` (`time_step_limit` of Mamba's files), which aren't JSON.
/// Outside texts they become marked texts: a file that has them in keys nobody reads is read, and
/// where one is read for a number the error says which key and what is there.
fn without_words(text: &str) -> Cow<'_, str> {
    if !WORDS.iter().any(|word| text.contains(word)) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut inside = false;
    let mut escaped = false;
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let word = WORDS
            .iter()
            .find(|word| !inside && rest.starts_with(**word));
        if let Some(word) = word {
            plain.push_str("\"\\u0001");
            plain.push_str(word);
            plain.push('"');
            rest = &rest[word.len()..];
            continue;
        }
        inside = if letter == '"' && !escaped {
            !inside
        } else {
            inside
        };
        escaped = inside && letter == '\\' && !escaped;
        plain.push(letter);
        rest = &rest[letter.len_utf8()..];
    }
    Cow::Owned(plain)
}

/// Recognises what people save as `config.json` by mistake.
fn something_else(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        Some("an empty file")
    } else if text.starts_with('<') {
        Some("a web page (HTML)")
    } else if text.starts_with("version https://git-lfs") {
        Some("a Git LFS pointer")
    } else {
        None
    }
}

/// What a value is, for messages; cut to a readable length.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.starts_with(NO_NUMBER) => {
            format!("{}, which is no number", text.trim_start_matches(NO_NUMBER))
        }
        Value::String(text) => format!("the text “{}”", text.chars().take(40).collect::<String>()),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// What went wrong inside the visitor, which can only hand out the parser's own errors.
#[derive(Default)]
struct Watch {
    values: Cell<usize>,
    /// Path of the place where reading ended, innermost first; grown while the error travels
    /// outwards, so that files without one pay nothing.
    path: RefCell<Vec<String>>,
    /// There a key is stated twice.
    twice: Cell<bool>,
}

impl Watch {
    fn count<E: de::Error>(&self) -> Result<(), E> {
        self.values.set(self.values.get() + 1);
        if self.values.get() > MOST_VALUES {
            Err(E::custom("too many values"))
        } else {
            Ok(())
        }
    }

    fn passing(&self, key: &str) {
        self.path.borrow_mut().push(key.chars().take(80).collect());
    }

    /// The outermost `most` steps of the path, with a sign where there are more.
    fn place(&self, most: usize) -> String {
        let path = self.path.borrow();
        let steps: Vec<&str> = path.iter().rev().take(most).map(String::as_str).collect();
        let more = if path.len() > most { ".…" } else { "" };
        format!("{}{more}", steps.join("."))
    }

    fn verdict(&self) -> Option<ImportError> {
        if self.values.get() > MOST_VALUES {
            return Some(ImportError::TooMany { limit: MOST_VALUES });
        }
        self.twice.get().then(|| ImportError::DuplicateKey {
            path: self.place(usize::MAX),
        })
    }

    /// What the parser said, and in which key.
    fn syntax(&self, error: &serde_json::Error) -> ImportError {
        let place = self.place(SHOWN_STEPS);
        let message = if place.is_empty() {
            error.to_string()
        } else {
            format!("{error}, in {place}")
        };
        ImportError::Syntax { message }
    }
}

#[derive(Clone, Copy)]
struct Strict<'a>(&'a Watch);

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        self.0.count()?;
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let next = items.next_element_seed(self);
            match next {
                Ok(Some(item)) => list.push(item),
                Ok(None) => return Ok(Value::Array(list)),
                Err(error) => {
                    self.0.passing(&list.len().to_string());
                    return Err(error);
                }
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                self.0.twice.set(true);
                self.0.passing(&key);
                return Err(de::Error::custom("a key is stated twice"));
            }
            let value = entries
                .next_value_seed(self)
                .inspect_err(|_| self.0.passing(&key))?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}
