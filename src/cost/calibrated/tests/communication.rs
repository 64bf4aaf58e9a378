//! Collectives and expert exchanges: what is true of any parameters, and DeepEP's own table.

use crate::catalog::Catalog;
use crate::cost::calibrated::{
    Calibrations, Collective, Deepep, DeepepLowLatency, EngineAllReduce, Exchange, Family,
    Hardware, Kernel, NvlinkExchange, Parameter, Relative, Way, distinct, relatives,
};
use proptest::prelude::*;

fn hardware(gpu: &str) -> Hardware {
    let catalog = Catalog::embedded().unwrap();
    Hardware::of(catalog.gpu(&gpu.parse().unwrap()).unwrap())
}

/// Any parameters inside their bounds: `units` in 0 … 1, one for each.
fn within(family: &[Parameter], units: &[f64]) -> Vec<f64> {
    family
        .iter()
        .zip(units)
        .map(|(own, unit)| (own.low.ln() + unit * (own.high / own.low).ln()).exp())
        .collect()
}

/// Seconds; must be a time.
fn time<K: Kernel>(shape: &K, hardware: &Hardware, parameters: &[f64]) -> f64 {
    let parts = shape.physics(hardware, parameters);
    let all = [parts.compute, parts.memory, parts.link, parts.launch];
    assert!(all.iter().all(|own| own.is_finite() && *own >= -1e-12));
    assert!(parts.seconds.is_finite() && parts.seconds > 0.0);
    parts.seconds
}

/// Not faster, but for rounding.
fn not_below(slow: f64, fast: f64) -> bool {
    slow >= fast * (1.0 - 1e-9)
}

/// Every rate of the hardware so many times higher.
fn better(hardware: &Hardware, by: f64) -> Hardware {
    Hardware {
        scale_up: hardware.scale_up * by,
        bandwidth: hardware.bandwidth * by,
        sms: (hardware.sms * by).floor(),
        l2: hardware.l2 * by,
        ..*hardware
    }
}

fn units() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.0..1.0_f64, 16)
}

fn size() -> impl Strategy<Value = f64> {
    (0.0..34.0_f64).prop_map(f64::exp2)
}

