//! A project in memory.

use crate::plan::Design;
use crate::study::{CurveStudy, Slo};
use crate::workload::Workload;

/// Everything a `*.frontier.ron` holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Project {
    /// Its name for people.
    pub name: String,
    /// What it is about, for the reader of an example; may be empty.
    pub story: String,
    /// The alternatives.
    pub designs: Vec<Design>,
    /// What is asked of each.
    pub workload: Workload,
    /// What users must be given.
    pub slo: Slo,
    /// The curve asked for.
    pub curve: CurveStudy,
}
