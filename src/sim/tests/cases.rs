//! Public bug reports against simulators, each with its right answer (`cases.md`), and what is known
//! of runtime behaviours in general.

use super::*;
use crate::catalog::ModelId;
use crate::plan::{Draft, Layout, ModelRef, Routing, Rule, Speculation, Tier, TierKind};
use crate::units::{ByteRate, Bytes, Seconds};
use crate::workload::{Count, Sessions, Wait};

/// Conversations of four turns, a second apart, ten at a time.
fn talks(requests: u64) -> Workload {
    Workload {
        arrivals: Arrivals::Closed,
        sessions: Some(Sessions {
            turns: Count::Fixed(4),
            think: Wait {
                mean: Seconds::new(1.0),
                cv: 1.0,
            },
            system: None,
        }),
        ..Workload::fixed(200, 100, requests)
    }
}

fn caching(blocks: u64, host: bool) -> Design {
    let mut design = single(1, Some(blocks));
    design.model = ModelRef::Preset(ModelId::new("qwen3-8b").unwrap());
    let caching = &mut design.pools[0].engine.caching;
    caching.prefix = true;
    if host {
        caching.tiers = vec![Tier {
            kind: TierKind::Host,
            capacity: Bytes::new(1_000_000_000_000),
            read: ByteRate::new(40e9),
            write: ByteRate::new(40e9),
            latency: Seconds::new(1e-4),
        }];
    }
    design
}

#[test]
fn what_was_evicted_to_the_host_is_found_whatever_the_gpus_room() {
    // T36: the share of tokens found is flat as GPU memory is swept up; without a host tier it grows.
    const SMALL: u64 = 360;
    let share = |blocks, host| {
        let mut design = caching(blocks, host);
        // Four at a time have room.
        design.pools[0].engine.max_num_seqs = 4;
        let summary = go(&scenario(&design, talks(200), Load::Concurrency(20)));
        // One that gives way looks again for what it had, which is no hit of the kind meant.
        assert_eq!(summary.work.preemptions, 0);
        let reuse = summary.reuse.unwrap();
        let found = reuse.hit_tokens + reuse.loaded_tokens;
        (
            found as f64 / reuse.prompt_tokens as f64,
            reuse.loaded_tokens,
        )
    };
    let (small, loaded) = share(SMALL, true);
    let (large, none) = share(4000, true);
    assert!(loaded > 0 && none == 0);
    assert!((small - large).abs() < 0.01, "{small} {large}");
    let (without, _) = share(SMALL, false);
    assert!(without < 0.8 * small, "{without} {small}");
}

#[test]
fn reuse_shortens_the_wait_by_the_work_saved() {
    let run = |reuse| {
        let mut design = caching(4000, false);
        design.pools[0].engine.caching.prefix = reuse;
        go(&scenario(&design, talks(200), Load::Concurrency(4)))
    };
    let (with, without) = (run(true), run(false));
    assert!(with.ttft_s.mean < without.ttft_s.mean);
    assert_eq!(with.requests, without.requests);
    // All but the new tokens of a turn, and what is not a whole block.
    let reuse = with.reuse.unwrap();
    let new = 200.0 * 200.0 + 150.0 * 16.0;
    let computed = (reuse.prompt_tokens - reuse.hit_tokens) as f64;
    assert!(computed <= new, "{computed} {new}");
}

#[test]
fn reuse_changes_nothing_where_no_text_is_shared() {
    let run = |reuse| {
        let mut design = caching(600, false);
        design.pools[0].engine.caching.prefix = reuse;
        let workload = Workload {
            input: Length::Uniform {
                min: Tokens::new(1),
                max: Tokens::new(500),
            },
            ..Workload::fixed(1, 50, 300)
        };
        let mut summary = go(&scenario(&design, workload, Load::Rate(30.0)));
        summary.reuse = None;
        summary
    };
    let (with, without) = (run(true), run(false));
    // A preempted request finds its own blocks again, so that there must be none.
    assert_eq!(without.work.preemptions, 0);
    assert_eq!(with, without);
}

#[test]
fn a_lone_request_on_lanes_in_lockstep_ends() {
    // T37: DP 2 · TP 2 · EP 2, one request; the other lane steps along with nothing.
    let mut design = design(1);
    let pool = &mut design.pools[0];
    pool.gpus = vec!["n0/0/0-3".parse().unwrap()];
    pool.layout = Layout {
        tp: 2,
        dp: 2,
        ep: 4,
        ..Layout::SINGLE
    };
    let summary = go(&scenario(&design, closed(100, 20, 1), Load::Concurrency(1)));
    assert_eq!(summary.requests.completed, 1);
    assert_eq!(summary.work.steps, 20);
}

#[test]
fn drafts_help_a_lone_request_and_hurt_a_full_batch() {
    let tpot = |drafts: bool, concurrency: u32| {
        let mut design = single(1, None);
        design.model = ModelRef::Preset(ModelId::new("llama-3.1-8b").unwrap());
        let engine = &mut design.pools[0].engine;
        engine.max_num_seqs = 1024;
        engine.speculation = drafts.then(|| Speculation {
            draft: Draft::Ngram,
            steps: 4,
            verified: 4,
            // Poor drafts: 1.4 tokens a step.
            acceptance: vec![0.3],
        });
        let workload = closed(100, 200, u64::from(concurrency) * 2);
        go(&scenario(&design, workload, Load::Concurrency(concurrency)))
            .tpot_s
            .mean
    };
    assert!(tpot(true, 1) < tpot(false, 1) / 1.2);
    assert!(tpot(true, 768) > tpot(false, 768));
}

#[test]
fn overlap_hides_the_shorter_of_host_and_device() {
    let tpot = |overlap, host_ms: f64| {
        let mut design = single(4, None);
        design.pools[0].engine.host_step_time = Seconds::new(host_ms * 1e-3);
        design.pools[0].engine.host.overlap = overlap;
        let summary = go(&scenario(
            &design,
            closed(100, 100, 8),
            Load::Concurrency(1),
        ));
        summary.tpot_s.mean * 1e3
    };
    let device = tpot(false, 0.0);
    assert!((tpot(false, 5.0) - device - 5.0).abs() < 1e-3);
    assert!((tpot(true, device / 2.0) - device).abs() < 1e-3);
    assert!((tpot(true, 50.0) - 50.0).abs() < 1e-3);
}

#[test]
fn every_way_of_routing_keeps_the_books_and_repeats() {
    // Pools of TP 4: `go` fails if requests, tokens, KV or bytes are lost.
    let run = |entry, handover, seed| {
        let mut design = design(0);
        for pool in &mut design.pools {
            pool.layout = Layout {
                tp: 4,
                ..pool.layout
            };
        }
        design.routing = Routing { entry, handover };
        let mut workload = Workload::fixed(1000, 50, 300);
        workload.seed = seed;
        go(&scenario(&design, workload, Load::Rate(8.0)))
    };
    for entry in Rule::ALL {
        for handover in Rule::ALL {
            let (one, again) = (run(entry, handover, 3), run(entry, handover, 3));
            assert_eq!(one.requests.completed, 300, "{entry:?} {handover:?}");
            assert_eq!(one, again, "{entry:?} {handover:?}");
            assert_eq!(one.provenance.routing, Routing { entry, handover });
        }
    }
    // Chance alone piles requests up where two choices, and looking at all, do not.
    let wait = |rule| {
        let seeds = (0..8).map(|seed| run(rule, rule, seed).ttft_s.mean);
        seeds.sum::<f64>()
    };
    assert!(wait(Rule::LeastRequests) < wait(Rule::Random));
}
