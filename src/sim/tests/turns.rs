//! Conversations and hidden rounds, served.

use super::*;
use crate::units::Seconds;
use crate::workload::{Count, Hidden, Sessions, SystemPrompt, TraceOptions, Wait, read_trace_from};

fn wait(mean: f64, cv: f64) -> Wait {
    Wait {
        mean: Seconds::new(mean),
        cv,
    }
}

fn talks(turns: u32, think: f64, workload: Workload) -> Workload {
    Workload {
        sessions: Some(Sessions {
            turns: Count::Fixed(turns),
            think: wait(think, 0.0),
            system: None,
        }),
        ..workload
    }
}

fn hidden(rounds: u32, pause: f64, workload: Workload) -> Workload {
    Workload {
        hidden: Some(Hidden {
            rounds: Count::Fixed(rounds),
            tokens: Length::Fixed(Tokens::new(40)),
            tool: Some(Length::Fixed(Tokens::new(60))),
            wait: wait(pause, 0.0),
            kept: true,
        }),
        ..workload
    }
}

#[test]
fn one_conversation_takes_its_turns_and_its_thinking() {
    // Prompts of 100, 210 and 320 tokens, one after the other with 2 s between: what three requests
    // of these lengths take on their own.
    let design = single(4, None);
    let alone = |input| {
        let one = scenario(&design, closed(input, 10, 1), Load::Concurrency(1));
        go(&one).e2e_s.mean
    };
    let workload = talks(3, 2.0, closed(100, 10, 3));
    let summary = go(&scenario(&design, workload, Load::Concurrency(1)));
    assert_eq!(summary.requests.completed, 3);
    assert_eq!(summary.e2e_s.count, 3);
    let sum: f64 = [100, 210, 320].map(alone).iter().sum();
    assert!((summary.e2e_s.mean * 3.0 - sum).abs() < 1e-8);
    assert!((summary.window.run_end_s - sum - 4.0).abs() < 1e-8);
    assert!(summary.hidden.is_none());
}

#[test]
fn rounds_nobody_reads_are_time_before_the_first_token() {
    let design = single(4, None);
    let alone = |input, output| {
        let one = scenario(&design, closed(input, output, 1), Load::Concurrency(1));
        go(&one)
    };
    // Rounds of 100, 200 and 300 prompt tokens; 40 tokens each in the first two, 1.5 s of a tool.
    let workload = hidden(2, 1.5, closed(100, 10, 1));
    let summary = go(&scenario(&design, workload, Load::Concurrency(1)));
    assert_eq!(
        (summary.requests.arrived, summary.requests.completed),
        (1, 1)
    );
    let before = alone(100, 40).e2e_s.mean + alone(200, 40).e2e_s.mean + 3.0;
    let last = alone(300, 10);
    let near = |value: f64, expected: f64| {
        assert!((value - expected).abs() < 1e-8, "{value} {expected}");
    };
    near(summary.ttft_s.mean, before + last.ttft_s.mean);
    near(summary.tpot_s.mean, last.tpot_s.mean);
    near(summary.e2e_s.mean, before + last.e2e_s.mean);
    let rounds = summary.hidden.unwrap();
    assert_eq!(
        (rounds.rounds, rounds.tokens, rounds.time_s.count),
        (2, 80, 1)
    );
    near(rounds.time_s.mean, before);
    // Every token of every round is one the engine made, every prompt one it read.
    near(summary.output_tokens_per_s * summary.window.run_end_s, 90.0);
    near(summary.input_tokens_per_s * summary.window.run_end_s, 600.0);
}

#[test]
fn a_closed_loop_holds_conversations() {
    // Two conversations at a time, each thinking 1 s between its 4 turns: 10 of them one after the
    // other take 5 × 3 s of thinking at least, and hardly more.
    let workload = talks(4, 1.0, closed(50, 2, 40));
    let summary = go(&scenario(&single(4, None), workload, Load::Concurrency(2)));
    assert_eq!(summary.requests.completed, 40);
    let end = summary.window.run_end_s;
    assert!((15.0..16.5).contains(&end), "{end}");
}

#[test]
fn a_refused_turn_ends_its_conversation() {
    // 4 blocks of 16 hold 64 tokens: of 20 + 10 the third turn would need 90.
    for open in [false, true] {
        let mut workload = talks(5, 0.0, closed(20, 10, 30));
        let mut load = Load::Concurrency(2);
        let roomy = scenario(&single(1, Some(40)), workload.clone(), load);
        if open {
            workload.arrivals = Arrivals::Open {
                process: Process::Poisson,
            };
            load = Load::Rate(5.0);
        }
        let tight = single(1, Some(4));
        let plan = plan_of(&tight, &closed(20, 10, 1));
        let summary = go(&Scenario {
            plan,
            workload,
            load,
            ..roomy
        });
        let counts = summary.requests;
        assert_eq!((counts.completed, counts.failed), (12, 6), "{open}");
    }
}

