//! Prefill and decode apart: who moves KV and when, over links that are shared.

use super::*;
use crate::cluster::LinkId;
use crate::plan::{KvTransfer, LocalPrefill};
use crate::units::ByteRate;

/// Four servers that prefill and four that decode in two units of the large example, whose leaves have
/// one uplink each, of this many Gb/s.
fn over_spine(uplink: f64) -> Design {
    let mut design = example("pdd-1024-gpus").unwrap().designs.remove(0);
    let spine = design.cluster.groups.iter_mut();
    for group in spine.filter(|group| group.id.as_str() == "spine") {
        group.count = 1;
    }
    for link in &mut design.cluster.links {
        if link.b.group.as_str() == "spine" {
            link.count = 1;
            link.rate = ByteRate::new(uplink / 8.0 * 1e9);
        }
    }
    for (pool, gpus) in design.pools.iter_mut().zip(["su0/0-3/0-7", "su2/0-3/0-7"]) {
        pool.gpus = vec![gpus.parse().unwrap()];
    }
    design
}

fn ttft(design: &Design) -> f64 {
    let seeds = (0..3).map(|seed| {
        let mut workload = Workload::fixed(2048, 16, 200);
        workload.seed = seed;
        go(&scenario(design, workload, Load::Rate(60.0)))
            .ttft_s
            .mean
    });
    seeds.sum::<f64>() / 3.0
}

#[test]
fn half_the_spine_raises_the_wait_and_leaves_one_node_alone() {
    let (whole, half) = (ttft(&over_spine(50.0)), ttft(&over_spine(25.0)));
    // 400 MB over eight leaves' uplinks: 8 ms alone at 50 Gb/s, 16 ms at 25.
    assert!(half > whole + 0.008, "{half} {whole}");
    // A fabric as wide as its servers is another step down.
    assert!(ttft(&over_spine(400.0)) < whole);
    let alone = |uplink| {
        let mut design = over_spine(uplink);
        design.pools.truncate(1);
        design.pools[0].role = crate::plan::Role::Colocated;
        design.pools[0].gpus = vec!["su0/0/0-7".parse().unwrap()];
        design.settle();
        let load = Load::Rate(10.0);
        serde_json::to_string(&go(&scenario(&design, Workload::fixed(500, 50, 100), load))).unwrap()
    };
    assert_eq!(alone(50.0), alone(25.0));
}

#[test]
fn fewer_links_and_a_wrong_rail_cost_what_nvlink_does_not() {
    let run = |count: u32, wiring| {
        let mut design = design(0);
        let link = &mut design.cluster.links[0];
        assert_eq!(link.id, LinkId::new("n0-n1").unwrap());
        (link.count, link.wiring) = (count, wiring);
        ttft(&design)
    };
    use crate::cluster::Wiring;
    let all = run(8, Wiring::All);
    assert!(run(2, Wiring::All) > all);
    assert!(run(1, Wiring::All) > run(2, Wiring::All));
    // Within a server KV goes over NVLink.
    let mut near = design(0);
    near.pools[0].gpus = vec!["n0/0/0-3".parse().unwrap()];
    near.pools[1].gpus = vec!["n0/0/4-7".parse().unwrap()];
    let mut far = near.clone();
    far.pools[1].gpus = vec!["n1/0/0-3".parse().unwrap()];
    let mut wrong = near.clone();
    wrong.pools[1].gpus = vec!["n1/0/4-7".parse().unwrap()];
    let one = |design: &Design| {
        let workload = Workload::fixed(8192, 4, 10);
        go(&scenario(design, workload, Load::Rate(0.5))).ttft_s.mean
    };
    let (near, far, wrong) = (one(&near), one(&far), one(&wrong));
    // GPUs 4–7 have no rail in common with 0–3: KV crosses NVLink first, and is no faster for it.
    assert!(near < far && far <= wrong, "{near} {far} {wrong}");
}

