//! A run as a trace for Perfetto or chrome://tracing.
//!
//! One process holds the requests, each an asynchronous slice with its phases inside (queue,
//! prefill, transfer, decode). Each replica is a process with a thread per pipeline stage, whose
//! slices are steps by what they carry, and, where lanes step together, a thread per lane with its
//! own share of the step; counters show requests, tokens in a step and KV memory. An arrow leads
//! from the end of a prefill over its KV transfer to the next decode step. The number of events is
//! bounded; a file that ended early says so, and when.

use super::json::{Arg, Event, Events};
use super::timeline::StepKind;
use crate::plan::Plan;
use crate::sim::lane::Batch;
use crate::sim::queue::Nanos;
use crate::sim::replica::ReplicaState;
use crate::sim::request::{ReqId, Request};
use serde_json::json;
use std::io::{self, Write};

/// The requests' process; replicas follow it.
const REQUESTS: u64 = 1;
const FIRST_REPLICA: u64 = 2;
/// Threads of lanes come after those of stages.
const FIRST_LANE: u64 = 1000;

/// Where a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Gone,
    Queue,
    Prefill,
    Transfer,
    Decode,
}

impl Phase {
    const fn name(self) -> &'static str {
        match self {
            Self::Gone => "",
            Self::Queue => "queue",
            Self::Prefill => "prefill",
            Self::Transfer => "transfer",
            Self::Decode => "decode",
        }
    }
}

/// A request's slot in the arena: who has it now.
#[derive(Debug, Clone, Copy)]
struct Tenant {
    /// Counts requests, so that no two share a number.
    number: u64,
    phase: Phase,
}

/// A trace being written.
pub struct Trace {
    events: Events,
    tenants: Vec<Tenant>,
    numbers: u64,
}

/// What a trace holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TraceEnd {
    /// Events written.
    pub events: u64,
    /// It ends here, simulated seconds, because the limit was reached.
    pub cut_at_s: Option<f64>,
}

impl Trace {
    /// To a writer (which had better be buffered), with so many events at most.
    #[must_use]
    pub fn new(out: Box<dyn Write + Send>, limit: u64) -> Self {
        Self {
            events: Events::new(out, limit),
            tenants: Vec::new(),
            numbers: 0,
        }
    }

    /// Closes the file. A run that ended with an error leaves a whole file, too.
    ///
    /// # Errors
    /// The first one of the writer.
    pub fn finish(self) -> io::Result<TraceEnd> {
        #[expect(clippy::cast_precision_loss, reason = "for people")]
        let end = TraceEnd {
            events: self.events.count(),
            cut_at_s: self.events.cut_at().map(|at| at as f64 * 1e-9),
        };
        self.events.finish(&json!({
            "events": end.events,
            "cut_at_s": end.cut_at_s,
            "note": if end.cut_at_s.is_some() {
                "cut: the limit of events was reached"
            } else {
                "complete"
            },
        }))?;
        Ok(end)
    }

    /// Names of processes and threads.
    pub(super) fn name_processes(&mut self, plan: &Plan, replicas: &[ReplicaState]) {
        self.name("process_name", REQUESTS, 0, "requests");
        for (process, state) in (FIRST_REPLICA..).zip(replicas) {
            let pool = &plan.pools[state.pool];
            let words = format!("{} {}", pool.name, state.index);
            self.name("process_name", process, 0, &words);
            for stage in 0..state.spans.len() {
                let words = format!("stage {stage}");
                self.name("thread_name", process, stage as u64, &words);
            }
            if state.lanes.len() > 1 {
                for lane in 0..state.lanes.len() {
                    let thread = FIRST_LANE + lane as u64;
                    self.name("thread_name", process, thread, &format!("lane {lane}"));
                }
            }
        }
    }

    fn name(&mut self, what: &'static str, process: u64, thread: u64, words: &str) {
        self.events.add(&Event {
            phase: "M",
            name: what,
            process,
            thread,
            args: &[("name", Arg::Text(words))],
            ..Event::default()
        });
    }

