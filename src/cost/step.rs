//! The price of one engine step of a replica.
//!
//! Compiling a pool collects, per pipeline stage, its distinct layer kinds and how often each
//! repeats. Layers run one after another, so a stage is a sum: kernels that depend only on the
//! token count (looked up in a table filled as counts occur), attention of the decodes (affine in
//! sums of what they see of their contexts), attention of each prefill chunk, the experts (by the
//! tokens of all lanes), collectives, and the ends of the model. Lanes that share experts meet at
//! every layer: the slowest lane's attention counts.
//!
//! - **Graphs** (`plan::Captured`): a step that runs in a captured size is padded to it. Kernels by
//!   tokens and experts work on the padding; attention does in whole graphs, where its sequences see
//!   nothing. Lanes that share experts run in the same graph, as large as the largest needs.
//! - **Host** (`step/price.rs`): preparing is the first stage's, its own process's for each lane; every
//!   stage issues its own kernels.
//! - **Drafts** (`step/drafts.rs`): a sequence's drafted tokens are verified as further rows of its
//!   attention; the drafter's passes are the last stage's.
//! - **Context parallelism**: ranks split a prompt's tokens in zigzag, tell each other its keys and
//!   values at every layer (all-gather, as SGLang does), and all keep all of them. Decodes gain nothing:
//!   every rank computes all of them.

mod curve;
mod drafts;
mod exchange;
mod half;
mod kinds;
mod launches;
mod line;
mod noting;
mod price;
mod series;
mod shape;
mod tower;

pub(in crate::cost) use half::HalfPricer;
pub use kinds::Growth;
pub use price::{FEMTOS_PER_NANO, Femtos, Issued, StepPrice};
pub use series::{Series, Slope};
pub use shape::{Chunk, LaneShape};

use super::collective::{CommGroup, point_to_point};
use super::operator::{Class, Fidelity};
use super::reach::reaches;
use super::roofline::RooflineOn;
use crate::catalog::ScaleUpKind;
use crate::cluster::{GpuIx, Router, Topology};
use crate::model::Model;
use crate::plan::{Captured, Draft, EngineKind, Joined, PlannedPool, Replica};
use crate::units::{ByteRate, real};
use curve::Priced;
use drafts::Drafter;
use kinds::kinds;
use noting::Noting;
pub(in crate::cost) use price::femtos;
use std::sync::Arc;
use tower::{Parts, Pass, Ranks, Tower};

/// Most GPUs of a server; a larger domain is a rack's.
const SERVER_GPUS: u32 = 8;

/// Prices steps of one pool's replicas.
pub struct StepPricer {
    ranks: Ranks,
    /// Path from a stage to the next: rate of one rank's share and latency.
    next_stage: Option<(ByteRate, f64)>,
    captured: Captured,
    /// Drafted tokens of each sequence of a whole graph.
    verified: u32,
    /// Sequences may differ in drafted tokens, and the graph can't pad them: vLLM's n-grams, where a
    /// sequence without a match has none. All other drafts are as many for every sequence.
    ragged: bool,
    /// Whole graphs end with the logits: SGLang's and TensorRT-LLM's; vLLM's with the hidden states.
    head_inside: bool,
    host: Femtos,
    host_per_sequence: Femtos,
    launch: Femtos,
    gap: Femtos,
    stages: Vec<Tower>,
    drafter: Option<Drafter>,
}

