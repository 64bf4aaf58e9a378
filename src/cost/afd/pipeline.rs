//! When an AFD step ends.
//!
//! The state after a layer is when each resource falls free and when each micro-batch is back at
//! attention. A layer makes a new state of it by additions and maxima only, so it is a linear map of
//! the max-plus algebra, the same for equal layers. Hence (Baccelli et al., *Synchronization and
//! Linearity*, 1992, ch. 3): once a state is an earlier one moved by the same time in every
//! component, all further layers repeat; what does not settle within a few layers is a power of the
//! map, by squaring. Both are exact; neither walks through all layers.
//!
//! A decode step need not drain: a micro-batch's next token starts when its last is sampled,
//! whatever the others do (Step-3's pipeline runs on from token to token). Time from step to step is
//! then the largest mean of the map's cycles (Karp 1978). The ends of the model (head, sampling,
//! embedding) are attention's and belong to the first layer's attention of the same micro-batch.

use crate::cost::step::Femtos;

/// Resources of the pipeline.
pub const STAGES: usize = 4;
/// Most micro-batches: more than any published pipeline has (2 to 4).
const MICROS: usize = 4;
/// Components of a state.
const DIM: usize = STAGES + MICROS;
/// Layers walked before a run is raised to a power.
const WALKED: u32 = 12;
/// Steps walked before the cycles' means are looked for.
const PASSES: u32 = 6;

/// What works or carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Attention GPUs, as slow as the slowest lane.
    Attention,
    /// Links from attention to the FFN.
    Dispatch,
    /// FFN GPUs, as slow as the slowest rank.
    Ffn,
    /// Links back.
    Combine,
}

impl Resource {
    /// All, in the order a micro-batch meets them.
    pub const ALL: [Self; STAGES] = [Self::Attention, Self::Dispatch, Self::Ffn, Self::Combine];

    /// Its word in results.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Attention => "attention",
            Self::Dispatch => "dispatch",
            Self::Ffn => "ffn",
            Self::Combine => "combine",
        }
    }
}

/// Times of one micro-batch in one layer, by [`Resource`].
pub type Micro = [Femtos; STAGES];

/// A layer: times of each micro-batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerTimes {
    micros: [Micro; MICROS],
    count: usize,
}

impl LayerTimes {
    /// Of one to four micro-batches; nothing for other counts.
    #[must_use]
    pub fn new(micros: &[Micro]) -> Option<Self> {
        if micros.is_empty() || micros.len() > MICROS {
            return None;
        }
        let mut own = [Micro::default(); MICROS];
        own[..micros.len()].copy_from_slice(micros);
        Some(Self {
            micros: own,
            count: micros.len(),
        })
    }

    /// Its micro-batches.
    #[must_use]
    pub fn micros(&self) -> &[Micro] {
        &self.micros[..self.count]
    }

    /// The state after this layer.
    fn after(&self, mut state: State) -> State {
        for (index, micro) in self.micros().iter().enumerate() {
            let mut ready = state[STAGES + index];
            for (free, time) in state[..STAGES].iter_mut().zip(micro) {
                ready = plus((*free).max(ready), *time);
                *free = ready;
            }
            state[STAGES + index] = ready;
        }
        state
    }
}

/// Equal layers one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The layer.
    pub layer: LayerTimes,
    /// How many.
    pub count: u32,
}

/// One step that starts on free resources and drains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AfdStep {
    /// From the first attention to the last way back.
    pub took: Femtos,
    /// Work of each [`Resource`].
    pub busy: [Femtos; STAGES],
    /// When the FFN first starts: the pipeline fills.
    pub fill: Femtos,
    /// From attention's last end to the step's: it drains.
    pub drain: Femtos,
}

impl AfdStep {
    /// The step of these layers.
    #[must_use]
    pub fn of(runs: &[Run]) -> Self {
        let mut step = Self::default();
        // Micro-batches that are not there are never ready.
        let micros = runs.iter().map(|run| run.layer.count).max().unwrap_or(0);
        let mut state = [None; DIM];
        state[..STAGES + micros].fill(Some(0));
        if let Some(first) = runs.iter().find(|run| run.count > 0) {
            let [attention, dispatch, ..] = first.layer.micros[0];
            step.fill = attention.saturating_add(dispatch);
        }
        for run in runs {
            state = after_run(run, state);
        }
        step.busy = Self::work(runs);
        step.took = state.iter().flatten().copied().max().unwrap_or(0);
        step.drain = step.took - state[0].unwrap_or(0);
        step
    }

    /// Work of each resource in these layers.
    #[must_use]
    pub fn work(runs: &[Run]) -> [Femtos; STAGES] {
        let mut work = [0_u64; STAGES];
        for run in runs {
            for micro in run.layer.micros() {
                for (work, time) in work.iter_mut().zip(micro) {
                    let all = time.saturating_mul(u64::from(run.count));
                    *work = work.saturating_add(all);
                }
            }
        }
        work
    }

