//! What single layers state, and lists that say which layer is what.

use super::*;
use crate::catalog::Dtype;
use crate::model::derive::{kv_bytes_per_sequence, kv_bytes_per_token, parameters};

fn gemma(overrides: Value) -> String {
    let kinds: Vec<&str> = (0..30)
        .map(|layer| match layer % 6 {
            5 => "full_attention",
            _ => "sliding_attention",
        })
        .collect();
    let global = overrides.is_null().then_some(256);
    json!({
        "model_type": "gemma4_text", "global_head_dim": global, "vocab_size": 262_144, "hidden_size": 2304,
        "intermediate_size": 9216, "num_hidden_layers": 30, "num_attention_heads": 8,
        "num_key_value_heads": 4, "head_dim": 256, "max_position_embeddings": 131_072,
        "tie_word_embeddings": true, "attention_bias": false, "sliding_window": 512,
        "layer_types": kinds, "vocab_size_per_layer_input": 262_144,
        "hidden_size_per_layer_input": 256, "attention_k_eq_v": false,
        "num_kv_shared_layers": 0, "per_layer_config": overrides
    })
    .to_string()
}

/// The defaults of transformers' Gemma 4 class, whose full layers have heads twice as wide.
#[test]
fn layers_may_state_what_is_otherwise_in_them() {
    let wide = json!({"head_dim": 512});
    let model = import(&gemma(
        json!({"05": wide, "11": wide, "17": wide, "23": wide, "29": wide}),
    ))
    .model;
    assert_eq!(kv_bytes_per_token(&model, Dtype::Bf16).get(), 143_360);
    let sequence = kv_bytes_per_sequence(&model, Dtype::Bf16, 32_768).get();
    assert_eq!(sequence, 1_394_606_080);
    assert_eq!(parameters(&model).total(), 5_077_177_856);
    let narrow = import(&gemma(json!({"0": {"sliding_window": 256}}))).model;
    let sequence = |model| kv_bytes_per_sequence(model, Dtype::Bf16, 32_768).get();
    let same = import(&gemma(Value::Null)).model;
    assert_eq!(sequence(&same) - sequence(&narrow), 256 * 4096);
    let plain = parameters(&import(&gemma(json!({}))).model).total();
    let wider = import(&gemma(json!({"3": {"intermediate_size": 9217}}))).model;
    assert_eq!(parameters(&wider).total(), plain + 3 * 2304);
}

#[test]
fn what_a_layer_states_is_understood_or_refused() {
    for (overrides, named) in [
        (json!({"3": {"odd_size": 5}}), "per_layer_config.3.odd_size"),
        (json!({"30": {"head_dim": 5}}), "per_layer_config.30"),
        (json!({"x": {"head_dim": 5}}), "per_layer_config.x"),
        (json!({"3": {"head_dim": 0}}), "per_layer_config.3.head_dim"),
        (json!({"3": 5}), "per_layer_config.3"),
        (
            json!({"5": {"head_dim": 8}, "05": {"head_dim": 9}}),
            "per_layer_config.",
        ),
    ] {
        let error = refusal(&gemma(overrides)).to_string();
        assert!(error.contains(named), "{error}");
    }
}

#[test]
fn minimax_m3_has_indexers_where_its_layers_say_so() {
    let config = |kinds: [&str; 4]| {
        llama(json!({
            "model_type": "minimax_m3_vl_text", "num_hidden_layers": 4, "layer_types": kinds, "head_dim": 128,
            "index_n_heads": 4, "index_head_dim": 128, "index_block_size": 128,
            "index_topk_blocks": 16, "shared_intermediate_size": 3072, "dense_intermediate_size": 12_288
        }))
    };
    let kv = |kinds| kv_bytes_per_token(&import(&config(kinds)).model, Dtype::Bf16).get();
    let full = "full_attention";
    assert_eq!(kv([full; 4]), 4 * 2 * 8 * 128 * 2);
    let some = [full, "minimax_m3_sparse", full, "minimax_m3_sparse"];
    // Keys in the cache's format.
    assert_eq!(kv(some), 4 * 2 * 8 * 128 * 2 + 2 * 128 * 2);
}

