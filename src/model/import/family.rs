//! The family of a file.

use super::ImportError;
use super::facts::Facts;
use super::families;
use super::fields::Fields;

/// The family of a file.
pub(super) struct Family {
    /// `model_type`, without the `_text` of a nested one; empty where the file has none.
    pub(super) name: String,
    pub(super) facts: Facts,
    /// It is in the table here.
    pub(super) known: bool,
    /// The LM head is the embedding table.
    pub(super) tied: bool,
}

impl Family {
    pub(super) fn read(
        top: &Fields<'_>,
        fields: &Fields<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Self, ImportError> {
        let outer = top.text("model_type")?.unwrap_or_default();
        let inner = fields.text("model_type")?.unwrap_or(outer);
        let name: String = inner.chars().take(80).collect();
        let name = name.strip_suffix("_text").unwrap_or(&name).to_owned();
        let known = families::facts(&name);
        let facts = match known {
            Some(facts) => facts,
            None => {
                notes.push(if name.is_empty() {
                    "model_type is missing: read as a Llama-like model by its keys".to_owned()
                } else {
                    format!(
                        "model_type “{name}” is not known: read as a Llama-like model by its keys"
                    )
                });
                Facts::LLAMA
            }
        };
        let tied = tied(top, fields, &facts, notes)?;
        Ok(Self {
            name,
            facts,
            known: known.is_some(),
            tied,
        })
    }

    pub(super) fn is(&self, names: &[&str]) -> bool {
        names.contains(&self.name.as_str())
    }

    /// A class default of a key, noted where it is used.
    pub(super) fn default_of(&self, key: &str, notes: &mut Vec<String>) -> Option<u64> {
        let (_, value) = self.facts.defaults.iter().find(|(own, _)| *own == key)?;
        notes.push(format!(
            "{key} is missing: {value}, the default of {}'s class",
            self.name
        ));
        Some(*value)
    }
}

/// Whether the LM head is the embedding table.
fn tied(
    top: &Fields<'_>,
    fields: &Fields<'_>,
    facts: &Facts,
    notes: &mut Vec<String>,
) -> Result<bool, ImportError> {
    let own = fields.flag("tie_word_embeddings")?;
    let outer = top.flag("tie_word_embeddings")?;
    if let (Some(own), Some(outer)) = (own, outer)
        && own != outer
    {
        notes.push(format!(
            "tie_word_embeddings is {outer} at the top and {own} in {}: the latter is taken",
            fields.place()
        ));
    }
    let mut stated = own.or(outer);
    for key in ["tie_embedding", "use_embedding_sharing"] {
        stated = stated.or(fields.flag(key)?);
    }
    Ok(stated.unwrap_or_else(|| {
        notes.push(format!(
            "tie_word_embeddings is missing: the LM head is taken as {}",
            if facts.tied {
                "the embedding table, the family's default"
            } else {
                "a matrix of its own"
            }
        ));
        facts.tied
    }))
}
