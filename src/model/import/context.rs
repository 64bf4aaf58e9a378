//! What every reader of a file's parts needs: the objects, the family, the sizes all layers share,
//! and a place for what has to be said.

use super::ImportError;
use super::family::Family;
use super::fields::Fields;
use super::keys;
use crate::catalog::Dtype;
use crate::model::check::{MOST_LAYERS, MOST_TOKENS, MOST_WIDE};
use std::cell::RefCell;

/// `max_position_embeddings` where the file has none.
const DEFAULT_CONTEXT: u64 = 32_768;

/// A file being read.
pub(super) struct Context<'f, 'a> {
    /// The object that describes the language model.
    pub(super) fields: &'f Fields<'a>,
    /// The part of it that describes attention, where that is an object of its own (DBRX, MPT).
    pub(super) attention: Option<Fields<'a>>,
    /// The part of it that describes the feed-forward part (DBRX).
    pub(super) ffn: Option<Fields<'a>>,
    pub(super) family: Family,
    pub(super) hidden: u64,
    pub(super) vocab: u64,
    pub(super) layers: usize,
    pub(super) max_context: u64,
    notes: RefCell<Vec<String>>,
}

impl<'f, 'a> Context<'f, 'a> {
    /// Reads the sizes all layers share.
    pub(super) fn read(
        top: &Fields<'a>,
        fields: &'f Fields<'a>,
        mut notes: Vec<String>,
    ) -> Result<Self, ImportError> {
        let family = Family::read(top, fields, &mut notes)?;
        let hidden = need(fields, keys::HIDDEN, MOST_WIDE)?;
        let vocab = match fields.size(keys::VOCAB, 1, MOST_TOKENS)? {
            Some(vocab) => vocab,
            // Nested files may state it outside.
            None => match top.size(keys::VOCAB, 1, MOST_TOKENS)? {
                Some(vocab) => vocab,
                None => match family.default_of("vocab_size", &mut notes) {
                    Some(vocab) => vocab,
                    None => need(fields, keys::VOCAB, MOST_TOKENS)?,
                },
            },
        };
        let layers = match fields.size(keys::LAYERS, 1, MOST_LAYERS)? {
            Some(layers) => layers,
            None => pattern_length(fields, &mut notes)?,
        };
        let max_context = context(fields, &family, &mut notes)?;
        Ok(Self {
            attention: section(fields, "attn_config")?,
            ffn: section(fields, "ffn_config")?,
            fields,
            family,
            hidden,
            vocab,
            layers: usize::try_from(layers).unwrap_or(0),
            max_context,
            notes: RefCell::new(notes),
        })
    }

