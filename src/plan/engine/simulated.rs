//! Which loops this version simulates. The one place to change when another one is merged: the
//! finding that tells the difference, SGLang's own number of running requests and the bound on it
//! follow.

use super::{Engine, Scheduler};

/// Loops that run as they are; others run as vLLM's, and a finding says so.
const SIMULATED: &[Scheduler] = &[Scheduler::VllmV1];

impl Scheduler {
    /// Whether it is simulated as it is.
    #[must_use]
    pub fn is_simulated(self) -> bool {
        SIMULATED.contains(&self)
    }

    /// Whether decodes take their tokens from the budget of the step, so that it must hold one of
    /// each running request. SGLang's chunk is for prompts only.
    #[must_use]
    pub fn decodes_take_budget(self) -> bool {
        !(self == Self::Sglang && self.is_simulated())
    }
}

impl Engine {
    /// Why runs don't follow the loop as it is set; none: they do.
    pub(in crate::plan) fn not_simulated(&self) -> Option<String> {
        let scheduler = self.scheduling.scheduler;
        (!scheduler.is_simulated()).then(|| {
            format!(
                "memory follows {} {}; scheduling follows vLLM's loop, the only one simulated so far, not {}",
                self.kind.name(),
                self.version,
                scheduler.name()
            )
        })
    }
}
