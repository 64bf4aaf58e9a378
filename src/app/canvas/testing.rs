//! A small design for tests: an H800 node that prefills, an H20 node that decodes, a leaf switch,
//! an idle H20 node.

use crate::app::edits;
use crate::catalog::{Catalog, ModelId, NodeTypeId, SwitchTypeId};
use crate::cluster::{Cluster, GroupKind, LinkKind, Position};
use crate::plan::{Design, DesignId, ModelRef, Role};
use std::sync::Arc;

pub fn catalog() -> Arc<Catalog> {
    Catalog::embedded_shared().unwrap()
}

pub fn design() -> Design {
    let catalog = catalog();
    let mut design = Design {
        id: DesignId::new("a").unwrap(),
        name: "A".to_owned(),
        cluster: Cluster::default(),
        model: ModelRef::Preset(ModelId::new("m").unwrap()),
        pools: Vec::new(),
        services: Vec::new(),
        feeds: Vec::new(),
        routing: crate::plan::Routing::default(),
    };
    let node = |id: &str| GroupKind::Node(NodeTypeId::new(id).unwrap());
    let switch = GroupKind::Switch(SwitchTypeId::new("qm9700-64x400g").unwrap());
    let mut add = |kind, x, y| edits::add_group(&mut design, kind, Position { x, y }, &catalog);
    let prefill = add(node("hgx-h800"), 0.0, 0.0);
    let decode = add(node("hgx-h20"), 400.0, 0.0);
    let leaf = add(switch, 264.0, 288.0);
    add(node("hgx-h20"), 0.0, 420.0);
    for end in [&prefill, &decode] {
        let link = edits::can_connect(&design, end, &leaf, LinkKind::Infiniband, &catalog).unwrap();
        edits::connect(&mut design, &link);
    }
    for (group, role) in [(&prefill, Role::Prefill), (&decode, Role::Decode)] {
        let gpus = edits::gpus_of_group(design.cluster.group(group).unwrap(), &catalog);
        edits::paint(&mut design, &gpus, Some(role), None, &catalog);
    }
    design.settle();
    design
}
