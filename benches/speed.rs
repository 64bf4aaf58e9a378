//! Speed of what people wait for: a step of the simulator, a whole run, and the coarse curve after
//! an edit. `cargo bench`.

#![allow(missing_docs, clippy::expect_used)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use frontier::catalog::Catalog;
use frontier::cost::calibrated::{Calibrated, Calibrations};
use frontier::cost::{Fidelity, LaneShape, Roofline, StepPricer};
use frontier::jobs::{CurveJob, CurveMessage, CurveRunner, DesignSnapshot, Stage};
use frontier::model::Models;
use frontier::plan::{BlockSource, Design, Layout, ModelRef, Plan, compile};
use frontier::project::{FIRST_EXAMPLE, Project, example};
use frontier::sim::{Control, Scenario, Summary, run};
use frontier::study::Ask;
use frontier::units::Tokens;
use frontier::workload::{Arrivals, Length, Load, Workload};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

struct Setting {
    project: Project,
    catalog: Arc<Catalog>,
    models: Arc<Models>,
}

impl Setting {
    fn new() -> Self {
        Self {
            project: example(FIRST_EXAMPLE).expect("the example opens"),
            catalog: Arc::new(Catalog::embedded().expect("the catalog loads")),
            models: Arc::new(Models::embedded().expect("the models load")),
        }
    }

    fn plan(&self, design: &Design, workload: &Workload) -> Arc<Plan> {
        let ask = Ask {
            workload: workload.clone(),
            trace: None,
            fidelity: Arc::new(Roofline),
        };
        compile(design, &self.catalog, &self.models, ask.demand())
            .plan
            .expect("the design runs")
    }

    /// The co-located design cut to one replica of one node half, with room for many sequences.
    fn one_replica(&self) -> Design {
        let mut design = self.project.designs[1].clone();
        let pool = &mut design.pools[0];
        pool.gpus = vec!["n0/0/0-3".parse().expect("a range")];
        pool.engine.max_num_batched_tokens = 8192;
        design
    }
}

/// The plan with room for 8,192 sequences of any length, which no GPU has: these measure steps, not
/// memory.
fn roomy(plan: &Plan) -> Arc<Plan> {
    let mut plan = plan.clone();
    for pool in &mut plan.pools {
        pool.engine.max_num_seqs = 8192;
        pool.memory.blocks = 10_000_000;
        pool.memory.source = BlockSource::Measured;
    }
    Arc::new(plan)
}

fn go(plan: &Arc<Plan>, workload: Workload, load: Load) -> Summary {
    let scenario = Scenario {
        plan: Arc::clone(plan),
        workload,
        trace: None,
        load,
        fidelity: Arc::new(Roofline),
    };
    let cancel = AtomicBool::new(false);
    run(&scenario, Control { cancel: &cancel }).expect("the run ends")
}

/// The fidelity the window opens with.
fn calibrated(setting: &Setting) -> Arc<dyn Fidelity> {
    let calibrations = Calibrations::embedded().expect("the calibrations load");
    Arc::new(Calibrated::new(calibrations, Arc::clone(&setting.catalog)))
}

/// Compiling a plan's pool into prices, and the price of a decode step whose contexts have grown,
/// by calibration. Nobody waits longer than 5 ms for the one and 1 µs for the other.
fn pricing(c: &mut Criterion) {
    let setting = Setting::new();
    let design = setting.one_replica();
    let plan = setting.plan(&design, &Workload::fixed(1024, 256, 100));
    let mut group = c.benchmark_group("price");
    let new = |fidelity: &Arc<dyn Fidelity>| {
        StepPricer::new(&plan.topology, &plan.model, &plan.pools[0], fidelity)
    };
    group.bench_function("compile, first of a process", |b| {
        b.iter(|| black_box(new(&calibrated(&setting))));
    });
    let fidelity = calibrated(&setting);
    group.bench_function("compile", |b| b.iter(|| black_box(new(&fidelity))));
    let mut pricer = new(&fidelity);
    let mut context = 0;
    group.bench_function("decode step", |b| {
        b.iter(|| {
            context = (context + 128) % 1_000_000;
            let lane = LaneShape {
                decodes: 128,
                context: 128_000 + context,
                sampled: 128,
                ..LaneShape::default()
            };
            black_box(pricer.stage(0, &[lane]))
        });
    });
    group.bench_function("a token count never seen", |b| {
        b.iter_batched_ref(
            || new(&fidelity),
            |pricer| {
                let lane = LaneShape {
                    decodes: 77,
                    context: 77_000,
                    sampled: 77,
                    ..LaneShape::default()
                };
                black_box(pricer.stage(0, &[lane]))
            },
            criterion::BatchSize::SmallInput,
        );
    });
    group.finish();
}