#[test]
fn collectives_of_wide_replicas_take_from_transfers() {
    // Decode over two servers shares its NICs with the KV that comes; over one it does not.
    let run = |wide: bool| {
        let mut design = over_spine(400.0);
        design.pools[0].gpus = vec!["su0/0/0-7".parse().unwrap()];
        let (gpus, dp) = if wide {
            ("su2/0-1/0-7", 16)
        } else {
            ("su2/0/0-7", 8)
        };
        design.pools[1].gpus = vec![gpus.parse().unwrap()];
        design.pools[1].layout = Layout {
            tp: 1,
            dp,
            ep: dp,
            ..Layout::SINGLE
        };
        let workload = Workload::fixed(8192, 100, 60);
        let run = |first| {
            let mut design = design.clone();
            design.pools[0].engine.first_token = first;
            go(&scenario(&design, workload.clone(), Load::Rate(4.0)))
                .ttft_s
                .mean
        };
        run(FirstToken::DecodeAdmission) - run(FirstToken::PrefillEnd)
    };
    let (wide, narrow) = (run(true), run(false));
    assert!(wide > 1.05 * narrow, "{wide} {narrow}");
}

/// One prefill and one decode replica, and when the first token of a lone prompt comes.
fn lone(sends: KvTransfer, gbit: f64, chunk: u32) -> f64 {
    let mut design = design(0);
    design.cluster.links[0].rate = ByteRate::new(gbit / 8.0 * 1e9);
    design.pools[0].engine.kv_transfer = sends;
    design.pools[0].engine.max_num_batched_tokens = chunk;
    let workload = Workload::fixed(8192, 4, 1);
    go(&scenario(&design, workload, Load::Rate(1.0)))
        .ttft_s
        .mean
}

#[test]
fn the_earlier_kv_sets_out_the_less_of_it_is_waited_for() {
    let [pull, push, chunks, layers] = KvTransfer::ALL.map(|own| lone(own, 100.0, 2048));
    // Alone and with blocks free, who begins makes no difference; what is overlapped does.
    assert_eq!(pull, push);
    assert!(chunks < pull && layers < chunks, "{pull} {chunks} {layers}");
    // Where links are faster than layers, the last layer of the last chunk is all that is waited for.
    let bare = {
        let mut design = design(0);
        design.pools[0].engine.first_token = FirstToken::PrefillEnd;
        let workload = Workload::fixed(8192, 4, 1);
        go(&scenario(&design, workload, Load::Rate(1.0)))
            .ttft_s
            .mean
    };
    let transfer = lone(KvTransfer::Pull, 400.0, 8192) - bare;
    let tail = lone(KvTransfer::PushLayers, 400.0, 8192) - bare;
    assert!((tail - transfer / 48.0).abs() < 1e-5, "{tail} {transfer}");
    // Where they are slower, the transfer began a layer's time after prefill did.
    let slow = lone(KvTransfer::Pull, 1.0, 8192) - bare;
    let after = lone(KvTransfer::PushLayers, 1.0, 8192) - bare / 48.0;
    assert!((after / slow - 1.0).abs() < 1e-3, "{after} {slow}");
}

#[test]
fn a_full_decode_pool_is_felt_where_the_engine_waits() {
    // Decode has room for four at a time: pulled, prefill's memory fills with those that wait; pushed,
    // they wait before prefill and its memory stays low.
    let held = |sends| {
        let mut design = design(0);
        design.pools[0].engine.kv_transfer = sends;
        design.pools[1].engine.max_num_seqs = 2;
        let summary = go(&scenario(
            &design,
            Workload::fixed(1000, 200, 60),
            Load::Rate(40.0),
        ));
        assert_eq!(summary.requests.completed, 60);
        summary.kv_peak[0].1
    };
    assert!(held(KvTransfer::Pull) > 4.0 * held(KvTransfer::PushChunks));
}