proptest! {
    #[test]
    fn collectives_grow_with_bytes_and_shrink_with_links(
        units in units(), bytes in size(), more in 1.0..4.0_f64, ranks in 2_u32..576, which in 0_usize..5,
    ) {
        let parameters = within(Exchange::PARAMETERS, &units);
        let h100 = hardware("h100-sxm");
        let collective = Collective::ALL[which];
        let of = |bytes| Exchange { collective, ranks: f64::from(ranks), bytes, value: 2.0 };
        let t = time(&of(bytes), &h100, &parameters);
        let larger = time(&of(bytes * more), &h100, &parameters);
        prop_assert!(not_below(larger, t));
        // Continuous: so many times the bytes, at most so many times the time.
        prop_assert!(not_below(t * more, larger));
        prop_assert!(not_below(t, time(&of(bytes), &better(&h100, more), &parameters)));
        // Never faster than the wire.
        let wire = match collective {
            Collective::SendReceive => bytes,
            _ => bytes * f64::from(ranks - 1) / f64::from(ranks),
        };
        let share = parameters[2] + parameters[4] + parameters[6];
        let slack = parameters[7].min(1.0).powf(f64::from(ranks).log2() - 1.0);
        prop_assert!(t * 1.2 >= wire / (h100.scale_up * share) * slack);
    }

    #[test]
    fn engines_all_reduces_grow_with_bytes_and_shrink_with_links(
        units in units(), bytes in size(), more in 1.0..4.0_f64, ranks in 2_u32..17, eager: bool, switch: bool,
    ) {
        let parameters = within(EngineAllReduce::PARAMETERS, &units);
        let h100 = hardware("h100-sxm");
        let of = |bytes| EngineAllReduce { ranks: f64::from(ranks), bytes, eager, switch };
        let t = time(&of(bytes), &h100, &parameters);
        prop_assert!(not_below(time(&of(bytes * more), &h100, &parameters), t));
        prop_assert!(not_below(t, time(&of(bytes), &better(&h100, more), &parameters)));
        // The host can only add.
        let graph = EngineAllReduce { eager: false, ..of(bytes) };
        prop_assert!(not_below(t, time(&graph, &h100, &parameters)));
    }

    #[test]
    fn expert_exchanges_grow_with_what_is_sent(
        units in units(), tokens in 1.0..1e5_f64, hidden in 128.0..16384.0_f64, topk in 1_u32..23,
        experts in 3_u32..10, nodes in 0_u32..6, sms in 1_u32..133, more in 1.0..4.0_f64, back: bool,
    ) {
        let h800 = hardware("h800-sxm");
        let nodes = f64::from(1_u32 << nodes);
        let way = if back { Way::Combine } else { Way::Dispatch };
        let experts = 8.0 * nodes * f64::from(1_u32 << experts);
        let topk = f64::from(topk);
        let normal = Deepep {
            way, tokens, hidden, topk, experts, ranks: 8.0 * nodes, nodes, sms: f64::from(sms), nic: 50e9,
        };
        let parameters = within(Deepep::PARAMETERS, &units);
        let t = time(&normal, &h800, &parameters);
        for grown in [
            Deepep { tokens: tokens * more, ..normal },
            Deepep { hidden: hidden * more, ..normal },
            Deepep { topk: topk + 1.0, ..normal },
            Deepep { nic: 50e9 / more, ..normal },
        ] {
            let grown = time(&grown, &h800, &parameters);
            prop_assert!(not_below(grown, t));
        }
        prop_assert!(not_below(t, time(&normal, &better(&h800, more), &parameters)));
        let wider = Deepep { sms: f64::from(sms) * more, ..normal };
        prop_assert!(not_below(t, time(&wider, &h800, &parameters)));

        let low = DeepepLowLatency { way, tokens, hidden, topk, experts, ranks: 8.0 * nodes, nodes, nic: 50e9 };
        let parameters = within(DeepepLowLatency::PARAMETERS, &units);
        let t = time(&low, &h800, &parameters);
        for grown in [
            DeepepLowLatency { tokens: tokens * more, ..low },
            DeepepLowLatency { hidden: hidden * more, ..low },
            DeepepLowLatency { topk: topk + 1.0, ..low },
            DeepepLowLatency { nic: 50e9 / more, ..low },
        ] {
            let grown = time(&grown, &h800, &parameters);
            prop_assert!(not_below(grown, t));
        }
        prop_assert!(not_below(t, time(&low, &better(&h800, more), &parameters)));

        let nvlink = NvlinkExchange {
            tokens, token_bytes: hidden * 2.0, hidden, topk, experts, ranks: 8.0 * nodes,
            spread: distinct(topk, experts, 8.0 * nodes),
        };
        let parameters = within(NvlinkExchange::PARAMETERS, &units);
        let t = time(&nvlink, &h800, &parameters);
        for grown in [
            NvlinkExchange { tokens: tokens * more, ..nvlink },
            NvlinkExchange { token_bytes: hidden * 2.0 * more, ..nvlink },
        ] {
            let grown = time(&grown, &h800, &parameters);
            prop_assert!(not_below(grown, t));
        }
        prop_assert!(not_below(t, time(&nvlink, &better(&h800, more), &parameters)));
    }

    #[test]
    fn a_token_reaches_as_many_ranks_as_it_has_experts_at_most(topk in 1_u32..32, log in 3_u32..10, ranks in 0_u32..4) {
        let (topk, experts, ranks) = (f64::from(topk), f64::from(1_u32 << log), f64::from(1_u32 << ranks));
        let reached = distinct(topk, experts, ranks);
        prop_assert!(reached <= topk.min(ranks) + 1e-9);
        prop_assert!(reached >= 1.0 - 1e-9);
        prop_assert!(distinct(topk + 0.5, experts, ranks) >= reached - 1e-12);
    }
}

#[test]
fn what_happens_on_a_hosts_pcie_is_lent_to_nobody() {
    let catalog = Catalog::embedded().unwrap();
    let calibrations = Calibrations::embedded().unwrap();
    let of = |id: &str, family| {
        let own = catalog.gpu(&id.parse().unwrap()).unwrap();
        relatives(own, family, &catalog)
    };
    for family in [Family::Nccl, Family::CustomAllreduce, Family::DeepepNormal] {
        assert_eq!(of("l20", family), Vec::new());
        assert!(
            of("a100-80-sxm", family)
                .iter()
                .all(|own| own.gpu.as_str() != "l40s")
        );
        // The first that was measured: B300's tables are nowhere.
        let first = |id: &str| {
            let kin = of(id, family);
            let known = |own: &&Relative| {
                let mut all = calibrations.surfaces().iter();
                all.any(|surface| surface.id.gpu == own.gpu)
            };
            kin.iter().find(known).unwrap().gpu.to_string()
        };
        assert_eq!(first("gb300"), "gb200");
        assert_eq!(first("h800-sxm"), "h100-sxm");
    }
    let ada = of("l20", Family::Gemm);
    assert_eq!(
        [ada[0].gpu.as_str(), ada[1].gpu.as_str()],
        ["rtx-4090", "l40s"]
    );
}

