//! What is wrong with a design, or worth knowing: each finding with its place, its cause and,
//! where one is clear, a repair at one click.

use super::design::Design;
use super::engine::Setting;
use super::pool::{Layout, PoolId, ServiceId};
use crate::cluster::{ClusterPlace, GpuRange, GroupId, LinkId};
use crate::model::Precision;

/// How much it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The design can't run.
    Error,
    /// It runs, not as drawn or not well.
    Warning,
    /// Worth knowing.
    Hint,
}

/// Where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The design as a whole.
    Design,
    /// A group of the drawing.
    Group(GroupId),
    /// A link bundle.
    Link(LinkId),
    /// A pool.
    Pool(PoolId),
    /// A service.
    Service(ServiceId),
    /// The model.
    Model,
    /// The workload.
    Workload,
}

impl From<ClusterPlace> for Place {
    fn from(place: ClusterPlace) -> Self {
        match place {
            ClusterPlace::Group(id) => Self::Group(id),
            ClusterPlace::Link(id) => Self::Link(id),
            ClusterPlace::Drawing => Self::Design,
        }
    }
}

/// A change to a design that mends a finding.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Another layout for a pool.
    Layout(PoolId, Layout),
    /// Other GPUs for a pool.
    Gpus(PoolId, Vec<GpuRange>),
    /// Another number of parallel links.
    LinkCount(LinkId, u32),
    /// Another token budget.
    TokenBudget(PoolId, u32),
    /// Another layout in other number formats.
    Fit(PoolId, Layout, Precision),
    /// Other measured KV blocks, or none.
    Blocks(PoolId, Option<u64>),
    /// A setting of a pool's engine, as text (see `Engine::set`).
    Setting(PoolId, Setting, String),
    /// Take a link away.
    RemoveLink(LinkId),
    /// Take a pool away; its GPUs become idle.
    RemovePool(PoolId),
}

/// A change, and what the button says.
#[derive(Debug, Clone, PartialEq)]
pub struct Repair {
    /// The button's words, `Use TP 4`.
    pub label: String,
    /// What it does.
    pub change: Change,
}

impl Repair {
    /// Makes the change.
    pub fn apply(&self, design: &mut Design) {
        match &self.change {
            Change::Layout(id, layout) => {
                if let Some(pool) = design.pool_mut(id) {
                    pool.layout = *layout;
                }
            }
            Change::Gpus(id, gpus) => {
                if let Some(pool) = design.pool_mut(id) {
                    pool.gpus.clone_from(gpus);
                }
            }
            Change::LinkCount(id, count) => {
                if let Some(link) = design.cluster.links.iter_mut().find(|l| &l.id == id) {
                    link.count = *count;
                }
            }
            Change::TokenBudget(id, tokens) => {
                if let Some(pool) = design.pool_mut(id) {
                    pool.engine.max_num_batched_tokens = *tokens;
                }
            }
            Change::Fit(id, layout, precision) => {
                if let Some(pool) = design.pool_mut(id) {
                    pool.layout = *layout;
                    pool.precision = *precision;
                }
            }
            Change::Blocks(id, blocks) => {
                if let Some(pool) = design.pool_mut(id) {
                    pool.engine.num_gpu_blocks = *blocks;
                }
            }
            Change::Setting(id, setting, text) => {
                if let Some(pool) = design.pool_mut(id) {
                    let word = pool.engine.word(*setting);
                    // Texts of repairs are values the setting can have (tested).
                    let _ = pool.engine.set(word, text);
                }
            }
            Change::RemoveLink(id) => design.cluster.links.retain(|l| &l.id != id),
            Change::RemovePool(id) => design.pools.retain(|p| &p.id != id),
        }
        design.settle();
    }
}

/// One thing found.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// Where it is.
    pub place: Place,
    /// What is wrong and what would be right, one or two sentences.
    pub cause: String,
    /// How to mend it, where that is clear.
    pub repair: Option<Repair>,
    /// Other ways to mend it.
    pub further: Vec<Repair>,
}

impl Finding {
    /// An error without a repair.
    #[must_use]
    pub const fn error(place: Place, cause: String) -> Self {
        Self {
            severity: Severity::Error,
            place,
            cause,
            repair: None,
            further: Vec::new(),
        }
    }

    /// A warning without a repair.
    #[must_use]
    pub const fn warning(place: Place, cause: String) -> Self {
        Self {
            severity: Severity::Warning,
            place,
            cause,
            repair: None,
            further: Vec::new(),
        }
    }

    /// A hint without a repair.
    #[must_use]
    pub const fn hint(place: Place, cause: String) -> Self {
        Self {
            severity: Severity::Hint,
            place,
            cause,
            repair: None,
            further: Vec::new(),
        }
    }

    /// The same with a repair; a second one and more are further ways.
    #[must_use]
    pub fn with_repair(mut self, label: impl Into<String>, change: Change) -> Self {
        let repair = Repair {
            label: label.into(),
            change,
        };
        match self.repair {
            None => self.repair = Some(repair),
            Some(_) => self.further.push(repair),
        }
        self
    }
}