#[test]
fn short_prompts_are_prefilled_where_they_decode() {
    let run = |local| {
        let mut design = design(0);
        design.routing.local = local;
        let workload = Workload {
            input: Length::Uniform {
                min: Tokens::new(1),
                max: Tokens::new(1000),
            },
            ..Workload::fixed(1, 20, 300)
        };
        go(&scenario(&design, workload, Load::Rate(60.0)))
    };
    let never = run(LocalPrefill::default());
    assert_eq!((never.work.local_prefills, never.work.transfers), (0, 300));
    let short = run(LocalPrefill {
        max_local_prefill_length: 500,
        max_prefill_queue_size: 0,
    });
    assert_eq!(short.work.local_prefills + short.work.transfers, 300);
    assert!((100..200).contains(&short.work.local_prefills));
    let all = run(LocalPrefill {
        max_local_prefill_length: 1000,
        max_prefill_queue_size: 0,
    });
    assert_eq!((all.work.local_prefills, all.work.transfers), (300, 0));
    let queue = run(LocalPrefill {
        max_local_prefill_length: 0,
        max_prefill_queue_size: 1,
    });
    assert!((1..300).contains(&queue.work.local_prefills));
}

#[test]
fn pools_differ_in_gpus_layout_format_and_engine() {
    // cases: FP8 H200s under SGLang prefill with TP 2 for BF16 H800s under vLLM that decode with TP 8.
    let mut design = design(0);
    design.cluster.groups[0].kind = crate::cluster::GroupKind::Node("hgx-h200".parse().unwrap());
    let pool = &mut design.pools[0];
    pool.layout = Layout {
        tp: 2,
        ep: 2,
        ..Layout::SINGLE
    };
    pool.engine = crate::plan::Engine {
        host_step_time: pool.engine.host_step_time,
        ..crate::plan::Engine::sglang(crate::units::Bytes::new(141_000_000_000), pool.layout)
    };
    pool.precision.weights = crate::catalog::Dtype::Fp8;
    design.pools[1].layout = Layout {
        tp: 8,
        ep: 8,
        ..Layout::SINGLE
    };
    let summary = go(&scenario(
        &design,
        Workload::fixed(1000, 100, 200),
        Load::Rate(20.0),
    ));
    assert_eq!(summary.requests.completed, 200);
    assert_eq!(summary.work.transfers, 200);
    assert_eq!(summary.provenance.engines.len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    /// Whatever the rules, who moves KV and how little room there is: everything asked for comes,
    /// nothing is kept, and it comes the same way twice (`go` checks the books).
    #[test]
    fn books_balance_over_pools_and_rules(
        entry in 0_usize..8,
        handover in 0_usize..8,
        sends in 0_usize..4,
        local in 0_u32..600,
        queue in 0_u32..4,
        blocks in proptest::option::of(70_u64..400),
        prefill_tp in 0_u32..3,
        decode_pp in 1_u32..3,
        seed in 0_u64..1000,
        first in any::<bool>(),
    ) {
        let mut design = design(0);
        design.routing.entry = crate::plan::Rule::ALL[entry];
        design.routing.handover = crate::plan::Rule::ALL[handover];
        design.routing.local = LocalPrefill {
            max_local_prefill_length: local.saturating_sub(300),
            max_prefill_queue_size: queue,
        };
        let tp = 1 << prefill_tp;
        design.pools[0].layout = Layout { tp, ep: tp, ..Layout::SINGLE };
        design.pools[1].layout = Layout { tp: 2, pp: decode_pp, ep: 2, ..Layout::SINGLE };
        for pool in &mut design.pools {
            pool.engine.num_gpu_blocks = blocks;
            pool.engine.max_num_batched_tokens = 512;
            pool.engine.max_num_seqs = 16;
            pool.engine.caching.prefix = seed % 2 == 0;
        }
        design.pools[0].engine.kv_transfer = KvTransfer::ALL[sends];
        design.pools[0].engine.first_token = if first {
            FirstToken::PrefillEnd
        } else {
            FirstToken::DecodeAdmission
        };
        let workload = Workload {
            input: Length::Uniform { min: Tokens::new(1), max: Tokens::new(1000) },
            output: Length::Uniform { min: Tokens::new(1), max: Tokens::new(60) },
            seed,
            ..Workload::fixed(1, 1, 120)
        };
        let scenario = scenario(&design, workload, Load::Rate(80.0));
        let summary = go(&scenario);
        prop_assert_eq!(summary.requests.completed, 120);
        prop_assert_eq!(summary, go(&scenario));
    }
}
