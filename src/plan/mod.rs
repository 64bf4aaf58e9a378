//! Who does what: pools, layouts, engines, services and feeds as drawn; their legality and memory
//! feasibility as findings; and the frozen [`Plan`] that `cost` and `sim` run on.

mod compile;
mod design;
mod engine;
mod finding;
mod frozen;
mod legality;
mod memory;
mod placement;
mod pool;
mod routing;
mod sequence;

pub use compile::{Compiled, Demand, compile};
pub use design::{Design, DesignId, ModelRef};
pub use engine::{
    AttentionBackend, Caching, Captured, Carrier, Difference, Draft, Engine, EngineKind,
    ExpertExchange, FirstToken, GraphMode, Graphs, Host, Joined, Kernels, KvTransfer, MoeBackend,
    Overheads, Padded, Part, QueueOrder, Scheduler, Scheduling, Setting, SettingError, Speculation,
    Tier, TierKind, low_latency_tokens,
};
pub use finding::{Change, Finding, Place, Repair, Severity};
pub use frozen::{Plan, PlannedPool, PlannedService, PlannedSplit, Replica, StageRun};
pub use legality::{Degree, layout_with, legal_values};
pub(crate) use memory::shard;
pub use memory::{BlockSource, MemoryBudget, MemoryTerm};
pub use pool::{Feed, Layout, Phases, Pool, PoolId, Role, Service, ServiceId, Split};
pub use routing::{LocalPrefill, PrefixGuard, Routing, Rule};
pub use sequence::SequenceKv;

#[cfg(test)]
mod tests;
