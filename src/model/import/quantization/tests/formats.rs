//! Every exporter's keys, and what they come to.

use super::*;

fn llama() -> Model {
    preset("llama-3.1-8b")
}

/// Weights, inputs, KV, bits of scale per weights, bits of the LM head.
fn facts(quantization: Value) -> (Dtype, Dtype, Dtype, Option<(u64, u64)>, Option<Dtype>) {
    let (model, precision, notes) = section(llama(), quantization);
    assert!(notes.is_empty(), "{notes:?}");
    let precision = precision.expect("known");
    let own = model.quantization.expect("quantised");
    assert_eq!(own.weights, precision.weights);
    let scale = own.scale.map(|scale| (scale.bits, scale.per));
    (
        precision.weights,
        precision.activations,
        precision.kv,
        scale,
        own.head,
    )
}

fn group(weights: Value, inputs: Value) -> Value {
    json!({"quant_method": "compressed-tensors", "ignore": ["lm_head"],
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights,
            "input_activations": inputs}}})
}

#[test]
fn every_exporter_is_read() {
    use Dtype::{Bf16, Fp4, Fp8, Int4, Int8, Mxfp4};
    let eight = json!({"num_bits": 8, "type": "float"});
    let int = json!({"num_bits": 8, "type": "int", "strategy": "channel"});
    let nv = json!({"num_bits": 4, "type": "float", "group_size": 16});
    let blocks = json!({"num_bits": 8, "type": "float", "strategy": "block",
        "block_structure": [128, 128]});
    let four = |symmetric| json!({"num_bits": 4, "type": "int", "group_size": 128, "symmetric": symmetric});
    let mx =
        json!({"num_bits": 4, "type": "float", "group_size": 32, "scale_dtype": "torch.uint8"});
    let cases = [
        (json!({"quant_method": "fp8"}), (Fp8, Fp8, Bf16, None, None)),
        (fp8_blocks(), (Fp8, Fp8, Bf16, Some((32, 16_384)), None)),
        (
            json!({"quant_method": "fp8", "weight_block_size": [128, 128], "scale_fmt": "ue8m0"}),
            (Fp8, Fp8, Bf16, Some((8, 16_384)), None),
        ),
        (
            json!({"quant_method": "mxfp8", "weight_block_size": [1, 32]}),
            (Fp8, Fp8, Bf16, Some((8, 32)), None),
        ),
        (
            json!({"quant_method": "fbgemm_fp8"}),
            (Fp8, Fp8, Bf16, None, None),
        ),
        (group(eight.clone(), eight), (Fp8, Fp8, Bf16, None, None)),
        (group(int.clone(), int), (Int8, Int8, Bf16, None, None)),
        (group(nv.clone(), nv), (Fp4, Fp4, Bf16, None, None)),
        (
            group(blocks, Value::Null),
            (Fp8, Bf16, Bf16, Some((16, 16_384)), None),
        ),
        (
            group(four(true), Value::Null),
            (Int4, Bf16, Bf16, Some((16, 128)), None),
        ),
        (
            group(four(false), Value::Null),
            (Int4, Bf16, Bf16, Some((20, 128)), None),
        ),
        (group(mx, Value::Null), (Mxfp4, Bf16, Bf16, None, None)),
        (
            json!({"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8",
                "ignore": ["lm_head"]}),
            (Fp4, Fp4, Fp8, None, None),
        ),
        (
            json!({"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["lm_head"],
                "kv_cache_scheme": {"num_bits": 8, "type": "float", "dynamic": false},
                "config_groups": {"group_0": {"targets": ["Linear"]}}}),
            (Fp8, Fp8, Fp8, None, None),
        ),
        (
            json!({"quant_method": "modelopt", "quant_algo": "FP8_PB_WO"}),
            (Fp8, Fp8, Bf16, Some((32, 16_384)), None),
        ),
        (
            json!({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ", "group_size": 128}),
            (Int4, Fp8, Bf16, Some((16, 128)), None),
        ),
        (
            json!({"quant_method": "modelopt", "quant_algo": "W4A16_AWQ", "group_size": 64}),
            (Int4, Bf16, Bf16, Some((16, 64)), None),
        ),
        (
            json!({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true,
                "modules_to_not_convert": null}),
            (Int4, Bf16, Bf16, Some((20, 128)), None),
        ),
        (
            json!({"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": true}),
            (Int4, Bf16, Bf16, Some((16, 32)), None),
        ),
        (
            json!({"quant_method": "gptq", "bits": 4, "group_size": -1, "sym": false,
                "lm_head": true}),
            (Int4, Bf16, Bf16, Some((20, 4096)), Some(Int4)),
        ),
        (
            json!({"quant_method": "gptq", "bits": 8, "group_size": 128}),
            (Int8, Bf16, Bf16, Some((16, 128)), None),
        ),
        (
            json!({"quant_method": "bitsandbytes", "load_in_4bit": true, "load_in_8bit": false,
                "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": true}),
            (Int4, Bf16, Bf16, Some((65, 512)), None),
        ),
        (
            json!({"quant_method": "bitsandbytes", "load_in_8bit": true}),
            (Int8, Bf16, Bf16, None, None),
        ),
        (
            json!({"quant_method": "quark", "exclude": ["lm_head"], "global_quant_config": {
                "weight": {"dtype": "fp4", "group_size": 32, "scale_format": "e8m0"},
                "input_tensors": {"dtype": "fp4", "group_size": 32}}}),
            (Mxfp4, Mxfp4, Bf16, None, None),
        ),
        (
            json!({"quant_method": "quark", "exclude": ["lm_head"], "global_quant_config": {
                "weight": {"dtype": "fp8_e4m3", "qscheme": "per_tensor"},
                "input_tensors": {"dtype": "fp8_e4m3"}},
                "kv_cache_quant_config": {"*k_proj": {"output_tensors": {"dtype": "fp8_e4m3"}}}}),
            (Fp8, Fp8, Fp8, None, None),
        ),
        (
            json!({"quant_method": "auto-round", "bits": 4, "group_size": 128, "sym": true}),
            (Int4, Bf16, Bf16, Some((16, 128)), None),
        ),
        (
            json!({"quant_method": "torchao", "quant_type": {"default": {
                "_type": "Int4WeightOnlyConfig", "_data": {"group_size": 64}}}}),
            (Int4, Bf16, Bf16, Some((32, 64)), None),
        ),
        (
            json!({"quant_method": "torchao", "quant_type": "float8_dynamic_activation_float8_weight"}),
            (Fp8, Fp8, Bf16, None, None),
        ),
        (
            json!({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 4,
                "group_size": 64}}}),
            (Int4, Bf16, Bf16, Some((32, 64)), None),
        ),
        (
            json!({"quant_method": "eetq"}),
            (Int8, Bf16, Bf16, None, None),
        ),
    ];
    for (quantization, expected) in cases {
        assert_eq!(facts(quantization.clone()), expected, "{quantization}");
    }
}

