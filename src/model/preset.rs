//! A model as a preset file: the text under `presets/models`, and keeping one in a user's folder.

use super::Model;
use crate::catalog::ModelId;
use ron::extensions::Extensions;
use ron::ser::PrettyConfig;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What preset files leave out: `Some`, and the name of a variant's struct.
pub(super) fn options() -> ron::Options {
    ron::Options::default()
        .with_default_extension(Extensions::IMPLICIT_SOME | Extensions::UNWRAP_VARIANT_NEWTYPES)
}

/// Why a model was not kept.
#[derive(Debug, Error)]
pub enum KeepError {
    /// There is a preset of that name already.
    #[error("{} exists already", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
        /// The model's id.
        id: ModelId,
    },
    /// The system refuses.
    #[error("can't write {}: {why}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// It could not be read again.
    #[error("the preset could not be read again: {0}")]
    Unreadable(String),
}

/// The text of a preset file: a line per field of the model and of a layer run, defaults left
/// out. Reading it gives the model again.
///
/// # Errors
/// The model can't be written or read back; a model that passes its check can.
pub fn preset_text(model: &Model) -> Result<String, KeepError> {
    // Model, its lists, a run: what is in a run fits a line.
    let pretty = PrettyConfig::new()
        .depth_limit(3)
        .new_line("\n")
        .indentor("    ");
    let unreadable = |why: String| KeepError::Unreadable(why);
    let mut text = options()
        .to_string_pretty(model, pretty)
        .map_err(|error| unreadable(error.to_string()))?;
    text.push('\n');
    let again: Model = options()
        .from_str(&text)
        .map_err(|error| unreadable(error.to_string()))?;
    if again == *model {
        Ok(text)
    } else {
        Err(unreadable("it says something else".to_owned()))
    }
}

/// Writes a model into `models/<id>.ron` of a folder of presets, which is made where it is
/// missing; an older file stays unless `replace` says otherwise. A reader sees the whole file or
/// none. The file's path.
///
/// # Errors
/// There is such a file already, or the folder can't be written.
pub fn keep_preset(folder: &Path, model: &Model, replace: bool) -> Result<PathBuf, KeepError> {
    let text = preset_text(model)?;
    let folder = folder.join("models");
    let path = folder.join(format!("{}.ron", model.id));
    let failed = |error: &io::Error| KeepError::Write {
        path: path.clone(),
        why: error.to_string(),
    };
    fs::create_dir_all(&folder).map_err(|error| failed(&error))?;
    let mut builder = tempfile::Builder::new();
    // Not an ending that is read as a preset.
    builder.prefix(".keep-").suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut fresh = builder
        .tempfile_in(&folder)
        .map_err(|error| failed(&error))?;
    fresh
        .write_all(text.as_bytes())
        .and_then(|()| fresh.as_file().sync_all())
        .map_err(|error| failed(&error))?;
    let placed = if replace {
        fresh.persist(&path)
    } else {
        fresh.persist_noclobber(&path)
    };
    match placed {
        Ok(_) => Ok(path),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            Err(KeepError::Exists {
                path,
                id: model.id.clone(),
            })
        }
        Err(error) => Err(failed(&error.error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Models;

    #[test]
    fn presets_are_written_as_they_are_shipped() {
        let models = Models::embedded().unwrap();
        for file in crate::catalog::preset_files("models", None).unwrap() {
            let id = crate::catalog::ModelId::new(&file.name).unwrap();
            let text = preset_text(models.get(&id).unwrap()).unwrap();
            assert_eq!(text, file.text, "{id}");
            for noise in ["Some(", "Gqa((", "tied_embeddings: false"] {
                assert!(!text.contains(noise), "{id}: {noise}");
            }
        }
    }

    #[test]
    fn a_kept_model_is_found_again_and_never_lost() {
        let dir = tempfile::tempdir().unwrap();
        let models = Models::embedded().unwrap();
        let mut model = models.iter().next().unwrap().clone();
        model.id = crate::catalog::ModelId::new("mine").unwrap();
        model.assumptions = vec!["a “quoted” \\ thing\nof two lines".to_owned()];
        let presets = dir.path().join("new");
        let path = keep_preset(&presets, &model, false).unwrap();
        assert!(path.ends_with("models/mine.ron"));
        let with = Models::load(Some(&presets)).unwrap();
        assert_eq!(with.get(&model.id), Some(&model));

        let mut other = model.clone();
        other.name = "Other".to_owned();
        let again = keep_preset(&presets, &other, false);
        assert!(matches!(again, Err(KeepError::Exists { .. })));
        let same = Models::load(Some(&presets)).unwrap();
        assert_eq!(same.get(&model.id), Some(&model));
        keep_preset(&presets, &other, true).unwrap();
        let replaced = Models::load(Some(&presets)).unwrap();
        assert_eq!(replaced.get(&model.id), Some(&other));
        let left = fs::read_dir(presets.join("models")).unwrap().count();
        assert_eq!(left, 1, "no temporary file stays");
        assert!(keep_preset(&path, &other, false).is_err());
    }
}
