//! What published checkpoints weigh, and which of their parts are in which format.

mod formats;
mod hostile;
mod names;

use super::*;
use crate::catalog::{Dtype, ModelId};
use crate::model::{
    Attention, Gqa, Kept, LayerRun, Mla, Models, Moe, Quantization, Scale, Span, layer_parameters,
    layer_weights, parameters, weight_bytes,
};
use serde_json::{Map, Value, json};

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

/// A model with a section: what is made of it, the precision and the assumptions.
fn read(mut model: Model, config: Value, beside: Value) -> (Model, Option<Precision>, Vec<String>) {
    let (config, beside) = (object(config), object(beside));
    let top = Fields::new(&config, "");
    let beside = Fields::new(&beside, "hf_quant_config.json: ");
    let mut notes = Vec::new();
    let precision = apply(&mut model, &top, &top, Some(&beside), &mut notes)
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(model.check().is_ok());
    (model, precision, notes)
}

fn section(model: Model, section: Value) -> (Model, Option<Precision>, Vec<String>) {
    read(model, json!({"quantization_config": section}), json!({}))
}

fn id(name: &str) -> ModelId {
    ModelId::new(name).expect("an id")
}

fn preset(name: &str) -> Model {
    let models = Models::embedded().expect("presets are sound");
    models.get(&id(name)).cloned().expect("a preset")
}

fn gqa(heads: u64, kv_heads: u64, head_dim: u64) -> Gqa {
    Gqa {
        heads,
        kv_heads,
        head_dim,
        ..Gqa::default()
    }
}

fn gigabytes(model: &Model, precision: Option<Precision>) -> f64 {
    weight_bytes(model, precision.expect("quantised")).as_f64() / 1e9
}

fn close(found: f64, expected: f64, share: f64) {
    assert!(
        (found / expected - 1.0).abs() < share,
        "{found} is not {expected}"
    );
}

/// gpt-oss: alternating windows, biases, sinks.
fn gpt_oss_120b() -> Model {
    let attention = |span| {
        Attention::Gqa(Gqa {
            span,
            qkv_bias: true,
            out_bias: true,
            sinks: true,
            ..gqa(64, 8, 64)
        })
    };
    let ffn = || {
        Ffn::Moe(Moe {
            experts: 128,
            top_k: 4,
            intermediate: 2880,
            bias: true,
            ..Moe::default()
        })
    };
    let layers = (0..36)
        .map(|layer| {
            let span = if layer % 2 == 0 {
                Span::Window(128)
            } else {
                Span::Full
            };
            LayerRun::new(1, attention(span), ffn())
        })
        .collect();
    Model::of_layers(id("gpt-oss-120b"), 2880, 201_088, layers)
}

/// Llama 4 Maverick: dense layers between MoE layers.
fn maverick() -> Model {
    let layers = (0..48)
        .map(|layer| {
            let span = if layer % 4 == 3 {
                Span::Full
            } else {
                Span::Chunk(8192)
            };
            let attention = Attention::Gqa(Gqa {
                span,
                ..gqa(40, 8, 128)
            });
            let ffn = if layer % 2 == 0 {
                Ffn::gated(16_384)
            } else {
                Ffn::Moe(Moe {
                    experts: 128,
                    top_k: 1,
                    intermediate: 8192,
                    shared_intermediate: 8192,
                    ..Moe::default()
                })
            };
            LayerRun::new(1, attention, ffn)
        })
        .collect();
    Model::of_layers(id("maverick"), 5120, 202_048, layers)
}

fn fp8_blocks() -> Value {
    json!({"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3",
        "weight_block_size": [128, 128]})
}

fn pack_quantized(group: u64, ignore: Value) -> Value {
    json!({"quant_method": "compressed-tensors", "format": "pack-quantized", "ignore": ignore,
        "config_groups": {"group_0": {"targets": ["Linear"], "input_activations": null,
            "weights": {"num_bits": 4, "type": "int", "symmetric": true, "strategy": "group",
                "group_size": group}}}})
}

