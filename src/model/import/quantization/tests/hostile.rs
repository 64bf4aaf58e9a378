//! Sections from strangers: an answer or a reason that names the field, never a panic or a hang.

use super::*;
use proptest::prelude::*;

fn refusal(config: Value) -> String {
    let config = object(config);
    let top = Fields::new(&config, "");
    let mut model = preset("qwen3-30b-a3b");
    apply(&mut model, &top, &top, None, &mut Vec::new())
        .expect_err("refused")
        .to_string()
}

#[test]
fn refusals_name_the_field() {
    let weights = |weights: Value| {
        json!({"quant_method": "compressed-tensors",
            "config_groups": {"g": {"targets": ["Linear"], "weights": weights}}})
    };
    let many: Vec<String> = (0..300).map(|n| format!("re:a{n}.*")).collect();
    let cases = [
        (json!("fp8"), "quantization_config"),
        (json!({"quant_method": 8}), "quant_method"),
        (
            json!({"quant_method": "fp8", "weight_block_size": 128}),
            "weight_block_size",
        ),
        (
            json!({"quant_method": "fp8", "weight_block_size": [128]}),
            "weight_block_size",
        ),
        (
            json!({"quant_method": "fp8", "weight_block_size": [0, 128]}),
            "weight_block_size",
        ),
        (
            json!({"quant_method": "fp8", "ignored_layers": [3]}),
            "ignored_layers.0",
        ),
        (
            json!({"quant_method": "fp8", "ignored_layers": "all"}),
            "ignored_layers",
        ),
        (
            json!({"quant_method": "fp8", "ignored_layers": ["re:("]}),
            "ignored_layers",
        ),
        (
            json!({"quant_method": "fp8", "ignored_layers": ["re:(a{1000}){1000}"]}),
            "ignored_layers",
        ),
        (
            json!({"quant_method": "fp8", "ignored_layers": ["a".repeat(1000)]}),
            "ignored_layers",
        ),
        (
            json!({"quant_method": "fp8", "ignored_layers": many}),
            "ignored_layers",
        ),
        (json!({"quant_method": "awq", "bits": "four"}), "bits"),
        (
            json!({"quant_method": "gptq", "bits": 4, "group_size": 1_u64 << 40}),
            "group_size",
        ),
        (weights(json!(8)), "config_groups.g.weights"),
        (weights(json!({"num_bits": 0})), "num_bits"),
        (weights(json!({"num_bits": 8, "type": 1})), "type"),
        (
            json!({"quant_method": "modelopt", "quant_algo": 4}),
            "quant_algo",
        ),
        (
            json!({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION",
                "quantized_layers": {"a": 3}}),
            "quantized_layers.a",
        ),
    ];
    for (quantization, field) in cases {
        let message = refusal(json!({"quantization_config": quantization.clone()}));
        assert!(message.contains(field), "{quantization}: {message}");
    }
}

/// Python's look-around isn't refused, but said.
#[test]
fn look_around_is_said() {
    let (_, precision, notes) = section(
        preset("qwen3-8b"),
        json!({"quant_method": "fp8", "ignored_layers": ["re:.*(?!mlp).*"]}),
    );
    assert_eq!(precision, Some(Precision::FP8));
    assert!(
        notes.iter().any(|note| note.contains("look-around")),
        "{notes:?}"
    );
}

