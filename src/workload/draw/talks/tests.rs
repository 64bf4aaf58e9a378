//! Conversations grow as they should, and are the same however their turns interleave.

use super::super::{Drawn, Segment, Source};
use crate::units::{Seconds, Tokens};
use crate::workload::{
    Arrivals, Count, Hidden, Length, Load, MAX_TURNS, PriorityClass, Process, Sessions,
    SystemPrompt, Wait, Workload, WorkloadError,
};
use std::collections::BTreeMap;

const fn fixed(tokens: u64) -> Length {
    Length::Fixed(Tokens::new(tokens))
}

const fn seconds(mean: f64, cv: f64) -> Wait {
    Wait {
        mean: Seconds::new(mean),
        cv,
    }
}

/// Conversations of so many turns, 10 new tokens and 5 answered ones each.
fn talks(turns: Count, requests: u64) -> Workload {
    Workload {
        sessions: Some(Sessions {
            turns,
            ..Sessions::SINGLE
        }),
        ..Workload::fixed(10, 5, requests)
    }
}

fn source(workload: &Workload) -> Source {
    let load = match workload.arrivals {
        Arrivals::Closed => Load::Concurrency(4),
        _ => Load::Rate(1.0),
    };
    Source::new(workload, load, None, None).unwrap()
}

/// Every round of every conversation, one conversation after the other, each answered at once.
fn rounds(workload: &Workload) -> Vec<Vec<(Drawn, Vec<Segment>)>> {
    let mut source = source(workload);
    let mut text = Vec::new();
    let mut all = Vec::new();
    while let Some(first) = source.draw(&mut text) {
        let mut talk = vec![(first, text.clone())];
        let mut last = first;
        while let Some(next) =
            source.follow(last.turn.unwrap(), last.arrival_ns.unwrap_or(0), &mut text)
        {
            talk.push((next, text.clone()));
            last = next;
        }
        all.push(talk);
    }
    all
}

fn prompts(workload: &Workload) -> Vec<u64> {
    rounds(workload)[0].iter().map(|(d, _)| d.input).collect()
}

#[test]
fn rounds_of_ten_and_five_grow_to_ten_twenty_five_forty() {
    // T27.
    assert_eq!(prompts(&talks(Count::Fixed(3), 3)), [10, 25, 40]);
    let mut shared = talks(Count::Fixed(3), 3);
    shared.sessions.as_mut().unwrap().system = Some(SystemPrompt {
        tokens: Tokens::new(100),
        distinct: 1,
    });
    assert_eq!(prompts(&shared), [110, 125, 140]);
}

#[test]
fn a_prompt_is_what_was_said_before_and_something_new() {
    let mut workload = talks(Count::Uniform { min: 1, max: 6 }, 200);
    workload.input = Length::Uniform {
        min: Tokens::new(1),
        max: Tokens::new(50),
    };
    workload.output = workload.input;
    workload.sessions.as_mut().unwrap().system = Some(SystemPrompt {
        tokens: Tokens::new(64),
        distinct: 3,
    });
    let all = rounds(&workload);
    let mut systems = BTreeMap::new();
    let mut news = BTreeMap::new();
    for talk in &all {
        *systems.entry(talk[0].1[0].id).or_insert(0) += 1;
        let mut said: Vec<Segment> = vec![talk[0].1[0]];
        for (drawn, text) in talk {
            assert_eq!(
                text.iter().map(|s| u64::from(s.tokens)).sum::<u64>(),
                drawn.input
            );
            let (new, before) = text.split_last().unwrap();
            assert_eq!(before, said);
            assert_eq!(news.insert(new.id, ()), None, "new text is nobody else's");
            said.clone_from(text);
            said.push(Segment {
                id: drawn.answer,
                tokens: u32::try_from(drawn.output).unwrap(),
            });
        }
    }
    assert_eq!(systems.len(), 3, "{systems:?}");
}