#[test]
fn eight_of_256_experts_reach_five_of_eight_ranks() {
    // 8 · (1 − C(224, 8) / C(256, 8)).
    assert!((distinct(8.0, 256.0, 8.0) - 5.294).abs() < 1e-3);
    assert_eq!(distinct(1.0, 16.0, 8.0), 1.0);
    assert_eq!(distinct(16.0, 16.0, 8.0), 8.0);
}

/// DeepEP's high-throughput mode over up to four nodes of H100, as fitted.
const DISPATCH: [f64; 9] = [12.193, 0.997, 0.82, 1e-4, 0.947, 13.113, 6.675, 4.872, 1.0];
const COMBINE: [f64; 9] = [8.53, 1.055, 0.82, 1e-4, 0.924, 25.826, 12.051, 5.027, 1.0];
/// Its low-latency mode over up to eight.
const LOW_DISPATCH: [f64; 10] = [
    97.83, 0.9, 0.546, 1e4, 1e-3, 0.954, 7.265, 3.896, 4.718, 1.035,
];
const LOW_COMBINE: [f64; 10] = [
    122.209, 0.9, 0.668, 8.596, 5.343, 0.944, 3.0, 4.715, 6.142, 1.036,
];

/// What was fitted on H100 prices DeepEP's own table of H800 with 400 Gb/s ConnectX-7 (its README,
/// V1; `systems.md` §18): another NVLink, the same NIC.
#[test]
fn deepep_on_h800_is_what_its_readme_says() {
    let h800 = hardware("h800-sxm");
    // 4096 tokens, top-8, FP8 there and BF16 back, 24 SMs: GB/s over NVLink for one node, over RDMA
    // for more, every node a token goes to counted, its own too.
    let table = [
        (1.0, 153.0, 158.0),
        (2.0, 43.0, 43.0),
        (4.0, 58.0, 57.0),
        (8.0, 51.0, 50.0),
    ];
    for (nodes, there, back) in table {
        for (way, parameters, measured) in [
            (Way::Dispatch, DISPATCH, there),
            (Way::Combine, COMBINE, back),
        ] {
            let shape = Deepep {
                way,
                tokens: 4096.0,
                hidden: 7168.0,
                topk: 8.0,
                experts: 256.0,
                ranks: 8.0 * nodes,
                nodes,
                sms: 24.0,
                nic: 50e9,
            };
            let bytes = 4096.0
                * 7168.0
                * if way == Way::Dispatch {
                    1.0 + 4.0 / 128.0
                } else {
                    2.0
                };
            let copies = if nodes == 1.0 {
                distinct(8.0, 256.0, 8.0)
            } else {
                distinct(8.0, 256.0, nodes.min(4.0))
            };
            let got = bytes * copies / time(&shape, &h800, &parameters) * 1e-9;
            assert!(
                (got / measured - 1.0).abs() < 0.12,
                "{way:?} over {nodes} nodes: {got:.1} GB/s, measured {measured}"
            );
        }
    }
    // 128 tokens, low latency: microseconds.
    let table = [
        (1.0, 77.0, 114.0),
        (2.0, 118.0, 195.0),
        (4.0, 155.0, 273.0),
        (8.0, 173.0, 314.0),
        (16.0, 192.0, 369.0),
        (32.0, 194.0, 360.0),
    ];
    for (nodes, there, back) in table {
        for (way, parameters, measured) in [
            (Way::Dispatch, LOW_DISPATCH, there),
            (Way::Combine, LOW_COMBINE, back),
        ] {
            let shape = DeepepLowLatency {
                way,
                tokens: 128.0,
                hidden: 7168.0,
                topk: 8.0,
                experts: 256.0,
                ranks: 8.0 * nodes,
                nodes,
                nic: 50e9,
            };
            let got = time(&shape, &h800, &parameters) * 1e6;
            assert!(
                (got / measured - 1.0).abs() < 0.12,
                "{way:?} over {nodes} nodes: {got:.0} us, measured {measured}"
            );
        }
    }
}
