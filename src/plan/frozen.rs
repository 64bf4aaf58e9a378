//! A plan: a design frozen into dense arrays, the only input of `cost` and `sim`.

use super::engine::Engine;
use super::memory::MemoryBudget;
use super::pool::{Layout, Phases, PoolId, Role, Split};
use crate::catalog::Gpu;
use crate::cluster::{GpuIx, Topology};
use crate::model::{Model, Precision};
use crate::units::{DollarsPerHour, Watts};
use std::sync::Arc;

/// One copy of the model on some GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    /// Its GPUs, stage by stage, in each stage lane by lane, in each lane CP rank by CP rank, in each
    /// of them TP rank by TP rank.
    pub ranks: Vec<GpuIx>,
}

impl Replica {
    /// The GPUs of one lane of one stage that split each layer; with CP those of its first rank.
    #[must_use]
    pub fn lane(&self, layout: Layout, stage: u32, lane: u32) -> &[GpuIx] {
        let first = ((stage * layout.dp + lane) * layout.cp * layout.tp) as usize;
        &self.ranks[first..first + layout.tp as usize]
    }

    /// The GPUs of one lane of one stage that split a prompt: the first TP rank of each CP rank.
    pub fn sharers(&self, layout: Layout, stage: u32, lane: u32) -> impl Iterator<Item = GpuIx> {
        let (cp, tp) = (layout.cp as usize, layout.tp as usize);
        let first = ((stage * layout.dp + lane) as usize) * cp * tp;
        self.ranks[first..first + cp * tp]
            .iter()
            .step_by(tp)
            .copied()
    }

    /// The GPUs of one stage.
    #[must_use]
    pub fn stage(&self, layout: Layout, stage: u32) -> &[GpuIx] {
        let size = (layout.dp * layout.cp * layout.tp) as usize;
        let first = stage as usize * size;
        &self.ranks[first..first + size]
    }
}

/// `count` equal layers of the model on one stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageRun {
    /// Index into the model's layer runs.
    pub run: usize,
    /// How many layers of it.
    pub count: u32,
}

/// A pool, frozen.
#[derive(Debug, Clone)]
pub struct PlannedPool {
    /// Its name in the document.
    pub id: PoolId,
    /// Its name for people.
    pub name: String,
    /// What it does.
    pub role: Role,
    /// Its GPU type.
    pub gpu: Arc<Gpu>,
    /// Layout of a replica. For a dense model `dp` lanes are independent and have become replicas.
    pub layout: Layout,
    /// Its engine.
    pub engine: Engine,
    /// Its number formats.
    pub precision: Precision,
    /// The model that drafts tokens, where one does beside the target.
    pub draft: Option<Arc<Model>>,
    /// Layers of each pipeline stage.
    pub stages: Vec<Vec<StageRun>>,
    /// Its copies of the model.
    pub replicas: Vec<Replica>,
    /// Memory of its fullest GPU.
    pub memory: MemoryBudget,
}

/// A service, frozen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedService {
    /// Index into `pools`; of a split, its first attention pool.
    pub pool: usize,
    /// Which phases.
    pub phases: Phases,
    /// Its halves, if it is a split.
    pub split: Option<PlannedSplit>,
}

/// Attention pools that share an FFN pool: every replica of it serves an equal share of the replicas of
/// each of them, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedSplit {
    /// Attention pools, indices into `pools`.
    pub attention: Vec<usize>,
    /// The FFN pool.
    pub ffn: usize,
    /// How they work together.
    pub how: Split,
}

impl PlannedService {
    /// Pools that hold its requests' KV.
    #[must_use]
    pub fn holders(&self) -> &[usize] {
        match &self.split {
            Some(split) => &split.attention,
            None => std::slice::from_ref(&self.pool),
        }
    }

    /// All its pools.
    pub fn pools(&self) -> impl Iterator<Item = usize> + '_ {
        let ffn = self.split.as_ref().map(|split| split.ffn);
        self.holders().iter().copied().chain(ffn)
    }
}

impl Plan {
    /// Copies of the model a service has: replicas, of a split those of its FFN pool.
    #[must_use]
    pub fn copies(&self, service: &PlannedService) -> usize {
        let pool = service
            .split
            .as_ref()
            .map_or(service.pool, |split| split.ffn);
        self.pools[pool].replicas.len()
    }

    /// Replicas of a pool that one copy of the service has.
    pub fn shares(
        &self,
        service: &PlannedService,
        copy: usize,
    ) -> impl Iterator<Item = (usize, usize)> + use<> {
        let copies = self.copies(service).max(1);
        let own: Vec<(usize, usize)> = service
            .holders()
            .iter()
            .flat_map(|pool| {
                let each = self.pools[*pool].replicas.len() / copies;
                (copy * each..(copy + 1) * each).map(move |replica| (*pool, replica))
            })
            .collect();
        own.into_iter()
    }
}

/// A design, frozen.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The model.
    pub model: Arc<Model>,
    /// The unfolded cluster.
    pub topology: Arc<Topology>,
    /// Pools that serve.
    pub pools: Vec<PlannedPool>,
    /// Services.
    pub services: Vec<PlannedService>,
    /// Feeds: (prefill service, decode service), indices into `services`.
    pub feeds: Vec<(usize, usize)>,
    /// Who takes a request.
    pub routing: super::routing::Routing,
    /// GPUs drawn, idle ones too: what throughput per GPU is divided by.
    pub gpus: u32,
    /// Price of all of them.
    pub price: DollarsPerHour,
    /// Board power of all of them.
    pub power: Watts,
}
