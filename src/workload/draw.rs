//! Requests, drawn one at a time.
//!
//! Arrival gaps are drawn at rate 1 and divided by the load, and lengths come from streams of
//! their own, so a request is the same request at every load and curves differ by load alone
//! (common random numbers). The first request arrives at 0.

use super::rng::{Stream, gamma, log_normal_mean, standard_exponential};
use super::spec::{Arrivals, Length, Load, Process, Workload, WorkloadError};
use super::trace::Trace;
use std::sync::Arc;

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

/// A turn of a conversation: what follows when it has been answered, [`Source::follow`] knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Turn {
    /// The conversation's slot in the source.
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

/// When the next request comes.
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
    Trace {
        trace: Arc<Trace>,
        speed: f64,
    },
}

/// The requests of one run, in order of arrival. Memory does not grow with their number.
#[derive(Debug, Clone)]
pub struct Source {
    clock: Clock,
    input: (Length, Stream),
    output: (Length, Stream),
    next: u64,
    total: u64,
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
        let mut total = workload.requests;
        let clock = match (workload.arrivals, load, trace) {
            (Arrivals::Open { process }, Load::Rate(rate), _) => Clock::Open {
                process,
                rate,
                gaps: Stream::new(seed, "arrival gaps", 0),
                unit_time: 0.0,
            },
            (Arrivals::Trace, Load::TraceSpeed(speed), Some(trace)) => {
                let rows = trace.requests.len() as u64;
                total = if total == 0 { rows } else { total.min(rows) };
                Clock::Trace { trace, speed }
            }
            (Arrivals::Trace, _, None) => return Err(WorkloadError::NoTrace),
            _ => Clock::Closed,
        };
        Ok(Self {
            clock,
            input: (workload.input, Stream::new(seed, "prompt lengths", 0)),
            output: (workload.output, Stream::new(seed, "answer lengths", 0)),
            next: 0,
            total: requests_limit.map_or(total, |limit| total.min(limit)),
        })
    }

    /// The next request, and in `text` what its prompt is made of; nothing: a text of its own.
    pub fn draw(&mut self, text: &mut Vec<Segment>) -> Option<Drawn> {
        text.clear();
        self.next()
    }

    /// What follows a turn that has been answered at `now`, ns: the next turn and its text.
    pub fn follow(&mut self, _turn: Turn, _now: u64, text: &mut Vec<Segment>) -> Option<Drawn> {
        text.clear();
        None
    }

    /// How many requests are still to come.
    #[must_use]
    pub const fn len_hint(&self) -> u64 {
        self.total - self.next
    }
}

/// Name of the text a request of its own answers with.
const fn answer_of(index: u64) -> u64 {
    1 << 63 | index
}

impl Iterator for Source {
    type Item = Drawn;

