//! What is recorded of a run adds up to what the run says, changes nothing of it, and is a trace
//! that viewers can read.

use super::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::Mutex;

/// Memory that a trace is written to.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Recorded {
    summary: Summary,
    timeline: Timeline,
    trace: Value,
    end: TraceEnd,
}

fn record(scenario: &Scenario, limit: u64) -> Recorded {
    let cancel = AtomicBool::new(false);
    let memory = Memory::default();
    let mut trace = Trace::new(Box::new(memory.clone()), limit);
    let recording = Recording {
        timeline: true,
        trace: Some(&mut trace),
        progress: None,
    };
    let (summary, timeline) =
        run_recorded(scenario, Control { cancel: &cancel }, recording).unwrap();
    let end = trace.finish().unwrap();
    let bytes = memory.0.lock().unwrap();
    Recorded {
        summary,
        timeline: timeline.unwrap(),
        trace: serde_json::from_slice(&bytes).unwrap(),
        end,
    }
}

fn ragged(requests: u64) -> Workload {
    Workload {
        input: Length::LogNormal {
            mean: Tokens::new(900),
            cv: 1.0,
            max: Tokens::new(9000),
        },
        output: Length::Uniform {
            min: Tokens::new(1),
            max: Tokens::new(120),
        },
        ..Workload::fixed(1, 1, requests)
    }
}

/// Split; co-located; two lanes; a pipeline of two stages.
fn cases() -> Vec<Scenario> {
    let layout = |pp, dp| Layout {
        tp: 1,
        pp,
        dp,
        ep: dp,
        ..Layout::SINGLE
    };
    let mut lanes = single(2, None);
    lanes.pools[0].layout = layout(1, 2);
    let mut piped = single(2, None);
    piped.pools[0].layout = layout(2, 1);
    vec![
        scenario(&design(0), ragged(150), Load::Rate(40.0)),
        scenario(&design(1), ragged(150), Load::Rate(40.0)),
        scenario(&lanes, ragged(60), Load::Rate(10.0)),
        scenario(&piped, ragged(60), Load::Rate(10.0)),
        scenario(&single(4, Some(700)), ragged(40), Load::Rate(100.0)),
    ]
}

#[test]
fn a_timeline_adds_up_to_the_run() {
    for scenario in cases() {
        let run = record(&scenario, 0);
        let Timeline {
            end_ns,
            bin_ns,
            replicas,
            links,
            ..
        } = &run.timeline;
        assert_eq!(*end_ns as f64 * 1e-9, run.summary.window.run_end_s);
        for pool in &run.summary.breakdown {
            let own: Vec<_> = replicas.iter().filter(|r| r.pool == pool.index).collect();
            assert_eq!(own.len(), pool.replicas);
            let bins = || own.iter().flat_map(|line| &line.bins);
            // To the nanosecond: both are one division of the same integers.
            let busy: u64 = bins().map(ReplicaBin::busy_ns).sum();
            let available = end_ns * (pool.stages * pool.replicas) as u64;
            assert_eq!(busy as f64 / available as f64, pool.busy);
            // Device time is in femtoseconds, each stage's step rounded up to a nanosecond.
            let rounded: u64 = pool.phases.iter().map(|phase| phase.steps).sum();
            let rest = busy as f64 * 1e-9 - pool.seconds;
            let most = (rounded * pool.stages as u64) as f64 * 1e-9;
            assert!((-1e-9..=most).contains(&rest), "{rest} {most}");
            let decode: u64 = bins().map(|bin| bin.decode_ns).sum();
            let of_decode = pool.phases.iter().find(|p| p.carries == "decode only");
            assert!((decode as f64 * 1e-9 - of_decode.unwrap().seconds).abs() <= most);
            // No bin holds more than there is.
            for line in &own {
                assert!(line.bins.len() <= 1024 && line.bins.len() > 512);
                for bin in &line.bins {
                    assert!(bin.busy_ns() <= bin_ns * line.stages as u64);
                    assert!(bin.kv_permille_ns <= 1000 * bin_ns);
                }
            }
        }
        // Tokens: all that were asked for.
        let tokens: u64 = replicas
            .iter()
            .flat_map(|r| &r.bins)
            .map(|b| b.tokens)
            .sum();
        let asked = run.summary.requests.completed + run.summary.itl_s.count;
        if run.summary.window.kind == "whole run" {
            assert_eq!(tokens, asked);
        } else {
            assert!(tokens > asked);
        }
        // Bytes: the busiest link's, to a millionth.
        let busiest = links
            .iter()
            .map(|line| {
                let id = crate::cluster::ChannelId(line.channel);
                let rate = scenario.plan.topology.channel(id).rate.get();
                line.bytes.iter().sum::<u64>() as f64 / (rate * *end_ns as f64 * 1e-9)
            })
            .fold(0.0, f64::max);
        let said = run.summary.busiest_link.map_or(0.0, |(_, share)| share);
        assert!((busiest - said).abs() <= said * 1e-5, "{busiest} {said}");
        assert_eq!(links.is_empty(), run.summary.work.transfers == 0);
    }
}

