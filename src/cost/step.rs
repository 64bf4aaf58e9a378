//! The price of one engine step of a replica.
//!
//! Compiling a pool collects, per pipeline stage, its distinct layer kinds and how often each
//! repeats. Layers run one after another, so a stage is a sum: kernels that depend only on the
//! token count (looked up in a table filled as counts occur), attention of the decodes (affine in
//! sums of what they see of their contexts), attention of each prefill chunk, the experts (by the
//! tokens of all lanes), collectives, and the ends of the model. Lanes that share experts meet at
//! every layer: the slowest lane's attention counts.

mod curve;
mod kinds;

use super::collective::{CommGroup, all_gather, all_reduce, point_to_point};
use super::layer::{
    Kernels, PrefillShape, by_tokens, embedding, expert_width, experts, head, inner_reduction,
};
use super::operator::{Class, Fidelity, OpCost, Operator, Origin, Prices};
use super::roofline::RooflineOn;
use crate::cluster::{Router, Topology};
use crate::model::{Model, Precision};
use crate::plan::{Layout, PlannedPool, Replica};
use crate::units::ByteRate;
use crate::units::real;
use curve::Priced;
use kinds::{LayerKind, kinds};
use std::sync::Arc;

/// Integer time inside a step: 10⁻¹² s.
pub type Picos = u64;

/// One prefill chunk of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// New tokens.
    pub tokens: u32,
    /// Tokens of the sequence already in the cache.
    pub context: u32,
}

/// What one lane does in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaneShape<'a> {
    /// Decoding sequences, one token each beside those drafted.
    pub decodes: u32,
    /// Tokens drafted for them, which the step verifies.
    pub drafted: u32,
    /// Sum of their contexts, the new token included.
    pub context: u64,
    /// Sums of what they see of their contexts, for each of the model's [`reaches`] in order. One
    /// left out is taken as the whole context.
    pub reached: &'a [u64],
    /// Prefill chunks.
    pub chunks: &'a [Chunk],
    /// Tokens sampled: decodes and prompts that end in this step.
    pub sampled: u32,
}

impl LaneShape<'_> {
    /// Tokens of the lane.
    #[must_use]
    pub fn tokens(&self) -> u32 {
        self.decodes + self.drafted + self.chunks.iter().map(|chunk| chunk.tokens).sum::<u32>()
    }
}

/// Time of a step or stage, in all and by class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepPrice {
    /// Time in all.
    pub total: Picos,
    /// By [`Class`] index.
    pub by_class: [Picos; Class::COUNT],
    /// By [`Origin`] index.
    pub by_origin: [Picos; Origin::COUNT],
    /// How much less, and how much more, it may be: each part's own band, all off the same way.
    pub off: [Picos; 2],
}

impl StepPrice {
    fn add(&mut self, class: Class, own: Priced) {
        let time = picos(own.seconds);
        self.total = self.total.saturating_add(time);
        let sum = &mut self.by_class[class as usize];
        *sum = sum.saturating_add(time);
        let sum = &mut self.by_origin[own.origin as usize];
        *sum = sum.saturating_add(time);
        for (sum, share) in self.off.iter_mut().zip([own.band.below, own.band.above]) {
            *sum = sum.saturating_add(picos(own.seconds * share));
        }
    }

    fn add_all(&mut self, other: &Self) {
        self.total = self.total.saturating_add(other.total);
        let mine = self
            .by_class
            .iter_mut()
            .chain(&mut self.by_origin)
            .chain(&mut self.off);
        let theirs = other
            .by_class
            .iter()
            .chain(&other.by_origin)
            .chain(&other.off);
        for (mine, theirs) in mine.zip(theirs) {
            *mine = mine.saturating_add(*theirs);
        }
    }
}

/// Seconds to whole picoseconds. Prices are non-negative and far below the range's end.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "float casts saturate"
)]
fn picos(seconds: f64) -> Picos {
    (seconds * 1e12 + 0.5) as Picos
}

/// A stage: its layers and its tables.
struct StagePrices {
    kinds: Vec<LayerKind>,
    first: bool,
    last: bool,
    /// By a lane's tokens.
    lane: Vec<Option<StepPrice>>,
    /// By a lane's decodes: attention but for its contexts.
    decode: Vec<Option<StepPrice>>,
    /// By tokens of all lanes, if experts are there.
    experts: Vec<Option<StepPrice>>,
    /// By sampled tokens of a lane.
    head: Vec<Option<StepPrice>>,
}

