//! `frontier simulate FILE`: one design under one load.

use super::input::{Input, cannot_run};
use super::{Failure, InputArgs, print};
use crate::report::load_value;
use crate::sim::{Control, Scenario, SimError, Summary, run};
use crate::workload::{Arrivals, Load, Process};
use clap::Args;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Arguments of `simulate`.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Open loop: requests per second. Without a load: 70 % of the estimated capacity.
    #[arg(long, conflicts_with_all = ["concurrency", "trace_speed"])]
    rate: Option<f64>,
    /// Closed loop: requests in flight.
    #[arg(long, conflicts_with = "trace_speed")]
    concurrency: Option<u32>,
    /// A trace's time axis divided by this: 2 is twice the recorded pace.
    #[arg(long)]
    trace_speed: Option<f64>,
    /// Add what the run did: events, steps, wall time, memory.
    #[arg(long)]
    stats: bool,
}

pub(super) fn simulate(args: &SimulateArgs) -> Result<(), Failure> {
    let mut input = Input::read(&args.input)?;
    apply_load(args, &mut input);
    let design = input.designs(args.input.design.as_deref())?[0];
    let compiled = input.compile(design);
    let Some(plan) = &compiled.plan else {
        return Err(cannot_run(design, &compiled));
    };
    let load = match (args.rate, args.concurrency, args.trace_speed) {
        (Some(rate), ..) => Load::Rate(rate),
        (_, Some(n), _) => Load::Concurrency(n),
        (_, _, Some(speed)) => Load::TraceSpeed(speed),
        _ => match input.ask.workload.arrivals {
            Arrivals::Open { .. } => Load::Rate(input.ask.capacity(plan).rate * 0.7),
            Arrivals::Closed => Load::Concurrency(32),
            Arrivals::Trace => Load::TraceSpeed(1.0),
        },
    };
    let scenario = Scenario {
        plan: Arc::clone(plan),
        workload: input.ask.workload.clone(),
        trace: input.ask.trace.clone(),
        load,
        fidelity: Arc::clone(&input.ask.fidelity),
    };
    let started = Instant::now();
    let cancel = AtomicBool::new(false);
    let summary = run(&scenario, Control { cancel: &cancel }).map_err(|error| match error {
        SimError::Workload(error) => Failure::usage(&error),
        error => Failure::CannotRun(error.to_string()),
    })?;
    let wall = started.elapsed().as_secs_f64();
    if args.input.json {
        let mut value = to_json(design.id.as_str(), load, &summary);
        if args.stats
            && let Some(object) = value.as_object_mut()
        {
            object.insert("stats".to_owned(), stats(&summary, wall));
        }
        println!("{value:#}");
    } else {
        println!("{}, {}", print::plain(&design.name), print::load(load));
        println!("{}", print::summary(&summary));
        if args.stats {
            println!("  run        {}", stats(&summary, wall));
        }
    }
    Ok(())
}

/// A load given on the command line decides what kind of arrivals there are.
fn apply_load(args: &SimulateArgs, input: &mut Input) {
    let workload = &mut input.ask.workload;
    if args.rate.is_some() && !matches!(workload.arrivals, Arrivals::Open { .. }) {
        workload.arrivals = Arrivals::Open {
            process: Process::Poisson,
        };
    }
    if args.concurrency.is_some() {
        workload.arrivals = Arrivals::Closed;
    }
}

fn stats(summary: &Summary, wall: f64) -> Value {
    json!({
        "events": summary.work.events,
        "steps": summary.work.steps,
        "request_steps": summary.work.request_steps,
        "wall_seconds": wall,
        "peak_memory_bytes": peak_memory(),
    })
}

/// Most memory the process has held, where the system tells (Linux).
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// A run as JSON; keys are kept stable.
pub(super) fn to_json(design: &str, load: Load, summary: &Summary) -> Value {
    let mut value = serde_json::to_value(summary).unwrap_or(Value::Null);
    if let Some(object) = value.as_object_mut() {
        object.insert("design".to_owned(), json!(design));
        object.insert("load".to_owned(), json!(load_value(load)));
        object.insert(
            "load_kind".to_owned(),
            json!(match load {
                Load::Rate(_) => "rate_per_s",
                Load::Concurrency(_) => "concurrency",
                Load::TraceSpeed(_) => "trace_speed",
            }),
        );
    }
    value
}
