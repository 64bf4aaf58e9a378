//! Frontier Designer.

pub mod report;

#[cfg(test)]
mod t { #[test] fn x() { } }
