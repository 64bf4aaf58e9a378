//! The drawing as the canvas shows it: cards and wires with their places, and the role of every
//! GPU in dense arrays. Built once per revision of the document, not per frame.

use super::card::{Inside, Shape};
use super::wire::{Wire, WireKind, route};
use crate::app::edits;
use crate::catalog::{Catalog, ScaleUpKind, SwitchTier};
use crate::cluster::{GpuAddress, Group, GroupId, GroupKind, LinkKind, MAX_GPUS};
use crate::plan::{Design, Layout, Phases, Pool, PoolId, Role, Service};
use eframe::egui::{Pos2, Rect, pos2};
use std::collections::{BTreeMap, BTreeSet};

/// A GPU in no pool.
pub const IDLE: u16 = u16::MAX;
/// No GPU in this slot (an instance with fewer than the group's usual).
pub const ABSENT: u16 = u16::MAX - 1;
/// Most feeds drawn; beyond them the arrows would be all one sees.
const MOST_FEEDS: usize = 24;
/// Most pairs of cards looked at to place a feed's arrow.
const MOST_PAIRS: usize = 10_000;

/// The two cards of a feed, each with how many GPUs it has of it.
type Ends<'a> = ((&'a usize, &'a u64), (&'a usize, &'a u64));

/// What the canvas says of a pool.
#[derive(Debug, Clone)]
pub struct PoolMark {
    pub id: PoolId,
    pub name: String,
    pub role: Role,
    pub layout: Layout,
}

/// One group.
#[derive(Debug, Clone)]
pub struct Card {
    pub id: GroupId,
    pub name: String,
    /// Type and size: `HGX H800 · 8 × H800 80 GB`.
    pub detail: String,
    /// `node`, `switch`, …
    pub noun: &'static str,
    pub kind: CardKind,
    pub count: u32,
    pub shape: Shape,
    /// GPU slots of an instance.
    pub stride: u32,
    /// Pool of each GPU, instance by instance.
    pub gpus: Vec<u16>,
    /// Scale-up domain: `NVLink 200 GB/s`.
    pub domain: String,
    /// NICs or ports of an instance, and how many are linked.
    pub ports: u32,
    pub ports_used: u32,
    /// `8 × 400 Gb/s`.
    pub network: String,
    /// GPUs by pool, most first; idle last.
    pub mix: Vec<(u16, u32)>,
}

/// Which glyph and frame a card has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardKind {
    Node,
    Switch,
    Other,
}

/// Everything drawn.
#[derive(Debug, Clone, Default)]
pub struct Scene {
    pub cards: Vec<Card>,
    pub index: BTreeMap<GroupId, usize>,
    pub wires: Vec<Wire>,
    pub pools: Vec<PoolMark>,
    pub bounds: Option<Rect>,
}

impl Scene {
    /// Lays a design out.
    pub fn build(design: &Design, catalog: &Catalog) -> Self {
        let mut scene = Self {
            pools: design.pools.iter().map(mark).collect(),
            ..Self::default()
        };
        for group in &design.cluster.groups {
            scene
                .index
                .entry(group.id.clone())
                .or_insert(scene.cards.len());
            scene.cards.push(card(design, group, catalog));
        }
        scene.fill_pools(design);
        for card in &mut scene.cards {
            card.mix = mix(&card.gpus);
        }
        scene.wires = scene.wires_of(design);
        route(&scene.cards, &mut scene.wires);
        let cards = scene.cards.iter().map(|card| card.shape.rect);
        let wires = scene.wires.iter().map(Wire::extent);
        scene.bounds = cards.chain(wires).reduce(Rect::union);
        scene
    }

    /// The card of a group.
    pub fn card(&self, id: &GroupId) -> Option<&Card> {
        self.cards.get(*self.index.get(id)?)
    }

    /// The pool behind a number of [`Card::gpus`].
    pub fn pool(&self, pool: u16) -> Option<&PoolMark> {
        self.pools.get(usize::from(pool))
    }

