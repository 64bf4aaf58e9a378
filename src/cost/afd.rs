//! Attention/FFN disaggregation: a step as a pipeline of micro-batches over four resources.
//!
//! Attention GPUs and FFN GPUs work on different micro-batches of the same step and hand activations
//! over at every layer. Of each layer and micro-batch there are four jobs, one after another:
//! attention, the way to the FFN, the FFN, the way back; then the micro-batch's next layer. Each
//! resource does one job at a time, layer by layer and micro-batch by micro-batch (Step-3,
//! arXiv 2507.19427: three micro-batches hide both ways).
//!
//! - `pipeline.rs`: when a step ends, without walking through all its layers.
//! - `gantt.rs`: every job of one step, whose gaps are the bubble.
//! - `traffic.rs`: bytes each NIC sends and takes.
//! - `links.rs`: how long they take on the drawn links, incast and shared paths counted.
//! - `pricer.rs`: the step of a copy of the model: its lanes' micro-batches, layer kind by layer kind.

mod gantt;
mod links;
mod pipeline;
mod pricer;
mod traffic;

pub use gantt::{GANTT_SPANS, Span, StepGantt};
pub use pipeline::{AfdStep, LayerTimes, Micro, Resource, Run, STAGES};
pub use pricer::{SplitPricer, SplitUse};
pub use traffic::{ActivationTraffic, FanOut, HalfBytes};

#[cfg(test)]
mod tests;
