//! The model for programs: keys that stay.

use super::Asked;
use crate::model::{
    kv_bytes_per_sequence, kv_bytes_per_sequence_rank, kv_bytes_per_token,
    kv_bytes_per_token_growing, kv_bytes_per_token_rank, parameters, state_bytes_per_sequence,
    weight_bytes,
};
use serde_json::{Value, json};

/// All of it.
pub(super) fn value(asked: &Asked, legal_tp: &[u32]) -> Value {
    let model = asked.model();
    let (precision, at) = (asked.precision, asked.at);
    let all = parameters(model);
    let quantization = model.quantization.map(|own| {
        json!({
            "weights": own.weights.name(),
            "activations": own.activations.name(),
            "block": own.block,
            "scale_bits": own.scale.map(|scale| scale.bits),
            "weights_per_scale": own.scale.map(|scale| scale.per),
            "lm_head": own.head.map(crate::catalog::Dtype::name),
        })
    });
    json!({
        "name": model.name,
        "id": model.id.as_str(),
        "layers": model.layer_count(),
        "max_context": model.max_context,
        "parameters": all.total(),
        "active_parameters": all.active(),
        "parameters_by_part": {
            "embedding": all.embedding,
            "lm_head": all.lm_head,
            "attention": all.attention,
            "attention_bias": all.attention_bias,
            "attention_small": all.attention_small,
            "dense_ffn": all.dense_ffn,
            "ffn_bias": all.ffn_bias,
            "router": all.router,
            "routed_experts": all.routed_experts,
            "shared_experts": all.shared_experts,
            "norms": all.norms,
            "extras": all.extras,
        },
        "beside": { "mtp": all.mtp, "towers": all.towers },
        "precision": precision.weights.name().to_lowercase(),
        "weight_bytes": weight_bytes(model, precision).get(),
        "kv_precision": precision.kv.name().to_lowercase(),
        "context": at.context,
        "kv_bytes_per_token": kv_bytes_per_token(model, precision.kv).get(),
        "kv_bytes_per_token_growing":
            kv_bytes_per_token_growing(&model.layers, precision.kv, 1).get(),
        "kv_bytes_per_sequence": kv_bytes_per_sequence(model, precision.kv, at.context).get(),
        "state_bytes_per_sequence": state_bytes_per_sequence(&model.layers, 1).get(),
        "rank": {
            "tp": at.tp,
            "ep": at.ep,
            "kv_bytes_per_token":
                kv_bytes_per_token_rank(&model.layers, precision.kv, at.tp).get(),
            "kv_bytes_per_sequence":
                kv_bytes_per_sequence_rank(&model.layers, precision.kv, at.tp, at.context).get(),
        },
        "legal_tp": legal_tp,
        "quantization": quantization,
        "assumptions": asked.imported.assumptions,
        "unused_keys": asked.imported.unused_keys,
    })
}
