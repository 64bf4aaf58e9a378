//! Tests of the import: what stock files give, and what is refused.

mod cases;
mod catalogue;
mod hostile;
mod layers;
mod missing;
mod refusals;
mod shapes;

use super::*;
use crate::model::Models;
use serde_json::{Value, json};

/// Every published model the tests know, imported.
pub(crate) fn published_models() -> Vec<Model> {
    let all = catalogue::all().into_iter();
    all.map(|model| model.imported.model).collect()
}

const QWEN3_30B: &str = r#"{
  "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe",
  "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 151643, "eos_token_id": 151645,
  "decoder_sparse_step": 1, "head_dim": 128, "hidden_act": "silu", "hidden_size": 2048,
  "initializer_range": 0.02, "intermediate_size": 6144, "max_position_embeddings": 40960,
  "max_window_layers": 48, "mlp_only_layers": [], "moe_intermediate_size": 768,
  "norm_topk_prob": true, "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8,
  "num_hidden_layers": 48, "num_key_value_heads": 4, "output_router_logits": false,
  "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000.0,
  "router_aux_loss_coef": 0.001, "sliding_window": null, "tie_word_embeddings": false,
  "torch_dtype": "bfloat16", "transformers_version": "4.51.0", "use_cache": true,
  "use_sliding_window": false, "vocab_size": 151936 }"#;

const DEEPSEEK_V3: &str = r#"{
  "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3",
  "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 0, "eos_token_id": 1,
  "auto_map": {"AutoConfig": "configuration_deepseek.DeepseekV3Config"}, "ep_size": 1,
  "first_k_dense_replace": 3, "hidden_act": "silu", "hidden_size": 7168, "initializer_range": 0.02,
  "intermediate_size": 18432, "kv_lora_rank": 512, "max_position_embeddings": 163840,
  "moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_group": 8, "n_routed_experts": 256,
  "n_shared_experts": 1, "norm_topk_prob": true, "num_attention_heads": 128,
  "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 128,
  "num_nextn_predict_layers": 1, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
  "qk_rope_head_dim": 64,
  "quantization_config": {"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8",
    "weight_block_size": [128, 128]},
  "rms_norm_eps": 1e-06, "rope_theta": 10000,
  "rope_scaling": {"beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 1.0,
    "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096, "type": "yarn"},
  "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "tie_word_embeddings": false,
  "topk_group": 4, "topk_method": "noaux_tc", "torch_dtype": "bfloat16",
  "transformers_version": "4.33.1", "use_cache": true, "v_head_dim": 128, "vocab_size": 129280 }"#;

fn import(text: &str) -> Imported {
    import_config(text, "config.json").unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(text: &str) -> ImportError {
    import_config(text, "config.json").expect_err("refused")
}

/// A plain Llama-like file with some keys set or, with `null`, taken away.
fn llama(changes: Value) -> String {
    let mut config = json!({
        "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "vocab_size": 128256, "max_position_embeddings": 131072, "tie_word_embeddings": false,
        "hidden_act": "silu"
    });
    merge(&mut config, changes);
    config.to_string()
}

/// The stock Qwen3-30B-A3B file with some keys changed.
fn qwen_moe(changes: Value) -> String {
    let mut config: Value = serde_json::from_str(QWEN3_30B).expect("JSON");
    merge(&mut config, changes);
    config.to_string()
}

fn merge(config: &mut Value, changes: Value) {
    if let (Value::Object(config), Value::Object(changes)) = (config, changes) {
        config.extend(changes);
    }
}

fn preset(id: &str) -> Model {
    let id = ModelId::new(id).expect("an id");
    let models = Models::embedded().expect("presets are sound");
    models.get(&id).cloned().expect("a preset")
}

fn assert_same_shape(imported: &Model, id: &str) {
    let preset = preset(id);
    assert_eq!(imported.layers, preset.layers);
    assert_eq!(imported.hidden, preset.hidden);
    assert_eq!(imported.vocab, preset.vocab);
    assert_eq!(imported.max_context, preset.max_context);
    assert_eq!(imported.tied_embeddings, preset.tied_embeddings);
}
