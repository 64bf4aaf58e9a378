//! What a lane does in one step.

use super::cohort::Cohort;
use crate::cost::{Chunk, Growth, LaneShape};
use crate::sim::request::{Arena, ReqId};

/// What a lane does in one step; buffers are used again.
#[derive(Debug, Default)]
pub(in crate::sim) struct Batch {
    pub(in crate::sim) step: u64,
    pub(in crate::sim) decodes: u32,
    /// Tokens drafted for them.
    pub(in crate::sim) drafted: u32,
    pub(in crate::sim) context: u64,
    /// Sums of what the decodes see, by each of the model's reaches.
    pub(in crate::sim) reached: Vec<u64>,
    /// By how much those grow with each step of a run; the context by the decodes.
    pub(super) growing: Vec<u64>,
    pub(in crate::sim) chunks: Vec<Chunk>,
    /// Requests of `chunks`, in the same order.
    pub(in crate::sim) prefills: Vec<ReqId>,
    /// Prompts that end in this step.
    pub(in crate::sim) ends: u32,
}

impl Batch {
    pub(in crate::sim) fn is_empty(&self) -> bool {
        self.decodes == 0 && self.chunks.is_empty()
    }

    /// As it is priced.
    pub(in crate::sim) fn shape(&self) -> LaneShape<'_> {
        LaneShape {
            decodes: self.decodes,
            drafted: self.drafted,
            context: self.context,
            reached: &self.reached,
            chunks: &self.chunks,
            sampled: self.decodes + self.drafted + self.ends,
        }
    }

    /// The same, and how it grows in a run.
    pub(in crate::sim) fn grown(&self) -> (LaneShape<'_>, Growth<'_>) {
        let growth = Growth {
            context: u64::from(self.decodes),
            reached: &self.growing,
        };
        (self.shape(), growth)
    }

    pub(super) fn clear(&mut self, step: u64) {
        self.step = step;
        self.decodes = 0;
        self.drafted = 0;
        self.context = 0;
        self.reached.clear();
        self.chunks.clear();
        self.prefills.clear();
        self.ends = 0;
    }

    pub(super) fn set_decodes(&mut self, requests: &Arena, cohort: &Cohort) {
        self.decodes = cohort.decodes;
        self.reached.clear();
        if let Some(drafts) = &cohort.drafts {
            drafts.describe(requests, self);
            return;
        }
        self.context = cohort.context();
        let sums = cohort.reached.iter().map(|sum| sum.sum(cohort.step));
        self.reached.extend(sums);
    }

    /// Takes a prompt out again. Returns the tokens it had.
    pub(super) fn remove(&mut self, requests: &Arena, id: ReqId) -> u32 {
        let Some(place) = self.prefills.iter().position(|own| *own == id) else {
            return 0;
        };
        self.prefills.remove(place);
        let chunk = self.chunks.remove(place);
        self.ends -= u32::from(chunk.context + chunk.tokens == requests[id].base);
        chunk.tokens
    }

    pub(super) fn push(&mut self, requests: &Arena, id: ReqId, tokens: u32) {
        let request = &requests[id];
        self.chunks.push(Chunk {
            tokens,
            context: request.computed,
        });
        self.prefills.push(id);
        self.ends += u32::from(request.computed + tokens == request.base);
    }
}
