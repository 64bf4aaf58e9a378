//! The links as a run knows them: flows under way, ways between lanes as they come up, and the transfers
//! they carry.

use super::Engine;
use super::handover::Transfer;
use crate::cluster::Router;
use crate::cost::{TransferEngine, TransferShape, kv_transfer, transfer_rates};
use crate::plan::Plan;
use crate::sim::network::{Network, uses};
use crate::sim::queue::{Event, Nanos};
use crate::sim::request::ReqId;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The links, and what is on its way over them.
pub(super) struct Wires<'a> {
    pub(super) network: Network,
    /// Seconds a transfer takes besides its bytes and its path's latency.
    latency: f64,
    router: Router<'a>,
    /// Ways between lanes, as they come up.
    routes: BTreeMap<(u32, u32, u32, u32), Option<Route>>,
    /// By the slot of the request.
    pub(super) transfers: Vec<Option<Transfer>>,
    pub(super) ended: Vec<ReqId>,
    /// When the next flow ends, and an event says so.
    pub(super) flow_end: Option<Nanos>,
    /// Layers of the model.
    pub(super) layers: u32,
    /// Transfers don't share links, as some other simulators have it.
    #[cfg(test)]
    pub(super) apart: bool,
}

impl<'a> Wires<'a> {
    pub(super) fn new(plan: &'a Plan, engine: &TransferEngine) -> Self {
        Self {
            network: Network::new(transfer_rates(&plan.topology, engine)),
            latency: engine.latency,
            router: Router::new(&plan.topology),
            routes: BTreeMap::new(),
            transfers: Vec::new(),
            ended: Vec::new(),
            flow_end: None,
            layers: plan.model.layers.iter().map(|run| run.count).sum(),
            #[cfg(test)]
            apart: false,
        }
    }

    pub(super) fn transfer(&mut self, id: ReqId) -> Option<&mut Transfer> {
        self.transfers.get_mut(id.0 as usize)?.as_mut()
    }

    pub(super) fn put(&mut self, id: ReqId, transfer: Transfer) {
        let slot = id.0 as usize;
        if self.transfers.len() <= slot {
            self.transfers.resize(slot + 1, None);
        }
        self.transfers[slot] = Some(transfer);
    }
}

/// The way of KV from one lane to another.
#[derive(Clone)]
pub(super) struct Route {
    pub(super) shape: Rc<TransferShape>,
    /// Its channels, if they are the same for all lengths.
    uses: Option<Rc<Vec<(u32, f64)>>>,
    pub(super) latency: Nanos,
}

impl Route {
    pub(super) fn uses(&self, tokens: u64) -> Rc<Vec<(u32, f64)>> {
        match &self.uses {
            Some(uses) => Rc::clone(uses),
            None => uses(&self.shape.channels(tokens)),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "float casts saturate"
)]
pub(super) fn nanos(seconds: f64) -> Nanos {
    (seconds * 1e9).round() as Nanos
}

impl Engine<'_> {
    pub(super) fn route(&mut self, from: (u32, u32), to: (u32, u32)) -> Option<Route> {
        let key = (from.0, from.1, to.0, to.1);
        if let Some(route) = self.wires.routes.get(&key) {
            return route.clone();
        }
        let route = self.find_route(from, to);
        self.wires.routes.insert(key, route.clone());
        route
    }

    fn find_route(&mut self, from: (u32, u32), to: (u32, u32)) -> Option<Route> {
        let plan = self.plan;
        let home = |(replica, lane): (u32, u32)| {
            let (pool, index, lane) = self.replicas[replica as usize].homes[lane as usize];
            (&plan.pools[pool], index, lane)
        };
        let shape = kv_transfer(
            &mut self.wires.router,
            &plan.model,
            &|channel| plan.topology.channel(channel).rate.get(),
            home(from),
            home(to),
        )?;
        Some(Route {
            latency: nanos(shape.latency + self.wires.latency),
            uses: shape.is_uniform().then(|| uses(&shape.channels(0))),
            shape: Rc::new(shape),
        })
    }

    pub(super) fn watch_network(&mut self) {
        self.recorder.flows(self.now, &self.wires.network);
        if let Some(at) = self.wires.network.next_end()
            && self.wires.flow_end != Some(at)
        {
            self.wires.flow_end = Some(at);
            self.queue.push(at, Event::FlowEnd);
        }
    }
}