#[test]
fn requests_are_turns_to_the_last_one() {
    let turns =
        |workload: &Workload| -> Vec<usize> { rounds(workload).iter().map(Vec::len).collect() };
    assert_eq!(turns(&talks(Count::Fixed(3), 10)), [3, 3, 3, 1]);
    for count in [
        Count::Uniform { min: 2, max: 9 },
        Count::Geometric { mean: 4.0, max: 30 },
    ] {
        let workload = talks(count, 1001);
        let all = turns(&workload);
        assert_eq!(all.iter().sum::<usize>(), 1001);
        let source = source(&workload);
        assert_eq!(source.starts(), all.len() as u64);
        assert_eq!(source.requests(), 1001);
        // The same conversations with fewer requests.
        let fewer = turns(&talks(count, 500));
        assert_eq!(fewer[..fewer.len() - 1], all[..fewer.len() - 1]);
    }
}

#[test]
fn a_turn_is_the_same_whenever_it_comes() {
    let workload = Workload {
        input: Length::LogNormal {
            mean: Tokens::new(300),
            cv: 1.0,
            max: Tokens::new(2000),
        },
        sessions: Some(Sessions {
            turns: Count::Geometric { mean: 3.0, max: 20 },
            think: seconds(5.0, 1.0),
            system: None,
        }),
        hidden: Some(Hidden {
            rounds: Count::Uniform { min: 0, max: 3 },
            tokens: Length::Uniform {
                min: Tokens::new(1),
                max: Tokens::new(90),
            },
            tool: Some(fixed(30)),
            wait: seconds(1.0, 0.3),
            kept: true,
        }),
        ..Workload::fixed(1, 7, 300)
    };
    let apart: BTreeMap<u64, (u64, u64, Vec<Segment>)> = rounds(&workload)
        .into_iter()
        .flatten()
        .map(|(d, text)| (d.answer, (d.input, d.output, text)))
        .collect();
    // All conversations at once, the latest one first.
    let mut source = Source::new(&workload, Load::Rate(77.0), None, None).unwrap();
    let mut text = Vec::new();
    let mut open = Vec::new();
    let mut seen = 0;
    while let Some(drawn) = source.draw(&mut text) {
        open.push((drawn, text.clone()));
    }
    while let Some((drawn, words)) = open.pop() {
        seen += 1;
        assert_eq!(apart[&drawn.answer], (drawn.input, drawn.output, words));
        if let Some(next) = source.follow(drawn.turn.unwrap(), 0, &mut text) {
            open.insert(0, (next, text.clone()));
        }
    }
    assert_eq!(seen, apart.len());
}

#[test]
fn hidden_rounds_lengthen_the_prompt_and_may_be_forgotten() {
    let mut workload = talks(Count::Fixed(2), 2);
    workload.hidden = Some(Hidden {
        rounds: Count::Fixed(2),
        tokens: fixed(7),
        tool: Some(fixed(3)),
        wait: seconds(2.0, 0.0),
        kept: true,
    });
    let talk = |workload: &Workload| rounds(workload).swap_remove(0);
    // 10, then 7 + 3 more a round; the next turn has 5 answered and 10 new tokens more.
    let seen: Vec<_> = talk(&workload)
        .iter()
        .map(|(d, _)| (d.input, d.output, d.turn.unwrap().hidden))
        .collect();
    let rounds_of = |first| {
        [
            (first, 7, true),
            (first + 10, 7, true),
            (first + 20, 5, false),
        ]
    };
    assert_eq!(seen[..3], rounds_of(10));
    assert_eq!(seen[3..], rounds_of(45));
    // Each round after the tool's two seconds, no thinking between turns.
    let times: Vec<_> = talk(&workload)
        .iter()
        .map(|(d, _)| d.arrival_ns.unwrap() / 1_000_000_000)
        .collect();
    assert_eq!(times, [0, 2, 4, 4, 6, 8]);
    workload.hidden.as_mut().unwrap().kept = false;
    let seen: Vec<_> = talk(&workload).iter().map(|(d, _)| d.input).collect();
    assert_eq!(seen, [10, 20, 30, 25, 35, 45]);
    let forgetful = talk(&workload);
    assert_eq!(forgetful[3].1[..1], forgetful[0].1[..]);
    assert_eq!(forgetful[3].1[1].id, forgetful[2].0.answer);
}

