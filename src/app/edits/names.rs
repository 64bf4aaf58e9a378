//! Short words for hardware, and fresh ids and names for new things.

use crate::catalog::{Catalog, Gpu, NodeType, SwitchTier};
use crate::cluster::{Cluster, GroupId, GroupKind, LinkId};

/// A node of more GPUs is a rack to people.
const RACK: u32 = 16;

/// The GPU's name as people say it: no vendor, no package, no memory (`H800`, `RTX 4090`).
#[must_use]
pub fn gpu_short(gpu: &Gpu) -> String {
    let name = gpu.name.split(" (").next().unwrap_or(&gpu.name);
    let mut words: Vec<&str> = name.split_whitespace().collect();
    if words.len() > 1 && words[0] == gpu.vendor {
        words.remove(0);
    }
    if words.len() > 1 && matches!(words[0], "Instinct" | "GeForce") {
        words.remove(0);
    }
    if let [.., number, "GB" | "GiB"] = words[..]
        && number.parse::<f64>().is_ok()
    {
        words.truncate(words.len() - 2);
    }
    words.retain(|word| !matches!(*word, "SXM" | "PCIe" | "OAM" | "Server" | "Blackwell"));
    if words.is_empty() {
        return gpu.name.clone();
    }
    words.join(" ")
}

/// The GPU's memory as it is sold (`80 GB`): the number in its name, else rounded GiB, which is
/// what the label's “GB” means.
#[must_use]
pub fn gpu_memory(gpu: &Gpu) -> String {
    let words: Vec<&str> = gpu.name.split_whitespace().collect();
    let sold = words
        .windows(2)
        .find(|pair| pair[1] == "GB" && pair[0].parse::<u32>().is_ok())
        .map(|pair| format!("{} GB", pair[0]));
    sold.unwrap_or_else(|| format!("{:.0} GB", gpu.memory.gib()))
}

/// `8 × H800 80 GB`.
#[must_use]
pub fn node_detail(node: &NodeType, catalog: &Catalog) -> String {
    match catalog.gpu(&node.gpu) {
        Some(gpu) => format!("{} × {} {}", node.gpus, gpu_short(gpu), gpu_memory(gpu)),
        None => format!("{} × {}", node.gpus, node.gpu),
    }
}

/// What one instance is called in a sentence: `node`, `rack`, `switch`.
#[must_use]
pub fn group_noun(kind: &GroupKind, catalog: &Catalog) -> &'static str {
    match kind {
        GroupKind::Node(id) => match catalog.node(id) {
            Some(node) if node.gpus > RACK => "rack",
            _ => "node",
        },
        GroupKind::Gpu(_) => "GPU",
        GroupKind::Nic(_) => "NIC",
        GroupKind::Domain { .. } => "domain",
        GroupKind::Switch(_) => "switch",
        GroupKind::Ocs { .. } => "optical switch",
    }
}

/// The stem of a new group's name and of its id.
fn stem(kind: &GroupKind, catalog: &Catalog) -> (String, String) {
    match kind {
        GroupKind::Node(id) => {
            let gpu = catalog
                .node(id)
                .and_then(|node| catalog.gpu(&node.gpu))
                .map_or_else(|| id.to_string(), gpu_short);
            (format!("{gpu} {}", group_noun(kind, catalog)), gpu)
        }
        GroupKind::Gpu(id) => {
            let gpu = catalog.gpu(id).map_or_else(|| id.to_string(), gpu_short);
            (format!("{gpu} GPU"), format!("{gpu}-gpu"))
        }
        GroupKind::Nic(_) => ("NIC".to_owned(), "nic".to_owned()),
        GroupKind::Domain { .. } => ("Domain".to_owned(), "domain".to_owned()),
        GroupKind::Switch(id) => {
            let tier = match catalog.switch(id).map(|switch| switch.tier) {
                Some(SwitchTier::Leaf) => "Leaf",
                Some(SwitchTier::Spine) => "Spine",
                Some(SwitchTier::Core) => "Core",
                None => "Switch",
            };
            (tier.to_owned(), tier.to_owned())
        }
        GroupKind::Ocs { .. } => ("OCS".to_owned(), "ocs".to_owned()),
    }
}

/// An id and a name that nothing in the drawing has: the smallest number free in both.
#[must_use]
pub fn fresh(cluster: &Cluster, kind: &GroupKind, catalog: &Catalog) -> (GroupId, String) {
    let (name_stem, id_stem) = stem(kind, catalog);
    let mut n = 1u32;
    loop {
        let id = GroupId::from_label(&format!("{id_stem}-{n}"));
        let name = format!("{name_stem} {n}");
        if !cluster.groups.iter().any(|g| g.id == id || g.name == name) {
            return (id, name);
        }
        n += 1;
    }
}

/// A link id that the drawing has not.
#[must_use]
pub fn fresh_link(cluster: &Cluster) -> LinkId {
    let mut n = 1u32;
    loop {
        let id = LinkId::from_label(&format!("link-{n}"));
        if cluster.link(&id).is_none() {
            return id;
        }
        n += 1;
    }
}

/// A link's rate as networks are sold: `400 Gb/s`, also where [`crate::units`] would say 50 GB/s.
#[must_use]
pub fn wire_rate(rate: crate::units::ByteRate) -> String {
    let gigabits = rate.get() * 8e-9;
    if gigabits >= 1.0 {
        format!("{} Gb/s", trimmed(gigabits))
    } else {
        format!("{} Mb/s", trimmed(gigabits * 1e3))
    }
}

/// A scale-up or memory rate in bytes: `200 GB/s`, `3.35 TB/s`.
#[must_use]
pub fn byte_rate(rate: crate::units::ByteRate) -> String {
    let gb = rate.get() * 1e-9;
    if gb >= 1000.0 {
        format!("{} TB/s", trimmed(gb / 1000.0))
    } else {
        format!("{} GB/s", trimmed(gb))
    }
}

/// Two decimals at most, none that are zero.
fn trimmed(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
