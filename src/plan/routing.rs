//! Who takes a request: the rule of the router before the replicas, and of the hand-over from
//! prefill to decode.
//!
//! The rules are the field's own: round robin and random are in every router; fewest outstanding is
//! vLLM's data-parallel coordinator and SGLang's `shortest_queue`; power of two choices is SGLang
//! router's `power_of_two` (Mitzenmacher, “The power of two choices in randomized load balancing”,
//! 2001); outstanding tokens are what Dynamo's and llm-d's scorers weigh; prefix-aware is SGLang
//! router's and vLLM router's `cache_aware` with its three thresholds. Some prompts are better
//! prefilled where they decode: Dynamo's conditional disaggregation, TensorRT-LLM's
//! `conditional_disagg_config`.

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
    /// The one whose outstanding requests have the fewest prompt tokens.
    LeastTokens,
    /// The one whose requests hold the least KV memory.
    LeastKv,
    /// The one that had the conversation's turn before; its first goes to the fewest outstanding
    /// requests.
    Sticky,
    /// The one that was sent the longest beginning of the prompt, within what [`PrefixGuard`] allows;
    /// else the fewest outstanding requests.
    PrefixAware,
}

impl Rule {
    /// All, in the order shown.
    pub const ALL: [Self; 8] = [
        Self::LeastRequests,
        Self::LeastTokens,
        Self::LeastKv,
        Self::RoundRobin,
        Self::Random,
        Self::PowerOfTwo,
        Self::Sticky,
        Self::PrefixAware,
    ];

    /// The field's word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LeastRequests => "Least outstanding requests",
            Self::RoundRobin => "Round robin",
            Self::Random => "Random",
            Self::PowerOfTwo => "Power of two choices",
            Self::LeastTokens => "Least outstanding tokens",
            Self::LeastKv => "Least KV",
            Self::Sticky => "Session-sticky",
            Self::PrefixAware => "Prefix-aware",
        }
    }
}

/// When a prompt's beginning decides, and when the load does. The names and the defaults are SGLang
/// router's (`router_args.py`), and vLLM router's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrefixGuard {
    /// Share of a prompt that must have been sent to a lane before.
    pub cache_threshold: f64,
    /// The load decides when the most and the fewest outstanding requests are farther apart than this …
    pub balance_abs_threshold: u32,
    /// … and the most are more than this many times the fewest.
    pub balance_rel_threshold: f64,
}

impl Default for PrefixGuard {
    fn default() -> Self {
        Self {
            cache_threshold: 0.3,
            balance_abs_threshold: 64,
            balance_rel_threshold: 1.5,
        }
    }
}

impl PrefixGuard {
    /// Whether lanes with so many outstanding requests at most and at least are too far apart.
    #[must_use]
    pub fn is_uneven(&self, most: u64, fewest: u64) -> bool {
        let abs = u64::from(self.balance_abs_threshold);
        let (many, few) = (crate::units::real(most), crate::units::real(fewest));
        most.saturating_sub(fewest) > abs && many > self.balance_rel_threshold * few
    }
}

/// Which prompts are prefilled where they decode although there are prefill pools. The names are
/// Dynamo's (`disagg_router`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalPrefill {
    /// Prompts of up to so many tokens; 0: none.
    pub max_local_prefill_length: u32,
    /// And all while so many requests wait at the prefill lane chosen; 0: however many wait.
    pub max_prefill_queue_size: u32,
}

impl LocalPrefill {
    /// Whether a prompt of that length is prefilled where it decodes, when so many wait for prefill.
    #[must_use]
    pub const fn takes(&self, prompt: u32, waiting: u32) -> bool {
        prompt <= self.max_local_prefill_length
            || self.max_prefill_queue_size > 0 && waiting >= self.max_prefill_queue_size
    }

    /// Whether it never takes any.
    #[must_use]
    pub const fn is_off(&self) -> bool {
        self.max_local_prefill_length == 0 && self.max_prefill_queue_size == 0
    }
}

/// Routing of a design.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routing {
    /// New requests.
    #[serde(default)]
    pub entry: Rule,
    /// Prefilled requests that go to decode.
    #[serde(default)]
    pub handover: Rule,
    /// What prefix-aware rules go by.
    #[serde(default)]
    pub prefix: PrefixGuard,
    /// Prompts that are prefilled where they decode.
    #[serde(default)]
    pub local: LocalPrefill,
}

impl Routing {
    /// Whether it is what designs had before there was a choice: it is not written then.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
