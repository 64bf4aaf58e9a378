//! Frontier Designer: draw an LLM-serving cluster, paint roles on its GPUs, and watch its
//! throughput-latency curve move.

pub mod catalog;
pub mod cluster;
pub mod model;
pub mod plan;
pub mod report;
pub mod units;
pub mod workload;
