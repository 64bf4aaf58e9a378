use super::*;
use proptest::prelude::*;

fn shares(list: &[(u32, f64)]) -> Rc<Vec<(u32, f64)>> {
    Rc::new(list.to_vec())
}

fn rates(network: &Network) -> Vec<f64> {
    network.flows.iter().map(|flow| flow.rate).collect()
}

#[test]
fn one_flow_takes_its_slowest_channel() {
    let mut network = Network::new(vec![50e9, 100e9]);
    network.start(0, ReqId(0), shares(&[(0, 1.0), (1, 1.0)]), 2_684_354_560.0);
    // Llama-70B's KV of 8,192 tokens over one 400G NIC (cases.md T48).
    assert_eq!(network.next_end(), Some(53_687_092));
}

#[test]
fn two_flows_share_and_the_rest_speeds_up() {
    let mut network = Network::new(vec![50e9]);
    network.start(0, ReqId(0), shares(&[(0, 1.0)]), 2_684_354_560.0);
    network.start(0, ReqId(1), shares(&[(0, 1.0)]), 2_684_354_560.0);
    let end = network.next_end().unwrap();
    assert!((end as f64 * 1e-6 - 107.4).abs() < 0.05, "{end}");
    let mut ended = Vec::new();
    network.finish(end, &mut ended);
    assert_eq!(ended, vec![ReqId(0), ReqId(1)]);
    assert!(network.is_idle());
    assert!((network.sent - network.received).abs() < 1.0);
    let carried: Vec<Carried> = network.carried(end).collect();
    assert_eq!(carried[0].full, end);
}

#[test]
fn max_min_gives_the_rest_to_who_can_use_it() {
    // Flow 0 on channels 0 and 1, flow 1 on 0, flow 2 on 1: channel 0 carries 1, channel 1 3.
    let mut network = Network::new(vec![1e9, 3e9]);
    network.start(0, ReqId(0), shares(&[(0, 1.0), (1, 1.0)]), 1e9);
    network.start(0, ReqId(1), shares(&[(0, 1.0)]), 1e9);
    network.start(0, ReqId(2), shares(&[(1, 1.0)]), 1e9);
    for (rate, fair) in rates(&network).iter().zip([0.5e9, 0.5e9, 2.5e9]) {
        assert!((rate - fair).abs() < 1.0, "{rate} {fair}");
    }
}

#[test]
fn four_nics_are_four_times_as_fast() {
    let mut network = Network::new(vec![50e9; 4]);
    let quarter = [(0, 0.25), (1, 0.25), (2, 0.25), (3, 0.25)];
    network.start(0, ReqId(0), shares(&quarter), 2_684_354_560.0);
    assert!((network.next_end().unwrap() as f64 * 1e-6 - 13.42).abs() < 0.01);
}

#[test]
fn what_others_take_of_a_channel_flows_go_without() {
    let mut network = Network::new(vec![50e9]);
    network.start(0, ReqId(0), shares(&[(0, 1.0)]), 50e9);
    network.take(500_000_000, 0, 0.75);
    // Half is there; the other half takes four times as long.
    assert_eq!(network.next_end(), Some(2_500_000_000));
    network.take(1_500_000_000, 0, 0.0);
    assert_eq!(network.next_end(), Some(1_750_000_000));
}

/// The textbook's progressive filling of all flows at once.
fn filled(capacity: &[f64], flows: &[Rc<Vec<(u32, f64)>>]) -> Vec<f64> {
    let mut rate: Vec<Option<f64>> = vec![None; flows.len()];
    loop {
        let left = |channel: usize| {
            let (mut room, mut load) = (capacity[channel], 0.0);
            for (flow, own) in flows.iter().zip(&rate) {
                for (_, share) in flow.iter().filter(|(own, _)| *own as usize == channel) {
                    match own {
                        Some(rate) => room -= share * rate,
                        None => load += share,
                    }
                }
            }
            (load > 0.0).then_some((room / load, channel))
        };
        let first = (0..capacity.len()).filter_map(left);
        let Some((level, full)) = first.min_by(|a, b| a.0.total_cmp(&b.0)) else {
            return rate.into_iter().map(|rate| rate.unwrap_or(0.0)).collect();
        };
        for (flow, own) in flows.iter().zip(&mut rate) {
            if own.is_none() && flow.iter().any(|(own, _)| *own as usize == full) {
                *own = Some(level);
            }
        }
    }
}

