//! What kind of deployment a plan is: what errors of predictions are kept by and looked up by.

use crate::catalog::{Dtype, GpuId};
use crate::plan::{EngineKind, Plan, PlannedPool, Role};
use serde::{Deserialize, Serialize};

/// Who does what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Prefill and decode on the same GPUs.
    Colocated,
    /// On pools of their own.
    Disaggregated,
    /// Attention and experts on pools of their own.
    AttentionFfn,
}

impl Mode {
    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Colocated => "co-located",
            Self::Disaggregated => "disaggregated",
            Self::AttentionFfn => "attention and FFN apart",
        }
    }
}

/// What kind of deployment it is. Of pools that differ, the one that decodes counts: TPOT is its.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// Its GPU.
    pub gpu: GpuId,
    /// Its engine.
    pub engine: EngineKind,
    /// Whether the model has experts.
    pub experts: bool,
    /// Format of linear and expert weights.
    pub weights: Dtype,
    /// Who does what.
    pub mode: Mode,
}

impl Kind {
    /// Of a plan; none: nothing in it decodes.
    #[must_use]
    pub fn of(plan: &Plan) -> Option<Self> {
        let with = |role: Role| plan.pools.iter().find(|pool| pool.role == role);
        let (pool, mode) = [
            (Role::Attention, Mode::AttentionFfn),
            (Role::Decode, Mode::Disaggregated),
            (Role::Colocated, Mode::Colocated),
        ]
        .into_iter()
        .find_map(|(role, mode)| Some((with(role)?, mode)))?;
        Some(Self {
            gpu: pool.gpu.id.clone(),
            engine: pool.engine.kind,
            experts: plan.model.moe().is_some(),
            weights: weights(pool),
            mode,
        })
    }

    /// Dense or MoE.
    #[must_use]
    pub const fn class(&self) -> &'static str {
        if self.experts { "MoE" } else { "dense" }
    }

    /// `H200 · vLLM · dense · FP8`; disaggregated ones say so at the end.
    #[must_use]
    pub fn words(&self) -> String {
        let mut words = format!(
            "{} · {} · {} · {}",
            short_gpu(&self.gpu),
            self.engine.name(),
            self.class(),
            self.weights.name()
        );
        if self.mode != Mode::Colocated {
            words.push_str(" · ");
            words.push_str(self.mode.name());
        }
        words
    }
}

/// NVFP4 and MXFP4 weights are read and multiplied alike; tables use the names loosely.
fn weights(pool: &PlannedPool) -> Dtype {
    match pool.precision.weights {
        Dtype::Mxfp4 => Dtype::Fp4,
        own => own,
    }
}

/// A GPU as people call it: `H200` of `h200-sxm`.
#[must_use]
pub fn short_gpu(gpu: &GpuId) -> String {
    let name = gpu.as_str();
    name.strip_suffix("-sxm").unwrap_or(name).to_uppercase()
}
