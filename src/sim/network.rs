//! Flows on the drawn links, sharing them max–min fair.
//!
//! A flow is one KV transfer over all its rank-to-rank paths at once: at rate `r` it loads channel
//! `c` with `r · w_c`. Rates are found by progressive filling: all flows grow together until a
//! channel is full, its flows are fixed, the rest grow on (Bertsekas and Gallager, *Data Networks*,
//! §6.5.2). They change only when a flow starts or ends.

use super::queue::Nanos;
use super::request::ReqId;
use crate::cluster::ChannelId;
use std::rc::Rc;

/// A flow under way.
struct Flow {
    request: ReqId,
    /// Channels as indices into the network's own list, with shares.
    uses: Rc<Vec<(u32, f64)>>,
    total: f64,
    remaining: f64,
    rate: f64,
}

/// All flows.
pub(super) struct Network {
    /// Rate of each channel, bytes/s.
    rates: Vec<f64>,
    /// Bytes each channel has carried.
    pub(super) carried: Vec<f64>,
    flows: Vec<Flow>,
    updated: Nanos,
    pub(super) generation: u64,
    /// Bytes of flows started, and of flows ended.
    pub(super) sent: f64,
    pub(super) received: f64,
    /// Scratch for filling.
    load: Vec<f64>,
    room: Vec<f64>,
    touched: Vec<u32>,
}

