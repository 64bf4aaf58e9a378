//! Lists of module names in a quantisation section, and whether one of them means a module.
//!
//! Files name modules in four ways: as they are (`model.layers.0.self_attn.o_proj`), by a part of
//! the path (`gate`, `model.layers.61`, `self_attn`), with wildcards (`model.layers.0.self_attn*`)
//! and as Python regular expressions behind `re:`. An entry without `re:` is looked for between the
//! points of a module's path, as transformers' `should_convert_module` and ModelOpt's wildcards do
//! together; one with it must match from the path's beginning (`re.match`, compressed-tensors).

use super::super::ImportError;
use super::super::json::describe;
use regex::{RegexSet, RegexSetBuilder};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Most regular expressions of a list: real files have a dozen.
const MOST_PATTERNS: usize = 256;
/// Longest entry, bytes.
const LONGEST_ENTRY: usize = 512;
/// Most memory compiled expressions of a list may take, bytes.
const PATTERN_MEMORY: usize = 1 << 20;

/// A list being read.
#[derive(Debug, Default)]
pub(super) struct Names {
    literals: BTreeSet<String>,
    prefixes: BTreeSet<String>,
    patterns: Vec<String>,
    /// Entries about single experts: the path with expert 0, and which experts are named.
    experts: BTreeMap<String, BTreeSet<u64>>,
    /// Entries that can't be read.
    unread: Vec<String>,
}

impl Names {
    /// A list of the names themselves.
    pub(super) fn of(names: &[&str]) -> Self {
        Self {
            literals: names.iter().map(|name| (*name).to_owned()).collect(),
            ..Self::default()
        }
    }

    /// Adds all entries of a list.
    pub(super) fn extend(&mut self, list: &[Value], path: &str) -> Result<(), ImportError> {
        for (index, item) in list.iter().enumerate() {
            let Value::String(entry) = item else {
                return Err(ImportError::Wrong {
                    path: format!("{path}.{index}"),
                    found: describe(item),
                    expected: "a module's name",
                });
            };
            self.add(entry, path)?;
        }
        Ok(())
    }

    /// Adds one entry.
    pub(super) fn add(&mut self, entry: &str, path: &str) -> Result<(), ImportError> {
        if entry.len() > LONGEST_ENTRY {
            return Err(ImportError::Wrong {
                path: path.to_owned(),
                found: describe(&Value::from(entry)),
                expected: "names of at most 512 bytes",
            });
        }
        let entry = entry.trim();
        if entry.is_empty() {
            return Ok(());
        }
        if let Some(pattern) = entry.strip_prefix("re:") {
            return self.pattern(&format!("^(?:{pattern})"), entry, path);
        }
        if entry.contains(['\\', '(', '|', '^', '$', '+']) {
            return self.pattern(&format!("^(?:{entry})"), entry, path);
        }
        let entry = entry.strip_suffix(".weight").unwrap_or(entry);
        let bare = entry.strip_prefix("*.").unwrap_or(entry);
        let (body, open) = match bare.strip_suffix('*') {
            Some(body) => (body, true),
            None => (bare, false),
        };
        if body.contains(['*', '?', '[']) || body.is_empty() {
            return self.pattern(&glob(bare), entry, path);
        }
        if open {
            self.prefixes.insert(body.to_owned());
        } else {
            match one_expert(body) {
                Some((all, which)) => {
                    self.experts.entry(all).or_default().insert(which);
                }
                None => {
                    self.literals.insert(body.to_owned());
                }
            }
        }
        Ok(())
    }

    fn pattern(&mut self, pattern: &str, entry: &str, path: &str) -> Result<(), ImportError> {
        // Python's look-around has no counterpart; files with it are said to be read without.
        if ["(?=", "(?!", "(?<=", "(?<!"]
            .iter()
            .any(|look| entry.contains(look))
        {
            self.unread.push(entry.to_owned());
            return Ok(());
        }
        if self.patterns.len() >= MOST_PATTERNS {
            return Err(ImportError::OutOfRange {
                path: path.to_owned(),
                found: "more patterns".to_owned(),
                least: 0,
                most: 256,
            });
        }
        self.patterns.push(pattern.to_owned());
        Ok(())
    }

    /// Whether there is no entry.
    pub(super) fn is_empty(&self) -> bool {
        self.literals.is_empty()
            && self.prefixes.is_empty()
            && self.patterns.is_empty()
            && self.experts.is_empty()
            && self.unread.is_empty()
    }

