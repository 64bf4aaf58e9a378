use super::*;
use crate::catalog::Catalog;
use crate::cost::{Chunk, LaneShape, Roofline, StepPricer};
use crate::model::Models;
use crate::plan::{Design, FirstToken, Layout, Plan, compile};
use crate::project::example;
use crate::study::Ask;
use crate::units::Tokens;
use crate::workload::{Arrivals, Length, Load, Process, Workload, WorkloadError};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

mod cases;
mod disaggregated;
mod engines;
mod goldens;
mod hostile;
mod kinds;
mod placement;
mod queueing;
mod recording;
mod schedules;
mod splits;
mod steady;
mod turns;

/// The worked example's design: 0 is 1P1D, 1 is co-located.
fn design(index: usize) -> Design {
    example("pdd-vs-colocated")
        .unwrap()
        .designs
        .swap_remove(index)
}

fn plan_of(design: &Design, workload: &Workload) -> Arc<Plan> {
    let ask = Ask {
        workload: workload.clone(),
        trace: None,
        fidelity: Arc::new(Roofline),
    };
    let compiled = compile(
        design,
        &Catalog::embedded().unwrap(),
        &Models::embedded().unwrap(),
        ask.demand(),
    );
    compiled
        .plan
        .unwrap_or_else(|| panic!("{:#?}", compiled.findings))
}

fn scenario(design: &Design, workload: Workload, load: Load) -> Scenario {
    Scenario {
        plan: plan_of(design, &workload),
        workload,
        trace: None,
        load,
        fidelity: Arc::new(Roofline),
    }
}

fn go(scenario: &Scenario) -> Summary {
    let cancel = AtomicBool::new(false);
    run(scenario, Control { cancel: &cancel }).unwrap()
}

fn closed(input: u64, output: u64, requests: u64) -> Workload {
    Workload {
        arrivals: Arrivals::Closed,
        ..Workload::fixed(input, output, requests)
    }
}

/// One pool on one GPU group of the co-located design, as small as tests want it.
fn single(tp: u32, blocks: Option<u64>) -> Design {
    let mut design = design(1);
    let pool = &mut design.pools[0];
    pool.gpus = vec![format!("n0/0/0-{}", tp - 1).parse().unwrap()];
    pool.layout = Layout {
        tp,
        pp: 1,
        dp: 1,
        ep: tp,
        ..Layout::SINGLE
    };
    pool.engine.num_gpu_blocks = blocks;
    design
}

#[test]
fn one_request_takes_exactly_the_sum_of_its_steps() {
    let scenario = scenario(&single(4, None), closed(1000, 4, 1), Load::Concurrency(1));
    let summary = go(&scenario);
    let pool = &scenario.plan.pools[0];
    let mut pricer = StepPricer::new(
        &scenario.plan.topology,
        &scenario.plan.model,
        pool,
        &scenario.fidelity,
    );
    let mut ns = |lane: LaneShape<'_>| pricer.stage(0, &[lane]).total.div_ceil(1_000_000);
    let prompt = [Chunk {
        tokens: 1000,
        context: 0,
    }];
    let ttft = ns(LaneShape {
        chunks: &prompt,
        sampled: 1,
        ..LaneShape::default()
    });
    // Three more tokens; the first decode sees 1,001 tokens.
    let decodes: u64 = (1001..1004)
        .map(|context| {
            ns(LaneShape {
                drafted: 0,
                decodes: 1,
                context,
                reached: &[],
                chunks: &[],
                sampled: 1,
            })
        })
        .sum();
    assert!((summary.ttft_s.mean - ttft as f64 * 1e-9).abs() < 1e-12);
    assert!((summary.e2e_s.mean - (ttft + decodes) as f64 * 1e-9).abs() < 1e-12);
    assert!((summary.tpot_s.mean - decodes as f64 * 1e-9 / 3.0).abs() < 1e-12);
    assert_eq!(summary.work.steps, 4);
}

#[test]
fn a_prompt_over_the_budget_is_cut_in_chunks() {
    let mut small = single(4, None);
    small.pools[0].engine.max_num_batched_tokens = 1024;
    let summary = go(&scenario(&small, closed(4000, 1, 1), Load::Concurrency(1)));
    assert_eq!(summary.work.steps, 4, "1024 + 1024 + 1024 + 928");
}

