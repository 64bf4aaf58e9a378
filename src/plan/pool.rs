//! Who does what, as drawn: pools with a role, a layout, an engine and a precision; services made
//! of pools; feeds between services.

use super::engine::Engine;
use crate::catalog::{Dtype, typed_id};
use crate::cluster::GpuRange;
use crate::model::Precision;
use serde::{Deserialize, Serialize};

typed_id!(
    /// A pool of a design.
    PoolId
);
typed_id!(
    /// A service of a design.
    ServiceId
);

/// What the GPUs of a pool do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Prefill and decode in the same steps.
    Colocated,
    /// Prefill only.
    Prefill,
    /// Decode only.
    Decode,
    /// The attention half of an attention/FFN split.
    Attention,
    /// The FFN half.
    Ffn,
}

impl Role {
    /// All, in the order shown.
    pub const ALL: [Self; 5] = [
        Self::Colocated,
        Self::Prefill,
        Self::Decode,
        Self::Attention,
        Self::Ffn,
    ];

    /// The field's word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Colocated => "Co-located",
            Self::Prefill => "Prefill",
            Self::Decode => "Decode",
            Self::Attention => "Attention",
            Self::Ffn => "FFN",
        }
    }
}

/// How one replica of the model is spread over GPUs. A replica has
/// `tp · dp · pp · cp` GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Tensor parallelism: ranks that split each layer.
    pub tp: u32,
    /// Pipeline parallelism: stages of consecutive layers.
    pub pp: u32,
    /// Attention data parallelism: lanes with their own requests and KV that share the experts.
    pub dp: u32,
    /// Expert parallelism: ranks the experts are dealt to; divides `tp · dp`, the rest is MoE-TP.
    pub ep: u32,
    /// Context parallelism: ranks that split the tokens of a long prompt.
    #[serde(default = "one")]
    pub cp: u32,
    /// Copies of experts kept beside the model's own, dealt out with them (EPLB).
    #[serde(default)]
    pub redundant_experts: u32,
}

const fn one() -> u32 {
    1
}

impl Layout {
    /// One GPU.
    pub const SINGLE: Self = Self {
        tp: 1,
        pp: 1,
        dp: 1,
        ep: 1,
        cp: 1,
        redundant_experts: 0,
    };

    /// GPUs of one replica.
    #[must_use]
    pub const fn gpus(self) -> u32 {
        self.tp
            .saturating_mul(self.pp)
            .saturating_mul(self.dp)
            .saturating_mul(self.cp)
    }

    /// Ranks that split each expert: `tp · dp / ep`.
    #[must_use]
    pub fn moe_tp(self) -> u32 {
        (self.tp.saturating_mul(self.dp) / self.ep.max(1)).max(1)
    }
}

/// A set of GPUs with one role, one layout, one engine and one precision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Its name in the file.
    pub id: PoolId,
    /// Its name for people.
    pub name: String,
    /// What its GPUs do.
    pub role: Role,
    /// Which GPUs.
    pub gpus: Vec<GpuRange>,
    /// How a replica is spread.
    pub layout: Layout,
    /// The engine.
    pub engine: Engine,
    /// Number formats.
    pub precision: Precision,
}

/// Which phases a service serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phases {
    /// Prefill and decode.
    Both,
    /// Prefill only.
    Prefill,
    /// Decode only.
    Decode,
}

/// What serves requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Service {
    /// A pool whose replicas hold the whole model.
    Whole {
        /// Its name in the file.
        id: ServiceId,
        /// The pool.
        pool: PoolId,
        /// Which phases.
        phases: Phases,
    },
    /// Attention pools that share an FFN pool.
    Afd {
        /// Its name in the file.
        id: ServiceId,
        /// Pools that attend.
        attention: Vec<PoolId>,
        /// The pool with the experts.
        ffn: PoolId,
        /// Which phases.
        phases: Phases,
        /// How a step is cut up and what its halves send each other.
        split: Split,
    },
}

/// How attention and FFN halves work together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// Micro-batches a step is dealt into, so that one is attended while others are at the FFN or on
    /// their way: 1 to [`Split::MOST_MICRO_BATCHES`].
    pub micro_batches: u32,
    /// Format of activations on their way to the FFN.
    pub dispatch: Dtype,
    /// The same on their way back.
    pub combine: Dtype,
    /// Every token goes to all groups of FFN ranks, as Step-3's do; else to those of its experts.
    pub broadcast: bool,
}

impl Split {
    /// Most micro-batches: published pipelines have 2 to 4.
    pub const MOST_MICRO_BATCHES: u32 = 4;
}

impl Default for Split {
    /// Step-3's (arXiv 2507.19427, §4–5).
    fn default() -> Self {
        Self {
            micro_batches: 3,
            dispatch: Dtype::Fp8,
            combine: Dtype::Bf16,
            broadcast: true,
        }
    }
}

impl Service {
    /// Its name.
    #[must_use]
    pub const fn id(&self) -> &ServiceId {
        match self {
            Self::Whole { id, .. } | Self::Afd { id, .. } => id,
        }
    }

    /// Which phases it serves.
    #[must_use]
    pub const fn phases(&self) -> Phases {
        match self {
            Self::Whole { phases, .. } | Self::Afd { phases, .. } => *phases,
        }
    }

    /// Whether the pool is part of it.
    #[must_use]
    pub fn uses(&self, id: &PoolId) -> bool {
        match self {
            Self::Whole { pool, .. } => pool == id,
            Self::Afd { attention, ffn, .. } => ffn == id || attention.contains(id),
        }
    }
}

/// A prefill service hands its requests to a decode service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feed {
    /// The prefill service.
    pub from: ServiceId,
    /// The decode service.
    pub to: ServiceId,
}
