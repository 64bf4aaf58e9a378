//! Why presets don't load: each message says where, and what would be right.

use thiserror::Error;

/// Why presets can't be loaded. Each message says where, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CatalogError {
    /// The user's folder isn't there.
    #[error(
        "{path}: no such folder; create it with gpus/, nics/, nodes/ or switches/ inside, or unset FRONTIER_PRESETS"
    )]
    NoFolder {
        /// The folder.
        path: String,
    },
    /// The system refused a file or folder.
    #[error("{place}: can't be read: {why}")]
    Unreadable {
        /// File or folder.
        place: String,
        /// The system's words.
        why: String,
    },
    /// Larger than any honest preset.
    #[error("{file}: larger than {limit} bytes, the most a preset file may be")]
    TooLarge {
        /// The file.
        file: String,
        /// The bound.
        limit: u64,
    },
    /// More files than any honest folder has.
    #[error("{folder}: more than {limit} files, the most a preset folder may hold")]
    TooManyFiles {
        /// The folder.
        folder: String,
        /// The bound.
        limit: usize,
    },
    /// Not text.
    #[error("{file}: byte {byte} is not UTF-8; save the file as UTF-8 text")]
    NotUtf8 {
        /// The file.
        file: String,
        /// Where the text breaks off.
        byte: usize,
    },
    /// Not the row it should be: bad RON, an unknown or missing field, a quantity without unit, …
    #[error("{file}:{line}:{column}: {why}")]
    Parse {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong and what was expected.
        why: String,
    },
    /// One id, two files of one source.
    #[error("{second}: id “{id}” is already taken by {first}; give each row its own id")]
    Duplicate {
        /// The id.
        id: String,
        /// The file read first.
        first: String,
        /// The file read second.
        second: String,
    },
    /// A node names a GPU or NIC that doesn't exist.
    #[error("{file}: node “{node}” has {what} “{missing}”, which doesn't exist; known: {known}")]
    Missing {
        /// The file.
        file: String,
        /// The node.
        node: String,
        /// `GPU` or `NIC`.
        what: &'static str,
        /// The name that leads nowhere.
        missing: String,
        /// Names that would be right.
        known: String,
    },
    /// A count out of bounds.
    #[error("{file}: “{row}” has {field} = {got}; expected {least} to {most}")]
    Count {
        /// The file.
        file: String,
        /// The row.
        row: String,
        /// The field.
        field: &'static str,
        /// What it says.
        got: u32,
        /// Least allowed.
        least: u32,
        /// Most allowed.
        most: u32,
    },
}