proptest! {
    /// Whatever starts and ends, in whatever order, rates are those of filling all at once, no
    /// channel carries more than it can, and every byte arrives.
    #[test]
    fn rates_are_the_textbooks(
        capacity in proptest::collection::vec(1.0_f64..100.0, 1..12),
        coming in proptest::collection::vec(
            (0_u64..40, proptest::collection::btree_map(0_u32..12, 0.1_f64..1.0, 1..5), 1.0_f64..1e3),
            1..40,
        ),
    ) {
        let mut network = Network::new(capacity.clone());
        let mut now = 0;
        let mut ended = Vec::new();
        let compare = |network: &Network| {
            let live: Vec<&Flow> =
                network.flows.iter().filter(|flow| !flow.uses.is_empty()).collect();
            let all: Vec<_> = live.iter().map(|flow| Rc::clone(&flow.uses)).collect();
            for (flow, fair) in live.iter().zip(filled(&capacity, &all)) {
                prop_assert!((flow.rate - fair).abs() <= fair * 1e-6, "{} {fair}", flow.rate);
            }
            Ok(())
        };
        for (index, (wait, uses, bytes)) in coming.into_iter().enumerate() {
            let until = now + wait * 1_000_000_000;
            while let Some(end) = network.next_end().filter(|end| *end <= until) {
                network.finish(end, &mut ended);
                compare(&network)?;
            }
            now = until;
            let count = capacity.len() as u32;
            let mut merged = std::collections::BTreeMap::new();
            for (channel, share) in uses {
                *merged.entry(channel % count).or_insert(0.0) += share;
            }
            let request = ReqId(index as u32);
            network.start(now, request, Rc::new(merged.into_iter().collect()), bytes);
            compare(&network)?;
        }
        while let Some(end) = network.next_end() {
            prop_assert!(end >= now);
            now = end;
            network.finish(end, &mut ended);
        }
        prop_assert!(network.is_idle());
        prop_assert!((network.sent - network.received).abs() <= network.sent * 1e-9);
        for (link, done) in network.links.iter().zip(network.carried(now)) {
            let most = link.rate * now as f64 * 1e-9;
            prop_assert!(done.bytes <= most * (1.0 + 1e-6) + 1e-6);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    /// Gathered changes are late by a tick each way at most: while as much is under way, everything
    /// arrives little later than exactly.
    #[test]
    fn gathered_changes_are_little_later(
        coming in proptest::collection::vec(
            (0_u64..3_000_000, 0_u32..6, 6_u32..12, 1e6_f64..50e6), 1..80,
        ),
    ) {
        let run = |exact: usize| {
            let mut network = Network::new(vec![10e9; 12]);
            network.exact = exact;
            let mut ends = std::collections::BTreeMap::new();
            let mut ended = Vec::new();
            let mut note = |network: &mut Network, end: Nanos| {
                ended.clear();
                network.finish(end, &mut ended);
                for id in &ended {
                    ends.insert(*id, end);
                }
            };
            let mut now = 0;
            for (index, (wait, from, to, bytes)) in coming.iter().enumerate() {
                now += wait;
                while let Some(end) = network.next_end().filter(|end| *end <= now) {
                    note(&mut network, end);
                }
                let uses = shares(&[(*from, 1.0), (*to, 1.0)]);
                network.start(now, ReqId(index as u32), uses, *bytes);
            }
            while let Some(end) = network.next_end() {
                note(&mut network, end);
            }
            prop_assert!(network.is_idle());
            let sum: u64 = ends.values().sum();
            Ok((ends.len(), sum as f64 / ends.len() as f64))
        };
        let ((count, exact), (same, gathered)) = (run(EXACT)?, run(0)?);
        prop_assert_eq!((count, same), (coming.len(), coming.len()));
        // A tick before it starts, and one before it feels each of those that ended before it.
        let late = gathered - exact;
        prop_assert!(late > -2.0 * TICK as f64 && late < 4.0 * TICK as f64, "{late}");
    }
}
