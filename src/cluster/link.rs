//! Link bundles: the lines of the drawing.

use super::group::GroupId;
use crate::catalog::typed_id;
use crate::units::{ByteRate, Seconds};
use serde::{Deserialize, Serialize};

typed_id!(
    /// A link bundle of the drawing.
    LinkId
);

/// Most parallel links of one bundle.
pub const MAX_PARALLEL: u32 = 1024;
/// Longest latency of a link, seconds: to a geostationary satellite and back is half a second.
pub const MAX_LATENCY_S: f64 = 1.0;

/// What a link is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum LinkKind {
    /// NVLink (or xGMI, HCCS): GPU to domain.
    NvLink,
    /// Chip-to-chip, CPU to GPU.
    C2c,
    /// PCI Express: GPU to NIC.
    Pcie,
    /// InfiniBand.
    Infiniband,
    /// RDMA over converged Ethernet.
    Roce,
    /// Plain Ethernet, TCP.
    Ethernet,
    /// Between data centres.
    InterDc,
}

impl LinkKind {
    /// All, in the order the palette shows them.
    pub const ALL: [Self; 7] = [
        Self::Infiniband,
        Self::Roce,
        Self::NvLink,
        Self::Pcie,
        Self::C2c,
        Self::Ethernet,
        Self::InterDc,
    ];

    /// The field's word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NvLink => "NVLink",
            Self::C2c => "C2C",
            Self::Pcie => "PCIe",
            Self::Infiniband => "InfiniBand",
            Self::Roce => "RoCE",
            Self::Ethernet => "Ethernet",
            Self::InterDc => "inter-DC",
        }
    }

    /// Whether it plugs into NICs and switches.
    #[must_use]
    pub const fn is_network(self) -> bool {
        matches!(
            self,
            Self::Infiniband | Self::Roce | Self::Ethernet | Self::InterDc
        )
    }
}

/// Which instances of a group a bundle ends at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Instances {
    /// Every one.
    Each,
    /// This one.
    One(u32),
}

/// One end of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// The group it ends at.
    pub group: GroupId,
    /// Which of its instances.
    pub instances: Instances,
}

/// How the instances of the two ends meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Wiring {
    /// Every instance of one end to every instance of the other, `count` links each.
    #[default]
    All,
    /// Instance `i` to instance `i`, `count` links each.
    Pairwise,
    /// NIC `k` of each instance of `a` to instance `k mod n` of `b`: `count` links per instance of
    /// `a` in all. This is a rail-optimised fabric.
    Rails,
}

/// Parallel links between two ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkBundle {
    /// Its name in the file.
    pub id: LinkId,
    /// One end.
    pub a: Port,
    /// The other.
    pub b: Port,
    /// Links per pair of instances (see [`Wiring`]).
    pub count: u32,
    /// Rate of one link, one direction.
    pub rate: ByteRate,
    /// Latency of one link, end to end, software included.
    pub latency: Seconds,
    /// What it is made of.
    pub kind: LinkKind,
    /// How instances meet.
    #[serde(default)]
    pub wiring: Wiring,
}
