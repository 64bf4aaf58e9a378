//! Why a file is refused.

use thiserror::Error;

/// Why a `config.json` can't be imported; says where and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ImportError {
    /// Longer than any config.
    #[error("{bytes} bytes: a config.json has a few kilobytes, and at most {limit} are read")]
    TooLarge {
        /// Length of the text.
        bytes: usize,
        /// Longest text read.
        limit: usize,
    },
    /// More values than any config has.
    #[error("more than {limit} values in it: this is not a config.json")]
    TooMany {
        /// Most values read.
        limit: usize,
    },
    /// Something else than JSON was saved under the name.
    #[error("this is {what}, not a config.json: download the raw file from the model's repository")]
    NotJson {
        /// What it looks like.
        what: &'static str,
    },
    /// Broken JSON.
    #[error("not valid JSON: {message}")]
    Syntax {
        /// What the parser said, with line and column.
        message: String,
    },
    /// JSON, but not an object.
    #[error("{path} is {found}; expected an object of keys and values")]
    NotAnObject {
        /// Where.
        path: String,
        /// What is there.
        found: String,
    },
    /// One key twice in one object: two answers.
    #[error("{path} is stated twice in the same object: remove one of them")]
    DuplicateKey {
        /// The key and where it is.
        path: String,
    },
    /// A key that decides the answer is missing.
    #[error("{key} is missing: {why}")]
    Missing {
        /// The key, with its path.
        key: String,
        /// What it decides.
        why: &'static str,
    },
    /// A value of the wrong kind.
    #[error("{path} is {found}; expected {expected}")]
    Wrong {
        /// The key, with its path.
        path: String,
        /// What is there.
        found: String,
        /// What would be right.
        expected: &'static str,
    },
    /// A number outside what makes sense.
    #[error("{path} is {found}; expected {least} to {most}")]
    OutOfRange {
        /// The key, with its path.
        path: String,
        /// What is there.
        found: String,
        /// Least value.
        least: u64,
        /// Greatest value.
        most: u64,
    },
    /// Heads don't divide the width, and the file doesn't say how wide a head is.
    #[error(
        "hidden_size ({hidden}) is not a multiple of num_attention_heads ({heads}) and there is no head_dim: state head_dim"
    )]
    HeadWidth {
        /// `hidden_size`.
        hidden: u64,
        /// `num_attention_heads`.
        heads: u64,
    },
    /// Two keys contradict each other.
    #[error("{first} and {second} contradict each other: {why}")]
    Contradiction {
        /// One key, with its value.
        first: String,
        /// The other, with its value.
        second: String,
        /// What should hold.
        why: &'static str,
    },
    /// The model does something whose cost this version doesn't know.
    #[error(
        "{feature} (key {key}) can't be priced by this version; importing the model without it would be wrong"
    )]
    Unsupported {
        /// What the model does.
        feature: String,
        /// The key that says so, with its path.
        key: String,
    },
    /// Something is wrong with a file beside the `config.json`.
    #[error("{file}: {error}")]
    Beside {
        /// Its name.
        file: &'static str,
        /// What is wrong.
        error: Box<ImportError>,
    },
    /// Every key is fine, the model as a whole is not.
    #[error("{0}")]
    Shape(String),
}

impl ImportError {
    /// The same of `hf_quant_config.json`.
    pub(super) fn in_quantization(self) -> Self {
        Self::Beside {
            file: "hf_quant_config.json",
            error: Box::new(self),
        }
    }
}
