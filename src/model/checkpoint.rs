//! A checkpoint's files on disk: `config.json`, and `hf_quant_config.json` where one lies beside
//! it. Such files come from strangers, so their size is looked at before they are read.

use super::{ImportError, Imported, Model, import_checkpoint};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Largest file read, bytes; a `config.json` has a few thousand.
pub const MAX_CONFIG_BYTES: u64 = 16 << 20;
/// The file that says what a checkpoint is.
const CONFIG_FILE: &str = "config.json";
/// The file ModelOpt's checkpoints say their quantisation in.
const QUANT_FILE: &str = "hf_quant_config.json";
/// Most assumptions a model carries with it, and the longest of them, bytes.
pub const MAX_ASSUMPTIONS: usize = 64;
/// See [`MAX_ASSUMPTIONS`].
pub const MAX_ASSUMPTION: usize = 1024;

/// Why a checkpoint can't be imported.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CheckpointError {
    /// The system refuses.
    #[error("can't read {file}: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system says.
        why: String,
    },
    /// Larger than any configuration.
    #[error(
        "{file} has {bytes} bytes: a config.json has a few thousand, and at most {MAX_CONFIG_BYTES} are read"
    )]
    TooLarge {
        /// The file.
        file: String,
        /// Its size.
        bytes: u64,
    },
    /// Not text.
    #[error("{file} is not text (byte {byte} is not UTF-8): expected a Hugging Face config.json")]
    NotText {
        /// The file.
        file: String,
        /// Where text ends.
        byte: usize,
    },
    /// Quantisation without a model.
    #[error(
        "{file} says how a checkpoint was quantised, not what it is: import the config.json that goes with it"
    )]
    NoConfig {
        /// The file.
        file: String,
    },
    /// It is not a model.
    #[error(transparent)]
    Import(#[from] ImportError),
}

/// The files of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its `config.json`.
    pub config: PathBuf,
    /// Its `hf_quant_config.json`; none: the one beside a file called `config.json`, if any.
    pub quant: Option<PathBuf>,
}

impl Checkpoint {
    /// Of one file, or of the folder it lies in.
    #[must_use]
    pub const fn of(config: PathBuf) -> Self {
        Self {
            config,
            quant: None,
        }
    }

    /// Of files dropped together: the first that is no `hf_quant_config.json`, with one that is.
    /// None: there are no files.
    #[must_use]
    pub fn among(paths: &[PathBuf]) -> Option<Self> {
        let quant = paths.iter().find(|path| is_quant(path));
        let config = paths.iter().find(|path| !is_quant(path)).or(quant)?;
        Some(Self {
            config: config.clone(),
            quant: quant.filter(|quant| *quant != config).cloned(),
        })
    }

    /// Reads and imports it.
    ///
    /// # Errors
    /// See [`CheckpointError`].
    pub fn import(&self) -> Result<Imported, CheckpointError> {
        let mut config = if self.config.is_dir() {
            self.config.join(CONFIG_FILE)
        } else {
            self.config.clone()
        };
        let mut quant = self.quant.clone();
        if is_quant(&config) && quant.is_none() {
            // The other file of a pair was chosen.
            let beside = config.with_file_name(CONFIG_FILE);
            if !beside.is_file() {
                return Err(CheckpointError::NoConfig {
                    file: config.display().to_string(),
                });
            }
            quant = Some(std::mem::replace(&mut config, beside));
        }
        if quant.is_none() && config.file_name().is_some_and(|name| name == CONFIG_FILE) {
            quant = Some(config.with_file_name(QUANT_FILE)).filter(|beside| beside.is_file());
        }
        let text = read_bounded(&config)?;
        let quant = quant.as_deref().map(read_bounded).transpose()?;
        import(&text, quant.as_deref(), &name_of(&config))
    }
}

/// The one place where the texts of a checkpoint become a model.
fn import(config: &str, quant: Option<&str>, name: &str) -> Result<Imported, CheckpointError> {
    let mut imported = import_checkpoint(config, quant, name)?;
    if quant.is_some() {
        imported
            .assumptions
            .push(format!("{QUANT_FILE} beside the file was read too"));
    }
    Ok(imported)
}

fn is_quant(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().ends_with(QUANT_FILE))
}

/// `…/Qwen3-8B/config.json` is best called by its folder.
fn name_of(path: &Path) -> String {
    let is_config = path.file_stem().is_some_and(|stem| stem == "config");
    let folder = path
        .canonicalize()
        .ok()
        .and_then(|whole| Some(whole.parent()?.file_name()?.to_string_lossy().into_owned()));
    match folder {
        Some(folder) if is_config => folder,
        _ => path
            .file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy()
            .into_owned(),
    }
}

