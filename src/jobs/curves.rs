//! The background job behind the window's curve: plan each design, a coarse curve of few requests
//! first, then a fine one.

use crate::catalog::Catalog;
use crate::cost::Fidelity;
use crate::model::Models;
use crate::plan::{Design, DesignId, Finding, MemoryBudget, Plan, PoolId, compile};
use crate::sim::{SimError, Summary};
use crate::study::{Ask, CurveStudy, Point, Stage};
use crate::validation::{Deployed, KnownErrors, Validated};
use crate::workload::{Load, Trace, Workload};
use rayon::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Called from worker threads when there is something to poll.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

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
    /// Whose prices.
    pub fidelity: Arc<dyn Fidelity>,
    /// What predictions are known to be off by.
    pub known: Arc<KnownErrors>,
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
        /// What predictions of its kind are known to be off by; none: it does not run.
        validated: Option<Arc<Validated>>,
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

/// State shared with the worker of one job.
#[derive(Default)]
struct Shared {
    cancel: AtomicBool,
    finished: AtomicBool,
    done: AtomicU32,
    total: AtomicU32,
}

/// Runs curve jobs, one at a time; a new one supersedes the old.
pub struct CurveRunner {
    waker: Waker,
    sender: Sender<CurveMessage>,
    receiver: Receiver<CurveMessage>,
    current: Option<Arc<Shared>>,
}

impl CurveRunner {
    /// A runner that calls `waker` whenever there is something to poll.
    #[must_use]
    pub fn new(waker: Waker) -> Self {
        let (sender, receiver) = channel();
        Self {
            waker,
            sender,
            receiver,
            current: None,
        }
    }

    /// Starts a job; the one before it stops.
    pub fn start(&mut self, job: CurveJob) {
        self.cancel();
        let shared = Arc::new(Shared::default());
        self.current = Some(Arc::clone(&shared));
        let worker = Worker {
            job,
            shared,
            sender: self.sender.clone(),
            waker: Arc::clone(&self.waker),
            started: Instant::now(),
        };
        let spawned = std::thread::Builder::new()
            .name("curves".to_owned())
            .spawn(move || worker.work());
        if spawned.is_err() {
            // No thread to be had: nothing is running, and the window shows what it had.
            self.current = None;
        }
    }

    /// Stops the running job.
    pub fn cancel(&mut self) {
        if let Some(shared) = self.current.take() {
            shared.cancel.store(true, Ordering::Relaxed);
        }
    }

    /// What has come in since the last call.
    pub fn poll(&mut self) -> Vec<CurveMessage> {
        self.receiver.try_iter().collect()
    }

    /// Points done and points in all, while a job runs.
    #[must_use]
    pub fn progress(&self) -> Option<(u32, u32)> {
        let shared = self.current.as_ref()?;
        (!shared.finished.load(Ordering::Acquire)).then(|| {
            (
                shared.done.load(Ordering::Relaxed),
                shared.total.load(Ordering::Relaxed),
            )
        })
    }

    /// Whether a job runs.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.progress().is_some()
    }
}

impl Drop for CurveRunner {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// Threads for runs: all cores but one, two at least, so that the window stays quick. One pool for
/// the process; without one (no threads to be had), runs happen on the job's own thread.
fn pool() -> Option<&'static rayon::ThreadPool> {
    static POOL: OnceLock<Option<rayon::ThreadPool>> = OnceLock::new();
    POOL.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        rayon::ThreadPoolBuilder::new()
            .num_threads((cores - 1).max(2))
            .thread_name(|index| format!("run {index}"))
            .build()
            .ok()
    })
    .as_ref()
}

struct Worker {
    job: CurveJob,
    shared: Arc<Shared>,
    sender: Sender<CurveMessage>,
    waker: Waker,
    started: Instant,
}

