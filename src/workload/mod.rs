//! What is asked of the cluster: when requests arrive and how long they are.
//!
//! Open loop (a rate: Poisson, gamma, constant), closed loop (so many in flight), or a recorded
//! trace. [`Source`] draws requests one by one from named random streams, so a run of a million
//! requests needs no list of them.

mod draw;
mod rng;
mod spec;
mod trace;

pub use draw::{Drawn, Segment, Source, Turn};
pub use rng::{Stream, gamma, log_normal_mean, standard_exponential, standard_normal, uniform};
pub use spec::{
    Arrivals, Length, Load, MAX_CV, MAX_REQUESTS, MAX_TOKENS, Process, TraceFile, Workload,
    WorkloadError,
};
pub use trace::{
    ColumnMap, MAX_TRACE_BYTES, MAX_TRACE_ROWS, TimeUnit, Trace, TraceError, TraceRequest,
    read_trace, read_trace_from,
};
