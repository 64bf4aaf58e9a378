//! Operators: the kernels a step is made of, as shapes, and what pricing one returns.

mod class;
mod price;
mod work;

pub use class::{Class, RowKind};
pub use price::{Band, MEASURED_UP_TO, OpCost, Origin};

use super::calibrated::{Collective, DeltaHeads};
use super::routed::Routed;
use crate::catalog::{Dtype, Gpu};
use crate::model::WeightFormat;
use crate::plan::Engine;
use std::sync::Arc;

/// How a rank's experts get their tokens, which decides the kernel that multiplies them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Brought {
    /// All tokens of all lanes are there; other ranks' choices are left out by the kernel.
    #[default]
    Gathered,
    /// A low-latency dispatch laid them out by expert, with room for the most there can be (masked
    /// grouped products).
    Masked,
    /// A dispatch brought a list of them (contiguous grouped products).
    Listed,
    /// TensorRT-LLM's exchanges: a list, for slots of experts.
    Slots,
}

/// A kernel's shape on one GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Operator {
    /// `tokens × k` by `k × n`.
    Linear {
        /// Rows of the activation.
        tokens: f64,
        /// Inner size.
        k: f64,
        /// Columns of the weight.
        n: f64,
        /// Format it multiplies in.
        gemm: Dtype,
        /// How the weight is kept in memory.
        weights: WeightFormat,
    },
    /// Batched product per head (MLA absorption): `heads` of `tokens × k` by `k × n`.
    HeadProduct {
        /// Rows per head.
        tokens: f64,
        /// Heads.
        heads: f64,
        /// Inner size.
        k: f64,
        /// Columns.
        n: f64,
    },
    /// Two grouped products of routed experts (gate-up, then down), activation between, sum after.
    Experts {
        /// Tokens of all lanes.
        tokens: f64,
        /// Experts a token goes to.
        top_k: f64,
        /// Experts in all, and on this GPU.
        experts: f64,
        /// Of them on this GPU.
        local: f64,
        /// Routed token copies on this GPU.
        copies: f64,
        /// Distinct experts visited on this GPU.
        visited: f64,
        /// Redundant experts let a load balancer keep all of them equally busy.
        even: bool,
        /// How the tokens came here.
        brought: Brought,
        /// Hidden size.
        hidden: f64,
        /// Inner width on this GPU.
        intermediate: f64,
        /// Matrices of an expert: three with a gate, two without.
        matrices: f64,
        /// Format it multiplies in.
        gemm: Dtype,
        /// How the weights are kept in memory.
        weights: WeightFormat,
    },
    /// Causal attention of a chunk of new tokens over itself and a prior context.
    Prefill {
        /// New tokens.
        tokens: f64,
        /// Entries each of them attends to, summed.
        pairs: f64,
        /// Entries read from or written to the cache: each once, or gathered per query.
        entries: f64,
        /// Tokens of the sequence already in the cache.
        context: f64,
        /// Query heads on this GPU.
        heads: f64,
        /// Key and value heads on this GPU.
        kv_heads: f64,
        /// Tokens a token looks back over; 0: all.
        window: f64,
        /// Format of the cache.
        kv: Dtype,
        /// MLA: keys and values of all heads come from one latent.
        latent: bool,
        /// Width of queries and keys.
        qk_dim: f64,
        /// Width of values.
        v_dim: f64,
        /// Bytes of an entry.
        kv_bytes: f64,
    },
    /// One new token of each of `sequences` over what it attends to of its context.
    Decode {
        /// Sequences.
        sequences: f64,
        /// Entries they attend to, summed: tokens, or compressed ones.
        entries: f64,
        /// Query heads on this GPU.
        heads: f64,
        /// Key and value heads on this GPU.
        kv_heads: f64,
        /// Width of queries and keys, as multiplied.
        qk_dim: f64,
        /// Width of values, as multiplied.
        v_dim: f64,
        /// Tokens a token looks back over; 0: all.
        window: f64,
        /// Format of the cache.
        kv: Dtype,
        /// MLA, absorbed: scores and values of all heads over one latent.
        latent: bool,
        /// FLOPs per entry.
        flops: f64,
        /// Bytes of an entry.
        kv_bytes: f64,
    },
    /// An indexer's scores of index keys and the choice of the best.
    Scores {
        /// Query tokens.
        queries: f64,
        /// Keys each of them scores, summed.
        pairs: f64,
        /// Keys read, each once per sequence.
        entries: f64,
        /// Scoring heads on this GPU.
        heads: f64,
        /// Width of a head and of a key.
        dim: f64,
        /// Format of queries and keys.
        dtype: Dtype,
    },
    /// One token of a recurrence for each of `sequences`: its state is read and written.
    Step {
        /// Sequences.
        sequences: f64,
        /// FLOPs of a token.
        flops: f64,
        /// Bytes of a token's inputs and output.
        bytes: f64,
        /// Bytes of a sequence's state.
        state_bytes: f64,
        /// Its heads, if it is a gated delta net's.
        delta: Option<DeltaHeads>,
    },
    /// A recurrence over a chunk of one sequence's prompt, from state to state.
    Scan {
        /// Its tokens.
        tokens: f64,
        /// FLOPs of a token.
        flops: f64,
        /// Bytes of a token: inputs, output, its share of intermediate states.
        bytes: f64,
        /// Bytes of the sequence's state.
        state_bytes: f64,
        /// Its heads, if it is a gated delta net's.
        delta: Option<DeltaHeads>,
    },
    /// The short convolution before a gated delta net.
    Convolution {
        /// Tokens.
        tokens: f64,
        /// The net's heads.
        heads: DeltaHeads,
    },
    /// What is done to each row on its own.
    Rows {
        /// What.
        kind: RowKind,
        /// Rows.
        rows: f64,
        /// Values of a row.
        width: f64,
        /// Bytes read and written for each.
        bytes: f64,
    },
}

