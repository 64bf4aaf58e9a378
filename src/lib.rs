//! Frontier Designer.

pub mod report;