#[test]
fn one_output_token_has_no_tpot() {
    let summary = go(&scenario(
        &single(4, None),
        closed(100, 1, 20),
        Load::Concurrency(4),
    ));
    assert_eq!(summary.requests.completed, 20);
    assert_eq!(summary.tpot_s.count, 0);
    assert!(summary.ttft_s.mean > 0.0);
    assert!(summary.output_tokens_per_s.is_finite());
    let json = serde_json::to_value(&summary).unwrap();
    assert!(json["tpot_s"]["mean"].is_null());
}

#[test]
fn preempted_requests_are_recomputed_not_lost() {
    // 8 requests of 256 + 256 tokens on 160 blocks of 16: not all fit, some must give way. The
    // reference simulator loses five of them.
    let scenario = scenario(
        &single(1, Some(160)),
        closed(256, 256, 8),
        Load::Concurrency(8),
    );
    let summary = go(&scenario);
    assert_eq!(summary.requests.completed, 8);
    assert!(summary.work.preemptions > 0);
    // Recomputing is one prefill each, not a replay token by token: well under the 512 extra
    // one-token steps per preemption of a replay.
    assert!(summary.work.steps < 256 * 4, "{}", summary.work.steps);
}

#[test]
fn four_blocks_still_serve_everyone() {
    // cases.md T32: a cache of 4 blocks; two requests of 30 tokens can't both be there.
    let summary = go(&scenario(
        &single(1, Some(4)),
        closed(20, 30, 6),
        Load::Concurrency(3),
    ));
    assert_eq!(summary.requests.completed, 6);
    assert!(summary.work.preemptions > 0);
    assert!(summary.itl_s.count >= 6 * 29);
}

#[test]
fn a_request_that_never_fits_is_refused_and_counted() {
    let mut scenario = scenario(&single(1, Some(4)), closed(20, 30, 6), Load::Concurrency(2));
    scenario.workload.input = Length::Fixed(Tokens::new(100));
    let summary = go(&scenario);
    assert_eq!(summary.requests.failed, 6);
    assert_eq!(summary.requests.completed, 0);
}

#[test]
fn equal_seeds_give_equal_bytes() {
    let workload = Workload {
        input: Length::LogNormal {
            mean: Tokens::new(800),
            cv: 1.0,
            max: Tokens::new(4000),
        },
        output: Length::Uniform {
            min: Tokens::new(1),
            max: Tokens::new(200),
        },
        ..Workload::fixed(1, 1, 300)
    };
    let scenario = scenario(&design(0), workload, Load::Rate(30.0));
    let bytes = |s: &Scenario| serde_json::to_string(&go(s)).unwrap();
    let first = bytes(&scenario);
    assert_eq!(first, bytes(&scenario));
    // On other threads too.
    let others: Vec<String> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..3).map(|_| scope.spawn(|| bytes(&scenario))).collect();
        handles.into_iter().map(|h| h.join().unwrap()).collect()
    });
    assert!(others.iter().all(|other| *other == first));
    let mut other_seed = scenario.clone();
    other_seed.workload.seed = 2;
    assert_ne!(first, bytes(&other_seed));
}

#[test]
fn lanes_share_the_load() {
    // DP-attention over two lanes: arrivals one at a time must use both (the reference simulator
    // uses one).
    let mut lanes = single(2, None);
    lanes.pools[0].layout = Layout {
        tp: 1,
        pp: 1,
        dp: 2,
        ep: 2,
        ..Layout::SINGLE
    };
    let two = go(&scenario(
        &lanes,
        Workload::fixed(512, 64, 40),
        Load::Rate(20.0),
    ));
    assert_eq!(two.requests.completed, 40);
    lanes.pools[0].engine.max_num_seqs = 1;
    lanes.pools[0].engine.max_num_batched_tokens = 4096;
    let closed = go(&scenario(&lanes, closed(512, 64, 40), Load::Concurrency(2)));
    // With one sequence per lane, two in flight finish in pairs: half the steps of one lane.
    assert!(
        closed.work.steps <= 40 / 2 * 64 + 64,
        "{}",
        closed.work.steps
    );
}

#[test]
fn pipeline_stages_overlap() {
    let mut piped = single(2, None);
    piped.pools[0].layout = Layout {
        tp: 1,
        pp: 2,
        dp: 1,
        ep: 1,
        ..Layout::SINGLE
    };
    let one = go(&scenario(&piped, closed(256, 64, 16), Load::Concurrency(1)));
    let two = go(&scenario(&piped, closed(256, 64, 16), Load::Concurrency(2)));
    // Two micro-batches keep both stages busy: nearly twice the throughput of one.
    let gain = two.output_tokens_per_s / one.output_tokens_per_s;
    assert!(gain > 1.6, "{gain}");
}

