use super::*;
use crate::model::parameters;
use proptest::prelude::*;

#[test]
fn hostile_files_are_refused_with_a_reason() {
    let cases = [
        ("", "empty"),
        ("<!DOCTYPE html><html></html>", "web page"),
        ("version https://git-lfs.github.com/spec/v1", "LFS"),
        ("[1, 2]", "object"),
        ("{\"hidden_size\": NaN}", "hidden_size is NaN"),
        ("{\"hidden_size\": 1e999}", "line 1"),
        ("{\"a\": 1} {\"b\": 2}", "trailing"),
        ("{\"a\": {\"b\": [{\"c\": 1, \"c\": 2}]}}", "a.b.0.c"),
        ("{\"text_config\": 3}", "text_config"),
    ];
    for (text, expected) in cases {
        let message = refusal(text).to_string();
        assert!(message.contains(expected), "{text}: {message}");
    }
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(matches!(refusal(&deep), ImportError::Syntax { .. }));
    let message = refusal(&deep).to_string();
    assert!(
        message.contains("recursion limit") && message.contains("in a.0.0.0.…"),
        "{message}"
    );
    let broken = refusal("{\"text_config\": {\"hidden_size\": 40x}}").to_string();
    assert!(broken.contains("in text_config"), "{broken}");
    let long = " ".repeat(16 * 1024 * 1024 + 1);
    assert!(matches!(refusal(&long), ImportError::TooLarge { .. }));
    let many = format!("{{\"a\": [{}0]}}", "0,".repeat(1_000_000));
    assert!(matches!(refusal(&many), ImportError::TooMany { .. }));
}

#[test]
fn impossible_numbers_are_refused_by_their_key() {
    let cases = [
        json!({"hidden_size": 0}),
        json!({"hidden_size": -4096}),
        json!({"hidden_size": "4096"}),
        json!({"hidden_size": 4096.5}),
        json!({"hidden_size": 1e30}),
        json!({"hidden_size": u64::MAX}),
        json!({"hidden_size": true}),
        json!({"hidden_size": [4096]}),
        json!({"num_hidden_layers": 0}),
        json!({"num_hidden_layers": 1_000_000}),
        json!({"num_attention_heads": 0}),
        json!({"num_key_value_heads": 0}),
        json!({"num_key_value_heads": 64}),
        json!({"num_key_value_heads": 7}),
        json!({"vocab_size": 0}),
        json!({"tie_word_embeddings": "false"}),
        json!({"max_position_embeddings": -1}),
        json!({"num_experts": 8, "num_experts_per_tok": 9, "moe_intermediate_size": 64}),
        json!({"num_experts": 8, "num_local_experts": 16}),
        json!({"quantization_config": "fp8"}),
    ];
    for change in cases {
        let key = change
            .as_object()
            .and_then(|map| map.keys().next().cloned())
            .expect("a key");
        let error = refusal(&llama(change));
        let message = error.to_string();
        let named = message.contains(&key) || message.contains("num_experts_per_tok");
        assert!(named, "{key}: {message}");
    }
    // Each in range, together beyond anything.
    let giant = json!({"hidden_size": 1_000_000, "intermediate_size": 1_000_000, "num_hidden_layers": 1000,
        "head_dim": 128});
    assert!(matches!(refusal(&llama(giant)), ImportError::Shape(_)));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0_u64..300).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        proptest::sample::select(vec![
            "full_attention",
            "fp8",
            "modelopt",
            "FP8",
            "float",
            "qwen3"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(any_key(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Keys that mean something here, and keys that don't.
fn any_key() -> impl Strategy<Value = String> {
    let mut keys: Vec<String> = Vec::new();
    for text in [QWEN3_30B, DEEPSEEK_V3] {
        let map: serde_json::Map<String, Value> = serde_json::from_str(text).expect("JSON");
        keys.extend(map.into_iter().map(|(key, _)| key));
    }
    for key in [
        "text_config",
        "config_groups",
        "group_0",
        "weights",
        "num_bits",
        "type",
        "ignore",
        "kv_cache_scheme",
        "layer_types",
        "attn_type_list",
        "mlp_layer_types",
        "num_local_experts",
    ] {
        keys.push(key.to_owned());
    }
    prop_oneof![4 => proptest::sample::select(keys), 1 => ".{0,8}".prop_map(String::from)]
}

/// Every published model's keys.
fn published_configs() -> &'static [Value] {
    static CONFIGS: std::sync::OnceLock<Vec<Value>> = std::sync::OnceLock::new();
    CONFIGS.get_or_init(super::catalogue::configs)
}

/// A key some published model has.
fn published_key() -> impl Strategy<Value = String> {
    let mut keys: Vec<String> = published_configs()
        .iter()
        .flat_map(|config| {
            let inner = config["text_config"].as_object().or(config.as_object());
            inner.into_iter().flat_map(|map| map.keys().cloned())
        })
        .collect();
    keys.sort();
    keys.dedup();
    proptest::sample::select(keys)
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}") {
        let _ = import_config(&text, &text);
    }

    #[test]
    fn arbitrary_json_never_panics(value in any_json()) {
        let _ = import_config(&value.to_string(), "config.json");
    }

    /// What a mutated file still gives is a model that passes its check and can be priced.
    #[test]
    fn mutated_files_give_sound_models_or_reasons(
        which in proptest::sample::select(vec![QWEN3_30B, DEEPSEEK_V3]),
        nested in any::<bool>(),
        changes in proptest::collection::btree_map(any_key(), any_json(), 1..4),
    ) {
        let mut config: Value = serde_json::from_str(which).expect("JSON");
        merge(&mut config, Value::Object(changes.into_iter().collect()));
        if nested {
            config = json!({"text_config": config});
        }
        match import_config(&config.to_string(), "config.json") {
            Ok(imported) => {
                prop_assert!(imported.model.check().is_ok());
                prop_assert!(parameters(&imported.model).total() > 0);
                prop_assert!(imported.unused_keys.is_sorted());
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    /// The same of every kind of file there is.
    #[test]
    fn mutated_published_files_give_sound_models_or_reasons(
        which in 0..published_configs().len(),
        changes in proptest::collection::btree_map(published_key(), any_json(), 1..4),
    ) {
        let mut config = published_configs()[which].clone();
        let target = if config["text_config"].is_object() { &mut config["text_config"] } else { &mut config };
        merge(target, Value::Object(changes.into_iter().collect()));
        if let Ok(imported) = import_config(&config.to_string(), "config.json") {
            prop_assert!(imported.model.check().is_ok());
            prop_assert!(parameters(&imported.model).total() > 0);
        }
    }

    #[test]
    fn cut_files_never_panic(cut in 0..DEEPSEEK_V3.len()) {
        let _ = import_config(&DEEPSEEK_V3[..cut], "config.json");
    }
}
