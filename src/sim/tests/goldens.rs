//! Schedules of other simulators, step by step, with their own time models. The files lie beside the
//! checkout, not in it; without them these tests say so and pass.

use super::{Scenario, design, plan_of, single};
use crate::cost::{LaneShape, Roofline};
use crate::plan::{Design, ModelRef, Scheduler};
use crate::sim::engine::{Watched, watch, watch_pools};
use crate::sim::replica::Noted;
use crate::workload::{Arrivals, Load, Trace, TraceRequest, Workload};
use std::path::PathBuf;
use std::sync::Arc;

/// A row of a golden's requests.
struct Golden {
    arrival: f64,
    input: u64,
    output: u64,
    first_token: f64,
    completed: f64,
}

fn folder() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data/goldens");
    if !folder.is_dir() {
        eprintln!("skipped: no goldens beside the checkout");
        return None;
    }
    Some(folder)
}

fn requests(folder: &std::path::Path, case: &str) -> Vec<Golden> {
    let mut reader = csv::Reader::from_path(folder.join(format!("{case}.requests.csv"))).unwrap();
    let header = reader.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|own| own == name).unwrap();
    // Vidur's say when, Frontier's how long after.
    let after = header.iter().any(|own| own == "ttft");
    let times = if after {
        ["ttft", "e2e"]
    } else {
        ["first_token_s", "completed_s"]
    };
    let [first, last] = times.map(column);
    let places = [
        column("arrival_s"),
        column("prompt_tokens"),
        column("output_tokens"),
        first,
        last,
    ];
    reader
        .records()
        .map(|row| {
            let row = row.unwrap();
            let of = |place: usize| row[places[place]].parse::<f64>().unwrap();
            let since = if after { of(0) } else { 0.0 };
            Golden {
                arrival: of(0),
                input: of(1) as u64,
                output: of(2) as u64,
                first_token: since + of(3),
                completed: since + of(4),
            }
        })
        .collect()
}

fn replay(design: &Design, golden: &[Golden]) -> Scenario {
    let first = golden[0].arrival;
    let trace = Trace {
        requests: golden
            .iter()
            .map(|row| TraceRequest {
                arrival_s: row.arrival - first,
                input: row.input,
                output: row.output,
            })
            .collect(),
        name: "golden".to_owned(),
        ..Trace::default()
    };
    let workload = Workload {
        arrivals: Arrivals::Trace,
        requests: 0,
        ..Workload::fixed(4000, 1000, 1)
    };
    Scenario {
        plan: plan_of(design, &Workload::fixed(3000, 1000, 1)),
        workload,
        trace: Some(Arc::new(trace)),
        load: Load::TraceSpeed(1.0),
        fidelity: Arc::new(Roofline),
    }
}