#[test]
fn the_rate_is_one_of_turns() {
    let mut workload = talks(Count::Fixed(4), 400);
    workload.arrivals = Arrivals::Open {
        process: Process::Constant,
    };
    let starts: Vec<_> = Source::new(&workload, Load::Rate(8.0), None, None)
        .unwrap()
        .map(|d| d.arrival_ns.unwrap())
        .collect();
    assert_eq!(starts.len(), 100);
    assert!(starts.windows(2).all(|w| w[1] - w[0] == 500_000_000));
}

#[test]
fn means_and_bounds_are_those_of_what_is_drawn() {
    for (turns, kept, rounds_of) in [
        (Count::Fixed(4), true, Count::Fixed(2)),
        (Count::Uniform { min: 1, max: 9 }, false, Count::Fixed(3)),
        (
            Count::Geometric { mean: 5.0, max: 12 },
            true,
            Count::Fixed(0),
        ),
        (
            Count::Geometric { mean: 1.0, max: 12 },
            false,
            Count::Fixed(1),
        ),
    ] {
        let workload = Workload {
            input: Length::Uniform {
                min: Tokens::new(50),
                max: Tokens::new(150),
            },
            sessions: Some(Sessions {
                turns,
                think: seconds(3.0, 1.0),
                system: Some(SystemPrompt {
                    tokens: Tokens::new(500),
                    distinct: 2,
                }),
            }),
            hidden: Some(Hidden {
                rounds: rounds_of,
                tokens: fixed(20),
                tool: Some(fixed(40)),
                wait: seconds(1.0, 0.0),
                kept,
            }),
            ..Workload::fixed(1, 30, 40_000)
        };
        let all = rounds(&workload);
        let (mut input, mut output) = (0, 0);
        for (drawn, _) in all.iter().flatten() {
            input += drawn.input;
            output += drawn.output;
            assert!(drawn.input + drawn.output <= workload.longest_context());
        }
        let n = workload.requests as f64;
        let (mean_input, mean_output) = workload.means();
        assert!(
            (input as f64 / n / mean_input - 1.0).abs() < 0.02,
            "{turns:?}: {} {mean_input}",
            input as f64 / n
        );
        assert_eq!(output as f64 / n, mean_output);
        let turns = n / all.len() as f64;
        assert!((turns / workload.mean_turns() - 1.0).abs() < 0.02);
    }
}

#[test]
fn waits_have_the_mean_and_the_spread_asked_for() {
    let mut workload = talks(Count::Fixed(2), 40_000);
    workload.sessions.as_mut().unwrap().think = seconds(4.0, 0.5);
    let waits: Vec<f64> = rounds(&workload)
        .iter()
        .map(|t| (t[1].0.arrival_ns.unwrap() - t[0].0.arrival_ns.unwrap()) as f64 / 1e9)
        .collect();
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    let spread =
        (waits.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / waits.len() as f64).sqrt();
    assert!((mean / 4.0 - 1.0).abs() < 0.02, "{mean}");
    assert!((spread / mean - 0.5).abs() < 0.02, "{}", spread / mean);
}

#[test]
fn slots_are_used_again() {
    let workload = talks(Count::Fixed(3), 3000);
    let slots: Vec<_> = rounds(&workload)
        .iter()
        .flatten()
        .map(|(d, _)| d.turn.unwrap().session)
        .collect();
    assert!(slots.iter().all(|slot| *slot == 0), "one at a time");
    let mut source = source(&workload);
    let mut text = Vec::new();
    let first = source.draw(&mut text).unwrap();
    source.give_up(first.turn.unwrap());
    assert_eq!(source.draw(&mut text).unwrap().turn, first.turn);
}

