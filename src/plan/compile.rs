//! From a design to a [`Plan`], or to the findings that say why not. All of them, not the first.

mod fits;
mod routing;
mod serving;

use super::design::{Design, ModelRef};
use super::engine::Draft;
use super::finding::{Change, Finding, Place, Severity};
use super::frozen::{Plan, PlannedPool, Replica};
use super::legality::{self, Facts};
use super::memory::{MemoryBudget, budget, split_layers};
use super::placement::place;
use super::pool::{Layout, Pool, PoolId, Role};
use crate::catalog::Catalog;
use crate::cluster::{GpuAddress, GpuIx, GpuRange, MAX_GPUS, Router, Topology, unfold};
use crate::model::{Model, Models};
use crate::units::{DollarsPerHour, Watts};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What the workload asks of memory and settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Demand {
    /// Longest prompt and answer together, tokens.
    pub longest_context: u64,
    /// Longest prompt, tokens.
    pub longest_prompt: u64,
}

/// What became of a design.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// Everything found, errors first.
    pub findings: Vec<Finding>,
    /// Memory of each pool's fullest GPU, where it could be worked out.
    pub memory: Vec<(PoolId, MemoryBudget)>,
    /// The plan; none if there are errors.
    pub plan: Option<Arc<Plan>>,
}

/// Checks and freezes a design.
#[must_use]
pub fn compile(design: &Design, catalog: &Catalog, models: &Models, demand: Demand) -> Compiled {
    let mut findings = Vec::new();
    let (topology, faults) = unfold(&design.cluster, catalog);
    for (place, fault) in faults {
        let cause = fault.to_string();
        findings.push(if fault.is_error() {
            link_repair(Finding::error(place.into(), cause), &fault)
        } else {
            Finding::warning(place.into(), cause)
        });
    }
    let model = match resolve(&design.model, models) {
        Ok(model) => model,
        Err(cause) => {
            findings.push(Finding::error(Place::Model, cause));
            return finish(findings, Vec::new(), None);
        }
    };
    if demand.longest_context > model.max_context {
        findings.push(Finding::warning(
            Place::Workload,
            format!(
                "requests reach {} tokens; {} was made for {}",
                demand.longest_context, model.name, model.max_context
            ),
        ));
    }
    let mut compiling = Compiling {
        design,
        model: &model,
        models,
        demand,
        topology: &topology,
        findings,
        memory: Vec::new(),
    };
    if let Some(cause) = legality::not_run(&model) {
        compiling.findings.push(Finding::error(Place::Model, cause));
    }
    let pools = compiling.pools();
    let services = compiling.services(&pools);
    let feeds = compiling.feeds(&pools, &services);
    let Compiling {
        findings, memory, ..
    } = compiling;
    let runnable = !findings.iter().any(|f| f.severity == Severity::Error);
    let plan = runnable.then(|| {
        let price = topology
            .gpus()
            .iter()
            .fold(DollarsPerHour::ZERO, |sum, site| {
                sum + site.gpu.price.per_hour
            });
        let power = topology
            .gpus()
            .iter()
            .fold(Watts::ZERO, |sum, site| sum + site.gpu.power);
        Arc::new(Plan {
            model: Arc::clone(&model),
            gpus: u32::try_from(topology.gpus().len()).unwrap_or(u32::MAX),
            topology: Arc::new(topology),
            pools: pools.into_iter().flatten().collect(),
            services,
            feeds,
            routing: design.routing,
            price,
            power,
        })
    });
    finish(findings, memory, plan)
}

fn finish(
    mut findings: Vec<Finding>,
    memory: Vec<(PoolId, MemoryBudget)>,
    plan: Option<Arc<Plan>>,
) -> Compiled {
    findings.sort_by_key(|finding| finding.severity);
    Compiled {
        findings,
        memory,
        plan,
    }
}

fn link_repair(finding: Finding, fault: &crate::cluster::ClusterFault) -> Finding {
    use crate::cluster::ClusterFault as F;
    let Place::Link(id) = &finding.place else {
        return finding;
    };
    let id = id.clone();
    match fault {
        F::Dangling { .. }
        | F::NoInstance { .. }
        | F::EmptyBundle
        | F::SlowBundle
        | F::CannotJoin { .. } => finding.with_repair("Remove the link", Change::RemoveLink(id)),
        F::OutOfPorts {
            what: "NICs", have, ..
        } if *have > 0 => {
            finding.with_repair(format!("Draw {have} links"), Change::LinkCount(id, *have))
        }
        _ => finding,
    }
}

/// The model a design serves.
fn resolve(model: &ModelRef, models: &Models) -> Result<Arc<Model>, String> {
    match model {
        ModelRef::Preset(id) => models
            .get(id)
            .map(|model| Arc::new(model.clone()))
            .ok_or_else(|| {
                format!(
                    "there is no model “{id}” in the library: choose one or import its config.json"
                )
            }),
        ModelRef::Inline(model) => match model.check() {
            Ok(()) => Ok(Arc::new((**model).clone())),
            Err(error) => Err(error.to_string()),
        },
    }
}

