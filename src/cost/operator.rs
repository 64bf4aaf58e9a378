//! Operators: the kernels a step is made of, as shapes, and what pricing one returns.

use super::calibrated::{Collective, DeltaHeads};
use super::routed::Routed;
use crate::catalog::{Dtype, Gpu};
use crate::model::WeightFormat;
use crate::plan::Engine;
use std::sync::Arc;

/// What an operator is for, as results sum it up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Dense matrix products of attention and MLPs.
    Linear,
    /// Attention itself, an indexer's scores, a recurrence.
    Attention,
    /// Routed and shared experts, router.
    Experts,
    /// Norms, rotary, activations, residuals, cache writes.
    Elementwise,
    /// Embedding, LM head, sampling.
    Head,
    /// Collectives and point-to-point.
    Communication,
    /// The engine's host.
    Host,
}

impl Class {
    /// All, in index order.
    pub const ALL: [Self; 7] = [
        Self::Linear,
        Self::Attention,
        Self::Experts,
        Self::Elementwise,
        Self::Head,
        Self::Communication,
        Self::Host,
    ];
    /// How many.
    pub const COUNT: usize = Self::ALL.len();

    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Attention => "attention",
            Self::Experts => "experts",
            Self::Elementwise => "elementwise",
            Self::Head => "embedding, head and sampling",
            Self::Communication => "communication",
            Self::Host => "host",
        }
    }
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

/// What a row-wise kernel does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKind {
    /// RMS norm, the residual added first: one kernel in every engine.
    Norm,
    /// Norms of queries and keys, head by head.
    NormOfHeads,
    /// Rotary embedding of queries and keys.
    Rope,
    /// The MLP's activation, times its gate.
    Activation,
    /// The embedding's look-up.
    Embedding,
    /// Logits to FP32, softmax and a draw.
    Sampling,
    /// Anything else: cache writes, gates, sums.
    Other,
}

impl RowKind {
    /// All.
    pub const ALL: [Self; 7] = [
        Self::Norm,
        Self::NormOfHeads,
        Self::Rope,
        Self::Activation,
        Self::Embedding,
        Self::Sampling,
        Self::Other,
    ];

    /// Kernels that run one after another for it: logits to FP32, softmax, a draw, its result's copy.
    #[must_use]
    pub const fn kernels(self) -> u32 {
        match self {
            Self::Sampling => 4,
            _ => 1,
        }
    }
}

impl Operator {
    /// Kernels that run one after another for it.
    #[must_use]
    pub const fn kernels(&self) -> u32 {
        match self {
            Self::Linear { .. }
            | Self::HeadProduct { .. }
            | Self::Prefill { .. }
            | Self::Step { .. }
            | Self::Convolution { .. } => 1,
            Self::Rows { kind, .. } => kind.kernels(),
            // The split-KV kernel and its combine; scores and the choice.
            Self::Decode { .. } | Self::Scores { .. } => 2,
            // Two grouped GEMMs, an activation, sorting tokens by expert, and the weighted sum.
            Self::Experts { .. } => 5,
            // flash-linear-attention's and SSD's forward: sums, scores, states, outputs.
            Self::Scan { .. } => 5,
        }
    }

    /// Floating-point operations (a multiply-add is two) and bytes moved.
    #[must_use]
    pub fn work(&self) -> (f64, f64) {
        match *self {
            Self::Linear {
                tokens,
                k,
                n,
                gemm,
                weights,
            } => {
                let activation = f64::from(u32::try_from(gemm.bits()).unwrap_or(16)) / 8.0;
                (
                    2.0 * tokens * k * n,
                    k * n * weights.bytes_each() + tokens * (k * activation + n * 2.0),
                )
            }
            Self::HeadProduct {
                tokens,
                heads,
                k,
                n,
            } => (
                2.0 * tokens * heads * k * n,
                2.0 * heads * (k * n + tokens * (k + n)),
            ),
            Self::Experts {
                tokens,
                copies,
                visited,
                hidden,
                intermediate,
                matrices,
                weights,
                ..
            } => (
                2.0 * matrices * copies * hidden * intermediate,
                visited * matrices * hidden * intermediate * weights.bytes_each()
                    + copies * (4.0 * hidden + 2.0 * matrices * intermediate)
                    // The weighted sum of the copies' outputs.
                    + (copies + tokens) * 2.0 * hidden,
            ),
            Self::Prefill {
                tokens,
                pairs,
                entries,
                heads,
                qk_dim,
                v_dim,
                kv_bytes,
                ..
            } => (
                2.0 * heads * (qk_dim + v_dim) * pairs,
                entries * kv_bytes + 2.0 * tokens * heads * (qk_dim + v_dim),
            ),
            Self::Decode {
                entries,
                flops,
                kv_bytes,
                ..
            } => (entries * flops, entries * kv_bytes),
            Self::Scores {
                queries,
                pairs,
                entries,
                heads,
                dim,
                dtype,
            } => (
                2.0 * heads * dim * pairs,
                // Queries and keys; FP32 scores are written, then read to choose.
                f64::from(u32::try_from(dtype.bits()).unwrap_or(16)) / 8.0
                    * (entries + queries * heads)
                    * dim
                    + 8.0 * pairs,
            ),
            Self::Step {
                sequences,
                flops,
                bytes,
                state_bytes,
                ..
            } => (sequences * flops, sequences * (bytes + 2.0 * state_bytes)),
            Self::Scan {
                tokens,
                flops,
                bytes,
                state_bytes,
                ..
            } => (tokens * flops, tokens * bytes + 2.0 * state_bytes),
            // Four taps; read and written.
            Self::Convolution { tokens, heads } => {
                let values = tokens * heads.channels();
                (8.0 * values, 4.0 * values)
            }
            Self::Rows {
                rows, width, bytes, ..
            } => (0.0, rows * width * bytes),
        }
    }
}