#[test]
fn priorities_have_their_shares_and_a_conversation_keeps_its_own() {
    let class = |priority, share| PriorityClass { priority, share };
    for workload in [
        Workload::fixed(1, 1, 20_000),
        talks(Count::Fixed(2), 20_000),
    ] {
        let workload = Workload {
            priorities: vec![class(-2, 1.0), class(0, 2.0), class(5, 1.0)],
            ..workload
        };
        let mut source = source(&workload);
        let mut counts = BTreeMap::new();
        let mut text = Vec::new();
        while let Some(drawn) = source.draw(&mut text) {
            *counts.entry(drawn.priority).or_insert(0.0) += 1.0;
            if let Some(next) = drawn.turn.and_then(|t| source.follow(t, 0, &mut text)) {
                assert_eq!(next.priority, drawn.priority);
            }
        }
        let all = source.starts() as f64;
        for (priority, share) in [(-2, 0.25), (0, 0.5), (5, 0.25)] {
            assert!((counts[&priority] / all - share).abs() < 0.02, "{counts:?}");
        }
    }
}

#[test]
fn parameters_at_the_edge() {
    // T25: no spread is constant; below the least, NaN and infinite are refused by name.
    let check = |change: &dyn Fn(&mut Sessions, &mut Hidden, &mut Workload)| {
        let mut workload = talks(Count::Fixed(2), 2);
        let mut sessions = workload.sessions.unwrap();
        let mut hidden = Hidden {
            rounds: Count::Fixed(0),
            tokens: fixed(7),
            tool: None,
            wait: seconds(0.0, 0.0),
            kept: false,
        };
        change(&mut sessions, &mut hidden, &mut workload);
        workload.sessions = Some(sessions);
        workload.hidden = Some(hidden);
        workload.check(Load::Rate(1.0), None)
    };
    assert_eq!(check(&|_, _, _| ()), Ok(()));
    assert_eq!(check(&|s, _, _| s.think = seconds(0.0, 0.0)), Ok(()));
    // Times below zero or without an end can't even be written.
    for text in ["-5 s", "NaN s", "inf s"] {
        assert!(text.parse::<Seconds>().is_err(), "{text}");
    }
    assert!(check(&|s, _, _| s.think = seconds(1e8, 1.0)).is_err());
    for value in [-5.0, f64::NAN, f64::INFINITY] {
        assert!(check(&|s, _, _| s.think = seconds(1.0, value)).is_err());
        assert!(check(&|_, h, _| h.wait = seconds(1.0, value)).is_err());
        let geometric = Count::Geometric {
            mean: value,
            max: 10,
        };
        assert!(check(&|s, _, _| s.turns = geometric).is_err());
        let class = PriorityClass {
            priority: 0,
            share: value,
        };
        assert!(check(&|_, _, w| w.priorities = vec![class]).is_err());
    }
    for turns in [
        Count::Fixed(0),
        Count::Fixed(MAX_TURNS + 1),
        Count::Uniform { min: 3, max: 2 },
        Count::Geometric { mean: 0.5, max: 4 },
        Count::Geometric { mean: 5.0, max: 4 },
    ] {
        let error = check(&|s, _, _| s.turns = turns).unwrap_err().to_string();
        assert!(error.contains("turns"), "{error}");
    }
    let none = SystemPrompt {
        tokens: Tokens::new(5),
        distinct: 0,
    };
    assert_eq!(
        check(&|s, _, _| s.system = Some(none)),
        Err(WorkloadError::SystemPrompts(0))
    );
    assert!(check(&|_, h, _| h.tokens = fixed(0)).is_err());
    assert!(check(&|_, h, _| h.tool = Some(fixed(0))).is_err());
    // A conversation nobody could hold.
    let endless = check(&|s, _, w| {
        s.turns = Count::Fixed(4000);
        w.input = fixed(10_000);
    });
    assert!(matches!(endless, Err(WorkloadError::Conversation(_))));
}
