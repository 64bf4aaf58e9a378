//! Decodes that verify drafted tokens, one by one: each sequence accepts as many as it happens to.
//!
//! At every step each is given as many drafts as it could still use (`steps` at most). A draft counts
//! only if all before it did; how likely each depth is, the engine's settings say. A sequence gets the
//! accepted ones and the token the model itself says next. Chance is drawn by the request's name and
//! how far it is, so a request fares alike wherever it is served.

use super::batch::Batch;
use super::memory::Memory;
use super::{Ended, Lane};
use crate::cost::Reach;
use crate::plan::Speculation;
use crate::sim::request::{Arena, ReqId, Request};
use crate::workload::{split_mix, unit};

/// Decodes that verify drafts.
#[derive(Debug)]
pub(super) struct Drafts {
    speculation: Speculation,
    reaches: Vec<Reach>,
    seed: u64,
    decodes: Vec<ReqId>,
}

/// A number in [0, 1) that looks drawn by chance, of a name.
fn chance(seed: u64, name: u64, position: u64) -> f64 {
    let named = split_mix(seed ^ name.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    unit(split_mix(named ^ position))
}

impl Drafts {
    pub(super) fn new(speculation: Speculation, reaches: &[Reach], seed: u64) -> Self {
        Self {
            speculation,
            reaches: reaches.to_vec(),
            seed,
            decodes: Vec::new(),
        }
    }

    pub(super) fn join(&mut self, id: ReqId) {
        self.decodes.push(id);
    }

    pub(super) fn leave(&mut self, id: ReqId) {
        self.decodes.retain(|other| *other != id);
    }

    /// Depth of the drafts of a sequence's next step: none deeper than it has tokens to say.
    fn depth(&self, request: &Request) -> u32 {
        let rest = request.output - request.produced;
        self.speculation.steps.min(rest.saturating_sub(1))
    }

    /// Tokens verified beside the sure one.
    pub(super) fn planned(&self, request: &Request) -> u32 {
        let depth = self.depth(request);
        if depth == self.speculation.steps {
            self.speculation.verified
        } else {
            depth
        }
    }

    pub(super) fn bytes_due(&self, requests: &Arena, memory: &Memory) -> u64 {
        self.decodes
            .iter()
            .map(|id| {
                let request = &requests[*id];
                let upto = request.base + 1 + self.planned(request);
                memory
                    .bytes(upto)
                    .saturating_sub(memory.bytes(request.base))
            })
            .sum()
    }

    /// Puts them into a batch.
    pub(super) fn describe(&self, requests: &Arena, batch: &mut Batch) {
        batch.drafted = 0;
        batch.context = 0;
        batch.reached.resize(self.reaches.len(), 0);
        for id in &self.decodes {
            let request = &requests[*id];
            let planned = self.planned(request);
            batch.drafted += planned;
            // The new token sees itself.
            let context = u64::from(request.base) + 1;
            batch.context += context;
            for (sum, reach) in batch.reached.iter_mut().zip(&self.reaches) {
                *sum += reach.tokens(context);
            }
        }
    }

    /// Tokens a sequence gets from its next step.
    fn gets(&self, request: &Request) -> u32 {
        let mut accepted = 0;
        for depth in 0..self.depth(request) {
            let acceptance = &self.speculation.acceptance;
            let likely = acceptance
                .get(depth as usize)
                .or_else(|| acceptance.last())
                .copied()
                .unwrap_or(0.0);
            let position = u64::from(request.produced) << 8 | u64::from(depth);
            if chance(self.seed, request.answer, position) >= likely {
                break;
            }
            accepted += 1;
        }
        accepted + 1
    }
}

impl Lane {
    /// A step of drafts has been verified: each decode gets what it accepted.
    pub(super) fn end_drafts(&mut self, requests: &mut Arena, index: usize, ended: &mut Ended) {
        let cohort = &mut self.cohorts[index];
        cohort.newcomers.clear();
        let Some(drafts) = &cohort.drafts else {
            return;
        };
        let step = cohort.step;
        for id in &drafts.decodes {
            let request = &requests[*id];
            // Came in while the step was under way.
            if request.join_step > step {
                continue;
            }
            ended.apart.push((*id, drafts.gets(request)));
        }
        for (id, gets) in &ended.apart {
            let Some(drafts) = &self.cohorts[index].drafts else {
                continue;
            };
            let request = &requests[*id];
            let taken = request.base + 1 + drafts.planned(request);
            let done = request.produced + gets >= request.output;
            if done {
                requests[*id].held = taken;
                self.finish(requests, index, *id, *gets);
                ended.finished.push(*id);
                continue;
            }
            let request = &mut requests[*id];
            request.base += gets;
            request.produced += gets;
            request.computed = request.base;
            request.held = request.base;
            request.join_step = step + 1;
            // What the rejected ones took goes back.
            let kept = self.memory.bytes(request.base);
            self.memory.give(self.memory.bytes(taken) - kept);
        }
    }
}
