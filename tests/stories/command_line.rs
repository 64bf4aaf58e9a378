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
    assert_eq!(run["provenance"]["fidelity"], "calibrated");
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
fn simulate_says_what_limits_and_writes_trace_and_timeline() {
    let program = Program::new();
    let file = program.example("pdd-vs-colocated");
    let (trace, line) = (program.path("trace.json"), program.path("timeline.json"));
    let run = program.json(&[
        "simulate",
        text(&file),
        "--rate",
        "20",
        "--requests",
        "100",
        "--json",
        "--trace-out",
        text(&trace),
        "--timeline",
        text(&line),
    ]);
    for limit in run["limits"].as_array().unwrap() {
        assert!(limit["weight"].as_f64().unwrap() > 0.0);
        assert!(!limit["text"].as_str().unwrap().is_empty());
    }
    // Two pools, each with both kinds of steps.
    let pools = run["breakdown"].as_array().unwrap();
    assert_eq!(pools.len(), 2);
    let steps: u64 = pools
        .iter()
        .flat_map(|pool| pool["phases"].as_array().unwrap())
        .map(|phase| phase["steps"].as_u64().unwrap())
        .sum();
    assert_eq!(steps, run["work"]["steps"].as_u64().unwrap());
    let read = |path: &std::path::Path| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    };
    let trace = read(&trace);
    assert_eq!(trace["otherData"]["note"], "complete");
    assert!(trace["traceEvents"].as_array().unwrap().len() as u64 > steps);
    let line = read(&line);
    assert_eq!(
        line["replicas"][0]["bins"].as_array().unwrap().len() / 513,
        1
    );
    assert!(!line["links"].as_array().unwrap().is_empty());

    // A place that can't be written to is bad usage, by name.
    let missing = program.path("missing").join("t.json");
    let failed = program.run(&[
        "simulate",
        text(&file),
        "--requests",
        "10",
        "--trace-out",
        text(&missing),
    ]);
    assert_eq!(failed.code, 2);
    assert!(
        failed.err.contains("t.json can't be written"),
        "{}",
        failed.err
    );
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

/// Step-3's Table 6, from the command line: DeepSeek-V3 and Step-3, attention at 8K and 32K, FFN.
#[test]
fn the_cost_table_is_the_papers() {
    let program = Program::new();
    let plot = program.path("cost.svg");
    let out = program.json(&["cost-table", "--paper", "--json", "--out", text(&plot)]);
    let printed = |value: &serde_json::Value| format!("{:.3}", value.as_f64().unwrap());
    let row = |model: &str, context: usize, what: &str| -> Vec<String> {
        let models = out["models"].as_array().unwrap();
        let found = models.iter().find(|m| m["model"] == model).unwrap();
        let gpus = &found["contexts"][context]["usd_per_million_tokens"];
        let gpus = gpus.as_array().unwrap();
        gpus.iter().map(|gpu| printed(&gpu[what])).collect()
    };
    assert_eq!(
        row("deepseek-v3", 0, "attention"),
        ["0.054", "0.128", "0.114", "0.113"]
    );
    assert_eq!(
        row("step-3", 1, "attention"),
        ["0.176", "0.114", "0.120", "0.133"]
    );
    assert_eq!(
        row("step-3", 0, "ffn"),
        ["0.015", "0.040", "0.036", "0.035"]
    );
    let best = &out["models"][4]["contexts"][0]["best"];
    assert_eq!(
        (&best["attention"], &best["ffn"]),
        (&"h20-96".into(), &"h800-sxm".into())
    );
    assert!(std::fs::read_to_string(&plot).unwrap().contains("<svg"));
    // For people, and for spreadsheets.
    let shown = program.run(&["cost-table", "--paper"]);
    assert!(shown.out.contains("Step-3") && shown.out.contains("0.176"));
    let csv = program.run(&["cost-table", "--csv", "--context", "4096"]);
    assert_eq!(csv.out.lines().count(), 1 + 5 * 4);
}

#[test]
fn the_cost_table_takes_any_model_gpu_and_price() {
    let program = Program::new();
    let config = program.file(
        "tiny.json",
        r#"{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":4096,
            "intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,
            "num_key_value_heads":8,"vocab_size":128256,"max_position_embeddings":131072}"#,
    );
    let ask = |price: &str| {
        let out = program.json(&[
            "cost-table",
            "--models",
            text(&config),
            "--gpus",
            "h200-sxm",
            "--price",
            price,
            "--context",
            "4096",
            "--json",
        ]);
        out["models"][0]["contexts"][0]["usd_per_million_tokens"][0]["total"]
            .as_f64()
            .unwrap()
    };
    let (once, twice) = (ask("h200-sxm=1.5"), ask("h200-sxm=3 $/h"));
    assert!((twice / once - 2.0).abs() < 1e-9, "{once} {twice}");
    for (args, named) in [
        (&["--models", "nope"][..], "deepseek-v3"),
        (&["--gpus", "nope"], "h800-sxm"),
        (&["--price", "l20=1"], "not in the table"),
        (&["--price", "h20-96"], "="),
        (&["--context", "0"], "0 tokens"),
        (&["--kv-precision", "fp7"], "fp8"),
        (&["--split", "2F2A"], "2A2F"),
        (&["--tpot", "0 ms"], "tpot"),
        (&["--out", "plot.pdf"], ".svg"),
        (&["--models", "none.json"], "none.json"),
    ] {
        let mut whole = vec!["cost-table"];
        whole.extend(args);
        let ran = program.run(&whole);
        assert_eq!(ran.code, 2, "{args:?}");
        assert!(ran.err.contains(named), "{args:?}: {}", ran.err);
    }
}

