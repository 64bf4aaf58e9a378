//! What a family's code takes for granted where its files don't say.

use super::ImportError;
use super::fields::Fields;

/// Families whose defaults are known here.
const KNOWN: [&str; 24] = [
    "llama",
    "mistral",
    "mistral3",
    "ministral",
    "mixtral",
    "qwen2",
    "qwen2_moe",
    "qwen2_vl",
    "qwen2_5_vl",
    "qwen3",
    "qwen3_moe",
    "qwen3_vl",
    "qwen3_vl_moe",
    "deepseek_v2",
    "deepseek_v3",
    "kimi_k2",
    "kimi_k25",
    "glm4_moe",
    "glm4v_moe",
    "minimax_m2",
    "granite",
    "granitemoe",
    "olmo2",
    "olmoe",
];

/// MLPs of two matrices, not three; the shape of all of them here is gated.
const UNGATED: [&str; 13] = [
    "bloom",
    "codegen",
    "falcon",
    "gpt2",
    "gpt_bigcode",
    "gpt_neo",
    "gpt_neox",
    "gptj",
    "mpt",
    "nemotron",
    "opt",
    "phi",
    "starcoder2",
];

/// Facts about the family of a file.
pub(super) struct Family {
    /// `model_type`, without the `_text` of a nested one; empty where the file has none.
    pub(super) name: String,
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
        let own = fields.flag("tie_word_embeddings")?;
        let outer_flag = top.flag("tie_word_embeddings")?;
        if let (Some(own), Some(outer)) = (own, outer_flag)
            && own != outer
        {
            notes.push(format!(
                "tie_word_embeddings is {outer} at the top and {own} in {}: the latter is taken",
                fields.place()
            ));
        }
        let flag = own.or(outer_flag);
        if UNGATED.contains(&name.as_str()) {
            return Err(ImportError::Unsupported {
                feature: format!("“{name}”'s feed-forward part without a gate"),
                key: fields.path("model_type"),
            });
        }
        // Their classes tie by default, so their files don't mention it.
        let tied_by_default = ["gemma", "cohere"].contains(&name.as_str());
        if !KNOWN.contains(&name.as_str()) {
            notes.push(if name.is_empty() {
                "model_type is missing: read as a Llama-like model by its keys".to_owned()
            } else {
                format!("model_type “{name}” is not known: read as a Llama-like model by its keys")
            });
        }
        if flag.is_none() {
            notes.push(format!(
                "tie_word_embeddings is missing: the LM head is taken as {}",
                if tied_by_default {
                    "the embedding table, the family's default"
                } else {
                    "a matrix of its own"
                }
            ));
        }
        Ok(Self {
            name,
            tied: flag.unwrap_or(tied_by_default),
        })
    }

    fn is(&self, names: &[&str]) -> bool {
        names.contains(&self.name.as_str())
    }

    /// RMS norms on queries and keys without a key that says so.
    pub(super) fn norms_queries(&self) -> bool {
        self.name.starts_with("qwen3") || self.is(&["olmo2", "olmoe", "minimax_m2"])
    }

    /// Those norms span all heads.
    pub(super) fn norms_whole(&self) -> bool {
        self.is(&["olmo2", "olmoe", "minimax_m2"])
    }

    /// Biases on Q, K and V without a key that says so.
    pub(super) fn biases_queries(&self) -> bool {
        self.name.starts_with("qwen2")
    }

    /// `attention_bias` puts one on the output projection too.
    pub(super) fn biases_output(&self) -> bool {
        self.is(&["llama"])
    }

    /// The class's head width is a constant, not hidden / heads.
    pub(super) fn must_state_head_dim(&self) -> bool {
        self.name.starts_with("qwen3") || self.is(&["glm4_moe", "minimax_m2"])
    }

    /// No `num_key_value_heads` means one per query head (files from before GQA).
    pub(super) fn is_mha_by_default(&self) -> bool {
        self.is(&["llama"])
    }

    /// `use_sliding_window` is off unless stated.
    pub(super) fn window_off_by_default(&self) -> bool {
        self.name.starts_with("qwen2") || self.name.starts_with("qwen3")
    }

    /// Every router has a correction bias without a key that says so.
    pub(super) fn biases_router(&self) -> bool {
        self.is(&[
            "deepseek_v3",
            "kimi_k2",
            "kimi_k25",
            "glm4_moe",
            "glm4v_moe",
            "minimax_m2",
        ])
    }

    /// `intermediate_size` is an expert's width; other families call that
    /// `moe_intermediate_size`.
    pub(super) fn shares_intermediate(&self) -> bool {
        self.is(&["mixtral", "minimax_m2", "granitemoe", "olmoe", "phimoe"])
    }
}