#[test]
fn recording_changes_nothing_and_says_the_same_each_time() {
    for scenario in cases() {
        let plain = go(&scenario);
        let one = record(&scenario, 1_000_000);
        let two = record(&scenario, 1_000_000);
        assert_eq!(plain, one.summary);
        assert_eq!(one.timeline, two.timeline);
        assert_eq!(one.trace, two.trace);
    }
}

#[test]
fn a_breakdown_sums_to_the_busy_time() {
    for scenario in cases() {
        let summary = go(&scenario);
        let mut steps = 0;
        let mut all = 0.0;
        for pool in &summary.breakdown {
            for phase in &pool.phases {
                let classes: f64 = phase.by_class.iter().map(|(_, seconds)| seconds).sum();
                assert!((classes - phase.seconds).abs() <= 1e-12 * phase.seconds.max(1e-12) * 8.0);
                steps += phase.steps;
                all += phase.seconds;
            }
            assert!(pool.busy + pool.bubble <= 1.0 + 1e-12);
            assert!(pool.stages > 1 || pool.bubble < 1e-12);
        }
        assert_eq!(steps, summary.work.steps);
        // The shares of the whole run are of the same time.
        for (class, share) in &summary.provenance.time_shares {
            let seconds: f64 = summary
                .breakdown
                .iter()
                .flat_map(|pool| &pool.phases)
                .flat_map(|phase| &phase.by_class)
                .filter(|(name, _)| name == class)
                .map(|(_, seconds)| seconds)
                .sum();
            assert!((seconds / all - share).abs() < 1e-9, "{class}");
        }
    }
}

#[test]
fn one_request_alone_is_never_more_than_one() {
    let scenario = scenario(&single(4, None), closed(1000, 40, 3), Load::Concurrency(1));
    let run = record(&scenario, 0);
    let bins = &run.timeline.replicas[0].bins;
    // The next request is sent when one ends, so that one runs all the time and nobody waits.
    let running: u64 = bins.iter().map(|bin| bin.running_ns).sum();
    assert_eq!(running, run.timeline.end_ns);
    assert!(bins.iter().all(|bin| bin.waiting_ns == 0));
    assert_eq!(bins.iter().map(|bin| bin.tokens).sum::<u64>(), 120);
    let pool = &run.summary.breakdown[0];
    assert_eq!((pool.running, pool.waiting), (1.0, 0.0));
    assert_eq!((pool.busy, pool.bubble), (1.0, 0.0));
    // Three prompts of one chunk, 39 decode steps each.
    assert_eq!(pool.phases[0].steps, 3);
    assert_eq!(pool.phases[0].tokens_per_step, 1000.0);
    assert_eq!(pool.phases[1].steps, 117);
    assert_eq!(pool.phases[1].decodes_per_step, 1.0);
}

/// Microseconds with three decimals, as nanoseconds.
fn ns(value: &Value) -> u64 {
    (value.as_f64().unwrap() * 1000.0).round() as u64
}

