//! Random engines, settings and conversations: `run` checks that requests, tokens, memory and bytes
//! balance; nobody starves; a second run gives the same bytes.

use super::*;
use crate::catalog::ModelId;
use crate::plan::{
    Draft, Engine, GraphMode, ModelRef, QueueOrder, Scheduler, Speculation, Tier, TierKind,
};
use crate::sim::engine::run_stepped;
use crate::units::{ByteRate, Bytes, Seconds};
use crate::workload::{Count, Hidden, Sessions, SystemPrompt, Wait};

fn schedulers() -> impl Strategy<Value = Scheduler> {
    prop::sample::select(Scheduler::ALL.to_vec())
}

/// Settings of the loop that may be combined freely.
#[derive(Debug, Clone)]
struct Knobs {
    scheduler: Scheduler,
    order: QueueOrder,
    threshold: u32,
    partial: u32,
    watermark: f64,
    mixed: bool,
    conservativeness: f64,
    reuse: bool,
    tier: Option<u64>,
    overlap: bool,
    host: f64,
    graphs: bool,
    speculation: Option<(u32, f64)>,
}

fn knobs() -> impl Strategy<Value = Knobs> {
    let order = prop_oneof![
        Just(QueueOrder::Fcfs),
        Just(QueueOrder::Priority),
        Just(QueueOrder::LongestPrefix),
    ];
    (
        (
            schedulers(),
            order,
            0u32..64,
            0u32..3,
            prop_oneof![Just(0.0), 0.0..0.2],
        ),
        (
            any::<bool>(),
            0.0..1.5,
            any::<bool>(),
            prop::option::of(1u64..4_000_000),
        ),
        (
            any::<bool>(),
            prop_oneof![Just(0.0), Just(2e-3)],
            any::<bool>(),
        ),
        prop::option::of((1u32..6, 0.0..1.0)),
    )
        .prop_map(|(first, second, third, speculation)| Knobs {
            scheduler: first.0,
            order: first.1,
            threshold: first.2,
            partial: first.3,
            watermark: first.4,
            mixed: second.0,
            conservativeness: second.1,
            reuse: second.2,
            tier: second.3,
            overlap: third.0,
            host: third.1,
            graphs: third.2,
            speculation,
        })
}

fn set(engine: &mut Engine, knobs: &Knobs) {
    let scheduling = &mut engine.scheduling;
    scheduling.scheduler = knobs.scheduler;
    scheduling.order = knobs.order;
    scheduling.long_prefill_token_threshold = knobs.threshold;
    scheduling.max_num_partial_prefills = knobs.partial;
    scheduling.watermark = knobs.watermark;
    scheduling.mixed_chunk = knobs.mixed;
    scheduling.conservativeness = knobs.conservativeness;
    engine.caching.prefix = knobs.reuse;
    engine.caching.tiers = knobs
        .tier
        .map(|bytes| Tier {
            kind: TierKind::Host,
            capacity: Bytes::new(bytes),
            read: ByteRate::new(20e9),
            write: ByteRate::new(20e9),
            latency: Seconds::new(1e-4),
        })
        .into_iter()
        .collect();
    engine.host.overlap = knobs.overlap;
    engine.host.per_sequence = Seconds::new(knobs.host / 100.0);
    engine.host.launch = Seconds::new(knobs.host / 500.0);
    engine.host_step_time = Seconds::new(knobs.host);
    if knobs.graphs {
        engine.graphs.mode = GraphMode::FullAndPiecewise;
        engine.graphs.max_size = 64;
    }
    engine.speculation = knobs.speculation.map(|(steps, likely)| Speculation {
        draft: Draft::Ngram,
        steps,
        verified: steps,
        acceptance: vec![likely],
    });
}

