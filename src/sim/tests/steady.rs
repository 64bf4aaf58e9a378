//! Steps that are advanced together say to the last bit what steps one by one do.

use super::kinds::{tinies, with_model};
use super::*;
use crate::plan::{Engine, EngineKind, GraphMode, Scheduler};
use crate::sim::engine::run_stepped;
use crate::units::Seconds;
use crate::workload::{Count, Sessions, Wait};

/// Runs it both ways; how many of its steps were no event.
fn both(scenario: &Scenario) -> (Summary, u64) {
    let (own, advanced) = run_stepped(scenario, false).unwrap();
    let (stepped, none) = run_stepped(scenario, true).unwrap();
    assert_eq!(none, 0);
    let bytes = |summary: &Summary| serde_json::to_string(summary).unwrap();
    assert_eq!(bytes(&own), bytes(&stepped));
    (own, advanced)
}

#[test]
fn most_steps_of_long_answers_are_no_event() {
    // Four answers of 2,000 tokens: but for the prompt's step, the one after and the last, and one where
    // a line of the attention's curve ends, or the next begins.
    let scenario = scenario(&single(4, None), closed(100, 2000, 4), Load::Concurrency(4));
    let (summary, advanced) = both(&scenario);
    // The first prompt is alone in its step.
    assert_eq!(summary.work.steps, 2001);
    assert!(advanced > 1900, "{advanced}");
    // Requests that come meanwhile interrupt it, no more.
    let rate = scenario_at(20.0);
    let (summary, advanced) = both(&rate);
    assert!(
        advanced * 3 > summary.work.steps,
        "{advanced} of {}",
        summary.work.steps
    );
}

fn scenario_at(rate: f64) -> Scenario {
    scenario(&design(0), Workload::fixed(200, 500, 60), Load::Rate(rate))
}

#[test]
fn a_run_ends_where_the_host_is_overtaken() {
    // The host's time lies inside what the device's grows through: both sides of it are advanced.
    for overlap in [false, true] {
        let mut design = single(1, None);
        let engine = &mut design.pools[0].engine;
        engine.host.overlap = overlap;
        engine.host.launch = Seconds::from_us(20.0);
        for host in [0.0, 3.0, 4.0, 4.5, 5.0, 6.0, 8.0] {
            design.pools[0].engine.host_step_time = Seconds::from_ms(host);
            let workload = closed(1000, 3000, 16);
            let (_, advanced) = both(&scenario(&design, workload, Load::Concurrency(16)));
            assert!(advanced > 1000, "{host} {advanced}");
        }
    }
}

/// What of an engine bears on when a run ends.
#[derive(Debug, Clone)]
struct Knobs {
    kind: EngineKind,
    scheduler: Option<Scheduler>,
    overlap: bool,
    host_us: f64,
    launch_us: f64,
    graphs: bool,
    reuse: bool,
    recv_interval: u32,
    batch_wait: u32,
    block: u32,
    output_us: f64,
}

fn knobs() -> impl Strategy<Value = Knobs> {
    (
        prop::sample::select(EngineKind::ALL.to_vec()),
        prop::option::of(prop::sample::select(Scheduler::ALL.to_vec())),
        (
            any::<bool>(),
            prop_oneof![Just(0.0), 1.0..400.0],
            prop_oneof![Just(0.0), 0.1..5.0],
        ),
        (any::<bool>(), any::<bool>()),
        (
            0u32..12,
            0u32..4,
            prop_oneof![Just(0.0), 0.1..3.0, 50.0..100.0],
        ),
        prop_oneof![Just(1u32), Just(3), Just(16), Just(64)],
    )
        .prop_map(
            |(
                kind,
                scheduler,
                host,
                (graphs, reuse),
                (recv_interval, batch_wait, output_us),
                block,
            )| Knobs {
                kind,
                scheduler,
                overlap: host.0,
                host_us: host.1,
                launch_us: host.2,
                graphs,
                reuse,
                recv_interval,
                batch_wait,
                block,
                output_us,
            },
        )
}

