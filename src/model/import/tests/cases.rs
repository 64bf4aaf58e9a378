//! Files that other tools read wrongly, each with the bytes that are right.

use super::catalogue::{config_of, published};
use super::*;
use crate::catalog::Dtype;
use crate::model::{
    Attention, Ffn, Gqa, Recurrent, Span, kv_bytes_per_sequence, kv_bytes_per_token,
    kv_bytes_per_token_growing, parameters, state_bytes_per_sequence,
};

fn sequence(model: &Model, kv: Dtype, tokens: u64) -> u64 {
    kv_bytes_per_sequence(model, kv, tokens).get()
}

/// gpt-oss: every second layer sees 128 tokens.
#[test]
fn windows_stop_growing() {
    let model = published("gpt-oss-120b").model;
    let tokens = 65_536 + 400;
    let expected = 18 * 1024 * tokens + 18 * 1024 * 128;
    assert_eq!(sequence(&model, Dtype::Fp8, tokens), expected);
    assert_eq!(sequence(&model, Dtype::Bf16, tokens), 2 * expected);
    assert!((expected as f64 / f64::powi(2.0, 30) - 1.1341).abs() < 5e-5);
    // Short of the window, all layers grow.
    assert_eq!(sequence(&model, Dtype::Fp8, 100), 36 * 1024 * 100);
    let growing = kv_bytes_per_token_growing(&model.layers, Dtype::Bf16, 1);
    assert_eq!(growing.get(), 36_864);
    // Stated layer by layer it is the same model.
    let mut config = config_of("gpt-oss-120b");
    let kinds: Vec<&str> = ["sliding_attention", "full_attention"].repeat(18);
    merge(&mut config, json!({"layer_types": kinds}));
    assert_eq!(import(&config.to_string()).model.layers, model.layers);
}

/// Qwen3.5-27B: every fourth layer attends, the others keep a state.
#[test]
fn linear_layers_keep_a_state() {
    let model = published("Qwen3.5-27B").model;
    assert_eq!(kv_bytes_per_token(&model, Dtype::Bf16).get(), 65_536);
    let state = state_bytes_per_sequence(&model.layers, 1).get();
    assert_eq!(state, 48 * (2 * 3 * 10_240 + 4 * 48 * 128 * 128));
    assert_eq!(state, 153_944_064);
    let whole = sequence(&model, Dtype::Bf16, 32_768) as f64 / f64::powi(2.0, 30);
    assert!((whole - 2.143).abs() < 5e-4, "{whole}");
}

/// MiMo-V2-Flash: keys of 192, values of 128, and window layers with heads of their own.
#[test]
fn keys_and_values_of_two_widths() {
    let model = published("MiMo-V2-Flash").model;
    let growing = kv_bytes_per_token_growing(&model.layers, Dtype::Bf16, 1);
    assert_eq!(growing.get(), 23_040);
    let all = kv_bytes_per_token(&model, Dtype::Bf16).get();
    assert_eq!(all, 23_040 + 199_680);
    assert_eq!(sequence(&model, Dtype::Bf16, 32_768), 780_533_760);
    let sinks = |span: Span| {
        model.layers.iter().all(|run| match &run.attention {
            Attention::Gqa(gqa) if gqa.span == span => gqa.sinks != span.is_full(),
            _ => true,
        })
    };
    assert!(sinks(Span::Full) && sinks(Span::Window(128)));
}

/// Nemotron-3-Super: 40 Mamba-2 blocks, 40 of experts in a latent space, 8 of attention.
#[test]
fn patterns_of_letters_and_latent_experts() {
    let imported = published("NVIDIA-Nemotron-3-Super-120B-A12B-BF16");
    let model = imported.model;
    assert_eq!(kv_bytes_per_token(&model, Dtype::Bf16).get(), 8192);
    let parts = parameters(&model);
    assert_eq!(parts.routed_experts, 40 * 512 * 2 * 1024 * 2688);
    let count = |is: fn(&crate::model::LayerRun) -> bool| -> u32 {
        let runs = model.layers.iter().filter(|run| is(run));
        runs.map(|run| run.count).sum()
    };
    assert_eq!(count(|run| matches!(run.attention, Attention::Gqa(_))), 8);
    assert_eq!(
        count(|run| matches!(run.attention, Attention::Recurrent(_))),
        40
    );
    assert_eq!(count(|run| matches!(run.ffn, Ffn::Moe(_))), 40);
    assert!(model.layers.iter().all(|run| run.norms == 1));
    // What predicts a further token is an attention and experts.
    let mut config = config_of("NVIDIA-Nemotron-3-Super-120B-A12B-BF16");
    merge(&mut config, json!({"num_nextn_predict_layers": 1}));
    let mtp = import(&config.to_string()).model.mtp.expect("MTP");
    assert!(matches!(mtp.attention, Attention::Gqa(_)) && matches!(mtp.ffn, Ffn::Moe(_)));
}

