//! Every job of one AFD step, as a window draws it and a test adds it up.
//!
//! Jobs start as soon as their resource is free and their micro-batch is there, as in the pipeline's
//! recurrence, walked layer by layer. What lies between a resource's jobs, before its first and after
//! its last is its bubble.

use super::pipeline::{Micro, Resource, Run, STAGES};
use crate::cost::step::Femtos;

/// Most jobs of a Gantt: four micro-batches of 1,024 layers.
pub const GANTT_SPANS: usize = 16_384;

/// One job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Who does it.
    pub resource: Resource,
    /// For which micro-batch.
    pub micro: u32,
    /// In which layer.
    pub layer: u32,
    /// When it starts.
    pub start: Femtos,
    /// When it ends.
    pub end: Femtos,
}

/// One step, job by job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StepGantt {
    /// Jobs in the order they were dealt: by layer, micro-batch, resource.
    pub spans: Vec<Span>,
    /// When the last ends.
    pub took: Femtos,
}

impl StepGantt {
    /// Of these layers; nothing where there would be more than [`GANTT_SPANS`] jobs.
    #[must_use]
    pub fn of(runs: &[Run]) -> Option<Self> {
        let mut jobs = 0_usize;
        for run in runs {
            let layers = usize::try_from(run.count).ok()?;
            let own = layers.checked_mul(run.layer.micros().len() * STAGES)?;
            jobs = jobs.checked_add(own)?;
        }
        if jobs > GANTT_SPANS {
            return None;
        }
        let mut gantt = Self {
            spans: Vec::with_capacity(jobs),
            took: 0,
        };
        let (mut free, mut ready) = (Micro::default(), Vec::new());
        let layers = runs
            .iter()
            .flat_map(|run| (0..run.count).map(move |_| &run.layer));
        for (layer, times) in (0..).zip(layers) {
            ready.resize(ready.len().max(times.micros().len()), 0);
            for ((index, micro), ready) in (0..).zip(times.micros()).zip(&mut ready) {
                for (resource, time) in Resource::ALL.into_iter().zip(micro) {
                    let free = &mut free[resource as usize];
                    let start = (*ready).max(*free);
                    let end = start.saturating_add(*time);
                    (*free, *ready) = (end, end);
                    gantt.took = gantt.took.max(end);
                    gantt.spans.push(Span {
                        resource,
                        micro: index,
                        layer,
                        start,
                        end,
                    });
                }
            }
        }
        Some(gantt)
    }

    /// Gaps of a resource, from the step's start to its end, in order.
    pub fn gaps(&self, resource: Resource) -> impl Iterator<Item = (Femtos, Femtos)> {
        let own = self.spans.iter().filter(move |s| s.resource == resource);
        let ends = own.clone().map(|span| span.end);
        let starts = own.map(|span| span.start);
        std::iter::once(0)
            .chain(ends)
            .zip(starts.chain(std::iter::once(self.took)))
            .filter(|(from, to)| from < to)
    }
}
