//! The same work without a window: `check`, `simulate`, `curve`, `new`, `model`,
//! `cost-table`, `capacity-plan`, and what `frontier` does where there is no display.
//!
//! Exit codes: 0 done, 1 the design can't run, 2 bad usage or file.

/// Prints a line. A reader that went away (`| head`) is no reason to fail, which `println!` is.
macro_rules! say {
    () => { say!("") };
    ($($text:tt)*) => { $crate::cli::print::line(&mut std::io::stdout().lock(), format_args!($($text)*)) };
}

/// The same for what is wrong.
macro_rules! complain {
    () => { complain!("") };
    ($($text:tt)*) => { $crate::cli::print::line(&mut std::io::stderr().lock(), format_args!($($text)*)) };
}

mod calibrate;
mod capacity;
mod check;
mod cost_table;
mod curve;
mod demo;
mod engines;
mod fidelity;
mod input;
mod model;
mod new;
mod overheads;
mod print;
mod simulate;
mod trace_options;
mod validate;

pub use demo::without_display;

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Draw an LLM-serving cluster, paint roles on its GPUs, and watch its throughput–latency curve.
#[derive(Debug, Parser)]
#[command(name = "frontier", version, args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// What to do without a window.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Project to open in the window (`*.frontier.ron`).
    pub file: Option<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check a project: what is wrong with each design, where, and what would be right.
    Check(check::CheckArgs),
    /// Simulate one design under one load.
    Simulate(simulate::SimulateArgs),
    /// Simulate every design over a range of loads.
    Curve(curve::CurveArgs),
    /// List the example projects, or write one.
    New(new::NewArgs),
    /// Read a Hugging Face config.json and show what follows from it.
    Model(model::ModelArgs),
    /// Theoretical cost of decoding, for models × GPUs × contexts (Step-3's analysis).
    CostTable(cost_table::CostTableArgs),
    /// Hold operator times against measured tables.
    Validate(validate::ValidateArgs),
    /// Fit operator times from measured tables.
    Calibrate(calibrate::CalibrateArgs),
    /// Nodes, cost, revenue and margin of a day of traffic.
    CapacityPlan(capacity::CapacityArgs),
}

/// Which project and design, and which workload instead of the project's.
#[derive(Debug, Args)]
pub struct InputArgs {
    /// Project file (`*.frontier.ron`).
    pub file: PathBuf,
    /// Design to take, by id or name; without it the first (curve and check: all).
    #[arg(long)]
    pub design: Option<String>,
    /// Replay a trace: CSV of arrival, prompt and answer tokens (ours, Azure's, or any by --columns),
    /// or JSON lines after Mooncake with block hashes.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// How the trace is read: arrival=NAME,input=NAME,output=NAME[,unit=s|ms|us|ns][,priority=NAME]
    /// [,session=NAME][,blocks=NAME], drop-failed, block=TOKENS, ties=even|random, window=FROM:TO.
    #[arg(long, value_name = "MAP", requires = "trace")]
    pub columns: Option<String>,
    /// Requests to send, instead of the project's number.
    #[arg(long)]
    pub requests: Option<u64>,
    #[command(flatten)]
    /// Whose prices.
    pub fidelity: fidelity::FidelityArgs,
    /// Seed of the random streams, instead of the project's.
    #[arg(long)]
    pub seed: Option<u64>,
    /// A setting of a pool's engine instead of the project's, by the engine's own name; may be given
    /// more than once, `*` is any pool.
    #[arg(long = "set", value_name = "POOL.SETTING=VALUE")]
    pub settings: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// How a command ended without its result.
#[derive(Debug)]
pub enum Failure {
    /// The design can't run: exit code 1.
    CannotRun(String),
    /// Bad usage or file: exit code 2.
    Usage(String),
}

impl Failure {
    fn usage(error: &dyn std::fmt::Display) -> Self {
        Self::Usage(error.to_string())
    }
}

/// Runs a command.
#[must_use]
pub fn execute(command: Command) -> ExitCode {
    let outcome = match command {
        Command::Check(args) => check::check(&args),
        Command::Simulate(args) => simulate::simulate(&args),
        Command::Curve(args) => curve::curve(&args),
        Command::New(args) => new::new(&args),
        Command::Model(args) => model::model(&args),
        Command::CostTable(args) => cost_table::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::CapacityPlan(args) => capacity::run(&args),
    };
    report(outcome)
}

fn report(outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::CannotRun(message)) => {
            complain!("{message}");
            ExitCode::from(1)
        }
        Err(Failure::Usage(message)) => {
            complain!("error: {message}");
            ExitCode::from(2)
        }
    }
}