    /// The role behind a number of [`Card::gpus`].
    pub fn role(&self, pool: u16) -> Option<Role> {
        self.pool(pool).map(|mark| mark.role)
    }

    fn fill_pools(&mut self, design: &Design) {
        for (number, pool) in design.pools.iter().enumerate().take(usize::from(ABSENT)) {
            let number = u16::try_from(number).unwrap_or(IDLE);
            for range in &pool.gpus {
                let Some(card) = self
                    .index
                    .get(&range.group)
                    .and_then(|i| self.cards.get_mut(*i))
                else {
                    continue;
                };
                if card.stride == 0 || card.count == 0 {
                    continue;
                }
                for instance in range.instances.first..=range.instances.last.min(card.count - 1) {
                    for slot in range.slots.first..=range.slots.last.min(card.stride - 1) {
                        let at = instance as usize * card.stride as usize + slot as usize;
                        if let Some(gpu) = card.gpus.get_mut(at).filter(|gpu| **gpu == IDLE) {
                            *gpu = number;
                        }
                    }
                }
            }
        }
    }

    fn wires_of(&self, design: &Design) -> Vec<Wire> {
        let mut wires = Vec::new();
        for link in &design.cluster.links {
            let (Some(a), Some(b)) = (self.index.get(&link.a.group), self.index.get(&link.b.group))
            else {
                continue;
            };
            let several = self.cards[*a].count > 1 || self.cards[*b].count > 1;
            let rate = if link.kind.is_network() {
                edits::wire_rate(link.rate)
            } else {
                edits::byte_rate(link.rate)
            };
            let label = format!(
                "{} × {rate} {}{}",
                link.count,
                short(link.kind),
                if several { " each" } else { "" }
            );
            wires.push(Wire::new(
                WireKind::Link(link.id.clone()),
                *a,
                *b,
                label,
                link.count,
            ));
        }
        for (a, b) in self.feeds(design) {
            wires.push(Wire::new(WireKind::Feed, a, b, "KV".to_owned(), 1));
        }
        wires
    }

    /// Card pairs that KV flows between.
    fn feeds(&self, design: &Design) -> BTreeSet<(usize, usize)> {
        let of_phase =
            |phases: Phases| design.services.iter().filter(move |s| s.phases() == phases);
        let pairs: Vec<(&Service, &Service)> = if design.feeds.is_empty() {
            of_phase(Phases::Prefill)
                .flat_map(|from| of_phase(Phases::Decode).map(move |to| (from, to)))
                .collect()
        } else {
            let service = |id| design.services.iter().find(|s| s.id() == id);
            design
                .feeds
                .iter()
                .filter_map(|feed| Some((service(&feed.from)?, service(&feed.to)?)))
                .collect()
        };
        let middle = |card: usize| self.cards[card].shape.rect.center();
        let mut feeds = BTreeSet::new();
        for (from, to) in pairs.into_iter().take(MOST_FEEDS) {
            // One arrow per feed, between the cards with most of its GPUs, of equals the
            // nearest: more would hide the fabric.
            let from = self.cards_of(design, from);
            let to = self.cards_of(design, to);
            let main = from
                .iter()
                .flat_map(|a| to.iter().map(move |b| (a, b)))
                .filter(|(a, b)| a.0 != b.0)
                .take(MOST_PAIRS)
                .min_by(|x, y| {
                    let gpus = |(a, b): &Ends<'_>| a.1 + b.1;
                    let apart = |(a, b): &Ends<'_>| middle(*a.0).distance_sq(middle(*b.0));
                    gpus(y).cmp(&gpus(x)).then(apart(x).total_cmp(&apart(y)))
                })
                .map(|(a, b)| (*a.0, *b.0));
            feeds.extend(main);
        }
        feeds
    }

