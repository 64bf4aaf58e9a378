//! Schedules known by hand: a few requests, every step costs 10 ms, and who is in each step with how
//! many tokens is written down. A line is the step's start in ms and its members: `A8` is eight
//! tokens of the first request, `B1` one of the second.

use super::{Scenario, plan_of, single};
use crate::cost::Roofline;
use crate::plan::{Design, Draft, Engine, Layout, Scheduler, Speculation};
use crate::sim::engine::{Watched, watch};
use crate::workload::{Arrivals, Load, Trace, TraceRequest, Workload};
use std::sync::Arc;

/// A request: ms of arrival, prompt, answer.
type Asked = (f64, u64, u64);

fn scenario(design: &Design, asked: &[Asked]) -> Scenario {
    let requests = asked
        .iter()
        .map(|(ms, input, output)| TraceRequest {
            arrival_s: ms * 1e-3,
            input: *input,
            output: *output,
        })
        .collect();
    let trace = Trace {
        requests,
        name: "by hand".to_owned(),
        ..Trace::default()
    };
    Scenario {
        plan: plan_of(design, &Workload::fixed(2, 2, 1)),
        workload: Workload {
            arrivals: Arrivals::Trace,
            requests: 0,
            ..Workload::fixed(2, 2, 1)
        },
        trace: Some(Arc::new(trace)),
        load: Load::TraceSpeed(1.0),
        fidelity: Arc::new(Roofline),
    }
}

/// A pool of one GPU with steps of at most ten tokens, four requests and plenty of blocks of four.
fn small(change: impl FnOnce(&mut Engine)) -> Design {
    let mut design = single(1, Some(1000));
    let engine = &mut design.pools[0].engine;
    engine.max_num_batched_tokens = 10;
    engine.max_num_seqs = 4;
    engine.block_size = 4;
    change(engine);
    design
}

fn go(design: &Design, asked: &[Asked]) -> Watched {
    watch(&scenario(design, asked), |_| 10_000_000_000, false)
}

fn lines(watched: &Watched) -> Vec<String> {
    watched.steps[0]
        .iter()
        .map(|(at, who)| {
            let mut line = (at / 1_000_000).to_string();
            let mut who = who.clone();
            who.sort_unstable();
            for (name, tokens) in who {
                let letter = char::from(b'A' + u8::try_from(name & 0xff).unwrap());
                line.push_str(&format!(" {letter}{tokens}"));
            }
            line
        })
        .collect()
}

fn schedule(design: &Design, asked: &[Asked]) -> Vec<String> {
    lines(&go(design, asked))
}

#[test]
fn vllm_mixes_prompts_and_decodes_in_one_budget() {
    let asked = [(0.0, 8, 3), (5.0, 6, 2), (15.0, 3, 1), (100.0, 15, 1)];
    // A's first token ends step 0. B joins A's decode. At 20 all three fit; D is cut to the budget.
    let expected = ["0 A8", "10 A1 B6", "20 A1 B1 C3", "100 D10", "110 D5"];
    assert_eq!(schedule(&small(|_| {}), &asked), expected);
}

#[test]
fn a_long_prompt_takes_no_more_than_the_threshold() {
    let asked = [(0.0, 9, 1), (1.0, 9, 1)];
    let limited = |engine: &mut Engine| engine.scheduling.long_prefill_token_threshold = 4;
    let expected = ["0 A4", "10 A4 B4", "20 A1 B4", "30 B1"];
    assert_eq!(schedule(&small(limited), &asked), expected);
    // One unfinished prompt at a time: B comes in with the step in which A ends.
    let one = small(|engine| {
        limited(engine);
        engine.scheduling.max_num_partial_prefills = 1;
    });
    let expected = ["0 A4", "10 A4", "20 A1 B4", "30 B4", "40 B1"];
    assert_eq!(schedule(&one, &asked), expected);
}

#[test]
fn vllm_sends_back_the_last_to_come() {
    let design = small(|engine| engine.num_gpu_blocks = Some(4));
    // Seven tokens take two blocks each. A's ninth token needs a fifth block at 20: B goes. Its seven
    // tokens and the one it has said are computed again when A has left, and yield its second.
    let expected = [
        "0 A7", "10 A1 B7", "20 A1", "30 A1", "40 B8", "50 B1", "60 B1",
    ];
    let watched = go(&design, &[(0.0, 7, 4), (1.0, 7, 4)]);
    assert_eq!(lines(&watched), expected);
    assert_eq!(watched.summary.work.preemptions, 1);
    // The gap is counted once, the first token stays where it was.
    let b = watched.records.iter().find(|own| own.arrival > 0).unwrap();
    assert_eq!((b.ttft, b.e2e), (19_000_000, 69_000_000));
}

#[test]
fn a_share_of_memory_stays_free_at_admission() {
    // Eight blocks, four of them to stay free: B's first two beside A's three would leave three.
    let design = small(|engine| {
        engine.num_gpu_blocks = Some(8);
        engine.scheduling.watermark = 0.5;
    });
    let expected = ["0 A10", "10 A2", "20 A1", "30 B10"];
    assert_eq!(schedule(&design, &[(0.0, 12, 2), (1.0, 10, 1)]), expected);
}

