//! What is asked of many simulations: the load curve.

mod ask;
mod curve;

pub use ask::{CurveStudy, Slo};
pub use curve::{Ask, MAX_POINTS, Point, Stage};
