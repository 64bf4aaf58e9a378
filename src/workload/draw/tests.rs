//! Requests are drawn as asked for, and the same at every load.

use super::*;
use crate::units::Tokens;
use crate::workload::TraceRequest;
use proptest::prelude::*;

fn open(process: Process, requests: u64) -> Workload {
    Workload {
        arrivals: Arrivals::Open { process },
        input: Length::LogNormal {
            mean: Tokens::new(1000),
            cv: 0.8,
            max: Tokens::new(8000),
        },
        output: Length::Uniform {
            min: Tokens::new(10),
            max: Tokens::new(20),
        },
        ..Workload::fixed(1, 1, requests)
    }
}

fn draw(workload: &Workload, load: Load) -> Vec<Drawn> {
    Source::new(workload, load, None, None).unwrap().collect()
}

#[test]
fn three_a_second_for_ten_seconds_are_thirty() {
    // T24: exact counts; the 31st would arrive at 10 s sharp.
    let requests = draw(&open(Process::Constant, 31), Load::Rate(3.0));
    let ten_seconds = 10_000_000_000;
    assert_eq!(
        requests
            .iter()
            .filter(|r| r.arrival_ns.unwrap() < ten_seconds)
            .count(),
        30
    );
    assert_eq!(requests[30].arrival_ns, Some(ten_seconds));
    assert_eq!(requests[3].arrival_ns, Some(1_000_000_000), "no drift");
    let many = draw(&open(Process::Constant, 3_000_001), Load::Rate(3.0));
    assert_eq!(
        many.last().unwrap().arrival_ns,
        Some(1_000_000 * 1_000_000_000)
    );
}

#[test]
fn exactly_the_requests_asked_for() {
    for process in [
        Process::Poisson,
        Process::Gamma { cv: 3.0 },
        Process::Constant,
    ] {
        assert_eq!(draw(&open(process, 1234), Load::Rate(7.0)).len(), 1234);
    }
    let mut source =
        Source::new(&open(Process::Poisson, 10), Load::Rate(1.0), None, Some(4)).unwrap();
    assert_eq!((source.requests(), source.starts_left()), (4, 4));
    source.next();
    assert_eq!(source.starts_left(), 3);
    assert_eq!(source.by_ref().count(), 3);
    assert_eq!(source.next(), None);
}

#[test]
fn a_request_is_the_same_at_every_load() {
    let workload = open(Process::Poisson, 500);
    let (slow, fast) = (
        draw(&workload, Load::Rate(2.0)),
        draw(&workload, Load::Rate(20.0)),
    );
    for (a, b) in slow.iter().zip(&fast) {
        assert_eq!((a.input, a.output), (b.input, b.output));
        let (a, b) = (a.arrival_ns.unwrap(), b.arrival_ns.unwrap());
        assert!(a.abs_diff(b * 10) <= 10, "{a} {b}");
    }
    let closed = Workload {
        arrivals: Arrivals::Closed,
        ..workload
    };
    let closed = draw(&closed, Load::Concurrency(8));
    assert!(closed.iter().all(|r| r.arrival_ns.is_none()));
    assert!(
        closed
            .iter()
            .zip(&slow)
            .all(|(a, b)| (a.input, a.output) == (b.input, b.output))
    );
}