#[test]
fn split_serving_moves_kv_and_holds_the_first_token() {
    let workload = Workload::fixed(2048, 64, 100);
    let mut split = design(0);
    let late = go(&scenario(&split, workload.clone(), Load::Rate(10.0)));
    assert_eq!(late.requests.completed, 100);
    assert_eq!(late.work.transfers, 100);
    assert!(late.busiest_link.is_some());
    for pool in &mut split.pools {
        pool.engine.first_token = FirstToken::PrefillEnd;
    }
    let early = go(&scenario(&split, workload, Load::Rate(10.0)));
    // The transfer is in the TTFT only if the first token waits for it: 2,048 tokens of 96 KiB over
    // the four rails of a TP 4 replica take a millisecond or so.
    let waited = late.ttft_s.mean - early.ttft_s.mean;
    assert!((0.5e-3..5e-3).contains(&waited), "{waited}");
}

#[test]
fn fewer_or_slower_links_are_not_faster() {
    let workload = Workload::fixed(4096, 16, 200);
    let ttft = |links: u32, rate: &str| {
        let mut split = design(0);
        split.cluster.links[0].count = links;
        split.cluster.links[0].rate = rate.parse().unwrap();
        go(&scenario(&split, workload.clone(), Load::Rate(25.0)))
            .ttft_s
            .mean
    };
    let full = ttft(8, "400 Gb/s");
    assert!(ttft(4, "400 Gb/s") > full);
    assert!(ttft(8, "100 Gb/s") > full);
    assert!(ttft(1, "100 Gb/s") > ttft(8, "100 Gb/s"));
}

#[test]
fn decode_admits_only_into_free_blocks() {
    let mut split = design(0);
    for pool in &mut split.pools {
        // 2,048 + 64 tokens take 132 blocks: one request at a time per decode replica.
        pool.engine.num_gpu_blocks = Some(140);
    }
    let summary = go(&scenario(
        &split,
        Workload::fixed(2048, 64, 40),
        Load::Rate(50.0),
    ));
    assert_eq!(summary.requests.completed, 40);
    let (_, peak) = &summary.kv_peak[1];
    assert!(*peak <= 1.0 && *peak > 0.9, "{peak}");
}

#[test]
fn overload_is_called_saturated_and_light_load_is_not() {
    let workload = Workload::fixed(2048, 64, 1500);
    let light = go(&scenario(&design(1), workload.clone(), Load::Rate(20.0)));
    assert!(!light.saturated);
    assert_eq!(light.window.kind, "steady");
    // Little's law inside the steady window: what arrives leaves.
    assert!(
        (light.requests_per_s / 20.0 - 1.0).abs() < 0.1,
        "{}",
        light.requests_per_s
    );
    let heavy = go(&scenario(&design(1), workload, Load::Rate(2000.0)));
    assert!(heavy.saturated);
}

#[test]
fn a_cancelled_run_stops() {
    let scenario = scenario(
        &design(1),
        Workload::fixed(2048, 512, 100_000),
        Load::Rate(100.0),
    );
    let cancel = AtomicBool::new(true);
    assert_eq!(
        run(&scenario, Control { cancel: &cancel }),
        Err(SimError::Cancelled)
    );
}

#[test]
fn more_load_never_gives_a_lower_mean_latency_over_seeds() {
    let mean = |rate: f64| {
        (1..=4)
            .map(|seed| {
                let workload = Workload {
                    seed,
                    ..Workload::fixed(1024, 64, 400)
                };
                go(&scenario(&design(1), workload, Load::Rate(rate)))
                    .e2e_s
                    .mean
            })
            .sum::<f64>()
    };
    let curve: Vec<f64> = [5.0, 40.0, 120.0].into_iter().map(mean).collect();
    assert!(curve.windows(2).all(|pair| pair[0] < pair[1]), "{curve:?}");
}