    fn request_event(
        &mut self,
        phase: &'static str,
        name: &str,
        now: Nanos,
        number: u64,
        args: &[(&'static str, Arg<'_>)],
    ) {
        self.events.add(&Event {
            phase,
            name,
            category: Some("request"),
            process: REQUESTS,
            thread: 0,
            at: now,
            id: Some(number),
            args,
            ..Event::default()
        });
    }

    /// A request is in another phase from now on.
    fn enter(&mut self, now: Nanos, id: ReqId, phase: Phase) {
        let Some(tenant) = self.tenants.get_mut(id.0 as usize) else {
            return;
        };
        let Tenant { number, phase: old } = *tenant;
        tenant.phase = phase;
        if old == phase {
            return;
        }
        if old != Phase::Gone {
            self.request_event("e", old.name(), now, number, &[]);
        }
        if phase != Phase::Gone {
            self.request_event("b", phase.name(), now, number, &[]);
        }
    }

    pub(super) fn arrived(&mut self, now: Nanos, id: ReqId, request: &Request) {
        let slot = id.0 as usize;
        if self.tenants.len() <= slot {
            let empty = Tenant {
                number: 0,
                phase: Phase::Gone,
            };
            self.tenants.resize(slot + 1, empty);
        }
        let number = self.numbers;
        self.numbers += 1;
        self.tenants[slot] = Tenant {
            number,
            phase: Phase::Gone,
        };
        let args = [
            ("prompt", Arg::Count(u64::from(request.input))),
            ("answer", Arg::Count(u64::from(request.output))),
        ];
        self.request_event("b", "request", now, number, &args);
        self.enter(now, id, Phase::Queue);
    }

    pub(super) fn ended(&mut self, now: Nanos, id: ReqId, served: bool) {
        self.enter(now, id, Phase::Gone);
        let Some(Tenant { number, .. }) = self.tenants.get(id.0 as usize).copied() else {
            return;
        };
        let end = if served { "served" } else { "failed" };
        self.request_event("e", "request", now, number, &[("end", Arg::Text(end))]);
    }

    pub(super) fn first_token(&mut self, now: Nanos, id: ReqId) {
        if let Some(Tenant { number, .. }) = self.tenants.get(id.0 as usize).copied() {
            self.request_event("n", "first token", now, number, &[]);
        }
    }

    pub(super) fn decodes(&mut self, now: Nanos, id: ReqId) {
        self.enter(now, id, Phase::Decode);
    }

    pub(super) fn handed_off(&mut self, now: Nanos, id: ReqId, (from, stages): (u32, usize)) {
        self.enter(now, id, Phase::Transfer);
        // Inside the step that has just ended, on its last stage.
        let last = stages.saturating_sub(1) as u64;
        self.arrow("s", now.saturating_sub(1), id, from, last);
    }

    pub(super) fn landed(&mut self, now: Nanos, id: ReqId, to: u32) {
        self.enter(now, id, Phase::Decode);
        // To the next step.
        self.arrow("f", now, id, to, 0);
    }

    fn arrow(&mut self, phase: &'static str, at: Nanos, id: ReqId, replica: u32, thread: u64) {
        if let Some(Tenant { number, .. }) = self.tenants.get(id.0 as usize).copied() {
            self.events.add(&Event {
                phase,
                name: "KV transfer",
                category: Some("kv"),
                process: FIRST_REPLICA + u64::from(replica),
                thread,
                at,
                id: Some(number),
                ..Event::default()
            });
        }
    }