/// 10 M parameters of attention kept in BF16, 30 M of an MLP in NVFP4: 20 + 16.9 MB
/// (aiconfigurator #1396: not 22.5).
#[test]
fn a_part_kept_wide_is_counted_wide() {
    let attention = Attention::Gqa(gqa(20, 20, 100));
    let run = LayerRun::new(1, attention, Ffn::gated(8000));
    let tiny = Model::of_layers(id("tiny"), 1250, 1000, vec![run]);
    for ignore in [
        json!(["self_attn*", "lm_head"]),
        json!(["re:.*self_attn.*", "lm_head"]),
        json!(["model.layers.0.self_attn", "lm_head"]),
    ] {
        let (model, precision, notes) = section(
            tiny.clone(),
            json!({"quant_method": "compressed-tensors", "ignore": ignore,
                "format": "nvfp4-pack-quantized",
                "config_groups": {"group_0": {"targets": ["Linear"],
                    "weights": {"num_bits": 4, "type": "float", "group_size": 16},
                    "input_activations": {"num_bits": 4, "type": "float", "group_size": 16}}}}),
        );
        assert!(notes.is_empty(), "{notes:?}");
        let precision = precision.expect("quantised");
        assert_eq!(precision.weights, Dtype::Fp4);
        let run = &model.layers[0];
        let bytes = layer_weights(&model, run, precision, crate::model::Shard::new(1, 1, 1));
        assert_eq!(bytes.attention.get(), 20_000_000);
        assert_eq!(bytes.dense_ffn.get(), 16_875_000);
    }
}

/// The released files hold 688.59 GB: this, the MTP layer and its copies of embedding and head.
#[test]
fn deepseek_v3_weighs_what_it_was_released_as() {
    let (model, precision, notes) = section(preset("deepseek-v3"), fp8_blocks());
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(precision, Some(Precision::FP8));
    let own = model.quantization.expect("quantised");
    assert_eq!(own.block, Some(128));
    assert_eq!(
        own.scale,
        Some(Scale {
            bits: 32,
            per: 16_384
        })
    );
    assert_eq!(own.head, None);
    let main = gigabytes(&model, precision);
    let moe = model.layers.last().expect("layers");
    let one = layer_parameters(moe, model.hidden);
    let linears = one.attention + one.routed_expert * one.experts + one.shared_experts;
    #[expect(clippy::cast_precision_loss, reason = "a test")]
    let real = |count: u64| count as f64 / 1e9;
    let around = 2 * model.hidden * model.hidden + 2 * model.vocab * model.hidden;
    let mtp = real(linears) * (1.0 + 4.0 / 16_384.0) + 2.0 * real(around + one.router);
    close(main + mtp, 688.59, 1e-4);
}

