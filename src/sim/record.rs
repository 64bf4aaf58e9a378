//! What is noted of a run for looking at it afterwards, if asked: replicas and links over time in
//! bounded memory ([`Timeline`]), every step and request as a [`Trace`] for a trace viewer, and how
//! far it is. A run says the same whether it is recorded or not, and one that is not pays for a
//! comparison at each hook.

mod json;
mod series;
mod timeline;
mod trace;

pub use timeline::{LinkLine, ReplicaBin, ReplicaLine, StepKind, Timeline};
pub use trace::{Trace, TraceEnd};

use super::lane::{Batch, Ended};
use super::network::Network;
use super::queue::Nanos;
use super::replica::ReplicaState;
use super::request::{ReqId, Request};
use crate::plan::Plan;
use std::sync::atomic::{AtomicU64, Ordering};
use timeline::Timelines;

/// What to note of a run; nothing by default.
#[derive(Default)]
pub struct Recording<'r> {
    /// Replicas and links over time.
    pub timeline: bool,
    /// Every step and request.
    pub trace: Option<&'r mut Trace>,
    /// How far the run is.
    pub progress: Option<&'r Progress>,
}

/// How far a run is, for another thread to look at.
#[derive(Debug, Default)]
pub struct Progress {
    /// Requests that have ended.
    pub ended: AtomicU64,
    /// Requests of the run.
    pub total: AtomicU64,
}

/// Notes what it is asked to.
#[derive(Default)]
pub(super) struct Recorder<'r> {
    timelines: Option<Timelines>,
    trace: Option<&'r mut Trace>,
    progress: Option<&'r Progress>,
}

impl<'r> Recorder<'r> {
    pub(super) fn new(recording: Recording<'r>, plan: &Plan, replicas: &[ReplicaState]) -> Self {
        let mut trace = recording.trace;
        if let Some(trace) = &mut trace {
            trace.name_processes(plan, replicas);
        }
        Self {
            timelines: recording.timeline.then(|| Timelines::new(replicas.len())),
            trace,
            progress: recording.progress,
        }
    }

    /// So many of the requests have ended.
    pub(super) fn progress(&self, ended: u64, total: u64) {
        if let Some(progress) = self.progress {
            progress.ended.store(ended, Ordering::Relaxed);
            progress.total.store(total, Ordering::Relaxed);
        }
    }

    /// A request was sent to a replica.
    pub(super) fn arrived(&mut self, now: Nanos, id: ReqId, request: &Request) {
        if let Some(trace) = &mut self.trace {
            trace.arrived(now, id, request);
        }
    }

    /// A replica's scheduler has been called; `launched`: the cohort whose step it has started.
    pub(super) fn scheduled(
        &mut self,
        now: Nanos,
        replica: u32,
        state: &ReplicaState,
        launched: Option<u32>,
    ) {
        if self.timelines.is_none() && self.trace.is_none() {
            return;
        }
        let step = launched.map(|cohort| {
            let batches = &state.batches[cohort as usize];
            (kind(batches), batches.as_slice())
        });
        if let Some(timelines) = &mut self.timelines {
            timelines.level(now, replica, state);
            if let Some((kind, _)) = step {
                timelines.step(replica, kind, &state.spans);
            }
        }
        if let (Some(trace), Some((kind, batches))) = (&mut self.trace, step) {
            trace.step(now, replica, state, kind, batches);
        }
    }

    /// A lane's step has ended.
    pub(super) fn produced(&mut self, now: Nanos, replica: u32, ended: &Ended) {
        if let Some(timelines) = &mut self.timelines {
            let apart: u64 = ended.apart.iter().map(|(_, own)| u64::from(*own)).sum();
            let firsts = ended.prefilled.len() as u64;
            timelines.tokens(now, replica, u64::from(ended.steady) + apart + firsts);
        }
    }

    /// A request's first token was delivered.
    pub(super) fn first_token(&mut self, now: Nanos, id: ReqId) {
        if let Some(trace) = &mut self.trace {
            trace.first_token(now, id);
        }
    }

    /// A prefilled request stays where it is.
    pub(super) fn decodes(&mut self, now: Nanos, id: ReqId) {
        if let Some(trace) = &mut self.trace {
            trace.decodes(now, id);
        }
    }

    /// A prefilled request leaves a replica for another, which may have to make room first.
    pub(super) fn handed_off(&mut self, now: Nanos, id: ReqId, state: (u32, usize)) {
        if let Some(trace) = &mut self.trace {
            trace.handed_off(now, id, state);
        }
    }

    /// Its KV has arrived.
    pub(super) fn landed(&mut self, now: Nanos, id: ReqId, replica: u32) {
        if let Some(trace) = &mut self.trace {
            trace.landed(now, id, replica);
        }
    }

    /// A request has ended, served or not.
    pub(super) fn ended(&mut self, now: Nanos, id: ReqId, served: bool) {
        if let Some(trace) = &mut self.trace {
            trace.ended(now, id, served);
        }
    }

    /// Flows have new rates.
    pub(super) fn flows(&mut self, now: Nanos, network: &Network) {
        let Some(timelines) = &mut self.timelines else {
            return;
        };
        for (channel, rate) in network.changed() {
            timelines.link(now, channel, rate);
        }
    }

    /// The run has ended.
    pub(super) fn finished(self, now: Nanos, replicas: &[ReplicaState]) -> Option<Timeline> {
        self.timelines
            .map(|timelines| timelines.finished(now, replicas))
    }
}

/// What a step carries.
fn kind(batches: &[Batch]) -> StepKind {
    let decodes = batches.iter().any(|batch| batch.decodes > 0);
    let prompts = batches.iter().any(|batch| !batch.chunks.is_empty());
    match (prompts, decodes) {
        (true, false) => StepKind::Prefill,
        (true, true) => StepKind::Mixed,
        (false, _) => StepKind::Decode,
    }
}
