//! Sarathi-Serve's chunked prefill (Agrawal et al., OSDI '24), as Vidur simulates it
//! (`sarathi_replica_scheduler.py`): decodes first, then prompts under way, then new ones, each cut to
//! what the chunk size leaves; a prompt's blocks are all taken when it is admitted, a share of memory
//! (`watermark`) staying free; a decode that can't get a block takes those of the one admitted last.

use crate::sim::lane::{Batch, Lane, Pass};
use crate::sim::request::Arena;

impl Lane {
    pub(in crate::sim::lane) fn build_sarathi(
        &mut self,
        requests: &mut Arena,
        index: usize,
        batch: &mut Batch,
    ) -> Pass {
        let pass = self.take_decodes(requests, index, batch);
        if pass == Pass::Blocked {
            return pass;
        }
        let mut budget = self.settings.budget;
        budget = budget.saturating_sub(batch.decodes + batch.drafted);
        for position in 0..self.cohorts[index].partial.len() {
            let id = self.cohorts[index].partial[position];
            let tokens = (requests[id].base - requests[id].computed).min(budget);
            if tokens == 0 {
                break;
            }
            budget -= tokens;
            batch.push(requests, id, tokens);
        }
        while budget > 0
            && let Some((id, rest)) = self.next_waiting(requests)
        {
            let tokens = rest.min(budget);
            if tokens < rest && !self.settings.chunked
                || !self.admit(requests, index, batch, id, tokens, true)
            {
                self.forget_hit(requests, id);
                break;
            }
            budget -= tokens;
        }
        pass
    }
}
