//! Holding predictions against measured deployments.
//!
//! 1. [`read_rows`] reads a table of benchmark runs as [`Measured`] conditions: which engine served
//!    which model on what, at which load, and the latencies its client saw. Rows that are copies or
//!    contradict themselves are refused with their reason.
//! 2. [`Recipes`] say what such a table does not: the server's settings by campaign, engine and model,
//!    and how the campaign's client sends. One table, a file under `presets/validation`.
//! 3. [`design_of`] draws a condition as a design anyone can open.
//! 5. [`fit_overheads`] finds what engines cost beside their kernels, and how far it is off on what it
//!    has not seen.
//! 4. [`predict`] simulates it as the client measures, and [`Scores`] sum the errors up.
//!
//! [`read_runs`] and [`Predictor::replay`] do the same with runs that were measured request by request.

mod deployment;
mod fit;
mod predict;
mod read;
mod recipe;
mod requests;
mod robust;
mod row;
mod runs;
mod score;

pub use deployment::{DeploymentError, design_of, workload_of};
pub use fit::{Fitted, LeftOut, fit_overheads, start};
pub use predict::{Predicted, Prediction, Predictor};
pub use read::{MAX_ROWS, ReadError, Refused, Rows, read_rows};
pub use recipe::{Client, Over, RecipeError, Recipes, Served};
pub use requests::{Compared, Replayed};
pub use row::{Condition, Deployment, Measured, Sharding, Workers};
pub use runs::{MeasuredRequest, RequestRun, RequestRuns, RunRefused, read_runs};
pub use score::{Errors, Group, Scores, grouped};

#[cfg(test)]
mod tests;