    /// The object that describes attention.
    pub(super) fn attention(&self) -> &Fields<'a> {
        self.attention.as_ref().unwrap_or(self.fields)
    }

    /// The object that describes the feed-forward part.
    pub(super) fn ffn(&self) -> &Fields<'a> {
        self.ffn.as_ref().unwrap_or(self.fields)
    }

    /// Says something to whoever imports the file, once.
    pub(super) fn note(&self, text: impl Into<String>) {
        let text = text.into();
        let mut notes = self.notes.borrow_mut();
        if !notes.contains(&text) {
            notes.push(text);
        }
    }

    /// Says that a key is missing and what its class takes.
    pub(super) fn class_default(&self, key: &str) -> Option<u64> {
        let mut notes = Vec::new();
        let value = self.family.default_of(key, &mut notes);
        for note in notes {
            self.note(note);
        }
        value
    }

    /// All that was said.
    pub(super) fn into_notes(self) -> Vec<String> {
        self.notes.into_inner()
    }

    /// The model's layers as a number.
    pub(super) fn layer_count(&self) -> u64 {
        u64::try_from(self.layers).unwrap_or(u64::MAX)
    }

    /// Reads a list that describes layers. Entries beyond the model's are of layers that predict
    /// further tokens, which is said.
    pub(super) fn per_layer(
        &self,
        fields: &Fields<'a>,
        key: &str,
    ) -> Result<Option<&'a [serde_json::Value]>, ImportError> {
        let Some(list) = fields.list(key)?.filter(|list| !list.is_empty()) else {
            return Ok(None);
        };
        let own = fields.per_layer(key, list, self.layers)?;
        if list.len() > self.layers {
            self.note(format!(
                "{} has {} entries for {} layers: the last {} are taken to be of layers that predict further tokens",
                fields.path(key),
                list.len(),
                self.layers,
                list.len() - self.layers
            ));
        }
        Ok(Some(own))
    }

    /// Format of a state-space layer's state where the file states it, else the model's own.
    pub(super) fn state_dtype(&self) -> Result<Dtype, ImportError> {
        for key in ["mamba_ssm_dtype", "mamba_ssm_cache_dtype"] {
            match self.fields.text(key)? {
                Some("float32") => return Ok(Dtype::Fp32),
                Some("bfloat16" | "float16") => return Ok(Dtype::Bf16),
                Some(other) => self.note(format!(
                    "{key} “{}” is not known: the state is taken as BF16",
                    other.chars().take(40).collect::<String>()
                )),
                None => {}
            }
        }
        self.note(
            "mamba_ssm_cache_dtype is missing: the state of state-space layers is taken in the model's format, BF16",
        );
        Ok(Dtype::Bf16)
    }
}

/// A size without which there is no answer.
pub(super) fn need(
    fields: &Fields<'_>,
    keys: &[&'static str],
    most: u64,
) -> Result<u64, ImportError> {
    match fields.size(keys, 1, most)? {
        Some(value) => Ok(value),
        None => Err(fields.missing(
            keys.first().copied().unwrap_or_default(),
            "the model's shape depends on it",
        )),
    }
}

fn section<'a>(fields: &Fields<'a>, key: &str) -> Result<Option<Fields<'a>>, ImportError> {
    if matches!(fields.value(key), Some(serde_json::Value::Object(_))) {
        fields.section(key)
    } else {
        Ok(None)
    }
}

/// The number of layers where only their pattern is stated.
fn pattern_length(fields: &Fields<'_>, notes: &mut Vec<String>) -> Result<u64, ImportError> {
    let key = "layers_block_type";
    let length = match fields.value(key) {
        Some(serde_json::Value::Array(list)) => u64::try_from(list.len()).unwrap_or(u64::MAX),
        _ => 0,
    };
    if !(1..=MOST_LAYERS).contains(&length) {
        return need(fields, keys::LAYERS, MOST_LAYERS);
    }
    notes.push(format!(
        "num_hidden_layers is missing: {length}, the length of {key}"
    ));
    Ok(length)
}

/// The longest context: the longest of what the file's spellings say.
fn context(
    fields: &Fields<'_>,
    family: &Family,
    notes: &mut Vec<String>,
) -> Result<u64, ImportError> {
    let mut longest: Option<(&str, u64)> = None;
    for key in keys::CONTEXT {
        let Some(tokens) = fields.whole(key, 1, MOST_TOKENS)? else {
            continue;
        };
        match longest {
            Some((first, other)) if other != tokens => {
                notes.push(format!(
                    "{first} is {other} and {key} {tokens}: the longer one is taken"
                ));
                if tokens > other {
                    longest = Some((key, tokens));
                }
            }
            Some(_) => {}
            None => longest = Some((key, tokens)),
        }
    }
    if let Some((_, tokens)) = longest {
        return Ok(tokens);
    }
    if let Some(tokens) = family.default_of("max_position_embeddings", notes) {
        return Ok(tokens);
    }
    notes.push(format!(
        "max_position_embeddings is missing: the longest context is taken as {DEFAULT_CONTEXT} tokens"
    ));
    Ok(DEFAULT_CONTEXT)
}
