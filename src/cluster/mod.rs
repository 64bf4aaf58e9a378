//! The drawn hardware: groups and link bundles as the document keeps them, and the [`Topology`]
//! they unfold to (every GPU, NIC, switch and directed link with its rate), with paths.

mod address;
mod finding;
mod group;
mod link;
mod path;
mod topology;
mod unfold;

pub use address::{AddressError, GpuAddress, GpuRange, Span, fold_gpus};
pub use finding::{ClusterFault, ClusterPlace};
pub use group::{
    DomainKind, Group, GroupId, GroupKind, InstanceOverride, MAX_GPUS, MAX_GROUPS, MAX_INSTANCES,
    Position,
};
pub use link::{
    Instances, LinkBundle, LinkId, LinkKind, MAX_LATENCY_S, MAX_PARALLEL, Port, Wiring,
};
pub use path::{Path, Router};
pub use topology::{Channel, ChannelClass, ChannelId, GpuIx, GpuSite, Topology};
pub use unfold::unfold;

use serde::{Deserialize, Serialize};

/// The drawing of one design.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// What is drawn.
    pub groups: Vec<Group>,
    /// How it is joined.
    #[serde(default)]
    pub links: Vec<LinkBundle>,
}

impl Cluster {
    /// The group of that id.
    #[must_use]
    pub fn group(&self, id: &GroupId) -> Option<&Group> {
        self.groups.iter().find(|group| &group.id == id)
    }

    /// The group of that id, to change.
    pub fn group_mut(&mut self, id: &GroupId) -> Option<&mut Group> {
        self.groups.iter_mut().find(|group| &group.id == id)
    }

    /// The bundle of that id.
    #[must_use]
    pub fn link(&self, id: &LinkId) -> Option<&LinkBundle> {
        self.links.iter().find(|link| &link.id == id)
    }
}

#[cfg(test)]
mod tests;
