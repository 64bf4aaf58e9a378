//! Operator times through the real binary: fitting them, holding them against tables, running on
//! them.

use crate::support::{Program, shared, text};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// A folder in the layout of kernel tables: products that take 3 µs or what 60 % of the peak or 80 %
/// of the bandwidth of an H200 give, and a file nobody knows.
fn tables(dir: &Path) {
    let mut out = "engine,backend_version,kernel_source,gemm_dtype,m,n,k,latency_ms\n".to_owned();
    for n in [512.0, 1024.0, 2048.0, 3072.0, 4096.0, 6144.0_f64] {
        for k in [1024.0, 2048.0, 4096.0, 7168.0_f64] {
            for m in [1.0, 8.0, 64.0, 256.0, 1024.0, 4096.0_f64] {
                let compute = 2.0 * m * n * k / (989e12 * 0.6);
                let memory = 2.0 * (n * k + m * k + m * n) / (4.8e12 * 0.8);
                let ms = (3e-6 + compute.max(memory)) * 1e3;
                writeln!(out, "vllm,0.24.0,linear,bfloat16,{m},{n},{k},{ms:.7}").unwrap();
            }
        }
    }
    fs::create_dir_all(dir.join("gemm")).unwrap();
    fs::write(dir.join("gemm/h200_sxm.csv"), out).unwrap();
    fs::write(dir.join("notes.csv"), "a,b\n1,2\n").unwrap();
}

#[test]
fn ones_own_tables_are_fitted_validated_and_run_on() {
    let program = Program::new();
    let data = program.path("data");
    tables(&data);
    let presets = program.path("presets");
    let out = presets.join("calibration");
    let fitted = program.run(&["calibrate", "--data", text(&data), "--out", text(&out)]);
    assert_eq!(fitted.code, 0, "{}", fitted.err);
    let first = fs::read(out.join("h200-sxm.ron")).unwrap();
    let report = fs::read_to_string(out.join("report.md")).unwrap();
    for words in ["GEMM", "h200-sxm", "By table", "notes.csv"] {
        assert!(report.contains(words), "{words}: {report}");
    }
    // Again: the same bytes.
    let again = program.path("again");
    program.run(&["calibrate", "--data", text(&data), "--out", text(&again)]);
    assert_eq!(first, fs::read(again.join("h200-sxm.ron")).unwrap());
    // Held against the tables it was fitted to, it is near them, and says what it could not take.
    let ran = program.run_with(
        Some(&presets),
        &["validate", "--ops", text(&data), "--json"],
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    let found: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let overall = &found["overall"];
    assert_eq!(
        (overall["rows"].as_u64(), overall["predicted"].as_u64()),
        (Some(144), Some(144))
    );
    assert!(overall["median_ape"].as_f64().unwrap() < 0.05, "{overall}");
    let row = &found["operators"][0];
    for (key, value) in [
        ("operator", "gemm"),
        ("gpu", "h200-sxm"),
        ("engine", "vllm"),
        ("version", "0.24.0"),
        ("precision", "bfloat16"),
    ] {
        assert_eq!(row[key], value);
    }
    assert!(row["p95_ape"].is_number() && row["bias"].is_number());
    assert_eq!(found["refused"][0]["file"], "notes.csv");
    // A run says where its time comes from.
    let file = program.example("pdd-vs-colocated");
    let origins = |fidelity: &[&str]| {
        let mut args = vec!["simulate", text(&file), "--requests", "60", "--json"];
        args.extend(fidelity);
        let run = program.json(&args);
        let sum: f64 = run["provenance"]["origins"]
            .as_array()
            .unwrap()
            .iter()
            .map(|own| own[1].as_f64().unwrap())
            .sum();
        assert!((sum - 1.0).abs() < 1e-6, "{run}");
        run["provenance"]["fidelity"].as_str().unwrap().to_owned()
    };
    assert_eq!(origins(&["--fidelity", "roofline"]), "roofline");
    assert_eq!(origins(&[]), "calibrated");
    assert_eq!(
        origins(&["--fidelity", "measured", "--profile", text(&data)]),
        "measured"
    );
}

#[test]
fn what_cannot_be_fitted_says_why() {
    let program = Program::new();
    let file = program.example("pdd-vs-colocated");
    for (args, words) in [
        (vec!["calibrate", "--data", "nowhere"], "nowhere"),
        (vec!["calibrate", "--data", ".", "--family", "gem"], "gemm"),
        (vec!["validate", "--ops", "nowhere"], "nowhere"),
        (
            vec!["simulate", text(&file), "--fidelity", "measured"],
            "--profile",
        ),
        (
            vec!["simulate", text(&file), "--profile", "."],
            "--fidelity measured",
        ),
    ] {
        let run = program.run(&args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.err);
        assert!(run.err.contains(words), "{args:?}: {}", run.err);
    }
}

/// The shipped calibrations against the tables they come from, where those are at hand.
#[test]
fn shipped_calibrations_are_near_their_tables() {
    let Some(data) = shared("data/aic_ops/gemm/a100_sxm.csv.gz") else {
        eprintln!("skipped: measured tables are not at hand");
        return;
    };
    let program = Program::new();
    let dir = program.path("ops/gemm");
    fs::create_dir_all(&dir).unwrap();
    fs::copy(&data, dir.join("a100_sxm.csv.gz")).unwrap();
    let ops = program.path("ops");
    let found = program.json(&["validate", "--ops", text(&ops), "--json"]);
    let overall = &found["overall"];
    assert_eq!(overall["rows"], overall["predicted"]);
    // The floor asked of held-out shapes: 6 % and 25 %.
    assert!(overall["median_ape"].as_f64().unwrap() < 0.06, "{overall}");
    assert!(overall["p95_ape"].as_f64().unwrap() < 0.25, "{overall}");
}
