//! The prefix cache of one scheduler: what of the KV cache is kept when its request has gone, who
//! finds it again, and what goes when memory is short.
//!
//! A tree. An edge is a stretch of text, as [`Segment`]s name it, so a request costs what its
//! segments cost, not its blocks: a prompt of 126,000 tokens in one piece is one node. A path from
//! the root is a prefix; memory comes in pages. A page belongs to the node in which it is
//! complete: from `start / page` to `end / page`, so one that straddles two segments is the later
//! one's, and a segment can be too short to have any.
//!
//! That serves the block hashes of vLLM and the radix tree of `SGLang` (a page of one token)
//! alike, since both reuse a page if and only if all text up to its end is equal, share complete
//! pages only, and evict what no running request uses, least recently used first and the end of a
//! text before its beginning:
//! * vLLM 0.11 (`v1/core/kv_cache_manager.py`, `block_pool.py`): a block's hash covers all before
//!   it; blocks without a user wait in a queue, appended when their last user frees them, its last
//!   block first; a hit takes them out again.
//! * `SGLang` 0.5 (`srt/mem_cache/radix_cache.py`): a request locks the path from its node to the
//!   root; leaves that nobody locks go by last access, which a request's end is.
//!
//! Where they differ, and from this:
//! * Two requests that compute the same at the same time: `SGLang` frees the second copy when it is
//!   inserted, as here; vLLM keeps it until its request ends, and then evicts the two apart.
//! * `SGLang` evicts whole leaves, vLLM blocks; so do we, from a node's end.
//! * vLLM's queue also has the free blocks that hold nothing, in between: with some still in it,
//!   a cached one may go. Here free memory is used up first.
//! * `SGLang` counts looking as access, vLLM and we do not.
//! * Who uses a node's first page holds all its pages: a prompt found to its last token but one
//!   (the last is computed anew) holds the page that is in, too.
//! * Windows and states: bytes of a page are what it adds to [`SequenceKv::bytes`] at its place,
//!   nothing beyond a window; that a window's early blocks could go first is not modelled. States
//!   are not cached.
//!
//! Below HBM there may be tiers ([`tiers`]): what is evicted goes there, and is found there.

mod insert;
mod order;
mod tiers;
mod tree;

pub(super) use tree::NodeId;

use super::queue::Nanos;
use crate::plan::{SequenceKv, Tier};
use crate::workload::Segment;
use order::Order;
use std::rc::Rc;
use tiers::Tiers;
use tree::{ROOT, Size, Tree};

/// The prefix of a text that is in HBM: how long it is, and the node in which it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) node: NodeId,
    /// Whole pages.
    pub(super) tokens: u32,
}

impl Place {
    /// Nothing.
    pub(super) const ROOT: Self = Self {
        node: NodeId::ROOT,
        tokens: 0,
    };
}

/// What of a text is cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hit {
    /// In HBM.
    pub(super) place: Place,
    /// Tokens that follow in the tiers below, whole pages.
    pub(super) below: u32,
}

/// What [`PrefixCache::insert`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Inserted {
    pub(super) place: Place,
    /// The cache has them now: were the request's own.
    pub(super) new_bytes: u64,
    /// The cache had them already: the request's own copy is free.
    pub(super) shared_bytes: u64,
}

/// What [`PrefixCache::load`] found in the tiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loaded {
    /// Length of the prefix once it is there.
    pub(super) tokens: u32,
    /// What comes, and what HBM must have room for.
    pub(super) bytes: u64,
    /// When it is there.
    pub(super) done: Nanos,
}

/// What happened so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    /// Tokens of requests admitted.
    pub(super) queries: u64,
    /// Of them, found in HBM.
    pub(super) hits: u64,
    /// Of them, loaded from a tier.
    pub(super) below: u64,
    /// Bytes that left HBM.
    pub(super) evicted: u64,
}

/// The cache of one scheduler.
#[derive(Debug)]
pub(super) struct PrefixCache {
    size: Size,
    tree: Tree,
    /// Nodes nobody holds that have pages in HBM; a child comes before its parent.
    order: Order,
    tiers: Tiers,
    held: u64,
    evictable: u64,
    counts: Counts,
}

impl PrefixCache {
    /// Empty. `tiers` lie below HBM, nearest first.
    pub(super) fn new(page: u32, kv: Rc<SequenceKv>, tiers: &[Tier]) -> Self {
        Self {
            size: Size::new(page, kv),
            tree: Tree::new(),
            order: Order::new(),
            tiers: Tiers::new(tiers),
            held: 0,
            evictable: 0,
            counts: Counts::default(),
        }
    }

    /// The longest prefix of a text that is cached, at most `limit` tokens. Changes nothing: what
    /// is found stays until it is evicted, unless it is pinned.
    pub(super) fn find(&self, text: &[Segment], limit: u32) -> Hit {
        let (mut place, mut tokens, mut reach) = (ROOT, 0, 0);
        self.walk(text, limit, |slot, pages| {
            let node = &self.tree[slot];
            let first = node.start / self.size.page;
            let here = node.cached.min(pages);
            if here > first {
                (place, tokens) = (slot, here);
            }
            reach = self.tiers.reach(slot, node.cached).min(pages);
        });
        let page = self.size.page;
        Hit {
            place: Place {
                node: self.tree.id(place),
                tokens: tokens * page,
            },
            below: (reach - tokens) * page,
        }
    }

