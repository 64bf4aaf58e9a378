//! Operations on a design, as the drawing offers them: add, move, remove, duplicate, connect,
//! paint. No window in them: the canvas, the inspector and menus wrap them into [`super::edit`].
//!
//! All are deterministic, keep the ids of what stays, and leave anything a drawing can't have
//! (a link to nothing, a pool of no GPU) behind.

mod connect;
mod names;
mod paint;
mod serve;

pub use connect::{LinkProposal, can_connect, connect, ports, ports_used};
pub use names::{
    byte_rate, fresh as fresh_group, fresh_link, gpu_memory, gpu_short, group_noun, node_detail,
    wire_rate,
};
pub use paint::{engine_default, gpu_type_of, idle, layout_suggestion, paint};
pub use serve::{published_precision, serve};

use crate::catalog::Catalog;
use crate::cluster::{
    Cluster, GpuAddress, Group, GroupId, GroupKind, LinkBundle, LinkId, Position, fold_gpus,
};
use crate::plan::{Design, Pool};
use std::collections::{BTreeMap, BTreeSet};

/// Draws one new thing; its id and name follow from its type and are new to the drawing.
pub fn add_group(
    design: &mut Design,
    kind: GroupKind,
    position: Position,
    catalog: &Catalog,
) -> GroupId {
    let (id, name) = names::fresh(&design.cluster, &kind, catalog);
    design.cluster.groups.push(Group {
        id: id.clone(),
        name,
        kind,
        count: 1,
        position,
        overrides: BTreeMap::new(),
    });
    id
}

/// Moves groups by a distance in points.
pub fn move_groups(design: &mut Design, groups: &BTreeSet<GroupId>, dx: f32, dy: f32) {
    for group in &mut design.cluster.groups {
        if groups.contains(&group.id) {
            group.position.x += dx;
            group.position.y += dy;
        }
    }
}

/// Puts groups at places: what a drag does, so that no rounding piles up.
pub fn place_groups(design: &mut Design, places: &[(GroupId, Position)]) {
    for (id, position) in places {
        if let Some(group) = design.cluster.group_mut(id) {
            group.position = *position;
        }
    }
}

/// Takes groups away, with the links that end there and their GPUs' places in pools.
pub fn remove_groups(design: &mut Design, groups: &BTreeSet<GroupId>) {
    design.cluster.groups.retain(|g| !groups.contains(&g.id));
    design
        .cluster
        .links
        .retain(|l| !groups.contains(&l.a.group) && !groups.contains(&l.b.group));
    for pool in &mut design.pools {
        pool.gpus.retain(|range| !groups.contains(&range.group));
    }
    drop_empty_pools(design);
}

/// Takes links away.
pub fn remove_links(design: &mut Design, links: &BTreeSet<LinkId>) {
    design.cluster.links.retain(|l| !links.contains(&l.id));
}

/// Copies groups, `dx`/`dy` points away: copies join the pools of their originals, links among
/// the copied are copied, and links to a switch outside as long as it has free ports. Returns the
/// copies, in the order drawn.
pub fn duplicate_groups(
    design: &mut Design,
    groups: &BTreeSet<GroupId>,
    dx: f32,
    dy: f32,
    catalog: &Catalog,
) -> Vec<GroupId> {
    let originals: Vec<Group> = design
        .cluster
        .groups
        .iter()
        .filter(|g| groups.contains(&g.id))
        .cloned()
        .collect();
    let mut copy_of: BTreeMap<GroupId, GroupId> = BTreeMap::new();
    for original in &originals {
        let (id, name) = names::fresh(&design.cluster, &original.kind, catalog);
        copy_of.insert(original.id.clone(), id.clone());
        let mut copy = original.clone();
        copy.id = id;
        copy.name = name;
        copy.position.x += dx;
        copy.position.y += dy;
        for change in copy.overrides.values_mut() {
            if let Some(position) = &mut change.position {
                position.x += dx;
                position.y += dy;
            }
        }
        design.cluster.groups.push(copy);
    }
    for pool in &mut design.pools {
        let copied: Vec<_> = pool
            .gpus
            .iter()
            .filter_map(|range| {
                let mut copy = range.clone();
                copy.group = copy_of.get(&range.group)?.clone();
                Some(copy)
            })
            .collect();
        pool.gpus.extend(copied);
    }
    for link in design.cluster.links.clone() {
        copy_link(design, &link, &copy_of, catalog);
    }
    originals
        .iter()
        .filter_map(|original| copy_of.get(&original.id).cloned())
        .collect()
}

