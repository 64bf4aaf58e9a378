//! KV on the drawn links, as the program says it.

use crate::support::{Program, text};

/// Two replicas of Llama 3.1 70B prefill on one server and two decode on another, joined by so many
/// 400 Gb/s links.
fn design(links: u32, first_token: &str) -> String {
    let pool = |id: &str, role: &str, node: &str| {
        format!(
            r#"(
            id: "{id}", name: "{role}", role: {role}, gpus: ["{node}/0/0-7"],
            layout: (tp: 4, pp: 1, dp: 1, ep: 1),
            engine: (
              kind: Vllm, version: "0.11.0", max_num_batched_tokens: 32768, max_num_seqs: 64, block_size: 16,
              gpu_memory_utilization: 0.9, enable_chunked_prefill: true, host_step_time: "0 s",
              first_token: {first_token},
            ),
            precision: (weights: Bf16, activations: Bf16, kv: Bf16),
          )"#
        )
    };
    let node = |id: &str| {
        format!(
            r#"(id: "{id}", name: "{id}", kind: Node("hgx-h800"), count: 1, position: (x: 0.0, y: 0.0))"#
        )
    };
    format!(
        r#"(
  format: "frontier-project", version: 1, app: "0.1.0",
  project: (
    name: "T48",
    designs: [(
      id: "a", name: "1P1D",
      cluster: (
        groups: [{}, {}],
        links: [(id: "l", a: (group: "n0", instances: Each), b: (group: "n1", instances: Each), count: {links},
          rate: "400 Gb/s", latency: "1 us", kind: Infiniband, wiring: All)],
      ),
      model: Preset("llama-3.1-70b"),
      pools: [{}, {}],
      services: [
        Whole(id: "prefill", pool: "prefill", phases: Prefill),
        Whole(id: "decode", pool: "decode", phases: Decode),
      ],
      feeds: [],
    )],
    workload: (arrivals: Closed, input: Fixed("8192"), output: Fixed("2"), requests: 2, seed: 1),
    slo: (ttft: "2 s", tpot: "50 ms", attainment: 0.9),
    curve: (loads: [], points: 8, percentile: 95.0),
  ),
)"#,
        node("n0"),
        node("n1"),
        pool("prefill", "Prefill", "n0"),
        pool("decode", "Decode", "n1"),
    )
}

/// Milliseconds from the end of prefill to decode's admission, of so many prompts at once.
fn transfer(program: &Program, links: u32, together: &str) -> f64 {
    let ttft = |first_token: &str| {
        let file = program.file("t48.frontier.ron", &design(links, first_token));
        let run = program.json(&[
            "simulate",
            text(&file),
            "--concurrency",
            together,
            "--requests",
            together,
            "--fidelity",
            "roofline",
            "--json",
        ]);
        run["ttft_s"]["mean"].as_f64().unwrap() * 1e3
    };
    ttft("DecodeAdmission") - ttft("PrefillEnd")
}

#[test]
fn transfers_that_share_a_nic_take_twice_as_long() {
    // cases.md T48: 8,192 tokens of Llama 70B are 2.5 GiB, 53.7 ms at 50 GB/s.
    let program = Program::new();
    for (links, together, ms) in [(1, "1", 53.7), (1, "2", 107.4), (4, "1", 13.4)] {
        let took = transfer(&program, links, together);
        assert!(
            (took - ms).abs() < 0.1,
            "{links} links, {together}: {took} ms"
        );
    }
}

#[test]
fn simulate_says_whether_the_network_matters() {
    let program = Program::new();
    let verdict = |links| {
        let file = program.file("net.frontier.ron", &design(links, "DecodeAdmission"));
        let run = program.json(&[
            "simulate",
            text(&file),
            "--rate",
            "0.5",
            "--requests",
            "30",
            "--fidelity",
            "roofline",
            "--network",
            "--json",
        ]);
        assert!(run["busiest_link"][0].as_str().unwrap().contains("NIC"));
        assert!(run["busiest_link_full"].as_f64().unwrap() > 0.0);
        let own = &run["network"];
        let ttft = |name: &str| own[name]["ttft_s"].as_f64().unwrap();
        assert!(ttft("fast") < ttft("drawn") && ttft("drawn") < ttft("slow"));
        own["limits"].as_bool().unwrap()
    };
    // 54 ms of some 700 are felt, 13 ms are not.
    assert!(verdict(1));
    assert!(!verdict(8));
}
