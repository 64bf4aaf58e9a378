//! What is asked of many simulations, the load curve, and what needs none: the theoretical cost of
//! decoding.

mod ask;
mod curve;
mod network;
pub mod theory;

pub use ask::{CurveStudy, Slo};
pub use curve::{Ask, MAX_POINTS, Point, Stage};
pub use network::{NetworkVerdict, Shift, network};