fn any_layout() -> impl Strategy<Value = (Layout, u32)> {
    prop_oneof![
        Just((
            Layout {
                tp: 1,
                pp: 1,
                dp: 1,
                ep: 1,
                ..Layout::SINGLE
            },
            2
        )),
        Just((
            Layout {
                tp: 2,
                pp: 1,
                dp: 1,
                ep: 2,
                ..Layout::SINGLE
            },
            2
        )),
        Just((
            Layout {
                tp: 1,
                pp: 2,
                dp: 1,
                ep: 1,
                ..Layout::SINGLE
            },
            4
        )),
        Just((
            Layout {
                tp: 1,
                pp: 1,
                dp: 2,
                ep: 2,
                ..Layout::SINGLE
            },
            4
        )),
        Just((
            Layout {
                tp: 2,
                pp: 2,
                dp: 2,
                ep: 4,
                ..Layout::SINGLE
            },
            8
        )),
        Just((
            Layout {
                tp: 1,
                pp: 3,
                dp: 1,
                ep: 1,
                ..Layout::SINGLE
            },
            6
        )),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    /// Random plans, settings and workloads: `run` checks requests, tokens, blocks and bytes.
    #[test]
    fn books_balance(
        split in any::<bool>(),
        (layout, gpus) in any_layout(),
        (decode_layout, decode_gpus) in any_layout(),
        blocks in 40u64..400,
        budget in 64u32..4096,
        seqs in 1u32..64,
        block_size in prop_oneof![Just(1u32), Just(16), Just(64)],
        chunked in any::<bool>(),
        input in 1u64..400,
        output in 1u64..200,
        requests in 1u64..60,
        open in any::<bool>(),
        load in 1u32..40,
        seed in 0u64..1000,
    ) {
        let mut design = design(usize::from(!split));
        let count = design.pools.len();
        for (index, pool) in design.pools.iter_mut().enumerate() {
            let (layout, gpus) = if index == 0 { (layout, gpus) } else { (decode_layout, decode_gpus) };
            pool.gpus = vec![format!("n{index}/0/0-{}", gpus - 1).parse().unwrap()];
            pool.layout = layout;
            let engine = &mut pool.engine;
            engine.block_size = block_size;
            // The longest request must fit; little more may.
            engine.num_gpu_blocks = Some(blocks.max(620 / u64::from(block_size) + 2));
            engine.max_num_batched_tokens = if chunked {
                budget
            } else {
                budget.max(600)
            };
            engine.max_num_seqs = seqs.min(engine.max_num_batched_tokens);
            engine.enable_chunked_prefill = chunked;
            if index % 2 == 0 {
                engine.first_token = FirstToken::PrefillEnd;
            }
        }
        prop_assert_eq!(count, if split { 2 } else { 1 });
        let workload = Workload {
            arrivals: if open { Arrivals::Open { process: Process::Gamma { cv: 2.0 } } } else { Arrivals::Closed },
            input: Length::Uniform { min: Tokens::new(1), max: Tokens::new(input) },
            output: Length::Uniform { min: Tokens::new(1), max: Tokens::new(output) },
            requests,
            seed,
            ..Workload::fixed(1, 1, 1)
        };
        let load = if open { Load::Rate(f64::from(load) * 5.0) } else { Load::Concurrency(load) };
        let summary = go(&scenario(&design, workload, load));
        prop_assert_eq!(summary.requests.arrived, requests);
        prop_assert_eq!(summary.requests.completed, requests);
        prop_assert!(summary.ttft_s.mean >= 0.0 && summary.e2e_s.p99 >= summary.e2e_s.p50);
    }
}

/// FNV-1a, 64 bits.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[test]
fn the_worked_example_gives_the_committed_bytes() {
    // On every machine. A change of prices, scheduler or workload changes the hashes: put the new
    // ones here and say in the commit why they moved.
    let hashes = [0, 1].map(|index| {
        let summary = go(&scenario(
            &design(index),
            Workload::fixed(2048, 256, 500),
            Load::Rate(60.0),
        ));
        hash(&serde_json::to_string(&summary).unwrap())
    });
    assert_eq!(
        hashes.map(|h| format!("{h:016x}")),
        ["6fb8dc9e95812988", "e49f5671373f978e"]
    );
}

#[test]
fn a_run_of_more_than_a_century_is_refused_by_name() {
    let cancel = AtomicBool::new(false);
    let control = Control { cancel: &cancel };
    let slow = scenario(
        &single(4, None),
        Workload::fixed(100, 10, 20),
        Load::Rate(1e-300),
    );
    assert_eq!(
        run(&slow, control).unwrap_err(),
        SimError::Workload(WorkloadError::TooSlow)
    );
    // A link that carries next to nothing: the transfers never land.
    let mut drawn = design(0);
    drawn.cluster.links[0].rate = "0.000000001 B/s".parse().unwrap();
    let never = scenario(&drawn, Workload::fixed(100, 10, 20), Load::Rate(10.0));
    let error = run(&never, control).unwrap_err();
    assert!(error.to_string().contains("100 years"), "{error}");
}
