//! Does the network matter here? The run as drawn, once more with everything that joins scale-up
//! domains ten times as fast, and once with half the rate: what users would feel, and what is served.
//!
//! KV transfers and collectives that cross nodes are asked again, and so is the rate a transfer
//! engine drives through a NIC. Latencies and software stay as they are.

use crate::catalog::Gpu;
use crate::cost::{Fidelity, Prices, TransferEngine};
use crate::plan::{Engine, Plan};
use crate::sim::{Control, Scenario, SimError, Summary, run};
use serde::Serialize;
use std::sync::Arc;

/// How much faster the fast network is, and how fast the slow one.
const FAST: f64 = 10.0;
const SLOW: f64 = 0.5;
/// A change by more than this share is felt.
const FELT: f64 = 0.05;

/// What a run shows of a network.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Seen {
    /// The network's rates, as a multiple of those drawn.
    pub factor: f64,
    /// Mean time to first token, s.
    pub ttft_s: f64,
    /// Mean time per output token, s.
    pub tpot_s: f64,
    /// Output tokens per second.
    pub output_tokens_per_s: f64,
}

impl Seen {
    fn of(factor: f64, summary: &Summary) -> Self {
        Self {
            factor,
            ttft_s: summary.ttft_s.mean,
            tpot_s: summary.tpot_s.mean,
            output_tokens_per_s: summary.output_tokens_per_s,
        }
    }

    /// What differs from another, as shares of the other: what it is called, and by how much.
    fn differences(self, other: Self) -> [(&'static str, f64); 3] {
        let share = |own: f64, other: f64| if other > 0.0 { own / other - 1.0 } else { 0.0 };
        [
            ("TTFT", share(self.ttft_s, other.ttft_s)),
            ("TPOT", share(self.tpot_s, other.tpot_s)),
            (
                "tokens/s",
                share(self.output_tokens_per_s, other.output_tokens_per_s),
            ),
        ]
    }
}

/// Whether a design's network matters under a load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NetworkVerdict {
    /// As drawn.
    pub drawn: Seen,
    /// Ten times as fast.
    pub fast: Seen,
    /// Half as fast.
    pub slow: Seen,
    /// Whether a faster one would be felt, and a slower one.
    pub limits: bool,
    /// See `limits`.
    pub slower_is_felt: bool,
    /// All of it in a sentence.
    pub text: String,
}

/// Prices of which the transfer engine drives a NIC at another rate.
struct Scaled {
    inner: Arc<dyn Fidelity>,
    factor: f64,
}

impl Fidelity for Scaled {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn on(&self, gpu: &Gpu, engine: &Engine) -> Arc<dyn Prices> {
        self.inner.on(gpu, engine)
    }

    fn transfer(&self) -> TransferEngine {
        let own = self.inner.transfer();
        TransferEngine {
            nic: own.nic * self.factor,
            ..own
        }
    }
}

fn with_network(scenario: &Scenario, factor: f64) -> Scenario {
    let plan: &Plan = &scenario.plan;
    Scenario {
        plan: Arc::new(Plan {
            topology: Arc::new(plan.topology.with_network(factor)),
            ..plan.clone()
        }),
        fidelity: Arc::new(Scaled {
            inner: Arc::clone(&scenario.fidelity),
            factor,
        }),
        ..scenario.clone()
    }
}

/// Runs a scenario that has been run as drawn twice more.
///
/// # Errors
/// As `sim::run`.
pub fn network(
    scenario: &Scenario,
    drawn: &Summary,
    control: Control<'_>,
) -> Result<NetworkVerdict, SimError> {
    let at = |factor| {
        let summary = run(&with_network(scenario, factor), control)?;
        Ok::<Seen, SimError>(Seen::of(factor, &summary))
    };
    let (drawn, fast, slow) = (Seen::of(1.0, drawn), at(FAST)?, at(SLOW)?);
    let (faster, slower) = (fast.differences(drawn), slow.differences(drawn));
    let is_felt = |all: &[(&str, f64); 3]| all.iter().any(|(_, share)| share.abs() > FELT);
    let (limits, slower_is_felt) = (is_felt(&faster), is_felt(&slower));
    let words = |all: &[(&str, f64); 3]| {
        let each = all.iter();
        each.map(|(name, share)| format!("{name} {:+.1} %", share * 100.0))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let verdict = match (limits, slower_is_felt) {
        (true, _) => "the network matters",
        (false, true) => "the network is fast enough, and no faster than it must be",
        (false, false) => "the network does not matter here",
    };
    let text = format!(
        "{verdict}: ten times as fast {}; half as fast {}",
        words(&faster),
        words(&slower)
    );
    Ok(NetworkVerdict {
        drawn,
        fast,
        slow,
        limits,
        slower_is_felt,
        text,
    })
}