#[test]
fn the_capacity_plan_is_deepseeks_day() {
    let program = Program::new();
    let plan = program.json(&["capacity-plan", "--json"]);
    let near = |key: &str, theirs: f64| {
        let ours = plan[key].as_f64().unwrap();
        assert!((ours / theirs - 1.0).abs() < 0.005, "{key}: {ours}");
    };
    near("nodes", 226.9);
    near("cost_usd", 87_072.0);
    near("margin", 5.45);
    let refused = program.run(&["capacity-plan", "--cached", "1.2"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("share"), "{}", refused.err);
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
fn a_reader_that_goes_away_is_no_reason_to_fail() {
    use std::process::{Command, Stdio};
    let program = Program::new();
    let file = program.example("pdd-vs-colocated");
    let commands = [
        vec!["curve", text(&file), "--requests", "20"],
        vec!["check", text(&file)],
        vec!["simulate", text(&file), "--requests", "20"],
        vec!["new", "--list"],
    ];
    for args in commands {
        let mut child = Command::new(env!("CARGO_BIN_EXE_frontier"))
            .args(&args)
            .current_dir(program.path("."))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // As `| head` does once it has seen enough.
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(0), "{args:?}: {err}");
        assert!(!err.contains("panicked"), "{args:?}: {err}");
    }
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

/// A hybrid would do better, but this is what every version imports: one key is missing, one is new.
const CONFIG: &str = r#"{"architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 4,
    "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 32000,
    "tie_word_embeddings": true, "hidden_act": "silu", "a_new_key": 1}"#;

#[test]
fn model_prints_the_stable_keys_at_a_context() {
    let program = Program::new();
    let file = program.file("config.json", CONFIG);
    let args = ["model", text(&file), "--context", "1000", "--json"];
    let model = program.json(&args);
    // 4 layers of 2 × 4 KV heads of 64, two bytes each.
    assert_eq!(model["kv_bytes_per_token"], 4 * 2 * 4 * 64 * 2);
    assert_eq!(model["kv_bytes_per_sequence"], 1000 * 4 * 2 * 4 * 64 * 2);
    assert_eq!(model["context"], 1000);
    // Embedding, which is the head too; attention; MLP; norms.
    let layer = 2 * 1024 * 1024 + 2 * 1024 * 256 + 3 * 1024 * 4096 + 2 * 1024;
    let all = 32_000 * 1024 + 4 * layer + 1024;
    assert_eq!(model["parameters"], all);
    assert_eq!(model["active_parameters"], all);
    assert_eq!(model["weight_bytes"], 2 * all);
    let said = model["assumptions"].as_array().unwrap();
    assert!(
        said.iter()
            .any(|s| s.as_str().unwrap().contains("max_position_embeddings"))
    );
    let unused = model["unused_keys"].as_array().unwrap();
    assert!(unused.iter().any(|s| s == "a_new_key"));

    let fp8 = program.json(&[
        "model",
        text(&file),
        "--kv-precision",
        "fp8",
        "--precision",
        "fp8",
        "--tp",
        "8",
        "--json",
    ]);
    assert_eq!(fp8["kv_bytes_per_token"], 4 * 2 * 4 * 64);
    assert_eq!(
        fp8["context"], fp8["max_context"],
        "said where it is not asked"
    );
    assert_eq!(
        fp8["rank"]["kv_bytes_per_token"],
        4 * 2 * 64,
        "4 heads on 8 ranks"
    );
    let parts = model["parameters_by_part"].as_object().unwrap();
    let sum: u64 = parts.values().map(|part| part.as_u64().unwrap()).sum();
    assert_eq!(sum, all);
}

#[test]
fn model_shows_its_working_in_a_hundred_columns() {
    let program = Program::new();
    let ran = program.run(&[
        "model",
        "deepseek-v3",
        "--explain",
        "--tp",
        "8",
        "--context",
        "4096",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("61 layers × (512 + 64) × 2 B"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("671,026,419,200"));
    assert!(ran.out.lines().all(|line| line.chars().count() <= 100));
    let ran = program.run(&["model", "qwen3-30b-a3b", "--explain", "--tp", "8"]);
    assert!(
        ran.out.contains("4 KV heads on 8 ranks: each twice"),
        "{}",
        ran.out
    );
}

#[test]
fn a_printed_preset_is_the_model_again() {
    let program = Program::new();
    let file = program.file("config.json", CONFIG);
    let printed = program.run(&["model", text(&file), "--ron"]);
    assert_eq!(printed.code, 0, "{}", printed.err);
    let id = printed
        .out
        .lines()
        .find_map(|line| line.trim().strip_prefix("id: "));
    let id = id.unwrap().trim_matches(['"', ',']).to_owned();
    // Where the program looks for the user's presets in this folder.
    let folder = program.path("frontier/presets/models");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{id}.ron")), &printed.out).unwrap();
    assert_eq!(program.run(&["model", &id, "--ron"]).out, printed.out);
    let keys = [
        "parameters",
        "weight_bytes",
        "kv_bytes_per_sequence",
        "assumptions",
    ];
    let (read, kept) = (
        program.json(&["model", text(&file), "--json"]),
        program.json(&["model", &id, "--json"]),
    );
    for key in keys {
        assert_eq!(read[key], kept[key], "{key}");
    }
    assert!(!kept["assumptions"].as_array().unwrap().is_empty());
    let unknown = program.run(&["model", "no-such-model"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("deepseek-v3"), "{}", unknown.err);
}

#[test]
fn a_model_file_of_200_mb_is_refused_unread() {
    let program = Program::new();
    let path = program.path("config.json");
    std::fs::File::create(&path)
        .unwrap()
        .set_len(200 << 20)
        .unwrap();
    let ran = program.run(&["model", text(&path)]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("209715200 bytes"), "{}", ran.err);
}
