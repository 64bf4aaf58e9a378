//! What isn't a decoder language model at all, and keys that weren't understood though their
//! names say that they matter.

use super::ImportError;
use super::fields::Fields;
use serde_json::Value;

/// Families that encode, or see, and don't generate text.
const NO_DECODERS: &[&str] = &[
    "albert",
    "bart",
    "bert",
    "blip",
    "clip",
    "deberta",
    "deberta-v2",
    "distilbert",
    "electra",
    "mbart",
    "modernbert",
    "mpnet",
    "mt5",
    "nomic_bert",
    "pegasus",
    "roberta",
    "siglip",
    "siglip_vision_model",
    "t5",
    "umt5",
    "vit",
    "wav2vec2",
    "whisper",
    "xlm-roberta",
];

/// Words in a key that say it describes experts, windows, states or other attention.
const SUSPICIOUS: &[&str] = &[
    "attn",
    "chunk",
    "compress",
    "conv",
    "cross",
    "expert",
    "gate",
    "hybrid",
    "index_",
    "interleav",
    "kv_",
    "latent",
    "linear_",
    "lora",
    "mamba",
    "moe",
    "pattern",
    "share",
    "sparse",
    "ssm",
    "state_",
    "swa_",
    "window",
];

/// Whether a key's value switches anything on.
pub(super) fn active(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

/// Refuses encoders.
pub(super) fn encoders(fields: &Fields<'_>) -> Result<(), ImportError> {
    let refuse = |key: &str, feature: &str| {
        Err(ImportError::Unsupported {
            feature: feature.to_owned(),
            key: fields.path(key),
        })
    };
    if fields.flag("is_encoder_decoder")? == Some(true) {
        return refuse("is_encoder_decoder", "an encoder");
    }
    let name = fields.text("model_type")?.unwrap_or_default();
    if NO_DECODERS.contains(&name) {
        return refuse(
            "model_type",
            "a model that doesn't generate text by a decoder",
        );
    }
    Ok(())
}

/// Says which unread keys may matter.
pub(super) fn suspicious(fields: &Fields<'_>, notes: &mut Vec<String>) {
    let mut found: Vec<&str> = fields
        .unread()
        .filter(|(_, value)| active(value))
        .map(|(key, _)| key)
        .filter(|key| SUSPICIOUS.iter().any(|word| key.contains(word)))
        .collect();
    found.sort_unstable();
    for key in found.into_iter().take(20) {
        let key = fields.path(&key.chars().take(120).collect::<String>());
        notes.push(format!(
            "{key} is not understood: the model is imported as if it were not there"
        ));
    }
}
