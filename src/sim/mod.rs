//! The discrete-event simulator: one run, one thread, one seed.
//!
//! The loop of each replica is the engine's own: admit → schedule → build the batch → price the
//! step → advance requests → free or transfer KV. Time is an integer (nanoseconds between events,
//! femtoseconds inside a step). Equal inputs give equal bytes: no floating-point function of the
//! platform decides a result, ties are first in, first out after the ends of steps by replica, and every
//! random stream is named.
//!
//! A step costs what changes in it, not what runs: a lane keeps counts and sums of its decodes
//! ([`lane`]), a request the step it joined at; steps in which nothing changes are advanced together
//! ([`steady`]).

mod breakdown;
mod engine;
mod histogram;
mod lane;
mod ledger;
mod metrics;
mod network;
mod prefix;
mod pricer;
mod queue;
mod record;
mod replica;
mod request;
mod split;
mod station;
mod steady;
mod summary;
mod verdict;

pub use breakdown::{PhaseTime, PoolTime};
pub use engine::{
    Control, Scenario, SimError, run, run_as_client, run_each_as_client, run_recorded,
};
pub use record::{
    LinkLine, Progress, Recording, ReplicaBin, ReplicaLine, StepKind, Timeline, Trace, TraceEnd,
};
pub use split::SplitTime;
pub use summary::{
    Counts, Extrapolated, Hidden, Latency, Provenance, Reuse, Stats, Summary, Window, Work,
};
pub use verdict::Limit;

#[cfg(test)]
mod tests;
