//! Flows on the drawn links, sharing them max–min fair.
//!
//! A flow is one KV transfer over all its rank-to-rank paths at once: at rate `r` it loads channel
//! `c` with `r · w_c`. Max–min fair is where every flow has a *bottleneck*: a channel that is full
//! and on which no flow is faster (Bertsekas and Gallager, *Data Networks*, §6.5.2). Rates change only
//! when a flow starts or ends, and then only of those who feel it: [`fair`] finds them, so that a
//! transfer costs what it disturbs and not what is under way.
//!
//! That is exact. Where more than [`EXACT`] flows are under way at once, which takes links that are
//! full, changes are gathered: those of a millisecond ([`TICK`]; of as many as there are thousands under
//! way) are felt together at its end, new flows wait that long and the share of ended ones is idle. Each
//! flow still ends when its bytes are through.

mod fair;
#[cfg(test)]
mod tests;

use super::queue::Nanos;
use super::request::ReqId;
use crate::cluster::ChannelId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

/// No channel.
const NO_CHANNEL: u32 = u32::MAX;

/// Most flows under way at which each change is felt at once.
const EXACT: usize = 1024;
/// Above, changes are felt at multiples of this, ns.
const TICK: Nanos = 1_000_000;

/// A flow under way.
struct Flow {
    request: ReqId,
    /// Channels as indices into the network's own list, with shares.
    uses: Rc<Vec<(u32, f64)>>,
    total: f64,
    /// Bytes left at `since`, and bytes per second from then on.
    remaining: f64,
    rate: f64,
    since: Nanos,
    /// The full channel on which no flow is faster; none: nothing limits it.
    bottleneck: u32,
    /// How many had started before it.
    order: u64,
    /// Counts its rates, so that an end computed from an earlier one is known to be stale.
    stamp: u32,
    /// Being given a new rate, and not stopped yet.
    free: bool,
    grows: bool,
}

/// A channel of the topology.
#[derive(Default)]
struct Link {
    /// Bytes per second it has for flows, with nobody else on it, and carries.
    whole: f64,
    rate: f64,
    used: f64,
    /// Its flows, with shares.
    flows: Vec<(u32, f64)>,
    /// Since when it is full.
    full_since: Option<Nanos>,
    /// What it has done so far.
    done: Carried,
    /// While rates are found: what is left of it, and the shares of those that still grow.
    room: f64,
    load: f64,
    touched: bool,
}

/// What a channel has done.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Carried {
    /// Bytes it has carried.
    pub(super) bytes: f64,
    /// Nanoseconds it was full.
    pub(super) full: Nanos,
}

/// All flows.
pub(super) struct Network {
    links: Vec<Link>,
    flows: Vec<Flow>,
    vacant: Vec<u32>,
    under_way: usize,
    started: u64,
    /// Ends at present rates, earliest first, of equal ones first started: time, order, slot, stamp.
    ends: BinaryHeap<Reverse<(Nanos, u64, u32, u32)>>,
    /// Bytes of flows started, and of flows ended.
    pub(super) sent: f64,
    pub(super) received: f64,
    /// Channels whose flows changed last.
    touched: Vec<u32>,
    /// When gathered changes are felt.
    due: Option<Nanos>,
    /// Flows being given new rates.
    free: Vec<u32>,
    /// Scratch: channels on which some grow.
    active: Vec<u32>,
    /// Most flows under way at which each change is felt at once.
    exact: usize,
}

/// A flow's channels in the form the network takes.
pub(super) fn uses(channels: &[(ChannelId, f64)]) -> Rc<Vec<(u32, f64)>> {
    Rc::new(
        channels
            .iter()
            .filter(|(_, share)| *share > 0.0)
            .map(|(channel, share)| (channel.0, *share))
            .collect(),
    )
}

#[expect(
    clippy::cast_precision_loss,
    reason = "spans of a run stay below 2^53 ns"
)]
fn seconds(ns: Nanos) -> f64 {
    ns as f64 * 1e-9
}

impl Network {
    /// Idle, over channels of these rates, bytes/s.
    pub(super) fn new(rates: Vec<f64>) -> Self {
        let link = |rate| Link {
            whole: rate,
            rate,
            ..Link::default()
        };
        Self {
            links: rates.into_iter().map(link).collect(),
            flows: Vec::new(),
            vacant: Vec::new(),
            under_way: 0,
            started: 0,
            ends: BinaryHeap::new(),
            sent: 0.0,
            received: 0.0,
            touched: Vec::new(),
            due: None,
            free: Vec::new(),
            active: Vec::new(),
            exact: EXACT,
        }
    }

    /// Channels whose load changed when a flow last started or ended, and what each carries now,
    /// bytes/s.
    pub(super) fn changed(&self) -> impl Iterator<Item = (u32, f64)> {
        let used = |channel: &u32| (*channel, self.links[*channel as usize].used);
        self.touched.iter().map(used)
    }

    /// What each channel has done by `now`.
    pub(super) fn carried(&self, now: Nanos) -> impl Iterator<Item = Carried> {
        self.links.iter().map(move |link| Carried {
            full: link.done.full + link.full_since.map_or(0, |since| now - since),
            ..link.done
        })
    }

