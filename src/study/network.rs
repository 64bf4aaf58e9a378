//! Does the network matter here? The same run with every link between NICs and switches half and ten
//! times as fast; links inside a scale-up domain stay as they are.
//!
//! What moves KV keeps the most it takes of a NIC (`TransferEngine`): where that is the limit, faster links
//! change nothing, as they would not.
//!
//! Both runs have the design's seed, so what differs is the links'. Where ten times as fast changes little
//! the network is not what limits; where half as fast does, there is no room to save on it.

use crate::plan::Plan;
use crate::sim::{Control, Scenario, SimError, Summary, run};
use serde::Serialize;
use std::sync::Arc;

/// Rates of the two other runs, as shares of what is drawn.
const SLOWER: f64 = 0.5;
const FASTER: f64 = 10.0;
/// A change that counts: as much as a run of another seed may differ by.
const MATTERS: f64 = 0.03;

/// How far a run is from the one as drawn, as shares: 0.1 is a tenth more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Shift {
    /// Mean time to first token.
    pub ttft: f64,
    /// Mean time per output token.
    pub tpot: f64,
    /// Output tokens per second.
    pub output: f64,
}

impl Shift {
    fn of(base: &Summary, other: &Summary) -> Self {
        let of = |base: f64, other: f64| if base > 0.0 { other / base - 1.0 } else { 0.0 };
        Self {
            ttft: of(base.ttft_s.mean, other.ttft_s.mean),
            tpot: of(base.tpot_s.mean, other.tpot_s.mean),
            output: of(base.output_tokens_per_s, other.output_tokens_per_s),
        }
    }

    fn largest(self) -> f64 {
        [self.ttft, self.tpot, self.output]
            .iter()
            .fold(0.0, |largest, own| own.abs().max(largest))
    }
}

/// What the network does to a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct NetworkVerdict {
    /// Links half as fast.
    pub half: Shift,
    /// Links ten times as fast.
    pub tenfold: Shift,
    /// Whether either changes a mean by more than a seed does.
    pub matters: bool,
}

impl NetworkVerdict {
    /// In a sentence.
    #[must_use]
    pub fn words(&self) -> String {
        let of = |own: Shift| {
            format!(
                "TTFT {:+.1} %, TPOT {:+.1} %, output {:+.1} %",
                own.ttft * 100.0,
                own.tpot * 100.0,
                own.output * 100.0
            )
        };
        let verdict = if self.tenfold.largest() > MATTERS {
            "limits here"
        } else if self.half.largest() > MATTERS {
            "has nothing to spare here"
        } else {
            "does not matter here"
        };
        format!(
            "the network {verdict}: links half as fast {}; ten times as fast {}",
            of(self.half),
            of(self.tenfold)
        )
    }
}

/// Runs a scenario twice more and compares; `base`: its own result.
///
/// # Errors
/// A run fails, or is cancelled.
pub fn network(
    scenario: &Scenario,
    base: &Summary,
    control: Control<'_>,
) -> Result<NetworkVerdict, SimError> {
    let with = |factor: f64| -> Result<Shift, SimError> {
        let plan = Plan {
            topology: Arc::new(scenario.plan.topology.with_network(factor)),
            ..(*scenario.plan).clone()
        };
        let other = Scenario {
            plan: Arc::new(plan),
            ..scenario.clone()
        };
        Ok(Shift::of(base, &run(&other, Control { ..control })?))
    };
    let (half, tenfold) = (with(SLOWER)?, with(FASTER)?);
    Ok(NetworkVerdict {
        half,
        tenfold,
        matters: half.largest() > MATTERS || tenfold.largest() > MATTERS,
    })
}