    /// The list, ready to be asked. A path that names single experts stands for all of them where
    /// it names at least half of `experts`.
    pub(super) fn finish(
        mut self,
        path: &str,
        experts: u64,
        notes: &mut Vec<String>,
    ) -> Result<Matcher, ImportError> {
        let mut some = 0_u64;
        for (all, which) in std::mem::take(&mut self.experts) {
            let named = u64::try_from(which.len()).unwrap_or(u64::MAX);
            if named < experts {
                some += 1;
            }
            if named.saturating_mul(2) >= experts {
                self.literals.insert(all);
            }
        }
        if some > 0 {
            notes.push(format!(
                "{path} treats experts of one layer differently: each layer's experts are counted in the format most of them have"
            ));
        }
        if let Some(first) = self.unread.first() {
            notes.push(format!(
                "{path} has a pattern with look-around (“{}”): read as if it named nothing",
                first.chars().take(60).collect::<String>()
            ));
        }
        // Without those that begin with another: the greatest entry not above a name is then the
        // only one that can begin it.
        let mut prefixes: BTreeSet<String> = BTreeSet::new();
        for prefix in self.prefixes {
            if !prefixes
                .last()
                .is_some_and(|shorter| prefix.starts_with(shorter.as_str()))
            {
                prefixes.insert(prefix);
            }
        }
        let patterns = RegexSetBuilder::new(&self.patterns)
            .size_limit(PATTERN_MEMORY)
            .dfa_size_limit(8 * PATTERN_MEMORY)
            .build()
            .map_err(|error| ImportError::Wrong {
                path: path.to_owned(),
                found: "a pattern that can't be read".to_owned(),
                expected: match error {
                    regex::Error::CompiledTooBig(_) => "shorter regular expressions",
                    _ => "regular expressions",
                },
            })?;
        Ok(Matcher {
            literals: self.literals,
            prefixes,
            patterns,
        })
    }
}

/// `model.layers.0.mlp.experts.17.up_proj` as the same path with expert 0, and 17.
fn one_expert(path: &str) -> Option<(String, u64)> {
    const WORD: &str = ".experts.";
    let at = path.find(WORD)? + WORD.len();
    let rest = path.get(at..)?;
    let end = rest.find('.').unwrap_or(rest.len());
    let which: u64 = rest.get(..end)?.parse().ok()?;
    Some((format!("{}0{}", path.get(..at)?, rest.get(end..)?), which))
}

/// A wildcard expression as a regular one, between the points of a path.
fn glob(entry: &str) -> String {
    let mut pattern = String::from(r"(?:^|\.)");
    let mut in_class = false;
    for letter in entry.chars() {
        match letter {
            '[' | ']' => {
                in_class = letter == '[';
                pattern.push(letter);
            }
            '!' if in_class && pattern.ends_with('[') => pattern.push('^'),
            _ if in_class => pattern.push(letter),
            '*' => pattern.push_str(".*"),
            '?' => pattern.push('.'),
            _ => pattern.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4]))),
        }
    }
    pattern.push_str(r"(?:\.|$)");
    pattern
}

/// A list ready to be asked.
#[derive(Debug)]
pub(super) struct Matcher {
    literals: BTreeSet<String>,
    prefixes: BTreeSet<String>,
    patterns: RegexSet,
}

impl Matcher {
    /// Whether an entry means the module of this path.
    pub(super) fn matches(&self, name: &str) -> bool {
        self.literally(name) || self.patterns.is_match(name)
    }

    fn literally(&self, name: &str) -> bool {
        if self.literals.is_empty() && self.prefixes.is_empty() {
            return false;
        }
        let starts = std::iter::once(0).chain(name.match_indices('.').map(|(at, _)| at + 1));
        starts
            .filter_map(|at| name.get(at..))
            .any(|tail| self.begins(tail) || self.within(tail))
    }

    fn begins(&self, tail: &str) -> bool {
        self.prefixes
            .range::<str, _>((Bound::Unbounded, Bound::Included(tail)))
            .next_back()
            .is_some_and(|prefix| tail.starts_with(prefix.as_str()))
    }

    fn within(&self, tail: &str) -> bool {
        let ends = tail
            .match_indices('.')
            .map(|(at, _)| at)
            .chain(std::iter::once(tail.len()));
        ends.filter_map(|end| tail.get(..end))
            .any(|part| self.literals.contains(part))
    }
}
