//! The run loop: events in order of time, each handled by the replica, network or workload it
//! belongs to (`serve`, `turns`); books checked and summed up at the end (`close`).

mod background;
mod choose;
mod close;
mod handover;
mod serve;
mod turns;
mod wires;

use super::lane::Ended;
use super::metrics::Metrics;
use super::pricer::Pricer;
use super::queue::{Event, EventQueue, Nanos, Turn};
use super::record::{Recorder, Recording, Timeline};
use super::replica::ReplicaState;
use super::request::{Arena, ReqId};
use super::summary::{Latency, Summary, Work};
use crate::cost::{Fidelity, SplitPricer, StepPricer, reaches};
#[cfg(test)]
use crate::plan::Rule;
use crate::plan::{FirstToken, KvTransfer, Phases, Plan};
use crate::workload::{Arrivals, Load, Segment, Source, Trace, Workload, WorkloadError};
use background::Background;
use choose::Place;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;
use turns::Rounds;
use wires::Wires;

/// Everything that decides a run.
#[derive(Clone)]
pub struct Scenario {
    /// The frozen design.
    pub plan: Arc<Plan>,
    /// What is asked of it.
    pub workload: Workload,
    /// The workload's trace.
    pub trace: Option<Arc<Trace>>,
    /// How hard.
    pub load: Load,
    /// Whose prices.
    pub fidelity: Arc<dyn Fidelity>,
}

/// A hand on a run from outside.
#[derive(Debug, Clone, Copy)]
pub struct Control<'a> {
    /// Set to stop it.
    pub cancel: &'a AtomicBool,
}

/// Why a run gave no result.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SimError {
    /// Stopped from outside.
    #[error("cancelled")]
    Cancelled,
    /// The workload is wrong.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// No pool takes new requests.
    #[error("the plan has nobody to prefill: paint some GPUs co-located or prefill")]
    NoEntry,
    /// Requests are left and nothing more can happen.
    #[error("stall at {at_s:.3} s: {in_flight} requests are left and none can go on ({detail})")]
    Stall {
        /// Simulated seconds.
        at_s: f64,
        /// Requests left.
        in_flight: u64,
        /// Where they are.
        detail: String,
    },
    /// The books don't balance: a defect of the simulator.
    #[error("a defect of the simulator: {what} at the end of the run")]
    Conservation {
        /// What does not balance.
        what: String,
    },
}

/// Events between looks at `cancel`: some hundred microseconds.
const CANCEL_EVERY: u64 = 1024;
/// Events without a token delivered or a request sent or ended after which a run is called stalled.
/// The longest prompt in the smallest chunks on thousands of replicas stays below it.
const STALL_EVENTS: u64 = 20_000_000;
/// Longest simulated time, ns: 100 years. Later times are rounded or cut, so nothing true can be
/// said there.
const HORIZON: Nanos = 100 * 365 * 86_400 * 1_000_000_000;

/// Runs a scenario to its end.
///
/// # Errors
/// Cancelled, a wrong workload, a stall, or books that don't balance.
pub fn run(scenario: &Scenario, control: Control<'_>) -> Result<Summary, SimError> {
    run_recorded(scenario, control, Recording::default()).map(|(summary, _)| summary)
}

/// Runs a scenario and measures as the client of a benchmark does: every request counts, the first
/// burst and the last to end too.
///
/// # Errors
/// See [`run`].
pub fn run_as_client(scenario: &Scenario, control: Control<'_>) -> Result<Summary, SimError> {
    let mut engine = Engine::new(scenario, Recording::default())?;
    engine.metrics.whole = true;
    engine.go(control)?;
    engine.check()?;
    Ok(engine.summary(scenario))
}

/// The same, and what each request saw, in order of arrival (of those at one time, prompt and answer).
///
/// # Errors
/// See [`run`].
pub fn run_each_as_client(
    scenario: &Scenario,
    control: Control<'_>,
) -> Result<(Summary, Vec<Latency>), SimError> {
    let mut engine = Engine::new(scenario, Recording::default())?;
    engine.metrics.whole = true;
    engine.go(control)?;
    engine.check()?;
    let each = engine.metrics.each();
    Ok((engine.summary(scenario), each))
}

