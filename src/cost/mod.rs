//! Time of one operator, collective or step, with its parts, where it comes from, and how far it
//! may be off.
//!
//! An [`Operator`] is a kernel's shape; a [`Fidelity`] prices it as an [`OpCost`]. The
//! [`StepPricer`] compiles a pool of a plan into a price of a whole engine step: token-dependent
//! parts are priced once per token count and remembered, attention is affine in the sums of what
//! the sequences see ([`Reach`]), so that pricing a step costs a few table look-ups.

mod afd;
pub mod calibrated;
mod collective;
mod estimate;
mod layer;
mod operator;
mod reach;
mod roofline;
mod routed;
mod step;
mod transfer;

pub use afd::{
    ActivationTraffic, AfdStep, FanOut, GANTT_SPANS, HalfBytes, LayerTimes, Micro, Resource, Run,
    STAGES, Span, SplitPricer, SplitUse, StepGantt,
};
pub use collective::{
    CommGroup, all_gather, all_reduce, point_to_point, reduce_scatter, ring_bytes_time,
};
pub use estimate::{Capacity, estimate_capacity};
pub use operator::{
    Band, Brought, Class, Fidelity, Joint, MEASURED_UP_TO, OpCost, Operator, Origin, Prices,
    RowKind, TransferEngine,
};
pub use reach::{Reach, reaches};
pub use roofline::{Roofline, RooflineOn};
pub use routed::{Routed, RoutedBy, routed};
pub use step::{
    Chunk, FEMTOS_PER_NANO, Femtos, Growth, Issued, LaneShape, Series, Slope, StepPrice, StepPricer,
};
pub use transfer::{TransferPart, TransferShape, kv_transfer, transfer_rates, transfer_time};

#[cfg(test)]
mod tests;
