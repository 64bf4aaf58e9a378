//! What long work beside the curves has in common: how far it is, cancelling, threads of its own.

use super::curves::panic_text;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

/// What a job is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkProgress {
    /// What it does: `Reading tables`.
    pub stage: &'static str,
    /// Parts done.
    pub done: usize,
    /// Of so many; zero: not known yet.
    pub total: usize,
}

/// State shared with the worker of one job.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) cancel: AtomicBool,
    pub(super) finished: AtomicBool,
    stage: AtomicU8,
    done: AtomicUsize,
    total: AtomicUsize,
}

impl Shared {
    pub(super) fn enter(&self, stage: u8) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(0, Ordering::Relaxed);
        self.stage.store(stage, Ordering::Relaxed);
    }

    pub(super) fn at(&self, done: usize, total: usize) {
        self.done.fetch_max(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    /// What it is at, by the names of its stages; none: it is done.
    pub(super) fn progress(&self, stages: &[&'static str]) -> Option<WorkProgress> {
        let stage = usize::from(self.stage.load(Ordering::Relaxed));
        (!self.finished.load(Ordering::Acquire)).then(|| WorkProgress {
            stage: stages.get(stage).copied().unwrap_or("Working"),
            done: self.done.load(Ordering::Relaxed),
            total: self.total.load(Ordering::Relaxed),
        })
    }
}

/// Runs a job on threads of its own: work that takes minutes must not hold up the runs of a curve.
/// A panic becomes an error.
pub(super) fn guarded<T: Send>(
    thread: &'static str,
    job: impl FnOnce() -> Result<T, String> + Send,
) -> Result<T, String> {
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads((cores - 1).max(1))
        .thread_name(move |index| format!("{thread} {index}"))
        .build();
    let caught = catch_unwind(AssertUnwindSafe(|| match pool {
        Ok(pool) => pool.install(job),
        Err(_) => job(),
    }));
    caught.unwrap_or_else(|panic| Err(panic_text(&*panic)))
}
