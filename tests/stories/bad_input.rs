//! Wrong input: each a clear error and the right exit code, nothing lost, never a panic.

use crate::support::{Program, text};

/// Runs a command that must be refused; its message.
fn refused(program: &Program, args: &[&str], code: i32) -> String {
    let ran = program.run(args);
    assert_eq!(ran.code, code, "{args:?}: {} {}", ran.out, ran.err);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    assert!(!ran.err.trim().is_empty());
    ran.err
}

#[test]
fn documents_that_are_broken() {
    let program = Program::new();
    let good = std::fs::read_to_string(program.example("pdd-vs-colocated")).unwrap();
    let cases = [
        (
            "truncated",
            good[..good.len() / 2].to_owned(),
            "truncated.frontier.ron",
        ),
        (
            "future",
            good.replacen("version: 5", "version: 99", 1),
            "99",
        ),
        ("typo", good.replacen("groups", "gruops", 1), "gruops"),
        ("nan", good.replacen("x: 80", "x: NaN", 1), ""),
        ("html", "<!DOCTYPE html><html></html>".to_owned(), ""),
        ("empty", String::new(), ""),
        ("comma", good.replacen("50 GB/s", "0,5 GB/s", 1), ""),
    ];
    for (name, broken, part) in cases {
        if name != "comma" && name != "nan" {
            assert_ne!(broken, good, "{name}");
        }
        if broken == good {
            continue;
        }
        let file = program.file(&format!("{name}.frontier.ron"), &broken);
        for command in ["check", "simulate", "curve"] {
            let message = refused(&program, &[command, text(&file)], 2);
            assert!(message.contains(part), "{name}: {message}");
        }
    }
}

#[test]
fn files_that_are_not_there_or_far_too_large() {
    let program = Program::new();
    refused(&program, &["check", "no-such-file.frontier.ron"], 2);
    let huge = program.path("huge.frontier.ron");
    let file = std::fs::File::create(&huge).unwrap();
    file.set_len(2 << 30).unwrap();
    let message = refused(&program, &["check", text(&huge)], 2);
    assert!(
        message.contains("MiB") || message.contains("bytes"),
        "{message}"
    );
    let example = program.example("pdd-vs-colocated");
    let trace = program.path("huge.csv");
    std::fs::File::create(&trace)
        .unwrap()
        .set_len(2 << 30)
        .unwrap();
    refused(
        &program,
        &["simulate", text(&example), "--trace", text(&trace)],
        2,
    );
}

#[test]
fn designs_that_cannot_run_say_why_and_exit_1() {
    let program = Program::new();
    let good = std::fs::read_to_string(program.example("pdd-vs-colocated")).unwrap();
    let with = |from: &str, to: &str| {
        let text = good.replace(from, to);
        assert_ne!(text, good, "“{from}” is not in the example");
        text
    };
    let cases = [
        ("tp", with("tp: 4", "tp: 3"), "does not divide"),
        ("fit", with("qwen3-30b-a3b", "llama-3.1-405b"), "EP"),
        (
            "nowhere",
            with("group: \"n1\"", "group: \"zz\""),
            "which is not drawn",
        ),
    ];
    for (name, broken, part) in cases {
        let file = program.file(&format!("{name}.frontier.ron"), &broken);
        let message = refused(&program, &["simulate", text(&file)], 1);
        assert!(message.contains(part), "{name}: {message}");
        refused(&program, &["check", text(&file)], 1);
    }
}

#[test]
fn usage_that_is_wrong() {
    let program = Program::new();
    let file = program.example("pdd-vs-colocated");
    for args in [
        vec!["simulate", text(&file), "--rate", "NaN"],
        vec!["simulate", text(&file), "--rate", "-1"],
        vec!["simulate", text(&file), "--rate", "0"],
        vec!["simulate", text(&file), "--concurrency", "0"],
        vec!["simulate", text(&file), "--requests", "0"],
        vec!["check", text(&file), "--requests", "0"],
        vec!["simulate", text(&file), "--rate", "1e-300"],
        vec!["curve", text(&file), "--points", "0"],
        vec!["simulate", text(&file), "--design", "zz"],
        vec!["curve", text(&file), "--loads", "1,NaN"],
        vec!["new", "--example", "no-such-example", "-o", "x"],
        vec!["new"],
        vec!["simulate"],
        vec!["frobnicate", "x", "y"],
    ] {
        refused(&program, &args, 2);
    }
    // An existing file is kept.
    let kept = program.file("kept.frontier.ron", "mine");
    refused(
        &program,
        &["new", "--example", "pdd-vs-colocated", "-o", text(&kept)],
        2,
    );
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "mine");
    // A folder that can't be written to.
    refused(
        &program,
        &[
            "new",
            "--example",
            "pdd-vs-colocated",
            "-o",
            "/proc/nowhere/x.frontier.ron",
        ],
        2,
    );
}

#[test]
fn traces_that_are_wrong_name_the_line() {
    let program = Program::new();
    let file = program.example("pdd-vs-colocated");
    let header = "arrived_at,num_prefill_tokens,num_decode_tokens\n";
    for (name, rows, part) in [
        ("zero", "0,100,10\n1,0,5\n", "3"),
        ("nan", "0,100,10\nNaN,10,5\n", "3"),
        ("negative", "0,100,10\n1,-4,5\n", "3"),
        ("text", "0,abc,10\n", "2"),
        ("short", "0,100\n", "2"),
    ] {
        let trace = program.file(&format!("{name}.csv"), &format!("{header}{rows}"));
        let message = refused(
            &program,
            &["simulate", text(&file), "--trace", text(&trace)],
            2,
        );
        assert!(message.contains(part), "{name}: {message}");
    }
    let dialect = program.file(
        "dialect.csv",
        "arrived_at;num_prefill_tokens;num_decode_tokens\n0,5;100;10\n",
    );
    refused(
        &program,
        &["simulate", text(&file), "--trace", text(&dialect)],
        2,
    );
}

#[test]
fn names_cannot_steer_the_terminal() {
    let program = Program::new();
    let good = std::fs::read_to_string(program.example("pdd-vs-colocated")).unwrap();
    let evil = good.replace("\"Prefill\"", "\"Pre\\u{1b}[31mfill\"");
    assert_ne!(evil, good);
    let file = program.file("evil.frontier.ron", &evil);
    for args in [
        vec!["check", text(&file)],
        vec!["simulate", text(&file), "--requests", "20"],
    ] {
        let ran = program.run(&args);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.out.contains("Pre\u{fffd}[31mfill"), "{}", ran.out);
        assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'));
    }
}
