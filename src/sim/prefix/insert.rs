//! How a text comes into the tree: along the nodes that are there, parting one it leaves midway,
//! growing the last, adding what is new.

use super::tree::ROOT;
use super::{Inserted, Place, PrefixCache};
use crate::workload::Segment;

impl PrefixCache {
    /// Makes the first `tokens` tokens of a text present, whole pages of them. The request holds
    /// them: up to `from` with the cache, which it has pinned, the rest as its own. Its pin moves
    /// to the place returned.
    pub(in crate::sim) fn insert(
        &mut self,
        text: &[Segment],
        tokens: u32,
        from: Place,
    ) -> Inserted {
        let page = self.size.page;
        let length = text
            .iter()
            .fold(0_u32, |sum, segment| sum.saturating_add(segment.tokens));
        let target = tokens.min(length) / page;
        let had = from.tokens / page;
        if target <= had {
            return Inserted {
                place: from,
                new_bytes: 0,
                shared_bytes: 0,
            };
        }
        let (mut slot, mut index, mut begin) = self.on_path(text, from);
        self.move_pin(self.tree.slot(from.node), slot);
        let mut new_bytes = 0;
        loop {
            if slot != ROOT {
                let text_end = begin.saturating_add(text[index].tokens);
                slot = self.fit(slot, text_end, target);
                let end = self.tree[slot].end.min(text_end);
                let pages = target.min(end / page);
                new_bytes += self.grow(slot, pages);
                if pages == target {
                    break;
                }
                if end == text_end {
                    index += 1;
                    begin = text_end;
                }
            }
            while text.get(index).is_some_and(|segment| segment.tokens == 0) {
                index += 1;
            }
            let Some(segment) = text.get(index) else {
                break;
            };
            let offset = self.tree[slot].end - begin;
            let end = begin.saturating_add(segment.tokens);
            let child = match self.tree.child(slot, segment.id, offset) {
                Some(child) => child,
                None => self.tree.add(slot, segment.id, offset, end, page),
            };
            self.move_pin(slot, child);
            slot = child;
        }
        Inserted {
            place: Place {
                node: self.tree.id(slot),
                tokens: target * page,
            },
            new_bytes,
            shared_bytes: self.size.between(had, target) - new_bytes,
        }
    }

    /// The lowest node at or above a place that lies on the text: its slot, and which segment it is
    /// of and where that begins. Others may have parted the place's node since it was found, so that
    /// it is the part the text does not go through.
    fn on_path(&self, text: &[Segment], from: Place) -> (u32, usize, u32) {
        let mut slot = self.tree.slot(from.node);
        while slot != ROOT {
            let node = &self.tree[slot];
            if node.start <= from.tokens {
                let mut begin = 0_u32;
                for (index, segment) in text.iter().enumerate() {
                    let end = begin.saturating_add(segment.tokens);
                    if node.start < end {
                        if segment.id == node.id && node.start - begin == node.offset {
                            return (slot, index, begin);
                        }
                        break;
                    }
                    begin = end;
                }
            }
            slot = node.parent;
        }
        (ROOT, 0, 0)
    }

    /// Makes a node end where its text does, if the pages wanted go beyond. Returns the node that
    /// does.
    fn fit(&mut self, slot: u32, text_end: u32, target: u32) -> u32 {
        let page = self.size.page;
        let node = &self.tree[slot];
        let is_leaf = node.children == 0;
        if node.end < text_end {
            if is_leaf {
                self.tree[slot].end = text_end;
            }
            return slot;
        }
        let within = text_end / page;
        if node.end == text_end || target <= within {
            return slot;
        }
        if is_leaf && self.tiers.top(slot, node.cached) <= within {
            self.tree[slot].end = text_end;
            return slot;
        }
        let upper = self.tree.split(slot, text_end, page);
        self.tiers.split(slot, upper, within);
        // Held: the pin that moves along the text is on it, so neither is in the order.
        self.move_pin(slot, upper);
        upper
    }

    /// Brings a held node's pages in HBM to at least so many; the bytes that came.
    fn grow(&mut self, slot: u32, pages: u32) -> u64 {
        let node = &mut self.tree[slot];
        if pages <= node.cached {
            return 0;
        }
        let bytes = self.size.between(node.cached, pages);
        node.cached = pages;
        self.held += bytes;
        self.tiers.is_above(slot, pages);
        bytes
    }

    /// Moves one pin.
    fn move_pin(&mut self, from: u32, to: u32) {
        if from != to {
            self.pin(self.tree.id(to));
            self.unpin(self.tree.id(from));
        }
    }
}