/// Files of Mamba models hold `Infinity`, which isn't JSON.
#[test]
fn numbers_without_end_are_not_numbers() {
    let text = llama(json!({"time_step_limit": [0.0, 1.5], "note": "to Infinity"}));
    let text = text.replace("1.5", "Infinity").replace("0.0", "-Infinity");
    assert_eq!(import(&text).model.layers, preset("llama-3.1-8b").layers);
    let message = refusal(&text.replace("4096", "Infinity")).to_string();
    assert!(message.contains("hidden_size"), "{message}");
}

/// DeepSeek-V4: a window, and entries of 4 or 128 tokens; its file has one ratio more, for MTP.
#[test]
fn compressed_layers_follow_their_ratios() {
    let imported = published("DeepSeek-V4-Flash-NVFP4");
    let ratios: Vec<(u64, bool)> = imported
        .model
        .layers
        .iter()
        .flat_map(|run| {
            let Attention::Compressed(own) = &run.attention else {
                panic!("not {}", run.attention.kind());
            };
            let layer = (own.ratio, own.indexer.is_some());
            std::iter::repeat_n(layer, usize::try_from(run.count).unwrap_or(0))
        })
        .collect();
    assert_eq!(ratios.len(), 43);
    assert_eq!(
        ratios[..4],
        [(0, false), (0, false), (4, true), (128, false)]
    );
    let said = |word| imported.assumptions.iter().any(|note| note.contains(word));
    assert!(said("compress_ratios has 44 entries for 43 layers"));
    assert!(said("MTP") && imported.model.mtp.is_some());
    let mut short = config_of("DeepSeek-V4-Flash-NVFP4");
    merge(&mut short, json!({"compress_ratios": [4, 128]}));
    let error = refusal(&short.to_string());
    assert!(error.to_string().contains("compress_ratios"), "{error}");
}

/// Kimi counts layers from 1: the fourth layer of Kimi-Linear attends.
#[test]
fn layers_counted_from_one() {
    let model = published("Kimi-Linear-48B-A3B-Instruct").model;
    let kinds: Vec<(u32, &str)> = model
        .layers
        .iter()
        .map(|run| (run.count, run.attention.kind()))
        .collect();
    assert_eq!(kinds[..4], [(1, "KDA"), (2, "KDA"), (1, "MLA"), (3, "KDA")]);
    assert_eq!(kinds.last(), Some(&(1, "MLA")));
}

/// Hunyuan's and Gemma's layers that read another's cache.
#[test]
fn shared_caches_are_kept_once() {
    let large = published("Hunyuan-Large").model;
    // 64 layers of 8 heads of 80, every second with a cache.
    let kv = kv_bytes_per_token(&large, Dtype::Bf16).get();
    assert_eq!(kv, 32 * 2 * 8 * 80 * 2);
    let gemma = published("gemma-4-E2B-it").model;
    // 12 window layers of one head of 256, 3 others of 512.
    let kv = kv_bytes_per_token(&gemma, Dtype::Bf16).get();
    assert_eq!(kv, 12 * 2 * 256 * 2 + 3 * 2 * 512 * 2);
    let global = published("gemma-4-31B-it").model;
    let values = |run: &crate::model::LayerRun| match &run.attention {
        Attention::Gqa(gqa) => gqa.keys_are_values == gqa.span.is_full(),
        _ => false,
    };
    assert!(global.layers.iter().all(values));
}