    /// Cards with GPUs of a service's pools, and how many.
    fn cards_of(&self, design: &Design, service: &Service) -> BTreeMap<usize, u64> {
        let pools: Vec<&PoolId> = match service {
            Service::Whole { pool, .. } => vec![pool],
            Service::Afd { attention, .. } => attention.iter().collect(),
        };
        let mut cards = BTreeMap::new();
        let ranges = pools
            .into_iter()
            .filter_map(|id| design.pool(id))
            .flat_map(|pool| &pool.gpus);
        for range in ranges {
            if let Some(card) = self.index.get(&range.group) {
                *cards.entry(*card).or_insert(0) += range.len();
            }
        }
        cards
    }
}

impl Card {
    /// Pool number of a GPU.
    pub fn gpu(&self, instance: u32, slot: u32) -> u16 {
        let at = instance as usize * self.stride as usize + slot as usize;
        self.gpus.get(at).copied().unwrap_or(ABSENT)
    }

    /// Pool numbers of an instance's GPUs.
    pub fn instance(&self, instance: u32) -> &[u16] {
        let first = instance as usize * self.stride as usize;
        self.gpus
            .get(first..first + self.stride as usize)
            .unwrap_or(&[])
    }

    /// A GPU's address.
    pub fn address(&self, instance: u32, slot: u32) -> GpuAddress {
        GpuAddress {
            group: self.id.clone(),
            instance,
            slot,
        }
    }

    /// Every GPU of some instances.
    pub fn addresses(&self, instances: std::ops::Range<u32>) -> BTreeSet<GpuAddress> {
        (instances.start..instances.end.min(self.count))
            .flat_map(|instance| (0..self.stride).map(move |slot| (instance, slot)))
            .filter(|(instance, slot)| self.gpu(*instance, *slot) != ABSENT)
            .map(|(instance, slot)| self.address(instance, slot))
            .collect()
    }

    /// The instances of a tile of a stack.
    pub fn cell_instances(&self, cell: u32) -> std::ops::Range<u32> {
        match self.shape.inside {
            Inside::Instances { each, .. } => cell * each..((cell + 1) * each).min(self.count),
            _ => 0..self.count,
        }
    }
}

/// `TP 4 · PP 2`, only what differs from one.
pub fn layout_words(layout: Layout) -> String {
    let mut words = format!("TP {}", layout.tp);
    for (word, n) in [("PP", layout.pp), ("DP", layout.dp), ("EP", layout.ep)] {
        if n > 1 {
            words.push_str(&format!(" · {word} {n}"));
        }
    }
    words
}

fn mark(pool: &Pool) -> PoolMark {
    PoolMark {
        id: pool.id.clone(),
        name: pool.name.clone(),
        role: pool.role,
        layout: pool.layout,
    }
}

fn mix(gpus: &[u16]) -> Vec<(u16, u32)> {
    let mut counts: BTreeMap<u16, u32> = BTreeMap::new();
    for gpu in gpus.iter().filter(|gpu| **gpu != ABSENT) {
        *counts.entry(*gpu).or_insert(0) += 1;
    }
    let mut mix: Vec<(u16, u32)> = counts.into_iter().collect();
    mix.sort_by_key(|(pool, n)| (*pool == IDLE, std::cmp::Reverse(*n), *pool));
    mix
}

fn position(group: &Group) -> Pos2 {
    let finite = |x: f32| {
        if x.is_finite() {
            x.clamp(-1e6, 1e6)
        } else {
            0.0
        }
    };
    pos2(finite(group.position.x), finite(group.position.y))
}