/// How the ranks of a pool's first replica lie, and what they charge.
fn ranks_of(
    topology: &Topology,
    router: &mut Router<'_>,
    pool: &PlannedPool,
    fidelity: &Arc<dyn Fidelity>,
) -> Ranks {
    let layout = pool.layout;
    let replica: &Replica = &pool.replicas[0];
    let tp = CommGroup::of(topology, router, replica.lane(layout, 0, 0));
    // Lane peers: the first TP rank of each lane of the first stage.
    let peers: Vec<_> = (0..layout.dp)
        .map(|lane| replica.lane(layout, 0, lane)[0])
        .collect();
    let dp = CommGroup::of(topology, router, &peers);
    let experts: Vec<_> = (0..layout.dp)
        .flat_map(|lane| replica.lane(layout, 0, lane))
        .copied()
        .collect();
    let all = CommGroup::of(topology, router, &experts);
    let site = topology.gpu(experts[0]);
    let joined = Joined {
        nvlink: all.domains() == 1 && site.scale_up_kind == ScaleUpKind::Switched,
        rack: topology.domain_size(site.domain) > SERVER_GPUS,
    };
    let sharers: Vec<GpuIx> = replica.sharers(layout, 0, 0).collect();
    let cp = CommGroup::of(topology, router, &sharers);
    Ranks {
        layout,
        prices: Arc::new(Noting::new(fidelity.on(&pool.gpu, &pool.engine))),
        roofline: RooflineOn::of(&pool.gpu),
        tp,
        dp,
        cp,
        all,
        joined,
        engine: pool.engine.clone(),
        decodes_as_prompts: pool.engine.decodes_as_prompts(&pool.gpu),
    }
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
        let next_stage = (layout.pp > 1)
            .then(|| router.path(replica.lane(layout, 0, 0)[0], replica.lane(layout, 1, 0)[0]))
            .flatten()
            .map(|path| (path.rate, path.latency.get()));
        let ranks = ranks_of(topology, &mut router, pool, fidelity);
        let known = reaches(model);
        let last = pool.stages.len() - 1;
        let stages = pool.stages.iter().enumerate().map(|(index, runs)| {
            let parts = Parts {
                model: Arc::clone(model),
                precision: pool.precision,
                kinds: kinds(model, runs, layout, pool.precision, &known),
                first: index == 0,
                last: index == last,
                fuses: false,
                apart: None,
            };
            Tower::new(parts, &ranks)
        });
        let engine = &pool.engine;
        let vllm = engine.kind == EngineKind::Vllm;
        let speculation = engine.speculation.as_ref();
        let ngram = speculation.is_some_and(|own| own.draft == Draft::Ngram);
        Self {
            next_stage,
            captured: Captured::of(engine),
            verified: speculation.map_or(0, |own| own.verified),
            ragged: vllm && ngram,
            head_inside: !vllm,
            host: femtos(engine.host_step_time.get()),
            host_per_sequence: femtos(engine.host.per_sequence.get()),
            launch: femtos(engine.host.launch.get()),
            gap: femtos(engine.host.gap.get()),
            stages: stages.collect(),
            drafter: Drafter::of(model, pool, &ranks, &known),
            ranks,
        }
    }

    /// The largest factor by which a size of an operator priced so far lies outside what was
    /// measured, and what that operator is for; none: all lie inside.
    #[must_use]
    pub fn farthest(&self) -> Option<(f64, Class)> {
        self.ranks.prices.farthest()
    }

    /// Pipeline stages.
    #[must_use]
    pub const fn stage_count(&self) -> usize {
        self.stages.len()
    }

    /// The price of one stage of a step. Lanes without work still wait for the others.
    pub fn stage(&mut self, stage: usize, lanes: &[LaneShape<'_>]) -> StepPrice {
        let pass = self.runs_as(lanes.iter().copied());
        let tower = &mut self.stages[stage];
        let mut price = tower.pass(&self.ranks, lanes.iter().copied(), pass);
        if let (false, Some((rate, latency))) = (tower.is_last(), self.next_stage) {
            let layout = self.ranks.layout;
            let own = lanes.iter().map(|lane| lane.on_rank(layout.cp)).max();
            let busiest = own.unwrap_or(0).max(pass.tokens);
            // TP ranks send a slice each.
            let bytes =
                f64::from(busiest) * real(tower.model().hidden) * 2.0 / f64::from(layout.tp);
            let send = point_to_point(bytes, rate, latency);
            price.add(Class::Communication, Priced::of(&send));
            price.launches += 1;
        }
        if tower.is_first() {
            let sequences = lanes.iter().map(LaneShape::sequences).max().unwrap_or(0);
            let each = self.host_per_sequence.saturating_mul(u64::from(sequences));
            price.host = self.host.saturating_add(each);
        }
        if let (true, Some(drafter)) = (tower.is_last(), &mut self.drafter) {
            let drafts = drafter.passes(&self.ranks, &self.captured, lanes, pass);
            price.add_all(&drafts);
        }
        price.launch = self.launch;
        price.gap = self.gap;
        price
    }

    /// The prices of this step and those after it in which every lane's contexts have grown by as
    /// much again; nothing if that can't be said in advance. Only for a plan of one stage, for steps
    /// that decode without drafts.
    pub fn series(
        &mut self,
        lanes: &[(LaneShape<'_>, Growth<'_>)],
        first: StepPrice,
        overlap: bool,
    ) -> Option<Series> {
        let shapes = || lanes.iter().map(|(lane, _)| *lane);
        let plain = |lane: LaneShape<'_>| lane.chunks.is_empty() && lane.drafted == 0;
        if self.stages.len() != 1 || self.drafter.is_some() || !shapes().all(plain) {
            return None;
        }
        let pass = self.runs_as(shapes());
        let (slope, steps) = self.stages[0].slope(&self.ranks, lanes, pass)?;
        Series::new(first, slope, steps, overlap)
    }

    /// In which graph a step runs.
    fn runs_as<'a>(&self, lanes: impl Iterator<Item = LaneShape<'a>>) -> Pass {
        if self.captured.is_none() {
            return Pass::default();
        }
        let (mut tokens, mut sequences, mut decodes) = (0, 0, true);
        for lane in lanes {
            tokens = lane.on_rank(self.ranks.layout.cp).max(tokens);
            sequences = lane.decodes.max(sequences);
            decodes &= lane.chunks.is_empty();
            decodes &= !self.ragged || lane.drafted == lane.decodes.saturating_mul(self.verified);
        }
        if tokens == 0 {
            return Pass::default();
        }
        let whole = decodes.then(|| self.captured.whole(sequences, 1 + self.verified));
        if let Some(padded) = whole.flatten() {
            return Pass {
                issued: Issued::Whole,
                tokens: padded.tokens,
                sequences: padded.sequences,
                head_inside: self.head_inside,
                one_each: false,
            };
        }
        self.captured
            .pieces(tokens)
            .map_or_else(Pass::default, |tokens| Pass {
                issued: Issued::Pieces,
                tokens,
                ..Pass::default()
            })
    }
}
