//! Requests, drawn one at a time.
//!
//! Arrival gaps are drawn at rate 1 and divided by the load, and lengths come from streams of
//! their own, so a request is the same request at every load and curves differ by load alone
//! (common random numbers). The first request arrives at 0. What follows an answer, the next turn
//! of a conversation or the next round of a request, is asked for by [`Source::follow`].

mod replay;
mod talks;

use super::rng::{Stream, gamma, log_normal_mean, standard_exponential, uniform};
use super::sessions::{Count, PriorityClass, Wait};
use super::spec::{Arrivals, Length, Load, Process, Workload, WorkloadError};
use super::trace::Trace;
use replay::Replay;
use std::sync::Arc;
use talks::Talks;

/// Latest arrival, ns: 146 years. Arrivals a tiny rate puts beyond it are there, so that adding
/// to them can't overflow.
const LATEST_NS: f64 = 4_611_686_018_427_387_904.0;

/// A stretch of text, by what it is: equal ids after equal beginnings are the same tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Segment {
    /// Which text.
    pub id: u64,
    /// Its length.
    pub tokens: u32,
}

/// Names of texts: what kind, and which of it. Blocks of a trace have numbers of their own below
/// all of these.
const SYSTEM: u64 = 1 << 60;
const QUESTION: u64 = 2 << 60;
const TOOL: u64 = 3 << 60;
const OWN: u64 = 4 << 60;
const ANSWER: u64 = 1 << 63;

/// A text no other request has, of the request with that number.
pub(super) const fn own_text(index: u64, tokens: u32) -> Segment {
    Segment {
        id: OWN | index,
        tokens,
    }
}

/// A turn of a conversation: what follows when it has been answered, [`Source::follow`] knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Turn {
    /// The conversation in the source: a slot that is used again when it has ended.
    pub session: u32,
    /// Its answer is reasoning or a tool call nobody reads: the next turn is of the same request.
    pub hidden: bool,
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Drawn {
    /// When it arrives, ns from the first; none in a closed loop: when a slot is free.
    pub arrival_ns: Option<u64>,
    /// Prompt tokens.
    pub input: u64,
    /// Answer tokens.
    pub output: u64,
    /// The lowest number is served first, where an engine looks at it.
    pub priority: i32,
    /// Which text its answer is.
    pub answer: u64,
    /// The conversation it is a turn of.
    pub turn: Option<Turn>,
}

/// When conversations begin.
#[derive(Debug, Clone)]
enum Clock {
    /// Gaps at rate 1, and the sum of those so far.
    Open {
        process: Process,
        rate: f64,
        gaps: Stream,
        unit_time: f64,
    },
    Closed,
}

/// Which requests there are.
#[derive(Debug, Clone)]
enum Kind {
    /// Each for itself.
    Single {
        input: (Length, Stream),
        output: (Length, Stream),
        classes: Classes,
    },
    /// Turns of conversations, rounds of requests.
    Talks(Talks),
    /// As recorded.
    Replay(Replay),
}

/// The requests of one run, in order of arrival. Memory grows with the conversations that are under
/// way, not with the number of requests.
#[derive(Debug, Clone)]
pub struct Source {
    clock: Clock,
    kind: Kind,
    /// Conversations begun, and how many there are; a request on its own is one.
    begun: u64,
    starts: u64,
    requests: u64,
}

