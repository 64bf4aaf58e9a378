//! What can go wrong while a figure is drawn or written.

use std::path::PathBuf;

/// Why a figure or table could not be drawn or written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A file or folder could not be written.
    #[error("cannot write {}: {cause}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// A file name that would leave its folder or name no file.
    #[error(
        "{stem:?} is not a file name: use letters, digits, spaces, '-', '_' or '.', and at most 120 characters"
    )]
    FileName {
        /// The name asked for.
        stem: String,
    },
    /// An image larger than is sensible.
    #[error(
        "an image of {width:.0} × {height:.0} pixels is too large: at most {max} a side; use a smaller scale"
    )]
    TooLarge {
        /// Pixels across.
        width: f64,
        /// Pixels down.
        height: f64,
        /// Most pixels a side.
        max: u32,
    },
    /// A scale that is no positive number.
    #[error("a figure cannot be drawn at scale {scale}: use a positive number such as 2")]
    Scale {
        /// The scale asked for.
        scale: f32,
    },
    /// The figure's drawing could not be turned into an image.
    #[error("cannot turn the figure into an image: {cause}")]
    Image {
        /// What the renderer said.
        cause: String,
    },
    /// A row with more or fewer cells than the table has columns.
    #[error("row {row} has {cells} cells, but the table has {columns} columns")]
    RowWidth {
        /// The row's index, from 0.
        row: usize,
        /// Cells given.
        cells: usize,
        /// Columns of the table.
        columns: usize,
    },
    /// A table could not be turned into CSV.
    #[error("cannot turn the table into CSV: {cause}")]
    Csv {
        /// What the writer said.
        cause: String,
    },
}
