//! Whole deployments through the real binary: predicted, scored, kept as what is known, printed as the
//! README's table, and said beside results.

use crate::support::{Program, shared, text};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Made-up rows of one setup at several loads, and one that is marked as a copy.
fn rows(program: &Program) -> PathBuf {
    let mut out = "id,backend,backend_version,model_path,model_canon,system,precision,mode,isl,osl,tp_size,moe_tp_size,concurrency,silicon_ttft_ms,silicon_tpot_ms,config_group,flag_exact_dup\n".to_owned();
    for load in [1, 2, 4, 8, 16, 24_u32] {
        let (ttft, tpot) = (40 + load, 9.0 + 0.1 * f64::from(load));
        let _ = writeln!(
            out,
            "r{load},vllm,0.11.0,Qwen/Qwen3-32B,qwen3|32b,h800_sxm,bf16,agg,512,24,2,2,{load},{ttft},{tpot},g,0"
        );
    }
    out.push_str(
        "copy,vllm,0.11.0,Qwen/Qwen3-32B,qwen3|32b,h800_sxm,bf16,agg,512,24,2,2,1,41,9.1,g,1\n",
    );
    out.push_str(
        "odd,vllm,0.11.0,Nobody/Knows-7B,nobody,h800_sxm,bf16,agg,512,24,2,2,1,41,9.1,h,0\n",
    );
    program.file("rows.csv", &out)
}

#[test]
fn rows_are_scored_kept_and_said_beside_results() {
    let program = Program::new();
    let rows = rows(&program);
    let presets = program.path("presets");
    let kept = presets.join("validation/errors.ron");
    std::fs::create_dir_all(kept.parent().unwrap()).unwrap();
    let found = program.json(&[
        "validate",
        "--rows",
        text(&rows),
        "--keep",
        text(&kept),
        "--json",
    ]);
    let agg = &found["agg"];
    assert_eq!(
        (agg["rows"].as_u64(), agg["predicted"].as_u64()),
        (Some(7), Some(6))
    );
    assert_eq!(agg["dense"]["tpot"], agg["tpot"]);
    assert_eq!(agg["moe"]["tpot"]["rows"], 0);
    assert_eq!(found["disagg"]["rows"], 0);
    assert!((found["predicted_share"].as_f64().unwrap() - 6.0 / 7.0).abs() < 1e-9);
    let refused = found["refused"].as_array().unwrap();
    let reasons: Vec<&str> = refused
        .iter()
        .filter_map(|own| own["reason"].as_str())
        .collect();
    assert!(
        reasons.iter().any(|own| own.contains("Nobody/Knows-7B")),
        "{reasons:?}"
    );

    // What is kept is of the group alone.
    let text_of = std::fs::read_to_string(&kept).unwrap();
    assert!(
        text_of.contains("h800-sxm") && text_of.contains("conditions:6"),
        "{text_of}"
    );
    for measured in ["41", "9.1", "r16"] {
        assert!(!text_of.contains(&format!(":{measured},")), "{text_of}");
    }

    // It is said beside what it is about, and not beside what it is not.
    let example = program.example("pdd-vs-colocated");
    for (fidelity, outside) in [("calibrated", None), ("roofline", Some(true))] {
        let ran = program.run_with(
            Some(&presets),
            &[
                "simulate",
                text(&example),
                "--requests",
                "40",
                "--json",
                "--fidelity",
                fidelity,
            ],
        );
        assert_eq!(ran.code, 0, "{}", ran.err);
        let run: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let own = &run["validated"];
        assert!(
            own["text"].is_string() && own["outside"].is_boolean(),
            "{own}"
        );
        if let Some(outside) = outside {
            assert_eq!(own["outside"], outside, "{own}");
        }
    }
    let dense = program.example("dense-70b-heterogeneous");
    let ran = program.run_with(
        Some(&presets),
        &[
            "curve",
            text(&dense),
            "--requests",
            "40",
            "--points",
            "3",
            "--json",
        ],
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    let curve: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let designs = curve["validated"].as_object().unwrap();
    assert!(!designs.is_empty());
    for own in designs.values() {
        assert_eq!(own["outside"], own["nearest"].is_null(), "{own}");
    }
    for ranking in curve["rankings"].as_array().unwrap() {
        let (apart, needed) = (&ranking["tpot_apart"], &ranking["tpot_needed"]);
        let safe = needed
            .as_f64()
            .is_some_and(|needed| apart.as_f64().unwrap() > needed);
        assert_eq!(ranking["safe"], safe, "{ranking}");
    }
}

/// Heads of a text's tables, less their first words: what each is of.
fn heads(markdown: &str) -> Vec<String> {
    let rule = |line: &&str| line.starts_with("|---|");
    let lines: Vec<&str> = markdown.lines().collect();
    let pairs = lines.windows(2).filter(|pair| rule(&pair[1]));
    pairs.map(|pair| pair[0].to_owned()).collect()
}

#[test]
fn the_accuracy_tables_of_the_readme_are_those_the_command_prints() {
    let program = Program::new();
    let rows = rows(&program);
    let ran = program.run(&["validate", "--rows", text(&rows), "--markdown"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let printed: Vec<&str> = ran.out.trim_end().lines().collect();
    let (begin, end) = (printed[0], printed[printed.len() - 1]);
    assert!(begin.starts_with("<!--") && end.starts_with("<!--"));
    for line in printed.iter().filter(|line| line.starts_with('|')) {
        assert_eq!(line.matches('|').count(), 10, "{line}");
    }
    assert!(
        ran.out.contains("- 1: model “Nobody/Knows-7B”"),
        "{}",
        ran.out
    );

    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let block = readme
        .split_once(begin)
        .and_then(|(_, rest)| rest.split_once(end))
        .map(|(block, _)| block)
        .expect("the README has the tables between their marks");
    assert_eq!(heads(block), heads(&ran.out));
    for line in block.lines().filter(|line| line.starts_with('|')) {
        assert_eq!(line.matches('|').count(), 10, "{line}");
    }
    // The GPUs it lists are those of the measured rows, all of them.
    let Some(dev) = shared("silicon/silicon_dev.csv") else {
        return;
    };
    let measured = std::fs::read_to_string(dev).unwrap();
    let listed: Vec<&str> = block
        .lines()
        .skip_while(|line| !line.starts_with("| GPU |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .filter_map(|line| line.split('|').nth(1))
        .map(str::trim)
        .collect();
    assert!(listed.len() >= 5, "{listed:?}");
    for gpu in listed {
        assert!(measured.contains(&format!(",{gpu},")), "{gpu}");
    }
}
