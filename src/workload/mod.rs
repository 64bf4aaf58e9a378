//! What is asked of the cluster: when requests arrive, how long they are, and what their prompts
//! share.
//!
//! Open loop (a rate: Poisson, gamma, constant), closed loop (so many in flight), or a recorded
//! trace (CSV, or Mooncake's JSON lines with block hashes). Requests stand alone or are turns of
//! conversations and rounds of reasoning. [`Source`] draws them one by one from named random
//! streams, so a run of a million requests needs no list of them.

mod draw;
pub(crate) mod rng;
mod sessions;
mod spec;
mod trace;

pub use draw::{Drawn, Segment, Source, Turn};
pub use rng::{
    Stream, gamma, log_normal_mean, split_mix, standard_exponential, standard_normal, uniform, unit,
};
pub use sessions::{
    Count, Hidden, MAX_CLASSES, MAX_SYSTEM_PROMPTS, MAX_TURNS, PriorityClass, Sessions,
    SystemPrompt, Wait,
};
pub use spec::{
    Arrivals, Length, Load, MAX_CV, MAX_REQUESTS, MAX_TOKENS, Process, TraceFile, Workload,
    WorkloadError,
};
pub use trace::{
    ColumnMap, MAX_TRACE_BLOCKS, MAX_TRACE_BYTES, MAX_TRACE_ROWS, TRACE_BLOCK, Ties, TimeUnit,
    Trace, TraceError, TraceFacts, TraceOptions, TraceRequest, Window, read_trace, read_trace_from,
};