/// The same, and notes what it is asked to; the timeline if that is asked for. Recording changes
/// nothing of the run.
///
/// # Errors
/// See [`run`]. What has been recorded until then is with its owner.
pub fn run_recorded(
    scenario: &Scenario,
    control: Control<'_>,
    recording: Recording<'_>,
) -> Result<(Summary, Option<Timeline>), SimError> {
    let stepped = recording.timeline || recording.trace.is_some();
    let mut engine = Engine::new(scenario, recording)?;
    if stepped {
        engine.step_all();
    }
    engine.go(control)?;
    engine.check()?;
    let summary = engine.summary(scenario);
    let recorder = std::mem::take(&mut engine.recorder);
    Ok((summary, recorder.finished(engine.now, &engine.replicas)))
}

/// A run whose steps cost what a rule says, and what is known of it in full: for tests that compare
/// schedules step by step.
#[cfg(test)]
pub(super) struct Watched {
    pub(super) summary: Summary,
    /// By replica: start of every step, and who is in it (name and tokens).
    pub(super) steps: Vec<Vec<super::replica::Noted>>,
    pub(super) records: Vec<super::metrics::Record>,
}

/// Picoseconds a step takes.
#[cfg(test)]
pub(super) type Given = fn(&[crate::cost::LaneShape<'_>]) -> u64;

/// Runs a scenario at given prices; `rotate`: requests go round the replicas in turn.
#[cfg(test)]
pub(super) fn watch(scenario: &Scenario, rule: Given, rotate: bool) -> Watched {
    watch_pools(scenario, &[rule], rotate, false)
}

/// The same with prices of each pool in turn, the last one's for all the others; `apart`: transfers
/// don't share links.
#[cfg(test)]
pub(super) fn watch_pools(
    scenario: &Scenario,
    rules: &[Given],
    rotate: bool,
    apart: bool,
) -> Watched {
    let cancel = AtomicBool::new(false);
    let mut engine = Engine::new(scenario, Recording::default()).unwrap();
    for (pool, pricer) in engine.pricers.iter_mut().enumerate() {
        if let Some(pricer) = pricer {
            *pricer = Pricer::Given(rules[pool.min(rules.len() - 1)]);
        }
    }
    if rotate {
        let lanes = engine.places[0].lanes.clone();
        engine.places[0] = Place::new(Rule::RoundRobin, &scenario.plan.routing, lanes, 0, 0);
    }
    engine.wires.apart = apart;
    engine.go(Control { cancel: &cancel }).unwrap();
    engine.check().unwrap();
    Watched {
        summary: engine.summary(scenario),
        steps: engine.replicas.into_iter().map(|own| own.log).collect(),
        records: engine.metrics.records,
    }
}

/// Runs a scenario, every step an event or not. Also how many steps were none.
#[cfg(test)]
pub(super) fn run_stepped(scenario: &Scenario, stepped: bool) -> Result<(Summary, u64), SimError> {
    let cancel = AtomicBool::new(false);
    let mut engine = Engine::new(scenario, Recording::default())?;
    if stepped {
        engine.step_all();
    }
    engine.go(Control { cancel: &cancel })?;
    engine.check()?;
    let advanced = engine.replicas.iter().map(|own| own.advanced).sum();
    Ok((engine.summary(scenario), advanced))
}

/// What happens to prefilled requests of a replica.
#[derive(Clone, Copy)]
enum After {
    /// They decode where they are.
    Decode,
    /// They go to a decode lane.
    Handoff(Handoff),
}

/// How a prefill service hands over.
#[derive(Clone, Copy)]
struct Handoff {
    /// Index of the place where the decode lane is chosen.
    place: usize,
    first_token: FirstToken,
    sends: KvTransfer,
}

/// Longest prompt and answer together there may be.
fn longest(scenario: &Scenario) -> u64 {
    match (&scenario.workload.arrivals, &scenario.trace) {
        (Arrivals::Trace, Some(trace)) => {
            let each = trace.requests.iter();
            each.map(|row| row.input.saturating_add(row.output))
                .max()
                .unwrap_or(0)
        }
        _ => scenario.workload.longest_context(),
    }
}

struct Engine<'a> {
    plan: &'a Plan,
    source: Source,
    closed: bool,
    queue: EventQueue,
    now: Nanos,
    /// Whose event is being handled.
    turn: Turn,
    /// When the tokens of the step that has just ended reach their clients.
    told: Nanos,
    requests: Arena,
    replicas: Vec<ReplicaState>,
    after: Vec<After>,
    /// One price list per pool.
    pricers: Vec<Option<Pricer>>,
    /// Where a lane is chosen: the router, and the hand-over of each service.
    places: Vec<Place>,
    /// By replica, the number of its first lane; by lane, its place among each place's lanes.
    first_lane: Vec<usize>,
    spots: Vec<Vec<(u32, u32)>>,
    wires: Wires<'a>,
    background: Background,
    /// Drawn, its arrival in the queue.
    pending: Option<ReqId>,
    /// Hidden rounds of requests under way.
    rounds: Rounds,
    /// A list for the text of the request being drawn.
    text: Vec<Segment>,
    metrics: Metrics,
    ended: Ended,
    events: u64,
    work: Work,
    tokens_asked: u64,
    recorder: Recorder<'a>,
}

impl<'a> Engine<'a> {
    fn new(scenario: &'a Scenario, recording: Recording<'a>) -> Result<Self, SimError> {
        let plan: &Plan = &scenario.plan;
        let source = Source::new(
            &scenario.workload,
            scenario.load,
            scenario.trace.clone(),
            None,
        )?;
        let reaches = reaches(&plan.model);
        let transfer = scenario.fidelity.transfer();
        let longest = u32::try_from(longest(scenario)).unwrap_or(u32::MAX / 4);
        let seed = scenario.workload.seed;
        let mut replicas: Vec<ReplicaState> = Vec::new();
        let mut lanes_of: Vec<Vec<(u32, u32)>> = Vec::new();
        for service in &plan.services {
            let mut lanes = Vec::new();
            for index in 0..plan.copies(service) {
                let id = u32::try_from(replicas.len()).unwrap_or(u32::MAX);
                let own = ReplicaState::new(plan, service, index, &reaches, (longest, seed));
                let count = u32::try_from(own.lanes.len()).unwrap_or(u32::MAX);
                lanes.extend((0..count).map(|lane| (id, lane)));
                replicas.push(own);
            }
            lanes_of.push(lanes);
        }
        let mut after = Vec::with_capacity(replicas.len());
        let mut lanes_at = vec![Vec::new()];
        for (index, service) in plan.services.iter().enumerate() {
            let pool = &plan.pools[service.pool];
            let (then, targets) = if service.phases == Phases::Prefill {
                let fed = plan.feeds.iter().filter(|(from, _)| *from == index);
                let handoff = Handoff {
                    place: index + 1,
                    first_token: pool.engine.first_token,
                    sends: pool.engine.kv_transfer,
                };
                let targets = fed.flat_map(|(_, to)| lanes_of[*to].iter().copied());
                (After::Handoff(handoff), targets.collect())
            } else {
                (After::Decode, Vec::new())
            };
            after.extend((0..plan.copies(service)).map(|_| then));
            lanes_at.push(targets);
            if service.phases != Phases::Decode {
                lanes_at[0].extend(lanes_of[index].iter().copied());
            }
        }
        if lanes_at[0].is_empty() {
            return Err(SimError::NoEntry);
        }
        let mut first_lane = Vec::with_capacity(replicas.len());
        let mut lanes = 0;
        for replica in &replicas {
            first_lane.push(lanes);
            lanes += replica.lanes.len();
        }
        let mut spots = vec![Vec::new(); lanes];
        for (place, own) in (0_u32..).zip(&lanes_at) {
            for (index, (replica, lane)) in (0_u32..).zip(own) {
                spots[first_lane[*replica as usize] + *lane as usize].push((place, index));
            }
        }
        let routing = &plan.routing;
        let rules = std::iter::once(routing.entry).chain(std::iter::repeat(routing.handover));
        let places = rules
            .zip(lanes_at)
            .zip(0..)
            .map(|((rule, lanes), place)| Place::new(rule, routing, lanes, seed, place))
            .collect();
        let pricers = (0..plan.pools.len())
            .map(|pool| {
                let service = plan.services.iter().find(|s| s.pool == pool)?;
                let split = SplitPricer::new(plan, service, &scenario.fidelity);
                Some(split.map_or_else(
                    || {
                        Pricer::Plan(Box::new(StepPricer::new(
                            &plan.topology,
                            &plan.model,
                            &plan.pools[pool],
                            &scenario.fidelity,
                        )))
                    },
                    |split| Pricer::Split(Box::new(split)),
                ))
            })
            .collect();
        let burst = match scenario.load {
            Load::Concurrency(n) => u64::from(n),
            Load::Rate(_) | Load::TraceSpeed(_) => 0,
        };
        Ok(Self {
            plan,
            closed: burst > 0,
            metrics: Metrics::new(source.requests(), source.starts(), burst),
            source,
            queue: EventQueue::default(),
            now: 0,
            turn: Turn::MAX,
            told: 0,
            requests: Arena::default(),
            recorder: Recorder::new(recording, plan, &replicas),
            background: Background::new(plan, &replicas),
            replicas,
            after,
            pricers,
            places,
            first_lane,
            spots,
            wires: Wires::new(plan, &transfer),
            pending: None,
            rounds: Rounds::default(),
            text: Vec::new(),
            ended: Ended::default(),
            events: 0,
            work: Work::default(),
            tokens_asked: 0,
        }
        .primed(burst))
    }

    /// Puts the first arrivals in.
    fn primed(mut self, burst: u64) -> Self {
        if self.closed {
            for _ in 0..burst {
                if !self.send_next() {
                    break;
                }
            }
        } else {
            self.next_arrival();
        }
        self
    }

    /// Makes every step an event.
    fn step_all(&mut self) {
        for replica in &mut self.replicas {
            replica.stepped = true;
        }
    }

    fn go(&mut self, control: Control<'_>) -> Result<(), SimError> {
        let (mut progress, mut progress_at) = (0, 0);
        let mut look_at = CANCEL_EVERY;
        while let Some((at, event)) = self.queue.pop() {
            if let Event::StepEnd { replica, .. } = event
                && !self.replicas[replica as usize].is_due(at)
            {
                continue;
            }
            if at > HORIZON {
                return Err(match event {
                    Event::Arrival | Event::Turn { .. } => WorkloadError::TooSlow.into(),
                    _ => self.stall("the next step or transfer ends after more than 100 years"),
                });
            }
            self.now = at;
            self.turn = event.turn();
            self.events += 1;
            if self.events >= look_at {
                look_at = self.events + CANCEL_EVERY;
                if control.cancel.load(Ordering::Relaxed) {
                    return Err(SimError::Cancelled);
                }
                let counts = &self.metrics.counts;
                let ended = counts.completed + counts.failed;
                self.recorder.progress(ended, self.metrics.total());
                let so_far = self.metrics.progress();
                if so_far != progress {
                    (progress, progress_at) = (so_far, self.events);
                } else if self.events - progress_at > STALL_EVENTS {
                    return Err(self.stall("steps go on, but no request does"));
                }
            }
            match event {
                Event::Arrival => {
                    // The request was drawn when its arrival was put in the queue.
                    self.arrive();
                    self.next_arrival();
                }
                Event::Turn { slot } => self.send_turn(ReqId(slot)),
                Event::StepEnd { replica, cohort } => self.step_end(replica, cohort as usize),
                Event::StageFree { replica } => self.launch(replica),
                Event::FlowEnd => self.flows_end(),
                Event::Queued { slot } => self.queued(ReqId(slot)),
                Event::Told => {
                    self.send_next();
                }
                Event::Loaded { slot } => self.loaded(ReqId(slot)),
                Event::Landed { slot } => self.landed(ReqId(slot)),
                Event::Sends { slot } => self.sends(ReqId(slot)),
            }
        }
        Ok(())
    }
}
