//! What is asked of many simulations: the load curve, and its answers as figures and tables.

mod ask;
mod curve;
mod figure;
mod measure;

pub use ask::{CurveStudy, Slo};
pub use curve::{Ask, MAX_POINTS, Stage};
pub use figure::{
    CurveLook, CurveSeries, axis_top, band_text, curve_figure, curve_table, fidelity_name,
    provenance_line,
};
pub use measure::{LoadKind, Metric, Statistic, load_value};
