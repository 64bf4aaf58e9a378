//! `frontier curve FILE`: every design over a range of loads.

use super::input::{Input, cannot_run};
use super::simulate::to_json;
use super::{Failure, InputArgs, print};
use crate::plan::{Design, Plan};
use crate::report::{
    CurveLook, CurveSeries, LoadKind, Statistic, curve_figure, load_value, write_figure,
};
use crate::sim::{SimError, Summary};
use crate::study::{CurveStudy, MAX_POINTS, Point, Stage};
use crate::workload::Load;
use clap::Args;
use rayon::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Arguments of `curve`.
#[derive(Debug, Args)]
pub struct CurveArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Loads to simulate, separated by commas (requests/s, in flight, or trace speed, by the
    /// workload's arrivals).
    #[arg(long, value_delimiter = ',')]
    loads: Vec<f64>,
    /// Points, when the loads are chosen.
    #[arg(long)]
    points: Option<u32>,
    /// Folder to write the plot (SVG, PNG) and its data (CSV) to.
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// One design's points.
pub(super) struct Curve<'a> {
    pub(super) design: &'a Design,
    pub(super) points: Vec<(Load, Arc<Summary>)>,
}

pub(super) fn curve(args: &CurveArgs) -> Result<(), Failure> {
    let input = Input::read(&args.input)?;
    let mut study = input.project.curve.clone();
    if !args.loads.is_empty() {
        study.loads.clone_from(&args.loads);
    }
    if let Some(points) = args.points {
        study.points = points;
        study.loads.clear();
    }
    if study
        .loads
        .iter()
        .any(|load| !(load.is_finite() && *load > 0.0))
    {
        return Err(Failure::Usage(
            "loads must be finite numbers above 0".to_owned(),
        ));
    }
    if !(1..=MAX_POINTS).contains(&study.points) {
        return Err(Failure::Usage(format!(
            "a curve has from 1 to {MAX_POINTS} points, not {}",
            study.points
        )));
    }
    let curves = simulate_curves(&input, args.input.design.as_deref(), &study)?;
    if args.input.json {
        let points: Vec<Value> = curves
            .iter()
            .flat_map(|curve| {
                curve
                    .points
                    .iter()
                    .map(|(load, summary)| to_json(curve.design.id.as_str(), *load, summary))
            })
            .collect();
        say!("{:#}", json!({ "points": points }));
    } else {
        for curve in &curves {
            print_curve(curve);
        }
    }
    if let Some(dir) = &args.out {
        let written = write_curves(&input, &curves, dir)?;
        complain!("{written}");
    }
    Ok(())
}

/// Simulates the fine curve of every chosen design, in parallel; progress goes to standard error.
pub(super) fn simulate_curves<'a>(
    input: &'a Input,
    design: Option<&str>,
    study: &CurveStudy,
) -> Result<Vec<Curve<'a>>, Failure> {
    let mut planned: Vec<(&Design, Arc<Plan>)> = Vec::new();
    for design in input.designs(design)? {
        let compiled = input.compile(design);
        match &compiled.plan {
            Some(plan) => planned.push((design, Arc::clone(plan))),
            None => return Err(cannot_run(design, &compiled)),
        }
    }
    let tasks: Vec<(usize, Point)> = planned
        .iter()
        .enumerate()
        .flat_map(|(index, (_, plan))| {
            input
                .ask
                .points(plan, study, Stage::Fine)
                .into_iter()
                .map(move |point| (index, point))
        })
        .collect();
    let (done, cancel) = (AtomicUsize::new(0), AtomicBool::new(false));
    let outcomes: Vec<Result<Arc<Summary>, SimError>> = tasks
        .par_iter()
        .map(|(index, point)| {
            let summary = input
                .ask
                .point(&planned[*index].1, *point, &cancel)
                .map(Arc::new);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, tasks.len());
            summary
        })
        .collect();
    let mut curves: Vec<Curve<'a>> = planned
        .iter()
        .map(|(design, _)| Curve {
            design,
            points: Vec::new(),
        })
        .collect();
    for ((index, point), outcome) in tasks.into_iter().zip(outcomes) {
        match outcome {
            Ok(summary) => curves[index].points.push((point.load, summary)),
            Err(SimError::Workload(error)) => return Err(Failure::usage(&error)),
            Err(error) => return Err(Failure::CannotRun(error.to_string())),
        }
    }
    Ok(curves)
}

fn progress(done: usize, total: usize) {
    use std::io::{IsTerminal as _, Write as _};
    let mut out = std::io::stderr();
    if out.is_terminal() {
        let end = if done == total { "\r\x1b[K" } else { "" };
        // A terminal that went away is no reason to stop.
        let _ = write!(out, "\r{done} of {total} points{end}");
        let _ = out.flush();
    }
}

/// Prints one design's curve as a table.
pub(super) fn print_curve(curve: &Curve<'_>) {
    say!("{} (latencies in ms)", print::plain(&curve.design.name));
    say!(
        "  {:>12} {:>10} {:>10} {:>10} {:>10} {:>10} {:>12}",
        "load",
        "TTFT p50",
        "TTFT p95",
        "TPOT p50",
        "TPOT p95",
        "tok/s",
        "tok/s/GPU"
    );
    for (load, s) in &curve.points {
        say!(
            "  {:>12} {:>10} {:>10} {:>10} {:>10} {:>10.0} {:>12.1}{}",
            print::number(load_value(*load)),
            print::ms(&s.ttft_s, s.ttft_s.p50),
            print::ms(&s.ttft_s, s.ttft_s.p95),
            print::ms(&s.tpot_s, s.tpot_s.p50),
            print::ms(&s.tpot_s, s.tpot_s.p95),
            s.output_tokens_per_s,
            s.output_tokens_per_s_per_gpu,
            if s.saturated { "  saturated" } else { "" }
        );
    }
}

/// Writes plot and data; says where.
pub(super) fn write_curves(
    input: &Input,
    curves: &[Curve<'_>],
    dir: &std::path::Path,
) -> Result<String, Failure> {
    let series: Vec<CurveSeries> = curves
        .iter()
        .map(|curve| CurveSeries {
            name: curve.design.name.clone(),
            points: curve
                .points
                .iter()
                .map(|(load, summary)| (load_value(*load), Arc::clone(summary)))
                .collect(),
        })
        .collect();
    let look = CurveLook {
        title: input.project.name.clone(),
        subtitle: String::new(),
        load: LoadKind::of(input.ask.workload.arrivals),
        statistic: Statistic::nearest(input.project.curve.percentile),
        slo: Some(input.project.slo),
    };
    let (figure, table) = curve_figure(&series, &look).map_err(|e| Failure::usage(&e))?;
    std::fs::create_dir_all(dir)
        .map_err(|e| Failure::Usage(format!("can't make the folder {}: {e}", dir.display())))?;
    let written = write_figure(dir, "curve", &figure, &table).map_err(|e| Failure::usage(&e))?;
    Ok(format!(
        "wrote {}, {} and {}",
        written.svg.display(),
        written.png.display(),
        written.csv.display()
    ))
}
