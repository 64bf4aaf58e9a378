//! Max–min fair rates after a change, of those who feel it.
//!
//! The flows at hand (a new one, or whom an ended one had limited) are *free*: they grow together
//! until a channel is full, its flows stop there, the rest grow on, over what flows with fixed rates
//! leave of the channels. Then all is fair if each fixed flow still has its bottleneck and each free
//! one has one. A fixed flow that has lost its own, or is faster than a free one on the channel that
//! stopped that, becomes free too, and the free ones are filled again. In the worst case all flows of
//! a connected part end up free, and it is the textbook's progressive filling.

use super::super::queue::Nanos;
use super::{Link, NO_CHANNEL, Network, seconds};
use std::cmp::Reverse;
use std::rc::Rc;

/// Two rates this near are one, as a share.
const NEAR: f64 = 1e-9;

impl Network {
    /// Notes that a channel's load changes.
    pub(super) fn touch(&mut self, channel: u32) {
        let link = &mut self.links[channel as usize];
        if !link.touched {
            link.touched = true;
            self.touched.push(channel);
        }
    }

    /// A flow is to be given a new rate.
    pub(super) fn set_free(&mut self, slot: u32) {
        let flow = &mut self.flows[slot as usize];
        if flow.free {
            return;
        }
        flow.free = true;
        self.free.push(slot);
        let uses = Rc::clone(&flow.uses);
        for (channel, _) in uses.iter() {
            self.touch(*channel);
        }
    }

    /// New rates for all free flows, and for those who feel it.
    pub(super) fn refill(&mut self, now: Nanos) {
        if self.under_way > self.exact {
            // So many changes at once reach almost all: one filling of all is less work.
            for slot in 0..self.flows.len() {
                if !self.flows[slot].uses.is_empty() {
                    self.set_free(u32::try_from(slot).unwrap_or(u32::MAX));
                }
            }
        }
        let mut counted = 0;
        loop {
            // What they have sent until now, at the old rates.
            for slot in &self.free[counted..] {
                let flow = &mut self.flows[*slot as usize];
                let sent = flow.rate * seconds(now - flow.since);
                flow.remaining = (flow.remaining - sent).max(0.0);
                flow.since = now;
            }
            counted = self.free.len();
            self.grow();
            if !self.frees_more() {
                break;
            }
        }
        self.due = None;
        for index in 0..self.touched.len() {
            let link = &mut self.links[self.touched[index] as usize];
            link.touched = false;
            link.used = link.rate - link.room;
            let is_full = !link.flows.is_empty() && link.is_full();
            match (link.full_since, is_full) {
                (None, true) => link.full_since = Some(now),
                (Some(since), false) => {
                    link.done.full += now - since;
                    link.full_since = None;
                }
                _ => {}
            }
        }
        let mut free = std::mem::take(&mut self.free);
        for slot in free.drain(..) {
            let flow = &mut self.flows[slot as usize];
            flow.free = false;
            flow.stamp += 1;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "float casts saturate"
            )]
            let left = (flow.remaining / flow.rate * 1e9).ceil() as u64;
            let end = now.saturating_add(left.max(1));
            self.ends.push(Reverse((end, flow.order, slot, flow.stamp)));
        }
        self.free = free;
    }

    /// Lets the free flows grow over what the fixed ones leave, until each has a bottleneck.
    fn grow(&mut self) {
        for channel in &self.touched {
            let link = &mut self.links[*channel as usize];
            (link.room, link.load) = (link.rate, 0.0);
            for (slot, share) in &link.flows {
                let flow = &self.flows[*slot as usize];
                if flow.free {
                    link.load += share;
                } else {
                    link.room -= share * flow.rate;
                }
            }
        }
        let mut growing = 0_usize;
        for slot in &self.free {
            let flow = &mut self.flows[*slot as usize];
            // Nothing limits what stays within a GPU: done at once.
            (flow.rate, flow.bottleneck) = (f64::MAX, NO_CHANNEL);
            flow.grows = !flow.uses.is_empty();
            growing += usize::from(flow.grows);
        }
        let mut active = std::mem::take(&mut self.active);
        active.clear();
        let has_load = |links: &[Link], channel: &u32| links[*channel as usize].load > 1e-12;
        active.extend(self.touched.iter().filter(|own| has_load(&self.links, own)));
        let mut level = 0.0;
        while growing > 0 && !active.is_empty() {
            // How far all can grow until the first channel is full.
            let (mut step, mut first) = (f64::INFINITY, NO_CHANNEL);
            for channel in &active {
                let link = &self.links[*channel as usize];
                let own = link.room.max(0.0) / link.load;
                if own < step {
                    (step, first) = (own, *channel);
                }
            }
            level += step;
            for channel in &active {
                let link = &mut self.links[*channel as usize];
                link.room -= step * link.load;
            }
            for channel in &active {
                let channel = *channel;
                let link = &self.links[channel as usize];
                // Rounding may keep the first a hair from full.
                if channel != first && !link.is_full() {
                    continue;
                }
                for at in 0..link.flows.len() {
                    let (slot, _) = self.links[channel as usize].flows[at];
                    if self.flows[slot as usize].grows {
                        self.stop(slot, level, channel);
                        growing -= 1;
                    }
                }
                self.links[channel as usize].load = 0.0;
            }
            active.retain(|own| has_load(&self.links, own));
        }
        self.active = active;
        if growing > 0 {
            // Shares so small that sums lose them.
            for index in 0..self.free.len() {
                let slot = self.free[index];
                if self.flows[slot as usize].grows {
                    self.stop(slot, level, NO_CHANNEL);
                }
            }
        }
    }

    /// A free flow grows no more.
    fn stop(&mut self, slot: u32, level: f64, bottleneck: u32) {
        let flow = &mut self.flows[slot as usize];
        (flow.rate, flow.bottleneck, flow.grows) = (level, bottleneck, false);
        for (channel, share) in flow.uses.iter() {
            self.links[*channel as usize].load -= share;
        }
    }

    /// Frees the fixed flows that the new rates have made unfair. Whether there are any.
    fn frees_more(&mut self) -> bool {
        let before = self.free.len();
        // Channels that are added meanwhile have no fixed flow looked at yet; they are next time.
        for index in 0..self.touched.len() {
            let channel = self.touched[index];
            let link = &self.links[channel as usize];
            let is_full = link.is_full();
            // The fastest free flow here, and the slowest that stopped for want of this channel.
            let (mut fastest, mut slowest) = (0.0_f64, f64::INFINITY);
            for (slot, _) in &link.flows {
                let flow = &self.flows[*slot as usize];
                if flow.free {
                    fastest = fastest.max(flow.rate);
                    if flow.bottleneck == channel {
                        slowest = slowest.min(flow.rate);
                    }
                }
            }
            for at in 0..self.links[channel as usize].flows.len() {
                let (slot, _) = self.links[channel as usize].flows[at];
                let flow = &self.flows[slot as usize];
                let is_limited_here = flow.bottleneck == channel;
                let unfair = flow.rate > slowest * (1.0 + NEAR)
                    || is_limited_here && (!is_full || fastest > flow.rate * (1.0 + NEAR));
                if !flow.free && unfair {
                    self.set_free(slot);
                }
            }
        }
        self.free.len() > before
    }
}

impl Link {
    fn is_full(&self) -> bool {
        self.room <= self.rate * NEAR
    }
}