fn set(engine: &mut Engine, knobs: &Knobs) {
    engine.kind = knobs.kind;
    engine.scheduling.scheduler = knobs
        .scheduler
        .or_else(|| knobs.kind.schedulers().first().copied())
        .unwrap_or_default();
    engine.scheduling.recv_interval = knobs.recv_interval;
    engine.scheduling.batch_wait_iters = knobs.batch_wait;
    engine.scheduling.batch_wait_ratio = 0.5;
    engine.host.overlap = knobs.overlap;
    engine.host_step_time = Seconds::from_us(knobs.host_us);
    engine.host.launch = Seconds::from_us(knobs.launch_us);
    engine.host.output = Seconds::from_us(knobs.output_us);
    engine.caching.prefix = knobs.reuse;
    engine.block_size = knobs.block;
    if knobs.graphs {
        engine.graphs.mode = GraphMode::FullDecode;
        engine.graphs.max_size = 32;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn advancing_and_stepping_are_the_same(
        knobs in knobs(),
        (which, split, dp) in (0usize..9, any::<bool>(), prop_oneof![3 => Just(1u32), 1 => 2u32..4]),
        (room, seqs, budget) in (2u64..20, 1u32..24, 64u32..600),
        (input, output) in (1u64..150, 1u64..400),
        (requests, open, load, seed, talks) in (1u64..24, any::<bool>(), 1u32..24, 0u64..1000, any::<bool>()),
    ) {
        let mut design = design(usize::from(!split));
        // Lanes share experts, which the example's own model has.
        if dp == 1 {
            design = with_model(design, tinies().swap_remove(which));
        }
        let workload = Workload {
            arrivals: if open { Arrivals::Open { process: Process::Poisson } } else { Arrivals::Closed },
            input: Length::Uniform { min: Tokens::new(1), max: Tokens::new(input) },
            output: Length::Uniform { min: Tokens::new(1), max: Tokens::new(output) },
            seed,
            sessions: talks.then(|| Sessions {
                turns: Count::Uniform { min: 1, max: 3 },
                think: Wait { mean: Seconds::from_ms(3.0), cv: 1.0 },
                system: None,
            }),
            ..Workload::fixed(1, 1, requests)
        };
        let longest = workload.longest_context();
        for (index, pool) in design.pools.iter_mut().enumerate() {
            pool.gpus = vec![format!("n{index}/0/0-{}", dp - 1).parse().unwrap()];
            pool.layout = Layout { dp, ep: dp, ..Layout::SINGLE };
            let engine = &mut pool.engine;
            set(engine, &knobs);
            engine.max_num_batched_tokens = budget;
            engine.max_num_seqs = seqs.min(budget);
            engine.enable_chunked_prefill = true;
            if index % 2 == 0 {
                engine.first_token = FirstToken::PrefillEnd;
            }
        }
        // Room for the longest request, and for a few more.
        let plain = compiled(&design, &workload);
        let Some(plain) = plain else { return Ok(()) };
        for (pool, planned) in design.pools.iter_mut().zip(&plain.pools) {
            let memory = &planned.memory;
            let bytes = memory.sequence.bytes(longest + 1) * room / 2 + memory.sequence.state * 3;
            let blocks = bytes.checked_div(memory.block_bytes.get()).filter(|own| *own > 0);
            pool.engine.num_gpu_blocks = blocks.map(|own| own + 2);
        }
        let Some(plan) = compiled(&design, &workload) else { return Ok(()) };
        let load = if open { Load::Rate(f64::from(load) * 30.0) } else { Load::Concurrency(load) };
        let scenario = Scenario { plan, workload, trace: None, load, fidelity: Arc::new(Roofline) };
        let own = run_stepped(&scenario, false);
        let stepped = run_stepped(&scenario, true);
        match (own, stepped) {
            (Ok((own, _)), Ok((stepped, _))) => prop_assert_eq!(
                serde_json::to_string(&own).unwrap(),
                serde_json::to_string(&stepped).unwrap()
            ),
            (own, stepped) => prop_assert_eq!(own.map(|_| ()), stepped.map(|_| ())),
        }
    }
}

fn compiled(design: &Design, workload: &Workload) -> Option<Arc<Plan>> {
    let ask = Ask {
        workload: workload.clone(),
        trace: None,
        fidelity: Arc::new(Roofline),
    };
    let (catalog, models) = (Catalog::embedded().unwrap(), Models::embedded().unwrap());
    compile(design, &catalog, &models, ask.demand()).plan
}