    /// Visits the nodes of a text from the root on, and how many pages it has up to there, as far
    /// as they are cached anywhere.
    fn walk(&self, text: &[Segment], limit: u32, mut visit: impl FnMut(u32, u32)) {
        let (mut at, mut position) = (ROOT, 0_u32);
        for segment in text {
            let begin = position;
            let text_end = begin.saturating_add(segment.tokens);
            while position < text_end {
                let Some(child) = self.tree.child(at, segment.id, position - begin) else {
                    return;
                };
                let node = &self.tree[child];
                let end = node.end.min(text_end).min(limit);
                let pages = end / self.size.page;
                visit(child, pages);
                if end < node.end || self.tiers.reach(child, node.cached) < pages {
                    return;
                }
                position = node.end;
                at = child;
            }
        }
    }

    /// A request of `input` tokens is admitted that found this, and loaded so many tokens more:
    /// counts it, and pins its place.
    pub(super) fn admit(&mut self, place: Place, input: u32, loaded: u32) {
        self.counts.queries += u64::from(input);
        self.counts.hits += u64::from(place.tokens);
        self.counts.below += u64::from(loaded);
        self.pin(place.node);
    }

    /// Holds a node and all above it until it is unpinned; counted.
    pub(super) fn pin(&mut self, node: NodeId) {
        let mut slot = self.tree.slot(node);
        let was_held = self.tree[slot].is_held();
        self.tree[slot].pins += 1;
        if was_held {
            return;
        }
        loop {
            let bytes = self.bytes(slot);
            if self.has_pages(slot) {
                self.order.remove(slot);
            }
            self.evictable -= bytes;
            self.held += bytes;
            slot = self.tree[slot].parent;
            let parent = &mut self.tree[slot];
            let was_held = parent.is_held();
            parent.held_children += 1;
            if was_held {
                return;
            }
        }
    }

    /// Undoes one [`Self::pin`]. What nobody holds any more may be evicted, after all that was let
    /// go before, the deepest first.
    pub(super) fn unpin(&mut self, node: NodeId) {
        let mut slot = self.tree.slot(node);
        self.tree[slot].pins -= 1;
        while !self.tree[slot].is_held() {
            let bytes = self.bytes(slot);
            if self.has_pages(slot) {
                self.order.push_last(slot);
            }
            self.held -= bytes;
            self.evictable += bytes;
            slot = self.tree[slot].parent;
            self.tree[slot].held_children -= 1;
        }
        // Without pages: another text parted it from those its request found.
        if !self.has_pages(node.slot) {
            self.prune(node.slot);
        }
    }

    /// Evicts until `need` bytes are free or nothing can go. Returns what went.
    pub(super) fn evict(&mut self, need: u64) -> u64 {
        let mut freed = 0;
        while freed < need {
            let Some(slot) = self.order.first() else {
                break;
            };
            let node = &self.tree[slot];
            let (first, cached) = (node.start / self.size.page, node.cached);
            let keep = self.size.keep(first, cached, need - freed);
            let bytes = self.size.between(keep, cached);
            self.tree[slot].cached = keep;
            self.evictable -= bytes;
            freed += bytes;
            if keep == first {
                self.order.remove(slot);
            }
            self.tiers.put(&self.tree, &self.size, slot, keep, cached);
            self.prune(slot);
            while let Some(slot) = self.tiers.emptied() {
                self.prune(slot);
            }
        }
        self.counts.evicted += freed;
        freed
    }

    /// Removes a node that holds nothing and leads nowhere, and so on upwards.
    fn prune(&mut self, mut slot: u32) {
        while self.tree.exists(slot) {
            let node = &self.tree[slot];
            let used = node.is_held() || node.children > 0 || self.has_pages(slot);
            if used || self.tiers.has(slot) {
                return;
            }
            slot = self.tree.remove(slot);
        }
    }

    /// Reads from the tiers what of a text follows its place in HBM, up to `limit` tokens. The
    /// request [inserts](Self::insert) it when it is there; the tiers keep their copy.
    pub(super) fn load(&mut self, text: &[Segment], limit: u32, now: Nanos) -> Loaded {
        let mut visited = std::mem::take(&mut self.tiers.visited);
        self.walk(text, limit, |slot, pages| visited.push((slot, pages)));
        let mut tokens = 0;
        for (slot, pages) in visited.drain(..) {
            let cached = self.tree[slot].cached.min(pages);
            tokens = self.tiers.read(&self.size, slot, cached, pages) * self.size.page;
        }
        self.tiers.visited = visited;
        let (bytes, done) = self.tiers.start_reads(now);
        Loaded {
            tokens,
            bytes,
            done,
        }
    }

    fn has_pages(&self, slot: u32) -> bool {
        let node = &self.tree[slot];
        node.cached > node.start / self.size.page
    }

    /// A node's bytes in HBM.
    fn bytes(&self, slot: u32) -> u64 {
        let node = &self.tree[slot];
        let first = node.start / self.size.page;
        self.size.between(first, node.cached)
    }

    /// Bytes that can be evicted.
    pub(super) const fn evictable(&self) -> u64 {
        self.evictable
    }

    /// Bytes that could still be evicted if a node were pinned.
    pub(super) fn evictable_beside(&self, node: NodeId) -> u64 {
        let mut slot = self.tree.slot(node);
        let mut bytes = self.evictable;
        while !self.tree[slot].is_held() {
            bytes -= self.bytes(slot);
            slot = self.tree[slot].parent;
        }
        bytes
    }

    /// Bytes of nodes that are held.
    #[cfg(test)]
    pub(super) const fn held_bytes(&self) -> u64 {
        self.held
    }

    /// Bytes in HBM.
    #[cfg(test)]
    pub(super) const fn cached_bytes(&self) -> u64 {
        self.held + self.evictable
    }

    /// What happened so far.
    pub(super) const fn counts(&self) -> Counts {
        self.counts
    }

    /// Bytes read from and written to each tier so far.
    pub(super) fn traffic(&self) -> impl Iterator<Item = (u64, u64)> {
        self.tiers.traffic()
    }
}

#[cfg(test)]
mod tests;
