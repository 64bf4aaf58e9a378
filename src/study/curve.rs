//! The load curve: which loads, how many requests each, and the runs.
//!
//! Loads are placed where the curve bends: denser towards the estimated capacity and a little past
//! it. A coarse curve takes fewer points and requests and answers while someone draws; a fine one
//! takes what the project asks for. Runs are independent, so results do not depend on threads.

use super::ask::CurveStudy;
use crate::cost::{Capacity, Fidelity, estimate_capacity};
use crate::plan::{Demand, Plan};
use crate::sim::{Control, Scenario, SimError, Summary, run};
use crate::workload::{Arrivals, Load, Trace, Workload};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How exact a curve is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Few points, few requests: an answer while drawing.
    Coarse,
    /// The points and requests asked for.
    Fine,
}

/// Points of a coarse curve.
const COARSE_POINTS: u32 = 5;
/// Fewest and most requests of a coarse point.
const COARSE_REQUESTS: (f64, f64) = (64.0, 1500.0);
/// Output tokens a coarse point may simulate: a few milliseconds of work.
const COARSE_TOKENS: f64 = 300_000.0;
/// A fine open-loop point sends so many times what is in flight at its load, so that most of it is
/// steady.
const STEADY_TURNOVERS: f64 = 8.0;
/// Output tokens a fine point may simulate beyond the requests asked for.
const FINE_TOKENS: f64 = 100_000_000.0;
/// A chosen curve ends this far past the estimated capacity.
const PAST_CAPACITY: f64 = 1.15;
/// A chosen curve starts at this share of it.
const FIRST_SHARE: f64 = 0.08;
/// Most points of one curve.
pub const MAX_POINTS: u32 = 256;

/// One point of a curve, before it is simulated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The load.
    pub load: Load,
    /// Requests to send; 0 with a trace: all of it.
    pub requests: u64,
}

/// A workload with its trace: what every point of a curve has in common.
#[derive(Clone)]
pub struct Ask {
    /// The workload.
    pub workload: Workload,
    /// Its trace.
    pub trace: Option<Arc<Trace>>,
    /// Whose prices.
    pub fidelity: Arc<dyn Fidelity>,
}

impl Ask {
    /// What the workload asks of memory and settings.
    #[must_use]
    pub fn demand(&self) -> Demand {
        let traced = match (&self.workload.arrivals, &self.trace) {
            (Arrivals::Trace, Some(trace)) => Some(trace),
            _ => None,
        };
        match traced {
            Some(trace) => Demand {
                longest_context: trace
                    .requests
                    .iter()
                    .map(|r| r.input.saturating_add(r.output))
                    .max()
                    .unwrap_or(0),
                longest_prompt: trace.requests.iter().map(|r| r.input).max().unwrap_or(0),
            },
            None => Demand {
                longest_context: self.workload.longest_context(),
                longest_prompt: self.workload.longest_prompt(),
            },
        }
    }

    /// Mean prompt and answer.
    #[expect(clippy::cast_precision_loss, reason = "means of token counts")]
    fn means(&self) -> (f64, f64) {
        match (&self.workload.arrivals, &self.trace) {
            (Arrivals::Trace, Some(trace)) if !trace.requests.is_empty() => {
                let n = trace.requests.len() as f64;
                let sum = |f: fn(&crate::workload::TraceRequest) -> u64| {
                    trace.requests.iter().map(|r| f(r) as f64).sum::<f64>() / n
                };
                (sum(|r| r.input), sum(|r| r.output))
            }
            _ => self.workload.means(),
        }
    }

    /// What a plan is estimated to serve of it.
    #[must_use]
    pub fn capacity(&self, plan: &Plan) -> Capacity {
        let (input, output) = self.means();
        estimate_capacity(plan, &self.fidelity, input, output)
    }

    /// The points of a curve, in order of load. The plan's capacity is estimated once for all.
    #[must_use]
    pub fn points(&self, plan: &Plan, study: &CurveStudy, stage: Stage) -> Vec<Point> {
        let capacity = self.capacity(plan);
        self.loads(capacity, study, stage)
            .into_iter()
            .map(|load| Point {
                load,
                requests: self.requests(capacity, load, stage),
            })
            .collect()
    }

