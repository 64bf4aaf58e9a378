//! Requests whose KV comes over the network: a decode pool's.

use super::Lane;
use crate::sim::prefix::Place;
use crate::sim::request::{Arena, ReqId};

impl Lane {
    /// A prefilled request to decode, its KV elsewhere.
    pub(in crate::sim) fn expect(&mut self, id: ReqId) {
        self.arriving.push_back(id);
    }

    /// Whether the next expected request may be admitted, but for what loops that never evict promise.
    pub(super) fn has_room_for_transfer(&self, requests: &Arena) -> bool {
        let Some(id) = self.arriving.front() else {
            return false;
        };
        // Its cache and the token it decodes first.
        let need = self.memory.bytes(requests[*id].base + 1);
        self.waiting.is_empty()
            && self.running < self.settings.max_seqs
            && need.saturating_add(self.watermark()) <= self.memory.available()
    }

    /// Admits the next expected request if blocks and a place are free, and takes its blocks.
    /// Preempted requests of the lane come first.
    pub(in crate::sim) fn admit_transfer(&mut self, requests: &Arena) -> Option<ReqId> {
        if !self.has_room_for_transfer(requests) {
            return None;
        }
        let id = *self.arriving.front()?;
        let base = requests[id].base;
        let promise = self.promise_for(requests, id);
        if promise > 0 && !self.memory.promise(promise) {
            return None;
        }
        // That token's block is taken when it is due, at the first step.
        self.memory.take(self.memory.bytes(base));
        self.running += 1;
        self.arriving.pop_front()
    }

    /// A transfer has arrived: the request decodes from the next step of the emptiest cohort on.
    pub(in crate::sim) fn join_from_transfer(&mut self, requests: &mut Arena, id: ReqId) {
        let index = self
            .cohorts
            .iter()
            .enumerate()
            .min_by_key(|(_, cohort)| cohort.decodes)
            .map_or(0, |(index, _)| index);
        if let Some(cache) = &mut self.memory.cache {
            requests.name_text(id);
            // Nothing of what came is the cache's.
            requests[id].place = Place::ROOT;
            cache.pin(Place::ROOT.node);
        }
        self.append(requests, index, id);
        let cohort = &mut self.cohorts[index];
        let life = requests[id].life;
        let under_way = cohort.in_flight && cohort.decoding;
        let step = cohort.step + u64::from(under_way);
        cohort.join(requests, id, step);
        cohort.newcomers.push((id, life));
    }

    /// Gives back the memory of a request whose KV has left; what is cached of it stays for reuse.
    pub(in crate::sim) fn release(&mut self, requests: &mut Arena, id: ReqId) {
        let base = requests[id].base;
        self.let_go(requests, id, base);
        self.full = false;
    }
}
