//! Routing of a design: rules that have nothing to go by.

use super::super::finding::{Finding, Place};
use super::super::frozen::PlannedPool;
use super::super::pool::{Phases, Role};
use super::super::routing::Rule;
use super::Compiling;

impl Compiling<'_> {
    /// Rules of routing that have nothing to go by.
    pub(super) fn routing(&mut self, pools: &[Option<PlannedPool>]) {
        let routing = &self.design.routing;
        let mut live = pools.iter().flatten();
        if routing.entry == Rule::PrefixAware
            && live.all(|pool| !pool.engine.caching.prefix || pool.role == Role::Decode)
        {
            self.findings.push(Finding::warning(
                Place::Design,
                "requests are routed by their prompts' beginnings, but no pool that prefills keeps prefixes: turn prefix caching on".to_owned(),
            ));
        }
        let prefills = self.design.services.iter();
        let apart = prefills.clone().any(|s| s.phases() == Phases::Prefill);
        if !routing.local.is_off() && !apart {
            self.findings.push(Finding::warning(
                Place::Design,
                "prompts are to be prefilled where they decode, but that is so anyway: no service only prefills".to_owned(),
            ));
        }
    }
}
