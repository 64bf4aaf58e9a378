//! What is cached of a prompt when it is admitted, and what stays cached when a request goes.

use super::Lane;
use crate::sim::request::{Arena, ReqId};

impl Lane {
    /// Finds and pins what of a waiting request's prompt is cached; all but its last token at most,
    /// which must be computed to yield the next. It counts as computed. Undone by
    /// [`Self::forget_hit`] if the request is not admitted after all.
    pub(super) fn find_hit(&mut self, requests: &mut Arena, id: ReqId) {
        let Some(cache) = &mut self.memory.cache else {
            return;
        };
        let limit = requests[id].base.saturating_sub(1);
        let hit = cache.find(requests.text(id), limit);
        cache.pin(hit.node);
        let request = &mut requests[id];
        request.node = hit.node;
        request.shared = hit.tokens;
        request.computed = hit.tokens;
    }

    /// A request for which [`Self::find_hit`] looked is not admitted.
    pub(super) fn forget_hit(&mut self, requests: &mut Arena, id: ReqId) {
        let Some(cache) = &mut self.memory.cache else {
            return;
        };
        let request = &mut requests[id];
        cache.unpin(request.node);
        request.node = cache.root();
        request.shared = 0;
        request.computed = 0;
    }

    /// Tokens of a waiting request's prompt that are cached.
    pub(super) fn cached(&self, requests: &Arena, id: ReqId) -> u32 {
        self.memory.cache.as_ref().map_or(0, |cache| {
            let limit = requests[id].base.saturating_sub(1);
            cache.find(requests.text(id), limit).tokens
        })
    }

    /// The first `computed` tokens of a running request are there for others too.
    pub(super) fn share(&mut self, requests: &mut Arena, id: ReqId, computed: u32) {
        let Some(cache) = &mut self.memory.cache else {
            return;
        };
        let (node, shared) = (requests[id].node, requests[id].shared);
        let made = cache.insert(requests.text(id), computed, node, shared);
        cache.pin(made.node);
        cache.unpin(node);
        let request = &mut requests[id];
        request.node = made.node;
        request.shared = made.tokens;
        // It was there already: the request's own copy is let go.
        self.memory.give(made.shared_bytes);
    }

    /// A request lets go of its memory; what it has computed stays for reuse.
    pub(super) fn let_go(&mut self, requests: &mut Arena, id: ReqId, computed: u32) {
        if self.memory.cache.is_some() {
            self.share(requests, id, computed);
        }
        let request = &requests[id];
        let own = self.memory.private(request.held, request.shared);
        self.memory.give(own);
        let promise = self.promise_for(requests, id);
        self.memory.release(promise);
        let request = &mut requests[id];
        request.held = 0;
        request.shared = 0;
        if let Some(cache) = &mut self.memory.cache {
            cache.unpin(request.node);
            request.node = cache.root();
        }
    }
}
