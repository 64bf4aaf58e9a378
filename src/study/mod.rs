//! Questions asked of many simulations, and their answers as figures and tables.

mod figure;

pub use figure::{
    CurveLook, CurveSeries, axis_top, LoadKind, Metric, Statistic, curve_figure, curve_table, load_value,
    provenance_line,
};
