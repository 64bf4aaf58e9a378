//! Where a number comes from: every row of the catalog carries it.

use crate::units::DollarsPerHour;
use serde::{Deserialize, Serialize};

/// One origin of a row's numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Which fields it covers (`peaks, memory`), or `all`.
    pub covers: String,
    /// Datasheet, paper or measurement, as one would cite it.
    pub cite: String,
    /// What other sources say and why this one was taken; empty where they agree.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// A price: it ages, so it has a date.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// US dollars per GPU-hour.
    pub per_hour: DollarsPerHour,
    /// Year and month the price was seen, `2025-07`.
    pub date: String,
    /// Whose price.
    pub cite: String,
}
