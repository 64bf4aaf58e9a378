//! What is asked of many simulations: the load curve, and its answers as figures and tables.

mod ask;
mod curve;
mod figure;

pub use ask::{CurveStudy, Slo};
pub use curve::{Ask, MAX_POINTS, Stage};
pub use figure::{
    CurveLook, CurveSeries, LoadKind, Metric, Statistic, axis_top, band_text, curve_figure,
    curve_table, fidelity_name, load_value, provenance_line,
};