fn copy_link(
    design: &mut Design,
    link: &LinkBundle,
    copy_of: &BTreeMap<GroupId, GroupId>,
    catalog: &Catalog,
) {
    let (a, b) = (copy_of.get(&link.a.group), copy_of.get(&link.b.group));
    let outside = match (a, b) {
        (None, None) => return,
        (Some(_), Some(_)) => None,
        (Some(_), None) => Some(link.b.group.clone()),
        (None, Some(_)) => Some(link.a.group.clone()),
    };
    let mut copy = link.clone();
    copy.id = names::fresh_link(&design.cluster);
    if let Some(a) = a {
        copy.a.group = a.clone();
    }
    if let Some(b) = b {
        copy.b.group = b.clone();
    }
    design.cluster.links.push(copy);
    // A link that the outside end has no port for is not worth an error: leave it out.
    let fits = outside.is_none_or(|id| {
        design.cluster.group(&id).is_some_and(|group| {
            matches!(group.kind, GroupKind::Switch(_) | GroupKind::Domain { .. })
                && ports(group, catalog).is_none_or(|have| ports_used(&design.cluster, &id) <= have)
        })
    });
    if !fits {
        design.cluster.links.pop();
    }
}

/// How many GPUs an instance of a group has.
#[must_use]
pub fn gpus_per_instance(group: &Group, instance: u32, catalog: &Catalog) -> u32 {
    match group.kind_of(instance) {
        GroupKind::Node(id) => catalog.node(id).map_or(0, |node| node.gpus),
        GroupKind::Gpu(_) => 1,
        _ => 0,
    }
}

/// The GPUs of one instance.
#[must_use]
pub fn gpus_of_instance(group: &Group, instance: u32, catalog: &Catalog) -> BTreeSet<GpuAddress> {
    if instance >= group.count {
        return BTreeSet::new();
    }
    (0..gpus_per_instance(group, instance, catalog))
        .map(|slot| GpuAddress {
            group: group.id.clone(),
            instance,
            slot,
        })
        .collect()
}

/// The GPUs of a group.
#[must_use]
pub fn gpus_of_group(group: &Group, catalog: &Catalog) -> BTreeSet<GpuAddress> {
    (0..group.count.min(crate::cluster::MAX_INSTANCES))
        .flat_map(|instance| gpus_of_instance(group, instance, catalog))
        .collect()
}

/// The GPUs of a drawing, by count only.
#[must_use]
pub fn gpu_count(cluster: &Cluster, catalog: &Catalog) -> u64 {
    cluster
        .groups
        .iter()
        .map(|group| {
            let differs = |i: &u32| *i < group.count;
            let odd = group.overrides.keys().filter(|i| differs(i));
            let (odd_count, odd_gpus) = odd.fold((0u64, 0u64), |(n, gpus), i| {
                (
                    n + 1,
                    gpus + u64::from(gpus_per_instance(group, *i, catalog)),
                )
            });
            let usual = match &group.kind {
                GroupKind::Node(id) => catalog.node(id).map_or(0, |node| node.gpus),
                GroupKind::Gpu(_) => 1,
                _ => 0,
            };
            (u64::from(group.count) - odd_count) * u64::from(usual) + odd_gpus
        })
        .sum()
}

/// The GPUs of a pool, one by one.
fn members(pool: &Pool) -> BTreeSet<GpuAddress> {
    pool.gpus.iter().flat_map(|range| range.iter()).collect()
}

/// Gives a pool exactly these GPUs.
fn set_members(pool: &mut Pool, gpus: &BTreeSet<GpuAddress>) {
    pool.gpus = fold_gpus(gpus);
}

fn drop_empty_pools(design: &mut Design) {
    design.pools.retain(|pool| !pool.gpus.is_empty());
}

#[cfg(test)]
mod tests;
