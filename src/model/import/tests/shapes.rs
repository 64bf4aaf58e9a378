use super::*;
use crate::catalog::Dtype;
use crate::model::{Attention, Ffn, Gqa, kv_bytes_per_token, parameters, weight_bytes};

#[test]
fn stock_files_give_the_presets() {
    let qwen = import(QWEN3_30B);
    assert_same_shape(&qwen.model, "qwen3-30b-a3b");
    assert_eq!(qwen.assumptions, Vec::<String>::new());
    assert_eq!(qwen.unused_keys, Vec::<String>::new());
    assert_eq!(qwen.precision_hint, None);

    let deepseek = import(DEEPSEEK_V3);
    assert_same_shape(&deepseek.model, "deepseek-v3");
    assert_eq!(
        deepseek.assumptions.len(),
        1,
        "MTP: {:?}",
        deepseek.assumptions
    );
    assert_eq!(deepseek.unused_keys, Vec::<String>::new());
    assert_eq!(deepseek.precision_hint, Some(Precision::FP8));
    assert_eq!(parameters(&deepseek.model).total(), 671_026_419_200);
}

#[test]
fn other_families_give_their_presets() {
    let glm = json!({
        "architectures": ["Glm4MoeForCausalLM"], "model_type": "glm4_moe", "attention_bias": true,
        "use_qk_norm": true, "first_k_dense_replace": 3, "head_dim": 128, "hidden_act": "silu",
        "hidden_size": 5120, "intermediate_size": 12288, "max_position_embeddings": 131072,
        "moe_intermediate_size": 1536, "n_group": 1, "topk_group": 1, "n_routed_experts": 160,
        "n_shared_experts": 1, "num_attention_heads": 96, "num_experts_per_tok": 8,
        "num_hidden_layers": 92, "num_key_value_heads": 8, "num_nextn_predict_layers": 1,
        "partial_rotary_factor": 0.5, "routed_scaling_factor": 2.5, "tie_word_embeddings": false,
        "vocab_size": 151552
    });
    assert_same_shape(&import(&glm.to_string()).model, "glm-4.5");

    let minimax = json!({
        "model_type": "minimax_m2", "hidden_size": 3072, "intermediate_size": 1536,
        "num_hidden_layers": 62, "num_attention_heads": 48, "num_key_value_heads": 8,
        "head_dim": 128, "rotary_dim": 64, "num_local_experts": 256, "num_experts_per_tok": 8,
        "shared_intermediate_size": 0, "scoring_func": "sigmoid", "use_routing_bias": true,
        "use_qk_norm": true, "qk_norm_type": "per_layer", "max_position_embeddings": 196608,
        "vocab_size": 200064, "attn_type_list": vec![1; 62], "use_mtp": true,
        "num_mtp_modules": 3, "mtp_transformer_layers": 1, "tie_word_embeddings": false
    });
    let minimax = import(&minimax.to_string());
    assert_same_shape(&minimax.model, "minimax-m2");
    assert_eq!(minimax.unused_keys, Vec::<String>::new());

    let mixtral = json!({
        "model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "num_local_experts": 8, "num_experts_per_tok": 2, "max_position_embeddings": 32768,
        "sliding_window": null, "vocab_size": 32000, "tie_word_embeddings": false
    });
    assert_same_shape(&import(&mixtral.to_string()).model, "mixtral-8x7b");
    assert_same_shape(&import(&llama(json!({}))).model, "llama-3.1-8b");
}

/// Heads wider than hidden / heads, and the head tied to the embedding.
#[test]
fn stated_head_width_and_tied_embeddings_count() {
    let text = r#"{"model_type":"qwen3","hidden_size":1024,"num_attention_heads":16,
        "num_key_value_heads":8,"head_dim":128,"num_hidden_layers":28,"intermediate_size":3072,
        "vocab_size":151936,"tie_word_embeddings":true}"#;
    let model = import(text).model;
    assert_eq!(kv_bytes_per_token(&model, Dtype::Bf16).get(), 114_688);
    assert_eq!(parameters(&model).total(), 596_049_920);
    let untied = import(&text.replace("true", "false")).model;
    assert_eq!(parameters(&untied).total(), 596_049_920 + 151_936 * 1024);
}

#[test]
fn mla_is_not_read_as_gqa() {
    let model = import(DEEPSEEK_V3).model;
    assert_eq!(kv_bytes_per_token(&model, Dtype::Bf16).get(), 70_272);
    assert_eq!(kv_bytes_per_token(&model, Dtype::Fp8).get(), 35_136);
    assert_eq!(model.layers[0].count, 3);
    assert_eq!(model.layers[0].ffn, Ffn::gated(18_432));
    assert_eq!(model.moe().map(|moe| moe.shared_intermediate), Some(2048));
    // The number of experts under another tool's key is the same number.
    let renamed = import(&DEEPSEEK_V3.replace("n_routed_experts", "num_routed_experts"));
    assert_eq!(renamed.model.layers, model.layers);
}