fn talk() -> impl Strategy<Value = (Option<Sessions>, Option<Hidden>)> {
    let wait = Wait {
        mean: Seconds::new(0.01),
        cv: 1.0,
    };
    let sessions = (1u32..5, prop::option::of(1u64..40)).prop_map(move |(max, system)| Sessions {
        turns: Count::Uniform { min: 1, max },
        think: wait,
        system: system.map(|tokens| SystemPrompt {
            tokens: Tokens::new(tokens),
            distinct: 2,
        }),
    });
    let hidden = (0u32..3, any::<bool>()).prop_map(move |(max, kept)| Hidden {
        rounds: Count::Uniform { min: 0, max },
        tokens: Length::Uniform {
            min: Tokens::new(1),
            max: Tokens::new(9),
        },
        tool: Some(Length::Fixed(Tokens::new(3))),
        wait,
        kept,
    });
    (prop::option::of(sessions), prop::option::of(hidden))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn books_balance_for_every_engine(
        knobs in knobs(),
        (sessions, hidden) in talk(),
        (split, pp, block_size) in (any::<bool>(), 1u32..3, prop_oneof![Just(1u32), Just(4), Just(16)]),
        (room, budget, seqs, chunked) in (1u64..8, 32u32..512, 1u32..16, any::<bool>()),
        (input, output) in (1u64..60, 1u64..40),
        (requests, open, load, seed) in (1u64..40, any::<bool>(), 1u32..20, 0u64..1000),
    ) {
        let mut design = design(usize::from(!split));
        design.model = ModelRef::Preset(ModelId::new("qwen3-0.6b").unwrap());
        let workload = Workload {
            arrivals: if open { Arrivals::Open { process: Process::Gamma { cv: 2.0 } } } else { Arrivals::Closed },
            input: Length::Uniform { min: Tokens::new(1), max: Tokens::new(input) },
            output: Length::Uniform { min: Tokens::new(1), max: Tokens::new(output) },
            seed,
            sessions,
            hidden,
            ..Workload::fixed(1, 1, requests)
        };
        let longest = workload.longest_context();
        let whole = u32::try_from(longest).unwrap() + 64;
        for (index, pool) in design.pools.iter_mut().enumerate() {
            pool.gpus = vec![format!("n{index}/0/0-{}", pp - 1).parse().unwrap()];
            pool.layout = Layout { pp, ..Layout::SINGLE };
            let engine = &mut pool.engine;
            set(engine, &knobs);
            engine.block_size = block_size;
            engine.max_num_batched_tokens = if chunked { budget } else { budget.max(whole) };
            engine.max_num_seqs = seqs.min(engine.max_num_batched_tokens);
            engine.enable_chunked_prefill = chunked;
            // The longest request must fit beside the watermark and its drafts; little more may.
            let drafts = knobs.speculation.map_or(0, |(steps, _)| u64::from(steps));
            let blocks = (longest + drafts + 1).div_ceil(u64::from(block_size)) + 1;
            engine.num_gpu_blocks = Some(blocks * (room + 5) / 4);
            if index % 2 == 0 {
                engine.first_token = FirstToken::PrefillEnd;
            }
        }
        let load = if open { Load::Rate(f64::from(load) * 20.0) } else { Load::Concurrency(load) };
        let scenario = scenario(&design, workload, load);
        let summary = go(&scenario);
        prop_assert_eq!(summary.requests.arrived, requests);
        prop_assert_eq!(summary.requests.completed + summary.requests.failed, requests);
        if knobs.watermark == 0.0 {
            prop_assert_eq!(summary.requests.completed, requests);
        }
        prop_assert!(summary.kv_peak.iter().all(|(_, peak)| *peak <= 1.0));
        let bytes = |summary: &Summary| serde_json::to_string(summary).unwrap();
        // Whether steps are advanced together or each is an event.
        let (stepped, _) = run_stepped(&scenario, true).unwrap();
        prop_assert_eq!(bytes(&summary), bytes(&stepped));
        if seed % 16 == 0 {
            prop_assert_eq!(bytes(&summary), bytes(&go(&scenario)));
        }
    }
}
