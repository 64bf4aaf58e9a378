//! The tree's nodes, and the map that finds a child.

use crate::plan::SequenceKv;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

/// The slot of the empty prefix.
pub(super) const ROOT: u32 = 0;

/// The parent of a node that is gone.
const GONE: u32 = u32::MAX;

/// A node of the tree. The slot of one that is gone is used again, in another generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sim) struct NodeId {
    pub(super) slot: u32,
    generation: u32,
}

impl NodeId {
    /// The empty prefix; it never goes.
    pub(in crate::sim) const ROOT: Self = Self {
        slot: ROOT,
        generation: 0,
    };
}

/// A stretch of text below its parent. Lengths are tokens from the root, page counts too.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    /// Which text it is of, and where in it the stretch begins: 0 unless another text left this
    /// one there, or the parent ended before it did.
    pub(super) id: u64,
    pub(super) offset: u32,
    pub(super) parent: u32,
    pub(super) start: u32,
    pub(super) end: u32,
    /// Pages up to here are in HBM; at least those of the parent.
    pub(super) cached: u32,
    pub(super) children: u32,
    pub(super) pins: u32,
    /// Children that are held.
    pub(super) held_children: u32,
    generation: u32,
}

impl Node {
    /// Whether it may not be evicted: a request uses it or something below it.
    pub(super) const fn is_held(&self) -> bool {
        self.pins + self.held_children > 0
    }
}

/// What names a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    id: u64,
    parent: u32,
    offset: u32,
}

/// Folded multiplication, the same in every run: the map is looked into, never walked through, and
/// its keys are made by this program.
#[derive(Debug, Default)]
struct Folded(u64);

impl Folded {
    /// The golden ratio's digits, so that neighbouring keys land far apart.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
}

impl Hasher for Folded {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(u64::from(n));
    }

    fn write_u64(&mut self, n: u64) {
        // The second term keeps a zero from wiping out what came before.
        let mixed = (self.0 ^ n).wrapping_add(Self::FACTOR);
        let product = u128::from(mixed) * u128::from(Self::FACTOR);
        #[expect(clippy::cast_possible_truncation, reason = "both halves are taken")]
        let folded = (product >> 64) as u64 ^ product as u64;
        self.0 = folded;
    }
}

/// What pages weigh.
#[derive(Debug, Clone)]
pub(super) struct Size {
    /// Tokens of a page.
    pub(super) page: u32,
    kv: Rc<SequenceKv>,
}

impl Size {
    pub(super) fn new(page: u32, kv: Rc<SequenceKv>) -> Self {
        Self {
            page: page.max(1),
            kv,
        }
    }

    /// Bytes of the pages `from..to` of a sequence.
    pub(super) fn between(&self, from: u32, to: u32) -> u64 {
        let up_to = |pages: u32| self.kv.bytes(u64::from(pages) * u64::from(self.page));
        up_to(to).saturating_sub(up_to(from))
    }

    /// How many pages stay when as few of `from..to` as give `need` bytes go from the end; `from`
    /// if all don't.
    pub(super) fn keep(&self, from: u32, to: u32, need: u64) -> u32 {
        // Enough goes if `low` stay (or all do go), not if `high` do.
        let (mut low, mut high) = (from, to);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.between(middle, to) >= need {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// All nodes.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    children: HashMap<Key, u32, BuildHasherDefault<Folded>>,
    free: Vec<u32>,
}

impl Tree {
    /// The root alone; it is always held.
    pub(super) fn new() -> Self {
        let root = Node {
            id: 0,
            offset: 0,
            parent: ROOT,
            start: 0,
            end: 0,
            cached: 0,
            children: 0,
            pins: 1,
            held_children: 0,
            generation: 0,
        };
        Self {
            nodes: vec![root],
            children: HashMap::default(),
            free: Vec::new(),
        }
    }

    pub(super) fn id(&self, slot: u32) -> NodeId {
        let generation = self[slot].generation;
        NodeId { slot, generation }
    }

    /// The slot of a node that is pinned, or was found just now.
    pub(super) fn slot(&self, node: NodeId) -> u32 {
        debug_assert_eq!(node, self.id(node.slot), "a node that is gone");
        node.slot
    }

    /// The child that goes on with a text from an offset in it.
    pub(super) fn child(&self, parent: u32, id: u64, offset: u32) -> Option<u32> {
        let key = Key { id, parent, offset };
        self.children.get(&key).copied()
    }

    /// A new child without pages, from its parent's end to `end`.
    pub(super) fn add(&mut self, parent: u32, id: u64, offset: u32, end: u32, page: u32) -> u32 {
        let start = self[parent].end;
        self[parent].children += 1;
        self.place(Node {
            id,
            offset,
            parent,
            start,
            end,
            cached: start / page,
            children: 0,
            pins: 0,
            held_children: 0,
            generation: 0,
        })
    }

    /// Parts a node at `at` tokens: a new one takes what lies before, as its parent; the node keeps
    /// its name, pins, children and the rest.
    pub(super) fn split(&mut self, slot: u32, at: u32, page: u32) -> u32 {
        let node = self[slot];
        let upper = self.place(Node {
            end: at,
            cached: node.cached.min(at / page),
            children: 1,
            pins: 0,
            held_children: u32::from(node.is_held()),
            ..node
        });
        let lower = Node {
            offset: node.offset + (at - node.start),
            parent: upper,
            start: at,
            cached: node.cached.max(at / page),
            ..node
        };
        self[slot] = lower;
        self.children.insert(Self::key(&lower), slot);
        upper
    }

    /// Puts a node in a slot, and where its parent finds it.
    fn place(&mut self, node: Node) -> u32 {
        let slot = if let Some(slot) = self.free.pop() {
            let generation = self[slot].generation;
            self[slot] = Node { generation, ..node };
            slot
        } else {
            let generation = 0;
            self.nodes.push(Node { generation, ..node });
            // Each has a page of memory or leads to one that has.
            u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX)
        };
        self.children.insert(Self::key(&node), slot);
        slot
    }

    /// Removes a node without children; says whose child it was.
    pub(super) fn remove(&mut self, slot: u32) -> u32 {
        let node = self[slot];
        self.children.remove(&Self::key(&node));
        self[slot].generation = node.generation.wrapping_add(1);
        self[slot].parent = GONE;
        self[node.parent].children -= 1;
        self.free.push(slot);
        node.parent
    }

    /// Whether a slot is in use.
    pub(super) fn exists(&self, slot: u32) -> bool {
        self[slot].parent != GONE
    }

    const fn key(node: &Node) -> Key {
        Key {
            id: node.id,
            parent: node.parent,
            offset: node.offset,
        }
    }

    /// How many there are, the root apart.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.children.len()
    }

    /// The slots of all, the root apart.
    #[cfg(test)]
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> {
        (1..self.nodes.len() as u32).filter(|slot| self.exists(*slot))
    }
}

impl std::ops::Index<u32> for Tree {
    type Output = Node;
    fn index(&self, slot: u32) -> &Node {
        &self.nodes[slot as usize]
    }
}

impl std::ops::IndexMut<u32> for Tree {
    fn index_mut(&mut self, slot: u32) -> &mut Node {
        &mut self.nodes[slot as usize]
    }
}