/// Time of a step against the number of running requests: each finishes after 100 tokens, so one
/// in a hundred changes per step, whatever the batch.
fn step_against_batch(c: &mut Criterion) {
    let setting = Setting::new();
    let design = setting.one_replica();
    let mut group = c.benchmark_group("step");
    for batch in [128u32, 512, 4096] {
        let requests = u64::from(batch) * 20;
        let workload = Workload {
            arrivals: Arrivals::Closed,
            ..Workload::fixed(16, 100, requests)
        };
        let plan = roomy(&setting.plan(&design, &workload));
        let steps = go(&plan, workload.clone(), Load::Concurrency(batch))
            .work
            .steps;
        group.throughput(Throughput::Elements(steps));
        group.bench_function(BenchmarkId::from_parameter(batch), |b| {
            b.iter(|| black_box(go(&plan, workload.clone(), Load::Concurrency(batch))));
        });
    }
    group.finish();
}

/// Time of a step in which nobody joins or leaves: one wave of requests, 10,000 tokens each. It must
/// not depend on how many run.
fn unchanged_step_against_batch(c: &mut Criterion) {
    let setting = Setting::new();
    let design = setting.one_replica();
    let mut group = c.benchmark_group("unchanged step");
    for batch in [128u32, 1024, 4096] {
        let workload = Workload {
            arrivals: Arrivals::Closed,
            ..Workload::fixed(16, 10_000, u64::from(batch))
        };
        let plan = roomy(&setting.plan(&design, &workload));
        let steps = go(&plan, workload.clone(), Load::Concurrency(batch))
            .work
            .steps;
        group.throughput(Throughput::Elements(steps));
        group.bench_function(BenchmarkId::from_parameter(batch), |b| {
            b.iter(|| black_box(go(&plan, workload.clone(), Load::Concurrency(batch))));
        });
    }
    group.finish();
}

/// Requests per second of wall time on one replica (1024/256, 128 in flight).
fn requests_on_one_replica(c: &mut Criterion) {
    let setting = Setting::new();
    let workload = Workload {
        arrivals: Arrivals::Closed,
        ..Workload::fixed(1024, 256, 10_000)
    };
    let plan = roomy(&setting.plan(&setting.one_replica(), &workload));
    let mut group = c.benchmark_group("one replica");
    group.throughput(Throughput::Elements(10_000));
    group.bench_function("10,000 requests 1024/256", |b| {
        b.iter(|| black_box(go(&plan, workload.clone(), Load::Concurrency(128))));
    });
    group.finish();
}

/// Ragged lengths, cut prompts and a prefix cache on: what a search runs.
fn ragged(requests: u64) -> Workload {
    let ragged = |mean| Length::LogNormal {
        mean: Tokens::new(mean),
        cv: 0.8,
        max: Tokens::new(8 * mean),
    };
    Workload {
        arrivals: Arrivals::Closed,
        input: ragged(1024),
        output: ragged(256),
        ..Workload::fixed(1, 1, requests)
    }
}

