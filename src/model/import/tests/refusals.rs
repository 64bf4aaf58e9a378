use super::catalogue::config_of;
use super::*;
use crate::model::{Attention, Span};

#[test]
fn what_generates_no_text_is_refused() {
    for change in [
        json!({"is_encoder_decoder": true}),
        json!({"model_type": "bert"}),
        json!({"model_type": "t5"}),
    ] {
        let key = change
            .as_object()
            .and_then(|map| map.keys().next().cloned());
        match refusal(&llama(change)) {
            ImportError::Unsupported { key: named, .. } => assert_eq!(Some(named), key),
            other => panic!("{other}"),
        }
    }
}

/// Nobody knows these, but their names say that they matter: said, and listed.
#[test]
fn keys_that_may_matter_are_said() {
    for key in ["moe_gadgets", "my_window", "ssm_wonders", "latent_things"] {
        let imported = import(&llama(json!({ key: 17 })));
        assert_eq!(imported.unused_keys, [key]);
        let said = imported.assumptions.iter().any(|note| note.contains(key));
        assert!(said, "{key}: {:?}", imported.assumptions);
        // Switched off it doesn't matter.
        assert!(import(&llama(json!({ key: 0 }))).assumptions.is_empty());
    }
    let unknown = import(&llama(json!({"model_type": "marvel"})));
    assert!(unknown.assumptions[0].contains("marvel"));
    assert_eq!(unknown.model.layers, preset("llama-3.1-8b").layers);
}

fn spans(changes: Value) -> Vec<(u32, Span)> {
    let model = import(&llama(changes)).model;
    let spans = model.layers.iter().map(|run| match &run.attention {
        Attention::Gqa(gqa) => (run.count, gqa.span),
        other => panic!("not {}", other.kind()),
    });
    spans.collect()
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
        assert_eq!(spans(change), [(32, Span::Full)]);
    }
}

#[test]
fn windows_are_where_the_rule_says() {
    let window = Span::Window(4096);
    let cases = [
        (json!({"sliding_window": 4096}), vec![(32, window)]),
        (
            json!({"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": true, "max_window_layers": 16}),
            vec![(16, Span::Full), (16, window)],
        ),
        (
            json!({"sliding_window": 4096, "sliding_window_pattern": 16}),
            vec![(15, window), (1, Span::Full), (15, window), (1, Span::Full)],
        ),
        (
            json!({"sliding_window": 4096, "sliding_window_pattern": format!("{}G", "L".repeat(31))}),
            vec![(31, window), (1, Span::Full)],
        ),
        (
            json!({"attention_chunk_size": 4096, "no_rope_layer_interval": 32}),
            vec![(31, Span::Chunk(4096)), (1, Span::Full)],
        ),
        (
            json!({"sliding_window": 4096, "hybrid_layer_pattern": ([vec![0; 1], vec![1; 31]].concat())}),
            vec![(1, Span::Full), (31, window)],
        ),
    ];
    for (change, expected) in cases {
        assert_eq!(spans(change.clone()), expected, "{change}");
    }
    // A list that says which layers, but no width.
    let error = refusal(&llama(
        json!({"layer_types": vec!["sliding_attention"; 32]}),
    ));
    assert!(error.to_string().contains("sliding_window"), "{error}");
}

/// Lists that describe layers: too short is an error that names the list, more is for MTP.
#[test]
fn lists_have_an_entry_per_layer() {
    let lists = [
        ("gpt-oss-20b", "layer_types", json!("full_attention")),
        ("MiMo-V2-Flash", "hybrid_layer_pattern", json!(0)),
        ("MiMo-V2-Flash", "moe_layer_freq", json!(1)),
        ("MiniMax-Text-01", "attn_type_list", json!(1)),
        ("DeepSeek-V4-Flash-NVFP4", "compress_ratios", json!(4)),
        (
            "Laguna-XS.2-FP8",
            "num_attention_heads_per_layer",
            json!(48),
        ),
        ("Laguna-XS.2-FP8", "mlp_layer_types", json!("sparse")),
        ("Hunyuan-Large", "moe_topk", json!(1)),
        ("Hunyuan-Large", "num_shared_expert", json!(1)),
        ("Llama-4-Scout-17B-16E-Instruct", "no_rope_layers", json!(1)),
        ("Llama-3.1-8B-Instruct", "num_key_value_heads", json!(8)),
        ("GLM-5", "indexer_types", json!("full")),
        ("granite-4.0-h-small", "layer_types", json!("mamba")),
    ];
    for (name, key, entry) in lists {
        let with = |length: usize| {
            let mut config = config_of(name);
            let list = vec![entry.clone(); length];
            let target = if config["text_config"].is_object() {
                &mut config["text_config"]
            } else {
                &mut config
            };
            merge(target, json!({ key: list }));
            import_config(&config.to_string(), "config.json")
        };
        let error = with(3).expect_err(name).to_string();
        assert!(error.contains(key), "{name}: {error}");
        assert!(with(100).is_ok(), "{name} {key}: {:?}", with(100).err());
    }
    let letters = config_of("Nemotron-H-8B-Base-8K");
    let mut short = letters;
    merge(&mut short, json!({"hybrid_override_pattern": "M-M*"}));
    let error = refusal(&short.to_string()).to_string();
    assert!(error.contains("hybrid_override_pattern"), "{error}");
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
    let rows = [
        ("Qwen3-Next-80B-A3B-Instruct", "linear_value_head_dim"),
        ("Kimi-Linear-48B-A3B-Instruct", "kv_lora_rank"),
        ("DeepSeek-V4-Flash-NVFP4", "o_lora_rank"),
        ("DeepSeek-V4-Flash-NVFP4", "index_head_dim"),
        ("Bamba-9B-v1", "mamba_d_state"),
        ("MiMo-V2-Flash", "sliding_window_size"),
        ("gpt-oss-20b", "num_experts_per_tok"),
    ];
    for (name, key) in rows {
        let mut config = config_of(name);
        merge(&mut config, json!({ key: null }));
        let error = refusal(&config.to_string()).to_string();
        let named = error.contains(key.trim_end_matches("_size").trim_end_matches("_rank"));
        assert!(
            named || error.contains("sliding_window"),
            "{name} {key}: {error}"
        );
    }
    // Llama from before GQA: one key-value head per query head, and said so.
    let old = import(&llama(json!({"num_key_value_heads": null})));
    assert_eq!(old.model.layers[0].attention.kv_heads(), 32);
    assert!(
        old.assumptions
            .iter()
            .any(|note| note.contains("num_key_value_heads"))
    );
}
