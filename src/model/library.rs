//! The models that come with the program, and the user's own beside them.

use super::{Model, ModelError};
use crate::catalog::{ModelId, PresetFile, preset_files};
use ron::extensions::Extensions;
use std::collections::BTreeMap;
use std::path::Path;

/// Models by id, in order of their ids.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Models {
    by_id: BTreeMap<ModelId, Model>,
}

impl Models {
    /// The embedded presets, with those of a user's folder over them (`models/<id>.ron` there; the
    /// same id replaces ours).
    ///
    /// # Errors
    /// A file can't be read, is not a model, or is named otherwise than the model in it.
    pub fn load(user_dir: Option<&Path>) -> Result<Self, ModelError> {
        let mut models = Self::default();
        for file in preset_files("models", user_dir)? {
            let model = read(&file)?;
            models.by_id.insert(model.id.clone(), model);
        }
        Ok(models)
    }

    /// The embedded presets alone.
    ///
    /// # Errors
    /// One of them is broken, which the tests rule out.
    pub fn embedded() -> Result<Self, ModelError> {
        Self::load(None)
    }

    /// A model.
    #[must_use]
    pub fn get(&self, id: &ModelId) -> Option<&Model> {
        self.by_id.get(id)
    }

    /// All models, in order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &Model> {
        self.by_id.values()
    }
}

/// Reads and checks one preset. `Some` and the name of a variant's struct may be left out.
fn read(file: &PresetFile) -> Result<Model, ModelError> {
    let reader = ron::Options::default()
        .with_default_extension(Extensions::IMPLICIT_SOME | Extensions::UNWRAP_VARIANT_NEWTYPES);
    let model: Model = reader
        .from_str(&file.text)
        .map_err(|error| ModelError::File {
            origin: file.origin.to_string(),
            message: error.to_string(),
        })?;
    if file.name.trim_end_matches(".ron") != model.id.as_str() {
        return Err(ModelError::FileName {
            origin: file.origin.to_string(),
            id: model.id.to_string(),
        });
    }
    model.check()?;
    Ok(model)
}
