//! Queues whose waiting times are known exactly.

use super::{Scenario, plan_of, single};
use crate::cost::Roofline;
use crate::plan::Scheduler;
use crate::sim::engine::watch;
use crate::sim::metrics::Record;
use crate::workload::{Arrivals, Load, Process, Trace, TraceRequest, Workload};
use std::sync::Arc;

/// Mean of the waits, seconds, and three standard errors by means of batches (which are nearly
/// independent, as single waits are not).
fn mean_and_error(waits: &[f64]) -> (f64, f64) {
    let batches = 40;
    let size = waits.len() / batches;
    let means: Vec<f64> = waits
        .chunks_exact(size)
        .map(|batch| batch.iter().sum::<f64>() / size as f64)
        .collect();
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, 3.0 * (variance / n).sqrt())
}

/// In order of arrival, the first tenth left out: the queue starts empty.
fn waits(records: &[Record], wait: impl Fn(&Record) -> f64) -> Vec<f64> {
    let mut sorted: Vec<&Record> = records.iter().collect();
    sorted.sort_by_key(|record| record.arrival);
    let warm = sorted.len() / 10;
    sorted[warm..].iter().map(|record| wait(record)).collect()
}

#[test]
fn one_server_with_equal_services_waits_as_pollaczek_and_khinchine_say() {
    // One request at a time, one step of 10 ms each, Poisson arrivals at 80 of 100 per second: mean
    // wait ρ / (2 (1 − ρ)) of a service (M/D/1).
    let mut design = single(1, None);
    design.pools[0].engine.max_num_seqs = 1;
    let workload = Workload {
        arrivals: Arrivals::Open {
            process: Process::Poisson,
        },
        ..Workload::fixed(10, 1, 60_000)
    };
    let scenario = super::scenario(&design, workload, Load::Rate(80.0));
    let watched = watch(&scenario, |_| 10_000_000_000, false);
    let waits = waits(&watched.records, |own| own.ttft as f64 * 1e-9 - 0.01);
    let (mean, error) = mean_and_error(&waits);
    let exact = 0.8 / (2.0 * 0.2) * 0.01;
    assert!(
        (mean - exact).abs() < error,
        "{mean} ± {error}, exact {exact}"
    );
    assert!(error < 0.1 * exact, "{error} says little");
}

#[test]
fn four_servers_with_exponential_services_wait_as_erlang_says() {
    // Four places, each step 1 ms whoever is in it, answers of geometric length with a mean of 250
    // steps, Poisson arrivals at ρ = 0.7: M/M/4 but for the steps' grain.
    let (servers, step, mean_steps, load) = (4_u32, 1e-3, 250.0, 0.7);
    let rate = load * f64::from(servers) / (mean_steps * step);
    let mut state = 7_u64;
    let mut chance = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((state >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
    };
    let mut at = 0.0;
    let requests: Vec<TraceRequest> = (0..120_000)
        .map(|_| {
            at -= chance().ln() / rate;
            TraceRequest {
                arrival_s: at,
                input: 1,
                output: (-chance().ln() * mean_steps).ceil() as u64,
            }
        })
        .collect();
    let mut design = single(1, None);
    design.pools[0].engine.max_num_seqs = servers;
    design.pools[0].engine.scheduling.scheduler = Scheduler::Orca;
    let scenario = Scenario {
        plan: plan_of(&design, &Workload::fixed(1, 2, 1)),
        workload: Workload {
            arrivals: Arrivals::Trace,
            requests: 0,
            ..Workload::fixed(1, 1, 1)
        },
        trace: Some(Arc::new(Trace {
            requests,
            name: "Poisson".to_owned(),
            ..Trace::default()
        })),
        load: Load::TraceSpeed(1.0),
        fidelity: Arc::new(Roofline),
    };
    let watched = watch(&scenario, |_| 1_000_000_000, false);
    // To the first token: the wait, the rest of the step under way (half on average), its own.
    let waits = waits(&watched.records, |own| own.ttft as f64 * 1e-9 - 1.5 * step);
    let (mean, error) = mean_and_error(&waits);
    let a = load * f64::from(servers);
    let term = |n: u32| (1..=n).fold(1.0, |product, k| product * a / f64::from(k));
    let full = term(servers) / (1.0 - load);
    let erlang = full / ((0..servers).map(term).sum::<f64>() + full);
    let exact = erlang * mean_steps * step / (f64::from(servers) * (1.0 - load));
    // Services are rounded up by half a step, which is 0.2 % of them and so 1 % of the wait.
    assert!(
        (mean - exact).abs() < error + 0.01 * exact,
        "{mean} ± {error}, exact {exact}"
    );
    assert!(error < 0.2 * exact, "{error} says little");
}
