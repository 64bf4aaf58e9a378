use super::*;

#[test]
fn what_cannot_be_priced_is_refused_by_its_key() {
    let cases = [
        (
            json!({"model_type": "mistral", "sliding_window": 4096}),
            "sliding_window",
        ),
        (
            json!({"layer_types": vec!["sliding_attention"; 32]}),
            "layer_types",
        ),
        (
            json!({"layer_types": vec!["linear_attention"; 32]}),
            "layer_types",
        ),
        (
            json!({"attention_chunk_size": 8192}),
            "attention_chunk_size",
        ),
        (json!({"index_topk": 2048}), "index_topk"),
        (
            json!({"full_attention_interval": 4}),
            "full_attention_interval",
        ),
        (
            json!({"hybrid_override_pattern": "M-M*"}),
            "hybrid_override_pattern",
        ),
        (json!({"moe_latent_size": 1024}), "moe_latent_size"),
        (
            json!({"block_configs": [{"attention": {}}]}),
            "block_configs",
        ),
        (json!({"share_q_dim": 2048}), "share_q_dim"),
        (json!({"attn_type_list": [0, 1]}), "attn_type_list"),
        (json!({"v_head_dim": 192}), "v_head_dim"),
        (json!({"hidden_act": "relu2"}), "hidden_act"),
        (json!({"model_type": "starcoder2"}), "model_type"),
        (json!({"is_encoder_decoder": true}), "is_encoder_decoder"),
        // Nobody knows these, but their names say that they matter.
        (json!({"moe_num_experts": 48}), "moe_num_experts"),
        (json!({"my_window": 17}), "my_window"),
    ];
    for (change, key) in cases {
        match refusal(&llama(change)) {
            ImportError::Unsupported { key: named, .. } => assert_eq!(named, key),
            other => panic!("{key}: {other}"),
        }
    }
}

#[test]
fn switched_off_windows_are_no_windows() {
    for change in [
        json!({"sliding_window": null}),
        json!({"sliding_window": 4096, "use_sliding_window": false}),
        json!({"model_type": "qwen2", "sliding_window": 4096, "max_window_layers": 28}),
        json!({"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": true, "max_window_layers": 32}),
        json!({"sliding_window": 131_072}),
        json!({"layer_types": vec!["full_attention"; 32]}),
    ] {
        import(&llama(change));
    }
    let on = json!({"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": true, "max_window_layers": 16});
    assert!(matches!(
        refusal(&llama(on)),
        ImportError::Unsupported { .. }
    ));
}

#[test]
fn missing_keys_that_decide_are_named() {
    for key in [
        "hidden_size",
        "intermediate_size",
        "num_hidden_layers",
        "num_attention_heads",
        "vocab_size",
    ] {
        let error = refusal(&llama(json!({ key: null })));
        assert!(
            matches!(&error, ImportError::Missing { key: named, .. } if named == key),
            "{error}"
        );
    }
    for key in [
        "num_key_value_heads",
        "head_dim",
        "moe_intermediate_size",
        "num_experts",
    ] {
        let error = refusal(&qwen_moe(json!({ key: null })));
        assert!(
            matches!(&error, ImportError::Missing { key: named, .. } if named == key),
            "{error}"
        );
    }
    let error = refusal(&DEEPSEEK_V3.replace("first_k_dense_replace", "_"));
    assert!(
        error.to_string().contains("first_k_dense_replace"),
        "{error}"
    );
    // Llama from before GQA: one key-value head per query head, and said so.
    let old = import(&llama(json!({"num_key_value_heads": null})));
    assert_eq!(old.model.layers[0].attention.kv_heads(), 32);
    assert!(
        old.assumptions
            .iter()
            .any(|note| note.contains("num_key_value_heads"))
    );
}
