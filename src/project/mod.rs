//! Documents on disk: a project holds the designs to compare, one workload, one SLO and the
//! studies asked for. Versioned RON with frozen structs per version, migrated step by step, saved
//! atomically. Results are never in it.

mod document;
mod examples;
mod format;
mod io;
mod layout;

pub use crate::study::{CurveStudy, Slo};
pub use document::Project;
pub use examples::{Example, ExampleError, FIRST_EXAMPLE, example, examples};
pub use io::{MAX_DOCUMENT_BYTES, ProjectError, load, parse, resolve, save, to_text};

#[cfg(test)]
mod tests;