#[test]
fn a_trace_is_what_viewers_read() {
    for scenario in cases() {
        let run = record(&scenario, 1_000_000);
        assert_eq!(run.end.cut_at_s, None);
        assert_eq!(run.trace["otherData"]["note"], "complete");
        let events = run.trace["traceEvents"].as_array().unwrap();
        assert_eq!(events.len() as u64, run.end.events);
        let of = |phase: &'static str| events.iter().filter(move |e| e["ph"] == phase);
        let place = |e: &Value| (e["pid"].as_u64().unwrap(), e["tid"].as_u64().unwrap());

        // Slices of a thread follow one another.
        let mut slices: BTreeMap<(u64, u64), Vec<(u64, u64)>> = BTreeMap::new();
        for event in of("X") {
            let start = ns(&event["ts"]);
            let span = (start, start + ns(&event["dur"]));
            slices.entry(place(event)).or_default().push(span);
        }
        for own in slices.values_mut() {
            own.sort_unstable();
            assert!(own.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        }
        let firsts = of("X").filter(|e| e["tid"] == 0).count() as u64;
        assert_eq!(firsts, run.summary.work.steps);
        // Every thread with slices has a name.
        let named: BTreeSet<_> = of("M")
            .filter(|e| e["name"] == "thread_name")
            .map(place)
            .collect();
        assert!(slices.keys().all(|thread| named.contains(thread)));

        // What begins ends, in order, each request once.
        let mut open: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
        let mut ended = 0;
        for event in events.iter().filter(|e| e["ph"] == "b" || e["ph"] == "e") {
            let stack = open.entry(event["id"].as_u64().unwrap()).or_default();
            let name = event["name"].as_str().unwrap();
            if event["ph"] == "b" {
                stack.push(name);
            } else {
                assert_eq!(stack.pop(), Some(name));
                ended += u64::from(name == "request");
            }
        }
        assert!(open.values().all(Vec::is_empty));
        assert_eq!(ended, run.summary.requests.completed);
        assert_eq!(of("n").count() as u64, run.summary.requests.completed);

        // Every transfer leaves a slice and comes to another thread.
        let arrows = |phase| {
            let ends = of(phase).map(|e| (e["id"].as_u64().unwrap(), place(e), ns(&e["ts"])));
            ends.collect::<Vec<_>>()
        };
        let (starts, ends) = (arrows("s"), arrows("f"));
        assert_eq!(starts.len() as u64, run.summary.work.transfers);
        assert_eq!(ends.len(), starts.len());
        for (id, from, at) in starts {
            let inside = |(start, end): &(u64, u64)| *start <= at && at < *end;
            assert!(slices[&from].iter().any(inside));
            let (_, to, landed) = ends.iter().find(|end| end.0 == id).unwrap();
            assert!(*landed > at && to.0 != from.0);
        }
    }
}

#[test]
fn a_trace_that_ended_early_says_so() {
    let scenario = scenario(&design(0), ragged(100), Load::Rate(40.0));
    for limit in [0, 1, 500] {
        let run = record(&scenario, limit);
        assert_eq!(run.end.events, limit);
        let events = run.trace["traceEvents"].as_array().unwrap();
        assert_eq!(events.len() as u64, limit);
        assert!(run.end.cut_at_s.unwrap() < run.summary.window.run_end_s);
        assert!(run.trace["otherData"]["cut_at_s"].is_number());
    }
}

#[test]
fn names_of_a_document_cannot_break_a_trace() {
    let mut split = design(0);
    split.pools[0].name = "\"a\\\u{7}\n\u{2028}]".to_owned();
    let run = record(&scenario(&split, ragged(5), Load::Rate(40.0)), 1000);
    let mut names = run.trace["traceEvents"].as_array().unwrap().iter();
    assert!(names.any(|e| e["args"]["name"] == "\"a\\\u{7}\n\u{2028}] 0"));
}

#[test]
fn verdicts_name_what_limits() {
    let kinds = |summary: &Summary| -> Vec<&'static str> {
        summary.limits.iter().map(|limit| limit.kind).collect()
    };
    let sorted = |summary: &Summary| summary.limits.is_sorted_by(|a, b| a.weight >= b.weight);
    // Hardly any load.
    let light = go(&scenario(&design(1), ragged(40), Load::Rate(1.0)));
    assert_eq!(kinds(&light)[0], "idle");
    // A batch of one reads weights.
    let alone = go(&scenario(
        &single(4, None),
        closed(100, 400, 4),
        Load::Concurrency(1),
    ));
    assert_eq!(kinds(&alone)[0], "weight-bandwidth");
    // Long prompts and one token each: products compute.
    let prompts = closed(8000, 1, 60);
    let prompts = go(&scenario(&single(4, None), prompts, Load::Concurrency(8)));
    assert!(kinds(&prompts).contains(&"compute"), "{:?}", prompts.limits);
    assert!(!kinds(&prompts).contains(&"kv-bandwidth"));
    // Long contexts of many sequences: decode attention reads KV.
    let long = go(&scenario(
        &single(4, None),
        closed(30_000, 300, 24),
        Load::Concurrency(24),
    ));
    assert!(kinds(&long).contains(&"kv-bandwidth"), "{:?}", long.limits);
    // Memory of a few requests.
    let short = go(&scenario(
        &single(1, Some(200)),
        closed(400, 800, 40),
        Load::Concurrency(16),
    ));
    assert!(kinds(&short).contains(&"kv-capacity"), "{:?}", short.limits);
    assert!(kinds(&short).contains(&"queue"));
    let queue = short
        .limits
        .iter()
        .find(|limit| limit.kind == "queue")
        .unwrap();
    assert!(queue.text.contains("KV memory"), "{}", queue.text);
    // Places of a few requests.
    let mut places = single(4, None);
    places.pools[0].engine.max_num_seqs = 2;
    let places = go(&scenario(
        &places,
        closed(400, 200, 40),
        Load::Concurrency(16),
    ));
    let queue = places
        .limits
        .iter()
        .find(|limit| limit.kind == "queue")
        .unwrap();
    assert!(queue.text.contains("max_num_seqs (2)"), "{}", queue.text);
    // Seven of eight waiting, give or take the ends.
    assert!((0.75..0.9).contains(&queue.weight), "{}", queue.weight);
    for summary in [light, alone, prompts, long, short, places] {
        assert!(sorted(&summary));
        assert!(summary.limits.len() <= 6);
    }
}

#[test]
fn a_slow_link_is_named() {
    let mut split = design(0);
    split.cluster.links[0].count = 1;
    split.cluster.links[0].rate = "10 Gb/s".parse().unwrap();
    let summary = go(&scenario(
        &split,
        Workload::fixed(4096, 4, 60),
        Load::Rate(50.0),
    ));
    assert_eq!(summary.limits[0].kind, "link", "{:?}", summary.limits);
}
