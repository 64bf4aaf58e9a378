//! What a line between two things becomes: whether it may be, and the bundle it makes.

use super::names;
use crate::catalog::{Catalog, SwitchTier};
use crate::cluster::{
    Cluster, Group, GroupId, GroupKind, Instances, LinkBundle, LinkId, LinkKind, MAX_PARALLEL,
    Port, Wiring,
};
use crate::plan::Design;
use crate::units::{ByteRate, Seconds};

/// One-way latency of a kernel TCP message between hosts of one hall, a round figure to start from.
const TCP_LATENCY: f64 = 25e-6;
/// One-way latency between data centres some 200 km apart, at 5 µs per km of fibre.
const INTER_DC_LATENCY: f64 = 1e-3;
/// Latency where no NIC type says better: RDMA through one switch.
const RDMA_LATENCY: f64 = 2e-6;
/// Latency of a hop of a scale-up domain or of PCIe.
const BOARD_LATENCY: f64 = 0.5e-6;

/// A bundle that may be drawn: everything of a [`LinkBundle`] but its id.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkProposal {
    /// One end.
    pub a: Port,
    /// The other.
    pub b: Port,
    /// Links per pair of instances (see [`Wiring`]).
    pub count: u32,
    /// Rate of one link, one direction.
    pub rate: ByteRate,
    /// Latency of one link.
    pub latency: Seconds,
    /// What it is made of.
    pub kind: LinkKind,
    /// How instances meet.
    pub wiring: Wiring,
}

/// What a group offers to a link.
struct End<'a> {
    group: &'a Group,
    /// Free NICs or ports of the fullest instance.
    free: u32,
    have: u32,
    rate: ByteRate,
    latency: Seconds,
    tier: Option<SwitchTier>,
}

/// NICs or ports of one instance; none: it has no such limit.
#[must_use]
pub fn ports(group: &Group, catalog: &Catalog) -> Option<u32> {
    match &group.kind {
        GroupKind::Node(id) => Some(catalog.node(id).map_or(0, |node| node.nics)),
        GroupKind::Switch(id) => Some(catalog.switch(id).map_or(0, |switch| switch.ports)),
        GroupKind::Ocs { ports, .. } => Some(*ports),
        GroupKind::Nic(_) => Some(1),
        GroupKind::Gpu(_) | GroupKind::Domain { .. } => None,
    }
}

/// NICs or ports that links take of the instance that gives most.
#[must_use]
pub fn ports_used(cluster: &Cluster, id: &GroupId) -> u32 {
    let count = |id: &GroupId| cluster.group(id).map_or(0, |group| group.count);
    let size = |port: &Port| match port.instances {
        Instances::Each => count(&port.group),
        Instances::One(_) => 1,
    };
    let mut each = 0u32;
    let mut single: std::collections::BTreeMap<u32, u32> = std::collections::BTreeMap::new();
    for link in cluster.links.iter().filter(|link| link.kind.is_network()) {
        let (na, nb) = (size(&link.a), size(&link.b));
        let within = link.a.group == link.b.group;
        for (port, other, is_a) in [(&link.a, nb, true), (&link.b, na, false)] {
            if &port.group != id || (within && !is_a) {
                continue;
            }
            let taken = match link.wiring {
                Wiring::Pairwise => link.count,
                Wiring::Rails if is_a => link.count,
                Wiring::Rails => other.saturating_mul(link.count.div_ceil(nb.max(1))),
                Wiring::All if within => link.count.saturating_mul(other.saturating_sub(1)),
                Wiring::All => link.count.saturating_mul(other),
            };
            match port.instances {
                Instances::Each => each = each.saturating_add(taken),
                Instances::One(instance) => {
                    let sum = single.entry(instance).or_insert(0);
                    *sum = sum.saturating_add(taken);
                }
            }
        }
    }
    each.saturating_add(single.into_values().max().unwrap_or(0))
}

/// Whether two groups may be joined by such a link, and the bundle it would be: as many links as
/// both ends have free, at the slower end's rate.
///
/// # Errors
/// Why not, and what would be right, in a sentence for the pointer.
pub fn can_connect(
    design: &Design,
    a: &GroupId,
    b: &GroupId,
    kind: LinkKind,
    catalog: &Catalog,
) -> Result<LinkProposal, String> {
    let cluster = &design.cluster;
    let (Some(ga), Some(gb)) = (cluster.group(a), cluster.group(b)) else {
        return Err("Draw the line from one thing to another".to_owned());
    };
    if a == b {
        return Err("A link joins two different things".to_owned());
    }
    match kind {
        LinkKind::NvLink | LinkKind::C2c => match (&ga.kind, &gb.kind) {
            (GroupKind::Gpu(_), GroupKind::Domain { rate, .. })
            | (GroupKind::Domain { rate, .. }, GroupKind::Gpu(_)) => {
                Ok(proposal(ga, gb, 1, *rate, BOARD_LATENCY, kind))
            }
            _ => Err(format!(
                "{} joins loose GPUs to a scale-up domain; inside a node it is built in",
                kind.name()
            )),
        },
        LinkKind::Pcie => match (&ga.kind, &gb.kind) {
            (GroupKind::Gpu(gpu), GroupKind::Nic(_)) | (GroupKind::Nic(_), GroupKind::Gpu(gpu)) => {
                let rate = catalog.gpu(gpu).map_or(ByteRate::ZERO, |gpu| gpu.pcie);
                Ok(proposal(ga, gb, 1, rate, BOARD_LATENCY, kind))
            }
            _ => Err(
                "PCIe joins a loose GPU and a loose NIC; inside a node it is built in".to_owned(),
            ),
        },
        _ => network(cluster, ga, gb, kind, catalog),
    }
}

