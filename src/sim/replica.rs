//! A copy of the model at work: its lanes, its pipeline, its price list.
//!
//! Lanes that share experts step together; a lane without work waits. With a pipeline of `p`
//! stages up to `p` micro-batches (cohorts) are under way; each passes the stages in order, a stage
//! takes one at a time.

use super::lane::{Batch, Lane, Settings};
use super::ledger::{Ledger, Phase};
use super::metrics::Gaps;
use super::pricer::Pricer;
use super::queue::Nanos;
use super::request::Arena;
use super::station::{self, Station};
use super::steady::{Run, step_time};
use crate::cost::{LaneShape, Reach, StepPrice};
use crate::plan::{EngineKind, Plan, PlannedPool, PlannedService};
use crate::units::real;
use std::rc::Rc;

/// A replica.
pub(super) struct ReplicaState {
    /// Index of its pool in the plan.
    pub(super) pool: usize,
    /// Index of the replica in the pool; of a split, of the copy in the service.
    pub(super) index: usize,
    /// Pool, replica in it and lane in that, of each lane.
    pub(super) homes: Vec<(usize, usize, u32)>,
    pub(super) lanes: Vec<Lane>,
    /// Per cohort, per lane.
    pub(super) batches: Vec<Vec<Batch>>,
    in_flight: Vec<bool>,
    next_cohort: usize,
    /// When each stage is free.
    pub(super) stage_free: Vec<Nanos>,
    /// What its steps add up to.
    pub(super) ledger: Ledger,
    /// When the latest step entered and left each stage.
    pub(super) spans: Vec<(Nanos, Nanos)>,
    /// Stations of its server: what takes requests in, and what hands tokens out.
    pub(super) front: Station,
    pub(super) back: Station,
    /// What a request takes outside the server.
    pub(super) network: Nanos,
    /// Whether the host puts a batch together while the one before runs.
    pub(super) overlap: bool,
    /// When the latest step was started, and when one ended last.
    pub(super) started: Nanos,
    pub(super) last_end: Option<Nanos>,
    /// Every step is an event.
    pub(super) stepped: bool,
    /// Steps known in advance, the one under way the first.
    pub(super) run: Option<Run>,
    /// When the step under way ends; of one stage.
    pub(super) ends_at: Nanos,
    /// Lists for advancing a run.
    pub(super) dues: Vec<u64>,
    pub(super) gaps: Gaps,
    /// Steps that were no event.
    #[cfg(test)]
    pub(super) advanced: u64,
    /// Start of every step of every lane, and who is in it: name and tokens.
    #[cfg(test)]
    pub(super) log: Vec<Noted>,
    pub(super) steps: u64,
    pub(super) request_steps: u64,
}

/// A step by hand: when it starts, and who is in it (name and tokens).
#[cfg(test)]
pub(super) type Noted = (Nanos, Vec<(u64, u32)>);

/// A launched step: which cohort, when it ends, when the first stage takes another.
pub(super) struct Launched {
    pub(super) cohort: u32,
    pub(super) end: Nanos,
    pub(super) stage_free: Option<Nanos>,
}

/// What a replica's lanes hold and have before them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Levels {
    /// Requests admitted, transfers on the way included.
    pub(super) running: u64,
    /// Requests not admitted yet.
    pub(super) waiting: u64,
    /// Bytes of KV memory requests hold; what is kept for reuse only is left out.
    pub(super) held: u64,
    /// All bytes of it.
    pub(super) capacity: u64,
}

/// What a pool's lanes go by.
fn settings(pool: &PlannedPool, longest: u32, seed: u64) -> Settings {
    let engine = &pool.engine;
    Settings {
        budget: engine.max_num_batched_tokens,
        max_seqs: engine.max_num_seqs,
        block: engine.block_size,
        chunked: engine.enable_chunked_prefill,
        scheduling: engine.scheduling,
        speculation: engine.speculation.clone(),
        // A state is of one sequence's end: it can't be shared by the beginnings.
        reuse: engine.caching.prefix && pool.memory.sequence.state == 0,
        tiers: engine.caching.tiers.clone(),
        longest,
        capacity: pool.memory.pool_bytes(),
        kv: Rc::new(pool.memory.sequence.clone()),
        seed,
    }
}

impl ReplicaState {
    /// A copy of a service, idle. `reaches`: those of the model.
    pub(super) fn new(
        plan: &Plan,
        service: &PlannedService,
        index: usize,
        reaches: &[Reach],
        (longest, seed): (u32, u64),
    ) -> Self {
        let pool = &plan.pools[service.pool];
        let stages = pool.stages.len();
        let engine = &pool.engine;
        let homes: Vec<(usize, usize, u32)> = plan
            .shares(service, index)
            .flat_map(|(pool, replica)| {
                (0..plan.pools[pool].layout.dp).map(move |lane| (pool, replica, lane))
            })
            .collect();
        let lanes = homes.len();
        // vLLM starts an API server for each lane (`--api-server-count`); lanes of a split are engines of
        // their own. The others' lanes share one.
        let servers = if service.split.is_some() || engine.kind == EngineKind::Vllm {
            real(lanes.max(1) as u64)
        } else {
            1.0
        };
        let all: Vec<Lane> = homes
            .iter()
            .map(|(pool, ..)| {
                let settings = settings(&plan.pools[*pool], longest, seed);
                Lane::new(settings, stages, reaches)
            })
            .collect();
        Self {
            pool: service.pool,
            index,
            homes,
            lanes: all,
            batches: (0..stages)
                .map(|_| (0..lanes).map(|_| Batch::default()).collect())
                .collect(),
            in_flight: vec![false; stages],
            next_cohort: 0,
            stage_free: vec![0; stages],
            front: Station::new(engine.host.request * (1.0 / servers)),
            back: Station::new(engine.host.per_token() * (1.0 / servers)),
            network: station::nanos(engine.host.network),
            overlap: engine.host.overlap,
            started: 0,
            last_end: None,
            stepped: false,
            run: None,
            ends_at: 0,
            dues: Vec::new(),
            gaps: Gaps::default(),
            #[cfg(test)]
            advanced: 0,
            #[cfg(test)]
            log: Vec::new(),
            ledger: Ledger::new(stages),
            spans: vec![(0, 0); stages],
            steps: 0,
            request_steps: 0,
        }
    }

