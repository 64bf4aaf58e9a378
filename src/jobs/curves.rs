//! The background job behind the window's curve: plan each design, a coarse curve of few requests
//! first, then a fine one.

use crate::catalog::Catalog;
use crate::model::Models;
use crate::plan::{Demand, Design, DesignId, Finding, MemoryBudget, PoolId};
use crate::project::CurveStudy;
use crate::sim::Summary;
use crate::workload::{Load, Trace, Workload};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Called from worker threads when there is something to poll.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

/// How exact a curve is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Few points, few requests: an answer while dragging.
    Coarse,
    /// The points and requests asked for.
    Fine,
}

/// A design as it was when the job started.
#[derive(Debug, Clone)]
pub struct DesignSnapshot {
    /// Which design.
    pub id: DesignId,
    /// What it was.
    pub design: Arc<Design>,
}

/// Everything a curve job needs.
#[derive(Clone)]
pub struct CurveJob {
    /// The document revision; returned on every message.
    pub revision: u64,
    /// Designs to simulate, the one in view first.
    pub designs: Vec<DesignSnapshot>,
    /// The workload.
    pub workload: Workload,
    /// Its trace.
    pub trace: Option<Arc<Trace>>,
    /// The curve asked for.
    pub study: CurveStudy,
    /// Hardware.
    pub catalog: Arc<Catalog>,
    /// Models.
    pub models: Arc<Models>,
}

/// One simulated point.
#[derive(Debug, Clone)]
pub struct CurvePoint {
    /// The load.
    pub load: Load,
    /// What came of it.
    pub summary: Arc<Summary>,
}

/// What a job tells.
#[derive(Debug, Clone)]
pub enum CurveMessage {
    /// A design was planned.
    Planned {
        /// Of which revision.
        revision: u64,
        /// Which design.
        design: DesignId,
        /// What was found.
        findings: Vec<Finding>,
        /// Memory of each pool's fullest GPU.
        memory: Vec<(PoolId, MemoryBudget)>,
        /// Whether it will be simulated.
        runnable: bool,
    },
    /// A point was simulated.
    Point {
        /// Of which revision.
        revision: u64,
        /// Which design.
        design: DesignId,
        /// Coarse or fine.
        stage: Stage,
        /// The point.
        point: CurvePoint,
    },
    /// A point or a design could not be simulated.
    Failed {
        /// Of which revision.
        revision: u64,
        /// Which design.
        design: DesignId,
        /// Why.
        message: String,
    },
    /// A stage is complete.
    Finished {
        /// Of which revision.
        revision: u64,
        /// Which stage.
        stage: Stage,
        /// Wall time since the job started.
        took: Duration,
    },
}

/// Runs curve jobs, one at a time; a new one supersedes the old.
pub struct CurveRunner {
    waker: Waker,
    sender: Sender<CurveMessage>,
    receiver: Receiver<CurveMessage>,
}