/// As many layers and names as may be: a second or two even without optimisation.
#[test]
fn long_lists_are_read_in_time() {
    let run = LayerRun::new(
        1000,
        Attention::Mla(Mla {
            heads: 4,
            kv_rank: 64,
            nope_dim: 16,
            rope_dim: 16,
            v_dim: 16,
            q_rank: Some(64),
            ..Mla::default()
        }),
        Ffn::Moe(Moe {
            experts: 64,
            top_k: 1,
            intermediate: 64,
            shared_intermediate: 64,
            ..Moe::default()
        }),
    );
    let model = Model::of_layers(id("long"), 64, 1000, vec![run]);
    let mut ignore: Vec<String> = (0..40)
        .map(|n| format!("re:(.*\\.)*(layers|h)\\.[0-9]*{n}\\.(.*attn|mlp).*[a-z]_proj.*x"))
        .collect();
    for layer in 0..1000 {
        ignore.push(format!("model.layers.{layer}.self_attn*"));
        for expert in 0..64 {
            ignore.push(format!("model.layers.{layer}.mlp.experts.{expert}.up_proj"));
        }
    }
    let start = std::time::Instant::now();
    let (model, precision, _) = section(
        model,
        json!({"quant_method": "fp8", "ignored_layers": ignore}),
    );
    assert!(precision.is_some());
    assert_eq!(model.layers.len(), 1);
    assert_eq!(model.layers[0].kept.attention, Some(Dtype::Bf16));
    let seconds = start.elapsed().as_secs_f64();
    assert!(seconds < 60.0, "{seconds} s");
}

fn any_json() -> impl Strategy<Value = Value> {
    let words = vec![
        "fp8",
        "mxfp4",
        "modelopt",
        "NVFP4",
        "MIXED_PRECISION",
        "compressed-tensors",
        "float",
        "int",
        "quark",
        "awq",
        "gptq",
        "bitsandbytes",
        "hqq",
        "torchao",
        "auto-round",
        "Linear",
        "re:.*self_attn.*",
        "re:(",
        "*.mlp*",
        "lm_head",
        "fp4",
        "channel",
        "block",
        "ue8m0",
        "model.layers.0.mlp.experts.3.up_proj",
        "[",
        "[!a",
        "*",
        ".",
        "re:",
        "quark",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0_u64..200).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        proptest::sample::select(words).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(any_key(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_key() -> impl Strategy<Value = String> {
    let keys = vec![
        "quant_method",
        "quant_algo",
        "config_groups",
        "group_0",
        "weights",
        "input_activations",
        "num_bits",
        "type",
        "group_size",
        "strategy",
        "block_structure",
        "symmetric",
        "targets",
        "ignore",
        "ignored_layers",
        "modules_to_not_convert",
        "exclude_modules",
        "exclude",
        "kv_cache_scheme",
        "kv_cache_quant_algo",
        "quantized_layers",
        "weight_block_size",
        "scale_fmt",
        "bits",
        "sym",
        "zero_point",
        "lm_head",
        "load_in_4bit",
        "dynamic",
        "extra_config",
        "global_quant_config",
        "layer_quant_config",
        "weight",
        "dtype",
        "quant_type",
        "default",
        "quant_config",
        "weight_quant_params",
        "nbits",
        "scale_dtype",
    ];
    prop_oneof![6 => proptest::sample::select(keys).prop_map(str::to_owned), 1 => "\\PC{0,8}"]
}

proptest! {
    #[test]
    fn arbitrary_sections_give_sound_models_or_reasons(
        method in proptest::sample::select(vec!["fp8", "compressed-tensors", "modelopt", "quark",
            "awq", "gptq", "mxfp4", "bitsandbytes", "hqq", "torchao", "auto-round", ""]),
        keys in proptest::collection::btree_map(any_key(), any_json(), 0..8),
        beside in any_json(),
        experts in any_json(),
    ) {
        let mut keys: Map<String, Value> = keys.into_iter().collect();
        keys.insert("quant_method".to_owned(), Value::from(method));
        let config = object(json!({"quantization_config": keys, "expert_dtype": experts}));
        let beside = object(json!({"quantization": beside}));
        // As read so far: the section is what says how it is quantised.
        let mut plain = preset("deepseek-v3");
        plain.quantization = None;
        for config in [config, Map::new()] {
            let mut model = plain.clone();
            let top = Fields::new(&config, "");
            let beside = Fields::new(&beside, "");
            let mut notes = Vec::new();
            match apply(&mut model, &top, &top, Some(&beside), &mut notes) {
                Ok(precision) => {
                    prop_assert!(model.check().is_ok());
                    prop_assert_eq!(model.layer_count(), plain.layer_count());
                    prop_assert_eq!(parameters(&model).total(), parameters(&plain).total());
                    prop_assert_eq!(precision.is_some(), model.quantization.is_some());
                }
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }
}
