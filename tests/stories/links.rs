//! Links decide: KV transfers meet on the NICs and spines of the drawing, through the real binary.

use crate::support::Program;
use serde_json::Value;

fn drawn() -> String {
    include_str!("../../presets/examples/pdd-vs-colocated.frontier.ron").to_owned()
}

/// `simulate --json` of a project's text.
fn simulate(program: &Program, name: &str, text: &str, args: &[&str]) -> Value {
    let path = program.file(&format!("{name}.frontier.ron"), text);
    let mut all = vec!["simulate", path.to_str().unwrap(), "--json"];
    all.extend(args);
    program.json(&all)
}

fn ttft_ms(value: &Value) -> f64 {
    value["ttft_s"]["mean"].as_f64().unwrap() * 1e3
}

/// Llama-3.1-70B prefilled on one server and decoded on another, so many links of 50 GB/s between them
/// and a token budget for two prompts of 8,192 tokens at once.
fn two_servers(links: u32, rate: &str) -> String {
    let text = drawn();
    text.replace("qwen3-30b-a3b", "llama-3.1-70b")
        .replace("tp: 4, pp: 1, dp: 1, ep: 4", "tp: 8, pp: 1, dp: 1, ep: 1")
        .replace(
            "max_num_batched_tokens: 8192",
            "max_num_batched_tokens: 16384",
        )
        .replace(
            "count: 8, rate: \"400 Gb/s\"",
            &format!("count: {links}, rate: \"{rate}\""),
        )
        .replace(
            "input: Fixed(\"2048\"), output: Fixed(\"256\"), requests: 2000",
            "input: Fixed(\"8192\"), output: Fixed(\"2\"), requests: 2",
        )
}

// cases.md T48: 2.5 GiB of KV take 53.7 ms over a NIC of 50 GB/s; two that share it 107.4 ms each; with
// four NICs 13.4 ms each way alone.
#[test]
fn transfers_that_share_a_nic_take_twice_as_long() {
    let program = Program::new();
    let transfer = |links, requests: &str| {
        let run = |name: &str, rate| {
            let text = two_servers(links, rate);
            let args = [
                "--design",
                "a",
                "--fidelity",
                "roofline",
                "--requests",
                requests,
                "--concurrency",
                requests,
            ];
            ttft_ms(&simulate(&program, name, &text, &args))
        };
        // Links half as fast take twice as long: what they add is the transfer.
        run("slow", "25 GB/s") - run("drawn", "50 GB/s")
    };
    let alone = transfer(1, "1");
    // Of three the first is prefilled, and sent, alone; the others together.
    let shared = (3.0 * transfer(1, "3") - alone) / 2.0;
    let four = transfer(4, "1");
    for (took, expected) in [(alone, 53.7), (shared, 107.4), (four, 13.4)] {
        println!("{took:.2} ms, expected {expected}");
        assert!((took / expected - 1.0).abs() < 0.005, "{took} ms");
    }
}

/// Four servers behind two leaves that meet in one spine over so many links each; the first two
/// prefill, the others decode.
fn behind_a_spine(uplinks: u32) -> String {
    let text = drawn();
    let group = |id: &str, kind: &str, count: u32| {
        format!(
            "(id: \"{id}\", name: \"{id}\", kind: {kind}, count: {count}, position: (x: 0.0, y: 0.0)),"
        )
    };
    let link = |a: &str, b: &str, count: u32| {
        format!(
            "(id: \"{a}-{b}\", a: (group: \"{a}\", instances: Each), b: (group: \"{b}\", instances: Each), count: {count}, rate: \"400 Gb/s\", latency: \"1 us\", kind: Infiniband, wiring: All),"
        )
    };
    let (from, to) = (
        text.find("groups: [").unwrap(),
        text.find("model: Preset").unwrap(),
    );
    let node = "Node(\"hgx-h800\")";
    let groups = [
        group("n0", node, 2),
        group("n1", node, 2),
        group("leaf0", "Switch(\"qm9700-64x400g\")", 1),
        group("leaf1", "Switch(\"qm9700-64x400g\")", 1),
        group("spine", "Switch(\"qm9700-64x400g-spine\")", 1),
    ];
    let links = [
        link("n0", "leaf0", 8),
        link("n1", "leaf1", 8),
        link("leaf0", "spine", uplinks),
        link("leaf1", "spine", uplinks),
    ];
    let cluster = format!(
        "groups: [{}], links: [{}],),\n        ",
        groups.concat(),
        links.concat()
    );
    let text = format!("{}{cluster}{}", &text[..from], &text[to..]);
    text.replace("gpus: [\"n0/0/0-7\"]", "gpus: [\"n0/0/0-7\", \"n0/1/0-7\"]")
        .replace("gpus: [\"n1/0/0-7\"]", "gpus: [\"n1/0/0-7\", \"n1/1/0-7\"]")
        .replacen(
            "model: Preset(\"qwen3-30b-a3b\")",
            "model: Preset(\"qwen3-235b-a22b\")",
            1,
        )
        .replacen(
            "tp: 4, pp: 1, dp: 1, ep: 4",
            "tp: 8, pp: 1, dp: 1, ep: 8",
            2,
        )
        .replace(
            "weights: Bf16, activations: Bf16",
            "weights: Fp8, activations: Fp8",
        )
        .replace("input: Fixed(\"2048\")", "input: Fixed(\"8192\")")
}

