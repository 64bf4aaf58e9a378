use super::*;
use crate::catalog::{Catalog, NodeTypeId, SwitchTypeId};
use std::sync::Arc;

fn catalog() -> Arc<Catalog> {
    Arc::new(Catalog::embedded().unwrap())
}

fn node(id: &str, kind: &str, count: u32) -> Group {
    Group {
        id: GroupId::new(id).unwrap(),
        name: id.to_owned(),
        kind: GroupKind::Node(NodeTypeId::new(kind).unwrap()),
        count,
        position: Position::default(),
        overrides: std::collections::BTreeMap::default(),
    }
}

fn switch(id: &str, kind: &str, count: u32) -> Group {
    Group {
        kind: GroupKind::Switch(SwitchTypeId::new(kind).unwrap()),
        ..node(id, "x", count)
    }
}

fn link(id: &str, a: &str, b: &str, count: u32, wiring: Wiring) -> LinkBundle {
    let port = |group: &str| Port {
        group: GroupId::new(group).unwrap(),
        instances: Instances::Each,
    };
    LinkBundle {
        id: LinkId::new(id).unwrap(),
        a: port(a),
        b: port(b),
        count,
        rate: "400 Gb/s".parse().unwrap(),
        latency: "2 us".parse().unwrap(),
        kind: LinkKind::Infiniband,
        wiring,
    }
}

fn errors(faults: &[(ClusterPlace, ClusterFault)]) -> Vec<String> {
    faults
        .iter()
        .filter(|(_, fault)| fault.is_error())
        .map(|(_, fault)| fault.to_string())
        .collect()
}

#[test]
fn two_nodes_meet_over_their_own_rails() {
    let cluster = Cluster {
        groups: vec![node("a", "hgx-h800", 1), node("b", "hgx-h800", 1)],
        links: vec![link("l", "a", "b", 8, Wiring::All)],
    };
    let (topology, faults) = unfold(&cluster, &catalog());
    assert_eq!(errors(&faults), Vec::<String>::new());
    assert_eq!(topology.gpus().len(), 16);
    let mut router = Router::new(&topology);
    let mut used = std::collections::BTreeSet::new();
    for slot in 0..8 {
        let path = router.path(GpuIx(slot), GpuIx(8 + slot)).unwrap();
        assert_eq!(path.channels.len(), 3, "GPU, NIC, NIC, GPU");
        assert_eq!(path.rate, "400 Gb/s".parse().unwrap());
        used.insert(path.channels[1]);
    }
    assert_eq!(used.len(), 8, "each rail carries its own flow");
    // Inside a node no NIC is touched.
    let inside = router.path(GpuIx(0), GpuIx(5)).unwrap();
    assert!(
        inside
            .channels
            .iter()
            .all(|id| topology.channel(*id).class == ChannelClass::ScaleUp)
    );
    assert_eq!(inside.rate, "200 GB/s".parse().unwrap());
}

#[test]
fn rails_of_a_leaf_fabric_stay_apart() {
    let cluster = Cluster {
        groups: vec![
            node("n", "hgx-h800", 32),
            switch("leaf", "qm9700-64x400g", 8),
        ],
        links: vec![link("l", "n", "leaf", 8, Wiring::Rails)],
    };
    let (topology, faults) = unfold(&cluster, &catalog());
    assert_eq!(errors(&faults), Vec::<String>::new());
    let mut router = Router::new(&topology);
    let same_rail = router.path(GpuIx(3), GpuIx(8 * 7 + 3)).unwrap();
    assert_eq!(same_rail.channels.len(), 4);
    // Another rail is reached over NVLink, at one end or the other.
    let other_rail = router.path(GpuIx(3), GpuIx(8 * 7 + 4)).unwrap();
    assert_eq!(other_rail.channels.len(), 6);
    assert!(
        topology
            .channel_name(same_rail.channels[1])
            .contains("NIC 3 → leaf 3")
    );
}

#[test]
fn unlinked_nodes_are_not_joined() {
    let cluster = Cluster {
        groups: vec![node("a", "hgx-h800", 1), node("b", "hgx-h800", 1)],
        links: vec![],
    };
    let (topology, _) = unfold(&cluster, &catalog());
    assert!(Router::new(&topology).path(GpuIx(0), GpuIx(8)).is_none());
}

#[test]
fn every_fault_is_named() {
    let mut to_nowhere = link("l2", "a", "zzz", 1, Wiring::All);
    to_nowhere.rate = "100 Gb/s".parse().unwrap();
    let cluster = Cluster {
        groups: vec![
            node("a", "hgx-h800", 1),
            node("b", "no-such-node", 1),
            node("c", "hgx-h800", 0),
            node("d", "hgx-h800", 1),
        ],
        links: vec![
            to_nowhere,
            link("l3", "a", "d", 9, Wiring::All),
            link("l4", "a", "d", 0, Wiring::All),
            LinkBundle {
                kind: LinkKind::NvLink,
                ..link("l5", "a", "d", 1, Wiring::All)
            },
        ],
    };
    let all = errors(&unfold(&cluster, &catalog()).1).join("\n");
    for part in [
        "no-such-node",
        "from 1 to",
        "“zzz”, which is not drawn",
        "8 NICs but 9 links",
        "a bundle has",
        "NVLink can't join",
    ] {
        assert!(all.contains(part), "{part} is missing in:\n{all}");
    }
}

#[test]
fn a_faster_link_runs_at_the_nic() {
    let mut fast = link("l", "a", "b", 8, Wiring::All);
    fast.rate = "800 Gb/s".parse().unwrap();
    let cluster = Cluster {
        groups: vec![node("a", "hgx-h800", 1), node("b", "hgx-h800", 1)],
        links: vec![fast],
    };
    let (topology, faults) = unfold(&cluster, &catalog());
    assert_eq!(faults.len(), 1);
    assert!(!faults[0].1.is_error());
    let path = Router::new(&topology).path(GpuIx(0), GpuIx(8)).unwrap();
    assert_eq!(path.rate, "50 GB/s".parse().unwrap());
}

#[test]
fn loose_gpus_in_a_drawn_domain() {
    let gpu = |id: &str| Group {
        kind: GroupKind::Gpu(crate::catalog::GpuId::new("h100-sxm").unwrap()),
        ..node(id, "x", 4)
    };
    let domain = Group {
        kind: GroupKind::Domain {
            kind: DomainKind::NvSwitch,
            rate: "450 GB/s".parse().unwrap(),
        },
        ..node("dom", "x", 1)
    };
    let nvlink = LinkBundle {
        kind: LinkKind::NvLink,
        rate: "450 GB/s".parse().unwrap(),
        ..link("l", "g", "dom", 1, Wiring::All)
    };
    let cluster = Cluster {
        groups: vec![gpu("g"), domain],
        links: vec![nvlink],
    };
    let (topology, faults) = unfold(&cluster, &catalog());
    assert_eq!(errors(&faults), Vec::<String>::new());
    assert_eq!(topology.domain_size(topology.gpu(GpuIx(0)).domain), 4);
    assert_eq!(
        Router::new(&topology)
            .path(GpuIx(0), GpuIx(3))
            .unwrap()
            .rate,
        "450 GB/s".parse().unwrap()
    );
}
