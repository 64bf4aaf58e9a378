//! What a replica's steps add up to: device time by operator class and by what the step carried,
//! where its prices come from, and what waited meanwhile. Sums are integers, a step adds to each
//! once, so that they say the same whatever the order.
//!
//! Device time is that of all stages together: a pipeline of four that is never idle spends four
//! seconds a second.

use super::lane::Batch;
use super::queue::Nanos;
use super::replica::Levels;
use super::split::SplitSum;
use crate::cost::{Class, Femtos, Origin, Series, SplitUse, StepPrice};

/// What a step carried. Some prefill decides its length, so a mixed step counts as one with prefill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// A chunk of a prompt at least.
    Prefill,
    /// Decodes only.
    Decode,
}

impl Phase {
    /// Of a step.
    pub(super) fn of(batches: &[Batch]) -> Self {
        if batches.iter().any(|batch| !batch.chunks.is_empty()) {
            Self::Prefill
        } else {
            Self::Decode
        }
    }

    /// Its words in results.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Prefill => "with prefill",
            Self::Decode => "decode only",
        }
    }
}

/// All steps of one phase.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PhaseSum {
    pub(super) steps: u64,
    /// Tokens computed, drafts to verify included.
    pub(super) tokens: u64,
    /// Decodes summed over steps.
    pub(super) decodes: u64,
    /// Device time, fs; 64 bits would be full after five hours.
    pub(super) total: u128,
    /// Of it by class.
    pub(super) by_class: [u128; Class::COUNT],
}

impl PhaseSum {
    /// Adds another replica's.
    pub(super) fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.tokens += other.tokens;
        self.decodes += other.decodes;
        self.total += other.total;
        for (own, more) in self.by_class.iter_mut().zip(&other.by_class) {
            *own += more;
        }
    }
}

/// A replica's sums.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// By [`Phase`] index.
    pub(super) phases: [PhaseSum; 2],
    /// Femtoseconds by where their price comes from.
    pub(super) by_origin: [u128; Origin::COUNT],
    /// Femtoseconds it may have been less, and more.
    pub(super) off: [u128; 2],
    /// Busy time of each stage.
    pub(super) stage_busy: Vec<Nanos>,
    /// Time with a step under way.
    pub(super) active: Nanos,
    active_since: Nanos,
    under_way: u32,
    /// Time of first stages, and over it what was running, waiting, and held of the KV memory
    /// (bytes), when the step was built.
    pub(super) weight: u128,
    pub(super) running: u128,
    pub(super) waiting: u128,
    pub(super) kv: u128,
    /// Tokens of each step's fullest lane, times lanes; against the tokens of all it says how much
    /// lanes wait for one another.
    pub(super) fullest: u128,
    /// How its steps used the halves of a split.
    pub(super) split: SplitSum,
}

/// Steps of a run that have been gone through.
pub(super) struct Advanced<'a> {
    /// Their prices, the one before the first of them first.
    pub(super) series: &'a Series,
    pub(super) steps: u64,
    /// As they were at the beginning.
    pub(super) levels: Levels,
    pub(super) batches: &'a [Batch],
    /// When the last of them started.
    pub(super) now: Nanos,
    /// What they take.
    pub(super) first_stages: Nanos,
    /// KV memory held, over that.
    pub(super) kv: u128,
}

impl Ledger {
    /// Of a replica with so many stages.
    pub(super) fn new(stages: usize) -> Self {
        Self {
            stage_busy: vec![0; stages],
            ..Self::default()
        }
    }

    /// A step used the halves of a split so.
    pub(super) fn split(&mut self, used: SplitUse) {
        self.split.add(used);
    }

    /// One stage of a step took `took`.
    /// `exposed`: what the device does not hide of the host, which the design gives.
    pub(super) fn stage(
        &mut self,
        phase: Phase,
        stage: usize,
        price: &StepPrice,
        exposed: Femtos,
        took: Nanos,
    ) {
        self.stage_busy[stage] = self.stage_busy[stage].saturating_add(took);
        let sums = &mut self.phases[phase as usize];
        sums.total += u128::from(price.total) + u128::from(exposed);
        sums.by_class[Class::Host as usize] += u128::from(exposed);
        self.by_origin[Origin::Given as usize] += u128::from(exposed);
        let all = sums
            .by_class
            .iter_mut()
            .chain(&mut self.by_origin)
            .chain(&mut self.off);
        let parts = price
            .by_class
            .iter()
            .chain(&price.by_origin)
            .chain(&price.off);
        for (sum, part) in all.zip(parts) {
            *sum += u128::from(*part);
        }
    }