/// Request-steps per second with everything on: ragged lengths, chunked prefill, prefix cache.
fn request_steps(c: &mut Criterion) {
    let setting = Setting::new();
    let mut design = setting.one_replica();
    design.pools[0].engine.caching.prefix = true;
    design.pools[0].engine.max_num_batched_tokens = 2048;
    let mut group = c.benchmark_group("request-steps, ragged, cached");
    for batch in [128u32, 1024] {
        let workload = ragged(u64::from(batch) * 40);
        let plan = roomy(&setting.plan(&design, &workload));
        let steps = go(&plan, workload.clone(), Load::Concurrency(batch))
            .work
            .request_steps;
        group.throughput(Throughput::Elements(steps));
        group.bench_function(BenchmarkId::from_parameter(batch), |b| {
            b.iter(|| black_box(go(&plan, workload.clone(), Load::Concurrency(batch))));
        });
    }
    group.finish();
}

/// Time per request against the number of requests, and against the number of replicas at the same
/// load of each: 30 requests live on every replica.
fn slopes(c: &mut Criterion) {
    let setting = Setting::new();
    let mut group = c.benchmark_group("per request, by requests");
    let design = setting.one_replica();
    for requests in [10_000u64, 100_000, 400_000] {
        let workload = ragged(requests);
        let plan = roomy(&setting.plan(&design, &workload));
        group.throughput(Throughput::Elements(requests));
        group.bench_function(BenchmarkId::from_parameter(requests), |b| {
            b.iter(|| black_box(go(&plan, workload.clone(), Load::Concurrency(128))));
        });
    }
    group.finish();
    let mut group = c.benchmark_group("per request-step, by replicas");
    let many = example("colocated-1024-gpus").expect("the example opens");
    for nodes in [1u32, 16, 128] {
        let mut design = many.designs[0].clone();
        let pool = &mut design.pools[0];
        pool.layout = Layout::SINGLE;
        pool.layout.tp = 1;
        pool.gpus = (0..nodes)
            .map(|node| {
                // Units of 32 nodes.
                format!("su{}/{}/0-7", node / 32, node % 32)
                    .parse()
                    .expect("a range")
            })
            .collect();
        design.model = ModelRef::Preset("qwen3-0.6b".parse().expect("an id"));
        let live = nodes * 8 * 30;
        let workload = ragged(u64::from(live) * 4);
        let plan = roomy(&setting.plan(&design, &workload));
        let steps = go(&plan, workload.clone(), Load::Concurrency(live))
            .work
            .request_steps;
        group.throughput(Throughput::Elements(steps));
        group.bench_function(BenchmarkId::from_parameter(nodes * 8), |b| {
            b.iter(|| black_box(go(&plan, workload.clone(), Load::Concurrency(live))));
        });
    }
    group.finish();
}

/// From an edit to the coarse curve of both designs of the worked example.
fn edit_to_coarse_curve(c: &mut Criterion) {
    let setting = Setting::new();
    let designs: Vec<DesignSnapshot> = setting
        .project
        .designs
        .iter()
        .map(|design| DesignSnapshot {
            id: design.id.clone(),
            design: Arc::new(design.clone()),
        })
        .collect();
    let job = CurveJob {
        revision: 1,
        designs,
        workload: setting.project.workload.clone(),
        trace: None,
        study: setting.project.curve.clone(),
        catalog: Arc::clone(&setting.catalog),
        models: Arc::clone(&setting.models),
        fidelity: calibrated(&setting),
        known: Arc::default(),
    };
    for (name, stage) in [("coarse", Stage::Coarse), ("fine", Stage::Fine)] {
        c.bench_function(&format!("edit to {name} curve"), |b| {
            b.iter(|| {
                let mut runner = CurveRunner::new(Arc::new(|| {}));
                runner.start(job.clone());
                loop {
                    let done = runner.poll().into_iter().any(
                        |m| matches!(m, CurveMessage::Finished { stage: s, .. } if s == stage),
                    );
                    if done {
                        break;
                    }
                    std::thread::sleep(std::time::Duration::from_micros(200));
                }
            });
        });
    }
}

criterion_group! {
    name = speed;
    config = Criterion::default().sample_size(20);
    targets = pricing, step_against_batch, unchanged_step_against_batch, requests_on_one_replica, request_steps,
        slopes, edit_to_coarse_curve
}
criterion_main!(speed);