/// Vidur's closed form, ms: 8 + 0.02 · new tokens + 2·10⁻⁵ · Σ contexts of decodes + 5·10⁻⁷ ·
/// Σ n (kv + n/2) of chunks.
fn closed_form(lanes: &[LaneShape<'_>]) -> u64 {
    let lane = &lanes[0];
    let chunks: f64 = lane
        .chunks
        .iter()
        .map(|chunk| {
            let n = f64::from(chunk.tokens);
            n * (f64::from(chunk.context) + n / 2.0)
        })
        .sum();
    let ms = 8.0 + 0.02 * f64::from(lane.tokens()) + 2e-5 * lane.context as f64 + 5e-7 * chunks;
    (ms * 1e9).round() as u64
}

/// Every request's first token and end are the golden's, to the rounding of nanoseconds.
fn check(watched: &Watched, golden: &[Golden]) {
    let first = golden[0].arrival;
    assert_eq!(watched.records.len(), golden.len());
    let mut ours: Vec<(u64, u64, u64)> = watched
        .records
        .iter()
        .map(|own| (own.arrival, own.arrival + own.ttft, own.arrival + own.e2e))
        .collect();
    ours.sort_unstable();
    let mut worst = 0.0_f64;
    for (own, row) in ours.iter().zip(golden) {
        let off = |ours: u64, theirs: f64| (ours as f64 * 1e-9 - (theirs - first)).abs();
        worst = worst
            .max(off(own.1, row.first_token))
            .max(off(own.2, row.completed));
    }
    assert!(worst < 1e-4, "off by {worst} s");
}

fn vidur(scheduler: Scheduler, chunk: u32) -> Design {
    let mut design = single(1, Some(30_208));
    // Whose model it is does not matter: times are given. A small one leaves room for the blocks.
    design.model = ModelRef::Preset("qwen3-0.6b".parse().unwrap());
    let engine = &mut design.pools[0].engine;
    engine.scheduling.scheduler = scheduler;
    engine.scheduling.watermark = 0.01;
    engine.max_num_seqs = 128;
    engine.max_num_batched_tokens = chunk;
    engine.block_size = 16;
    engine.enable_chunked_prefill = true;
    design
}

#[test]
fn sarathi_is_vidurs_to_the_last_step() {
    let Some(folder) = folder() else { return };
    let golden = requests(&folder, "vidur-cf-sarathi");
    let scenario = replay(&vidur(Scheduler::Sarathi, 512), &golden);
    check(&watch(&scenario, closed_form, false), &golden);
}

#[test]
fn orca_is_vidurs_to_the_last_step() {
    let Some(folder) = folder() else { return };
    let golden = requests(&folder, "vidur-cf-orca");
    let mut design = vidur(Scheduler::Orca, 512);
    design.pools[0].engine.scheduling.watermark = 0.0;
    let scenario = replay(&design, &golden);
    check(&watch(&scenario, closed_form, false), &golden);
}

#[test]
fn sixteen_replicas_in_turn_are_vidurs_to_the_last_step() {
    let Some(folder) = folder() else { return };
    let golden = requests(&folder, "vidur-cf-sarathi-rr16");
    let mut design = vidur(Scheduler::Sarathi, 512);
    let nodes = design.cluster.groups.len();
    assert!(nodes >= 2, "two nodes of eight GPUs");
    design.pools[0].gpus = vec!["n0/0/0-7".parse().unwrap(), "n1/0/0-7".parse().unwrap()];
    let scenario = replay(&design, &golden);
    check(&watch(&scenario, closed_form, true), &golden);
}

#[test]
fn batches_are_frontiers() {
    let Some(folder) = folder() else { return };
    let case = "frontier-f1-coloc-dense-llama2-7b-tp2";
    let golden = requests(&folder, case);
    let mut design = vidur(Scheduler::VllmV1, 1024);
    design.pools[0].engine.scheduling.watermark = 0.0;
    let scenario = replay(&design, &golden);
    // Every step of that deployment costs the same.
    let watched = watch(&scenario, |_| 9_120_000_000, false);
    compare(&folder, case, &golden, &[("", &watched.steps[0])]);
}

/// Every step of the replicas of each cluster is the golden's: when, who and how many tokens.
fn compare(
    folder: &std::path::Path,
    case: &str,
    golden: &[Golden],
    clusters: &[(&str, &Vec<Noted>)],
) {
    let first = golden[0].arrival;
    for (cluster, steps) in clusters {
        let file = std::fs::File::open(folder.join(format!("{case}.ledger.csv.gz"))).unwrap();
        let mut reader = csv::Reader::from_reader(flate2::read::GzDecoder::new(file));
        let mut steps = steps.iter();
        for row in reader.records() {
            let row = row.unwrap();
            if !row[0].contains(cluster) {
                continue;
            }
            let mut theirs: Vec<(u64, u32)> = row[5]
                .split(';')
                .map(|one| {
                    let (id, tokens) = one.split_once(':').unwrap();
                    (id.parse().unwrap(), tokens.parse().unwrap())
                })
                .collect();
            theirs.sort_unstable();
            let (at, who) = steps.next().expect("fewer steps than Frontier's");
            // Names are 2⁶³ and the place in the trace.
            let mut ours: Vec<(u64, u32)> =
                who.iter().map(|(id, n)| (id & !(1 << 63), *n)).collect();
            ours.sort_unstable();
            assert_eq!(ours, theirs, "at {at} ns");
            let theirs = row[3].parse::<f64>().unwrap() - first;
            assert!((*at as f64 * 1e-9 - theirs).abs() < 1e-4, "{at} {theirs}");
        }
        assert_eq!(steps.next(), None);
    }
}

#[test]
fn batches_of_prefill_and_decode_are_frontiers() {
    // Its PDD decodes one step more than it should: a token more is asked for here. Its transfers
    // don't see each other, and its time to the first token leaves them out; steps are compared.
    let Some(folder) = folder() else { return };
    let case = "frontier-f3-pdd-dense-llama2-7b";
    let mut golden = requests(&folder, case);
    for row in &mut golden {
        row.output += 1;
    }
    let mut design = design(0);
    let models = crate::model::Models::embedded().unwrap();
    let mut model = models
        .get(&"llama-3.1-8b".parse().unwrap())
        .unwrap()
        .clone();
    // Llama-2-7B's cache: 32 layers of 32 heads.
    for run in &mut model.layers {
        if let crate::model::Attention::Gqa(own) = &mut run.attention {
            own.kv_heads = 32;
        }
    }
    design.model = ModelRef::Inline(Box::new(model));
    let link = &mut design.cluster.links[0];
    (link.count, link.rate) = (1, "200 Gb/s".parse().unwrap());
    link.latency = crate::units::Seconds::new(0.5e-3);
    for (pool, gpu) in design.pools.iter_mut().zip(["n0/0/0", "n1/0/0"]) {
        pool.gpus = vec![gpu.parse().unwrap()];
        pool.layout = crate::plan::Layout::SINGLE;
        pool.engine.max_num_batched_tokens = 1024;
        pool.engine.max_num_seqs = 128;
        pool.engine.num_gpu_blocks = Some(4096);
    }
    let scenario = replay(&design, &golden);
    let watched = watch_pools(&scenario, &[|_| 7_160_000_000], false, true);
    let [prefill, decode] = watched.steps.as_slice() else {
        panic!("two replicas");
    };
    let clusters = [("PREFILL", prefill), ("DECODE", decode)];
    compare(&folder, case, &golden, &clusters);
}