/// The released files hold 65,248,815,744 bytes. vLLM 0.11 takes 64.38 GiB for them on an H100:
/// its kernels' layout of the experts pads 2880 to 3072 (a multiple of 256), 60.9 to 65.0 GB.
#[test]
fn gpt_oss_weighs_what_it_was_released_as() {
    let (model, precision, notes) = section(
        gpt_oss_120b(),
        json!({"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn",
            "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]}),
    );
    assert!(notes.is_empty(), "{notes:?}");
    let precision = precision.expect("quantised");
    assert_eq!(precision.weights, Dtype::Mxfp4);
    assert_eq!(precision.activations, Dtype::Bf16);
    assert_eq!(parameters(&model).total(), 116_829_156_672);
    assert_eq!(weight_bytes(&model, precision).get(), 65_248_815_744);
    let experts = parameters(&model).routed_experts;
    #[expect(clippy::cast_precision_loss, reason = "a test")]
    let padding = experts as f64 * 4.25 / 8.0 * (3072.0 / 2880.0 - 1.0);
    let loaded = weight_bytes(&model, precision).as_f64() + padding;
    close(loaded / f64::from(1 << 30), 64.38, 0.005);
}

/// Kimi-K2.5 (the language model is Kimi-K2): only routed experts are INT4, in groups of 32; the
/// released files hold 595 GB with the vision tower's 0.9.
#[test]
fn kimi_keeps_all_but_its_experts_wide() {
    let ignore = json!([
        "lm_head",
        "re:.*self_attn.*",
        "re:.*shared_experts.*",
        r"re:.*mlp\.(gate|up|gate_up|down)_proj.*"
    ]);
    let (model, precision, notes) = section(preset("kimi-k2"), pack_quantized(32, ignore));
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(
        precision,
        Some(Precision {
            weights: Dtype::Int4,
            activations: Dtype::Bf16,
            kv: Dtype::Bf16
        })
    );
    let wide = Some(Dtype::Bf16);
    let kept: Vec<(u32, Kept)> = model.layers.iter().map(|r| (r.count, r.kept)).collect();
    let dense = Kept {
        attention: wide,
        dense_ffn: wide,
        ..Kept::NONE
    };
    let moe = Kept {
        attention: wide,
        shared_experts: wide,
        ..Kept::NONE
    };
    assert_eq!(kept, [(1, dense), (60, moe)]);
    close(gigabytes(&model, precision), 594.2, 1e-3);
}

#[test]
fn qwen3_235b_fp8_states_its_block() {
    let mut skipped = vec!["lm_head".to_owned()];
    for layer in 0..94 {
        for norm in ["input_layernorm", "post_attention_layernorm", "mlp.gate"] {
            skipped.push(format!("model.layers.{layer}.{norm}"));
        }
    }
    let mut quantization = fp8_blocks();
    quantization["modules_to_not_convert"] = json!(skipped);
    let plain = preset("qwen3-235b-a22b");
    let (model, precision, notes) = section(plain.clone(), quantization);
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(precision, Some(Precision::FP8));
    assert_eq!(model.quantization.and_then(|own| own.block), Some(128));
    assert_eq!(model.layers, plain.layers, "nothing is kept otherwise");
}

/// The published list keeps attention and dense layers; routed and shared experts are FP8.
#[test]
fn maverick_splits_where_layers_differ() {
    let mut ignore = vec![
        "re:vision_model.*".to_owned(),
        "language_model.lm_head".to_owned(),
    ];
    for layer in 0..48 {
        for leaf in ["q_proj", "k_proj", "v_proj", "o_proj"] {
            ignore.push(format!(
                "language_model.model.layers.{layer}.self_attn.{leaf}"
            ));
        }
        for leaf in ["router", "gate_proj", "up_proj", "down_proj"] {
            ignore.push(format!(
                "language_model.model.layers.{layer}.feed_forward.{leaf}"
            ));
        }
    }
    let (model, precision, notes) = section(
        maverick(),
        json!({"quant_method": "compressed-tensors", "format": "float-quantized", "ignore": ignore,
            "config_groups": {"group_0": {"targets": ["Linear"],
                "weights": {"num_bits": 8, "type": "float", "strategy": "channel"},
                "input_activations": {"num_bits": 8, "type": "float", "strategy": "token"}}}}),
    );
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(precision, Some(Precision::FP8));
    assert_eq!(model.layer_count(), 48);
    for run in &model.layers {
        assert_eq!(run.kept.attention, Some(Dtype::Bf16));
        let dense = matches!(run.ffn, Ffn::Dense { .. });
        assert_eq!(run.kept.dense_ffn, dense.then_some(Dtype::Bf16));
        assert_eq!(run.kept.routed_experts, None);
        assert_eq!(run.kept.shared_experts, None);
    }
    let all = parameters(&model);
    let eight = all.routed_experts + all.shared_experts;
    let expected = eight + 2 * (all.total() - eight);
    assert_eq!(
        weight_bytes(&model, Precision::FP8).get(),
        expected,
        "scales per channel are too few to count"
    );
}

/// MiMo-V2 keeps every output projection: most of attention is FP8, and a word says so.
#[test]
fn a_part_quantised_in_part_is_said() {
    let mut quantization = fp8_blocks();
    quantization["ignored_layers"] = (0..48)
        .map(|layer| Value::from(format!("model.layers.{layer}.self_attn.o_proj")))
        .chain([Value::from("model.decoder.self_attn.o_proj")])
        .collect();
    let attention = Attention::Gqa(Gqa {
        v_dim: Some(128),
        ..gqa(64, 4, 192)
    });
    let run = LayerRun::new(48, attention, Ffn::gated(16_384));
    let mimo = Model::of_layers(id("mimo"), 4096, 152_576, vec![run]);
    let (model, precision, notes) = section(mimo, quantization);
    assert_eq!(precision, Some(Precision::FP8));
    assert_eq!(model.layers.len(), 1);
    // 48 layers of 64·128·4096, a byte each.
    let said = notes
        .iter()
        .find(|note| note.contains("attention of 48 layers"));
    let said = said.unwrap_or_else(|| panic!("{notes:?}"));
    assert!(
        said.contains("BF16 (38 %") && said.contains("1.61 GB more"),
        "{said}"
    );
}
