//! What lint can find, each with what would be right.

use crate::catalog::GpuId;
use crate::units::{ByteRate, Bytes, FlopRate};
use thiserror::Error;

/// One thing wrong with a row.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum LintError {
    /// A narrow format is faster against the next wider one than the hardware makes it.
    #[error(
        "{gpu}: {narrow} at {rate} is more than {limit} times {wide} at {base}; is it the sparse figure? Give the dense one"
    )]
    Ratio {
        /// The row.
        gpu: GpuId,
        /// The format in doubt.
        narrow: &'static str,
        /// Its rate.
        rate: FlopRate,
        /// The format it is compared with.
        wide: &'static str,
        /// That one's rate.
        base: FlopRate,
        /// The most the first may be of the second.
        limit: f64,
    },
    /// Beyond what the architecture does dense.
    #[error(
        "{gpu}: BF16 at {rate} is more than any {architecture} GPU does dense ({ceiling}); is it the sparse figure?"
    )]
    Ceiling {
        /// The row.
        gpu: GpuId,
        /// Its BF16 rate.
        rate: FlopRate,
        /// Its architecture.
        architecture: String,
        /// The most.
        ceiling: FlopRate,
    },
    /// More memory than the card has.
    #[error(
        "{gpu}: {memory} is more than the {nominal} on the card; was GB read as GiB, or two GPUs counted?"
    )]
    MemoryAbove {
        /// The row.
        gpu: GpuId,
        /// What it says.
        memory: Bytes,
        /// What is on the card.
        nominal: Bytes,
    },
    /// Less memory than drivers report.
    #[error("{gpu}: {memory} is less than the {usable} drivers report; was GiB typed as GB?")]
    MemoryBelow {
        /// The row.
        gpu: GpuId,
        /// What it says.
        memory: Bytes,
        /// What drivers report.
        usable: Bytes,
    },
    /// No GPU's memory is that fast.
    #[error(
        "{gpu}: {bandwidth} is more than any one GPU's memory does ({most}); are two GPUs of a superchip or a whole board counted?"
    )]
    Bandwidth {
        /// The row.
        gpu: GpuId,
        /// What it says.
        bandwidth: ByteRate,
        /// The most.
        most: ByteRate,
    },
    /// A successor slower than its predecessor.
    #[error("{newer}: {field} {got} is below {older}'s {least}, which it succeeds")]
    Regression {
        /// The row.
        newer: GpuId,
        /// The one it succeeds.
        older: GpuId,
        /// The field.
        field: &'static str,
        /// The newer one's value; `none` where it lacks the format.
        got: String,
        /// The older one's.
        least: String,
    },
    /// A part cut down for export above the part it is cut from.
    #[error("{cut}: {field} {got} is above {full}'s {most}, which it is cut down from")]
    AboveSibling {
        /// The cut row.
        cut: GpuId,
        /// The uncut one.
        full: GpuId,
        /// The field.
        field: &'static str,
        /// The cut one's value.
        got: String,
        /// The uncut one's; `none` where it lacks the format.
        most: String,
    },
    /// A scale-up fabric slower than PCIe, or none faster than it.
    #[error("{gpu}: {why}")]
    ScaleUp {
        /// The row.
        gpu: GpuId,
        /// What doesn't fit.
        why: String,
    },
    /// A rate or size of zero where hardware has one.
    #[error("{row}: {field} is zero; give its value")]
    Zero {
        /// The row.
        row: String,
        /// The field.
        field: &'static str,
    },
    /// A node with more slots than a scale-up domain of its GPU joins.
    #[error("{node}: {gpus} × {gpu}, but one scale-up domain joins at most {domain}")]
    Domain {
        /// The node.
        node: String,
        /// Its slots.
        gpus: u32,
        /// Its GPU.
        gpu: GpuId,
        /// That one's largest domain.
        domain: u32,
    },
    /// Numbers from nowhere.
    #[error(
        "{row}: says not where its numbers come from; add an entry with “covers” and “cite” to “sources”"
    )]
    NoSource {
        /// The row.
        row: String,
    },
    /// A price without a date or a seller.
    #[error("{gpu}: {why}")]
    Price {
        /// The row.
        gpu: GpuId,
        /// What is missing.
        why: String,
    },
}
