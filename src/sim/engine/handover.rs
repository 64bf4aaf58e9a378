//! From prefill to decode: KV on the drawn links.
//!
//! Pulled, a request waits at its decode lane for blocks when it has been prefilled, and its KV flows when
//! it has them; until it has arrived the prefill lane holds its blocks, so a decode pool that is full
//! is felt as prefill memory. Pushed, it waits at the decode lane before it is prefilled, so a full
//! decode pool is felt as a queue before prefill; its KV flows when prefill has ended, or chunk by
//! chunk as they end. By layers, a chunk's flow starts when the first layer of the chunk has been
//! computed, and ends no earlier than the last layer's share takes, alone on the links, from the end
//! of the step. (A flow that is faster than the layers is computed sooner than it could be; the end is
//! not.) Decode goes on when all of it is there.

use super::wires::nanos;
use super::{Engine, Handoff};
use crate::plan::{FirstToken, KvTransfer};
use crate::sim::queue::{Event, Nanos};
use crate::sim::request::ReqId;

/// A request between prefill and decode.
#[derive(Clone, Copy)]
pub(super) struct Transfer {
    /// Prefill replica and lane, where its blocks are held, and where it decodes.
    from: (u32, u32),
    to: (u32, u32),
    first_token: FirstToken,
    sends: KvTransfer,
    /// Decode has blocks for it.
    allocated: bool,
    prefilled: bool,
    /// Tokens of its prompt whose KV has set out, and flows of it under way.
    sent: u32,
    flows: u32,
    /// Tokens whose KV sets out with the next layer.
    next: u32,
    /// Bytes of the last chunk that set out.
    chunk: f64,
    /// When its last layer has arrived at the earliest.
    tail: Nanos,
}

impl Transfer {
    const fn new(from: (u32, u32), to: (u32, u32), handoff: Handoff) -> Self {
        Self {
            from,
            to,
            first_token: handoff.first_token,
            sends: handoff.sends,
            allocated: false,
            prefilled: false,
            sent: 0,
            flows: 0,
            next: 0,
            chunk: 0.0,
            tail: 0,
        }
    }
}

