//! Two schedulers of the literature, for study.
//!
//! *Orca* (Yu et al., OSDI '22): every step takes all running requests, whole prompts of new ones
//! among them; each reserves memory for the longest answer there may be, so nobody gives way.
//!
//! *Static* (FasterTransformer): a batch is put together, its prompts computed in one step, its answers
//! step by step; nobody joins until its last request ends.

use crate::sim::lane::{Batch, Lane, Pass};
use crate::sim::request::Arena;

impl Lane {
    pub(in crate::sim::lane) fn build_orca(
        &mut self,
        requests: &mut Arena,
        index: usize,
        batch: &mut Batch,
    ) -> Pass {
        let pass = self.take_decodes(requests, index, batch);
        if pass == Pass::Clean {
            self.admit_whole(requests, index, batch);
        }
        pass
    }

    pub(in crate::sim::lane) fn build_static(
        &mut self,
        requests: &mut Arena,
        index: usize,
        batch: &mut Batch,
    ) -> Pass {
        if self.running > 0 {
            return self.take_decodes(requests, index, batch);
        }
        self.admit_whole(requests, index, batch);
        Pass::Clean
    }

    /// Whole prompts of waiting requests, as places and promises allow.
    fn admit_whole(&mut self, requests: &mut Arena, index: usize, batch: &mut Batch) {
        while let Some((id, rest)) = self.next_waiting(requests) {
            if !self.admit(requests, index, batch, id, rest, true) {
                self.forget_hit(requests, id);
                break;
            }
        }
    }
}