    fn next(&mut self) -> Option<Drawn> {
        if self.next == self.total {
            return None;
        }
        let index = self.next;
        self.next += 1;
        if let Clock::Trace { trace, speed } = &self.clock {
            let row = trace.requests.get(usize::try_from(index).ok()?)?;
            return Some(Drawn {
                arrival_ns: Some(nanoseconds(row.arrival_s / speed)),
                input: row.input,
                output: row.output,
                priority: 0,
                answer: answer_of(index),
                turn: None,
            });
        }
        Some(Drawn {
            arrival_ns: self.clock.arrival(index),
            input: length(self.input.0, &mut self.input.1),
            output: length(self.output.0, &mut self.output.1),
            priority: 0,
            answer: answer_of(index),
            turn: None,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.len_hint()).ok();
        (left.unwrap_or(usize::MAX), left)
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
mod tests {
    use super::*;
    use crate::units::Tokens;
    use crate::workload::TraceRequest;
    use proptest::prelude::*;

    fn open(process: Process, requests: u64) -> Workload {
        Workload {
            arrivals: Arrivals::Open { process },
            input: Length::LogNormal {
                mean: Tokens::new(1000),
                cv: 0.8,
                max: Tokens::new(8000),
            },
            output: Length::Uniform {
                min: Tokens::new(10),
                max: Tokens::new(20),
            },
            ..Workload::fixed(1, 1, requests)
        }
    }

    fn draw(workload: &Workload, load: Load) -> Vec<Drawn> {
        Source::new(workload, load, None, None).unwrap().collect()
    }

    #[test]
    fn three_a_second_for_ten_seconds_are_thirty() {
        // T24: exact counts; the 31st would arrive at 10 s sharp.
        let requests = draw(&open(Process::Constant, 31), Load::Rate(3.0));
        let ten_seconds = 10_000_000_000;
        assert_eq!(
            requests
                .iter()
                .filter(|r| r.arrival_ns.unwrap() < ten_seconds)
                .count(),
            30
        );
        assert_eq!(requests[30].arrival_ns, Some(ten_seconds));
        assert_eq!(requests[3].arrival_ns, Some(1_000_000_000), "no drift");
        let many = draw(&open(Process::Constant, 3_000_001), Load::Rate(3.0));
        assert_eq!(
            many.last().unwrap().arrival_ns,
            Some(1_000_000 * 1_000_000_000)
        );
    }

    #[test]
    fn exactly_the_requests_asked_for() {
        for process in [
            Process::Poisson,
            Process::Gamma { cv: 3.0 },
            Process::Constant,
        ] {
            assert_eq!(draw(&open(process, 1234), Load::Rate(7.0)).len(), 1234);
        }
        let mut source =
            Source::new(&open(Process::Poisson, 10), Load::Rate(1.0), None, Some(4)).unwrap();
        assert_eq!(source.len_hint(), 4);
        source.next();
        assert_eq!(source.len_hint(), 3);
        assert_eq!(source.by_ref().count(), 3);
        assert_eq!(source.next(), None);
    }

    #[test]
    fn a_request_is_the_same_at_every_load() {
        let workload = open(Process::Poisson, 500);
        let (slow, fast) = (
            draw(&workload, Load::Rate(2.0)),
            draw(&workload, Load::Rate(20.0)),
        );
        for (a, b) in slow.iter().zip(&fast) {
            assert_eq!((a.input, a.output), (b.input, b.output));
            let (a, b) = (a.arrival_ns.unwrap(), b.arrival_ns.unwrap());
            assert!(a.abs_diff(b * 10) <= 10, "{a} {b}");
        }
        let closed = Workload {
            arrivals: Arrivals::Closed,
            ..workload
        };
        let closed = draw(&closed, Load::Concurrency(8));
        assert!(closed.iter().all(|r| r.arrival_ns.is_none()));
        assert!(
            closed
                .iter()
                .zip(&slow)
                .all(|(a, b)| (a.input, a.output) == (b.input, b.output))
        );
    }

    #[test]
    fn gaps_have_the_mean_and_the_spread_asked_for() {
        for (process, cv) in [
            (Process::Poisson, 1.0),
            (Process::Gamma { cv: 0.3 }, 0.3),
            (Process::Gamma { cv: 2.5 }, 2.5),
            (Process::Constant, 0.0),
        ] {
            let requests = draw(&open(process, 100_000), Load::Rate(4.0));
            let times: Vec<f64> = requests
                .iter()
                .map(|r| r.arrival_ns.unwrap() as f64 / 1e9)
                .collect();
            let gaps: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let deviation =
                (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
            assert!((mean * 4.0 - 1.0).abs() < 0.03, "{process:?}: mean {mean}");
            assert!(
                (deviation / mean - cv).abs() < 0.05 * cv.max(0.01),
                "{process:?}: {}",
                deviation / mean
            );
        }
    }

    #[test]
    fn lengths_have_the_mean_and_the_bounds_asked_for() {
        let requests = draw(&open(Process::Poisson, 100_000), Load::Rate(1.0));
        let mean = requests.iter().map(|r| r.input as f64).sum::<f64>() / 1e5;
        assert!((mean / 1000.0 - 1.0).abs() < 0.02, "{mean}");
        assert!(requests.iter().all(|r| (1..=8000).contains(&r.input)));
        for length in 10..=20 {
            let share = requests.iter().filter(|r| r.output == length).count() as f64 / 1e5;
            assert!((share - 1.0 / 11.0).abs() < 0.005, "{length}: {share}");
        }
    }

    #[test]
    fn parameters_at_the_edge() {
        // T25: no spread is constant; NaN, infinite, zero and absurd ones are refused.
        let same = Length::LogNormal {
            mean: Tokens::new(77),
            cv: 0.0,
            max: Tokens::new(100),
        };
        let workload = Workload {
            input: same,
            ..open(Process::Gamma { cv: 1e-300 }, 20)
        };
        let requests = draw(&workload, Load::Rate(1.0));
        assert!(requests.iter().all(|r| r.input == 77));
        assert_eq!(requests[19].arrival_ns, Some(19_000_000_000));
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(
                Source::new(&workload, Load::Rate(rate), None, None).is_err(),
                "{rate}"
            );
        }
        for cv in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
            let workload = open(Process::Gamma { cv }, 20);
            assert!(
                Source::new(&workload, Load::Rate(1.0), None, None).is_err(),
                "{cv}"
            );
        }
        let wild = Length::LogNormal {
            mean: Tokens::new(77),
            cv: 1e200,
            max: Tokens::new(100),
        };
        let workload = Workload {
            output: wild,
            ..workload
        };
        assert!(Source::new(&workload, Load::Rate(1.0), None, None).is_err());
        assert!(Source::new(&Workload::fixed(1, 0, 5), Load::Rate(1.0), None, None).is_err());
        assert!(Source::new(&Workload::fixed(1, 1, 0), Load::Rate(1.0), None, None).is_err());
        assert!(Source::new(&Workload::fixed(1, 1, 5), Load::Concurrency(1), None, None).is_err());
    }

    #[test]
    fn a_trace_is_replayed_as_recorded_or_faster() {
        let row = |arrival_s, input| TraceRequest {
            arrival_s,
            input,
            output: 3,
        };
        let trace = Arc::new(Trace {
            requests: vec![row(0.0, 5), row(0.052, 6), row(4.0, 7)],
            name: "three".to_owned(),
            warnings: Vec::new(),
        });
        let workload = Workload {
            arrivals: Arrivals::Trace,
            requests: 0,
            ..Workload::fixed(1, 1, 1)
        };
        let replay = |speed, requests| {
            let workload = Workload {
                requests,
                ..workload.clone()
            };
            Source::new(
                &workload,
                Load::TraceSpeed(speed),
                Some(trace.clone()),
                None,
            )
            .unwrap()
            .map(|r| (r.arrival_ns.unwrap(), r.input))
            .collect::<Vec<_>>()
        };
        assert_eq!(
            replay(1.0, 0),
            [(0, 5), (52_000_000, 6), (4_000_000_000, 7)]
        );
        assert_eq!(replay(2.0, 2), [(0, 5), (26_000_000, 6)]);
        assert_eq!(replay(1.0, 99).len(), 3);
        assert_eq!(
            Source::new(&workload, Load::TraceSpeed(1.0), None, None).unwrap_err(),
            WorkloadError::NoTrace
        );
    }

    proptest! {
        #[test]
        fn time_never_runs_back(seed: u64, rate in 1e-300_f64..1e12, cv in 1e-9_f64..100.0) {
            let workload = Workload { seed, ..open(Process::Gamma { cv }, 200) };
            let times: Vec<_> = draw(&workload, Load::Rate(rate)).iter().map(|r| r.arrival_ns.unwrap()).collect();
            prop_assert!(times.is_sorted());
        }
    }
}
