//! Who takes a request: the rule of the router before the replicas, and of the hand-over from
//! prefill to decode.
//!
//! The rules are the field's own: round robin and random are in every router; fewest outstanding is
//! vLLM's data-parallel coordinator and SGLang's `shortest_queue`; power of two choices is SGLang
//! router's `power_of_two` (Mitzenmacher, “The power of two choices in randomized load balancing”,
//! 2001).

use serde::{Deserialize, Serialize};

/// Which of the lanes that may take a request takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The one with the fewest outstanding requests.
    #[default]
    LeastRequests,
    /// One after the other.
    RoundRobin,
    /// Each equally likely.
    Random,
    /// Of two drawn at random, the one with fewer outstanding requests.
    PowerOfTwo,
}

impl Rule {
    /// All, in the order shown.
    pub const ALL: [Self; 4] = [
        Self::LeastRequests,
        Self::RoundRobin,
        Self::Random,
        Self::PowerOfTwo,
    ];

    /// The field's word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LeastRequests => "Least outstanding requests",
            Self::RoundRobin => "Round robin",
            Self::Random => "Random",
            Self::PowerOfTwo => "Power of two choices",
        }
    }
}

/// Routing of a design.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routing {
    /// New requests.
    #[serde(default)]
    pub entry: Rule,
    /// Prefilled requests that go to decode.
    #[serde(default)]
    pub handover: Rule,
}

impl Routing {
    /// Whether it is what designs had before there was a choice: it is not written then.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
