//! What each event does: requests arrive, steps start and end, KV moves.

use super::choose::Asking;
use super::{After, Engine};
use crate::plan::{FirstToken, KvTransfer};
use crate::sim::lane::{Ended, Lane};
use crate::sim::queue::{Event, Nanos};
use crate::sim::request::ReqId;

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
        let request = self.requests[id];
        let tokens = u64::from(request.input) + u64::from(request.output);
        let session = request.turn.map(|turn| turn.session);
        if let (true, Some(session)) = (begins, session) {
            for place in &mut self.places {
                place.forget(session);
            }
        }
        // There is always an entry, see `NoEntry`.
        let Some(mut home) = self.choose(0, id, |_| true) else {
            return false;
        };
        let mut after = self.after[home.0 as usize];
        if let After::Handoff(handoff) = after
            && self.is_local(id, home)
            && let Some(lane) = self.choose(handoff.place, id, |lane| lane.can_hold(tokens))
        {
            self.work.local_prefills += 1;
            (home, after) = (lane, After::Decode);
        }
        let (replica, lane) = home;
        let own = &self.replicas[replica as usize].lanes[lane as usize];
        if request.input == 0 || request.output == 0 || !own.can_hold(tokens) {
            self.lose(id, false);
            return false;
        }
        if let After::Handoff(handoff) = after
            && handoff.sends.allocates_first()
            && request.output > 1
        {
            // The router chooses both at once.
            let Some(to) = self.choose(handoff.place, id, |lane| lane.can_hold(tokens)) else {
                self.lose(id, false);
                return false;
            };
            self.reserve(id, home, to, handoff);
        }
        self.tokens_asked += u64::from(request.output);
        self.count(home, id, true);
        self.requests[id].home = home;
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

    /// A request comes to its scheduler's queue, or first to that of a decode lane that is to allocate
    /// before it is prefilled.
    pub(super) fn queued(&mut self, id: ReqId) {
        if self.awaits_allocation(id) {
            return;
        }
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
            if let After::Handoff(handoff) = self.after[replica as usize]
                && handoff.sends == KvTransfer::PushLayers
            {
                self.expect_layers(replica, launched.cohort as usize, launched.end);
            }
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
        let after = self.after[replica as usize];
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
            if let After::Handoff(handoff) = after
                && handoff.sends == KvTransfer::PushChunks
            {
                self.send_chunks(place, cohort);
            }
            for id in &ended.finished {
                self.complete(*id, place);
            }
            for id in &ended.prefilled {
                self.prefilled(*id, place, after);
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
    fn prefilled(&mut self, id: ReqId, place: (u32, u32), after: After) {
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
        match after {
            After::Handoff(handoff) if !done => {
                if handoff.first_token == FirstToken::PrefillEnd {
                    self.first_token(id);
                }
                self.hand_off(id, place, handoff);
            }
            After::Handoff(_) | After::Decode => {
                self.first_token(id);
                self.recorder.decodes(now, id);
                if done {
                    self.complete(id, place);
                }
            }
        }
    }

    pub(super) fn first_token(&mut self, id: ReqId) {
        let hidden = self.is_hidden(id);
        let request = &mut self.requests[id];
        request.first_token = Some(self.told);
        request.last_token = self.told;
        self.metrics.first_token(hidden);
        self.recorder.first_token(self.now, id);
    }

    fn complete(&mut self, id: ReqId, place: (u32, u32)) {
        self.count(place, id, false);
        self.recorder.ended(self.now, id, true);
        self.answered(id);
    }

    /// A request has come to a lane, or has left it.
    pub(super) fn count(&mut self, (replica, lane): (u32, u32), id: ReqId, came: bool) {
        let tokens = u64::from(self.requests[id].input);
        let own = &mut self.replicas[replica as usize].lanes[lane as usize];
        if came {
            own.outstanding += 1;
            own.outstanding_tokens += tokens;
        } else {
            own.outstanding -= 1;
            own.outstanding_tokens -= tokens;
        }
        let (requests, tokens) = (own.outstanding, own.outstanding_tokens);
        for (place, index) in &self.spots[self.first_lane[replica as usize] + lane as usize] {
            self.places[*place as usize].note(*index, requests, tokens);
        }
    }

    /// The lane that takes a request at a place, by the design's rule; none: none of them fits.
    pub(super) fn choose(
        &mut self,
        place: usize,
        id: ReqId,
        fits: impl Fn(&Lane) -> bool,
    ) -> Option<(u32, u32)> {
        if self.places[place].asks_kv() {
            for index in 0..self.places[place].lanes.len() {
                self.settle(self.places[place].lanes[index].0);
            }
        }
        let request = &self.requests[id];
        let asking = Asking {
            session: request.turn.map(|turn| turn.session),
            text: self.requests.text(id),
            prompt: request.input,
        };
        self.places[place].choose(asking, &self.replicas, fits)
    }
}
