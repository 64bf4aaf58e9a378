//! The command line, through the real binary.

use crate::support::{Program, shared, text};

#[test]
fn the_examples_are_listed_and_each_runs() {
    let program = Program::new();
    let list = program.run(&["new", "--list"]);
    assert_eq!(list.code, 0);
    let names: Vec<&str> = list.out.lines().collect();
    assert_eq!(names[0], "pdd-vs-colocated");
    assert!(names.len() >= 4);
    for name in names {
        let file = program.example(name);
        let checked = program.run(&["check", text(&file)]);
        assert_eq!(checked.code, 0, "{name}: {}", checked.err);
        let run = program.json(&["simulate", text(&file), "--requests", "40", "--json"]);
        assert_eq!(run["requests"]["completed"], 40, "{name}");
    }
}

#[test]
fn simulate_prints_the_stable_keys() {
    let program = Program::new();
    let file = program.example("pdd-vs-colocated");
    let run = program.json(&[
        "simulate",
        text(&file),
        "--rate",
        "20",
        "--requests",
        "200",
        "--json",
        "--stats",
    ]);
    for key in ["arrived", "completed", "failed", "in_flight"] {
        assert!(run["requests"][key].is_u64(), "{key}");
    }
    for latency in ["ttft_s", "tpot_s", "itl_s", "e2e_s"] {
        for key in ["mean", "p50", "p90", "p95", "p99"] {
            assert!(run[latency][key].as_f64().unwrap() > 0.0, "{latency} {key}");
        }
    }
    for key in ["output_tokens_per_s", "output_tokens_per_s_per_gpu"] {
        assert!(run[key].as_f64().unwrap() > 0.0);
    }
    assert_eq!(run["window"]["kind"], "steady");
    assert_eq!(run["saturated"], false);
    assert_eq!(run["provenance"]["fidelity"], "roofline");
    assert!(run["stats"]["events"].as_u64().unwrap() > 0);
    let per_gpu = run["output_tokens_per_s"].as_f64().unwrap() / 16.0;
    assert!((run["output_tokens_per_s_per_gpu"].as_f64().unwrap() - per_gpu).abs() < 1e-9);
    // The same again, to the byte; another seed differs.
    let args = [
        "simulate",
        text(&file),
        "--rate",
        "20",
        "--requests",
        "200",
        "--json",
    ];
    assert_eq!(program.run(&args).out, program.run(&args).out);
    let mut other = args.to_vec();
    other.extend(["--seed", "9"]);
    assert_ne!(program.run(&args).out, program.run(&other).out);
}

#[test]
fn curve_gives_points_of_every_design_and_writes_the_plot() {
    let program = Program::new();
    let file = program.example("pdd-vs-colocated");
    let out = program.path("plots");
    let curve = program.json(&[
        "curve",
        text(&file),
        "--loads",
        "10,60",
        "--requests",
        "200",
        "--json",
        "-o",
        text(&out),
    ]);
    let points = curve["points"].as_array().unwrap();
    assert_eq!(points.len(), 4);
    assert!(
        points
            .iter()
            .all(|p| p["load"].as_f64().unwrap() >= 10.0 && p["ttft_s"]["p95"].is_f64())
    );
    for name in ["curve.svg", "curve.png", "curve.csv"] {
        assert!(out.join(name).metadata().unwrap().len() > 500, "{name}");
    }
    let table = program.run(&["curve", text(&file), "--loads", "10", "--requests", "50"]);
    assert!(table.out.contains("tok/s/GPU"));
}

#[test]
fn without_a_display_it_does_the_job_and_says_so() {
    let program = Program::new();
    // The worked example is simulated whole; take a small one to keep this short.
    let file = program.example("deepseek-v3-h200");
    let ran = program.run(&[text(&file)]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(
        ran.err.lines().next().unwrap().matches("no window").count(),
        1,
        "{}",
        ran.err
    );
    assert!(ran.out.contains("tok/s/GPU"));
    assert!(ran.out.contains("frontier-out"));
    assert!(ran.out.contains("DISPLAY"));
    assert!(program.path("frontier-out/curve.png").exists());
    assert!(program.path("frontier-out/curve.csv").exists());
}

#[test]
fn a_stale_display_is_no_display() {
    let program = Program::new();
    let file = program.example("deepseek-v3-h200");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_frontier"))
        .arg(&file)
        .current_dir(program.path("."))
        .env("DISPLAY", ":987")
        .env("WAYLAND_DISPLAY", "wayland-stale")
        .env("XDG_RUNTIME_DIR", program.path("."))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("no window"));
}

#[test]
fn our_own_trace_format_and_any_other_by_a_map() {
    let program = Program::new();
    let file = program.example("pdd-vs-colocated");
    let ours = program.file(
        "ours.csv",
        "arrived_at,num_prefill_tokens,num_decode_tokens\n0,100,10\n0.5,200,20\n1.0,300,30\n",
    );
    let run = program.json(&["simulate", text(&file), "--trace", text(&ours), "--json"]);
    assert_eq!(run["requests"]["completed"], 3);
    let theirs = program.file(
        "theirs.csv",
        "t_ms,in,out\n0,100,10\n500,200,20\n1000,300,30\n",
    );
    let mapped = program.json(&[
        "simulate",
        text(&file),
        "--trace",
        text(&theirs),
        "--columns",
        "arrival=t_ms,input=in,output=out,unit=ms",
        "--json",
    ]);
    assert_eq!(run["e2e_s"], mapped["e2e_s"]);
    // Twice the pace, half the time.
    let fast = program.json(&[
        "simulate",
        text(&file),
        "--trace",
        text(&ours),
        "--trace-speed",
        "2",
        "--json",
    ]);
    let end = |run: &serde_json::Value| run["window"]["run_end_s"].as_f64().unwrap();
    assert!(end(&fast) < end(&run));
}

#[test]
fn the_azure_conversation_is_served_to_the_last_request() {
    let Some(trace) = shared("traces/azure2023_conv.csv") else {
        return;
    };
    let program = Program::new();
    let file = program.example("pdd-vs-colocated");
    let curve = program.json(&[
        "curve",
        text(&file),
        "--trace",
        text(&trace),
        "--loads",
        "0.25,1,4",
        "--json",
    ]);
    let points = curve["points"].as_array().unwrap();
    assert_eq!(points.len(), 6);
    for point in points {
        assert_eq!(point["requests"]["arrived"], 19_366);
        assert_eq!(point["requests"]["completed"], 19_366);
    }
}
