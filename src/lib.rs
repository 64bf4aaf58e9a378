//! Frontier Designer.
#[cfg(test)]
mod t { #[test] fn x() { } }
