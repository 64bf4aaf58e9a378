//! The theoretical cost of decoding as figures and tables; the window and the command line draw the
//! same ones.

mod figures;
mod tables;

pub use figures::{
    MAX_SERIES, cost_figure, network_figure, roofline_figure, sparsity_figure, sweep,
};
pub use tables::{best_table, cost_table, floor_table, intensity_table, network_table};