impl Worker {
    fn work(self) {
        let all = || {
            let ask = Ask {
                workload: self.job.workload.clone(),
                trace: self.job.trace.clone(),
                fidelity: Arc::clone(&self.job.fidelity),
            };
            let plans = self.plans(&ask);
            for stage in [Stage::Coarse, Stage::Fine] {
                if self.cancelled() {
                    return;
                }
                self.stage(&ask, &plans, stage);
            }
        };
        match pool() {
            Some(pool) => pool.install(all),
            None => all(),
        }
        self.shared.finished.store(true, Ordering::Release);
        (self.waker)();
    }

    fn cancelled(&self) -> bool {
        self.shared.cancel.load(Ordering::Relaxed)
    }

    fn tell(&self, message: CurveMessage) {
        // The receiver is gone only when the window is.
        if !self.cancelled() && self.sender.send(message).is_ok() {
            (self.waker)();
        }
    }

    /// Plans every design; tells what was found.
    fn plans(&self, ask: &Ask) -> Vec<(DesignId, Arc<Plan>)> {
        let demand = ask.demand();
        let mut plans = Vec::new();
        for snapshot in &self.job.designs {
            let compiled = catch_unwind(AssertUnwindSafe(|| {
                compile(
                    &snapshot.design,
                    &self.job.catalog,
                    &self.job.models,
                    demand,
                )
            }));
            match compiled {
                Ok(compiled) => {
                    let runnable = compiled.plan.is_some();
                    let validated = compiled
                        .plan
                        .as_ref()
                        .and_then(|plan| Deployed::of(plan, demand.longest_context))
                        .map(|own| {
                            let fidelity = self.job.fidelity.name();
                            Arc::new(self.job.known.nearest(&own, fidelity, &self.job.catalog))
                        });
                    self.tell(CurveMessage::Planned {
                        revision: self.job.revision,
                        design: snapshot.id.clone(),
                        findings: compiled.findings,
                        memory: compiled.memory,
                        runnable,
                        validated,
                    });
                    plans.extend(compiled.plan.map(|plan| (snapshot.id.clone(), plan)));
                }
                Err(panic) => self.failed(&snapshot.id, panic_text(&*panic)),
            }
        }
        plans
    }

    fn stage(&self, ask: &Ask, plans: &[(DesignId, Arc<Plan>)], stage: Stage) {
        let tasks: Vec<(&DesignId, &Arc<Plan>, Point)> = plans
            .iter()
            .flat_map(|(id, plan)| {
                ask.points(plan, &self.job.study, stage)
                    .into_iter()
                    .map(move |point| (id, plan, point))
            })
            .collect();
        self.shared.done.store(0, Ordering::Relaxed);
        self.shared.total.store(
            u32::try_from(tasks.len()).unwrap_or(u32::MAX),
            Ordering::Relaxed,
        );
        tasks.par_iter().for_each(|(id, plan, point)| {
            if self.cancelled() {
                return;
            }
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                ask.point(plan, *point, &self.shared.cancel)
            }));
            self.shared.done.fetch_add(1, Ordering::Relaxed);
            match outcome {
                Ok(Ok(summary)) => self.tell(CurveMessage::Point {
                    revision: self.job.revision,
                    design: (*id).clone(),
                    stage,
                    point: CurvePoint {
                        load: point.load,
                        summary: Arc::new(summary),
                    },
                }),
                Ok(Err(SimError::Cancelled)) => {}
                Ok(Err(error)) => self.failed(id, error.to_string()),
                Err(panic) => self.failed(id, panic_text(&*panic)),
            }
        });
        self.tell(CurveMessage::Finished {
            revision: self.job.revision,
            stage,
            took: self.started.elapsed(),
        });
    }

    fn failed(&self, design: &DesignId, message: String) {
        self.tell(CurveMessage::Failed {
            revision: self.job.revision,
            design: design.clone(),
            message,
        });
    }
}

pub(super) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let words = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    format!("a defect of the program stopped this run: {words}")
}
