//! How attention and FFN GPUs of a split spent its steps: what each works, and what is bubble.

use super::ledger::Ledger;
use super::replica::ReplicaState;
use crate::cost::{Resource, Run, STAGES, SplitUse};
use crate::plan::Plan;
use serde::Serialize;

/// Sums over steps, femtoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SplitSum {
    busy: [u128; STAGES],
    took: u128,
}

impl SplitSum {
    /// Adds a step.
    pub(super) fn add(&mut self, used: SplitUse) {
        self.took += u128::from(used.took);
        for (sum, own) in self.busy.iter_mut().zip(used.busy) {
            *sum += u128::from(own);
        }
    }
}

/// A split service's steps.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SplitTime {
    /// Its attention pools.
    pub attention_pools: Vec<String>,
    /// Its FFN pool.
    pub ffn_pool: String,
    /// Micro-batches of a step.
    pub micro_batches: u32,
    /// Share of its steps' time in which attention GPUs work, those of the slowest lane.
    pub attention: f64,
    /// In which tokens are on their way to the FFN.
    pub dispatch: f64,
    /// In which the FFN works.
    pub ffn: f64,
    /// In which results are on their way back.
    pub combine: f64,
    /// Share in which attention GPUs wait: their bubble.
    pub attention_bubble: f64,
    /// The same of FFN GPUs.
    pub ffn_bubble: f64,
    /// Who sets the pace: `attention`, `dispatch`, `ffn` or `combine`.
    pub bound: &'static str,
    /// The layers of its fullest step of decodes, for that step's Gantt.
    #[serde(skip)]
    pub step: Vec<Run>,
}

/// Of every split service.
#[expect(clippy::cast_precision_loss, reason = "shares for people")]
pub(super) fn splits(
    plan: &Plan,
    replicas: &[ReplicaState],
    step: impl Fn(usize) -> Vec<Run>,
) -> Vec<SplitTime> {
    let mut found = Vec::new();
    for service in &plan.services {
        let Some(split) = &service.split else {
            continue;
        };
        let mut sum = SplitSum::default();
        for ledger in replicas
            .iter()
            .filter(|own| own.pool == service.pool)
            .map(|own| -> &Ledger { &own.ledger })
        {
            sum.took += ledger.split.took;
            for (all, own) in sum.busy.iter_mut().zip(ledger.split.busy) {
                *all += own;
            }
        }
        let share = |resource: Resource| {
            (sum.busy[resource as usize] as f64 / sum.took.max(1) as f64).min(1.0)
        };
        let name = |pool: usize| plan.pools[pool].name.clone();
        let mut bound = Resource::Attention;
        for own in Resource::ALL {
            if share(own) > share(bound) {
                bound = own;
            }
        }
        found.push(SplitTime {
            attention_pools: split.attention.iter().map(|pool| name(*pool)).collect(),
            ffn_pool: name(split.ffn),
            micro_batches: split.how.micro_batches,
            attention: share(Resource::Attention),
            dispatch: share(Resource::Dispatch),
            ffn: share(Resource::Ffn),
            combine: share(Resource::Combine),
            attention_bubble: 1.0 - share(Resource::Attention),
            ffn_bubble: 1.0 - share(Resource::Ffn),
            bound: bound.word(),
            step: step(service.pool),
        });
    }
    found
}
