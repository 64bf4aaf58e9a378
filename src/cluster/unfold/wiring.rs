//! Wiring: bundles to links, links to the NICs, ports and domains they plug into.

use super::{DrawnDomain, SCALE_UP_HOP, Socket, Unfolding};
use crate::catalog::ScaleUpKind;
use crate::cluster::finding::{ClusterFault, ClusterPlace};
use crate::cluster::link::{
    Instances, LinkBundle, LinkKind, MAX_LATENCY_S, MAX_PARALLEL, Port, Wiring,
};
use crate::cluster::topology::{ChannelClass, Vertex};
use crate::cluster::{Cluster, DomainKind};
use crate::units::{ByteRate, Seconds};

/// Most links one drawing stands for: some times what 131,072 GPUs have in a fat tree.
const MAX_LINKS: u64 = 4_000_000;

/// What plugging a link in came to: the vertex and its rate, or what there is and what is needed.
enum Plug {
    In(u32, ByteRate),
    Short { have: u32, need: u32 },
}

impl Unfolding<'_> {
    fn end(
        &mut self,
        cluster: &Cluster,
        link: &LinkBundle,
        port: &Port,
    ) -> Option<(usize, Vec<u32>)> {
        let Some(index) = cluster.groups.iter().position(|g| g.id == port.group) else {
            self.link_fault(
                link,
                ClusterFault::Dangling {
                    group: port.group.to_string(),
                },
            );
            return None;
        };
        let count = cluster.groups[index].count;
        if self.sockets[index].is_empty() {
            return None;
        }
        match port.instances {
            Instances::Each => Some((index, (0..count).collect())),
            Instances::One(instance) if instance < count => Some((index, vec![instance])),
            Instances::One(instance) => {
                self.link_fault(
                    link,
                    ClusterFault::NoInstance {
                        group: port.group.to_string(),
                        instance,
                        count,
                    },
                );
                None
            }
        }
    }

    pub(super) fn bundle(&mut self, cluster: &Cluster, link: &LinkBundle) {
        if !(1..=MAX_PARALLEL).contains(&link.count) || link.rate.get() <= 0.0 {
            self.link_fault(link, ClusterFault::EmptyBundle);
            return;
        }
        if link.latency.get() > MAX_LATENCY_S {
            self.link_fault(link, ClusterFault::SlowBundle);
            return;
        }
        let (Some((ga, a)), Some((gb, b))) = (
            self.end(cluster, link, &link.a),
            self.end(cluster, link, &link.b),
        ) else {
            return;
        };
        // Bounded before it is looped over.
        let pairs = match link.wiring {
            Wiring::All => a.len() as u64 * b.len() as u64,
            Wiring::Pairwise | Wiring::Rails => a.len() as u64,
        };
        let stands_for = pairs * u64::from(link.count);
        if stands_for > MAX_LINKS {
            self.link_fault(
                link,
                ClusterFault::TooMany {
                    sort: "links",
                    count: stands_for,
                    most: MAX_LINKS,
                },
            );
            return;
        }
        match link.wiring {
            Wiring::Pairwise => {
                if a.len() != b.len() {
                    self.link_fault(
                        link,
                        ClusterFault::Unpaired {
                            a: u32::try_from(a.len()).unwrap_or(u32::MAX),
                            b: u32::try_from(b.len()).unwrap_or(u32::MAX),
                        },
                    );
                    return;
                }
                for (i, j) in a.into_iter().zip(b) {
                    for _ in 0..link.count {
                        self.one_link(link, (ga, i), (gb, j));
                    }
                }
            }
            Wiring::Rails => {
                let rails = u32::try_from(b.len()).unwrap_or(u32::MAX);
                for i in a {
                    for k in 0..link.count {
                        self.one_link(link, (ga, i), (gb, b[(k % rails) as usize]));
                    }
                }
            }
            Wiring::All => {
                for i in &a {
                    for j in &b {
                        // Within one group each pair once, none to itself.
                        if ga == gb && j <= i {
                            continue;
                        }
                        for _ in 0..link.count {
                            self.one_link(link, (ga, *i), (gb, *j));
                        }
                    }
                }
            }
        }
    }

    fn one_link(&mut self, link: &LinkBundle, a: (usize, u32), b: (usize, u32)) {
        self.links += 1;
        if self.links > MAX_LINKS {
            let fault = ClusterFault::TooMany {
                sort: "links",
                count: self.links,
                most: MAX_LINKS,
            };
            if self.links == MAX_LINKS + 1 {
                self.link_fault(link, fault);
            }
            return;
        }
        let socket = |this: &Self, end: (usize, u32)| this.sockets[end.0][end.1 as usize].clone();
        let (sa, sb) = (socket(self, a), socket(self, b));
        if matches!(sa, Socket::Nothing) || matches!(sb, Socket::Nothing) {
            return;
        }
        let cannot = |right| ClusterFault::CannotJoin {
            kind: link.kind.name(),
            a: sa.name(),
            b: sb.name(),
            right,
        };
        let fault = match (link.kind, &sa, &sb) {
            (LinkKind::NvLink | LinkKind::C2c, Socket::Gpu(gpu), Socket::Domain(domain))
            | (LinkKind::NvLink | LinkKind::C2c, Socket::Domain(domain), Socket::Gpu(gpu)) => {
                self.join_domain(link, *gpu, *domain);
                None
            }
            (LinkKind::NvLink | LinkKind::C2c, _, _) => {
                Some(cannot("it joins loose GPUs to a scale-up domain"))
            }
            (LinkKind::Pcie, Socket::Gpu(gpu), Socket::Nic { vertex, .. })
            | (LinkKind::Pcie, Socket::Nic { vertex, .. }, Socket::Gpu(gpu)) => {
                self.topology
                    .join(*gpu, *vertex, link.rate, link.latency, ChannelClass::Pcie);
                None
            }
            (LinkKind::Pcie, _, _) => Some(cannot("it joins a loose GPU and a loose NIC")),
            (_, Socket::Domain(_), _) | (_, _, Socket::Domain(_)) => {
                Some(cannot("a domain takes NVLink from loose GPUs"))
            }
            (_, Socket::Gpu(_), _) | (_, _, Socket::Gpu(_)) => {
                Some(cannot("a loose GPU needs a NIC, joined to it by PCIe"))
            }
            _ => {
                let plugged = (self.plug(link, a), self.plug(link, b));
                if let (Some((va, ra)), Some((vb, rb))) = plugged {
                    let rate = [link.rate, ra, rb]
                        .into_iter()
                        .fold(link.rate, |x, y| if y < x { y } else { x });
                    self.topology
                        .join(va, vb, rate, link.latency, ChannelClass::Network);
                }
                None
            }
        };
        if let Some(fault) = fault {
            self.link_fault(link, fault);
        }
    }

    /// Takes the next NIC or port; returns its vertex and rate.
    fn plug(&mut self, link: &LinkBundle, end: (usize, u32)) -> Option<(u32, ByteRate)> {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let (plug, what) = match &mut self.sockets[end.0][end.1 as usize] {
            Socket::Nics {
                vertices,
                rate,
                taken,
            } => {
                let next = vertices.get(*taken).copied();
                *taken += 1;
                let plug = match next {
                    Some(vertex) => Plug::In(vertex, *rate),
                    None => Plug::Short {
                        have: count(vertices.len()),
                        need: count(*taken),
                    },
                };
                (plug, "NICs")
            }
            Socket::Nic {
                vertex,
                rate,
                taken,
            } => {
                let plug = if *taken {
                    Plug::Short { have: 1, need: 2 }
                } else {
                    Plug::In(*vertex, *rate)
                };
                *taken = true;
                (plug, "NICs")
            }
            Socket::Switch {
                vertex,
                rate,
                taken,
                ports,
            } => {
                *taken = taken.saturating_add(1);
                let plug = if *taken <= *ports {
                    Plug::In(*vertex, *rate)
                } else {
                    Plug::Short {
                        have: *ports,
                        need: *taken,
                    }
                };
                (plug, "ports")
            }
            Socket::Gpu(_) | Socket::Domain(_) | Socket::Nothing => return None,
        };
        match plug {
            Plug::In(vertex, rate) => {
                if link.rate > rate {
                    self.link_fault(
                        link,
                        ClusterFault::Overrated {
                            link: link.rate,
                            what,
                            port: rate,
                        },
                    );
                }
                Some((vertex, rate))
            }
            Plug::Short { have, need } => {
                let group = self.topology.groups[end.0].1.clone();
                self.out_of_ports(link, group, what, have, need);
                None
            }
        }
    }

    /// Reports the shortage once per link and group, with the largest need seen.
    fn out_of_ports(
        &mut self,
        link: &LinkBundle,
        group: String,
        what: &'static str,
        have: u32,
        need: u32,
    ) {
        for (place, fault) in &mut self.faults {
            if let (
                ClusterPlace::Link(id),
                ClusterFault::OutOfPorts {
                    group: g, need: n, ..
                },
            ) = (place, fault)
                && *id == link.id
                && *g == group
            {
                *n = (*n).max(need);
                return;
            }
        }
        self.link_fault(
            link,
            ClusterFault::OutOfPorts {
                group,
                what,
                have,
                need,
            },
        );
    }

    fn join_domain(&mut self, link: &LinkBundle, gpu: u32, domain: u32) {
        let Vertex::Gpu(ix) = self.topology.vertices[gpu as usize] else {
            return;
        };
        let Some(drawn) = self.domains.iter_mut().find(|drawn| drawn.hub == domain) else {
            return;
        };
        let attached = if link.rate < drawn.rate {
            link.rate
        } else {
            drawn.rate
        };
        match drawn.members.iter_mut().find(|(member, _)| *member == ix) {
            Some((_, sum)) => *sum = *sum + attached,
            None => drawn.members.push((ix, attached)),
        }
    }

    pub(super) fn join_domains(&mut self) {
        let hop = Seconds::new(SCALE_UP_HOP);
        for DrawnDomain {
            hub, kind, members, ..
        } in std::mem::take(&mut self.domains)
        {
            let domain = self.new_domain();
            let switched = kind == DomainKind::NvSwitch;
            for (ix, rate) in &members {
                let site = &mut self.topology.gpus[ix.0 as usize];
                self.topology.domain_size[site.domain as usize] -= 1;
                self.topology.domain_size[domain as usize] += 1;
                site.domain = domain;
                site.scale_up = *rate;
                site.scale_up_kind = if switched {
                    ScaleUpKind::Switched
                } else {
                    ScaleUpKind::FullMesh
                };
            }
            if switched {
                for (ix, rate) in &members {
                    let vertex = self.topology.gpu_vertex[ix.0 as usize];
                    self.topology
                        .join(vertex, hub, *rate, hop, ChannelClass::ScaleUp);
                }
            } else if let Some((_, slowest)) = members
                .iter()
                .min_by(|a, b| a.1.get().total_cmp(&b.1.get()))
            {
                let vertices: Vec<u32> = members
                    .iter()
                    .map(|(ix, _)| self.topology.gpu_vertex[ix.0 as usize])
                    .collect();
                self.mesh(&vertices, *slowest, hop);
            }
        }
    }
}