    /// Seconds a byte of a flow takes that is alone; 0: nothing limits it.
    pub(super) fn pace(&self, uses: &[(u32, f64)]) -> f64 {
        let each = uses.iter();
        each.map(|(channel, share)| share / self.links[*channel as usize].rate)
            .fold(0.0, f64::max)
    }

    /// No flow is under way.
    pub(super) const fn is_idle(&self) -> bool {
        self.under_way == 0
    }

    /// Starts a flow.
    pub(super) fn start(
        &mut self,
        now: Nanos,
        request: ReqId,
        uses: Rc<Vec<(u32, f64)>>,
        bytes: f64,
    ) {
        self.sent += bytes;
        let flow = Flow {
            request,
            uses: Rc::clone(&uses),
            total: bytes,
            remaining: bytes,
            rate: 0.0,
            since: now,
            bottleneck: NO_CHANNEL,
            order: self.started,
            stamp: 0,
            free: false,
            grows: false,
        };
        self.started += 1;
        self.under_way += 1;
        let slot = if let Some(slot) = self.vacant.pop() {
            // Stamps go on counting, so that ends of the slot's earlier tenant stay stale.
            let stamp = self.flows[slot as usize].stamp + 1;
            self.flows[slot as usize] = Flow { stamp, ..flow };
            slot
        } else {
            self.flows.push(flow);
            u32::try_from(self.flows.len() - 1).unwrap_or(u32::MAX)
        };
        self.forget_touched();
        for (channel, share) in uses.iter() {
            self.links[*channel as usize].flows.push((slot, *share));
        }
        self.set_free(slot);
        self.refill_or_gather(now);
    }

    /// New rates now, or together with other changes of this tick.
    fn refill_or_gather(&mut self, now: Nanos) {
        if self.under_way <= self.exact || self.due.is_some_and(|due| due <= now) {
            self.refill(now);
        } else if self.due.is_none() {
            // As much work per second however many there are.
            let tick = TICK * (self.under_way / EXACT).max(1) as Nanos;
            self.due = Some(now.saturating_add(tick) / tick * tick);
        }
    }

    /// Channels of changes that have been felt are none of the next change's.
    fn forget_touched(&mut self) {
        if self.due.is_none() {
            self.touched.clear();
        }
    }

    /// Something else takes a share of a channel from now on. Whether flows feel it.
    pub(super) fn take(&mut self, now: Nanos, channel: u32, share: f64) -> bool {
        let link = &mut self.links[channel as usize];
        let rate = link.whole * (1.0 - share);
        if rate.to_bits() == link.rate.to_bits() {
            return false;
        }
        link.rate = rate;
        self.forget_touched();
        for index in 0..self.links[channel as usize].flows.len() {
            let (slot, _) = self.links[channel as usize].flows[index];
            self.set_free(slot);
        }
        let is_felt = !self.free.is_empty();
        if is_felt {
            self.refill(now);
        }
        is_felt
    }

    /// Takes out the flows that have ended by now, in the order of their ends.
    pub(super) fn finish(&mut self, now: Nanos, ended: &mut Vec<ReqId>) {
        self.forget_touched();
        while let Some(Reverse((at, _, slot, stamp))) = self.ends.peek().copied() {
            let is_stale = self.flows[slot as usize].stamp != stamp;
            if at > now && !is_stale {
                break;
            }
            self.ends.pop();
            if !is_stale {
                ended.push(self.take_out(slot));
            }
        }
        self.refill_or_gather(now);
    }

    /// When to look again: the next flow ends at the present rates, or gathered changes are felt.
    pub(super) fn next_end(&mut self) -> Option<Nanos> {
        while let Some(Reverse((at, _, slot, stamp))) = self.ends.peek() {
            if self.flows[*slot as usize].stamp == *stamp {
                return Some(self.due.map_or(*at, |due| due.min(*at)));
            }
            self.ends.pop();
        }
        self.due
    }

    fn take_out(&mut self, slot: u32) -> ReqId {
        let flow = &mut self.flows[slot as usize];
        flow.stamp += 1;
        let (request, total, uses) = (flow.request, flow.total, std::mem::take(&mut flow.uses));
        self.vacant.push(slot);
        self.under_way -= 1;
        self.received += total;
        if self.flows[slot as usize].free {
            self.flows[slot as usize].free = false;
            self.free.retain(|other| *other != slot);
        }
        for (channel, share) in uses.iter() {
            let link = &mut self.links[*channel as usize];
            link.done.bytes += share * total;
            if let Some(place) = link.flows.iter().position(|(other, _)| *other == slot) {
                link.flows.swap_remove(place);
            }
            self.touch(*channel);
            // Whom this channel limited may grow.
            for index in 0..self.links[*channel as usize].flows.len() {
                let (other, _) = self.links[*channel as usize].flows[index];
                if self.flows[other as usize].bottleneck == *channel {
                    self.set_free(other);
                }
            }
        }
        request
    }
}