    /// A step has been built and starts; its first stage takes `first`.
    pub(super) fn step(
        &mut self,
        phase: Phase,
        levels: Levels,
        batches: &[Batch],
        now: Nanos,
        first: Nanos,
    ) {
        if self.under_way == 0 {
            self.active_since = now;
        }
        self.under_way += 1;
        let (mut decodes, mut decoded, mut prompts, mut fullest) = (0, 0, 0, 0);
        for batch in batches {
            let own: u64 = batch.chunks.iter().map(|c| u64::from(c.tokens)).sum();
            decodes += u64::from(batch.decodes);
            prompts += own;
            let drafted = u64::from(batch.decodes) + u64::from(batch.drafted);
            decoded += drafted;
            fullest = fullest.max(own + drafted);
        }
        let sums = &mut self.phases[phase as usize];
        sums.steps += 1;
        sums.tokens += decoded + prompts;
        sums.decodes += decodes;
        self.fullest += u128::from(fullest) * batches.len() as u128;
        let weight = u128::from(first);
        self.weight += weight;
        self.running += weight * u128::from(levels.running);
        self.waiting += weight * u128::from(levels.waiting);
        self.kv += weight * u128::from(levels.held);
    }

    /// Steps have ended one after another, each after the first `steps` like the one before, and as many
    /// have started. See [`super::steady`].
    pub(super) fn advance(&mut self, advanced: &Advanced<'_>) {
        let Advanced { series, steps, .. } = *advanced;
        if steps == 0 {
            return;
        }
        let (first, slope) = (&series.first, &series.slope);
        // The first of them has been counted when it started: these are the 2nd to the last.
        let (count, rises) = (
            i128::from(steps),
            i128::from(steps) * i128::from(steps + 1) / 2,
        );
        let sum = |first: Femtos, slope: i64| {
            let sum = i128::from(first) * count + i128::from(slope) * rises;
            u128::try_from(sum).unwrap_or(0)
        };
        let took = sum(series.took, series.took_slope);
        let exposed = took - sum(first.total, slope.total);
        let phase = &mut self.phases[Phase::Decode as usize];
        phase.total += took;
        for (class, own) in phase.by_class.iter_mut().enumerate() {
            let is_attention = class == Class::Attention as usize;
            let slope = if is_attention { slope.total } else { 0 };
            *own += sum(first.by_class[class], slope);
        }
        phase.by_class[Class::Host as usize] += exposed;
        for (index, own) in self.by_origin.iter_mut().enumerate() {
            *own += sum(first.by_origin[index], slope.by_origin[index]);
        }
        self.by_origin[Origin::Given as usize] += exposed;
        for (index, own) in self.off.iter_mut().enumerate() {
            *own += sum(first.off[index], slope.off[index]);
        }
        let (mut decodes, mut fullest) = (0, 0);
        for batch in advanced.batches {
            decodes += u64::from(batch.decodes);
            fullest = fullest.max(batch.decodes);
        }
        phase.steps += steps;
        phase.tokens += steps * decodes;
        phase.decodes += steps * decodes;
        let lanes = advanced.batches.len() as u128;
        self.fullest += u128::from(steps) * u128::from(fullest) * lanes;
        let span = advanced.first_stages;
        self.stage_busy[0] = self.stage_busy[0].saturating_add(span);
        self.active += advanced.now - self.active_since;
        self.active_since = advanced.now;
        let weight = u128::from(span);
        self.weight += weight;
        self.running += weight * u128::from(advanced.levels.running);
        self.waiting += weight * u128::from(advanced.levels.waiting);
        self.kv += advanced.kv;
    }

    /// A step has left the last stage.
    pub(super) fn landed(&mut self, now: Nanos) {
        self.under_way -= 1;
        if self.under_way == 0 {
            self.active += now - self.active_since;
        }
    }

    /// Device time by class, all phases.
    pub(super) fn by_class(&self) -> [u128; Class::COUNT] {
        std::array::from_fn(|class| self.phases.iter().map(|p| p.by_class[class]).sum())
    }
}
