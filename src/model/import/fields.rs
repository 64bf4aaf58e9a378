//! Typed reading of an object's keys, remembering which were read.

use super::ImportError;
use super::json::describe;
use super::known;
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// An object of the file. `null` counts as missing everywhere, as in the files.
pub(super) struct Fields<'a> {
    map: &'a Map<String, Value>,
    /// Path of the object with a point at its end; empty at the root.
    prefix: String,
    used: RefCell<BTreeSet<&'a str>>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(map: &'a Map<String, Value>, prefix: &str) -> Self {
        Self {
            map,
            prefix: prefix.to_owned(),
            used: RefCell::new(BTreeSet::new()),
        }
    }

    /// Path of the object itself.
    pub(super) fn place(&self) -> &str {
        self.prefix.trim_end_matches('.')
    }

    /// Its keys, sorted.
    pub(super) fn keys(&self) -> Vec<&'a str> {
        let mut keys: Vec<&str> = self.map.keys().map(String::as_str).collect();
        keys.sort_unstable();
        keys
    }

    /// A key with its path.
    pub(super) fn path(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    /// Whether a key is there, without reading it.
    pub(super) fn has(&self, key: &str) -> bool {
        self.map.get(key).is_some_and(|value| !value.is_null())
    }

    /// Whether a key is there and holds something that passes, without reading it.
    pub(super) fn holds(&self, key: &str, passes: impl Fn(&Value) -> bool) -> bool {
        self.map.get(key).is_some_and(passes)
    }

    /// Whether a key holds an object, without reading it.
    pub(super) fn is_object(&self, key: &str) -> bool {
        matches!(self.map.get(key), Some(Value::Object(_)))
    }

    /// Whether a key is `false`, without reading it.
    pub(super) fn holds_false(&self, key: &str) -> bool {
        matches!(self.map.get(key), Some(Value::Bool(false)))
    }

    /// Counts as read what a nested section states again.
    pub(super) fn leave_to(&self, section: &Fields<'_>) {
        let mut used = self.used.borrow_mut();
        used.extend(
            self.map
                .keys()
                .map(String::as_str)
                .filter(|key| section.map.contains_key(*key)),
        );
    }

    /// Keys that nobody has read and that aren't known to be harmless.
    pub(super) fn unread(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let used = self.used.borrow().clone();
        self.map
            .iter()
            .map(|(key, value)| (key.as_str(), value))
            .filter(move |(key, value)| {
                !value.is_null() && !used.contains(key) && !known::harmless(key)
            })
    }

    /// The same as [`Self::unread`], as paths.
    pub(super) fn unused(&self) -> Vec<String> {
        self.unread()
            .map(|(key, _)| self.path(&key.chars().take(120).collect::<String>()))
            .collect()
    }

    /// A value.
    pub(super) fn value(&self, key: &str) -> Option<&'a Value> {
        let (key, value) = self.map.get_key_value(key)?;
        self.used.borrow_mut().insert(key);
        if value.is_null() { None } else { Some(value) }
    }

    fn wrong(&self, key: &str, found: &Value, expected: &'static str) -> ImportError {
        ImportError::Wrong {
            path: self.path(key),
            found: describe(found),
            expected,
        }
    }

    /// A whole number in a range.
    pub(super) fn whole(
        &self,
        key: &str,
        least: u64,
        most: u64,
    ) -> Result<Option<u64>, ImportError> {
        self.value(key)
            .map(|value| whole(value, &self.path(key), least, most))
            .transpose()
    }

    /// The first of several spellings that is stated, and its value. All of them count as read.
    pub(super) fn any(
        &self,
        keys: &[&'static str],
        least: u64,
        most: u64,
    ) -> Result<Option<(&'static str, u64)>, ImportError> {
        let mut found: Option<(&'static str, u64)> = None;
        for key in keys {
            let Some(value) = self.whole(key, least, most)? else {
                continue;
            };
            match found {
                Some((first, other)) if other != value => {
                    return Err(ImportError::Contradiction {
                        first: format!("{} ({other})", self.path(first)),
                        second: format!("{} ({value})", self.path(key)),
                        why: "both are the same quantity",
                    });
                }
                Some(_) => {}
                None => found = Some((*key, value)),
            }
        }
        Ok(found)
    }

    /// The value of the first spelling that is stated.
    pub(super) fn size(
        &self,
        keys: &[&'static str],
        least: u64,
        most: u64,
    ) -> Result<Option<u64>, ImportError> {
        Ok(self.any(keys, least, most)?.map(|(_, value)| value))
    }

    /// A quantity that may be stated once for all layers or layer by layer.
    pub(super) fn spread(
        &self,
        keys: &[&'static str],
        layers: usize,
        least: u64,
        most: u64,
    ) -> Result<Option<Spread>, ImportError> {
        for key in keys {
            if let Some(Value::Array(list)) = self.value(key) {
                let values = self
                    .per_layer(key, list, layers)?
                    .iter()
                    .map(|item| whole(item, &self.path(key), least, most))
                    .collect::<Result<Vec<u64>, _>>()?;
                return Ok(Some(Spread::Each(values)));
            }
        }
        Ok(self.size(keys, least, most)?.map(Spread::One))
    }

    /// The part of a list that describes the model's layers: it may go on for layers that predict
    /// further tokens, but must not be shorter.
    pub(super) fn per_layer(
        &self,
        key: &str,
        list: &'a [Value],
        layers: usize,
    ) -> Result<&'a [Value], ImportError> {
        list.get(..layers)
            .ok_or_else(|| ImportError::Contradiction {
                first: format!("{} ({} entries)", self.path(key), list.len()),
                second: format!("num_hidden_layers ({layers})"),
                why: "there must be one entry per layer",
            })
    }

    /// The whole numbers of a list.
    pub(super) fn numbers(
        &self,
        key: &str,
        least: u64,
        most: u64,
    ) -> Result<Option<Vec<u64>>, ImportError> {
        self.list(key)?
            .map(|list| {
                list.iter()
                    .map(|item| whole(item, &self.path(key), least, most))
                    .collect()
            })
            .transpose()
    }

    pub(super) fn missing(&self, key: &str, why: &'static str) -> ImportError {
        ImportError::Missing {
            key: self.path(key),
            why,
        }
    }

    /// `true` or `false`.
    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, ImportError> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => Err(self.wrong(key, other, "true or false")),
        }
    }

    /// A text.
    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, ImportError> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(key, other, "a text")),
        }
    }

    /// A list.
    pub(super) fn list(&self, key: &str) -> Result<Option<&'a [Value]>, ImportError> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(other) => Err(self.wrong(key, other, "a list")),
        }
    }

    /// An object.
    pub(super) fn section(&self, key: &str) -> Result<Option<Fields<'a>>, ImportError> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(Fields::new(map, &format!("{}.", self.path(key))))),
            Some(other) => Err(ImportError::NotAnObject {
                path: self.path(key),
                found: describe(other),
            }),
        }
    }
}

/// A quantity of every layer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Spread {
    /// The same in all.
    One(u64),
    /// Layer by layer.
    Each(Vec<u64>),
}

impl Spread {
    /// That of a layer.
    pub(super) fn at(&self, layer: usize) -> u64 {
        match self {
            Self::One(value) => *value,
            Self::Each(values) => values.get(layer).copied().unwrap_or(0),
        }
    }

    /// The greatest of all layers.
    pub(super) fn most(&self) -> u64 {
        match self {
            Self::One(value) => *value,
            Self::Each(values) => values.iter().copied().max().unwrap_or(0),
        }
    }
}

/// A value as a whole number in a range.
pub(super) fn whole(value: &Value, path: &str, least: u64, most: u64) -> Result<u64, ImportError> {
    match value.as_u64() {
        Some(number) if (least..=most).contains(&number) => Ok(number),
        // Negative, too small or too large.
        None if !value.is_i64() => Err(ImportError::Wrong {
            path: path.to_owned(),
            found: describe(value),
            expected: "a whole number",
        }),
        _ => Err(ImportError::OutOfRange {
            path: path.to_owned(),
            found: describe(value),
            least,
            most,
        }),
    }
}