/// Zamba2: two transformer blocks, used 13 times; each use keeps a cache.
#[test]
fn shared_blocks_weigh_once_and_cache_each_time() {
    let model = published("Zamba2-7B").model;
    let uses: Vec<bool> = model
        .layers
        .iter()
        .filter(|run| matches!(run.attention, Attention::Gqa(_)))
        .map(|run| run.reused)
        .collect();
    assert_eq!(uses.len(), 13);
    assert_eq!(uses.iter().filter(|reused| !**reused).count(), 2);
    let kv = kv_bytes_per_token(&model, Dtype::Bf16).get();
    assert_eq!(kv, 13 * 2 * 32 * 224 * 2);
}

#[test]
fn every_recurrence_is_recognised() {
    let kind = |name: &str| -> &'static str {
        let model = published(name).model;
        let mut found = model.layers.iter().filter_map(|run| match &run.attention {
            Attention::Recurrent(own) | Attention::Parallel { recurrent: own, .. } => {
                Some(own.kind())
            }
            _ => None,
        });
        found.next().unwrap_or("none")
    };
    let rows = [
        ("Qwen3-Next-80B-A3B-Instruct", "gated DeltaNet"),
        ("Kimi-K3", "KDA"),
        ("bailing_hybrid", "KDA"),
        ("MiniMax-Text-01", "lightning"),
        ("Ring-linear-2.0-mini", "lightning"),
        ("Bamba-9B-v1", "Mamba-2"),
        ("Falcon-H1-7B-Instruct", "Mamba-2"),
        ("granite-4.0-h-small", "Mamba-2"),
        ("Zamba2-7B", "Mamba-2"),
        ("AI21-Jamba-1.5-Mini", "Mamba"),
        ("falcon-mamba-7b", "Mamba"),
        ("LFM2-1.2B", "short convolution"),
        ("recurrentgemma-9b", "RG-LRU"),
        ("rwkv-4-7b", "recurrent"),
    ];
    for (name, expected) in rows {
        assert_eq!(kind(name), expected, "{name}");
    }
}

/// A state's format where the file states it, else the model's own, which is said; matrix states
/// of linear attention are FP32.
#[test]
fn states_have_the_stated_format() {
    let format = |changes: Value, name: &str| {
        let mut config = config_of(name);
        merge(&mut config, changes);
        let imported = import(&config.to_string());
        let said = imported.assumptions.iter().any(|note| note.contains("ssm"));
        let mut states = imported
            .model
            .layers
            .iter()
            .filter_map(|run| match &run.attention {
                Attention::Recurrent(Recurrent::Mamba2(own)) => Some(own.state_dtype),
                Attention::Recurrent(Recurrent::DeltaNet(own)) => Some(own.state_dtype),
                _ => None,
            });
        (states.next(), said)
    };
    let bamba = "Bamba-9B-v1";
    assert_eq!(format(json!({}), bamba), (Some(Dtype::Bf16), true));
    let wide = json!({"mamba_ssm_cache_dtype": "float32"});
    assert_eq!(format(wide, bamba), (Some(Dtype::Fp32), false));
    let next = "Qwen3-Next-80B-A3B-Instruct";
    assert_eq!(format(json!({}), next), (Some(Dtype::Fp32), false));
    let narrow = json!({"mamba_ssm_dtype": "bfloat16"});
    assert_eq!(format(narrow, next), (Some(Dtype::Bf16), false));
}

/// LongCat: experts that do nothing are chosen like others.
#[test]
fn zero_experts_are_visited_for_nothing() {
    let model = published("LongCat-Flash-Chat").model;
    assert_eq!(model.layer_count(), 56);
    let parts = parameters(&model);
    // 12 choices of 512 + 256: 8 real ones on average.
    assert_eq!(parts.routed_experts_active * 64, parts.routed_experts);
    let active = parts.active() as f64 / 1e9;
    assert!((active - 27.0).abs() < 1.0, "{active}");
}

/// Step-3.5: window layers with more heads, a gate per head.
#[test]
fn window_layers_may_have_other_heads() {
    let model = published("Step-3.5-Flash").model;
    let heads = |span: Span| -> Vec<u64> {
        let mut found: Vec<u64> = model
            .layers
            .iter()
            .filter_map(|run| match &run.attention {
                Attention::Gqa(Gqa {
                    heads, span: own, ..
                }) if *own == span => Some(*heads),
                _ => None,
            })
            .collect();
        found.dedup();
        found
    };
    assert_eq!(heads(Span::Full), [64]);
    assert_eq!(heads(Span::Window(512)), [96]);
}
