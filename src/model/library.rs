//! The models that come with the program, and the user's own beside them.

use super::{Model, ModelError, preset};
use crate::catalog::{ModelId, PresetFile, preset_files};
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
    let model: Model =
        preset::options()
            .from_str(&file.text)
            .map_err(|error| ModelError::File {
                origin: file.origin.to_string(),
                message: error.to_string(),
            })?;
    if file.name != model.id.as_str() {
        return Err(ModelError::FileName {
            origin: file.origin.to_string(),
            id: model.id.to_string(),
        });
    }
    model.check()?;
    Ok(model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn folder(name: &str, text: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir(dir.path().join("models")).expect("a folder");
        fs::write(dir.path().join("models").join(name), text).expect("a file");
        dir
    }

    const TINY: &str = r#"(
        id: "tiny", name: "Tiny", hidden: 64, vocab: 128, max_context: 256, source: "made up",
        layers: [(count: 2, attention: Gqa(heads: 4, kv_heads: 2, head_dim: 16), ffn: Dense(intermediate: 128))],
    )"#;

    #[test]
    fn a_user_adds_and_replaces_models() {
        let ours = Models::embedded().expect("presets are sound");
        let added = folder("tiny.ron", TINY);
        let with = Models::load(Some(added.path())).expect("loads");
        assert_eq!(with.iter().count(), ours.iter().count() + 1);
        let replaced = folder("qwen3-8b.ron", &TINY.replace("\"tiny\"", "\"qwen3-8b\""));
        let with = Models::load(Some(replaced.path())).expect("loads");
        let id = ModelId::new("qwen3-8b").expect("an id");
        assert_eq!(with.get(&id).map(|model| model.hidden), Some(64));
        assert_eq!(with.iter().count(), ours.iter().count());
    }

    #[test]
    fn broken_models_are_refused_with_their_place() {
        let error = |name: &str, text: &str| {
            let dir = folder(name, text);
            Models::load(Some(dir.path()))
                .expect_err("refused")
                .to_string()
        };
        assert!(error("other.ron", TINY).contains("tiny.ron"));
        assert!(error("tiny.ron", "(").contains("tiny.ron"));
        let cases = [
            ("hidden: 64", "hidden: 0", "hidden"),
            ("vocab: 128", "vocab: 99999999999", "vocab"),
            ("kv_heads: 2", "kv_heads: 3", "kv_heads"),
            ("kv_heads: 2", "kv_heads: 8", "kv_heads"),
            ("count: 2", "count: 0", "layers is 0"),
            ("count: 2", "count: 1001", "layers"),
            ("intermediate: 128", "intermediate: 0", "intermediate"),
            (
                "Dense(intermediate: 128)",
                "Moe(experts: 4, top_k: 5, intermediate: 8)",
                "top_k",
            ),
            (
                "Dense(intermediate: 128)",
                "Moe(experts: 4, top_k: 2, intermediate: 8, groups: 3, groups_per_token: 1)",
                "groups",
            ),
            (
                "Dense(intermediate: 128)",
                "Moe(experts: 4, top_k: 3, intermediate: 8, groups: 2, groups_per_token: 1)",
                "top_k",
            ),
        ];
        for (from, to, named) in cases {
            let message = error("tiny.ron", &TINY.replace(from, to));
            assert!(message.contains(named), "{to}: {message}");
        }
    }

    #[test]
    fn presets_survive_being_written_and_read() {
        for model in Models::embedded().expect("presets are sound").iter() {
            let text = ron::to_string(model).expect("writes");
            let read: Model = ron::from_str(&text).expect("reads");
            assert_eq!(&read, model);
            assert!(!model.source.is_empty());
        }
    }
}
