//! Attention and FFN on different GPUs: books balance, runs repeat, and what slows a half slows all.

use super::*;
use crate::cluster::GpuRange;
use crate::plan::{Layout, Role, Service, Split};

/// Two H800 servers: the first attends with TP `tp`, the second has the FFNs in `copies` replicas.
fn split(tp: u32, copies: u32, how: Split) -> Design {
    let mut design = design(0);
    let of = |tp, ep| Layout {
        tp,
        ep,
        ..Layout::SINGLE
    };
    design.pools[0].role = Role::Attention;
    design.pools[0].layout = of(tp, 1);
    design.pools[1].role = Role::Ffn;
    design.pools[1].layout = of(8 / copies, 8 / copies);
    design.settle();
    for service in &mut design.services {
        if let Service::Afd { split, .. } = service {
            *split = how;
        }
    }
    design
}

fn how(micro_batches: u32, broadcast: bool) -> Split {
    Split {
        micro_batches,
        broadcast,
        ..Split::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn books_balance_over_random_splits(
        tp in 0_u32..3,
        copies in 0_u32..3,
        micro_batches in 1_u32..5,
        broadcast in any::<bool>(),
        (input, output) in (1_u64..2000, 1_u64..60),
        rate in 1.0_f64..40.0,
        seed in any::<u64>(),
    ) {
        // As many attention replicas as copies, or a multiple.
        let (tp, copies) = (1 << tp, 1 << copies.min(3 - tp));
        let design = split(tp, copies, how(micro_batches, broadcast));
        let mut workload = Workload::fixed(input, output, 60);
        workload.seed = seed;
        let scenario = scenario(&design, workload, Load::Rate(rate));
        let (one, again) = (go(&scenario), go(&scenario));
        prop_assert_eq!(&one, &again);
        prop_assert_eq!(one.requests.completed, 60);
        let [own] = one.splits.as_slice() else {
            panic!("{:?}", one.splits)
        };
        for share in [own.attention, own.dispatch, own.ffn, own.combine] {
            prop_assert!((0.0..=1.0).contains(&share));
        }
        prop_assert!((own.attention + own.attention_bubble - 1.0).abs() < 1e-9);
    }
}

/// A prefill pool of its own in front: its KV goes to the attention lanes.
#[test]
fn a_prefill_pool_feeds_a_split() {
    let mut design = split(1, 1, how(3, true));
    let mut prefill = design.pools[0].clone();
    let half = |range: &str| vec![range.parse::<GpuRange>().unwrap()];
    prefill.id = crate::plan::PoolId::new("front").unwrap();
    prefill.role = Role::Prefill;
    prefill.layout = Layout {
        tp: 4,
        ep: 4,
        ..Layout::SINGLE
    };
    prefill.gpus = half("n0/0/0-3");
    design.pools[0].gpus = half("n0/0/4-7");
    design.pools.push(prefill);
    design.services.clear();
    design.settle();
    let summary = go(&scenario(
        &design,
        Workload::fixed(1000, 50, 100),
        Load::Rate(10.0),
    ));
    assert_eq!(
        (summary.requests.completed, summary.work.transfers),
        (100, 100)
    );
    assert_eq!(summary.splits.len(), 1);
}

/// Two kinds of attention GPUs on one FFN pool: all wait for the slower.
#[test]
fn a_slow_attention_gpu_slows_all() {
    let run = |node: &str| {
        let mut design = split(1, 1, how(3, true));
        let mut slow = design.cluster.groups[0].clone();
        slow.id = crate::cluster::GroupId::new("slow").unwrap();
        slow.kind = crate::cluster::GroupKind::Node(crate::catalog::NodeTypeId::new(node).unwrap());
        let mut link = design.cluster.links[0].clone();
        link.id = crate::cluster::LinkId::new("slow-link").unwrap();
        link.a.group = slow.id.clone();
        link.b.group = crate::cluster::GroupId::new("n1").unwrap();
        // The FFN server's NICs are shared between both.
        link.count = 4;
        design.cluster.links[0].count = 4;
        design.cluster.groups.push(slow);
        design.cluster.links.push(link);
        let mut pool = design.pools[0].clone();
        pool.id = crate::plan::PoolId::new("slow").unwrap();
        pool.gpus = vec!["slow/0/0-7".parse::<GpuRange>().unwrap()];
        design.pools.push(pool);
        design.services.clear();
        design.settle();
        let plan = plan_of(&design, &Workload::fixed(100, 200, 1));
        assert_eq!(plan.services[0].holders().len(), 2);
        let workload = Workload {
            arrivals: Arrivals::Closed,
            ..Workload::fixed(4000, 200, 400)
        };
        go(&scenario(&design, workload, Load::Concurrency(320)))
            .tpot_s
            .mean
    };
    let (level, uneven) = (run("hgx-h800"), run("l20-8"));
    assert!(uneven > 1.2 * level, "{uneven} against {level}");
}
