//! A checkpoint on disk: its `config.json`, and the `hf_quant_config.json` beside it.

use super::{ImportError, Imported, import_checkpoint};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Largest file read, bytes; a config has a few kilobytes, one that lists every expert a megabyte.
const MOST_BYTES: u64 = 16 << 20;
/// What a checkpoint's shape is called.
const CONFIG: &str = "config.json";
/// Where NVIDIA's exporter says how a checkpoint is quantised.
const BESIDE: &str = "hf_quant_config.json";

/// Why a checkpoint's files can't be read.
#[derive(Debug, Error)]
pub enum CheckpointError {
    /// The system can't.
    #[error("can't read {file}: {why}")]
    Read {
        /// The file.
        file: String,
        /// What the system says.
        why: String,
    },
    /// Larger than any config.
    #[error("{file} has more than {MOST_BYTES} bytes: this is not a config.json")]
    TooLarge {
        /// The file.
        file: String,
    },
    /// Read, but not understood.
    #[error(transparent)]
    Import(#[from] ImportError),
}

/// Reads a config, or the `config.json` of a folder, with the `hf_quant_config.json` beside it if
/// it is called `config.json` and there is one (an assumption says so).
///
/// # Errors
/// A file can't be read, or [`import_checkpoint`] refuses it.
pub fn import_file(path: &Path) -> Result<Imported, CheckpointError> {
    let path = if path.is_dir() {
        path.join(CONFIG)
    } else {
        path.to_owned()
    };
    let text = read(&path)?;
    let is_config = path.file_name().is_some_and(|name| name == CONFIG);
    let beside: Option<PathBuf> = path
        .parent()
        .map(|folder| folder.join(BESIDE))
        .filter(|beside| is_config && beside.is_file());
    let quantization = beside.as_deref().map(read).transpose()?;
    // `…/Qwen3-8B/config.json` is best called by its folder.
    let named = if is_config {
        path.parent()
    } else {
        Some(&*path)
    };
    let name = named
        .and_then(Path::file_name)
        .map_or_else(|| "config".into(), |name| name.to_string_lossy());
    let mut imported = import_checkpoint(&text, quantization.as_deref(), &name)?;
    if quantization.is_some() {
        imported
            .assumptions
            .push(format!("{BESIDE} beside the file was read too"));
    }
    Ok(imported)
}

fn read(path: &Path) -> Result<String, CheckpointError> {
    let file = || path.display().to_string();
    let failed = |error: std::io::Error| CheckpointError::Read {
        file: file(),
        why: error.to_string(),
    };
    let mut text = String::new();
    // One byte more than allowed tells a file that is too large, whatever its stated size.
    let size = File::open(path)
        .and_then(|open| open.take(MOST_BYTES + 1).read_to_string(&mut text))
        .map_err(failed)?;
    if u64::try_from(size).unwrap_or(u64::MAX) > MOST_BYTES {
        return Err(CheckpointError::TooLarge { file: file() });
    }
    Ok(text)
}
