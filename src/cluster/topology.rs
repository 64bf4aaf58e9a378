//! The unfolded cluster: every GPU, NIC, switch and directed channel as dense arrays.
//!
//! Vertices are joined by undirected links, each two directed [`Channel`]s, since full-duplex
//! links carry a rate each way. Ids are indices; nothing is looked up by name while a run goes on.

use super::address::GpuAddress;
use super::group::GroupId;
use crate::catalog::{Gpu, ScaleUpKind};
use crate::units::{ByteRate, Seconds};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A GPU of the unfolded cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GpuIx(pub u32);

/// A directed channel of the unfolded cluster. Channel `2·e` and `2·e + 1` are link `e`'s two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelId(pub u32);

/// What a channel is made of, as far as costs go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChannelClass {
    /// Inside a scale-up domain.
    ScaleUp,
    /// Between a GPU and its NIC or host.
    Pcie,
    /// Between NICs and switches.
    Network,
}

/// One direction of a link.
#[derive(Debug, Clone)]
pub struct Channel {
    /// Rate.
    pub rate: ByteRate,
    /// Latency of one hop over it.
    pub latency: Seconds,
    /// What it is made of.
    pub class: ChannelClass,
    /// Vertex it leaves.
    pub(super) from: u32,
    /// Vertex it enters.
    pub(super) to: u32,
}

/// What a vertex is, for names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vertex {
    Gpu(GpuIx),
    Nic { group: u32, instance: u32, nic: u32 },
    Hub { group: u32, instance: u32 },
    Switch { group: u32, instance: u32 },
}

/// One GPU and where it sits.
#[derive(Debug, Clone)]
pub struct GpuSite {
    /// Its name.
    pub address: GpuAddress,
    /// Its type.
    pub gpu: Arc<Gpu>,
    /// Its scale-up domain (dense number); GPUs of equal number reach each other without a NIC.
    pub domain: u32,
    /// How that domain is wired.
    pub scale_up_kind: ScaleUpKind,
    /// Its rate into the domain, one direction.
    pub scale_up: ByteRate,
}

/// The unfolded cluster.
#[derive(Debug, Clone, Default)]
pub struct Topology {
    pub(super) gpus: Vec<GpuSite>,
    pub(super) by_address: BTreeMap<GpuAddress, GpuIx>,
    pub(super) vertices: Vec<Vertex>,
    pub(super) channels: Vec<Channel>,
    /// Channels that leave each vertex, in the order drawn.
    pub(super) out: Vec<Vec<ChannelId>>,
    /// Vertex of each GPU.
    pub(super) gpu_vertex: Vec<u32>,
    /// Group ids and names, for naming vertices.
    pub(super) groups: Vec<(GroupId, String, u32)>,
    /// How many GPUs each domain has.
    pub(super) domain_size: Vec<u32>,
}

impl Topology {
    /// All GPUs, in the order drawn.
    #[must_use]
    pub fn gpus(&self) -> &[GpuSite] {
        &self.gpus
    }

    /// One GPU.
    #[must_use]
    pub fn gpu(&self, ix: GpuIx) -> &GpuSite {
        &self.gpus[ix.0 as usize]
    }

    /// The GPU of that address.
    #[must_use]
    pub fn find(&self, address: &GpuAddress) -> Option<GpuIx> {
        self.by_address.get(address).copied()
    }

    /// GPUs of a scale-up domain.
    #[must_use]
    pub fn domain_size(&self, domain: u32) -> u32 {
        self.domain_size.get(domain as usize).copied().unwrap_or(0)
    }

    /// All channels.
    #[must_use]
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// One channel.
    #[must_use]
    pub fn channel(&self, id: ChannelId) -> &Channel {
        &self.channels[id.0 as usize]
    }

    /// A channel's name for people: `n0 NIC 3 → leaf 0`.
    #[must_use]
    pub fn channel_name(&self, id: ChannelId) -> String {
        let channel = self.channel(id);
        format!(
            "{} → {}",
            self.vertex_name(channel.from),
            self.vertex_name(channel.to)
        )
    }

    fn vertex_name(&self, vertex: u32) -> String {
        let group = |index: u32, instance: u32| {
            let (_, name, count) = &self.groups[index as usize];
            if *count == 1 {
                name.clone()
            } else {
                format!("{name} {instance}")
            }
        };
        match self.vertices[vertex as usize] {
            Vertex::Gpu(ix) => {
                let address = &self.gpu(ix).address;
                let name = self
                    .groups
                    .iter()
                    .find(|(id, _, _)| *id == address.group)
                    .map_or_else(
                        || address.group.to_string(),
                        |(_, name, count)| {
                            if *count == 1 {
                                name.clone()
                            } else {
                                format!("{name} {}", address.instance)
                            }
                        },
                    );
                format!("{name} GPU {}", address.slot)
            }
            Vertex::Nic {
                group: g,
                instance,
                nic,
            } => format!("{} NIC {nic}", group(g, instance)),
            Vertex::Hub { group: g, instance } => format!("{} fabric", group(g, instance)),
            Vertex::Switch { group: g, instance } => group(g, instance),
        }
    }

    /// Whether a channel leaves or enters a NIC by its network port.
    #[must_use]
    pub fn is_nic_port(&self, channel: &Channel) -> bool {
        channel.class == ChannelClass::Network
            && [channel.from, channel.to]
                .iter()
                .any(|end| matches!(self.vertices[*end as usize], Vertex::Nic { .. }))
    }

    /// The same with links between NICs and switches so many times as fast, for what-if runs.
    #[must_use]
    pub fn with_network(&self, factor: f64) -> Self {
        let mut own = self.clone();
        for channel in &mut own.channels {
            if channel.class == ChannelClass::Network {
                channel.rate = ByteRate::new(channel.rate.get() * factor);
            }
        }
        own
    }

    pub(super) fn add_vertex(&mut self, vertex: Vertex) -> u32 {
        let id = u32::try_from(self.vertices.len()).unwrap_or(u32::MAX);
        self.vertices.push(vertex);
        self.out.push(Vec::new());
        id
    }

    /// Joins two vertices both ways.
    pub(super) fn join(
        &mut self,
        a: u32,
        b: u32,
        rate: ByteRate,
        latency: Seconds,
        class: ChannelClass,
    ) {
        for (from, to) in [(a, b), (b, a)] {
            let id = ChannelId(u32::try_from(self.channels.len()).unwrap_or(u32::MAX));
            self.channels.push(Channel {
                rate,
                latency,
                class,
                from,
                to,
            });
            self.out[from as usize].push(id);
        }
    }
}
