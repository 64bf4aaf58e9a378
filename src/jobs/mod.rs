//! Background work without a window: takes immutable snapshots, works on a thread pool, streams
//! results over a channel, stops within 50 ms when cancelled or superseded.

mod calibrations;
mod curves;
mod fidelity;
mod validations;
mod work;

pub use crate::study::Stage;
pub use calibrations::{CalibrationMessage, CalibrationRunner, CalibrationWork, Refit};
pub use curves::{CurveJob, CurveMessage, CurvePoint, CurveRunner, DesignSnapshot, Waker};
pub use fidelity::{FidelityChoice, FidelityError, Loaded};
pub use validations::{ValidatedRows, ValidationJob, ValidationMessage, ValidationRunner};
pub use work::WorkProgress;
