//! Typed quantities that print and parse as people write them.
//!
//! A number without its unit is how a cluster gets sized eight times too small, so every
//! quantity of the program is a type of its own: [`Bytes`], [`ByteRate`], [`FlopRate`],
//! [`Seconds`], [`Watts`], [`Dollars`], [`DollarsPerHour`], [`Tokens`]. GB (10⁹) and GiB (2³⁰),
//! and Gb (bits, as links are sold) and GB (bytes, as memory is), are different words and never
//! mixed.
//!
//! Text form: a number with a decimal *point*, a space, a unit (`80 GB`, `400 Gb/s`,
//! `3.35 TB/s`, `989 TFLOPS`, `2 us`). Printing picks the largest unit that reads back to exactly
//! the same value, so a document survives save and load bit by bit. In files, quantities are
//! these texts.

mod count;
mod parse;
mod quantity;

pub use count::real;
pub use parse::UnitError;
pub use quantity::{ByteRate, Bytes, Dollars, DollarsPerHour, FlopRate, Seconds, Tokens, Watts};

#[cfg(test)]
mod tests;