#[test]
fn queries_may_be_uncompressed() {
    let with = import(DEEPSEEK_V3).model;
    let without = import(&DEEPSEEK_V3.replace(r#""q_lora_rank": 1536"#, r#""q_lora_rank": null"#));
    assert!(
        matches!(&without.model.layers[0].attention, Attention::Mla(mla) if mla.q_rank.is_none())
    );
    let saved = 7168 * 128 * 192 - 1536 * (7168 + 128 * 192 + 1);
    let difference = parameters(&without.model).total() - parameters(&with).total();
    assert_eq!(difference, 61 * saved);
}

/// Kimi-K2.5: MLA in `text_config`, a vision tower beside it.
#[test]
fn nested_mla() {
    let mut text: Value = serde_json::from_str(DEEPSEEK_V3).expect("JSON");
    merge(
        &mut text,
        json!({
            "model_type": "kimi_k2", "num_attention_heads": 64, "num_key_value_heads": 64,
            "n_routed_experts": 384, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1,
            "vocab_size": 163840, "max_position_embeddings": 262144, "num_nextn_predict_layers": 0
        }),
    );
    let config = json!({
        "architectures": ["KimiK25ForConditionalGeneration"], "model_type": "kimi_k25",
        "media_placeholder_token_id": 163605, "use_unified_vision_chunk": true,
        "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27}, "text_config": text
    });
    let imported = import(&config.to_string());
    assert_eq!(imported.model.layers, preset("kimi-k2").layers);
    assert_eq!(
        kv_bytes_per_token(&imported.model, Dtype::Bf16).get(),
        70_272
    );
    let total = parameters(&imported.model).total() as f64 / 1e9;
    assert!((total - 1026.4).abs() < 0.05, "{total}");
    assert!(
        imported.assumptions[0].contains("text_config"),
        "{:?}",
        imported.assumptions
    );
    assert_eq!(imported.unused_keys, Vec::<String>::new());
}

/// Mistral-Small-3.2: GQA in `text_config`.
#[test]
fn nested_gqa() {
    let config = json!({
        "architectures": ["Mistral3ForConditionalGeneration"], "model_type": "mistral3",
        "image_token_index": 10, "multimodal_projector_bias": false, "spatial_merge_size": 2,
        "projector_hidden_act": "gelu", "vision_feature_layer": -1, "torch_dtype": "bfloat16",
        "text_config": {
            "attention_dropout": 0.0, "head_dim": 128, "hidden_act": "silu", "hidden_size": 5120,
            "initializer_range": 0.02, "intermediate_size": 32768,
            "max_position_embeddings": 131072, "model_type": "mistral", "num_attention_heads": 32,
            "num_hidden_layers": 40, "num_key_value_heads": 8, "rms_norm_eps": 1e-5,
            "rope_theta": 1e9, "sliding_window": null, "use_cache": true, "vocab_size": 131072
        },
        "vision_config": {"hidden_size": 1024, "num_attention_heads": 16}
    });
    let imported = import(&config.to_string());
    assert_eq!(
        kv_bytes_per_token(&imported.model, Dtype::Bf16).get(),
        163_840
    );
    let weights = weight_bytes(&imported.model, Precision::BF16);
    assert!(
        (weights.as_f64() / 2e9 - 23.6).abs() < 0.1,
        "a 24B model with its tower: {weights}"
    );
    assert_eq!(imported.unused_keys, Vec::<String>::new());
    // What is wrong in the section is reported with its path.
    let broken = config
        .to_string()
        .replace(r#""num_hidden_layers":40"#, r#""num_hidden_layers":"40""#);
    assert!(
        refusal(&broken)
            .to_string()
            .contains("text_config.num_hidden_layers")
    );
}

#[test]
fn a_head_of_fractional_width_is_refused_by_both_names() {
    let odd = json!({"hidden_size": 1792, "num_attention_heads": 24, "num_key_value_heads": 8});
    let error = refusal(&llama(odd.clone()));
    assert_eq!(
        error,
        ImportError::HeadWidth {
            hidden: 1792,
            heads: 24
        }
    );
    let text = error.to_string();
    assert!(
        text.contains("hidden_size") && text.contains("num_attention_heads"),
        "{text}"
    );
    let mut stated = odd;
    merge(&mut stated, json!({"head_dim": 128}));
    let model = import(&llama(stated)).model;
    assert!(matches!(
        &model.layers[0].attention,
        Attention::Gqa(Gqa { head_dim: 128, .. })
    ));
}

#[test]
fn moe_layers_are_where_the_rule_says() {
    let runs = |changes| -> Vec<(u32, bool)> {
        let model = import(&qwen_moe(changes)).model;
        let runs = model.layers.iter();
        runs.map(|run| (run.count, matches!(run.ffn, Ffn::Moe(_))))
            .collect()
    };
    assert_eq!(
        runs(json!({"mlp_only_layers": [0, 1, 47]})),
        [(2, false), (45, true), (1, false)]
    );
    let every_second = runs(json!({"decoder_sparse_step": 2}));
    assert_eq!(every_second.len(), 48);
    assert_eq!(every_second[..2], [(1, false), (1, true)]);
    let mut flags = vec![1; 48];
    flags[0] = 0;
    assert_eq!(
        runs(json!({"moe_layer_freq": flags})),
        [(1, false), (47, true)]
    );
    let error = refusal(&qwen_moe(json!({"moe_layer_freq": [0, 1]})));
    assert!(
        matches!(error, ImportError::Contradiction { .. }),
        "{error}"
    );
    let mut names = vec!["sparse"; 48];
    names[0] = "dense";
    assert_eq!(
        runs(json!({"mlp_layer_types": names})),
        [(1, false), (47, true)]
    );
}

#[test]
fn shared_experts_have_several_spellings() {
    let shared = |changes| {
        let model = import(&qwen_moe(changes)).model;
        model.moe().map_or(0, |moe| moe.shared_intermediate)
    };
    assert_eq!(shared(json!({})), 0);
    assert_eq!(shared(json!({"n_shared_experts": 2})), 1536);
    assert_eq!(
        shared(json!({"shared_expert_intermediate_size": 5632})),
        5632
    );
    let both = json!({"n_shared_experts": 2, "shared_expert_intermediate_size": 5632});
    assert!(matches!(
        refusal(&qwen_moe(both)),
        ImportError::Contradiction { .. }
    ));
}

#[test]
fn biases_and_norms_follow_the_family() {
    let attention = |changes| match import(&llama(changes)).model.layers.remove(0).attention {
        Attention::Gqa(gqa) => (gqa.qkv_bias, gqa.qk_norm, gqa.qk_norm_whole),
        other => panic!("not {}", other.kind()),
    };
    assert_eq!(attention(json!({})), (false, false, false));
    assert_eq!(
        attention(json!({"model_type": "qwen2"})),
        (true, false, false)
    );
    assert_eq!(
        attention(json!({"model_type": "qwen3", "head_dim": 128})),
        (false, true, false)
    );
    assert_eq!(
        attention(json!({"model_type": "olmo2"})),
        (false, true, true)
    );
    assert_eq!(
        attention(json!({"attention_bias": true})),
        (true, false, false)
    );
}

#[test]
fn unknown_keys_are_listed_sorted() {
    let imported = import(&llama(json!({
        "zeta": 1, "alpha": {"b": 2}, "nothing": null, "rope_theta": 500000.0, "bos_token_id": 1
    })));
    assert_eq!(imported.unused_keys, ["alpha", "zeta"]);
}

/// Re-saved multimodal files state the language model twice, at the top and in its section.
#[test]
fn a_section_goes_before_the_top() {
    let section: Value = serde_json::from_str(&llama(json!({}))).expect("JSON");
    let top = json!({
        "text_config": section, "hidden_size": 64, "sliding_window": 4096, "max_window_layers": 3,
        "tie_word_embeddings": true, "zeta": 1
    });
    let mut both = top;
    merge(
        &mut both["text_config"],
        json!({"sliding_window": null, "max_window_layers": 32}),
    );
    let imported = import(&both.to_string());
    assert_same_shape(&imported.model, "llama-3.1-8b");
    assert_eq!(imported.unused_keys, ["zeta"]);
    let said = |word| imported.assumptions.iter().any(|note| note.contains(word));
    assert!(said("tie_word_embeddings"), "{:?}", imported.assumptions);
}

#[test]
fn wide_checkpoints_are_counted_as_they_are_served() {
    let said = |dtype: &str| {
        let read = import(&llama(json!({"torch_dtype": dtype})));
        read.assumptions.iter().any(|text| text.contains("FP32"))
    };
    assert!(said("float32"));
    assert!(!said("bfloat16"));
}

#[test]
fn names_come_from_the_repository_then_the_file() {
    let name = |changes, file: &str| {
        let imported = import_config(&llama(changes), file).expect("imports");
        (imported.model.name, imported.model.id.to_string())
    };
    let stated = json!({"_name_or_path": "meta-llama/Llama-3.1-8B"});
    assert_eq!(
        name(stated, "config.json"),
        ("Llama-3.1-8B".into(), "llama-3.1-8b".into())
    );
    assert_eq!(name(json!({}), "/tmp/My Model.json").0, "My Model");
    assert_eq!(name(json!({}), "config.json").0, "llama");
    assert_eq!(
        name(json!({"_name_or_path": "./"}), "/tmp/Qwen--Qwen3-8B.json").0,
        "Qwen3-8B"
    );
    assert_eq!(name(json!({"model_type": null}), "…").0, "imported model");
}