/// Where a price comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Interpolated in a user's own measurements.
    Measured,
    /// A fit of measurements on this GPU.
    Calibrated,
    /// A fit, asked outside the range that was measured.
    Extrapolated,
    /// A relative's fit, scaled by the physics.
    Relative,
    /// The same, asked outside the range that was measured.
    RelativeExtrapolated,
    /// Datasheet peaks and one efficiency per class.
    Roofline,
    /// Given by the design (host time).
    Given,
}

impl Origin {
    /// All, in index order.
    pub const ALL: [Self; 7] = [
        Self::Measured,
        Self::Calibrated,
        Self::Extrapolated,
        Self::Relative,
        Self::RelativeExtrapolated,
        Self::Roofline,
        Self::Given,
    ];
    /// How many.
    pub const COUNT: usize = Self::ALL.len();

    /// Its words, after “so much of the time”.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Calibrated => "calibrated",
            Self::Extrapolated => "calibrated, extrapolated",
            Self::Relative => "a relative's calibration",
            Self::RelativeExtrapolated => "a relative's calibration, extrapolated",
            Self::Roofline => "roofline",
            Self::Given => "given by the design",
        }
    }
}

/// How far a price may be off: shares below and above, `(0.3, 0.5)` meaning −30 % … +50 %.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Band {
    /// The true time may be this share below.
    pub below: f64,
    /// The true time may be this share above.
    pub above: f64,
}

/// So little outside what was measured is not called extrapolated.
pub const MEASURED_UP_TO: f64 = 1.05;

/// The price of one operator and its parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpCost {
    /// Seconds the arithmetic takes.
    pub compute: f64,
    /// Seconds the memory takes.
    pub memory: f64,
    /// Seconds links take.
    pub link: f64,
    /// Seconds of launch and ramp that nothing hides.
    pub launch: f64,
    /// Seconds in all: arithmetic and memory overlap inside a kernel.
    pub seconds: f64,
    /// Kernels launched.
    pub kernels: u32,
    /// Where it comes from.
    pub origin: Origin,
    /// How far it may be off.
    pub band: Band,
    /// How far outside what was measured the shape lies: a factor on the farthest size, 1 inside.
    pub beyond: f64,
}

impl OpCost {
    /// Where it comes from, in words: `calibrated, extrapolated ×80`.
    #[must_use]
    pub fn label(&self) -> String {
        let name = self.origin.name();
        if self.beyond <= MEASURED_UP_TO {
            return name.to_owned();
        }
        let factor = if self.beyond < 10.0 {
            format!("{:.1}", self.beyond)
        } else {
            format!("{:.0}", self.beyond)
        };
        match self.origin {
            Origin::Extrapolated | Origin::RelativeExtrapolated => format!("{name} ×{factor}"),
            _ => format!("{name}, extrapolated ×{factor}"),
        }
    }

    /// Arithmetic and memory overlap whole; launch and links do not.
    #[must_use]
    pub fn roofline(
        compute: f64,
        memory: f64,
        link: f64,
        launch: f64,
        kernels: u32,
        band: Band,
    ) -> Self {
        Self {
            compute,
            memory,
            link,
            launch,
            seconds: compute.max(memory) + link + launch,
            kernels,
            origin: Origin::Roofline,
            band,
            beyond: 1.0,
        }
    }

    /// Seconds in all.
    #[must_use]
    pub const fn seconds(&self) -> f64 {
        self.seconds
    }

    /// This and then another. Comes from where the longer one does; the bands add up.
    #[must_use]
    pub fn then(&self, other: &Self) -> Self {
        let seconds = self.seconds + other.seconds;
        let off = |own: fn(&Band) -> f64| {
            if seconds > 0.0 {
                (own(&self.band) * self.seconds + own(&other.band) * other.seconds) / seconds
            } else {
                0.0
            }
        };
        Self {
            compute: self.compute + other.compute,
            memory: self.memory + other.memory,
            link: self.link + other.link,
            launch: self.launch + other.launch,
            seconds,
            kernels: self.kernels + other.kernels,
            origin: if self.seconds < other.seconds {
                other.origin
            } else {
                self.origin
            },
            band: Band {
                below: off(|band| band.below),
                above: off(|band| band.above),
            },
            beyond: self.beyond.max(other.beyond),
        }
    }
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