fn card(design: &Design, group: &Group, catalog: &Catalog) -> Card {
    let at = position(group);
    let ports = edits::ports(group, catalog).unwrap_or(0);
    let mut card = Card {
        id: group.id.clone(),
        name: group.name.clone(),
        detail: String::new(),
        noun: edits::group_noun(&group.kind, catalog),
        kind: CardKind::Other,
        count: group.count.max(1),
        shape: Shape::plain(at),
        stride: 0,
        gpus: Vec::new(),
        domain: String::new(),
        ports,
        ports_used: edits::ports_used(&design.cluster, &group.id),
        network: String::new(),
        mix: Vec::new(),
    };
    match &group.kind {
        GroupKind::Node(id) => node_card(&mut card, group, id, at, catalog),
        GroupKind::Gpu(id) => {
            card.detail = catalog.gpu(id).map_or_else(
                || id.to_string(),
                |gpu| format!("{} {}", edits::gpu_short(gpu), edits::gpu_memory(gpu)),
            );
            card.stride = 1;
            card.gpus = vec![IDLE; card.count.min(MAX_GPUS) as usize];
        }
        GroupKind::Nic(id) => {
            card.detail = catalog
                .nic(id)
                .map_or_else(|| id.to_string(), |nic| nic.name.clone());
        }
        GroupKind::Domain { kind, rate } => {
            card.detail = format!("{kind:?} {}", edits::byte_rate(*rate));
        }
        GroupKind::Switch(id) => {
            card.kind = CardKind::Switch;
            match catalog.switch(id) {
                Some(switch) => {
                    let tier = match switch.tier {
                        SwitchTier::Leaf => "leaf",
                        SwitchTier::Spine => "spine",
                        SwitchTier::Core => "core",
                    };
                    card.network =
                        format!("{} × {}", switch.ports, edits::wire_rate(switch.port_rate));
                    card.detail = format!("{} {tier}", card.network);
                }
                None => card.detail = format!("no type “{id}”"),
            }
        }
        GroupKind::Ocs { ports, rate } => {
            card.kind = CardKind::Switch;
            card.network = format!("{ports} × {}", edits::wire_rate(*rate));
            card.detail = format!("{} optical", card.network);
        }
    }
    card
}

fn node_card(
    card: &mut Card,
    group: &Group,
    id: &crate::catalog::NodeTypeId,
    at: Pos2,
    catalog: &Catalog,
) {
    card.kind = CardKind::Node;
    let Some(node) = catalog.node(id) else {
        card.detail = format!("no type “{id}”");
        return;
    };
    card.detail = format!("{} · {}", node.name, edits::node_detail(node, catalog));
    card.stride = (0..group.count)
        .filter(|instance| group.overrides.contains_key(instance))
        .map(|instance| edits::gpus_per_instance(group, instance, catalog))
        .fold(node.gpus, u32::max);
    // A drawing of more is refused by legality; here it must only not exhaust memory.
    if u64::from(card.stride) * u64::from(card.count) > u64::from(MAX_GPUS) {
        card.count = (MAX_GPUS / card.stride.max(1)).max(1);
    }
    card.gpus = vec![IDLE; card.stride as usize * card.count as usize];
    for instance in group.overrides.keys().filter(|i| **i < card.count) {
        let has = edits::gpus_per_instance(group, *instance, catalog);
        for slot in has..card.stride {
            card.gpus[(instance * card.stride + slot) as usize] = ABSENT;
        }
    }
    card.shape = if card.count == 1 {
        Shape::node(at, card.stride, node.nics)
    } else {
        Shape::stack(at, card.count, node.nics)
    };
    if let Some(nic) = catalog.nic(&node.nic).filter(|_| node.nics > 0) {
        card.network = format!("{} × {}", node.nics, edits::wire_rate(nic.rate));
    }
    if let Some(gpu) = catalog.gpu(&node.gpu) {
        let fabric = match gpu.vendor.as_str() {
            "AMD" => "xGMI",
            "Huawei" => "HCCS",
            _ => "NVLink",
        };
        card.domain = match gpu.scale_up_kind {
            ScaleUpKind::Switched => {
                format!("{fabric} {} each way", edits::byte_rate(gpu.scale_up))
            }
            ScaleUpKind::FullMesh => {
                format!("{fabric} mesh {} each way", edits::byte_rate(gpu.scale_up))
            }
            ScaleUpKind::Pcie => format!("PCIe {} each way", edits::byte_rate(gpu.pcie)),
        };
    }
}

/// A kind's name on a wire's label.
fn short(kind: LinkKind) -> &'static str {
    match kind {
        LinkKind::Infiniband => "IB",
        LinkKind::Ethernet => "Eth",
        other => other.name(),
    }
}

#[cfg(test)]
mod tests;
