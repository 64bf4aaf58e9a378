//! Mechanisms whose cost this version doesn't know. A model that has one is refused: priced
//! without it, its cache or its work would be wrong by factors.

use super::ImportError;
use super::fields::Fields;
use serde_json::Value;

/// Keys that switch a mechanism on, and what it is.
const MECHANISMS: [(&str, &str); 44] = [
    ("attention_chunk_size", "chunked attention"),
    ("chunk_size", "chunked or state-space attention"),
    (
        "sliding_window_pattern",
        "alternating sliding-window attention",
    ),
    (
        "_sliding_window_pattern",
        "alternating sliding-window attention",
    ),
    ("sliding_window_size", "sliding-window attention"),
    ("window_size", "sliding-window attention"),
    (
        "swa_num_attention_heads",
        "sliding-window attention with heads of its own",
    ),
    ("hybrid_layer_pattern", "alternating layer types"),
    ("hybrid_override_pattern", "alternating layer types"),
    ("layers_block_type", "alternating layer types"),
    ("block_types", "alternating layer types"),
    ("attn_layer_period", "alternating layer types"),
    (
        "full_attention_interval",
        "linear attention between full attention",
    ),
    ("full_attn_idxs", "layers without attention"),
    ("linear_attn_config", "linear attention"),
    ("linear_num_key_heads", "linear attention"),
    ("linear_num_value_heads", "linear attention"),
    ("lightning_attn", "linear attention"),
    ("gla_config", "linear attention"),
    ("mamba_d_state", "state-space layers"),
    ("mamba_num_heads", "state-space layers"),
    ("ssm_state_size", "state-space layers"),
    ("ssm_cfg", "state-space layers"),
    ("state_size", "state-space layers"),
    ("lru_width", "recurrent layers"),
    ("conv_L_cache", "convolution layers"),
    ("time_mix_extra_dim", "recurrent layers"),
    ("index_topk", "sparse attention with an indexer (DSA)"),
    ("index_n_heads", "sparse attention with an indexer (DSA)"),
    ("index_head_dim", "sparse attention with an indexer (DSA)"),
    ("sparse_attention_config", "sparse attention"),
    ("sparse_config", "sparse attention"),
    ("compress_ratios", "compressed attention"),
    ("share_q_dim", "multi-matrix factorisation attention (MFA)"),
    ("moe_latent_size", "experts in a latent space"),
    ("block_configs", "blocks found by architecture search"),
    ("per_layer_config", "blocks found by architecture search"),
    ("zero_expert_num", "experts that do nothing"),
    (
        "interleave_moe_layer_step",
        "interleaved MoE layers of another width",
    ),
    (
        "num_dense_layers",
        "dense layers stated by num_dense_layers",
    ),
    ("num_kv_shared_layers", "layers that share a KV cache"),
    ("use_cla", "layers that share a KV cache"),
    ("cross_attention_layers", "cross-attention layers"),
    ("hidden_size_per_layer_input", "embeddings per layer"),
];

/// Words in a key that say it describes one of the above.
const SUSPICIOUS: [&str; 16] = [
    "chunk",
    "compress",
    "expert",
    "hybrid",
    "index_",
    "kv_shared",
    "latent",
    "linear_",
    "lora",
    "mamba",
    "moe",
    "sparse",
    "ssm",
    "swa_",
    "window",
    "interleav",
];

/// Whether a key's value switches anything on.
fn active(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}

/// Refuses what is known and can't be priced.
pub(super) fn mechanisms(fields: &Fields<'_>) -> Result<(), ImportError> {
    let unsupported = |feature: &str, key: &str| ImportError::Unsupported {
        feature: feature.to_owned(),
        key: fields.path(key),
    };
    for (key, feature) in MECHANISMS {
        if fields.value(key).is_some_and(active) {
            return Err(unsupported(feature, key));
        }
    }
    if fields.flag("is_encoder_decoder")? == Some(true) {
        return Err(unsupported("an encoder", "is_encoder_decoder"));
    }
    if fields.flag("multi_query")? == Some(true) {
        return Err(unsupported(
            "attention stated by multi_query",
            "multi_query",
        ));
    }
    if let Some(kinds) = fields.list("layer_types")? {
        for kind in kinds {
            if !matches!(
                kind.as_str(),
                Some("full_attention" | "attention" | "global_attention")
            ) {
                return Err(unsupported(&layer_type(kind), "layer_types"));
            }
        }
        if let Some(layers) = fields.value("num_hidden_layers").and_then(Value::as_u64) {
            super::ffn::one_per_layer(fields, "layer_types", kinds, layers)?;
        }
    }
    // MiniMax: 1 is softmax attention, 0 linear.
    if let Some(kinds) = fields.list("attn_type_list")?
        && kinds.iter().any(|kind| kind.as_u64() != Some(1))
    {
        return Err(unsupported("linear attention", "attn_type_list"));
    }
    // Gemma's gate is a GELU; elsewhere a bare activation means two matrices.
    let gemma = fields
        .text("model_type")?
        .is_some_and(|name| name.starts_with("gemma"));
    for key in ["hidden_act", "hidden_activation"] {
        let act = fields.text(key)?.filter(|_| !gemma);
        if let Some("relu" | "relu2" | "gelu" | "gelu_new" | "gelu_fast") = act {
            return Err(unsupported("a feed-forward part without a gate", key));
        }
    }
    Ok(())
}

fn layer_type(kind: &Value) -> String {
    match kind.as_str() {
        Some("sliding_attention") => "sliding-window attention".to_owned(),
        Some("chunked_attention") => "chunked attention".to_owned(),
        Some("linear_attention") => "linear attention".to_owned(),
        _ => format!("a layer type that is {}", super::json::describe(kind)),
    }
}

/// Refuses what nobody has read but whose name says that it matters: a mixture of experts under a
/// new key must not become a dense model.
pub(super) fn suspicious(fields: &Fields<'_>) -> Result<(), ImportError> {
    let mut found: Vec<&str> = fields
        .unread()
        .filter(|(_, value)| active(value))
        .map(|(key, _)| key)
        .filter(|key| SUSPICIOUS.iter().any(|word| key.contains(word)))
        .collect();
    found.sort_unstable();
    match found.first() {
        None => Ok(()),
        Some(key) => Err(ImportError::Unsupported {
            feature: "something this version has never heard of".to_owned(),
            key: fields.path(&key.chars().take(120).collect::<String>()),
        }),
    }
}
