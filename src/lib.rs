//! Frontier Designer: draw an LLM-serving cluster, paint roles on its GPUs, and watch its
//! throughput–latency curve move.
//!
//! Layers point one way; a test reads the imports and keeps it so:
//!
//! `units` → `catalog` → `model`, `cluster`, `workload` → `plan` → `cost` → `sim` → `study` →
//! `report`; `project` (documents) and `jobs` (background work) beside them; `app` (the window) and
//! `cli` on top. `ARCHITECTURE.md` walks the house.

pub mod app;
pub mod calibrate;
pub mod catalog;
pub mod cli;
pub mod cluster;
pub mod cost;
pub mod jobs;
pub mod model;
pub mod plan;
pub mod project;
pub mod report;
pub mod sim;
pub mod study;
pub mod units;
pub mod validation;
pub mod workload;
