//! Fitting the parameter files of `cost::calibrated` from measured tables.
//!
//! 1. [`tables`] reads measurements of others' layouts as rows `(shape, seconds)` of a [`Table`].
//!    Files are strangers' files: bounded, and every refused row is counted with its reason.
//! 2. [`fit`] finds, per table, the physical parameters (robust least squares on the logarithm) and
//!    then the forest on what is left.
//! 3. Errors are those on held-out shape keys: the whole fit is repeated without a fold of keys and
//!    asked about it.
//! 4. [`validate()`] holds any tables against calibrations that exist; [`compare()`] does so table by
//!    table, with pairs to plot.
//!
//! Same data and code give the same bytes, whatever the thread count.

mod compare;
mod fit;
mod measured;
mod report;
mod run;
mod stand_in;
mod tables;
mod validate;

pub use compare::{Comparison, FamilyErrors, MOST_PAIRS, TableErrors, compare, held_out};
pub use fit::{Fitted, SizeErrors, errors_of, fit_table};
pub use measured::measured;
pub use report::report_text;
pub use run::{CalibrateError, Outcome, Progress, calibrate, calibrate_tables, write, write_over};
pub use stand_in::{StandIns, stand_ins};
pub use tables::{Refused, Row, Table, TablesError, read_tables};
pub use validate::{OperatorErrors, Validation, validate};

#[cfg(test)]
mod tests;
