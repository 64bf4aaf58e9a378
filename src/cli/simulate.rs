//! `frontier simulate FILE`: one design under one load.

use super::input::{Input, cannot_run};
use super::{Failure, InputArgs, print, validated};
use crate::report::load_value;
use crate::sim::{
    Control, Progress, Recording, Scenario, SimError, Summary, Timeline, Trace, run_recorded,
};
use crate::study::network;
use crate::workload::{Arrivals, Load, Process};
use clap::Args;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufWriter, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

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
    /// Say whether the network matters: runs again with its links half and ten times as fast.
    #[arg(long)]
    network: bool,
    /// Write every step and request as a trace for Perfetto or chrome://tracing.
    #[arg(long, value_name = "OUT.json")]
    trace_out: Option<PathBuf>,
    /// Most events of the trace.
    #[arg(long, value_name = "N", default_value_t = TRACE_EVENTS, requires = "trace_out")]
    trace_limit: u64,
    /// Write replicas and links over time, as JSON.
    #[arg(long, value_name = "OUT.json")]
    timeline: Option<PathBuf>,
}

/// Some hundred megabytes: what trace viewers still open.
const TRACE_EVENTS: u64 = 1_000_000;
/// Time between two words about progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(500);

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
    let errors = input.validated(plan);
    let scenario = Scenario {
        plan: Arc::clone(plan),
        workload: input.ask.workload.clone(),
        trace: input.ask.trace.clone(),
        load,
        fidelity: Arc::clone(&input.ask.fidelity),
    };
    let started = Instant::now();
    let (summary, timeline) = recorded(args, &scenario)?;
    let wall = started.elapsed().as_secs_f64();
    let links = if args.network {
        let cancel = AtomicBool::new(false);
        let own = network(&scenario, &summary, Control { cancel: &cancel });
        Some(own.map_err(|error| Failure::CannotRun(error.to_string()))?)
    } else {
        None
    };
    if let (Some(path), Some(timeline)) = (&args.timeline, &timeline) {
        let out = create(path)?;
        serde_json::to_writer(out, timeline).map_err(|error| cannot_write(path, &error))?;
    }
    if args.input.json {
        let mut value = to_json(design.id.as_str(), load, &summary);
        if let Some(object) = value.as_object_mut() {
            let own = validated::as_json(errors.as_ref());
            object.insert("validated".to_owned(), own);
            if let Some(links) = &links {
                object.insert("network".to_owned(), json!(links));
            }
            if args.stats {
                object.insert("stats".to_owned(), stats(&summary, wall));
            }
        }
        say!("{value:#}");
    } else {
        say!("{}, {}", print::plain(&design.name), print::load(load));
        say!("{}", print::summary(&summary));
        if let Some(links) = &links {
            say!("  network    {}", links.words());
        }
        if let Some(own) = &errors {
            say!("  validated  {}", own.words());
        }
        if args.stats {
            say!("  run        {}", stats(&summary, wall));
        }
    }
    Ok(())
}

/// Runs a scenario with what is to be written of it, telling how far it is where someone looks on.
fn recorded(
    args: &SimulateArgs,
    scenario: &Scenario,
) -> Result<(Summary, Option<Timeline>), Failure> {
    let mut trace = match &args.trace_out {
        Some(path) => Some(Trace::new(Box::new(create(path)?), args.trace_limit)),
        None => None,
    };
    let progress = Progress::default();
    let cancel = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        let (done, wait) = channel::<()>();
        if std::io::stderr().is_terminal() {
            let progress = &progress;
            scope.spawn(move || {
                let mut said = false;
                while wait.recv_timeout(PROGRESS_EVERY) == Err(RecvTimeoutError::Timeout) {
                    let ended = progress.ended.load(Ordering::Relaxed);
                    let total = progress.total.load(Ordering::Relaxed);
                    let _ = write!(
                        std::io::stderr(),
                        "\r{ended} of {total} requests have ended "
                    );
                    said = true;
                }
                if said {
                    complain!();
                }
            });
        }
        let recording = Recording {
            timeline: args.timeline.is_some(),
            trace: trace.as_mut(),
            progress: Some(&progress),
        };
        let outcome = run_recorded(scenario, Control { cancel: &cancel }, recording);
        drop(done);
        outcome
    });
    // A run that stalled has a trace, too.
    if let (Some(trace), Some(path)) = (trace, &args.trace_out) {
        let end = trace.finish().map_err(|error| cannot_write(path, &error))?;
        if let Some(at) = end.cut_at_s {
            complain!(
                "note: the trace ends at {at:.3} s, after {} events; --trace-limit takes more",
                end.events
            );
        }
    }
    outcome.map_err(|error| match error {
        SimError::Workload(error) => Failure::usage(&error),
        error => Failure::CannotRun(error.to_string()),
    })
}

fn create(path: &Path) -> Result<BufWriter<File>, Failure> {
    let file = File::create(path).map_err(|error| cannot_write(path, &error))?;
    Ok(BufWriter::new(file))
}

fn cannot_write(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(format!("{} can't be written: {error}", path.display()))
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
