//! Holding predictions against measured deployments.
//!
//! 1. [`read_rows`] reads a table of benchmark runs as [`Measured`] conditions: which engine served
//!    which model on what, at which load, and the latencies its client saw. Rows that are copies or
//!    contradict themselves are refused with their reason.
//! 2. [`Recipes`] say what such a table does not: the server's settings by campaign, engine and model,
//!    and how the campaign's client sends. One table, a file under `presets/validation`.
//! 3. [`design_of`] draws a condition as a design anyone can open.
//! 4. [`Predictor`] simulates it as the client measures, and [`Scores`] sum the errors up.
//! 5. [`KnownErrors`] keep what is aggregate of them in a file; the errors [`KnownErrors::nearest`] to a
//!    design are said beside its results, drawn as [`bands`], and decide whether a ranking is safe.
//! 6. [`fit_overheads`] finds what engines cost beside their kernels, and how far it is off on what it
//!    has not seen.
//!
//! [`read_runs`] and [`Predictor::replay`] do the same with runs that were measured request by request.

mod band;
mod deployment;
mod fit;
mod grouping;
mod kind;
mod known;
mod nearest;
mod outcome;
mod predict;
mod read;
mod recipe;
mod requests;
mod robust;
mod row;
mod runs;
mod score;
mod setting;

pub use band::{At, Band, Ranking, Side, bands, rank};
pub use deployment::{DeploymentError, Drawn, design_of, workload_of};
pub use fit::{Fitted, LeftOut, fit_overheads, start};
pub use grouping::By;
pub use kind::{Kind, Mode, short_gpu};
pub use known::{KnownError, KnownErrors, KnownGroup, LEAST, Spread};
pub use nearest::{Deployed, Validated};
pub use outcome::{Headline, Outcome};
pub use predict::{Predicted, Prediction, Predictor};
pub use read::{MAX_ROWS, ReadError, Refused, Rows, read_rows};
pub use recipe::{Client, Over, RecipeError, Recipes, Served};
pub use requests::{Compared, Replayed};
pub use row::{Condition, Deployment, Measured, Sharding, Workers};
pub use runs::{MeasuredRequest, RequestRun, RequestRuns, RunRefused, read_runs};
pub use score::{Errors, Group, Scores, grouped};
pub use setting::Setting;

#[cfg(test)]
mod tests;