#[test]
fn with_overlap_a_batch_is_put_together_a_step_ahead() {
    let design = small(|engine| engine.host.overlap = true);
    // B comes while step 0 runs, when the batch of 10 has been put together.
    let expected = ["0 A8", "10 A1", "20 A1 B4", "30 A1"];
    assert_eq!(schedule(&design, &[(0.0, 8, 4), (5.0, 4, 1)]), expected);
}

#[test]
fn sglang_takes_prompts_first() {
    let sglang = |engine: &mut Engine| {
        engine.scheduling.scheduler = Scheduler::Sglang;
        engine.block_size = 1;
    };
    let asked = [
        (0.0, 8, 4),
        (5.0, 6, 2),
        (15.0, 4, 1),
        (100.0, 15, 1),
        (105.0, 3, 1),
    ];
    // A waits for two batches of prompts before its second token. E shares D's last chunk.
    let expected = [
        "0 A8",
        "10 B6",
        "20 C4",
        "30 A1 B1",
        "40 A1",
        "50 A1",
        "100 D10",
        "110 D5 E3",
    ];
    let watched = go(&small(sglang), &asked);
    assert_eq!(lines(&watched), expected);
    // A: 30 ms to its second token, 10 to each other. B: 20.
    assert_eq!(watched.summary.itl_s.count, 4);
    assert!((watched.summary.itl_s.mean - 0.0175).abs() < 1e-9);
    let mixed = small(|engine| {
        sglang(engine);
        engine.scheduling.mixed_chunk = true;
    });
    let expected = [
        "0 A8",
        "10 A1 B6",
        "20 A1 B1 C4",
        "30 A1",
        "100 D10",
        "110 D5 E3",
    ];
    assert_eq!(schedule(&mixed, &asked), expected);
}

#[test]
fn sglang_retracts_who_has_said_least() {
    let design = small(|engine| {
        engine.scheduling.scheduler = Scheduler::Sglang;
        engine.scheduling.conservativeness = 0.0;
        engine.block_size = 1;
        engine.num_gpu_blocks = Some(18);
    });
    // 17 tokens are cached at 50 and two more are due: B has said three tokens, A four. B's nine come
    // back when A has gone: nine and the one left to say do not fit beside A.
    let expected = [
        "0 A6", "10 A1", "20 B6", "30 A1 B1", "40 A1 B1", "50 A1", "60 A1", "70 A1", "80 A1",
        "90 A1", "100 A1", "110 B9",
    ];
    let watched = go(&design, &[(0.0, 6, 10), (15.0, 6, 4)]);
    assert_eq!(lines(&watched), expected);
    assert_eq!(watched.summary.work.preemptions, 1);
}

#[test]
fn sglang_expects_running_requests_to_go_on() {
    // 24 tokens. At 10 A holds 6 and is expected to need 0.7 · 9 more: 11.7 are left, B would need 12.
    let sglang = |blocks| {
        small(move |engine| {
            engine.scheduling.scheduler = Scheduler::Sglang;
            engine.block_size = 1;
            engine.num_gpu_blocks = Some(blocks);
        })
    };
    let asked = [(0.0, 6, 10), (5.0, 6, 6)];
    assert_eq!(schedule(&sglang(24), &asked)[1], "10 A1");
    assert_eq!(schedule(&sglang(25), &asked)[1], "10 B6");
}

#[test]
fn tensorrt_llm_admits_what_can_finish() {
    let asked = [(0.0, 6, 6), (1.0, 4, 4), (2.0, 2, 2)];
    let with = |scheduler| {
        small(move |engine| {
            engine.scheduling.scheduler = scheduler;
            engine.num_gpu_blocks = Some(5);
        })
    };
    // To their ends A takes three blocks and B two: C's one must wait for B's end.
    let expected = [
        "0 A6", "10 A1 B4", "20 A1 B1", "30 A1 B1", "40 A1 B1", "50 A1 C2", "60 C1",
    ];
    let kept = go(&with(Scheduler::GuaranteedNoEvict), &asked);
    assert_eq!(lines(&kept), expected);
    assert_eq!(kept.summary.work.preemptions, 0);
    // What fits now is admitted: C is gone before the others need its block.
    let expected = [
        "0 A6",
        "10 A1 B4 C2",
        "20 A1 B1 C1",
        "30 A1 B1",
        "40 A1 B1",
        "50 A1",
    ];
    assert_eq!(schedule(&with(Scheduler::MaxUtilization), &asked), expected);
}

#[test]
fn orca_and_static_batching_take_whole_prompts() {
    let asked = [(0.0, 18, 3), (5.0, 6, 2), (6.0, 4, 1)];
    let with = |scheduler| {
        small(move |engine| {
            engine.scheduling.scheduler = scheduler;
            engine.max_num_seqs = 2;
        })
    };
    // Two places: C waits for one.
    let expected = ["0 A18", "10 A1 B6", "20 A1 B1", "30 C4"];
    assert_eq!(schedule(&with(Scheduler::Orca), &asked), expected);
    // Nobody joins A's batch; B and C make the next.
    let expected = ["0 A18", "10 A1", "20 A1", "30 B6 C4", "40 B1"];
    assert_eq!(schedule(&with(Scheduler::Static), &asked), expected);
}

