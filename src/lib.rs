//! Frontier Designer.

pub mod catalog;
pub mod model;
pub mod units;
