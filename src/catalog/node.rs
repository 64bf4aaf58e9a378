//! NICs, nodes and switches: the boxes GPUs are bought and wired in.

use super::id::{GpuId, NicId, NodeTypeId, SwitchTypeId};
use super::source::Source;
use crate::units::{ByteRate, Seconds, Watts};
use serde::{Deserialize, Serialize};

/// One NIC type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nic {
    /// Its name in documents.
    pub id: NicId,
    /// Its name for people.
    pub name: String,
    /// Wire rate of the NIC, one direction.
    pub rate: ByteRate,
    /// Message latency end to end through one switch, software included.
    pub latency: Seconds,
    /// Where the numbers come from.
    pub sources: Vec<Source>,
}

/// One node type: a server, or a rack sold as one machine (NVL72).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeType {
    /// Its name in documents.
    pub id: NodeTypeId,
    /// Its name for people.
    pub name: String,
    /// The GPU in every slot.
    pub gpu: GpuId,
    /// GPU slots. One scale-up domain joins them all.
    pub gpus: u32,
    /// The NIC in every NIC slot.
    pub nic: NicId,
    /// NIC slots. NIC `k` sits beside GPUs `k·gpus/nics …`.
    pub nics: u32,
    /// Power of everything but the GPUs.
    pub host_power: Watts,
    /// Where the numbers come from.
    pub sources: Vec<Source>,
}

/// Where a switch stands in a fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwitchTier {
    /// Nodes plug in here.
    Leaf,
    /// Joins leaves.
    Spine,
    /// Joins pods.
    Core,
}

/// One switch type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchType {
    /// Its name in documents.
    pub id: SwitchTypeId,
    /// Its name for people.
    pub name: String,
    /// Where it usually stands.
    pub tier: SwitchTier,
    /// Ports.
    pub ports: u32,
    /// Rate of a port, one direction.
    pub port_rate: ByteRate,
    /// Port-to-port latency.
    pub latency: Seconds,
    /// Power.
    pub power: Watts,
    /// Where the numbers come from.
    pub sources: Vec<Source>,
}