fn proposal(
    a: &Group,
    b: &Group,
    count: u32,
    rate: ByteRate,
    latency: f64,
    kind: LinkKind,
) -> LinkProposal {
    let port = |group: &Group| Port {
        group: group.id.clone(),
        instances: Instances::Each,
    };
    LinkProposal {
        a: port(a),
        b: port(b),
        count,
        rate,
        latency: Seconds::new(latency),
        kind,
        wiring: Wiring::All,
    }
}

fn end<'a>(
    cluster: &Cluster,
    group: &'a Group,
    kind: LinkKind,
    catalog: &Catalog,
) -> Result<End<'a>, String> {
    let used = ports_used(cluster, &group.id);
    let (have, rate, latency, tier) = match &group.kind {
        GroupKind::Node(id) => {
            let node = catalog
                .node(id)
                .ok_or_else(|| format!("There is no node type “{id}” in the catalog"))?;
            let (rate, latency) = catalog
                .nic(&node.nic)
                .map_or((ByteRate::ZERO, Seconds::new(RDMA_LATENCY)), |nic| {
                    (nic.rate, nic.latency)
                });
            (node.nics, rate, latency, None)
        }
        GroupKind::Nic(id) => {
            let nic = catalog
                .nic(id)
                .ok_or_else(|| format!("There is no NIC type “{id}” in the catalog"))?;
            (1, nic.rate, nic.latency, None)
        }
        GroupKind::Switch(id) => {
            let switch = catalog
                .switch(id)
                .ok_or_else(|| format!("There is no switch type “{id}” in the catalog"))?;
            (
                switch.ports,
                switch.port_rate,
                switch.latency,
                Some(switch.tier),
            )
        }
        GroupKind::Gpu(_) => {
            return Err(format!(
                "{} needs a NIC: join a loose GPU to one by PCIe first",
                kind.name()
            ));
        }
        GroupKind::Domain { .. } => {
            return Err("A scale-up domain takes NVLink from loose GPUs".to_owned());
        }
        GroupKind::Ocs { .. } => {
            return Err(
                "An optical switch can be drawn; this version can't run links to it".to_owned(),
            );
        }
    };
    let free = have.saturating_sub(used);
    if free == 0 {
        let what = if tier.is_some() { "ports" } else { "NICs" };
        return Err(format!("{}: all {have} {what} are taken", group.name));
    }
    Ok(End {
        group,
        free,
        have,
        rate,
        latency,
        tier,
    })
}

fn network(
    cluster: &Cluster,
    a: &Group,
    b: &Group,
    kind: LinkKind,
    catalog: &Catalog,
) -> Result<LinkProposal, String> {
    let (a, b) = (
        end(cluster, a, kind, catalog)?,
        end(cluster, b, kind, catalog)?,
    );
    // The nodes first, then the lower tier: rails are wired from NICs to switches.
    let (a, b) = if (a.tier, 0) > (b.tier, 0) {
        (b, a)
    } else {
        (a, b)
    };
    let (na, nb) = (a.group.count.max(1), b.group.count.max(1));
    let mut wiring = Wiring::All;
    let count = match (a.tier, b.tier) {
        (None, None) => {
            let all = (a.free / nb).min(b.free / na);
            if all == 0 && na == nb {
                wiring = Wiring::Pairwise;
                a.free.min(b.free)
            } else {
                all
            }
        }
        (None, Some(_)) if nb > 1 => {
            // The fullest switch gets ceil(count / nb) links of each node.
            wiring = Wiring::Rails;
            a.free.min((b.free / na).saturating_mul(nb))
        }
        (None, Some(_)) | (Some(_), None) => a.free.min(b.free / na),
        (Some(_), Some(_)) => {
            // Half the lower switch's ports go up, as in a fabric that doesn't block.
            let up = a.free.min((a.have / 2).max(1));
            (up / nb).min(b.free / na)
        }
    }
    .min(MAX_PARALLEL);
    if count == 0 {
        return Err(format!(
            "{} has {} free for {na} × {}: join them through more switches",
            b.group.name, b.free, a.group.name
        ));
    }
    let latency = match kind {
        LinkKind::Ethernet => TCP_LATENCY,
        LinkKind::InterDc => INTER_DC_LATENCY,
        // A NIC's figure is end to end through one switch, which is two such links.
        _ => match (a.tier, b.tier) {
            (None, None) => a.latency.get().max(b.latency.get()),
            (None, Some(_)) => a.latency.get() / 2.0,
            _ => a.latency.get().max(b.latency.get()),
        },
    };
    let rate = if a.rate < b.rate { a.rate } else { b.rate };
    let mut link = proposal(a.group, b.group, count, rate, latency, kind);
    link.wiring = wiring;
    Ok(link)
}

/// Draws the bundle.
pub fn connect(design: &mut Design, link: &LinkProposal) -> LinkId {
    let id = names::fresh_link(&design.cluster);
    design.cluster.links.push(LinkBundle {
        id: id.clone(),
        a: link.a.clone(),
        b: link.b.clone(),
        count: link.count,
        rate: link.rate,
        latency: link.latency,
        kind: link.kind,
        wiring: link.wiring,
    });
    id
}
