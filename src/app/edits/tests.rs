use super::*;
use crate::catalog::{ModelId, NodeTypeId, SwitchTypeId};
use crate::cluster::{LinkKind, Wiring, unfold};
use crate::model::Precision;
use crate::plan::{DesignId, Engine, EngineKind, Layout, ModelRef, PoolId, Role};
use std::sync::Arc;

fn catalog() -> Arc<Catalog> {
    Catalog::embedded_shared().unwrap()
}

fn blank() -> Design {
    Design {
        id: DesignId::new("a").unwrap(),
        name: "A".to_owned(),
        cluster: Cluster::default(),
        model: ModelRef::Preset(ModelId::new("m").unwrap()),
        pools: Vec::new(),
        services: Vec::new(),
        feeds: Vec::new(),
        routing: crate::plan::Routing::default(),
    }
}

fn add(design: &mut Design, kind: &str, catalog: &Catalog) -> GroupId {
    let kind = if catalog.node(&NodeTypeId::from_label(kind)).is_some() {
        GroupKind::Node(NodeTypeId::from_label(kind))
    } else {
        GroupKind::Switch(SwitchTypeId::from_label(kind))
    };
    add_group(design, kind, Position { x: 8.0, y: 16.0 }, catalog)
}

fn all(design: &Design, id: &GroupId, catalog: &Catalog) -> BTreeSet<GpuAddress> {
    gpus_of_group(design.cluster.group(id).unwrap(), catalog)
}

fn some(group: &GroupId, slots: std::ops::Range<u32>) -> BTreeSet<GpuAddress> {
    slots
        .map(|slot| GpuAddress {
            group: group.clone(),
            instance: 0,
            slot,
        })
        .collect()
}

