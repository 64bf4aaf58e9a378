//! A measured condition: one deployment at one load, and what its client saw.

use crate::plan::EngineKind;

/// How one replica is spread, as benchmark tables say it. Attention ranks are `tp · dp`, expert
/// ranks `moe_tp · ep`: the same GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sharding {
    /// Tensor parallelism of attention.
    pub tp: u32,
    /// Pipeline stages.
    pub pp: u32,
    /// Attention lanes.
    pub dp: u32,
    /// Ranks that split each expert.
    pub moe_tp: u32,
    /// Ranks the experts are dealt to.
    pub ep: u32,
}

impl Sharding {
    /// GPUs of one replica.
    #[must_use]
    pub const fn gpus(self) -> u32 {
        self.tp.saturating_mul(self.pp).saturating_mul(self.dp)
    }
}

/// Replicas of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Workers {
    /// How many.
    pub count: u32,
    /// How each is spread.
    pub sharding: Sharding,
}

/// Who does what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deployment {
    /// One replica does prefill and decode.
    Colocated(Sharding),
    /// Pools of their own.
    Disaggregated {
        /// Prefill workers.
        prefill: Workers,
        /// Decode workers.
        decode: Workers,
    },
}

impl Deployment {
    /// Whether prefill and decode share their GPUs.
    #[must_use]
    pub const fn is_colocated(&self) -> bool {
        matches!(self, Self::Colocated(_))
    }
}

/// What was run: all a prediction may know.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The engine.
    pub engine: EngineKind,
    /// Its version as the table says it; empty: not said.
    pub version: String,
    /// The container image; empty: not said.
    pub image: String,
    /// The model as published (`deepseek-ai/DeepSeek-R1`).
    pub model_path: String,
    /// The table's one name for models of one architecture.
    pub model: String,
    /// The table's name of the GPU (`h200_sxm`).
    pub system: String,
    /// Precision of the weights in the table's words (`fp8`, `fp4`, `bf16`).
    pub precision: String,
    /// Scaling of FP8 products, where said (`fp8_block`).
    pub gemm: String,
    /// Who does what.
    pub deployment: Deployment,
    /// Nominal prompt tokens.
    pub isl: u32,
    /// Nominal answer tokens.
    pub osl: u32,
    /// Requests in flight.
    pub concurrency: u32,
    /// Whose benchmark.
    pub campaign: String,
    /// When, `2026-04-22`; empty: not said.
    pub date: String,
    /// The configuration's name in the table: rows of one group differ in load only.
    pub group: String,
}

impl Condition {
    /// A model of experts, by the table's own columns: what it is in fact, its model says.
    #[must_use]
    pub fn sharding(&self) -> Sharding {
        match self.deployment {
            Deployment::Colocated(sharding) => sharding,
            Deployment::Disaggregated { decode, .. } => decode.sharding,
        }
    }
}

/// A condition and what its client measured, averaged over its repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Names of the rows in the file.
    pub ids: Vec<String>,
    /// Line of the first of them, from 1.
    pub line: u64,
    /// What was run.
    pub condition: Condition,
    /// Mean time to first token, s.
    pub ttft: f64,
    /// Mean time per output token, s.
    pub tpot: f64,
}