// Halving the spine's links lengthens the wait for the first token of a split design, and changes
// nothing, to the last byte, where all is in one server.
#[test]
fn a_thinner_spine_delays_split_designs_only() {
    let program = Program::new();
    let mean = |uplinks, seed: &str| {
        let text = behind_a_spine(uplinks);
        let args = [
            "--design",
            "a",
            "--rate",
            "3",
            "--requests",
            "150",
            "--seed",
            seed,
        ];
        ttft_ms(&simulate(&program, "spine", &text, &args))
    };
    let of_seeds = |uplinks| {
        ["1", "2", "3"]
            .iter()
            .map(|seed| mean(uplinks, seed))
            .sum::<f64>()
            / 3.0
    };
    let [wide, half, thin] = [8, 4, 1].map(of_seeds);
    println!("TTFT behind 8, 4 and 1 uplinks: {wide:.1}, {half:.1} and {thin:.1} ms");
    assert!(half > wide + 1.0 && thin > half + 10.0);
    // One server of the same drawing, co-located.
    let alone = |uplinks| {
        let text = behind_a_spine(uplinks)
            .replacen("role: Prefill", "role: Colocated", 1)
            .replacen("\"n0/0/0-7\", \"n0/1/0-7\"", "\"n0/0/0-7\"", 1)
            .replacen(
                "Whole(id: \"prefill\", pool: \"prefill\", phases: Prefill),",
                "Whole(id: \"prefill\", pool: \"prefill\", phases: Both),",
                1,
            )
            .replacen(
                "Whole(id: \"decode\", pool: \"decode\", phases: Decode),",
                "",
                1,
            )
            .replacen("role: Decode", "role: Colocated", 1);
        let at = text.find("            id: \"decode\"").unwrap();
        let begin = text[..at].rfind('(').unwrap();
        let end = at + text[at..].find("        ],\n        services").unwrap();
        let text = format!("{}{}", &text[..begin], &text[end..]);
        let args = ["--design", "a", "--rate", "2", "--requests", "100"];
        simulate(&program, "alone", &text, &args).to_string()
    };
    assert_eq!(alone(8), alone(4));
}

// The verdict: a split design whose KV crosses one NIC has nothing to spare, one server alone does not care.
#[test]
fn whether_the_network_matters_is_said() {
    let program = Program::new();
    let text = two_servers(1, "50 GB/s");
    let ask = |design| {
        let args = [
            "--design",
            design,
            "--fidelity",
            "roofline",
            "--rate",
            "0.5",
            "--requests",
            "20",
            "--network",
        ];
        simulate(&program, "asked", &text, &args)["network"].clone()
    };
    let (split, together) = (ask("a"), ask("b"));
    // Half as fast: some 54 ms more before the first token.
    assert_eq!(split["matters"], true, "{split}");
    assert!(split["half"]["ttft"].as_f64().unwrap() > 0.05, "{split}");
    // Ten times as fast the NIC's own PCIe lanes are what is left.
    assert!(
        split["tenfold"]["ttft"].as_f64().unwrap() < -0.01,
        "{split}"
    );
    assert_eq!(together["matters"], false, "{together}");
    assert_eq!(together["half"]["ttft"], 0.0, "{together}");
}
