//! The document's format, frozen: what was once written is read for ever.
//!
//! These types are the format. They mirror the program's types but are not them, so the program
//! may change without changing what a file means. A version that only adds (fields that older files
//! lack, with what that meant; variants they could not have) shares these types with the older
//! ones; a version that changes or takes away gets types of its own beside this module and a step
//! from here to there.
//!
//! - Version 1: designs, workload, SLO, load curve.
//! - Version 2 adds: layers that see a window, compressed or recurrent layers, MFA, sparse
//!   attention, experts without gates or in a latent space, quantised checkpoints, engines besides
//!   vLLM, context parallelism and redundant experts.
//! - Version 3 adds: how an engine's loop runs (scheduler, host, CUDA graphs, KV reuse, drafts); how a
//!   trace is read, conversations, hidden rounds, priorities.
//! - Version 4 adds: which kernels run, how tokens reach their experts, a request's time outside the
//!   server, prompts that wait for more of them, layers by pipeline stage, graphs without padding.
//! - Version 5 adds: who takes a request (routing), how KV gets from prefill to decode.
//!
//! Only leaves with a text form that never changes (quantities,
//! ids, ranges of GPUs) are shared.

mod bounds;
mod check;
mod cluster;
mod engine;
mod mirror;
mod model;
mod plan;
mod workload;

pub(super) use check::check;

use super::document;
use crate::units::Seconds;
use bounds::{MAX_DESIGNS, MAX_NAME, MAX_TEXT};
use mirror::{Frozen, frozen_struct};
use plan::Design;
use serde::{Deserialize, Serialize};
use workload::Workload;

/// The whole file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) format: String,
    pub(super) version: u32,
    pub(super) app: String,
    pub(super) project: Project,
}

frozen_struct!(Project as document::Project {
    #[serde(deserialize_with = "bounds::text::<_, MAX_NAME>")]
    name: String,
    #[serde(default, skip_serializing_if = "String::is_empty", deserialize_with = "bounds::text::<_, MAX_TEXT>")]
    story: String,
    #[serde(deserialize_with = "bounds::at_most::<_, _, MAX_DESIGNS>")]
    designs: Vec<Design>,
    workload: Workload,
    slo: Slo,
    curve: CurveStudy,
});

frozen_struct!(Slo as super::Slo {
    ttft: Seconds,
    tpot: Seconds,
    #[serde(deserialize_with = "bounds::up_to::<_, 1>")]
    attainment: f64,
});

frozen_struct!(CurveStudy as super::CurveStudy {
    #[serde(deserialize_with = "bounds::loads")]
    loads: Vec<f64>,
    points: u32,
    #[serde(deserialize_with = "bounds::up_to::<_, 100>")]
    percentile: f64,
});

impl From<&document::Project> for Project {
    fn from(live: &document::Project) -> Self {
        Self::freeze(live)
    }
}

impl From<Project> for document::Project {
    fn from(frozen: Project) -> Self {
        frozen.thaw()
    }
}
