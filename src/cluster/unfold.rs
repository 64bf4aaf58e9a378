//! From groups and bundles to the dense [`Topology`], with every fault of the drawing reported,
//! not only the first.

mod wiring;

use super::finding::{ClusterFault, ClusterPlace};
use super::group::{DomainKind, Group, GroupKind, MAX_GPUS, MAX_GROUPS, MAX_INSTANCES};
use super::link::LinkBundle;
use super::topology::{ChannelClass, GpuIx, GpuSite, Topology, Vertex};
use super::{Cluster, GpuAddress};
use crate::catalog::{Catalog, Gpu, ScaleUpKind};
use crate::units::{ByteRate, Seconds};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Latency of a hop inside a scale-up domain (NVLink through an NVSwitch is well under a
/// microsecond; collectives add their own per-step overhead).
const SCALE_UP_HOP: f64 = 0.3e-6;
/// Latency of a PCIe hop.
const PCIE_HOP: f64 = 0.5e-6;

/// A fault and where it is.
pub type Faults = Vec<(ClusterPlace, ClusterFault)>;

/// What an instance offers to links.
#[derive(Debug, Clone)]
enum Socket {
    /// NIC vertices of a node, in order, and how many are taken.
    Nics {
        vertices: Vec<u32>,
        rate: ByteRate,
        taken: usize,
    },
    /// A loose GPU.
    Gpu(u32),
    /// A loose NIC.
    Nic {
        vertex: u32,
        rate: ByteRate,
        taken: bool,
    },
    /// A drawn domain.
    Domain(u32),
    /// A switch, and how many of its ports are taken.
    Switch {
        vertex: u32,
        rate: ByteRate,
        taken: u32,
        ports: u32,
    },
    /// Something that can't run.
    Nothing,
}

impl Socket {
    const fn name(&self) -> &'static str {
        match self {
            Self::Nics { .. } => "a node",
            Self::Gpu(_) => "a GPU",
            Self::Nic { .. } => "a NIC",
            Self::Domain(_) => "a scale-up domain",
            Self::Switch { .. } => "a switch",
            Self::Nothing => "an optical switch",
        }
    }
}

struct Unfolding<'a> {
    catalog: &'a Catalog,
    topology: Topology,
    faults: Faults,
    /// Per group, per instance.
    sockets: Vec<Vec<Socket>>,
    /// Drawn domains; wired up at the end (a mesh needs to know its size).
    domains: Vec<DrawnDomain>,
    /// Links made so far.
    links: u64,
}

/// A drawn scale-up domain and the GPUs linked to it.
struct DrawnDomain {
    hub: u32,
    kind: DomainKind,
    /// Most a member attaches with.
    rate: ByteRate,
    members: Vec<(GpuIx, ByteRate)>,
}

/// Unfolds a drawing. The topology is whole as far as the drawing allows; faults say what was
/// left out. A drawing with an error can't run.
#[must_use]
pub fn unfold(cluster: &Cluster, catalog: &Catalog) -> (Topology, Faults) {
    let mut unfolding = Unfolding {
        catalog,
        topology: Topology::default(),
        faults: Vec::new(),
        sockets: Vec::new(),
        domains: Vec::new(),
        links: 0,
    };
    if unfolding.check_size(cluster) {
        for group in &cluster.groups {
            unfolding.group(group);
        }
        let mut seen = BTreeSet::new();
        for link in &cluster.links {
            if !seen.insert(&link.id) {
                unfolding.link_fault(
                    link,
                    ClusterFault::DuplicateId {
                        sort: "link",
                        id: link.id.to_string(),
                    },
                );
            }
            unfolding.bundle(cluster, link);
        }
        unfolding.join_domains();
    }
    (unfolding.topology, unfolding.faults)
}

