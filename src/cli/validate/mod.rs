//! `frontier validate`: predictions against measurements, of operators (`--ops`) or of whole
//! deployments (`--rows`).

mod markdown;
mod ops;
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
        required_unless_present = "rows",
        conflicts_with = "rows"
    )]
    pub ops: Option<PathBuf>,
    /// Table of measured deployments (CSV, a row per run).
    #[arg(long, value_name = "FILE")]
    pub rows: Option<PathBuf>,
    /// With --rows: write every row with what was measured and predicted.
    #[arg(long, value_name = "FILE", requires = "rows")]
    pub out: Option<PathBuf>,
    /// With --rows: a setting of an engine over all recipes, such as vllm.async_scheduling=true;
    /// several by several.
    #[arg(long = "set", value_name = "ENGINE.SETTING=VALUE", requires = "rows")]
    pub set: Vec<String>,
    /// With --rows: write the errors of each kind of deployment, which results are shown beside
    /// (presets/validation/errors.ron).
    #[arg(long, value_name = "FILE", requires = "rows")]
    pub keep: Option<PathBuf>,
    /// With --rows: print the tables as Markdown.
    #[arg(long, requires = "rows", conflicts_with = "json")]
    pub markdown: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(super) fidelity: FidelityArgs,
}

pub(super) fn run(args: &ValidateArgs) -> Result<(), Failure> {
    match (&args.ops, &args.rows) {
        (_, Some(file)) => rows::run(args, file),
        (Some(dir), None) => ops::run(dir, args.json),
        (None, None) => Err(Failure::Usage(
            "validate needs --ops DIR or --rows FILE".to_owned(),
        )),
    }
}
