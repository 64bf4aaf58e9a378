//! A key that decides the answer can't be missing in silence.

use super::catalogue::configs;
use super::*;
use crate::catalog::Dtype;
use crate::model::{kv_bytes_per_sequence, parameters};

/// What users ask of a model.
fn answers(imported: &Imported) -> [u64; 4] {
    let model = &imported.model;
    let counted = parameters(model);
    let kv = |tokens| kv_bytes_per_sequence(model, Dtype::Bf16, tokens).get();
    [counted.total(), counted.active(), kv(1000), kv(100_000)]
}

/// Keys whose absence has a meaning of its own in their family's code: a window, a group of experts,
/// a low rank, a gate, a bias or a norm that is not there.
const MEANT: [&str; 30] = [
    "sliding_window",
    "attention_chunk_size",
    "q_lora_rank",
    "num_kv_shared_layers",
    "mlp_only_layers",
    "index_topk",
    "use_cla",
    "moe_latent_size",
    "attention_bias",
    "use_qk_norm",
    "num_local_experts",
    "model_type",
    "attention_k_eq_v",
    "num_global_key_value_heads",
    "use_double_wide_mlp",
    "attn_res_block_size",
    "latent_moe_use_norm",
    "mla_use_output_gate",
    "add_qkv_bias",
    "use_qkv_bias",
    "new_decoder_architecture",
    "add_swa_attention_sink_bias",
    "use_expert_bias",
    "use_head_wise_attn_gate",
    "mamba_rms_norm",
    "lm_head_bias",
    "sandwich_norm",
    "num_hash_layers",
    "lora_rank",
    "num_attention_heads_per_layer",
];

/// hidden / heads is what these classes take; arctic's dense half is said by one flag.
const CLASS: [&str; 4] = [
    "head_dim",
    "residual_moe",
    "intermediate_size",
    "moe_intermediate_size",
];

#[test]
fn nothing_that_decides_is_missed_in_silence() {
    let mut silent = Vec::new();
    for config in configs() {
        let whole = import_config(&config.to_string(), "x").expect("published");
        let path = if config.get("hidden_size").is_none() && config.get("text_config").is_some() {
            "/text_config"
        } else {
            ""
        };
        let keys: Vec<String> = config
            .pointer(path)
            .and_then(Value::as_object)
            .map(|map| map.keys().cloned().collect())
            .unwrap_or_default();
        for key in keys {
            let mut without = config.clone();
            if let Some(map) = without.pointer_mut(path).and_then(Value::as_object_mut) {
                map.remove(&key);
            }
            let Ok(read) = import_config(&without.to_string(), "x") else {
                continue;
            };
            let said = read.assumptions.len() > whole.assumptions.len()
                || read
                    .assumptions
                    .iter()
                    .any(|text| !whole.assumptions.contains(text));
            if answers(&read) != answers(&whole)
                && !said
                && ![&MEANT[..], &CLASS[..]].concat().contains(&key.as_str())
            {
                let family = config.pointer(path).and_then(|c| c["model_type"].as_str());
                silent.push(format!("{}: {key}", family.unwrap_or("?")));
            }
        }
    }
    silent.sort();
    silent.dedup();
    assert!(silent.is_empty(), "{}\n{silent:#?}", silent.len());
}