/// Prices steps of one pool's replicas.
pub struct StepPricer {
    model: Arc<Model>,
    layout: Layout,
    precision: Precision,
    prices: Arc<dyn Prices>,
    roofline: RooflineOn,
    tp: CommGroup,
    dp: CommGroup,
    /// Path from a stage to the next: rate of one rank's share and latency.
    next_stage: Option<(ByteRate, f64)>,
    host: f64,
    stages: Vec<StagePrices>,
}

impl StepPricer {
    /// Compiles a pool; links are read off its first replica (replicas of a pool are placed alike).
    #[must_use]
    pub fn new(
        topology: &Topology,
        model: &Arc<Model>,
        pool: &PlannedPool,
        fidelity: &Arc<dyn Fidelity>,
    ) -> Self {
        let layout = pool.layout;
        let mut router = Router::new(topology);
        let replica: &Replica = &pool.replicas[0];
        let tp = CommGroup::of(topology, &mut router, replica.lane(layout, 0, 0));
        // Lane peers: the first TP rank of each lane of the first stage.
        let peers: Vec<_> = (0..layout.dp)
            .map(|lane| replica.lane(layout, 0, lane)[0])
            .collect();
        let dp = CommGroup::of(topology, &mut router, &peers);
        let next_stage = (layout.pp > 1)
            .then(|| router.path(replica.lane(layout, 0, 0)[0], replica.lane(layout, 1, 0)[0]))
            .flatten()
            .map(|path| (path.rate, path.latency.get()));
        let last = pool.stages.len() - 1;
        let stages = pool
            .stages
            .iter()
            .enumerate()
            .map(|(index, runs)| StagePrices {
                kinds: kinds(model, runs, layout, pool.precision),
                first: index == 0,
                last: index == last,
                lane: Vec::new(),
                decode: Vec::new(),
                experts: Vec::new(),
                head: Vec::new(),
            })
            .collect();
        Self {
            model: Arc::clone(model),
            layout,
            precision: pool.precision,
            prices: fidelity.on(&pool.gpu, &pool.engine),
            roofline: RooflineOn::of(&pool.gpu),
            tp,
            dp,
            next_stage,
            host: pool.engine.host_step_time.get(),
            stages,
        }
    }

    /// Pipeline stages.
    #[must_use]
    pub fn stage_count(&self) -> usize {
        self.stages.len()
    }