impl Engine<'_> {
    /// Whether a prompt is prefilled where it decodes although `home` would take it.
    pub(super) fn is_local(&self, id: ReqId, (replica, lane): (u32, u32)) -> bool {
        let local = &self.plan.routing.local;
        let waiting = || self.replicas[replica as usize].lanes[lane as usize].waiting();
        !local.is_off() && local.takes(self.requests[id].input, waiting())
    }

    /// A request is to be prefilled at one lane once another has blocks for it.
    pub(super) fn reserve(
        &mut self,
        id: ReqId,
        from: (u32, u32),
        to: (u32, u32),
        handoff: Handoff,
    ) {
        self.wires.put(id, Transfer::new(from, to, handoff));
        self.count(to, id, true);
    }

    /// Whether a request must wait for its decode lane before it is prefilled; it does from here on.
    pub(super) fn awaits_allocation(&mut self, id: ReqId) -> bool {
        let Some(transfer) = self.wires.transfer(id) else {
            return false;
        };
        if transfer.allocated || !transfer.sends.allocates_first() {
            return false;
        }
        let to = transfer.to;
        self.expect_at(id, to);
        true
    }

    fn expect_at(&mut self, id: ReqId, (replica, lane): (u32, u32)) {
        self.settle(replica);
        self.replicas[replica as usize].lanes[lane as usize].expect(id);
        self.admit_arrivals(replica);
    }

    /// A prefilled request goes to its decode lane, chosen now if it has none.
    pub(super) fn hand_off(&mut self, id: ReqId, from: (u32, u32), handoff: Handoff) {
        let (source, _) = from;
        self.count(from, id, false);
        if !handoff.sends.allocates_first() {
            let tokens = u64::from(self.requests[id].input) + u64::from(self.requests[id].output);
            let Some(to) = self.choose(handoff.place, id, |lane| lane.can_hold(tokens)) else {
                self.refuse(id, from);
                return;
            };
            self.reserve(id, from, to, handoff);
        }
        let stages = self.replicas[source as usize].spans.len();
        self.recorder.handed_off(self.now, id, (source, stages));
        let Some(transfer) = self.wires.transfer(id) else {
            return;
        };
        transfer.prefilled = true;
        let to = transfer.to;
        self.requests[id].home = to;
        self.work.transfers += 1;
        if handoff.sends.allocates_first() {
            self.send(id, self.requests[id].base);
            self.set_tail(id);
            self.try_to_land(id);
        } else {
            self.expect_at(id, to);
        }
    }

    /// No decode pool can ever hold it: it ends here.
    fn refuse(&mut self, id: ReqId, (replica, lane): (u32, u32)) {
        self.replicas[replica as usize].lanes[lane as usize].release(&mut self.requests, id);
        self.tokens_asked -= u64::from(self.requests[id].output);
        self.recorder.ended(self.now, id, false);
        let delivered = self.requests[id].first_token.is_some();
        self.tokens_asked += u64::from(delivered);
        self.lose(id, delivered && !self.is_hidden(id));
        if self.closed {
            self.send_next();
        }
    }

    /// Decode admits expected requests as blocks allow: their KV starts to flow, or they may be
    /// prefilled.
    pub(super) fn admit_arrivals(&mut self, replica: u32) {
        for lane in 0..self.replicas[replica as usize].lanes.len() {
            while let Some(id) =
                self.replicas[replica as usize].lanes[lane].admit_transfer(&self.requests)
            {
                let Some(transfer) = self.wires.transfer(id) else {
                    continue;
                };
                transfer.allocated = true;
                if transfer.prefilled {
                    self.send(id, self.requests[id].base);
                    self.try_to_land(id);
                } else {
                    self.queue.push(self.now, Event::Queued { slot: id.0 });
                }
            }
        }
        let state = &self.replicas[replica as usize];
        self.recorder.scheduled(self.now, replica, state, None);
    }

    /// Chunks of a lane's step have been computed and are sent.
    pub(super) fn send_chunks(&mut self, (replica, lane): (u32, u32), cohort: usize) {
        let count = |own: &Self| {
            own.replicas[replica as usize].batches[cohort][lane as usize]
                .prefills
                .len()
        };
        for index in 0..count(self) {
            let batch = &self.replicas[replica as usize].batches[cohort][lane as usize];
            let (id, chunk) = (batch.prefills[index], batch.chunks[index]);
            self.send(id, chunk.context + chunk.tokens);
        }
    }

    /// A step with chunks has begun that ends at `end`: their first layers are sent when they have been
    /// computed.
    pub(super) fn expect_layers(&mut self, replica: u32, cohort: usize, end: Nanos) {
        let first = self.now + (end - self.now) / Nanos::from(self.wires.layers.max(1));
        for batch in &self.replicas[replica as usize].batches[cohort] {
            for (id, chunk) in batch.prefills.iter().zip(&batch.chunks) {
                if let Some(transfer) = self.wires.transfer(*id) {
                    transfer.next = chunk.context + chunk.tokens;
                    self.queue.push(first, Event::Sends { slot: id.0 });
                }
            }
        }
    }

    /// The first layer of a chunk has been computed.
    pub(super) fn sends(&mut self, id: ReqId) {
        if let Some(transfer) = self.wires.transfer(id).copied() {
            self.send(id, transfer.next);
        }
    }

    /// The KV of a prompt up to so many tokens sets out, as far as it has not.
    fn send(&mut self, id: ReqId, upto: u32) {
        let Some(transfer) = self.wires.transfer(id).copied() else {
            return;
        };
        if upto <= transfer.sent {
            return;
        }
        let route = self.route(transfer.from, transfer.to);
        let mut chunk = 0.0;
        // `plan` refuses feeds between pools that nothing joins.
        if let Some(route) = &route {
            let bytes = |tokens: u32| route.shape.bytes(u64::from(tokens));
            chunk = bytes(upto) - bytes(transfer.sent);
        }
        let flows = chunk > 0.0;
        if let Some(own) = self.wires.transfer(id) {
            own.sent = upto;
            own.chunk = chunk;
            own.flows += u32::from(flows);
        }
        if let (true, Some(route)) = (flows, route) {
            let uses = route.uses(u64::from(upto));
            self.see_background(&uses);
            #[cfg(test)]
            if self.wires.apart {
                let end = self.now + nanos(chunk * self.wires.network.pace(&uses));
                if let Some(own) = self.wires.transfer(id) {
                    (own.flows, own.tail) = (own.flows - 1, end);
                }
                return;
            }
            self.wires.network.start(self.now, id, uses, chunk);
            self.watch_network();
        }
    }

    /// Prefill has ended; its last layer takes a while yet.
    fn set_tail(&mut self, id: ReqId) {
        let Some(transfer) = self.wires.transfer(id).copied() else {
            return;
        };
        if transfer.sends != KvTransfer::PushLayers {
            return;
        }
        if let Some(route) = self.route(transfer.from, transfer.to) {
            let pace = self
                .wires
                .network
                .pace(&route.uses(u64::from(transfer.sent)));
            let layer = transfer.chunk / f64::from(self.wires.layers.max(1));
            let tail = self.now.saturating_add(nanos(layer * pace));
            if let Some(own) = self.wires.transfer(id) {
                own.tail = tail;
            }
        }
    }

    /// Everything has been sent and has arrived: but for latencies the request is at its decode lane.
    fn try_to_land(&mut self, id: ReqId) {
        let Some(transfer) = self.wires.transfer(id).copied() else {
            return;
        };
        if transfer.flows > 0 || !transfer.prefilled || !transfer.allocated {
            return;
        }
        let route = self.route(transfer.from, transfer.to);
        let latency = route.map_or(0, |route| route.latency);
        let at = self.now.max(transfer.tail).saturating_add(latency);
        self.queue.push(at, Event::Landed { slot: id.0 });
    }

    /// The network's next flow ends, if it does not end at another time by now.
    pub(super) fn flows_end(&mut self) {
        if self.wires.flow_end != Some(self.now) {
            return;
        }
        self.wires.flow_end = None;
        let mut ended = std::mem::take(&mut self.wires.ended);
        ended.clear();
        self.wires.network.finish(self.now, &mut ended);
        for id in &ended {
            if let Some(transfer) = self.wires.transfer(*id) {
                transfer.flows -= 1;
            }
            self.try_to_land(*id);
        }
        self.wires.ended = ended;
        self.watch_network();
    }

    /// A request's KV is where it decodes: prefill lets go of its blocks.
    pub(super) fn landed(&mut self, id: ReqId) {
        let Some(transfer) = self.wires.transfers[id.0 as usize].take() else {
            return;
        };
        let ((source, lane), (target, _)) = (transfer.from, transfer.to);
        self.settle(source);
        self.settle(target);
        if transfer.first_token == FirstToken::DecodeAdmission {
            self.told = self.replicas[target as usize].back.pass(self.now, 1);
            self.first_token(id);
        }
        self.replicas[source as usize].lanes[lane as usize].release(&mut self.requests, id);
        self.recorder.landed(self.now, id, target);
        let (_, lane) = transfer.to;
        self.replicas[target as usize].lanes[lane as usize]
            .join_from_transfer(&mut self.requests, id);
        self.launch(target);
        self.launch(source);
    }
}
