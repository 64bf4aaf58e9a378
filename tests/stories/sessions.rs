//! Traces with block hashes, and conversations, from the command line.

use crate::support::{Program, text};

/// A trace like Mooncake's: bursts every three seconds, prompts that share their first blocks.
fn mooncake() -> String {
    (0..120_u64)
        .map(|n| {
            let (chat, turn) = (n % 10, n / 10);
            // Two blocks a turn, the last one cut short; the ids need 64 bits.
            let blocks = 2 * turn + 2;
            let ids: Vec<String> = (0..blocks)
                .map(|block| ((chat << 40) + block).to_string())
                .collect();
            format!(
                "{{\"timestamp\": {}, \"input_length\": {}, \"output_length\": 20, \"hash_ids\": [{}]}}\n",
                turn * 3000,
                blocks * 512 - 100,
                ids.join(", ")
            )
        })
        .collect()
}

#[test]
fn a_mooncake_trace_is_served() {
    let program = Program::new();
    let file = program.example("pdd-vs-colocated");
    let trace = program.file("chats.jsonl", &mooncake());
    let args = ["simulate", text(&file), "--trace", text(&trace), "--json"];
    let ran = program.run(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("120 requests in 33 s"), "{}", ran.err);
    assert!(ran.err.contains("met before"), "{}", ran.err);
    let run: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(run["requests"]["completed"], 120);
    // Ten at once wait for each other; spread over the three seconds they don't.
    let even = program.run(&[&args[..], &["--columns", "ties=even"]].concat());
    assert!(even.err.contains("spread evenly"), "{}", even.err);
    let even: serde_json::Value = serde_json::from_str(&even.out).unwrap();
    let ttft = |run: &serde_json::Value| run["ttft_s"]["mean"].as_f64().unwrap();
    assert!(ttft(&even) < ttft(&run));
    let part = program.json(&[&args[..], &["--columns", "window=3:9"]].concat());
    assert_eq!(part["requests"]["completed"], 20);
}

#[test]
fn a_malformed_line_is_named() {
    let program = Program::new();
    let file = program.example("pdd-vs-colocated");
    let bad = mooncake()
        + "{\"timestamp\": 0, \"input_length\": 20, \"output_length\": 1, \"hash_ids\": [0, 1]}\n";
    let trace = program.file("bad.jsonl", &bad);
    let ran = program.run(&["simulate", text(&file), "--trace", text(&trace)]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("line 121"), "{}", ran.err);
    for columns in [
        "ties=sometimes",
        "block=0",
        "window=9:3",
        "window=0:inf",
        "unit=ms",
    ] {
        let args = [
            "simulate",
            text(&file),
            "--trace",
            text(&trace),
            "--columns",
            columns,
        ];
        let ran = program.run(&args);
        assert_eq!(ran.code, 2, "{columns}");
        assert!(ran.err.contains("--columns"), "{columns}: {}", ran.err);
    }
}

#[test]
fn conversations_with_tools_are_served_at_the_rate_of_their_turns() {
    let program = Program::new();
    let plain = std::fs::read_to_string(program.example("pdd-vs-colocated")).unwrap();
    let talks = plain
        .replace(
            "input: Fixed(\"2048\"), output: Fixed(\"256\"), requests: 2000",
            "input: Fixed(\"200\"), output: Fixed(\"50\"), requests: 800, \
             sessions: Some((turns: Fixed(4), think: (mean: \"500 ms\", cv: 1.0), system: Some((tokens: \"1000\", distinct: 2)))), \
             hidden: Some((rounds: Fixed(1), tokens: Fixed(\"40\"), tool: Some(Fixed(\"60\")), wait: (mean: \"250 ms\", cv: 0.0), kept: true)), \
             priorities: [(priority: 0, share: 1.0), (priority: 5, share: 3.0)]",
        );
    assert_ne!(plain, talks);
    let file = program.file("talks.frontier.ron", &talks);
    let run = program.json(&["simulate", text(&file), "--rate", "20", "--json"]);
    assert_eq!(run["requests"]["completed"], 800);
    assert_eq!(run["hidden"]["rounds"], 800);
    assert_eq!(run["hidden"]["tokens"], 800 * 40);
    assert!(run["ttft_s"]["p50"].as_f64().unwrap() > 0.25);
    let rate = run["requests_per_s"].as_f64().unwrap();
    assert!((15.0..25.0).contains(&rate), "{rate}");
    // A number that can't be is refused by name.
    let wrong = talks.replace("turns: Fixed(4)", "turns: Fixed(0)");
    let file = program.file("wrong.frontier.ron", &wrong);
    let ran = program.run(&["simulate", text(&file), "--rate", "20"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("turns of a conversation"), "{}", ran.err);
}
