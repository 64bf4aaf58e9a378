//! What a user asks of simulations: the limits that matter and the curve wanted.

use crate::units::Seconds;

/// What a user must be given for a request to count as served well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slo {
    /// Longest time to first token.
    pub ttft: Seconds,
    /// Longest time per output token.
    pub tpot: Seconds,
    /// Share of requests that must meet both, 0 to 1.
    pub attainment: f64,
}

/// The load curve asked for. The kind of load follows from the workload's arrivals: rate,
/// concurrency or trace speed.
#[derive(Debug, Clone, PartialEq)]
pub struct CurveStudy {
    /// Loads to simulate; empty: chosen from an estimate of each design's capacity.
    pub loads: Vec<f64>,
    /// Points when the loads are chosen.
    pub points: u32,
    /// Percentile plotted, 0 to 100.
    pub percentile: f64,
}