fn read_bounded(path: &Path) -> Result<String, CheckpointError> {
    let file = path.display().to_string();
    let unreadable = |why: String| CheckpointError::Unreadable {
        file: file.clone(),
        why,
    };
    // Looked at before opening: opening a pipe would wait for its writer.
    let facts = fs::metadata(path).map_err(|error| unreadable(error.to_string()))?;
    if !facts.is_file() {
        return Err(unreadable("it is not a file".to_owned()));
    }
    let too_large = |bytes: u64| CheckpointError::TooLarge {
        file: file.clone(),
        bytes,
    };
    if facts.len() > MAX_CONFIG_BYTES {
        return Err(too_large(facts.len()));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)
        .and_then(|open| open.take(MAX_CONFIG_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > MAX_CONFIG_BYTES {
        return Err(too_large(bytes.len() as u64));
    }
    String::from_utf8(bytes).map_err(|error| CheckpointError::NotText {
        file,
        byte: error.utf8_error().valid_up_to(),
    })
}

impl Imported {
    /// The model with what was taken for granted, so that it stays with it.
    #[must_use]
    pub fn with_assumptions(&self) -> Model {
        let cut = |text: &String| {
            let mut end = text.len().min(MAX_ASSUMPTION);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text[..end].to_owned()
        };
        Model {
            assumptions: self
                .assumptions
                .iter()
                .take(MAX_ASSUMPTIONS)
                .map(cut)
                .collect(),
            ..self.model.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TINY: &str = r#"{"model_type": "llama", "hidden_size": 64, "vocab_size": 128,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "intermediate_size": 128, "max_position_embeddings": 256}"#;

    #[test]
    fn a_model_is_called_by_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("Tiny-1B");
        fs::create_dir(&folder).unwrap();
        let config = folder.join("config.json");
        fs::write(&config, TINY).unwrap();
        let imported = Checkpoint::of(config).import().unwrap();
        assert_eq!(imported.model.name, "Tiny-1B");
        let named = folder.join("mine.json");
        fs::write(&named, TINY).unwrap();
        assert_eq!(Checkpoint::of(named).import().unwrap().model.name, "mine");
    }

    #[test]
    fn the_two_files_of_a_checkpoint_find_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("config.json");
        let quant = dir.path().join(QUANT_FILE);
        fs::write(&quant, "{}").unwrap();
        let alone = Checkpoint::of(quant.clone()).import().unwrap_err();
        assert!(alone.to_string().contains("config.json that goes with it"));
        fs::write(&config, TINY).unwrap();
        let both = Checkpoint::among(&[quant.clone(), config.clone()]).unwrap();
        assert_eq!(both.config, config);
        assert_eq!(both.quant.as_ref(), Some(&quant));
        let same = |own: Checkpoint| own.import().unwrap().model;
        assert_eq!(same(both), same(Checkpoint::of(quant)));
        assert_eq!(Checkpoint::among(&[]), None);
    }

    #[test]
    fn what_is_no_text_is_refused_before_it_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let refused = |path: &Path| {
            Checkpoint::of(path.to_owned())
                .import()
                .unwrap_err()
                .to_string()
        };
        let large = dir.path().join("large.json");
        // Sparse: nothing is written, and nothing may be read.
        let file = fs::File::create(&large).unwrap();
        file.set_len(200 << 20).unwrap();
        assert!(
            refused(&large).contains("209715200 bytes"),
            "{}",
            refused(&large)
        );
        let binary = dir.path().join("binary.json");
        fs::write(&binary, [b'{', 0xFF, 0xFE]).unwrap();
        assert!(refused(&binary).contains("byte 1"));
        assert!(refused(dir.path()).contains("config.json"));
        assert!(refused(&dir.path().join("none.json")).contains("can't read"));
    }

    #[test]
    fn assumptions_are_kept_within_bounds() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tiny.json");
        fs::write(&path, TINY).unwrap();
        let mut imported = Checkpoint::of(path).import().unwrap();
        imported.assumptions = vec!["ä".repeat(5000); 500];
        let kept = imported.with_assumptions().assumptions;
        assert_eq!(kept.len(), MAX_ASSUMPTIONS);
        assert!(kept.iter().all(|text| text.len() == MAX_ASSUMPTION));
    }
}