    /// Time in which a resource stands still: the bubble.
    #[must_use]
    pub const fn idle(&self, resource: Resource) -> Femtos {
        self.took.saturating_sub(self.busy[resource as usize])
    }

    /// Time from step to step where the pipeline does not drain between them, rounded down.
    #[must_use]
    pub fn steady(runs: &[Run]) -> Femtos {
        // Each resource's work and each micro-batch's way through all layers is a cycle, so the mean is
        // no less than the longest. Where a state moves by no more than that in a step in any component,
        // it is no more either (Baccelli et al., lemma 3.4.1): mostly so, and found in a few passes.
        let least = longest(runs);
        let micros = runs.iter().map(|run| run.layer.count).max().unwrap_or(0);
        let mut state: State = [None; DIM];
        state[..STAGES + micros].fill(Some(0));
        for _ in 0..PASSES {
            let next = runs.iter().fold(state, |state, run| after_run(run, state));
            let within = state
                .iter()
                .zip(&next)
                .all(|(old, new)| *new <= plus(*old, least));
            if within {
                return least;
            }
            state = next;
        }
        let mut map = IDENTITY;
        for run in runs {
            for column in &mut map {
                *column = after_run(run, *column);
            }
        }
        cycle_mean(&map)
    }
}

/// The longest of the resources' work and the micro-batches' ways.
fn longest(runs: &[Run]) -> Femtos {
    let mut ways = [0_u64; MICROS];
    for run in runs {
        for (way, micro) in ways.iter_mut().zip(run.layer.micros()) {
            let one: Femtos = micro.iter().sum();
            *way = way.saturating_add(one.saturating_mul(u64::from(run.count)));
        }
    }
    let work = AfdStep::work(runs);
    work.into_iter().chain(ways).max().unwrap_or(0)
}

/// A time, or none: "never" of the max-plus algebra, less than all times.
type Time = Option<Femtos>;
/// When resources fall free, then when micro-batches are back.
type State = [Time; DIM];
/// A map by columns: the state it makes of each component alone.
type Map = [State; DIM];

const IDENTITY: Map = {
    let mut map = [[None; DIM]; DIM];
    let mut index = 0;
    while index < DIM {
        map[index][index] = Some(0);
        index += 1;
    }
    map
};

fn plus(time: Time, more: Femtos) -> Time {
    time.map(|time| time.saturating_add(more))
}

fn apply(map: &Map, state: &State) -> State {
    let mut made = [None; DIM];
    for (column, from) in map.iter().zip(state) {
        if let Some(from) = from {
            for (to, time) in made.iter_mut().zip(column) {
                *to = (*to).max(plus(*time, *from));
            }
        }
    }
    made
}

/// The state after a run.
fn after_run(run: &Run, mut state: State) -> State {
    for done in 0..run.count {
        if done >= WALKED {
            return power(&run.layer, run.count - done, state);
        }
        let before = state;
        state = run.layer.after(before);
        if let Some(period) = moved(&before, &state) {
            let left = u64::from(run.count - done - 1);
            return state.map(|time| plus(time, period.saturating_mul(left)));
        }
    }
    state
}

/// By how much all components have moved, if all by the same.
fn moved(before: &State, after: &State) -> Option<Femtos> {
    let mut by = None;
    for (old, new) in before.iter().zip(after) {
        match (old, new) {
            (None, None) => {}
            (Some(old), Some(new)) => {
                let own = new.checked_sub(*old)?;
                if *by.get_or_insert(own) != own {
                    return None;
                }
            }
            _ => return None,
        }
    }
    by
}

/// `count` further layers, by squaring.
fn power(layer: &LayerTimes, mut count: u32, mut state: State) -> State {
    let mut map = IDENTITY.map(|column| layer.after(column));
    while count > 0 {
        if count & 1 == 1 {
            state = apply(&map, &state);
        }
        map = map.map(|column| apply(&map, &column));
        count >>= 1;
    }
    state
}

/// The largest mean of a map's cycles (Karp, from every node at once).
fn cycle_mean(map: &Map) -> Femtos {
    let mut reached = [[Some(0); DIM]; DIM + 1];
    for steps in 0..DIM {
        reached[steps + 1] = apply(map, &reached[steps]);
    }
    let mut largest = 0;
    for (node, end) in reached[DIM].iter().enumerate() {
        let Some(end) = end else {
            continue;
        };
        let means = (0..DIM).filter_map(|steps| {
            let before = reached[steps][node]?;
            let apart = u64::try_from(DIM - steps).ok()?;
            Some(end.saturating_sub(before) / apart)
        });
        largest = largest.max(means.min().unwrap_or(0));
    }
    largest
}
