//! What operators are for: classes results sum up, and kinds of row-wise kernels.

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