    fn loads(&self, capacity: Capacity, study: &CurveStudy, stage: Stage) -> Vec<Load> {
        let named = |value: f64| self.load(value);
        if !study.loads.is_empty() {
            let mut loads = study.loads.clone();
            loads.sort_by(f64::total_cmp);
            loads.dedup();
            if stage == Stage::Coarse && loads.len() > COARSE_POINTS as usize {
                let last = loads.len() - 1;
                let picks = COARSE_POINTS as usize - 1;
                loads = (0..=picks).map(|i| loads[i * last / picks]).collect();
            }
            return loads.into_iter().map(named).collect();
        }
        let points = match stage {
            Stage::Coarse => COARSE_POINTS.min(study.points.max(1)),
            Stage::Fine => study.points.clamp(1, MAX_POINTS),
        };
        let at = |i: u32| f64::from(i) / f64::from((points - 1).max(1));
        let mut values: Vec<f64> = match self.workload.arrivals {
            Arrivals::Open { .. } => (0..points)
                .map(|i| {
                    // Dense where the curve bends: gaps shrink towards the end.
                    let left = 1.0 - at(i);
                    let share =
                        FIRST_SHARE + (PAST_CAPACITY - FIRST_SHARE) * (1.0 - left * left.sqrt());
                    round_to_3(capacity.rate * share)
                })
                .collect(),
            Arrivals::Closed => {
                let most = (capacity.concurrency * 1.5).clamp(2.0, 16_384.0);
                (0..points)
                    .map(|i| libm::pow(most, at(i)).round())
                    .collect()
            }
            // From a quarter of the recorded pace to four times it.
            Arrivals::Trace => (0..points)
                .map(|i| round_to_3(0.25 * libm::pow(16.0, at(i))))
                .collect(),
        };
        values.dedup();
        values
            .into_iter()
            .filter(|value| *value > 0.0)
            .map(named)
            .collect()
    }

    /// A load of the workload's kind.
    #[must_use]
    pub fn load(&self, value: f64) -> Load {
        match self.workload.arrivals {
            Arrivals::Open { .. } => Load::Rate(value),
            Arrivals::Closed => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "float casts saturate"
                )]
                let n = value.round() as u32;
                Load::Concurrency(n)
            }
            Arrivals::Trace => Load::TraceSpeed(value),
        }
    }

    /// Requests of one point: at least as many as the project asks for in a fine one, and enough to
    /// outlast warm-up. A trace has what it has.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to small positive numbers"
    )]
    fn requests(&self, capacity: Capacity, load: Load, stage: Stage) -> u64 {
        if stage == Stage::Fine && matches!(load, Load::TraceSpeed(_)) {
            return self.workload.requests;
        }
        let (_, output) = self.means();
        let most = |tokens: f64| (tokens / output.max(1.0)).max(COARSE_REQUESTS.0);
        let in_flight = match load {
            Load::Concurrency(n) => f64::from(n),
            // A conversation lasts as long as all its turns and the thinking between them.
            Load::Rate(rate) => {
                rate * (capacity.e2e + self.workload.mean_pause()) * self.workload.mean_turns()
            }
            Load::TraceSpeed(_) => capacity.concurrency,
        };
        let wanted = in_flight * STEADY_TURNOVERS;
        match stage {
            Stage::Coarse => (wanted * 0.5)
                .clamp(COARSE_REQUESTS.0, COARSE_REQUESTS.1)
                .min(most(COARSE_TOKENS)) as u64,
            Stage::Fine => wanted
                .min(most(FINE_TOKENS))
                .max(self.workload.requests as f64) as u64,
        }
    }

    /// Simulates one point.
    ///
    /// # Errors
    /// See [`SimError`].
    pub fn point(
        &self,
        plan: &Arc<Plan>,
        point: Point,
        cancel: &AtomicBool,
    ) -> Result<Summary, SimError> {
        let scenario = Scenario {
            plan: Arc::clone(plan),
            workload: Workload {
                requests: point.requests,
                ..self.workload.clone()
            },
            trace: self.trace.clone(),
            load: point.load,
            fidelity: Arc::clone(&self.fidelity),
        };
        run(&scenario, Control { cancel })
    }
}

/// To three significant digits, so that axes and tables read well.
fn round_to_3(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = libm::pow(10.0, 2.0 - libm::floor(libm::log10(value)));
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::round_to_3;

    #[test]
    fn three_digits_are_enough() {
        for (value, rounded) in [
            (1234.5, 1230.0),
            (0.012_345, 0.0123),
            (9.996, 10.0),
            (0.0, 0.0),
        ] {
            assert!((round_to_3(value) - rounded).abs() < 1e-12, "{value}");
        }
    }
}