/// What has no format here is said, and nothing is changed.
#[test]
fn what_is_not_known_is_said() {
    for quantization in [
        json!({}),
        json!({"quant_method": "aqlm", "nbits_per_codebook": 16, "num_codebooks": 1}),
        json!({"quant_method": "gptq", "bits": 3, "group_size": 128}),
        json!({"quant_method": "modelopt", "quant_algo": "NEW"}),
        json!({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}),
        json!({"quant_method": "compressed-tensors", "config_groups": {}}),
        group(
            json!({"num_bits": 2, "type": "int", "group_size": 32}),
            Value::Null,
        ),
        json!({"quant_method": "quark"}),
        json!({"quant_method": "\u{1b}[2J"}),
    ] {
        let (model, precision, notes) = section(llama(), quantization.clone());
        assert_eq!(precision, None, "{quantization}");
        assert_eq!(model, llama());
        assert!(
            notes
                .iter()
                .any(|note| note.contains("quantization_config")),
            "{quantization}: {notes:?}"
        );
        assert!(!notes.iter().any(|note| note.contains('\u{1b}')));
    }
}

/// Published sizes: Qwen2.5-72B-Instruct-AWQ 41.6 GB (its MLPs padded by 0.4 %),
/// Qwen2.5-7B-Instruct-GPTQ-Int4 5.6 GB (which stores zero points it doesn't need).
#[test]
fn integer_checkpoints_weigh_what_they_were_released_as() {
    let qwen = |layers, heads, kv, hidden, width| {
        let attention = Attention::Gqa(Gqa {
            qkv_bias: true,
            ..gqa(heads, kv, 128)
        });
        let run = LayerRun::new(layers, attention, Ffn::gated(width));
        Model::of_layers(id("qwen2.5"), hidden, 152_064, vec![run])
    };
    let awq = json!({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true,
        "version": "gemm", "modules_to_not_convert": null});
    let (model, precision, _) = section(qwen(80, 64, 8, 8192, 29_568), awq);
    close(gigabytes(&model, precision), 41.6, 0.005);
    let gptq = json!({"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": true,
        "desc_act": false});
    let (model, precision, _) = section(qwen(28, 28, 4, 3584, 18_944), gptq);
    close(gigabytes(&model, precision), 5.58, 0.01);
}