impl Source {
    /// The requests of a workload under a load; at most `requests_limit` of them (the first ones,
    /// the same as without the limit).
    ///
    /// # Errors
    /// What [`Workload::check`] finds.
    pub fn new(
        workload: &Workload,
        load: Load,
        trace: Option<Arc<Trace>>,
        requests_limit: Option<u64>,
    ) -> Result<Self, WorkloadError> {
        workload.check(load, trace.as_ref())?;
        let seed = workload.seed;
        let classes = Classes::new(seed, &workload.priorities);
        let limit = requests_limit.unwrap_or(u64::MAX);
        let mut requests = workload.requests.min(limit);
        let mut starts = requests;
        let mut rate = match load {
            Load::Rate(rate) => rate,
            Load::Concurrency(_) | Load::TraceSpeed(_) => 1.0,
        };
        let kind = match (workload.arrivals, load, trace) {
            (Arrivals::Trace, Load::TraceSpeed(speed), Some(trace)) => {
                if workload.requests == 0 {
                    requests = limit;
                }
                let replay = Replay::new(trace, speed, requests, classes);
                requests = replay.requests();
                starts = replay.starts();
                Kind::Replay(replay)
            }
            (Arrivals::Trace, _, None) => return Err(WorkloadError::NoTrace),
            _ if workload.sessions.is_some() || workload.hidden.is_some() => {
                let talks = Talks::new(workload, requests, classes);
                starts = talks.starts();
                rate /= workload.mean_turns();
                Kind::Talks(talks)
            }
            _ => Kind::Single {
                input: (workload.input, Stream::new(seed, "prompt lengths", 0)),
                output: (workload.output, Stream::new(seed, "answer lengths", 0)),
                classes,
            },
        };
        let clock = match workload.arrivals {
            Arrivals::Open { process } => Clock::Open {
                process,
                rate,
                gaps: Stream::new(seed, "arrival gaps", 0),
                unit_time: 0.0,
            },
            Arrivals::Closed | Arrivals::Trace => Clock::Closed,
        };
        Ok(Self {
            clock,
            kind,
            begun: 0,
            starts,
            requests,
        })
    }

    /// The first request of the next conversation, and in `text` what its prompt is made of;
    /// nothing: a text of its own.
    pub fn draw(&mut self, text: &mut Vec<Segment>) -> Option<Drawn> {
        text.clear();
        if self.begun == self.starts {
            return None;
        }
        let index = self.begun;
        self.begun += 1;
        let arrival_ns = self.clock.arrival(index);
        match &mut self.kind {
            Kind::Single {
                input,
                output,
                classes,
            } => Some(Drawn {
                arrival_ns,
                input: length(input.0, &mut input.1),
                output: length(output.0, &mut output.1),
                priority: classes.of(index),
                answer: ANSWER | index,
                turn: None,
            }),
            Kind::Talks(talks) => Some(talks.begin(index, arrival_ns, text)),
            Kind::Replay(replay) => replay.begin(text),
        }
    }

    /// What follows a turn whose last token came at `now`, ns: the next round or turn and its text.
    /// None: the conversation has ended.
    pub fn follow(&mut self, turn: Turn, now: u64, text: &mut Vec<Segment>) -> Option<Drawn> {
        text.clear();
        match &mut self.kind {
            Kind::Single { .. } => None,
            Kind::Talks(talks) => talks.follow(turn, now, text),
            Kind::Replay(replay) => replay.follow(turn, now, text),
        }
    }

    /// A turn was refused: its conversation ends here.
    pub fn give_up(&mut self, turn: Turn) {
        if let Kind::Talks(talks) = &mut self.kind {
            talks.give_up(turn);
        }
    }

    /// Longest prompt and answer together there may be.
    #[must_use]
    pub fn longest(&self) -> u64 {
        match &self.kind {
            Kind::Single { input, output, .. } => input.0.longest() + output.0.longest(),
            Kind::Talks(talks) => talks.longest(),
            Kind::Replay(replay) => replay.longest(),
        }
    }

    /// How many requests there are in all; a turn with all its hidden rounds is one.
    #[must_use]
    pub const fn requests(&self) -> u64 {
        self.requests
    }

    /// How many conversations there are in all; a request on its own is one.
    #[must_use]
    pub const fn starts(&self) -> u64 {
        self.starts
    }

    /// How many conversations are still to begin.
    #[must_use]
    pub const fn starts_left(&self) -> u64 {
        self.starts - self.begun
    }
}

impl Iterator for Source {
    type Item = Drawn;