#[test]
fn drafts_are_verified_together() {
    let drafting = |acceptance: f64| {
        small(move |engine| {
            engine.speculation = Some(Speculation {
                draft: Draft::Ngram,
                steps: 3,
                verified: 3,
                acceptance: vec![acceptance],
            });
        })
    };
    // All accepted: one token with the prompt, four with each step after it.
    let watched = go(&drafting(1.0), &[(0.0, 8, 9)]);
    assert_eq!(lines(&watched), ["0 A8", "10 A4", "20 A4"]);
    assert_eq!(watched.summary.requests.completed, 1);
    // None accepted: a token a step, and towards the end no more drafts than could be of use.
    let expected = [
        "0 A8", "10 A4", "20 A4", "30 A4", "40 A4", "50 A4", "60 A3", "70 A2", "80 A1",
    ];
    assert_eq!(schedule(&drafting(0.0), &[(0.0, 8, 9)]), expected);
}

#[test]
fn a_pipeline_runs_as_many_batches_as_it_has_stages() {
    let mut design = small(|_| {});
    design.pools[0].gpus = vec!["n0/0/0-1".parse().unwrap()];
    design.pools[0].layout = Layout {
        pp: 2,
        ..Layout::SINGLE
    };
    // A stage takes 10 ms: B enters the first when A leaves it.
    let expected = ["0 A8", "10 B8", "20 A1", "30 B1"];
    assert_eq!(schedule(&design, &[(0.0, 8, 2), (1.0, 8, 2)]), expected);
}

#[test]
fn what_is_cached_is_not_computed_again() {
    let design = |reuse| {
        small(move |engine| {
            engine.caching.prefix = reuse;
            engine.max_num_batched_tokens = 40;
        })
    };
    // Two rounds of 10 new tokens and 5 answered ones: prompts of 10, 25, 40 (cases.md T27). Of the
    // second, 14 tokens are in the cache (the answer's last one was never computed), which is three
    // blocks of four; of the third 29, seven blocks.
    let mut scenario = scenario(&design(true), &[]);
    scenario.trace = None;
    scenario.load = Load::Concurrency(1);
    scenario.workload = Workload {
        arrivals: Arrivals::Closed,
        sessions: Some(crate::workload::Sessions {
            turns: crate::workload::Count::Fixed(3),
            ..crate::workload::Sessions::SINGLE
        }),
        ..Workload::fixed(10, 5, 3)
    };
    let prompts = |watched: &Watched| -> Vec<u32> {
        let steps = watched.steps[0].iter();
        steps.map(|(_, who)| who[0].1).filter(|n| *n > 1).collect()
    };
    let rule = |_: &[crate::cost::LaneShape<'_>]| 10_000_000_000;
    let watched = watch(&scenario, rule, false);
    assert_eq!(prompts(&watched), [10, 25 - 12, 40 - 28]);
    let reuse = watched.summary.reuse.unwrap();
    assert_eq!((reuse.prompt_tokens, reuse.hit_tokens), (75, 40));
    scenario.plan = plan_of(&design(false), &Workload::fixed(2, 2, 1));
    let watched = watch(&scenario, rule, false);
    assert_eq!(prompts(&watched), [10, 25, 40]);
    assert_eq!(watched.summary.reuse, None);
}

#[test]
fn stations_take_one_thing_at_a_time() {
    let design = small(|engine| {
        engine.host.request = crate::units::Seconds::new(2e-3);
        engine.host.output = crate::units::Seconds::new(1e-3);
    });
    // A is through the front end at 2, B at 4 and in the next step. A's first token ends at 12 and is
    // out at 13; at 22 both A's second and B's first take a millisecond each.
    let watched = go(&design, &[(0.0, 4, 2), (0.0, 4, 1)]);
    assert_eq!(lines(&watched), ["2 A4", "12 A1 B4"]);
    let mut ends: Vec<(u64, u64)> = watched
        .records
        .iter()
        .map(|own| (own.ttft, own.e2e))
        .collect();
    ends.sort_unstable();
    assert_eq!(ends, [(13_000_000, 24_000_000), (24_000_000, 24_000_000)]);
}

/// Two tokens to a message halve what handing them out takes of the station.
#[test]
fn a_message_carries_as_many_tokens_as_its_interval() {
    let ends = |interval| {
        let design = small(|engine| {
            engine.host.output = crate::units::Seconds::new(1e-3);
            engine.host.stream_interval = interval;
        });
        let watched = go(&design, &[(0.0, 4, 2), (0.0, 4, 2)]);
        let mut ends: Vec<u64> = watched.records.iter().map(|own| own.e2e).collect();
        ends.sort_unstable();
        ends
    };
    // A's second token goes out with B's first after 20 ms, B's second alone after 30.
    assert_eq!(ends(1), [22_000_000, 31_000_000]);
    assert_eq!(ends(2), [21_000_000, 30_500_000]);
}