/// Two groups by pattern (DeepSeek-V4 of Red Hat): attention in FP8, experts in NVFP4.
#[test]
fn groups_by_pattern_give_parts_their_formats() {
    let (model, precision, notes) = section(
        preset("deepseek-v3"),
        json!({"quant_method": "compressed-tensors", "format": "mixed-precision", "ignore": [],
            "config_groups": {
                "group_0": {"targets": ["re:.*attn.*(q_a_proj|q_b_proj|kv_a_proj_with_mqa|kv_b_proj|o_proj)$"],
                    "weights": {"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [128, 128]},
                    "input_activations": {"num_bits": 8, "type": "float", "group_size": 128}},
                "group_1": {"targets": ["re:.*mlp.*(gate|up|down)_proj$"],
                    "weights": {"num_bits": 4, "type": "float", "group_size": 16},
                    "input_activations": {"num_bits": 4, "type": "float", "group_size": 16}}}}),
    );
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(precision.map(|own| own.weights), Some(Dtype::Fp4));
    for run in &model.layers {
        let expected = Kept {
            attention: Some(Dtype::Fp8),
            ..Kept::NONE
        };
        assert_eq!(run.kept, expected);
    }
    assert_eq!(model.quantization.and_then(|own| own.head), None);
}

/// `hf_quant_config.json` of DeepSeek-V3-0324-NVFP4 and of Qwen3-30B-A3B-NVFP4.
#[test]
fn the_file_beside_is_read() {
    let mut exclude = vec![json!("lm_head"), json!("model.layers.61*")];
    for layer in 0..61 {
        exclude.push(json!(format!("model.layers.{layer}.mlp.gate")));
        exclude.push(json!(format!("model.layers.{layer}.self_attn*")));
    }
    let beside = json!({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4",
        "kv_cache_quant_algo": "FP8", "group_size": 16, "exclude_modules": exclude}});
    let mut v3 = preset("deepseek-v3");
    v3.mtp = v3
        .layers
        .last()
        .cloned()
        .map(|run| Box::new(LayerRun { count: 1, ..run }));
    let (model, precision, notes) = read(v3, json!({}), beside);
    assert!(notes.is_empty(), "{notes:?}");
    let precision = precision.expect("quantised");
    assert_eq!((precision.weights, precision.kv), (Dtype::Fp4, Dtype::Fp8));
    assert_eq!(model.layers.len(), 2);
    for run in &model.layers {
        assert_eq!(
            run.kept,
            Kept {
                attention: Some(Dtype::Bf16),
                ..Kept::NONE
            }
        );
    }
    let mtp = model.mtp.as_ref().expect("kept").kept;
    assert_eq!(
        mtp.routed_experts,
        Some(Dtype::Bf16),
        "layer 61 is excluded"
    );
    let all = parameters(&model);
    let four = all.dense_ffn + all.routed_experts + all.shared_experts;
    let expected = four / 16 * 9 + 2 * (all.total() - four);
    assert_eq!(weight_bytes(&model, precision).get(), expected);
}

