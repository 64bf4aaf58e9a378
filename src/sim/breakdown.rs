//! Where the device time of each pool went: by what steps carried and by operator class, beside what
//! was idle; and what was running, waiting and held meanwhile.
//!
//! Device time is that of all stages of all replicas. Of a stage's time in the run, part is busy,
//! part is a *bubble* (a step is under way, in another stage), the rest idle.

use super::ledger::{Phase, PhaseSum};
use super::queue::Nanos;
use super::replica::ReplicaState;
use crate::cost::Class;
use crate::plan::Plan;
use serde::Serialize;

/// The steps of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseTime {
    /// `with prefill` or `decode only`.
    pub carries: &'static str,
    /// How many.
    pub steps: u64,
    /// Tokens computed in one, on average, all lanes together.
    pub tokens_per_step: f64,
    /// Of them decodes.
    pub decodes_per_step: f64,
    /// Device time, seconds.
    pub seconds: f64,
    /// Of it by operator class, largest first; they sum to `seconds`.
    pub by_class: Vec<(&'static str, f64)>,
}

/// Where a pool's time went.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoolTime {
    /// Its place among the plan's pools.
    #[serde(skip)]
    pub index: usize,
    /// Its name.
    pub pool: String,
    /// Its replicas.
    pub replicas: usize,
    /// Stages of each.
    pub stages: usize,
    /// Lanes of each.
    pub lanes: usize,
    /// Share of device time with a step, over the run.
    pub busy: f64,
    /// Share without one while a step is under way in another stage.
    pub bubble: f64,
    /// Device time, seconds: both kinds of steps.
    pub seconds: f64,
    /// Both kinds of steps.
    pub phases: Vec<PhaseTime>,
    /// Requests running, in the whole pool, on average while steps run.
    pub running: f64,
    /// Requests waiting.
    pub waiting: f64,
    /// Share of the KV memory requests hold.
    pub kv: f64,
    /// Requests preempted.
    pub preemptions: u64,
    /// Tokens of each step's fullest lane against the mean lane's.
    pub fullest_lane: f64,
    /// Busy time of the busiest replica against the mean one's.
    pub busiest_replica: f64,
    /// Busy time of the slowest stage against the mean one's.
    pub slowest_stage: f64,
}

/// All pools that serve.
pub(super) fn breakdown(plan: &Plan, replicas: &[ReplicaState], end: Nanos) -> Vec<PoolTime> {
    let of = |index: usize| {
        let own: Vec<&ReplicaState> = replicas.iter().filter(|r| r.pool == index).collect();
        (!own.is_empty()).then(|| pool_time(plan, index, &own, end))
    };
    (0..plan.pools.len()).filter_map(of).collect()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "shares and means for people; sums are exact before"
)]
fn pool_time(plan: &Plan, index: usize, replicas: &[&ReplicaState], end: Nanos) -> PoolTime {
    let stages = replicas.first().map_or(1, |r| r.spans.len());
    let lanes = replicas.first().map_or(1, |r| r.lanes.len());
    let sum = |of: &dyn Fn(&ReplicaState) -> u128| replicas.iter().map(|r| of(r)).sum::<u128>();
    let busy_of = |r: &ReplicaState| r.ledger.stage_busy.iter().map(|b| u128::from(*b)).sum();
    let busy = sum(&busy_of);
    let active = sum(&|r| u128::from(r.ledger.active)) * stages as u128;
    let available = u128::from(end) * (stages * replicas.len()) as u128;
    let ratio = |part: u128, whole: u128| part as f64 / whole.max(1) as f64;
    let phases: Vec<PhaseTime> = [Phase::Prefill, Phase::Decode]
        .into_iter()
        .map(|phase| phase_time(phase, replicas))
        .collect();
    let weight = sum(&|r| r.ledger.weight);
    // Each replica's mean over its own time, summed.
    let mean = |of: &dyn Fn(&ReplicaState) -> u128| {
        let each = replicas.iter().map(|r| ratio(of(r), r.ledger.weight));
        each.sum::<f64>()
    };
    let tokens: u64 = replicas
        .iter()
        .flat_map(|r| &r.ledger.phases)
        .map(|sums| sums.tokens)
        .sum();
    let busiest = replicas.iter().map(|r| busy_of(r)).max().unwrap_or(0);
    let of_stage = |stage: usize| sum(&|r| u128::from(r.ledger.stage_busy[stage]));
    let slowest = (0..stages).map(of_stage).max().unwrap_or(0);
    let capacity = replicas
        .first()
        .map_or(0, |r| u128::from(r.levels().capacity));
    PoolTime {
        index,
        pool: plan.pools[index].name.clone(),
        replicas: replicas.len(),
        stages,
        lanes,
        busy: ratio(busy, available),
        bubble: ratio(active.saturating_sub(busy), available),
        seconds: phases.iter().map(|phase| phase.seconds).sum(),
        phases,
        running: mean(&|r| r.ledger.running),
        waiting: mean(&|r| r.ledger.waiting),
        kv: ratio(sum(&|r| r.ledger.kv), weight * capacity),
        preemptions: replicas
            .iter()
            .flat_map(|r| &r.lanes)
            .map(|lane| lane.preemptions)
            .sum(),
        fullest_lane: ratio(sum(&|r| r.ledger.fullest), u128::from(tokens)).max(1.0),
        busiest_replica: ratio(busiest * replicas.len() as u128, busy).max(1.0),
        slowest_stage: ratio(slowest * stages as u128, busy).max(1.0),
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds and means for people")]
fn phase_time(phase: Phase, replicas: &[&ReplicaState]) -> PhaseTime {
    let mut sums = PhaseSum::default();
    for replica in replicas {
        sums.add(&replica.ledger.phases[phase as usize]);
    }
    let seconds = |femtos: u128| femtos as f64 * 1e-15;
    let per_step = |count: u64| count as f64 / sums.steps.max(1) as f64;
    let mut by_class: Vec<(&'static str, f64)> = Class::ALL
        .iter()
        .map(|class| (class.name(), seconds(sums.by_class[*class as usize])))
        .filter(|(_, seconds)| *seconds > 0.0)
        .collect();
    by_class.sort_by(|a, b| b.1.total_cmp(&a.1));
    PhaseTime {
        carries: phase.name(),
        steps: sums.steps,
        tokens_per_step: per_step(sums.tokens),
        decodes_per_step: per_step(sums.decodes),
        seconds: seconds(sums.total),
        by_class,
    }
}