/// A flow's channels in the form the network takes.
pub(super) fn uses(channels: &[(ChannelId, f64)]) -> Rc<Vec<(u32, f64)>> {
    Rc::new(
        channels
            .iter()
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
    pub(super) fn new(rates: Vec<f64>) -> Self {
        let channels = rates.len();
        Self {
            rates,
            carried: vec![0.0; channels],
            flows: Vec::new(),
            updated: 0,
            generation: 0,
            sent: 0.0,
            received: 0.0,
            load: vec![0.0; channels],
            room: vec![0.0; channels],
            touched: Vec::new(),
        }
    }

    /// Channels with flows, and what each carries at the present rates, bytes/s.
    pub(super) fn throughput(&self) -> impl Iterator<Item = (u32, f64)> {
        self.touched.iter().map(|channel| {
            let c = *channel as usize;
            (*channel, self.rates[c] - self.room[c])
        })
    }

    pub(super) fn is_idle(&self) -> bool {
        self.flows.is_empty()
    }

    /// Starts a flow.
    pub(super) fn start(
        &mut self,
        now: Nanos,
        request: ReqId,
        uses: Rc<Vec<(u32, f64)>>,
        bytes: f64,
    ) {
        self.advance(now);
        self.sent += bytes;
        self.flows.push(Flow {
            request,
            uses,
            total: bytes,
            remaining: bytes,
            rate: 0.0,
        });
        self.fill();
    }

    /// Takes out the flows that have ended by now.
    pub(super) fn finish(&mut self, now: Nanos, ended: &mut Vec<ReqId>) {
        self.advance(now);
        // Ends are rounded up to whole nanoseconds, so what is left is rounding.
        let mut index = 0;
        while index < self.flows.len() {
            let flow = &self.flows[index];
            if flow.remaining <= flow.rate * 1e-9 + 1e-6 {
                self.received += flow.total;
                for (channel, share) in flow.uses.iter() {
                    self.carried[*channel as usize] += share * flow.total;
                }
                ended.push(flow.request);
                // Order of starts is kept: flows that end together end first in, first out.
                self.flows.remove(index);
            } else {
                index += 1;
            }
        }
        self.fill();
    }

    /// When the next flow ends at the present rates.
    pub(super) fn next_end(&self) -> Option<Nanos> {
        self.flows
            .iter()
            .map(|flow| flow.remaining / flow.rate)
            .min_by(f64::total_cmp)
            .map(|left| {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "float casts saturate"
                )]
                let ns = (left * 1e9).ceil() as u64;
                self.updated.saturating_add(ns.max(1))
            })
    }

    fn advance(&mut self, now: Nanos) {
        let span = seconds(now - self.updated);
        self.updated = now;
        if span > 0.0 {
            for flow in &mut self.flows {
                flow.remaining = (flow.remaining - flow.rate * span).max(0.0);
            }
        }
    }

    /// Max–min fair rates of all flows.
    fn fill(&mut self) {
        self.generation += 1;
        for channel in self.touched.drain(..) {
            self.load[channel as usize] = 0.0;
        }
        for flow in &mut self.flows {
            flow.rate = 0.0;
            for (channel, share) in flow.uses.iter() {
                let c = *channel as usize;
                if self.load[c] == 0.0 {
                    self.touched.push(*channel);
                    self.room[c] = self.rates[c];
                }
                self.load[c] += share;
            }
        }
        let mut growing: Vec<usize> = (0..self.flows.len()).collect();
        let mut level = 0.0;
        while !growing.is_empty() {
            // How far all can grow until the first channel is full.
            let mut step = f64::INFINITY;
            for channel in &self.touched {
                let c = *channel as usize;
                if self.load[c] > 1e-12 {
                    step = step.min(self.room[c].max(0.0) / self.load[c]);
                }
            }
            if !step.is_finite() {
                // Nothing limits what is left (flows within one GPU): done at once.
                for index in growing.drain(..) {
                    self.flows[index].rate = f64::MAX;
                }
                break;
            }
            level += step;
            for channel in &self.touched {
                let c = *channel as usize;
                self.room[c] -= step * self.load[c];
            }
            let full = |c: usize, room: &[f64], rates: &[f64]| room[c] <= rates[c] * 1e-9;
            let before = growing.len();
            let (room, rates) = (&self.room, &self.rates);
            let mut fixed = Vec::new();
            growing.retain(|index| {
                let stops = self.flows[*index]
                    .uses
                    .iter()
                    .any(|(channel, share)| *share > 0.0 && full(*channel as usize, room, rates));
                if stops {
                    fixed.push(*index);
                }
                !stops
            });
            for index in fixed {
                self.flows[index].rate = level;
                for (channel, share) in self.flows[index].uses.iter() {
                    self.load[*channel as usize] -= share;
                }
            }
            if growing.len() == before {
                // Rounding kept every channel a hair from full: take the level reached.
                for index in growing.drain(..) {
                    self.flows[index].rate = level;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(list: &[(u32, f64)]) -> Rc<Vec<(u32, f64)>> {
        Rc::new(list.to_vec())
    }

    #[test]
    fn one_flow_takes_its_slowest_channel() {
        let mut network = Network::new(vec![50e9, 100e9]);
        network.start(0, ReqId(0), shares(&[(0, 1.0), (1, 1.0)]), 2_684_354_560.0);
        // Llama-70B's KV of 8,192 tokens over one 400G NIC (cases.md T48).
        assert_eq!(network.next_end(), Some(53_687_092));
    }

    #[test]
    fn two_flows_share_and_the_rest_speeds_up() {
        let mut network = Network::new(vec![50e9]);
        network.start(0, ReqId(0), shares(&[(0, 1.0)]), 2_684_354_560.0);
        network.start(0, ReqId(1), shares(&[(0, 1.0)]), 2_684_354_560.0);
        let end = network.next_end().unwrap();
        assert!((end as f64 * 1e-6 - 107.4).abs() < 0.05, "{end}");
        let mut ended = Vec::new();
        network.finish(end, &mut ended);
        assert_eq!(ended, vec![ReqId(0), ReqId(1)]);
        assert!(network.is_idle());
        assert!((network.sent - network.received).abs() < 1.0);
    }

    #[test]
    fn max_min_gives_the_rest_to_who_can_use_it() {
        // Flow 0 on channels 0 and 1, flow 1 on 0, flow 2 on 1: channel 0 carries 1, channel 1 3.
        let mut network = Network::new(vec![1e9, 3e9]);
        network.start(0, ReqId(0), shares(&[(0, 1.0), (1, 1.0)]), 1e9);
        network.start(0, ReqId(1), shares(&[(0, 1.0)]), 1e9);
        network.start(0, ReqId(2), shares(&[(1, 1.0)]), 1e9);
        let rates: Vec<f64> = network.flows.iter().map(|flow| flow.rate).collect();
        for (rate, fair) in rates.iter().zip([0.5e9, 0.5e9, 2.5e9]) {
            assert!((rate - fair).abs() < 1.0, "{rates:?}");
        }
    }

    #[test]
    fn four_nics_are_four_times_as_fast() {
        let mut network = Network::new(vec![50e9; 4]);
        let quarter = [(0, 0.25), (1, 0.25), (2, 0.25), (3, 0.25)];
        network.start(0, ReqId(0), shares(&quarter), 2_684_354_560.0);
        assert!((network.next_end().unwrap() as f64 * 1e-6 - 13.42).abs() < 0.01);
    }
}