/// DeepSeek-V4-Flash-NVFP4: experts module by module, the rest as released.
#[test]
fn modules_are_mapped_one_by_one() {
    let layers: Map<String, Value> = (0..61)
        .map(|layer| {
            let name = format!("model.layers.{layer}.mlp.experts");
            (name, json!({"quant_algo": "NVFP4", "group_size": 16}))
        })
        .chain([("lm_head".to_owned(), json!({"quant_algo": "FP8"}))])
        .collect();
    let mixed = json!({"quantization": {"quant_algo": "MIXED_PRECISION", "quantized_layers": layers,
        "exclude_modules": ["*.self_attn.*", "*.mlp.shared_experts.*"]}});
    let (model, precision, notes) = read(preset("deepseek-v3"), json!({}), mixed.clone());
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(precision.map(|own| own.weights), Some(Dtype::Fp4));
    let wide = Some(Dtype::Bf16);
    assert_eq!(
        model.layers[0].kept,
        Kept {
            attention: wide,
            dense_ffn: wide,
            ..Kept::NONE
        }
    );
    assert_eq!(
        model.layers[1].kept,
        Kept {
            attention: wide,
            shared_experts: wide,
            ..Kept::NONE
        }
    );
    assert_eq!(
        model.quantization.and_then(|own| own.head),
        Some(Dtype::Fp8)
    );
    // Released with FP4 experts: what isn't converted is FP8.
    let (model, _, notes) = read(preset("deepseek-v3"), json!({"expert_dtype": "fp4"}), mixed);
    assert_eq!(model.layers[1].kept.attention, Some(Dtype::Fp8));
    assert!(
        notes.iter().any(|note| note.contains("expert_dtype")),
        "{notes:?}"
    );
}

/// DeepSeek-V4 as released: experts MXFP4, the rest FP8 in blocks.
#[test]
fn experts_have_a_format_of_their_own() {
    let mut config = json!({"expert_dtype": "fp4", "quantization_config": fp8_blocks()});
    config["quantization_config"]["scale_fmt"] = json!("ue8m0");
    let (model, precision, _) = read(preset("deepseek-v3"), config, json!({}));
    assert_eq!(
        precision.map(|own| (own.weights, own.activations)),
        Some((Dtype::Mxfp4, Dtype::Fp8))
    );
    let eight = Some(Dtype::Fp8);
    assert_eq!(
        model.layers[1].kept,
        Kept {
            attention: eight,
            shared_experts: eight,
            ..Kept::NONE
        }
    );
}

#[test]
fn two_files_that_differ_are_said() {
    let (_, precision, notes) = read(
        llama(),
        json!({"quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8"}}),
        json!({"quantization": {"quant_algo": "NVFP4"}}),
    );
    assert_eq!(precision.map(|own| own.weights), Some(Dtype::Fp8));
    assert!(notes.iter().any(|note| note.contains("NVFP4")), "{notes:?}");
}

/// A pool that runs the checkpoint in another precision keeps what the checkpoint keeps.
#[test]
fn a_quantisation_of_nothing_is_none() {
    let (model, precision, notes) = section(
        llama(),
        json!({"quant_method": "fp8", "modules_to_not_convert": ["model"]}),
    );
    assert_eq!(precision, None);
    assert_eq!(model.quantization, None::<Quantization>);
    assert!(
        notes.iter().any(|note| note.contains("no linear")),
        "{notes:?}"
    );
}
