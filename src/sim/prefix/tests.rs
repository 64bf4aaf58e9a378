//! Small trees, every number explained; then any sequence against a naive pool of pages.

mod reference;
mod small;
mod tiered;
mod traces;

use super::*;

/// So many bytes a page, whatever the place.
pub(super) fn plain(page: u32, bytes: u64) -> Rc<SequenceKv> {
    Rc::new(SequenceKv {
        block_size: u64::from(page),
        growing: bytes,
        ..SequenceKv::default()
    })
}

pub(super) fn segment(id: u64, tokens: u32) -> Segment {
    Segment { id, tokens }
}

impl PrefixCache {
    /// The request of a text comes, computes all of it and goes. What it found in HBM, and below.
    pub(super) fn serve(&mut self, text: &[Segment]) -> Hit {
        let hit = self.find(text, u32::MAX);
        self.admit(hit.place, 0, hit.below);
        let place = self.insert(text, u32::MAX, hit.place).place;
        self.unpin(place.node);
        hit
    }

    /// Evicts down to so many bytes.
    pub(super) fn shrink_to(&mut self, bytes: u64) {
        self.evict(self.cached_bytes().saturating_sub(bytes));
    }

    /// What must hold of the sums, fast.
    pub(super) fn check_sums(&self) {
        let bytes = self.tree.slots().map(|slot| self.bytes(slot));
        assert_eq!(self.cached_bytes(), bytes.sum::<u64>());
        self.tiers.check(&self.tree, &self.size);
    }

    /// What must hold at any time: sums are sums over nodes, holds are counts of what holds, and a
    /// node that is there has a reason.
    pub(super) fn check(&self) {
        let (mut held, mut evictable, mut nodes) = (0, 0, 0);
        let order: Vec<u32> = self.order.iter().collect();
        for slot in self.tree.slots() {
            nodes += 1;
            let node = self.tree[slot];
            let parent = self.tree[node.parent];
            assert!(self.tree.exists(node.parent), "an orphan");
            assert_eq!(node.start, parent.end);
            assert!(node.end > node.start);
            let (first, last) = (node.start / self.size.page, node.end / self.size.page);
            assert!((first..=last).contains(&node.cached));
            assert_eq!(
                self.tree.child(node.parent, node.id, node.offset),
                Some(slot)
            );
            let children = self.tree.slots().filter(|s| self.tree[*s].parent == slot);
            let children: Vec<u32> = children.collect();
            assert_eq!(node.children as usize, children.len());
            let held_children = children.iter().filter(|s| self.tree[**s].is_held());
            assert_eq!(node.held_children as usize, held_children.count());
            let has = self.has_pages(slot);
            if has {
                assert_eq!(parent.cached, first, "a gap in HBM");
            }
            let position = order.iter().position(|s| *s == slot);
            assert_eq!(position.is_some(), has && !node.is_held());
            for child in children {
                let before = order.iter().position(|s| *s == child);
                assert!(
                    before.is_none() || position.is_none() || before < position,
                    "a child outlives its parent"
                );
            }
            if node.is_held() {
                held += self.bytes(slot);
            } else {
                evictable += self.bytes(slot);
            }
            let used = node.is_held() || node.children > 0 || has || self.tiers.has(slot);
            assert!(used, "a node nobody needs");
        }
        assert_eq!(self.tree.len(), nodes);
        assert_eq!((self.held, self.evictable), (held, evictable));
        self.tiers.check(&self.tree, &self.size);
    }
}
