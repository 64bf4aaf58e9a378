//! Half of a split, priced layer kind by layer kind: what a micro-batch of a lane takes of its
//! attention GPUs, and all lanes' of the FFN GPUs.
//!
//! A half is a model without FFNs, or without attention ([`Model::attention_half`],
//! [`Model::ffn_half`]); its layers are priced as those of any pool. Routers run on attention GPUs,
//! which must know where to send. Inside a group of FFN ranks that split each expert, the tokens they
//! took a share each of are gathered before it, and its sums scattered after (Step-3, arXiv 2507.19427
//! §5).

use super::kinds::kinds;
use super::price::StepPrice;
use super::ranks_of;
use super::shape::LaneShape;
use super::tower::{Parts, Pass, Ranks, Tower, add};
use crate::cluster::{Router, Topology};
use crate::cost::collective::{CommGroup, all_gather, reduce_scatter};
use crate::cost::layer::router;
use crate::cost::operator::{Brought, Class, Fidelity};
use crate::cost::reach::reaches;
use crate::model::{Ffn, LayerRun, Model};
use crate::plan::{Captured, PlannedPool, Role, StageRun};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Prices of a pool that is half of a split.
pub(in crate::cost) struct HalfPricer {
    ranks: Ranks,
    /// The whole model, for its routers.
    model: Arc<Model>,
    /// Distinct layers, and that of each run of the model.
    layers: Vec<Tower>,
    of_run: Vec<usize>,
    /// Embedding and head.
    ends: Tower,
    /// Ranks that split each expert.
    experts: CommGroup,
    captured: bool,
    /// Prices of routers, by distinct layer and tokens.
    routers: BTreeMap<(usize, u32), StepPrice>,
}

/// Most prices of routers remembered.
const ROUTERS: usize = 1 << 16;

/// Whether two runs are of equal layers.
fn same(one: &LayerRun, other: &LayerRun) -> bool {
    one.attention == other.attention
        && one.ffn == other.ffn
        && one.norms == other.norms
        && one.kept == other.kept
}

impl HalfPricer {
    /// Of a pool's first replica (replicas of a pool are placed alike). `brought`: how tokens come to
    /// experts.
    pub(in crate::cost) fn new(
        topology: &Topology,
        model: &Arc<Model>,
        pool: &PlannedPool,
        fidelity: &Arc<dyn Fidelity>,
        brought: Brought,
    ) -> Self {
        let mut paths = Router::new(topology);
        let ranks = ranks_of(topology, &mut paths, pool, fidelity);
        let is_ffn = pool.role == Role::Ffn;
        let half = Arc::new(if is_ffn {
            model.ffn_half()
        } else {
            model.attention_half()
        });
        let known = reaches(model);
        let tower = |runs: &[StageRun], ends: bool| {
            let parts = Parts {
                model: Arc::clone(&half),
                precision: pool.precision,
                kinds: kinds(&half, runs, pool.layout, pool.precision, &known),
                first: ends,
                last: ends,
                fuses: false,
                apart: is_ffn.then_some(brought),
            };
            Tower::new(parts, &ranks)
        };
        let mut distinct: Vec<usize> = Vec::new();
        let of_run = (0..model.layers.len())
            .map(|run| {
                let equal = |other: &usize| same(&model.layers[*other], &model.layers[run]);
                distinct.iter().position(equal).unwrap_or_else(|| {
                    distinct.push(run);
                    distinct.len() - 1
                })
            })
            .collect();
        let layers = distinct
            .iter()
            .map(|run| {
                tower(
                    &[StageRun {
                        run: *run,
                        count: 1,
                    }],
                    false,
                )
            })
            .collect();
        let splitters = pool.replicas[0].ranks.iter().copied();
        let splitters: Vec<_> = splitters.take(pool.layout.moe_tp() as usize).collect();
        Self {
            ends: tower(&[], true),
            layers,
            of_run,
            model: Arc::clone(model),
            experts: CommGroup::of(topology, &mut paths, &splitters),
            routers: BTreeMap::new(),
            captured: !Captured::of(&pool.engine).is_none(),
            ranks,
        }
    }

    /// Which of the distinct layers each run of the model has, and of how many layers it is.
    pub(in crate::cost) fn runs(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let counts = self.model.layers.iter().map(|run| run.count);
        self.of_run.iter().copied().zip(counts)
    }

    /// Distinct layers.
    pub(in crate::cost) fn kinds(&self) -> usize {
        self.layers.len()
    }

    /// Whether its kernels run as CUDA graphs.
    pub(in crate::cost) const fn is_captured(&self) -> bool {
        self.captured
    }

    /// A distinct layer's attention of one lane, and its router.
    pub(in crate::cost) fn attention(&mut self, kind: usize, lane: &LaneShape<'_>) -> StepPrice {
        let pass = Pass::default();
        let mut price = self.layers[kind].pass(&self.ranks, std::iter::once(*lane), pass);
        price.add_all(&self.router(kind, lane.tokens()));
        price
    }

    fn router(&mut self, kind: usize, tokens: u32) -> StepPrice {
        if let Some(known) = self.routers.get(&(kind, tokens)) {
            return *known;
        }
        let mut price = StepPrice::default();
        if let Some(run) = self.of_run.iter().position(|own| *own == kind) {
            let router = router(&self.model, run, f64::from(tokens));
            add(&mut price, &self.ranks, &router, 1.0);
        }
        if self.routers.len() < ROUTERS {
            self.routers.insert((kind, tokens), price);
        }
        price
    }

    /// Embedding and head of one lane.
    pub(in crate::cost) fn ends(&mut self, lane: &LaneShape<'_>) -> StepPrice {
        let pass = Pass::default();
        self.ends.pass(&self.ranks, std::iter::once(*lane), pass)
    }

    /// A distinct layer's FFN for so many tokens of all lanes.
    pub(in crate::cost) fn ffn(&mut self, kind: usize, tokens: u32) -> StepPrice {
        let lanes = self.ranks.layout.dp;
        let lane = LaneShape {
            decodes: tokens.div_ceil(lanes),
            ..LaneShape::default()
        };
        let pass = Pass::default();
        let lanes = (0..lanes).map(|_| lane);
        self.layers[kind].pass(&self.ranks, lanes, pass)
    }

    /// Seconds in which a group of ranks that split each expert gathers the tokens its ranks took a share
    /// each of, `values` of `dispatch` bytes, and scatters its sums, in `combine` bytes. They run over the
    /// scale-up links while other micro-batches are multiplied, so they are part of the ways.
    pub(in crate::cost) fn shared_ways(
        &self,
        kind: usize,
        values: f64,
        [dispatch, combine]: [f64; 2],
    ) -> [f64; 2] {
        let run = self.of_run.iter().position(|own| *own == kind);
        let moe = run.is_some_and(|run| matches!(self.model.layers[run].ffn, Ffn::Moe(_)));
        if !moe || self.experts.ranks < 2 {
            return [0.0; 2];
        }
        let prices = &*self.ranks.prices;
        [
            all_gather(&self.experts, values * dispatch, prices).seconds,
            reduce_scatter(&self.experts, values * combine, prices).seconds,
        ]
    }

    /// See [`super::StepPricer::farthest`].
    pub(in crate::cost) fn farthest(&self) -> Option<(f64, Class)> {
        self.ranks.prices.farthest()
    }
}