    /// The first request of the next conversation, without its text.
    fn next(&mut self) -> Option<Drawn> {
        self.draw(&mut Vec::new())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.starts_left()).ok();
        (left.unwrap_or(usize::MAX), left)
    }
}

/// Priorities drawn by their shares.
#[derive(Debug, Clone)]
struct Classes {
    seed: u64,
    classes: Vec<PriorityClass>,
    shares: f64,
}

impl Classes {
    fn new(seed: u64, classes: &[PriorityClass]) -> Self {
        Self {
            seed,
            classes: classes.to_vec(),
            shares: classes.iter().map(|class| class.share).sum(),
        }
    }

    /// Priority of a conversation.
    fn of(&self, index: u64) -> i32 {
        let [_, .., last] = self.classes.as_slice() else {
            return self.classes.first().map_or(0, |class| class.priority);
        };
        let mut stream = Stream::new(self.seed, "priorities", index);
        let mut place = uniform(&mut stream) * self.shares;
        for class in &self.classes {
            if place < class.share {
                return class.priority;
            }
            place -= class.share;
        }
        last.priority
    }
}

impl Clock {
    /// Arrival of synthetic request `index`. The sum of gaps is kept in units of the mean gap and
    /// turned to nanoseconds once per request, so rounding does not add up.
    fn arrival(&mut self, index: u64) -> Option<u64> {
        let Self::Open {
            process,
            rate,
            gaps,
            unit_time,
        } = self
        else {
            return None;
        };
        if index > 0 {
            *unit_time += match *process {
                Process::Poisson => standard_exponential(gaps),
                Process::Gamma { cv } => gamma_gap(gaps, cv),
                Process::Constant => 1.0,
            };
        }
        Some(nanoseconds(*unit_time / *rate))
    }
}

/// A gamma gap of mean 1: shape 1/cv², scale cv².
fn gamma_gap(gaps: &mut Stream, cv: f64) -> f64 {
    // Below this a spread is lost in rounding, and 1/cv² would overflow in the end.
    const SMALLEST_CV: f64 = 1e-6;
    if cv < SMALLEST_CV {
        return 1.0;
    }
    gamma(gaps, 1.0 / (cv * cv)) * cv * cv
}

fn nanoseconds(seconds: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bounded on the line, and float casts saturate"
    )]
    let ns = (seconds * 1e9).round().min(LATEST_NS) as u64;
    ns
}

/// Draws a wait, ns.
fn wait(wait: Wait, stream: &mut Stream) -> u64 {
    nanoseconds(wait.mean.get() * gamma_gap(stream, wait.cv))
}

/// Draws a number of turns or rounds. Geometric ones by inversion.
fn count(count: Count, least: u32, stream: &mut Stream) -> u32 {
    match count {
        Count::Fixed(n) => n,
        Count::Uniform { min, max } => {
            let span = u64::from(max.saturating_sub(min)) + 1;
            min + u32::try_from(stream.below(span)).unwrap_or(0)
        }
        Count::Geometric { mean, max } => {
            let on = Count::goes_on(mean, least);
            if on <= 0.0 {
                return least;
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "float casts saturate"
            )]
            let more = (standard_exponential(stream) / -libm::log(on)).floor() as u32;
            least.saturating_add(more).min(max)
        }
    }
}

/// Draws a length. Fixed ones take nothing from the stream.
fn length(length: Length, stream: &mut Stream) -> u64 {
    match length {
        Length::Fixed(tokens) => tokens.get(),
        Length::Uniform { min, max } => {
            min.get() + stream.below(max.get().saturating_sub(min.get()) + 1)
        }
        Length::LogNormal { mean, cv, max } => {
            let drawn = log_normal_mean(stream, mean.as_f64(), cv).round();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "float casts saturate"
            )]
            let tokens = drawn as u64;
            tokens.clamp(1, max.get().max(1))
        }
    }
}

#[cfg(test)]
mod tests;