#[test]
fn the_window_closes_when_the_last_conversation_begins() {
    let workload = talks(4, 0.5, Workload::fixed(200, 10, 2000));
    let summary = go(&scenario(&design(1), workload, Load::Rate(40.0)));
    assert_eq!(summary.requests.completed, 2000);
    assert_eq!(summary.window.kind, "steady");
    assert!(!summary.saturated);
    // Ten conversations a second begin for 50 s, and 40 turns a second are answered.
    assert!((40.0..60.0).contains(&summary.window.end_s));
    assert!(summary.window.run_end_s > summary.window.end_s + 1.4);
    assert!(
        (summary.requests_per_s / 40.0 - 1.0).abs() < 0.15,
        "{}",
        summary.requests_per_s
    );
}

#[test]
fn recorded_sessions_and_blocks_are_served() {
    let mut text = String::new();
    for n in 0..60 {
        text += &format!(
            "{{\"timestamp\": {}, \"input_length\": {}, \"output_length\": 5, \"hash_ids\": [0, {n}], \"session_id\": {}}}\n",
            n / 7 * 1000,
            513 + n,
            n % 4,
        );
    }
    let trace = read_trace_from(text.as_bytes(), "t", &TraceOptions::default()).unwrap();
    let workload = Workload {
        arrivals: Arrivals::Trace,
        requests: 0,
        ..Workload::fixed(600, 5, 1)
    };
    let base = scenario(&design(0), Workload::fixed(600, 5, 1), Load::Rate(1.0));
    let scenario = Scenario {
        workload,
        trace: Some(Arc::new(trace)),
        load: Load::TraceSpeed(1.0),
        ..base
    };
    let summary = go(&scenario);
    assert_eq!(summary.requests.completed, 60);
    assert_eq!(
        serde_json::to_string(&summary).unwrap(),
        serde_json::to_string(&go(&scenario)).unwrap()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// Turns times conversations, whatever the loop and the waits: `run` checks tokens and blocks.
    #[test]
    fn books_balance_over_turns_and_rounds(
        split in any::<bool>(),
        open in any::<bool>(),
        caching in any::<bool>(),
        load in 1_u32..20,
        turns in prop_oneof![
            (1_u32..6).prop_map(Count::Fixed),
            (1_u32..4).prop_map(|min| Count::Uniform { min, max: min + 3 }),
            (1.0..4.0).prop_map(|mean| Count::Geometric { mean, max: 9 }),
        ],
        rounds in prop_oneof![
            Just(None),
            (0_u32..3).prop_map(|n| Some(Count::Fixed(n))),
            (0.0..2.0).prop_map(|mean| Some(Count::Geometric { mean, max: 4 })),
        ],
        system in prop_oneof![Just(None), (1_u32..5).prop_map(Some)],
        (think, cv) in (0.0..3.0, 0.0..2.0),
        kept in any::<bool>(),
        requests in 1_u64..60,
        seed in 0_u64..1000,
    ) {
        let workload = Workload {
            arrivals: if open { Arrivals::Open { process: Process::Poisson } } else { Arrivals::Closed },
            input: Length::Uniform { min: Tokens::new(1), max: Tokens::new(120) },
            output: Length::Uniform { min: Tokens::new(1), max: Tokens::new(20) },
            seed,
            sessions: Some(Sessions {
                turns,
                think: wait(think, cv),
                system: system.map(|distinct| SystemPrompt { tokens: Tokens::new(70), distinct }),
            }),
            hidden: rounds.map(|rounds| Hidden {
                rounds,
                tokens: Length::Uniform { min: Tokens::new(1), max: Tokens::new(30) },
                tool: kept.then_some(Length::Fixed(Tokens::new(9))),
                wait: wait(think / 3.0, cv),
                kept,
            }),
            ..Workload::fixed(1, 1, requests)
        };
        let mut design = design(usize::from(!split));
        for pool in &mut design.pools {
            pool.engine.caching.prefix = caching;
        }
        let load = if open { Load::Rate(f64::from(load)) } else { Load::Concurrency(load) };
        let summary = go(&scenario(&design, workload, load));
        prop_assert_eq!(summary.requests.arrived, requests);
        prop_assert_eq!(summary.requests.completed, requests);
        prop_assert!(summary.ttft_s.mean >= 0.0 && summary.e2e_s.mean >= summary.ttft_s.mean);
    }
}
