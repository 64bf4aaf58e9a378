//! Questions asked of many simulations, and their answers as figures and tables.

mod figure;

pub use figure::{
    CurveLook, CurveSeries, LoadKind, Metric, Statistic, axis_top, curve_figure, curve_table,
    load_value, provenance_line,
};
