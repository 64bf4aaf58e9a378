//! Version 1 of the drawing.

use super::bounds::{self, MAX_NAME};
use super::mirror::{Frozen, frozen_enum, frozen_struct};
use crate::catalog::{GpuId, NicId, NodeTypeId, SwitchTypeId};
use crate::cluster;
use crate::cluster::{GroupId, LinkId};
use crate::units::{ByteRate, Seconds};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

frozen_struct!(Cluster as cluster::Cluster {
    #[serde(deserialize_with = "bounds::at_most::<_, _, { cluster::MAX_GROUPS }>")]
    groups: Vec<Group>,
    #[serde(default, deserialize_with = "bounds::at_most::<_, _, { cluster::MAX_GROUPS }>")]
    links: Vec<LinkBundle>,
});

frozen_struct!(Group as cluster::Group {
    id: GroupId,
    #[serde(deserialize_with = "bounds::text::<_, MAX_NAME>")]
    name: String,
    kind: GroupKind,
    count: u32,
    position: Position,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    overrides: BTreeMap<u32, InstanceOverride>,
});

/// Kept to a tenth of a point.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::project) struct Position {
    #[serde(deserialize_with = "bounds::coordinate")]
    x: f32,
    #[serde(deserialize_with = "bounds::coordinate")]
    y: f32,
}

impl Frozen for Position {
    type Live = cluster::Position;
    fn freeze(live: &cluster::Position) -> Self {
        let cluster::Position { x, y } = live;
        Self {
            x: bounds::kept_coordinate(*x),
            y: bounds::kept_coordinate(*y),
        }
    }
    fn thaw(self) -> cluster::Position {
        cluster::Position {
            x: self.x,
            y: self.y,
        }
    }
}

frozen_enum!(DomainKind as cluster::DomainKind {
    NvSwitch,
    FullMesh,
    Ring,
    Torus,
    KHopRing { hops: u32 },
});

frozen_enum!(GroupKind as cluster::GroupKind {
    Node(id: NodeTypeId),
    Gpu(id: GpuId),
    Nic(id: NicId),
    Domain { kind: DomainKind, rate: ByteRate },
    Switch(id: SwitchTypeId),
    Ocs { ports: u32, rate: ByteRate },
});

frozen_struct!(InstanceOverride as cluster::InstanceOverride {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    position: Option<Position>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "bounds::maybe_name")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<GroupKind>,
});

frozen_enum!(LinkKind as cluster::LinkKind {
    NvLink,
    C2c,
    Pcie,
    Infiniband,
    Roce,
    Ethernet,
    InterDc,
});

frozen_enum!(Instances as cluster::Instances {
    Each,
    One(instance: u32),
});

frozen_struct!(Port as cluster::Port {
    group: GroupId,
    instances: Instances,
});

frozen_enum!(Wiring as cluster::Wiring {
    All,
    Pairwise,
    Rails,
});

frozen_struct!(LinkBundle as cluster::LinkBundle {
    id: LinkId,
    a: Port,
    b: Port,
    count: u32,
    rate: ByteRate,
    latency: Seconds,
    kind: LinkKind,
    wiring: Wiring,
});