fn no_errors(design: &Design, catalog: &Catalog) {
    let (_, faults) = unfold(&design.cluster, catalog);
    let errors: Vec<_> = faults
        .iter()
        .filter(|(_, fault)| fault.is_error())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn new_things_have_names_of_their_own() {
    let (mut design, catalog) = (blank(), catalog());
    let ids: Vec<String> = ["hgx-h800", "hgx-h800", "gb200-nvl72", "qm9700-64x400g"]
        .iter()
        .map(|kind| add(&mut design, kind, &catalog).to_string())
        .collect();
    assert_eq!(ids, ["h800-1", "h800-2", "gb200-1", "leaf-1"]);
    let names: Vec<&str> = design
        .cluster
        .groups
        .iter()
        .map(|g| g.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["H800 node 1", "H800 node 2", "GB200 rack 1", "Leaf 1"]
    );
    // A number that was freed is used again, and never doubled.
    remove_groups(
        &mut design,
        &BTreeSet::from([GroupId::new("h800-1").unwrap()]),
    );
    assert_eq!(add(&mut design, "hgx-h800", &catalog).as_str(), "h800-1");
}

#[test]
fn every_gpu_and_node_of_the_catalog_has_short_words() {
    let catalog = catalog();
    for gpu in catalog.gpus() {
        let short = gpu_short(gpu);
        assert!(!short.is_empty() && short.len() <= 16, "{short}");
        assert!(gpu_memory(gpu).ends_with(" GB"));
    }
    let detail =
        |id: &str| node_detail(catalog.node(&NodeTypeId::from_label(id)).unwrap(), &catalog);
    assert_eq!(detail("hgx-h800"), "8 × H800 80 GB");
    assert_eq!(detail("hgx-h20"), "8 × H20 96 GB");
    assert_eq!(detail("rtx-4090-8"), "8 × RTX 4090 24 GB");
}

#[test]
fn moving_and_placing() {
    let (mut design, catalog) = (blank(), catalog());
    let a = add(&mut design, "hgx-h800", &catalog);
    let b = add(&mut design, "hgx-h20", &catalog);
    move_groups(&mut design, &BTreeSet::from([a.clone()]), 10.0, -6.0);
    let at = |design: &Design, id| design.cluster.group(id).unwrap().position;
    assert_eq!(at(&design, &a), Position { x: 18.0, y: 10.0 });
    assert_eq!(at(&design, &b), Position { x: 8.0, y: 16.0 });
    place_groups(&mut design, &[(b.clone(), Position { x: 1.0, y: 2.0 })]);
    assert_eq!(at(&design, &b), Position { x: 1.0, y: 2.0 });
}

#[test]
fn two_nodes_get_their_eight_nics_joined() {
    let (mut design, catalog) = (blank(), catalog());
    let a = add(&mut design, "hgx-h800", &catalog);
    let b = add(&mut design, "hgx-h20", &catalog);
    let link = can_connect(&design, &a, &b, LinkKind::Infiniband, &catalog).unwrap();
    assert_eq!(
        (link.count, wire_rate(link.rate)),
        (8, "400 Gb/s".to_owned())
    );
    connect(&mut design, &link);
    no_errors(&design, &catalog);
    // Every NIC is taken now.
    assert_eq!(ports_used(&design.cluster, &a), 8);
    let refusal = can_connect(&design, &a, &b, LinkKind::Infiniband, &catalog).unwrap_err();
    assert!(refusal.contains("8 NICs"), "{refusal}");
}

#[test]
fn a_rail_fabric_fits_its_switches() {
    let (mut design, catalog) = (blank(), catalog());
    let nodes = add(&mut design, "hgx-h800", &catalog);
    let leaves = add(&mut design, "qm9700-64x400g", &catalog);
    let spines = add(&mut design, "qm9700-64x400g-spine", &catalog);
    for (id, count) in [(&nodes, 32), (&leaves, 8), (&spines, 4)] {
        design.cluster.group_mut(id).unwrap().count = count;
    }
    // Drawn from either end the nodes' NICs go to the rails.
    let link = can_connect(&design, &leaves, &nodes, LinkKind::Infiniband, &catalog).unwrap();
    assert_eq!(
        (link.count, link.wiring, &link.a.group),
        (8, Wiring::Rails, &nodes)
    );
    connect(&mut design, &link);
    assert_eq!(ports_used(&design.cluster, &leaves), 32);
    let up = can_connect(&design, &spines, &leaves, LinkKind::Infiniband, &catalog).unwrap();
    assert_eq!((up.count, &up.a.group), (8, &leaves));
    connect(&mut design, &up);
    assert_eq!(ports_used(&design.cluster, &leaves), 64);
    assert_eq!(ports_used(&design.cluster, &spines), 64);
    no_errors(&design, &catalog);
}

#[test]
fn what_cannot_be_joined_is_refused_with_the_reason() {
    let (mut design, catalog) = (blank(), catalog());
    let a = add(&mut design, "hgx-h800", &catalog);
    let b = add(&mut design, "hgx-h800", &catalog);
    let reason = |a, b, kind| can_connect(&design, a, b, kind, &catalog).unwrap_err();
    assert!(reason(&a, &b, LinkKind::NvLink).contains("scale-up domain"));
    assert!(reason(&a, &b, LinkKind::Pcie).contains("loose"));
    assert!(reason(&a, &a, LinkKind::Infiniband).contains("different"));
    design.cluster.group_mut(&b).unwrap().count = 64;
    assert!(can_connect(&design, &a, &b, LinkKind::Infiniband, &catalog).is_err());
}

#[test]
fn painting_makes_the_default_pool_once() {
    let (mut design, catalog) = (blank(), catalog());
    let a = add(&mut design, "hgx-h800", &catalog);
    let b = add(&mut design, "hgx-h20", &catalog);
    let both: BTreeSet<_> = all(&design, &a, &catalog)
        .union(&all(&design, &b, &catalog))
        .cloned()
        .collect();
    paint(&mut design, &both, Some(Role::Decode), None, &catalog);
    // One GPU type per pool.
    let pools: Vec<_> = design
        .pools
        .iter()
        .map(|p| (p.name.as_str(), p.layout.tp))
        .collect();
    assert_eq!(pools, [("Decode H20", 8), ("Decode H800", 8)]);
    let h800 = catalog.gpu(&"h800-sxm".parse().unwrap()).unwrap();
    let usual = Engine::defaults(EngineKind::Vllm, h800, Layout::SINGLE);
    assert_eq!(design.pools[1].engine, usual);
    paint(
        &mut design,
        &some(&a, 0..4),
        Some(Role::Prefill),
        None,
        &catalog,
    );
    let prefill = design
        .pools
        .iter()
        .find(|p| p.role == Role::Prefill)
        .unwrap();
    assert_eq!(
        (prefill.name.as_str(), prefill.layout.tp),
        ("Prefill H800", 4)
    );
    assert_eq!(prefill.gpus[0].to_string(), "h800-1/0/0-3");
    // The pool that lost half its GPUs still holds a replica, narrower.
    let decode = design.pool(&PoolId::new("decode-h800").unwrap()).unwrap();
    assert_eq!(
        (decode.gpus[0].to_string().as_str(), decode.layout.tp),
        ("h800-1/0/4-7", 4)
    );
    // The rest joins the same pool, which keeps its id and layout.
    paint(
        &mut design,
        &some(&a, 4..8),
        Some(Role::Prefill),
        None,
        &catalog,
    );
    let ids: Vec<_> = design.pools.iter().map(|p| p.id.as_str()).collect();
    assert_eq!(ids, ["decode-h20", "prefill-h800"]);
    assert_eq!(design.pools[1].gpus[0].len(), 8);
    assert_eq!(design.pools[1].layout.tp, 4);
}

#[test]
fn painting_what_has_the_role_changes_nothing() {
    let (mut design, catalog) = (blank(), catalog());
    let a = add(&mut design, "hgx-h800", &catalog);
    paint(
        &mut design,
        &some(&a, 0..8),
        Some(Role::Prefill),
        None,
        &catalog,
    );
    design.pools[0].precision = Precision::FP8;
    let before = design.clone();
    paint(
        &mut design,
        &some(&a, 2..5),
        Some(Role::Prefill),
        None,
        &catalog,
    );
    let target = design.pools[0].id.clone();
    paint(
        &mut design,
        &some(&a, 0..8),
        Some(Role::Prefill),
        Some(&target),
        &catalog,
    );
    assert_eq!(design, before);
    // A new pool keeps the precision of the one its GPUs came from.
    paint(
        &mut design,
        &some(&a, 4..8),
        Some(Role::Decode),
        None,
        &catalog,
    );
    assert_eq!(design.pools[1].precision, Precision::FP8);
}

#[test]
fn idle_gpus_leave_their_pool_and_empty_pools_go() {
    let (mut design, catalog) = (blank(), catalog());
    let a = add(&mut design, "hgx-h800", &catalog);
    paint(
        &mut design,
        &some(&a, 0..8),
        Some(Role::Colocated),
        None,
        &catalog,
    );
    paint(&mut design, &some(&a, 6..8), None, None, &catalog);
    assert_eq!(design.pools[0].gpus[0].to_string(), "h800-1/0/0-5");
    paint(&mut design, &some(&a, 0..8), None, None, &catalog);
    assert!(design.pools.is_empty());
    // A GPU that isn't there can't be painted.
    paint(
        &mut design,
        &some(&a, 8..9),
        Some(Role::Decode),
        None,
        &catalog,
    );
    assert!(design.pools.is_empty());
}

#[test]
fn removing_a_node_removes_its_links_and_pools() {
    let (mut design, catalog) = (blank(), catalog());
    let a = add(&mut design, "hgx-h800", &catalog);
    let b = add(&mut design, "hgx-h20", &catalog);
    let link = can_connect(&design, &a, &b, LinkKind::Roce, &catalog).unwrap();
    connect(&mut design, &link);
    paint(
        &mut design,
        &some(&a, 0..8),
        Some(Role::Prefill),
        None,
        &catalog,
    );
    remove_groups(&mut design, &BTreeSet::from([a]));
    assert_eq!(design.cluster.groups.len(), 1);
    assert!(design.cluster.links.is_empty() && design.pools.is_empty());
}

#[test]
fn a_copy_serves_beside_its_original() {
    let (mut design, catalog) = (blank(), catalog());
    let node = add(&mut design, "hgx-h20", &catalog);
    let leaf = add(&mut design, "qm9700-64x400g", &catalog);
    let link = can_connect(&design, &node, &leaf, LinkKind::Infiniband, &catalog).unwrap();
    connect(&mut design, &link);
    paint(
        &mut design,
        &some(&node, 0..8),
        Some(Role::Decode),
        None,
        &catalog,
    );
    for copies in 2..=8u32 {
        duplicate_groups(
            &mut design,
            &BTreeSet::from([node.clone()]),
            32.0,
            32.0,
            &catalog,
        );
        assert_eq!(
            design.pools[0].gpus.iter().map(|r| r.len()).sum::<u64>(),
            u64::from(8 * copies)
        );
        assert_eq!(ports_used(&design.cluster, &leaf), 8 * copies);
    }
    // The switch is full: the next copy is drawn without a link.
    duplicate_groups(&mut design, &BTreeSet::from([node]), 32.0, 32.0, &catalog);
    assert_eq!(design.cluster.links.len(), 8);
    no_errors(&design, &catalog);
}

#[test]
fn suggested_layouts_leave_no_gpu_over() {
    let g = GroupId::new("n").unwrap();
    let tp = |n| layout_suggestion(&some(&g, 0..n), None).tp;
    assert_eq!(
        [1, 2, 3, 4, 6, 7, 8, 12, 16, 72].map(tp),
        [1, 2, 1, 4, 2, 1, 8, 4, 8, 8]
    );
    let wide = Layout {
        tp: 1,
        pp: 1,
        dp: 8,
        ep: 8,
        ..Layout::SINGLE
    };
    let half = layout_suggestion(&some(&g, 0..4), Some(wide));
    assert_eq!((half.tp, half.dp, half.ep), (1, 4, 4));
    assert_eq!(layout_suggestion(&some(&g, 0..8), Some(wide)), wide);
    let piped = Layout {
        tp: 4,
        pp: 2,
        dp: 1,
        ep: 1,
        ..Layout::SINGLE
    };
    assert_eq!(layout_suggestion(&some(&g, 0..4), Some(piped)).gpus(), 4);
}

#[test]
fn counts_agree_with_lists() {
    let (mut design, catalog) = (blank(), catalog());
    let a = add(&mut design, "hgx-h800", &catalog);
    add(&mut design, "gb200-nvl72", &catalog);
    design.cluster.group_mut(&a).unwrap().count = 5;
    let listed: usize = design
        .cluster
        .groups
        .iter()
        .map(|g| gpus_of_group(g, &catalog).len())
        .sum();
    assert_eq!(gpu_count(&design.cluster, &catalog), listed as u64);
    assert_eq!(listed, 5 * 8 + 72);
}
