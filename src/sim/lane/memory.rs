//! KV memory of one scheduler, counted in bytes.
//!
//! A sequence of `n` tokens holds [`SequenceKv::bytes`] of it: blocks of the layers that see
//! everything, of each window up to its cap, and a state from its admission on. Where layers all see
//! everything that is `ceil(n / block)` blocks, as in a plain paged cache. Of that, what lies in the
//! prefix cache belongs to the cache; a request holds the rest. What nobody holds stays in the cache
//! until the memory is needed.
//!
//! A *promise* is memory a loop keeps for a request to its end, so that it never has to give way:
//! promises together never exceed the capacity.

use crate::plan::SequenceKv;
use crate::sim::prefix::{NodeId, PrefixCache};
use std::rc::Rc;

/// KV memory of one scheduler.
#[derive(Debug)]
pub(in crate::sim) struct Memory {
    pub(in crate::sim) kv: Rc<SequenceKv>,
    pub(in crate::sim) capacity: u64,
    /// Bytes neither held nor cached.
    free: u64,
    /// Bytes kept for requests to their ends.
    promised: u64,
    /// Most bytes held at once, those kept for reuse only left out.
    pub(in crate::sim) peak: u64,
    /// What is kept for reuse.
    pub(in crate::sim) cache: Option<PrefixCache>,
}

impl Memory {
    pub(super) const fn new(capacity: u64, kv: Rc<SequenceKv>, cache: Option<PrefixCache>) -> Self {
        Self {
            kv,
            capacity,
            free: capacity,
            promised: 0,
            peak: 0,
            cache,
        }
    }

    /// Bytes of a sequence of so many tokens.
    pub(super) fn bytes(&self, tokens: u32) -> u64 {
        self.kv.bytes(u64::from(tokens))
    }

    /// Bytes a request of so many tokens holds, the first `shared` of them in the cache.
    pub(super) fn private(&self, tokens: u32, shared: u32) -> u64 {
        if shared == 0 {
            self.bytes(tokens)
        } else {
            self.bytes(tokens).saturating_sub(self.bytes(shared))
        }
    }

    /// Bytes of a token more, while every window has room for it.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    pub(super) fn per_token(&self) -> f64 {
        self.kv.block_bytes() as f64 / self.kv.block_size.max(1) as f64
    }

    /// Bytes nobody holds.
    pub(in crate::sim) fn available(&self) -> u64 {
        self.free + self.cache.as_ref().map_or(0, PrefixCache::evictable)
    }

    /// Bytes that can be taken before something of the cache goes.
    pub(super) const fn unused(&self) -> u64 {
        self.free
    }

    /// Bytes nobody holds, if a node of the cache is used too.
    pub(super) fn available_beside(&self, node: NodeId) -> u64 {
        let cache = self.cache.as_ref();
        self.free + cache.map_or(0, |own| own.evictable_beside(node))
    }

    /// Takes bytes that are [`Self::available`]; what is cached gives way as needed.
    pub(super) fn take(&mut self, bytes: u64) {
        if let (Some(cache), true) = (&mut self.cache, bytes > self.free) {
            self.free += cache.evict(bytes - self.free);
        }
        self.free -= bytes;
        self.note_peak();
    }

    pub(super) fn note_peak(&mut self) {
        self.peak = self.peak.max(self.capacity - self.available());
    }

    pub(super) const fn give(&mut self, bytes: u64) {
        self.free += bytes;
    }

    /// Keeps bytes for a request to its end, if there are so many.
    pub(super) const fn promise(&mut self, bytes: u64) -> bool {
        if self.promised.saturating_add(bytes) > self.capacity {
            return false;
        }
        self.promised += bytes;
        true
    }

    pub(super) const fn release(&mut self, bytes: u64) {
        self.promised -= bytes;
    }

    /// Whether nobody holds anything.
    pub(in crate::sim) fn is_idle(&self) -> bool {
        self.available() == self.capacity && self.promised == 0
    }
}
