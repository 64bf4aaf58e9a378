//! What is asked of many simulations: the load curve.

mod ask;
mod curve;
mod measure;

pub use ask::{CurveStudy, Slo};
pub use curve::{Ask, MAX_POINTS, Stage};
pub use measure::{LoadKind, Metric, Statistic, load_value};
