//! Whole-program stories: the walls of the house, the command line through the real binary, and
//! the window by pointer events.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests fail as tests do"
)]

mod bad_input;
mod calibrations;
mod command_line;
mod deployments;
mod layers;
mod links;
mod operators;
mod predictions;
mod replay;
mod sessions;
mod step3;
mod support;
mod validations;
mod window;