#[test]
fn gaps_have_the_mean_and_the_spread_asked_for() {
    for (process, cv) in [
        (Process::Poisson, 1.0),
        (Process::Gamma { cv: 0.3 }, 0.3),
        (Process::Gamma { cv: 2.5 }, 2.5),
        (Process::Constant, 0.0),
    ] {
        let requests = draw(&open(process, 100_000), Load::Rate(4.0));
        let times: Vec<f64> = requests
            .iter()
            .map(|r| r.arrival_ns.unwrap() as f64 / 1e9)
            .collect();
        let gaps: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation =
            (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!((mean * 4.0 - 1.0).abs() < 0.03, "{process:?}: mean {mean}");
        assert!(
            (deviation / mean - cv).abs() < 0.05 * cv.max(0.01),
            "{process:?}: {}",
            deviation / mean
        );
    }
}

#[test]
fn lengths_have_the_mean_and_the_bounds_asked_for() {
    let requests = draw(&open(Process::Poisson, 100_000), Load::Rate(1.0));
    let mean = requests.iter().map(|r| r.input as f64).sum::<f64>() / 1e5;
    assert!((mean / 1000.0 - 1.0).abs() < 0.02, "{mean}");
    assert!(requests.iter().all(|r| (1..=8000).contains(&r.input)));
    for length in 10..=20 {
        let share = requests.iter().filter(|r| r.output == length).count() as f64 / 1e5;
        assert!((share - 1.0 / 11.0).abs() < 0.005, "{length}: {share}");
    }
}

#[test]
fn parameters_at_the_edge() {
    // T25: no spread is constant; NaN, infinite, zero and absurd ones are refused.
    let same = Length::LogNormal {
        mean: Tokens::new(77),
        cv: 0.0,
        max: Tokens::new(100),
    };
    let workload = Workload {
        input: same,
        ..open(Process::Gamma { cv: 1e-300 }, 20)
    };
    let requests = draw(&workload, Load::Rate(1.0));
    assert!(requests.iter().all(|r| r.input == 77));
    assert_eq!(requests[19].arrival_ns, Some(19_000_000_000));
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(
            Source::new(&workload, Load::Rate(rate), None, None).is_err(),
            "{rate}"
        );
    }
    for cv in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
        let workload = open(Process::Gamma { cv }, 20);
        assert!(
            Source::new(&workload, Load::Rate(1.0), None, None).is_err(),
            "{cv}"
        );
    }
    let wild = Length::LogNormal {
        mean: Tokens::new(77),
        cv: 1e200,
        max: Tokens::new(100),
    };
    let workload = Workload {
        output: wild,
        ..workload
    };
    assert!(Source::new(&workload, Load::Rate(1.0), None, None).is_err());
    assert!(Source::new(&Workload::fixed(1, 0, 5), Load::Rate(1.0), None, None).is_err());
    assert!(Source::new(&Workload::fixed(1, 1, 0), Load::Rate(1.0), None, None).is_err());
    assert!(Source::new(&Workload::fixed(1, 1, 5), Load::Concurrency(1), None, None).is_err());
}

#[test]
fn a_trace_is_replayed_as_recorded_or_faster() {
    let row = |arrival_s, input| TraceRequest {
        arrival_s,
        input,
        output: 3,
    };
    let trace = Arc::new(Trace {
        requests: vec![row(0.0, 5), row(0.052, 6), row(4.0, 7)],
        name: "three".to_owned(),
        ..Trace::default()
    });
    let workload = Workload {
        arrivals: Arrivals::Trace,
        requests: 0,
        ..Workload::fixed(1, 1, 1)
    };
    let replay = |speed, requests| {
        let workload = Workload {
            requests,
            ..workload.clone()
        };
        Source::new(
            &workload,
            Load::TraceSpeed(speed),
            Some(trace.clone()),
            None,
        )
        .unwrap()
        .map(|r| (r.arrival_ns.unwrap(), r.input))
        .collect::<Vec<_>>()
    };
    assert_eq!(
        replay(1.0, 0),
        [(0, 5), (52_000_000, 6), (4_000_000_000, 7)]
    );
    assert_eq!(replay(2.0, 2), [(0, 5), (26_000_000, 6)]);
    assert_eq!(replay(1.0, 99).len(), 3);
    assert_eq!(
        Source::new(&workload, Load::TraceSpeed(1.0), None, None).unwrap_err(),
        WorkloadError::NoTrace
    );
}

proptest! {
    #[test]
    fn time_never_runs_back(seed: u64, rate in 1e-300_f64..1e12, cv in 1e-9_f64..100.0) {
        let workload = Workload { seed, ..open(Process::Gamma { cv }, 200) };
        let times: Vec<_> = draw(&workload, Load::Rate(rate)).iter().map(|r| r.arrival_ns.unwrap()).collect();
        prop_assert!(times.is_sorted());
    }
}