    /// The price of one stage of a step. Lanes without work still wait for the others.
    pub fn stage(&mut self, stage: usize, lanes: &[LaneShape<'_>]) -> StepPrice {
        let all: u32 = lanes.iter().map(LaneShape::tokens).sum();
        let mut slowest = StepPrice::default();
        for lane in lanes {
            let price = self.lane(stage, lane);
            if price.total > slowest.total {
                slowest = price;
            }
        }
        if self.stages[stage].kinds.iter().any(|kind| kind.moe) {
            slowest.add_all(&self.lookup(stage, Table::Experts, all));
        }
        if let (false, Some((rate, latency))) = (self.stages[stage].last, self.next_stage) {
            let busiest = lanes.iter().map(LaneShape::tokens).max().unwrap_or(0);
            // TP ranks send a slice each.
            let bytes =
                f64::from(busiest) * real(self.model.hidden) * 2.0 / f64::from(self.layout.tp);
            let send = point_to_point(bytes, rate, latency);
            slowest.add(Class::Communication, Priced::of(&send));
        }
        if self.stages[stage].first {
            let host = Priced {
                seconds: self.host,
                ..Priced::NOTHING
            };
            slowest.add(Class::Host, host);
        }
        slowest
    }

    fn lane(&mut self, stage: usize, lane: &LaneShape<'_>) -> StepPrice {
        let tokens = lane.tokens();
        if tokens == 0 {
            return StepPrice::default();
        }
        let mut price = self.lookup(stage, Table::Lane, tokens);
        if lane.decodes > 0 {
            price.add_all(&self.lookup(stage, Table::Decode, lane.decodes));
            for kind in &mut self.stages[stage].kinds {
                for own in kind.over_contexts(lane, &*self.prices) {
                    price.add(Class::Attention, own.times(kind.count));
                }
            }
        }
        for chunk in lane.chunks {
            let chunk = PrefillShape {
                tokens: u64::from(chunk.tokens),
                context: u64::from(chunk.context),
            };
            for kind in &mut self.stages[stage].kinds {
                let [attention, linear] = kind.over_chunk(chunk, &*self.prices, &self.roofline);
                price.add(Class::Attention, attention.times(kind.count));
                price.add(Class::Linear, linear.times(kind.count));
            }
        }
        if self.stages[stage].last && lane.sampled > 0 {
            price.add_all(&self.lookup(stage, Table::Head, lane.sampled));
        }
        price
    }

    fn lookup(&mut self, stage: usize, table: Table, key: u32) -> StepPrice {
        let index = key as usize;
        let rows = self.table(stage, table);
        if let Some(Some(price)) = rows.get(index) {
            return *price;
        }
        let price = self.price_of(stage, table, key);
        let rows = self.table(stage, table);
        if rows.len() <= index {
            rows.resize(index + 1, None);
        }
        rows[index] = Some(price);
        price
    }

    fn table(&mut self, stage: usize, table: Table) -> &mut Vec<Option<StepPrice>> {
        let stage = &mut self.stages[stage];
        match table {
            Table::Lane => &mut stage.lane,
            Table::Decode => &mut stage.decode,
            Table::Experts => &mut stage.experts,
            Table::Head => &mut stage.head,
        }
    }

    fn price_of(&self, stage: usize, table: Table, key: u32) -> StepPrice {
        let n = f64::from(key);
        let parts = &self.stages[stage];
        let mut price = StepPrice::default();
        let h = real(self.model.hidden);
        let add = |price: &mut StepPrice, kernels: &Kernels, times: f64| {
            add_kernels(price, &*self.prices, kernels.iter().copied(), times);
        };
        match table {
            Table::Lane => {
                for kind in &parts.kinds {
                    add(
                        &mut price,
                        &by_tokens(&self.model, kind.run, self.layout, self.precision, n),
                        kind.count,
                    );
                }
                if parts.first {
                    add(&mut price, &embedding(&self.model, n), 1.0);
                }
                // All-reduces of the layers; TP splits the embedding's rows, so its look-up ends in
                // one too.
                let reduce = all_reduce(&self.tp, n * h * 2.0, &*self.prices);
                let times: f64 = parts
                    .kinds
                    .iter()
                    .map(|kind| kind.reductions * kind.count)
                    .sum::<f64>()
                    + if parts.first { 1.0 } else { 0.0 };
                add_cost(&mut price, &reduce, times);
                for kind in &parts.kinds {
                    let inner = inner_reduction(&self.model.layers[kind.run]);
                    let reduce = all_reduce(&self.tp, n * inner * 2.0, &*self.prices);
                    add_cost(&mut price, &reduce, kind.count);
                }
            }
            Table::Decode => {
                for kind in &parts.kinds {
                    add(&mut price, &kind.attention.decode(n), kind.count);
                }
            }
            Table::Experts => {
                // Router and shared experts by lane, lanes taken as level.
                let lane = n / f64::from(self.layout.dp);
                for kind in parts.kinds.iter().filter(|kind| kind.moe) {
                    add(
                        &mut price,
                        &experts(&self.model, kind.run, self.layout, self.precision, lane, n),
                        kind.count,
                    );
                    // vLLM's default: tokens of all lanes are gathered before the experts, their
                    // results scattered after, then summed over TP.
                    let width = expert_width(&self.model, kind.run);
                    let exchange = all_gather(&self.dp, n * width * 2.0, &*self.prices);
                    add_cost(&mut price, &exchange, 2.0 * kind.count);
                    let reduce = all_reduce(&self.tp, lane * h * 2.0, &*self.prices);
                    add_cost(&mut price, &reduce, kind.count);
                }
            }
            Table::Head => {
                let kernels = head(&self.model, self.layout, self.precision, n);
                add(&mut price, &kernels, 1.0);
                let logits = n * real(self.model.vocab) * 2.0;
                add_cost(
                    &mut price,
                    &all_gather(&self.tp, logits, &*self.prices),
                    1.0,
                );
            }
        }
        price
    }
}

#[derive(Clone, Copy)]
enum Table {
    Lane,
    Decode,
    Experts,
    Head,
}

/// A collective, so many times.
fn add_cost(price: &mut StepPrice, cost: &OpCost, times: f64) {
    price.add(Class::Communication, Priced::of(cost).times(times));
}

fn add_kernels(
    price: &mut StepPrice,
    prices: &dyn Prices,
    kernels: impl Iterator<Item = (Class, Operator)>,
    times: f64,
) {
    for (class, operator) in kernels {
        price.add(class, Priced::of(&prices.price(&operator)).times(times));
    }
}
