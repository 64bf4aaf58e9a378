//! How GPUs are named: `group/instance/slot`, and sets of them as ranges
//! (`h800/0-31/0-7`), so that a pool of 1,024 GPUs is one line.

use super::group::{GroupId, MAX_GPUS};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// One GPU: group, instance, slot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GpuAddress {
    /// The group.
    pub group: GroupId,
    /// The instance in it.
    pub instance: u32,
    /// The slot in the instance; 0 for a loose GPU.
    pub slot: u32,
}

impl fmt::Display for GpuAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.group, self.instance, self.slot)
    }
}

/// An inclusive range of numbers, `3` or `0-7`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// First.
    pub first: u32,
    /// Last; never below `first`.
    pub last: u32,
}

impl Span {
    /// How many numbers it covers.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.last - self.first + 1
    }

    /// A span is never empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        false
    }

    /// Whether it covers `n`.
    #[must_use]
    pub const fn contains(self, n: u32) -> bool {
        self.first <= n && n <= self.last
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(f, "{}", self.first)
        } else {
            write!(f, "{}-{}", self.first, self.last)
        }
    }
}

/// A box of GPUs of one group: some instances × some slots. Text form `group/instances/slots`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GpuRange {
    /// The group.
    pub group: GroupId,
    /// Which instances.
    pub instances: Span,
    /// Which slots of each.
    pub slots: Span,
}

/// Why a text is not a set of GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "“{text}” is not a set of GPUs: write group/instances/slots, such as “h800/0-3/0-7” ({reason})"
)]
pub struct AddressError {
    /// What was given (cut to a readable length).
    pub text: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl GpuRange {
    /// One GPU.
    #[must_use]
    pub fn one(address: &GpuAddress) -> Self {
        let span = |n| Span { first: n, last: n };
        Self {
            group: address.group.clone(),
            instances: span(address.instance),
            slots: span(address.slot),
        }
    }

    /// Whether the GPU is in it.
    #[must_use]
    pub fn contains(&self, gpu: &GpuAddress) -> bool {
        self.group == gpu.group
            && self.instances.contains(gpu.instance)
            && self.slots.contains(gpu.slot)
    }

    /// Its GPUs, instance by instance.
    pub fn iter(&self) -> impl Iterator<Item = GpuAddress> + '_ {
        (self.instances.first..=self.instances.last).flat_map(move |instance| {
            (self.slots.first..=self.slots.last).map(move |slot| GpuAddress {
                group: self.group.clone(),
                instance,
                slot,
            })
        })
    }

    /// How many GPUs it names.
    #[must_use]
    pub fn len(&self) -> u64 {
        u64::from(self.instances.len()) * u64::from(self.slots.len())
    }

    /// A range is never empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }
}

impl fmt::Display for GpuRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.group, self.instances, self.slots)
    }
}

impl FromStr for GpuRange {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let refuse = |reason| AddressError {
            text: text.chars().take(80).collect(),
            reason,
        };
        let mut parts = text.trim().split('/');
        let (Some(group), Some(instances), Some(slots), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(refuse("three parts separated by “/” are needed"));
        };
        let span = |part: &str| -> Result<Span, AddressError> {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |digits: &str| {
                digits
                    .parse::<u32>()
                    .ok()
                    .filter(|n| *n < MAX_GPUS)
                    .ok_or_else(|| refuse("a part is not a number or a range of numbers"))
            };
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(refuse("a range runs backwards"));
            }
            Ok(Span { first, last })
        };
        Ok(Self {
            group: group
                .parse()
                .map_err(|_| refuse("the group is not an id"))?,
            instances: span(instances)?,
            slots: span(slots)?,
        })
    }
}

impl Serialize for GpuRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for GpuRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'_, str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// Folds single GPUs into the fewest ranges a simple sweep finds: slots of an instance first, then
/// equal neighbours. The same set always gives the same ranges.
#[must_use]
pub fn fold_gpus(gpus: &BTreeSet<GpuAddress>) -> Vec<GpuRange> {
    let mut rows: Vec<GpuRange> = Vec::new();
    for gpu in gpus {
        match rows.last_mut() {
            Some(row)
                if row.group == gpu.group
                    && row.instances.first == gpu.instance
                    && row.slots.last + 1 == gpu.slot =>
            {
                row.slots.last = gpu.slot;
            }
            _ => rows.push(GpuRange::one(gpu)),
        }
    }
    let mut folded: Vec<GpuRange> = Vec::new();
    for row in rows {
        // Instances arrive in order; a box can grow only if this row continues it, and rows of an
        // instance with several slot runs interleave, so look back a few boxes.
        let grown = folded.iter_mut().rev().take(8).find(|range| {
            range.group == row.group
                && range.slots == row.slots
                && range.instances.last + 1 == row.instances.first
        });
        match grown {
            Some(range) => range.instances.last = row.instances.last,
            None => folded.push(row),
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_thousand_gpus_are_one_line() {
        let range: GpuRange = "h800/0-127/0-7".parse().unwrap();
        assert_eq!(range.len(), 1024);
        assert_eq!(range.to_string(), "h800/0-127/0-7");
        let set: BTreeSet<_> = range.iter().collect();
        assert_eq!(fold_gpus(&set), vec![range]);
    }

    #[test]
    fn wrong_texts_are_refused() {
        for bad in [
            "",
            "a",
            "a/0",
            "a/0/0/0",
            "a/3-1/0",
            "a/x/0",
            "A/0/0",
            "a/-1/0",
            "a/0/4294967295",
        ] {
            assert!(bad.parse::<GpuRange>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn folding_keeps_the_set(picks in proptest::collection::btree_set((0u32..3, 0u32..5, 0u32..4), 0..40)) {
            let set: BTreeSet<GpuAddress> = picks
                .into_iter()
                .map(|(g, instance, slot)| GpuAddress {
                    group: GroupId::from_label(&format!("g{g}")),
                    instance,
                    slot,
                })
                .collect();
            let back: BTreeSet<GpuAddress> =
                fold_gpus(&set).iter().flat_map(|range| range.iter().collect::<Vec<_>>()).collect();
            prop_assert_eq!(back, set);
        }
    }
}
