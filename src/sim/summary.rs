//! What a run says: counts, latencies, throughput, the window they are measured in, and where the
//! prices came from.
//!
//! Definitions (design §5). TTFT: client sends → first token delivered, of the round whose answer is
//! read. TPOT: (E2E − TTFT) /
//! (output − 1), undefined for one token. ITL: gaps between delivered tokens. Throughput per GPU:
//! output tokens over the measured window per GPU of the whole design, idle ones too.

use super::breakdown::PoolTime;
use super::verdict::Limit;
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// Mean and percentiles of one latency, seconds. Without samples there is no latency: the numbers
/// are 0 here and `null` in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stats {
    /// Samples.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

impl Serialize for Stats {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut stats = serializer.serialize_struct("Stats", 6)?;
        stats.serialize_field("count", &self.count)?;
        let fields = [
            ("mean", self.mean),
            ("p50", self.p50),
            ("p90", self.p90),
            ("p95", self.p95),
            ("p99", self.p99),
        ];
        for (name, value) in fields {
            stats.serialize_field(name, &(self.count > 0).then_some(value))?;
        }
        stats.end()
    }
}

/// What one request saw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latency {
    /// When it was sent, s.
    pub arrival: f64,
    /// Tokens of its answer.
    pub output: u32,
    /// Time to its first token, s.
    pub ttft: f64,
    /// Time to its last token, s.
    pub e2e: f64,
}

impl Latency {
    /// Time per token after the first, s; none: there is no other.
    #[must_use]
    pub fn tpot(&self) -> Option<f64> {
        let later = self.output.checked_sub(1).filter(|count| *count > 0)?;
        Some((self.e2e - self.ttft) / f64::from(later))
    }
}

/// Where every request ended; the four add up to what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Counts {
    /// Sent.
    pub arrived: u64,
    /// Answered in full.
    pub completed: u64,
    /// Refused or lost.
    pub failed: u64,
    /// Not ended when the run ended.
    pub in_flight: u64,
}

/// Which part of the run was measured.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Window {
    /// `steady` (warm-up and drain cut) or `whole run` (what a benchmark client reports).
    pub kind: &'static str,
    /// From, seconds of simulated time.
    pub start_s: f64,
    /// To.
    pub end_s: f64,
    /// End of the run.
    pub run_end_s: f64,
}

/// Where the time came from.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Provenance {
    /// Fidelity of the prices.
    pub fidelity: &'static str,
    /// Engines and versions, pool by pool.
    pub engines: Vec<String>,
    /// Who took requests.
    pub routing: crate::plan::Routing,
    /// Relative error band of step times (low, high), as a share: (−0.3, 0.3) is ±30 %. Each part
    /// of a step has the band of its class, and all are taken to be off the same way.
    pub band: (f64, f64),
    /// Shares of device time by where its prices come from.
    pub origins: Vec<(&'static str, f64)>,
    /// What of it was asked outside what was measured; none: nothing.
    pub extrapolated: Option<Extrapolated>,
    /// Shares of device time by operator class, largest first.
    pub time_shares: Vec<(&'static str, f64)>,
    /// Seed.
    pub seed: u64,
}

/// Prices asked outside the range of their measurements.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Extrapolated {
    /// Share of device time.
    pub share: f64,
    /// Farthest of all: a factor on a size of the operator.
    pub factor: f64,
    /// The class of that operator.
    pub class: &'static str,
}

/// What went on beside requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Work {
    /// Events handled.
    pub events: u64,
    /// Engine steps.
    pub steps: u64,
    /// Request-steps: running requests summed over steps.
    pub request_steps: u64,
    /// Requests preempted and recomputed.
    pub preemptions: u64,
    /// KV transfers.
    pub transfers: u64,
    /// Prompts prefilled where they decode, although there is a prefill pool.
    pub local_prefills: u64,
}

/// Rounds nobody reads the answers of. Their tokens count in the throughput and their gaps in the
/// inter-token latency; to the latencies of a request they are time before its first token.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Hidden {
    /// Rounds of the run.
    pub rounds: u64,
    /// Tokens they answered with.
    pub tokens: u64,
    /// From the sending of a request to that of its last round, of requests completed in the window.
    pub time_s: Stats,
}

/// What prefix caches saved.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct Reuse {
    /// Prompt tokens of admitted requests, those computed again after a preemption too.
    pub prompt_tokens: u64,
    /// Of them, found in HBM.
    pub hit_tokens: u64,
    /// Of them, read from the tiers below.
    pub loaded_tokens: u64,
    /// Bytes that left HBM to make room.
    pub evicted_bytes: u64,
    /// Bytes read from and written to each tier below HBM, nearest first.
    pub tier_bytes: Vec<(u64, u64)>,
}

/// The result of one run.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Summary {
    /// Where requests ended.
    pub requests: Counts,
    /// Time to first token, of requests that got one in the window.
    pub ttft_s: Stats,
    /// Time per output token, of requests completed in the window with two tokens or more.
    pub tpot_s: Stats,
    /// Inter-token latency in the window.
    pub itl_s: Stats,
    /// End-to-end latency of requests completed in the window.
    pub e2e_s: Stats,
    /// Hidden rounds, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<Hidden>,
    /// Requests completed per second of the window.
    pub requests_per_s: f64,
    /// Output tokens delivered per second of the window.
    pub output_tokens_per_s: f64,
    /// The same per GPU of the whole design.
    pub output_tokens_per_s_per_gpu: f64,
    /// Prompt tokens of requests whose first token fell in the window, per second.
    pub input_tokens_per_s: f64,
    /// The measured window.
    pub window: Window,
    /// The load is above what the design serves: queues grow all through the run.
    pub saturated: bool,
    /// The busiest drawn link and its utilisation over the run, 0 to 1.
    pub busiest_link: Option<(String, f64)>,
    /// Share of the run in which that link was full, so that flows waited for each other.
    pub busiest_link_full: f64,
    /// Largest share of KV blocks in use per pool, 0 to 1.
    pub kv_peak: Vec<(String, f64)>,
    /// Where each pool's device time went.
    pub breakdown: Vec<PoolTime>,
    /// What limits the run, the weightiest first.
    pub limits: Vec<Limit>,
    /// How attention and FFN GPUs of each split spent its steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<super::SplitTime>,
    /// What prefix caches saved; none where no pool has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reuse: Option<Reuse>,
    /// Where the time came from.
    pub provenance: Provenance,
    /// What went on.
    pub work: Work,
}