#[test]
fn every_layer_of_kimi_stands_in_one_list() {
    let config = |full: Value, linear: Value| {
        llama(json!({
            "model_type": "kimi_linear", "num_hidden_layers": 4, "kv_lora_rank": 512,
            "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
            "linear_attn_config": {"full_attn_layers": full, "kda_layers": linear,
                "head_dim": 128, "num_heads": 32, "short_conv_kernel_size": 4}
        }))
    };
    import(&config(json!([4]), json!([1, 2, 3])));
    import(&config(json!([4]), Value::Null));
    for (full, linear, named) in [
        (json!([4]), json!([1, 2]), "kda_layers"),
        (json!([3, 4]), json!([1, 2, 3]), "kda_layers"),
        (json!([5]), json!([1, 2, 3, 4]), "full_attn_layers"),
        (json!([4]), json!([0, 1, 2, 3]), "kda_layers"),
    ] {
        let error = refusal(&config(full, linear)).to_string();
        assert!(error.contains(named), "{error}");
    }
}

#[test]
fn auto_is_the_only_word_for_a_size_of_mamba() {
    let two = |heads: Value, width: Value| {
        json!({
            "model_type": "falcon_h1", "head_dim": 128, "mamba_n_heads": heads,
            "mamba_d_head": width, "mamba_d_state": 128, "mamba_d_conv": 4, "mamba_n_groups": 1,
            "mamba_expand": 2
        })
    };
    import(&llama(two(json!(64), json!("auto"))));
    for (changes, key) in [
        (two(json!("64"), json!(128)), "mamba_n_heads"),
        (two(json!(64), json!("wide")), "mamba_d_head"),
        (
            json!({"model_type": "falcon_mamba", "state_size": 16, "conv_kernel": 4,
                "time_step_rank": "256"}),
            "time_step_rank",
        ),
    ] {
        let error = refusal(&llama(changes)).to_string();
        assert!(error.contains(key), "{error}");
    }
}

fn notes_of(section: Value, beside: Option<Value>) -> Vec<String> {
    let text = llama(json!({"quantization_config": section}));
    let beside = beside.map(|beside| beside.to_string());
    import_checkpoint(&text, beside.as_deref(), "config.json")
        .unwrap_or_else(|error| panic!("{error}"))
        .assumptions
}

fn says(notes: &[String], what: &str) -> bool {
    notes.iter().any(|note| note.contains(what))
}

#[test]
fn groups_that_say_nothing_are_said() {
    let groups = |groups: Value| {
        notes_of(
            json!({"quant_method": "compressed-tensors", "config_groups": groups}),
            None,
        )
    };
    for odd in [json!({}), json!({"b": 1}), Value::Null] {
        let notes = groups(json!({ "group_0": odd }));
        assert!(says(&notes, "BF16 until then"), "{notes:?}");
    }
    for size in [json!(0), Value::Null] {
        let notes = groups(json!({"group_0": {"targets": ["Linear"], "weights":
            {"num_bits": 4, "type": "int", "strategy": "group", "group_size": size}}}));
        assert!(says(&notes, "BF16 until then"), "{notes:?}");
    }
    for method in ["awq", "gptq"] {
        let notes = notes_of(
            json!({"quant_method": method, "bits": 4, "group_size": 0}),
            None,
        );
        assert!(says(&notes, "group_size 0"), "{notes:?}");
    }
}

#[test]
fn the_file_beside_is_named_where_it_is_wrong_or_contradicts() {
    for broken in ["{", "[]", "{\"a\": 1, \"a\": 2}"] {
        let error = import_checkpoint(&llama(json!({})), Some(broken), "config.json")
            .expect_err("refused")
            .to_string();
        assert!(error.starts_with("hf_quant_config.json: "), "{error}");
    }
    let beside = |word: &str| Some(json!({"quantization": {"quant_algo": word}}));
    let fp8 = json!({"quant_method": "fp8", "activation_scheme": "dynamic"});
    assert!(says(
        &notes_of(fp8.clone(), beside("NVFP4")),
        "contradict each other"
    ));
    assert!(!says(&notes_of(fp8, beside("FP8")), "contradict"));
    let modelopt = json!({"quant_method": "modelopt", "quant_algo": "FP8"});
    assert!(says(&notes_of(modelopt, beside("NVFP4")), "contradict"));
}
