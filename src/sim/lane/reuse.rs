//! What is cached of a prompt when it is admitted, and what stays cached when a request goes.
//!
//! What lies below HBM is read before the prompt is computed (vLLM's KV connectors and `SGLang`'s
//! `HiCache` do the same, beside the steps): the request takes the memory, waits until it is there, and
//! is then at the head of the queue with so much less to compute. One that waits there can lose it
//! again to those that run.

use super::Lane;
use crate::sim::prefix::Place;
use crate::sim::queue::Nanos;
use crate::sim::request::{Arena, ReqId};

impl Lane {
    /// Notes what of a waiting request's prompt is cached; all but its last token at most, which must
    /// be computed to yield the next. It counts as computed once the request is admitted. Returns
    /// the tokens that could be read from below.
    pub(super) fn find_hit(&mut self, requests: &mut Arena, id: ReqId) -> u32 {
        let Some(cache) = &self.memory.cache else {
            return 0;
        };
        // It has been read already.
        if requests[id].held > 0 {
            return 0;
        }
        let limit = requests[id].base.saturating_sub(1);
        let hit = cache.find(requests.text(id), limit);
        let request = &mut requests[id];
        request.place = hit.place;
        request.computed = hit.place.tokens;
        hit.below
    }

    /// A request for which [`Self::find_hit`] looked is not admitted now.
    pub(super) fn forget_hit(&self, requests: &mut Arena, id: ReqId) {
        let request = &mut requests[id];
        if self.memory.cache.is_some() && request.held == 0 {
            request.place = Place::ROOT;
            request.computed = 0;
        }
    }

    /// Tokens of a waiting request's prompt that are cached.
    pub(super) fn cached(&self, requests: &Arena, id: ReqId) -> u32 {
        self.memory.cache.as_ref().map_or(0, |cache| {
            let limit = requests[id].base.saturating_sub(1);
            cache.find(requests.text(id), limit).place.tokens
        })
    }

    /// Starts reading from below what follows a request's place in HBM, if there is room for it.
    /// Whether it did.
    pub(super) fn start_load(&mut self, requests: &mut Arena, id: ReqId) -> bool {
        let now = self.now;
        let base = requests[id].base;
        let place = requests[id].place;
        let limit = base.saturating_sub(1);
        let below = match &self.memory.cache {
            Some(cache) => cache.find(requests.text(id), limit).below,
            None => return false,
        };
        let need = self.memory.private(place.tokens + below, place.tokens);
        let watermark = self.watermark();
        if need.saturating_add(watermark) > self.memory.available_beside(place.node) {
            return false;
        }
        let Some(cache) = &mut self.memory.cache else {
            return false;
        };
        cache.admit(place, base, below);
        let load = cache.load(requests.text(id), limit, now);
        self.memory.take(need);
        let request = &mut requests[id];
        request.held = load.tokens.max(place.tokens);
        request.computed = 0;
        self.waiting.pop_front();
        self.loads.push((id, load.done));
        true
    }

    /// What was read from below is there: the request is the next to be admitted.
    pub(in crate::sim) fn loaded(&mut self, requests: &mut Arena, id: ReqId) {
        let tokens = requests[id].held;
        self.share(requests, id, tokens);
        requests[id].computed = tokens;
        self.waiting.push_front(requests, id);
    }

    /// Takes the memory of a waiting request that was read from below, `but` this one's. Whether there
    /// was one.
    pub(super) fn reclaim(&mut self, requests: &mut Arena, but: Option<ReqId>) -> bool {
        let loaded = |id: ReqId| requests[id].held > 0 && Some(id) != but;
        let Some(id) = self.waiting.find(loaded) else {
            return false;
        };
        self.give_back(requests, id);
        requests[id].computed = 0;
        true
    }

    /// The first `computed` tokens of a request are there for others too.
    pub(super) fn share(&mut self, requests: &mut Arena, id: ReqId, computed: u32) {
        let Some(cache) = &mut self.memory.cache else {
            return;
        };
        let made = cache.insert(requests.text(id), computed, requests[id].place);
        requests[id].place = made.place;
        // It was there already: the request's own copy is let go.
        self.memory.give(made.shared_bytes);
    }

    /// A request lets go of its memory; what it has computed stays for reuse.
    pub(super) fn let_go(&mut self, requests: &mut Arena, id: ReqId, computed: u32) {
        self.share(requests, id, computed);
        let promise = self.promise_for(requests, id);
        self.memory.release(promise);
        self.give_back(requests, id);
    }

    fn give_back(&mut self, requests: &mut Arena, id: ReqId) {
        let request = &mut requests[id];
        let own = self.memory.private(request.held, request.place.tokens);
        self.memory.give(own);
        request.held = 0;
        if let Some(cache) = &mut self.memory.cache {
            cache.unpin(request.place.node);
            request.place = Place::ROOT;
        }
    }

    /// Reads from below that have started since this was last asked: who waits, until when.
    pub(in crate::sim) fn take_loads(&mut self) -> impl Iterator<Item = (ReqId, Nanos)> + '_ {
        self.loads.drain(..)
    }
}