/// A collective among ranks of one scale-up domain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Joint {
    /// Which.
    pub collective: Collective,
    /// Ranks.
    pub ranks: u32,
    /// Bytes of the buffer: what a rank ends with or starts with, whichever is more.
    pub bytes: f64,
    /// Rate of a rank inside the domain, as drawn, bytes/s.
    pub rate: f64,
}

/// What moves a sequence's cache from one engine to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TransferEngine {
    /// Seconds before and after the bytes: finding, posting, completing.
    pub latency: f64,
    /// Share of a link's rate it reaches.
    pub efficiency: f64,
    /// Most bytes per second it drives through one NIC, before that share.
    pub nic: f64,
}

impl TransferEngine {
    /// Links as drawn and nothing else.
    pub const IDEAL: Self = Self {
        latency: 0.0,
        efficiency: 1.0,
        nic: f64::INFINITY,
    };
}

/// A way of pricing operators.
pub trait Fidelity: Send + Sync {
    /// Its name, shown on every result.
    fn name(&self) -> &'static str;
    /// The prices of one engine's kernels on one GPU.
    fn on(&self, gpu: &Gpu, engine: &Engine) -> Arc<dyn Prices>;
    /// What moves caches between pools.
    fn transfer(&self) -> TransferEngine {
        TransferEngine::IDEAL
    }
}

/// Prices of operators on one GPU.
pub trait Prices: Send + Sync {
    /// The price of one operator.
    fn price(&self, operator: &Operator) -> OpCost;
    /// The price of a collective inside a domain, where more is known than its links.
    fn collective(&self, _asked: &Joint) -> Option<OpCost> {
        None
    }
    /// The price of an exchange of tokens with the ranks of their experts, likewise.
    fn routed(&self, _asked: &Routed) -> Option<OpCost> {
        None
    }
    /// Whether it takes so little time that nothing need be remembered.
    fn quick(&self) -> bool {
        false
    }
}
