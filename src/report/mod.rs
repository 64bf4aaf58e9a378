//! Figures and tables on paper: one figure model, drawn as SVG and PNG, with its numbers as CSV beside it.
//!
//! [`Figure`] says what is drawn. [`to_svg`] lays it out with the advances of the embedded font and writes SVG by hand;
//! [`to_png`] renders that SVG with resvg and the same font. All output is byte-stable: the same figure gives the same
//! files on every machine. No window here; the window draws the same [`Figure`] with its own plots and uses the same
//! [`palette`] and [`fonts`].

mod axes;
mod curve;
mod error;
mod figure;
pub mod fonts;
mod grid;
mod labels;
mod layout;
mod legend;
mod load_curve;
mod measure;
pub mod palette;
mod panel;
mod placer;
mod png;
mod scale;
mod scene;
mod style;
mod svg;
mod table;
mod text;
pub mod theory;
pub mod ticks;
mod write;

#[cfg(test)]
mod tests;

pub use error::ReportError;
pub use figure::{
    Arrangement, Axis, Band, Dash, Direction, Figure, Legend, MAX_PANELS, Mark, Marker, Panel,
    Scale, Series,
};
pub use load_curve::{
    CurveLook, CurveSeries, axis_top, band_text, curve_figure, curve_table, extrapolation_text,
    fidelity_name, origins_text, provenance_line, sources_text,
};
pub use measure::{LoadKind, Metric, Statistic, load_value};
pub use palette::Rgb;
pub use png::{MAX_SIDE, to_outlined_svg, to_png};
pub use style::Style;
pub use svg::to_svg;
pub use table::{Cell, Column, Table};
pub use write::{Written, write_figure, write_figure_as};
