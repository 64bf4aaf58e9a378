//! What each event does: requests arrive, steps start and end, KV moves.

use super::{After, Engine, Route, Transfer};
use crate::cost::kv_transfer;
use crate::plan::FirstToken;
use crate::sim::lane::Ended;
use crate::sim::network::uses;
use crate::sim::queue::{Event, Nanos};
use crate::sim::replica::ReplicaState;
use crate::sim::request::ReqId;
use std::rc::Rc;

/// Requests a lane has.
fn outstanding(replicas: &[ReplicaState], (replica, lane): (u32, u32)) -> u32 {
    replicas[replica as usize].lanes[lane as usize].outstanding
}

impl Engine<'_> {
    /// Brings a replica that is in a run of unchanged steps to this moment: it is about to change, or to
    /// be looked at.
    pub(super) fn settle(&mut self, replica: u32) {
        let state = &mut self.replicas[replica as usize];
        if state.run.is_none() {
            return;
        }
        // Steps that end now have ended if their turn was before this event's.
        let limit = self.now + Nanos::from(replica < self.turn);
        let planned = state.ends_at;
        let steps = state.advance(&mut self.requests, &mut self.metrics, limit);
        self.events += steps.unwrap_or(0);
        let at = state.ends_at;
        if at != planned {
            self.queue.push(at, Event::StepEnd { replica, cohort: 0 });
        }
    }

    /// Draws the next open-loop request and puts its arrival in the queue.
    pub(super) fn next_arrival(&mut self) {
        let mut text = std::mem::take(&mut self.text);
        if let Some(drawn) = self.source.draw(&mut text) {
            let at = drawn.arrival_ns.unwrap_or(self.now).max(self.now);
            self.pending = Some(self.requests.add(at, &drawn, &mut text));
            self.queue.push(at, Event::Arrival);
        }
        self.text = text;
    }

    /// The pending request arrives.
    pub(super) fn arrive(&mut self) {
        if let Some(id) = self.pending.take() {
            self.admit(id, true);
        }
    }

    /// Closed loop: sends the next request now; one that can't be served makes room for the one
    /// after it. Whether one was sent.
    pub(super) fn send_next(&mut self) -> bool {
        let mut text = std::mem::take(&mut self.text);
        let mut sent = false;
        while let Some(drawn) = self.source.draw(&mut text) {
            let id = self.requests.add(self.now, &drawn, &mut text);
            sent = self.admit(id, true);
            if sent {
                break;
            }
        }
        self.text = text;
        sent
    }

    /// Routes a new request to an entry lane by the design's rule. `begins`:
    /// it follows no other. Whether it can be served.
    pub(super) fn admit(&mut self, id: ReqId, begins: bool) -> bool {
        if !self.is_later_round(id) {
            if self.metrics.notes(begins) {
                for replica in 0..self.replicas.len() {
                    self.settle(u32::try_from(replica).unwrap_or(0));
                }
            }
            self.metrics.sent(self.now, begins);
        }
        let entries = Rc::clone(&self.entries);
        let replicas = &self.replicas;
        let chosen = self.entry.choose(
            entries.len(),
            |_| true,
            |index| outstanding(replicas, entries[index]),
        );
        let (chosen, (replica, lane)) = match chosen {
            Some(index) => (index, entries[index]),
            // There is always an entry, see `NoEntry`.
            None => return false,
        };
        let request = self.requests[id];
        let tokens = u64::from(request.input) + u64::from(request.output);
        let home = &mut self.replicas[replica as usize].lanes[lane as usize];
        if request.input == 0 || request.output == 0 || !home.can_hold(tokens) {
            self.lose(id, false);
            return false;
        }
        self.entry.took(chosen);
        self.tokens_asked += u64::from(request.output);
        home.outstanding += 1;
        self.requests[id].home = (replica, lane);
        self.recorder.arrived(self.now, id, &self.requests[id]);
        let state = &mut self.replicas[replica as usize];
        let at = state.front.pass(self.now, 1).saturating_add(state.network);
        if at > self.now {
            self.queue.push(at, Event::Queued { slot: id.0 });
        } else {
            self.queued(id);
        }
        true
    }

    /// A request comes to its scheduler's queue.
    pub(super) fn queued(&mut self, id: ReqId) {
        let (replica, lane) = self.requests[id].home;
        self.settle(replica);
        let home = &mut self.replicas[replica as usize].lanes[lane as usize];
        home.enqueue(&mut self.requests, id, self.now);
        self.launch(replica);
    }

    /// Starts as many steps of a replica as it has room for.
    pub(super) fn launch(&mut self, replica: u32) {
        let state = &mut self.replicas[replica as usize];
        let Some(pricer) = &mut self.pricers[state.pool] else {
            return;
        };
        let launched = state.launch(&mut self.requests, pricer, self.now);
        let cohort = launched.as_ref().map(|launched| launched.cohort);
        self.recorder.scheduled(self.now, replica, state, cohort);
        for lane in &mut state.lanes {
            for (id, done) in lane.take_loads() {
                let at = done.max(self.now);
                self.queue.push(at, Event::Loaded { slot: id.0 });
            }
        }
        if let Some(launched) = launched {
            self.queue.push(
                launched.end,
                Event::StepEnd {
                    replica,
                    cohort: launched.cohort,
                },
            );
            if let Some(at) = launched.stage_free {
                self.queue.push(at, Event::StageFree { replica });
            }
        }
    }

    /// What lay below HBM of a prompt is there: it may go on.
    pub(super) fn loaded(&mut self, id: ReqId) {
        let (replica, lane) = self.requests[id].home;
        self.settle(replica);
        self.replicas[replica as usize].lanes[lane as usize].loaded(&mut self.requests, id);
        self.launch(replica);
    }

    pub(super) fn step_end(&mut self, replica: u32, cohort: usize) {
        self.settle(replica);
        let mut ended = std::mem::take(&mut self.ended);
        let after = self.after[replica as usize].clone();
        let keeps = matches!(after, After::Decode);
        let lanes = self.replicas[replica as usize].lanes.len();
        for lane in 0..lanes {
            let state = &mut self.replicas[replica as usize];
            let batch = &state.batches[cohort][lane];
            if batch.is_empty() {
                continue;
            }
            state.lanes[lane].end_step(
                &mut self.requests,
                cohort,
                batch,
                self.now,
                keeps,
                &mut ended,
            );
            let tokens = ended.tokens();
            self.told = state.back.pass(self.now, tokens);
            state.lanes[lane].told(cohort, self.now, self.told);
            self.deliver(&ended);
            self.recorder.produced(self.now, replica, &ended);
            let place = (replica, u32::try_from(lane).unwrap_or(0));
            for id in &ended.finished {
                self.complete(*id, place);
            }
            for id in &ended.prefilled {
                self.prefilled(*id, place, &after);
            }
        }
        self.ended = ended;
        // Only now: a completion may send a request, and its launch must not take this cohort while
        // other lanes' batches are still to be read.
        self.replicas[replica as usize].landed(cohort, self.now);
        self.admit_arrivals(replica);
        self.launch(replica);
    }

    /// Tokens of a step reach their clients.
    fn deliver(&mut self, ended: &Ended) {
        self.metrics
            .tokens(ended.steady, self.told - ended.since.min(self.told));
        for (id, tokens) in &ended.apart {
            let request = &mut self.requests[*id];
            let gap = self.told.saturating_sub(request.last_token);
            request.last_token = self.told;
            self.metrics.tokens(1, gap);
            // Those accepted with it come at once.
            self.metrics.tokens(tokens - 1, 0);
        }
    }

    /// A prompt has been computed and has yielded a token.
    fn prefilled(&mut self, id: ReqId, place: (u32, u32), after: &After) {
        let (now, told) = (self.now, self.told);
        let request = &mut self.requests[id];
        let done = request.produced == request.output;
        if request.produced > 1 {
            // It was preempted and computed again: this is a later token.
            let gap = told.saturating_sub(request.last_token);
            request.last_token = told;
            self.metrics.tokens(1, gap);
            if done {
                self.complete(id, place);
            }
            return;
        }
        let handoff = match after {
            After::Handoff(targets, first_token) if !done => {
                Some((Rc::clone(targets), *first_token))
            }
            After::Handoff(..) | After::Decode => None,
        };
        match handoff {
            None => {
                self.first_token(id);
                self.recorder.decodes(now, id);
                if done {
                    self.complete(id, place);
                }
            }
            Some((targets, first_token)) => {
                if first_token == FirstToken::PrefillEnd {
                    self.first_token(id);
                }
                self.hand_off(id, place, &targets, first_token);
            }
        }
    }

    fn first_token(&mut self, id: ReqId) {
        let hidden = self.is_hidden(id);
        let request = &mut self.requests[id];
        request.first_token = Some(self.told);
        request.last_token = self.told;
        self.metrics.first_token(hidden);
        self.recorder.first_token(self.now, id);
    }

    fn complete(&mut self, id: ReqId, (replica, lane): (u32, u32)) {
        self.replicas[replica as usize].lanes[lane as usize].outstanding -= 1;
        self.recorder.ended(self.now, id, true);
        self.answered(id);
    }

    /// A prefilled request waits for a decode lane, chosen by the design's rule.
    fn hand_off(
        &mut self,
        id: ReqId,
        from: (u32, u32),
        targets: &[(u32, u32)],
        first_token: FirstToken,
    ) {
        let tokens = u64::from(self.requests[id].input) + u64::from(self.requests[id].output);
        let replicas = &self.replicas;
        let chooser = &mut self.handover[self.service_of[from.0 as usize]];
        let chosen = chooser.choose(
            targets.len(),
            |index| {
                let (replica, lane) = targets[index];
                replicas[replica as usize].lanes[lane as usize].can_hold(tokens)
            },
            |index| outstanding(replicas, targets[index]),
        );
        if let Some(index) = chosen {
            chooser.took(index);
        }
        let target = chosen.map(|index| targets[index]);
        let slot = id.0 as usize;
        if self.transfers.len() <= slot {
            self.transfers.resize(slot + 1, None);
        }
        let (source, lane) = from;
        let home = &mut self.replicas[source as usize].lanes[lane as usize];
        home.outstanding -= 1;
        let Some(target) = target else {
            // No decode pool can ever hold it: it ends here, refused.
            home.release(&mut self.requests, id);
            self.tokens_asked -= u64::from(self.requests[id].output);
            self.recorder.ended(self.now, id, false);
            let delivered = self.requests[id].first_token.is_some();
            self.tokens_asked += u64::from(delivered);
            self.lose(id, delivered && !self.is_hidden(id));
            if self.closed {
                self.send_next();
            }
            return;
        };
        let stages = self.replicas[source as usize].spans.len();
        self.recorder.handed_off(self.now, id, (source, stages));
        self.transfers[slot] = Some(Transfer {
            from,
            first_token,
            latency: 0,
        });
        self.requests[id].home = target;
        self.settle(target.0);
        let lane = &mut self.replicas[target.0 as usize].lanes[target.1 as usize];
        lane.outstanding += 1;
        lane.expect(id);
        self.admit_arrivals(target.0);
    }

    /// Decode admits expected requests as blocks allow; their KV starts to flow.
    fn admit_arrivals(&mut self, replica: u32) {
        for lane in 0..self.replicas[replica as usize].lanes.len() {
            while let Some(id) =
                self.replicas[replica as usize].lanes[lane].admit_transfer(&self.requests)
            {
                self.start_transfer(id, (replica, u32::try_from(lane).unwrap_or(0)));
            }
        }
        let state = &self.replicas[replica as usize];
        self.recorder.scheduled(self.now, replica, state, None);
    }

    fn start_transfer(&mut self, id: ReqId, to: (u32, u32)) {
        let slot = id.0 as usize;
        let Some(transfer) = self.transfers[slot] else {
            return;
        };
        self.work.transfers += 1;
        let key = (transfer.from.0, transfer.from.1, to.0, to.1);
        let route = match self.shapes.get(&key) {
            Some(route) => route.clone(),
            None => {
                let route = self.find_route(transfer.from, to);
                self.shapes.insert(key, route.clone());
                route
            }
        };
        // `plan` refuses feeds between pools that nothing joins.
        let Some(route) = route else {
            self.queue.push(self.now, Event::Landed { slot: id.0 });
            return;
        };
        if let Some(transfer) = &mut self.transfers[slot] {
            transfer.latency = route.latency;
        }
        let tokens = u64::from(self.requests[id].base);
        let bytes = route.shape.bytes(tokens);
        let uses = route
            .uses
            .unwrap_or_else(|| uses(&route.shape.channels(tokens)));
        self.network.start(self.now, id, uses, bytes);
        self.watch_network();
    }

    fn find_route(&mut self, from: (u32, u32), to: (u32, u32)) -> Option<Route> {
        let plan = self.plan;
        let home = |(replica, lane): (u32, u32)| {
            let (pool, index, lane) = self.replicas[replica as usize].homes[lane as usize];
            (&plan.pools[pool], index, lane)
        };
        let shape = kv_transfer(
            &mut self.router,
            &plan.model,
            &|channel| plan.topology.channel(channel).rate.get(),
            home(from),
            home(to),
        )?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "float casts saturate"
        )]
        let latency = ((shape.latency + self.transfer_latency) * 1e9).round() as Nanos;
        Some(Route {
            uses: shape.is_uniform().then(|| uses(&shape.channels(0))),
            shape: Rc::new(shape),
            latency,
        })
    }

    fn watch_network(&mut self) {
        self.recorder.flows(self.now, &self.network);
        if let Some(at) = self.network.next_end() {
            let generation = self.network.generation;
            self.queue
                .push(at.max(self.now), Event::FlowEnd { generation });
        }
    }

    pub(super) fn flows_end(&mut self) {
        let mut ended = std::mem::take(&mut self.flows_ended);
        ended.clear();
        self.network.finish(self.now, &mut ended);
        for id in &ended {
            let latency = self.transfers[id.0 as usize].map_or(0, |transfer| transfer.latency);
            self.queue.push(
                self.now.saturating_add(latency),
                Event::Landed { slot: id.0 },
            );
        }
        self.flows_ended = ended;
        self.watch_network();
    }

    /// A request's KV is where it decodes: prefill lets go of its blocks.
    pub(super) fn landed(&mut self, id: ReqId) {
        let Some(transfer) = self.transfers[id.0 as usize].take() else {
            return;
        };
        self.settle(transfer.from.0);
        self.settle(self.requests[id].home.0);
        if transfer.first_token == FirstToken::DecodeAdmission {
            let (replica, _) = self.requests[id].home;
            self.told = self.replicas[replica as usize].back.pass(self.now, 1);
            self.first_token(id);
        }
        let (source, lane) = transfer.from;
        self.replicas[source as usize].lanes[lane as usize].release(&mut self.requests, id);
        let (replica, lane) = self.requests[id].home;
        self.recorder.landed(self.now, id, replica);
        self.replicas[replica as usize].lanes[lane as usize]
            .join_from_transfer(&mut self.requests, id);
        self.launch(replica);
        self.launch(source);
    }
}