impl Unfolding<'_> {
    fn check_size(&mut self, cluster: &Cluster) -> bool {
        let mut fault = |sort, count: u64, most: u64| {
            self.faults.push((
                ClusterPlace::Drawing,
                ClusterFault::TooMany { sort, count, most },
            ));
            false
        };
        if cluster.groups.len() > MAX_GROUPS {
            return fault("groups", cluster.groups.len() as u64, MAX_GROUPS as u64);
        }
        if cluster.links.len() > MAX_GROUPS {
            return fault(
                "link bundles",
                cluster.links.len() as u64,
                MAX_GROUPS as u64,
            );
        }
        let gpus: u64 = cluster
            .groups
            .iter()
            .map(|group| match &group.kind {
                GroupKind::Node(id) => {
                    u64::from(group.count) * self.catalog.node(id).map_or(0, |n| u64::from(n.gpus))
                }
                _ => u64::from(group.count),
            })
            .sum();
        if gpus > u64::from(MAX_GPUS) {
            return fault("GPUs and other things", gpus, u64::from(MAX_GPUS));
        }
        true
    }

    fn group_fault(&mut self, group: &Group, fault: ClusterFault) {
        self.faults
            .push((ClusterPlace::Group(group.id.clone()), fault));
    }

    fn link_fault(&mut self, link: &LinkBundle, fault: ClusterFault) {
        let place = ClusterPlace::Link(link.id.clone());
        // One sentence per kind of fault and link is enough.
        if !self.faults.iter().any(|(p, f)| *p == place && *f == fault) {
            self.faults.push((place, fault));
        }
    }

    fn group(&mut self, group: &Group) {
        let index = u32::try_from(self.topology.groups.len()).unwrap_or(u32::MAX);
        if self
            .topology
            .groups
            .iter()
            .any(|(id, _, _)| *id == group.id)
        {
            self.group_fault(
                group,
                ClusterFault::DuplicateId {
                    sort: "group",
                    id: group.id.to_string(),
                },
            );
        }
        self.topology
            .groups
            .push((group.id.clone(), group.name.clone(), group.count));
        if !(1..=MAX_INSTANCES).contains(&group.count) {
            self.group_fault(group, ClusterFault::Count { count: group.count });
            self.sockets.push(Vec::new());
            return;
        }
        let mut sockets = Vec::with_capacity(group.count as usize);
        for instance in 0..group.count {
            let socket = match self.instance(group, index, instance) {
                Ok(socket) => socket,
                Err(fault) => {
                    if instance == 0 || group.overrides.contains_key(&instance) {
                        self.group_fault(group, fault);
                    }
                    Socket::Nothing
                }
            };
            sockets.push(socket);
        }
        self.sockets.push(sockets);
    }

    fn instance(
        &mut self,
        group: &Group,
        index: u32,
        instance: u32,
    ) -> Result<Socket, ClusterFault> {
        let unknown = |sort, id: &dyn ToString| ClusterFault::UnknownType {
            sort,
            id: id.to_string(),
        };
        match group.kind_of(instance) {
            GroupKind::Node(id) => self.node(group, index, instance, id),
            GroupKind::Gpu(id) => {
                let gpu = self.catalog.gpu(id).ok_or_else(|| unknown("GPU", id))?;
                let domain = self.new_domain();
                let ix = self.add_gpu(group, instance, 0, &Arc::new(gpu.clone()), domain);
                Ok(Socket::Gpu(self.topology.gpu_vertex[ix.0 as usize]))
            }
            GroupKind::Nic(id) => {
                let nic = self.catalog.nic(id).ok_or_else(|| unknown("NIC", id))?;
                let rate = nic.rate;
                let vertex = self.topology.add_vertex(Vertex::Nic {
                    group: index,
                    instance,
                    nic: 0,
                });
                Ok(Socket::Nic {
                    vertex,
                    rate,
                    taken: false,
                })
            }
            GroupKind::Domain { kind, rate } => {
                match kind {
                    DomainKind::NvSwitch | DomainKind::FullMesh => {}
                    DomainKind::Ring | DomainKind::Torus | DomainKind::KHopRing { .. } => {
                        return Err(ClusterFault::NotRunnable {
                            what: "a ring or torus domain",
                        });
                    }
                }
                let vertex = self.topology.add_vertex(Vertex::Hub {
                    group: index,
                    instance,
                });
                self.domains.push(DrawnDomain {
                    hub: vertex,
                    kind: *kind,
                    rate: *rate,
                    members: Vec::new(),
                });
                Ok(Socket::Domain(vertex))
            }
            GroupKind::Switch(id) => {
                let switch = self
                    .catalog
                    .switch(id)
                    .ok_or_else(|| unknown("switch", id))?;
                let (rate, ports) = (switch.port_rate, switch.ports);
                let vertex = self.topology.add_vertex(Vertex::Switch {
                    group: index,
                    instance,
                });
                Ok(Socket::Switch {
                    vertex,
                    rate,
                    taken: 0,
                    ports,
                })
            }
            GroupKind::Ocs { .. } => Err(ClusterFault::NotRunnable {
                what: "an optical circuit switch",
            }),
        }
    }

    fn node(
        &mut self,
        group: &Group,
        index: u32,
        instance: u32,
        id: &crate::catalog::NodeTypeId,
    ) -> Result<Socket, ClusterFault> {
        let catalog = self.catalog;
        let node = catalog.node(id).ok_or_else(|| ClusterFault::UnknownType {
            sort: "node",
            id: id.to_string(),
        })?;
        let gpu = catalog
            .gpu(&node.gpu)
            .ok_or_else(|| ClusterFault::UnknownType {
                sort: "GPU",
                id: node.gpu.to_string(),
            })?;
        let nic = catalog
            .nic(&node.nic)
            .ok_or_else(|| ClusterFault::UnknownType {
                sort: "NIC",
                id: node.nic.to_string(),
            })?;
        let gpu = Arc::new(gpu.clone());
        let domain = self.new_domain();
        let gpus: Vec<u32> = (0..node.gpus)
            .map(|slot| {
                let ix = self.add_gpu(group, instance, slot, &gpu, domain);
                self.topology.gpu_vertex[ix.0 as usize]
            })
            .collect();
        let hub = self.scale_up(index, instance, &gpu, &gpus);
        let nics: Vec<u32> = (0..node.nics)
            .map(|nic| {
                self.topology.add_vertex(Vertex::Nic {
                    group: index,
                    instance,
                    nic,
                })
            })
            .collect();
        let pcie = Seconds::new(PCIE_HOP);
        let reach = |topology: &mut Topology, from: u32, nic: usize| {
            topology.join(from, nics[nic], gpu.pcie, pcie, ChannelClass::Pcie);
        };
        match hub {
            // On a PCIe host every NIC hangs on the same fabric as the GPUs.
            Some(hub) if gpu.scale_up_kind == ScaleUpKind::Pcie => {
                for nic in 0..nics.len() {
                    reach(&mut self.topology, hub, nic);
                }
            }
            _ if nics.is_empty() => {}
            // NIC k sits beside the GPUs k·gpus/nics…; with more NICs than GPUs, each GPU has some.
            _ if nics.len() >= gpus.len() => {
                for nic in 0..nics.len() {
                    reach(&mut self.topology, gpus[nic * gpus.len() / nics.len()], nic);
                }
            }
            _ => {
                for (slot, vertex) in gpus.iter().enumerate() {
                    reach(&mut self.topology, *vertex, slot * nics.len() / gpus.len());
                }
            }
        }
        Ok(Socket::Nics {
            vertices: nics,
            rate: nic.rate,
            taken: 0,
        })
    }

    /// Wires a node's GPUs; returns its hub, if the wiring has one.
    fn scale_up(&mut self, index: u32, instance: u32, gpu: &Gpu, gpus: &[u32]) -> Option<u32> {
        let hop = Seconds::new(SCALE_UP_HOP);
        match gpu.scale_up_kind {
            ScaleUpKind::FullMesh => {
                self.mesh(gpus, gpu.scale_up, hop);
                None
            }
            ScaleUpKind::Switched | ScaleUpKind::Pcie => {
                let hub = self.topology.add_vertex(Vertex::Hub {
                    group: index,
                    instance,
                });
                let (latency, class) = if gpu.scale_up_kind == ScaleUpKind::Pcie {
                    (Seconds::new(PCIE_HOP), ChannelClass::Pcie)
                } else {
                    (hop, ChannelClass::ScaleUp)
                };
                for vertex in gpus {
                    self.topology
                        .join(*vertex, hub, gpu.scale_up, latency, class);
                }
                Some(hub)
            }
        }
    }

    fn mesh(&mut self, gpus: &[u32], rate: ByteRate, hop: Seconds) {
        #[expect(clippy::cast_precision_loss, reason = "a domain has few GPUs")]
        let per_pair = rate * (1.0 / (gpus.len().max(2) - 1) as f64);
        for (i, a) in gpus.iter().enumerate() {
            for b in &gpus[i + 1..] {
                self.topology
                    .join(*a, *b, per_pair, hop, ChannelClass::ScaleUp);
            }
        }
    }

    fn new_domain(&mut self) -> u32 {
        self.topology.domain_size.push(0);
        u32::try_from(self.topology.domain_size.len() - 1).unwrap_or(u32::MAX)
    }

    fn add_gpu(
        &mut self,
        group: &Group,
        instance: u32,
        slot: u32,
        gpu: &Arc<Gpu>,
        domain: u32,
    ) -> GpuIx {
        let ix = GpuIx(u32::try_from(self.topology.gpus.len()).unwrap_or(u32::MAX));
        let vertex = self.topology.add_vertex(Vertex::Gpu(ix));
        let address = GpuAddress {
            group: group.id.clone(),
            instance,
            slot,
        };
        self.topology.gpu_vertex.push(vertex);
        self.topology.by_address.insert(address.clone(), ix);
        self.topology.domain_size[domain as usize] += 1;
        self.topology.gpus.push(GpuSite {
            address,
            gpu: Arc::clone(gpu),
            domain,
            scale_up_kind: gpu.scale_up_kind,
            scale_up: gpu.scale_up,
        });
        ix
    }
}