    /// Whether the event that a step ends now is that of the step under way: one that was part of a
    /// run which was cut short has another time. Only one stage has runs.
    pub(super) fn is_due(&self, now: Nanos) -> bool {
        self.stage_free.len() > 1 || self.in_flight[0] && self.ends_at == now
    }

    /// A cohort's step has left the last stage.
    pub(super) fn landed(&mut self, cohort: usize, now: Nanos) {
        self.in_flight[cohort] = false;
        self.last_end = Some(now);
        self.ledger.landed(now);
    }

    /// When the host puts together a batch that starts now: with overlap, when the step that has just
    /// ended was started.
    fn seen(&self, now: Nanos) -> Nanos {
        if self.overlap && self.last_end == Some(now) {
            self.started
        } else {
            Nanos::MAX
        }
    }

    /// What its lanes hold and have before them.
    pub(super) fn levels(&self) -> Levels {
        let mut levels = Levels::default();
        for lane in &self.lanes {
            let memory = lane.memory();
            levels.running += u64::from(lane.running());
            levels.waiting += u64::from(lane.waiting());
            levels.held += memory.capacity - memory.available();
            levels.capacity += memory.capacity;
        }
        levels
    }

    /// Starts a step if the first stage is free and some cohort has work.
    pub(super) fn launch(
        &mut self,
        requests: &mut Arena,
        pricer: &mut Pricer,
        now: Nanos,
    ) -> Option<Launched> {
        if self.stage_free[0] > now {
            return None;
        }
        let stages = self.stage_free.len();
        let seen = self.seen(now);
        for offset in 0..stages {
            let cohort = (self.next_cohort + offset) % stages;
            if self.in_flight[cohort] || !self.lanes.iter().any(|lane| lane.has_work(cohort)) {
                continue;
            }
            // Nothing to do for those who had come in time: the host puts a batch together now.
            let any = self.schedule(requests, cohort, now, seen)
                || seen != Nanos::MAX && self.schedule(requests, cohort, now, Nanos::MAX);
            if !any {
                continue;
            }
            #[cfg(test)]
            self.note(requests, cohort, now);
            self.next_cohort = (cohort + 1) % stages;
            self.started = now;
            let (mut launched, price) = self.start(pricer, cohort, now);
            if let Some(end) = self.look_ahead(requests, pricer, (now, price)) {
                launched.end = end;
            }
            self.ends_at = launched.end;
            return Some(launched);
        }
        None
    }

    /// Builds the next step of all lanes from those who had come by `seen`. Whether there is one.
    fn schedule(&mut self, requests: &mut Arena, cohort: usize, now: Nanos, seen: Nanos) -> bool {
        let mut any = false;
        for (lane, batch) in self.lanes.iter_mut().zip(&mut self.batches[cohort]) {
            any |= lane.schedule(requests, cohort, batch, (now, seen));
        }
        any
    }

    /// Writes down who is in a step, for tests that know the schedule by hand.
    #[cfg(test)]
    fn note(&mut self, requests: &Arena, cohort: usize, now: Nanos) {
        for (lane, batch) in self.lanes.iter().zip(&self.batches[cohort]) {
            let mut who = lane.decoding(requests, cohort, batch);
            let prompts = batch.prefills.iter().zip(&batch.chunks);
            who.extend(prompts.map(|(id, chunk)| (requests[*id].answer, chunk.tokens)));
            self.log.push((now, who));
        }
    }

    /// Starts a step. Also its last stage's price.
    fn start(&mut self, pricer: &mut Pricer, cohort: usize, now: Nanos) -> (Launched, StepPrice) {
        let batches = &self.batches[cohort];
        let mut running = 0;
        // Almost every plan has one lane: no list is made for it.
        let single;
        let many;
        let lanes: &[LaneShape<'_>] = if let [batch] = batches.as_slice() {
            single = [batch.shape()];
            &single
        } else {
            many = batches.iter().map(Batch::shape).collect::<Vec<_>>();
            &many
        };
        for batch in batches {
            running += u64::from(batch.decodes) + batch.chunks.len() as u64;
        }
        let phase = Phase::of(batches);
        let mut at = now;
        let mut price = StepPrice::default();
        for stage in 0..self.stage_free.len() {
            price = pricer.stage(stage, lanes);
            let took = step_time(price.took(self.overlap));
            let exposed = price.exposed(self.overlap);
            if let Some(used) = pricer.split_use() {
                self.ledger.split(used);
            }
            self.ledger.stage(phase, stage, &price, exposed, took);
            let enters = at.max(self.stage_free[stage]);
            at = enters.saturating_add(took);
            self.stage_free[stage] = at;
            self.spans[stage] = (enters, at);
        }
        let first_end = self.stage_free[0];
        let (levels, batches) = (self.levels(), &self.batches[cohort]);
        self.ledger
            .step(phase, levels, batches, now, first_end - now);
        self.in_flight[cohort] = true;
        self.steps += 1;
        self.request_steps += running;
        let piped = self.stage_free.len() > 1;
        let launched = Launched {
            cohort: u32::try_from(cohort).unwrap_or(0),
            end: at,
            stage_free: piped.then_some(first_end),
        };
        (launched, price)
    }
}
