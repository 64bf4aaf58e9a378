//! Import of a model's shape from Hugging Face `config.json`.
//!
//! Such files come from dozens of families with keys of their own, and from the internet. So:
//! a file is bounded and parsed strictly; a key that would change the answer is never guessed
//! silently (it is refused, or listed among [`Imported::assumptions`]); a mechanism this version
//! can't price (windows, linear attention, sparse indexers, …) is refused by name; and a key that
//! nobody here understands is listed in [`Imported::unused_keys`], or refused where its name says
//! that it describes experts, windows or the like.

mod attention;
mod error;
mod family;
mod ffn;
mod fields;
mod json;
mod known;
mod quantization;
mod refuse;

pub use error::ImportError;

use super::check::{MOST_LAYERS, MOST_TOKENS, MOST_WIDE};
use super::{LayerRun, Model, NormKind, Precision};
use crate::catalog::ModelId;
use fields::Fields;
use serde_json::Value;

/// A model read from a `config.json`, and what the reader of it should know.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The shape.
    pub model: Model,
    /// Formats of a quantised checkpoint, where the file states them and they are simple.
    pub precision_hint: Option<Precision>,
    /// What was taken for granted, and what the file describes that is not part of the model.
    pub assumptions: Vec<String>,
    /// Keys nobody here understands, sorted; with their path in nested files.
    pub unused_keys: Vec<String>,
}

/// Sections in which multimodal files describe their language model.
const NESTED: [&str; 3] = ["text_config", "language_config", "llm_config"];

/// `max_position_embeddings` where the file has none.
const DEFAULT_CONTEXT: u64 = 32_768;

/// Reads a `config.json`. `file_name` names the model where the file itself doesn't.
///
/// # Errors
/// The file is not a JSON object, is too large, states something impossible, lacks a key that
/// decides the answer, or describes a mechanism this version can't price.
pub fn import_config(text: &str, file_name: &str) -> Result<Imported, ImportError> {
    let root = json::parse(text)?;
    let top = Fields::new(&root, "");
    let nested = NESTED
        .iter()
        .filter(|key| !top.has("hidden_size") || matches!(root.get(**key), Some(Value::Object(_))))
        .find_map(|key| top.section(key).transpose())
        .transpose()?;
    let mut notes = Vec::new();
    let text_fields = nested.as_ref().unwrap_or(&top);
    if nested.is_some() {
        notes.push(format!(
            "only the language model ({}) is imported; towers for images or sound are not counted",
            text_fields.place()
        ));
    }
    refuse::mechanisms(&top)?;
    refuse::mechanisms(text_fields)?;
    let model = read_model(&top, text_fields, file_name, &mut notes)?;
    let precision_hint = quantization::hint(&top, text_fields, &mut notes)?;
    if nested.is_some() {
        top.leave_to(text_fields);
    }
    let mut unused_keys = top.unused();
    if nested.is_some() {
        unused_keys.extend(text_fields.unused());
    }
    unused_keys.sort();
    refuse::suspicious(&top)?;
    refuse::suspicious(text_fields)?;
    model
        .check()
        .map_err(|error| ImportError::Shape(error.to_string()))?;
    Ok(Imported {
        model,
        precision_hint,
        assumptions: notes,
        unused_keys,
    })
}

fn read_model(
    top: &Fields<'_>,
    fields: &Fields<'_>,
    file_name: &str,
    notes: &mut Vec<String>,
) -> Result<Model, ImportError> {
    let family = family::Family::read(top, fields, notes)?;
    let hidden = fields.need("hidden_size", 1, MOST_WIDE)?;
    let vocab = fields.need("vocab_size", 1, MOST_TOKENS)?;
    let count = fields.need("num_hidden_layers", 1, MOST_LAYERS)?;
    let attention = attention::read(fields, &family, hidden, notes)?;
    let mut layers: Vec<LayerRun> = Vec::new();
    for ffn in ffn::read(fields, &family, count, notes)? {
        match layers.last_mut() {
            Some(run) if run.ffn == ffn => run.count += 1,
            _ => layers.push(LayerRun::new(1, attention.clone(), ffn)),
        }
    }
    let max_context = match fields.whole("max_position_embeddings", 1, MOST_TOKENS)? {
        Some(tokens) => tokens,
        None => {
            notes.push(format!(
                "max_position_embeddings is missing: the longest context is taken as {DEFAULT_CONTEXT} tokens"
            ));
            DEFAULT_CONTEXT
        }
    };
    let extra = ["num_nextn_predict_layers", "num_mtp_modules"];
    for key in extra {
        let layers = fields.whole(key, 0, MOST_LAYERS)?.unwrap_or(0);
        if layers > 0 {
            notes.push(format!(
                "{key} = {layers}: layers that predict further tokens (MTP) are not part of the served model and not counted"
            ));
        }
    }
    let name = model_name(top, file_name, &family)?;
    Ok(Model {
        id: ModelId::from_label(&name),
        name,
        hidden,
        vocab,
        tied_embeddings: family.tied,
        max_context,
        layers,
        norm: NormKind::Rms,
        extras: Vec::new(),
        mtp: None,
        quantization: None,
        source: format!("imported from {}", shortened(file_name)),
        assumptions: Vec::new(),
    })
}

/// The repository's name, else the file's, else the family's.
fn model_name(
    top: &Fields<'_>,
    file_name: &str,
    family: &family::Family,
) -> Result<String, ImportError> {
    let last = |path: &str| {
        let path = path.trim_end_matches(['/', '\\']);
        path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned()
    };
    let own = top.text("_name_or_path")?.map(last).unwrap_or_default();
    let file = last(file_name);
    let file = file.strip_suffix(".json").unwrap_or(&file);
    let file = file.strip_suffix("_config").unwrap_or(file);
    let name = [own.as_str(), file, family.name.as_str()]
        .into_iter()
        .find(|name| !name.is_empty() && *name != "config")
        .unwrap_or("imported model");
    Ok(shortened(name))
}

/// Cut to a length that can be shown.
fn shortened(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}

#[cfg(test)]
mod tests;
