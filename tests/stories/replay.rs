//! Replays of measured runs: what we are off by today. Bounds are loose on purpose, the roofline is
//! not calibrated; the numbers are printed (`cargo test -- --nocapture replay`). TTFT has no
//! bound: it is mostly queueing, where a tenth more per step is much more.

use crate::support::{Program, shared, text};
use std::collections::BTreeMap;

/// Mean TTFT, TPOT and E2E, seconds, of a measured per-request file, and the file as our trace.
fn measured(path: &std::path::Path) -> ([f64; 3], String) {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let (mut sums, mut n) = ([0.0; 3], 0.0);
    let mut trace = String::from("arrived_at,num_prefill_tokens,num_decode_tokens\n");
    for row in reader.deserialize::<BTreeMap<String, String>>() {
        let row = row.unwrap();
        let of = |name: &str| row[name].parse::<f64>().unwrap();
        let (first, last, queued) = (of("first_token_s"), of("last_token_s"), of("queued_s"));
        let output = of("output_tokens");
        sums[0] += first - queued;
        sums[1] += (last - first) / (output - 1.0);
        sums[2] += last - queued;
        n += 1.0;
        trace += &format!(
            "{},{},{}\n",
            row["arrival_s"], row["input_tokens"], row["output_tokens"]
        );
    }
    (sums.map(|sum| sum / n), trace)
}

#[test]
fn measured_vllm_runs_are_replayed() {
    let runs = [
        ("RTX4090", "Llama-3.1-8B", "rtx-4090-1", "llama-3.1-8b", 256),
        (
            "RTXPRO6000",
            "Llama-3.1-8B",
            "rtx-pro-6000-1",
            "llama-3.1-8b",
            128,
        ),
        (
            "RTXPRO6000",
            "Qwen3-30B-A3B-Instruct-2507",
            "rtx-pro-6000-1",
            "qwen3-30b-a3b",
            // Its settings say 128, but its own time series shows 256 running.
            256,
        ),
    ];
    let mut far = Vec::new();
    let program = Program::new();
    let example = std::fs::read_to_string(program.example("pdd-vs-colocated")).unwrap();
    for (gpu, name, node, model, seqs) in runs {
        let Some(path) = shared(&format!("llmservingsim/requests_{gpu}_{name}.csv")) else {
            return;
        };
        let mut project = frontier::project::parse(&example, "example").unwrap();
        let mut design = project.designs.swap_remove(1);
        design.cluster.links.clear();
        design.cluster.groups.truncate(1);
        design.cluster.groups[0].kind =
            frontier::cluster::GroupKind::Node(frontier::catalog::NodeTypeId::new(node).unwrap());
        design.model =
            frontier::plan::ModelRef::Preset(frontier::catalog::ModelId::new(model).unwrap());
        let pool = &mut design.pools[0];
        pool.gpus = vec!["n0/0/0".parse().unwrap()];
        pool.layout = frontier::plan::Layout::SINGLE;
        pool.engine.max_num_batched_tokens = 2048;
        pool.engine.max_num_seqs = seqs;
        if gpu == "RTX4090" {
            // The run's own log (cases.md T40).
            pool.engine.num_gpu_blocks = Some(2588);
        }
        project.designs = vec![design];
        let file = program.file("replay.frontier.ron", &frontier::project::to_text(&project));
        let (real, trace) = measured(&path);
        let trace = program.file("replay.csv", &trace);
        let run = program.json(&["simulate", text(&file), "--trace", text(&trace), "--json"]);
        assert_eq!(run["requests"]["completed"], 300);
        for (metric, key, real) in [
            ("TTFT", "ttft_s", real[0]),
            ("TPOT", "tpot_s", real[1]),
            ("E2E", "e2e_s", real[2]),
        ] {
            let ours = run[key]["mean"].as_f64().unwrap();
            println!(
                "{gpu} {name} {metric}: measured {:.1} ms, ours {:.1} ms, {:+.0} %",
                real * 1e3,
                ours * 1e3,
                (ours / real - 1.0) * 100.0
            );
            if metric != "TTFT" && !(real / 2.0..real * 2.0).contains(&ours) {
                far.push(format!("{gpu} {name} {metric}"));
            }
        }
    }
    assert!(far.is_empty(), "off by more than 2×: {far:?}");
}
