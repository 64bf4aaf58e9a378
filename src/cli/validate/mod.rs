//! `frontier validate`: predictions against measurements, of operators (`--ops`), of whole
//! deployments (`--rows`) or of single requests (`--requests`).

mod ops;
mod requests;
mod rows;

use super::Failure;
use super::fidelity::FidelityArgs;
use clap::Args;
use std::path::PathBuf;

/// What to hold against what.
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// Folder of measured operator tables.
    #[arg(
        long,
        value_name = "DIR",
        required_unless_present_any = ["rows", "requests"],
        conflicts_with_all = ["rows", "requests"]
    )]
    pub ops: Option<PathBuf>,
    /// Table of measured deployments (CSV, a row per run).
    #[arg(long, value_name = "FILE")]
    pub rows: Option<PathBuf>,
    /// Folder of runs measured request by request (runs.csv, and a file of requests for each).
    #[arg(long, value_name = "DIR", conflicts_with = "rows")]
    pub requests: Option<PathBuf>,
    /// With --rows and --requests: write every row or request with what was measured and predicted.
    #[arg(long, value_name = "FILE", conflicts_with = "ops")]
    pub out: Option<PathBuf>,
    /// With --rows and --requests: a setting of an engine over all recipes, such as vllm.async_scheduling=true;
    /// several by several.
    #[arg(
        long = "set",
        value_name = "ENGINE.SETTING=VALUE",
        conflicts_with = "ops"
    )]
    pub set: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(super) fidelity: FidelityArgs,
}

pub(super) fn run(args: &ValidateArgs) -> Result<(), Failure> {
    match (&args.ops, &args.rows, &args.requests) {
        (_, Some(file), _) => rows::run(args, file),
        (_, _, Some(dir)) => requests::run(args, dir),
        (Some(dir), ..) => ops::run(dir, args.json),
        (None, None, None) => Err(Failure::Usage(
            "validate needs --ops DIR, --rows FILE or --requests DIR".to_owned(),
        )),
    }
}