struct Compiling<'a> {
    design: &'a Design,
    model: &'a Model,
    models: &'a Models,
    demand: Demand,
    topology: &'a Topology,
    findings: Vec<Finding>,
    memory: Vec<(PoolId, MemoryBudget)>,
}

impl Compiling<'_> {
    /// Every pool of the document in its order; none where it can't serve.
    fn pools(&mut self) -> Vec<Option<PlannedPool>> {
        let mut owner: BTreeMap<GpuIx, PoolId> = BTreeMap::new();
        let mut seen: BTreeSet<&PoolId> = BTreeSet::new();
        self.design
            .pools
            .iter()
            .map(|pool| {
                if !seen.insert(&pool.id) {
                    self.pool_error(pool, format!("two pools are called “{}”", pool.id));
                    return None;
                }
                let gpus = self.gpus_of(pool, &mut owner)?;
                self.pool(pool, &gpus)
            })
            .collect()
    }

    fn pool_error(&mut self, pool: &Pool, cause: String) {
        self.findings
            .push(Finding::error(Place::Pool(pool.id.clone()), cause));
    }

    fn gpus_of(&mut self, pool: &Pool, owner: &mut BTreeMap<GpuIx, PoolId>) -> Option<Vec<GpuIx>> {
        let named = pool
            .gpus
            .iter()
            .fold(0u64, |sum, range| sum.saturating_add(range.len()));
        if named > u64::from(MAX_GPUS) {
            self.pool_error(
                pool,
                format!("the pool names {named} GPUs: a design has at most {MAX_GPUS}"),
            );
            return None;
        }
        let mut gpus = BTreeSet::new();
        let mut missing: Option<GpuAddress> = None;
        for address in pool.gpus.iter().flat_map(GpuRange::iter) {
            match self.topology.find(&address) {
                Some(ix) => {
                    if let Some(other) = owner.get(&ix).filter(|other| **other != pool.id) {
                        let cause = format!("GPU {address} is also in pool “{other}”");
                        self.pool_error(pool, cause);
                        return None;
                    }
                    owner.insert(ix, pool.id.clone());
                    gpus.insert(ix);
                }
                None => {
                    missing.get_or_insert(address);
                }
            }
        }
        if let Some(address) = missing {
            self.pool_error(
                pool,
                format!("the pool names GPU {address}, which is not drawn"),
            );
            return None;
        }
        if gpus.is_empty() {
            self.findings.push(
                Finding::error(
                    Place::Pool(pool.id.clone()),
                    format!("pool “{}” has no GPUs: paint some, or remove it", pool.name),
                )
                .with_repair("Remove the pool", Change::RemovePool(pool.id.clone())),
            );
            return None;
        }
        Some(gpus.into_iter().collect())
    }

    fn pool(&mut self, pool: &Pool, gpus: &[GpuIx]) -> Option<PlannedPool> {
        let gpu = Arc::clone(&self.topology.gpu(gpus[0]).gpu);
        if let Some(other) = gpus
            .iter()
            .map(|ix| &self.topology.gpu(*ix).gpu)
            .find(|other| other.id != gpu.id)
        {
            let cause = format!(
                "the pool mixes {} and {}: a pool has one GPU type, make two pools",
                gpu.name, other.name
            );
            self.pool_error(pool, cause);
            return None;
        }
        let before = self.errors();
        let count = u32::try_from(gpus.len()).unwrap_or(u32::MAX);
        let half = match pool.role {
            Role::Attention => Some(self.model.attention_half()),
            Role::Ffn => Some(self.model.ffn_half()),
            Role::Colocated | Role::Prefill | Role::Decode => None,
        };
        let model = half.as_ref().unwrap_or(self.model);
        // Attention GPUs have no experts: how these are dealt out says nothing of them.
        let attention = (pool.role == Role::Attention).then(|| Pool {
            layout: Layout {
                ep: 1,
                redundant_experts: 0,
                ..pool.layout
            },
            ..pool.clone()
        });
        let pool = attention.as_ref().unwrap_or(pool);
        if half.is_some() {
            self.half(pool);
        }
        legality::layout(model, pool, count, &mut self.findings);
        legality::engine(pool, self.demand, &mut self.findings);
        legality::precision(pool, &gpu, &mut self.findings);
        legality::context(model, pool, &mut self.findings);
        let draft = self.draft(pool);
        let drafting = draft.as_deref();
        legality::drafts(model, pool, drafting, pool.layout, &mut self.findings);
        legality::loops(model, pool, &mut self.findings);
        if self.errors() > before {
            return None;
        }
        // Lanes of a dense model share nothing: they are replicas.
        let layout = if model.moe().is_none() {
            Layout {
                dp: 1,
                ep: 1,
                ..pool.layout
            }
        } else {
            pool.layout
        };
        let placed = place(self.topology, gpus, layout);
        if placed.replicas.is_empty() {
            self.too_few(pool, layout, count);
            return None;
        }
        if placed.idle > 0 {
            self.findings.push(Finding::warning(
                Place::Pool(pool.id.clone()),
                format!(
                    "{} of {count} GPUs of “{}” stay idle: replicas take {} GPUs each, TP groups inside one NVLink domain",
                    placed.idle,
                    pool.name,
                    layout.gpus()
                ),
            ));
        }
        if placed.tp_crosses {
            self.findings.push(Finding::warning(
                Place::Pool(pool.id.clone()),
                format!(
                    "TP {} is wider than a scale-up domain: every layer's all-reduce crosses the network",
                    layout.tp
                ),
            ));
        }
        self.joined(pool, &placed.replicas);
        let memory = budget(model, drafting, pool, &gpu, layout);
        self.memory.push((pool.id.clone(), memory.clone()));
        self.fits(model, pool, &gpu, drafting, (layout, count), &memory);
        let longest = self.demand.longest_context;
        if pool.role != Role::Ffn {
            legality::reserved(pool, &memory, longest, &mut self.findings);
        }
        Some(PlannedPool {
            id: pool.id.clone(),
            name: pool.name.clone(),
            role: pool.role,
            layout,
            engine: legality::effective(model, pool),
            precision: pool.precision,
            draft: draft.clone(),
            stages: split_layers(model, layout.pp, &pool.engine.stage_layers),
            replicas: placed.replicas,
            memory,
            gpu,
        })
    }

    /// What half of a split can't have.
    fn half(&mut self, pool: &Pool) {
        let layout = pool.layout;
        let cause = if layout.pp > 1 {
            Some(format!(
                "PP {}: a split's pipeline is its micro-batches, use PP 1",
                layout.pp
            ))
        } else if layout.cp > 1 {
            Some(format!(
                "CP {}: half of a split has none, use CP 1",
                layout.cp
            ))
        } else if pool.engine.speculation.is_some() {
            Some("speculative decoding: a split has none yet, turn it off".to_owned())
        } else {
            None
        };
        if let Some(cause) = cause {
            self.pool_error(pool, format!("“{}” has {cause}", pool.name));
        }
    }

    /// The model that drafts for a pool's, where one does and is in the library.
    fn draft(&self, pool: &Pool) -> Option<Arc<Model>> {
        let own = pool.engine.speculation.as_ref()?;
        let Draft::Model { model } = &own.draft else {
            return None;
        };
        self.models.get(model).cloned().map(Arc::new)
    }

    fn errors(&self) -> usize {
        self.findings
            .iter()
            .filter(|f| f.severity == Severity::Error)
            .count()
    }

    fn too_few(&mut self, pool: &Pool, layout: Layout, count: u32) {
        let mut finding = Finding::error(
            Place::Pool(pool.id.clone()),
            format!(
                "a replica of TP {} × PP {} × DP {}{} needs {} GPUs; “{}” has {count}",
                layout.tp,
                layout.pp,
                layout.dp,
                if layout.cp > 1 {
                    format!(" × CP {}", layout.cp)
                } else {
                    String::new()
                },
                layout.gpus(),
                pool.name
            ),
        );
        let facts = Facts::of(self.model, pool.precision.weights);
        let fitting = legality::legal_tps(&facts, count)
            .into_iter()
            .rev()
            .flat_map(|tp| [(tp, tp), (tp, 1)])
            .map(|(tp, ep)| Layout {
                tp,
                ep: if self.model.moe().is_some() { ep } else { 1 },
                ..Layout::SINGLE
            })
            .find(|layout| legality::keeps_all(&facts, pool.engine.kind, *layout));
        if let Some(layout) = fitting {
            finding = finding.with_repair(
                format!("Use TP {}", layout.tp),
                Change::Layout(pool.id.clone(), layout),
            );
        }
        self.findings.push(finding);
    }

    /// Every rank of a replica must reach the others.
    fn joined(&mut self, pool: &Pool, replicas: &[Replica]) {
        let mut router = Router::new(self.topology);
        for replica in replicas {
            let first = replica.ranks[0];
            let domain = self.topology.gpu(first).domain;
            // Members of the first rank's domain are joined by it.
            let apart = replica
                .ranks
                .iter()
                .filter(|ix| self.topology.gpu(**ix).domain != domain)
                .find(|ix| router.path(**ix, first).is_none());
            if let Some(ix) = apart {
                let cause = format!(
                    "GPUs {} and {} are of one replica but nothing joins them: draw a link",
                    self.topology.gpu(first).address,
                    self.topology.gpu(*ix).address
                );
                self.pool_error(pool, cause);
                return;
            }
        }
    }
}
