//! What a family's code takes for granted where its files don't say, as data.

use crate::model::{Gate, NormKind};

/// Norms on queries and keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QkNorm {
    None,
    /// Of one head's width.
    Head,
    /// Over all heads.
    Whole,
}

/// What `attention_bias` says of the output projection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutBias {
    /// It has one too.
    Follows,
    Never,
    Always,
}

/// Width of a head where the file doesn't say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadDim {
    /// hidden / heads.
    Divide,
    /// The class has a constant that files must state.
    State,
    Is(u64),
}

/// Which layers a stated window is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Windows {
    /// All.
    All,
    /// None, unless `use_sliding_window` is on: then those from `max_window_layers` on.
    Switched,
    /// All but the last of each so many.
    But(u64),
}

/// Facts about a family.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    /// Norms of the model's width in a layer.
    pub(super) norms: u64,
    pub(super) norm: NormKind,
    /// The LM head is the embedding table.
    pub(super) tied: bool,
    /// Biases on Q, K and V.
    pub(super) qkv_bias: bool,
    pub(super) out_bias: OutBias,
    pub(super) qk_norm: QkNorm,
    pub(super) head_dim: HeadDim,
    /// No number of key-value heads means one per query head.
    pub(super) mha: bool,
    /// MLPs of three matrices.
    pub(super) gated: bool,
    pub(super) mlp_bias: bool,
    /// A correction bias on the router.
    pub(super) router_bias: bool,
    /// `intermediate_size` is an expert's width.
    pub(super) expert_is_intermediate: bool,
    pub(super) windows: Windows,
    pub(super) gate: Gate,
    pub(super) sinks: bool,
    /// A gate on the shared experts.
    pub(super) shared_gate: bool,
    /// A table of positions of so many rows more than the context.
    pub(super) positions: Option<u64>,
    /// The MLP is four times as wide as the model unless stated.
    pub(super) four_wide: bool,
    /// Class defaults of keys files leave out.
    pub(super) defaults: &'static [(&'static str, u64)],
}

impl Facts {
    /// A Llama-like model.
    pub(super) const LLAMA: Self = Self {
        norms: 2,
        norm: NormKind::Rms,
        tied: false,
        qkv_bias: false,
        out_bias: OutBias::Follows,
        qk_norm: QkNorm::None,
        head_dim: HeadDim::Divide,
        mha: false,
        gated: true,
        mlp_bias: false,
        router_bias: false,
        expert_is_intermediate: false,
        windows: Windows::All,
        gate: Gate::None,
        sinks: false,
        shared_gate: false,
        positions: None,
        four_wide: false,
        defaults: &[],
    };

    pub(super) const fn norms(mut self, norms: u64) -> Self {
        self.norms = norms;
        self
    }

    pub(super) const fn norm(mut self, norm: NormKind) -> Self {
        self.norm = norm;
        self
    }

    pub(super) const fn tied(mut self) -> Self {
        self.tied = true;
        self
    }

    pub(super) const fn qkv_bias(mut self, bias: bool) -> Self {
        self.qkv_bias = bias;
        self
    }

    pub(super) const fn out_bias(mut self, bias: OutBias) -> Self {
        self.out_bias = bias;
        self
    }

    pub(super) const fn qk_norm(mut self, norm: QkNorm) -> Self {
        self.qk_norm = norm;
        self
    }

    pub(super) const fn head_dim(mut self, width: HeadDim) -> Self {
        self.head_dim = width;
        self
    }

    pub(super) const fn mha(mut self) -> Self {
        self.mha = true;
        self
    }

    pub(super) const fn ungated(mut self) -> Self {
        self.gated = false;
        self
    }

    pub(super) const fn mlp_bias(mut self, bias: bool) -> Self {
        self.mlp_bias = bias;
        self
    }

    pub(super) const fn router_bias(mut self) -> Self {
        self.router_bias = true;
        self
    }

    pub(super) const fn expert_is_intermediate(mut self) -> Self {
        self.expert_is_intermediate = true;
        self
    }

    pub(super) const fn windows(mut self, windows: Windows) -> Self {
        self.windows = windows;
        self
    }

    pub(super) const fn gate(mut self, gate: Gate) -> Self {
        self.gate = gate;
        self
    }

    pub(super) const fn sinks(mut self) -> Self {
        self.sinks = true;
        self
    }

    pub(super) const fn shared_gate(mut self) -> Self {
        self.shared_gate = true;
        self
    }

    pub(super) const fn positions(mut self, more: u64) -> Self {
        self.positions = Some(more);
        self
    }

    pub(super) const fn four_wide(mut self) -> Self {
        self.four_wide = true;
        self
    }

    pub(super) const fn defaults(mut self, defaults: &'static [(&'static str, u64)]) -> Self {
        self.defaults = defaults;
        self
    }
}