    /// A step starts.
    pub(super) fn step(
        &mut self,
        now: Nanos,
        replica: u32,
        state: &ReplicaState,
        kind: StepKind,
        batches: &[Batch],
    ) {
        if self.events.is_full() {
            return;
        }
        for batch in batches {
            for id in &batch.prefills {
                let waits = self.tenants.get(id.0 as usize);
                if waits.is_some_and(|tenant| tenant.phase == Phase::Queue) {
                    self.enter(now, *id, Phase::Prefill);
                }
            }
        }
        let process = FIRST_REPLICA + u64::from(replica);
        let carried = batches
            .iter()
            .map(Carried::of)
            .fold(Carried::default(), Carried::and);
        for (stage, span) in state.spans.iter().enumerate() {
            self.slice(kind, process, stage as u64, *span, carried);
        }
        if let ([_, _, ..], Some(span)) = (batches, state.spans.first()) {
            for (thread, batch) in (FIRST_LANE..).zip(batches) {
                let own = Carried::of(batch);
                if let Some(kind) = own.kind() {
                    self.slice(kind, process, thread, *span, own);
                }
            }
        }
        let levels = state.levels();
        #[expect(clippy::cast_precision_loss, reason = "a share for people")]
        let share = levels.held as f64 / levels.capacity.max(1) as f64;
        let counters: [(&str, &[(&'static str, Arg<'_>)]); 3] = [
            (
                "requests",
                &[
                    ("running", Arg::Count(levels.running)),
                    ("waiting", Arg::Count(levels.waiting)),
                ],
            ),
            (
                "tokens in step",
                &[
                    ("decode", Arg::Count(carried.decodes)),
                    ("prefill", Arg::Count(carried.prompt_tokens)),
                ],
            ),
            ("KV used, %", &[("used", Arg::Share(share * 100.0))]),
        ];
        for (name, args) in counters {
            self.events.add(&Event {
                phase: "C",
                name,
                process,
                at: now,
                args,
                ..Event::default()
            });
        }
    }

    fn slice(
        &mut self,
        kind: StepKind,
        process: u64,
        thread: u64,
        (from, to): (Nanos, Nanos),
        carried: Carried,
    ) {
        // Of chrome://tracing's fixed palette.
        let colour = match kind {
            StepKind::Prefill => "rail_response",
            StepKind::Decode => "good",
            StepKind::Mixed => "bad",
        };
        self.events.add(&Event {
            phase: "X",
            name: kind.name(),
            category: Some("step"),
            process,
            thread,
            at: from,
            took: Some(to - from),
            colour: Some(colour),
            args: &[
                ("decodes", Arg::Count(carried.decodes)),
                ("drafted", Arg::Count(carried.drafted)),
                ("context tokens", Arg::Count(carried.context)),
                ("prompts", Arg::Count(carried.prompts)),
                ("prefill tokens", Arg::Count(carried.prompt_tokens)),
            ],
            ..Event::default()
        });
    }
}

/// What a step carries.
#[derive(Debug, Clone, Copy, Default)]
struct Carried {
    decodes: u64,
    drafted: u64,
    context: u64,
    prompts: u64,
    prompt_tokens: u64,
}

impl Carried {
    fn of(batch: &Batch) -> Self {
        Self {
            decodes: u64::from(batch.decodes),
            drafted: u64::from(batch.drafted),
            context: batch.context,
            prompts: batch.chunks.len() as u64,
            prompt_tokens: batch.chunks.iter().map(|c| u64::from(c.tokens)).sum(),
        }
    }

    const fn and(self, other: Self) -> Self {
        Self {
            decodes: self.decodes + other.decodes,
            drafted: self.drafted + other.drafted,
            context: self.context + other.context,
            prompts: self.prompts + other.prompts,
            prompt_tokens: self.prompt_tokens + other.prompt_tokens,
        }
    }

    const fn kind(self) -> Option<StepKind> {
        match (self.prompts > 0, self.decodes > 0) {
            (true, false) => Some(StepKind::Prefill),
            (false, true) => Some(StepKind::Decode),
            (true, true) => Some(StepKind::Mixed),
            (false, false) => None,
        }
    }
}
