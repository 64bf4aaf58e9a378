//! What is drawn: groups of equal things with a place on the canvas.
//!
//! Everything drawn is a group, a single dragged node being a group of one, so 16,384 GPUs are a
//! few lines of file. An instance that differs from its group has an override; numbering never
//! changes.

use crate::catalog::{GpuId, NicId, NodeTypeId, SwitchTypeId, typed_id};
use crate::units::ByteRate;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

typed_id!(
    /// A group of the drawing.
    GroupId
);

/// Most instances of one group; larger clusters are several groups.
pub const MAX_INSTANCES: u32 = 16_384;
/// Most GPUs of one design.
pub const MAX_GPUS: u32 = 131_072;
/// Most groups, and most link bundles, of one design.
pub const MAX_GROUPS: usize = 4096;

/// A place on the canvas, in points at 100 % zoom; y grows downwards.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// Left edge.
    pub x: f32,
    /// Top edge.
    pub y: f32,
}

/// How the members of a drawn scale-up domain are wired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DomainKind {
    /// A switch plane: any pair at the full rate of a member.
    NvSwitch,
    /// A direct link per pair, the member's rate divided among them.
    FullMesh,
    /// Each to its two neighbours.
    Ring,
    /// Each to its neighbours in two or three dimensions.
    Torus,
    /// Optical ring that reaches `hops` neighbours each way (`InfiniteHBD`).
    KHopRing {
        /// Neighbours reached each way.
        hops: u32,
    },
}

/// What the instances of a group are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum GroupKind {
    /// A server or rack with GPUs, NICs and a scale-up domain inside.
    Node(NodeTypeId),
    /// A loose GPU.
    Gpu(GpuId),
    /// A loose NIC.
    Nic(NicId),
    /// A scale-up domain that joins loose GPUs linked to it.
    Domain {
        /// How members are wired.
        kind: DomainKind,
        /// Rate of one member's attachment, one direction.
        rate: ByteRate,
    },
    /// A packet switch.
    Switch(SwitchTypeId),
    /// An optical circuit switch.
    Ocs {
        /// Ports.
        ports: u32,
        /// Rate of a port, one direction.
        rate: ByteRate,
    },
}

/// How one instance differs from its group.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstanceOverride {
    /// Its own place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// Its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its own type (of the same sort: a node for a node).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<GroupKind>,
}

/// `count` equal things.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Its name in the file.
    pub id: GroupId,
    /// Its name for people.
    pub name: String,
    /// What they are.
    pub kind: GroupKind,
    /// How many.
    pub count: u32,
    /// Where the group is drawn.
    pub position: Position,
    /// Instances that differ.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub overrides: BTreeMap<u32, InstanceOverride>,
}

impl Group {
    /// The kind of one instance.
    #[must_use]
    pub fn kind_of(&self, instance: u32) -> &GroupKind {
        self.overrides
            .get(&instance)
            .and_then(|o| o.kind.as_ref())
            .unwrap_or(&self.kind)
    }

    /// The name of one instance.
    #[must_use]
    pub fn instance_name(&self, instance: u32) -> String {
        match self.overrides.get(&instance).and_then(|o| o.name.as_ref()) {
            Some(name) => name.clone(),
            None if self.count == 1 => self.name.clone(),
            None => format!("{} {instance}", self.name),
        }
    }
}
