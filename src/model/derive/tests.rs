use super::*;
use crate::catalog::{Dtype, ModelId};
use crate::model::{Ffn, LayerRun, Model, Models, Precision};
use proptest::prelude::*;

fn presets() -> Models {
    Models::embedded().expect("presets are sound")
}

fn preset(id: &str) -> Model {
    let id = ModelId::new(id).expect("an id");
    presets()
        .get(&id)
        .cloned()
        .unwrap_or_else(|| panic!("no preset {id}"))
}

fn billions(count: u64) -> f64 {
    count as f64 / 1e9
}

/// Total and activated parameters in 10⁹ as published tables print them, and KV bytes per token
/// in BF16. DeepSeek-V3's total is the exact count without the MTP layer (671,026,419,200).
#[test]
fn presets_have_their_published_sizes() {
    let rows = [
        ("deepseek-v3", 671.03, 37.4, 70_272),
        ("kimi-k2", 1026.4, 32.7, 70_272),
        ("step-3", 316.3, 38.8, 62_464),
        ("qwen3-235b-a22b", 235.1, 22.1, 192_512),
        ("qwen3-30b-a3b", 30.5, 3.3, 98_304),
        ("qwen3-coder-480b", 480.2, 35.4, 253_952),
        ("qwen3-32b", 32.8, 32.8, 262_144),
        ("qwen3-8b", 8.2, 8.2, 147_456),
        ("qwen3-0.6b", 0.6, 0.6, 114_688),
        ("llama-3.1-8b", 8.0, 8.0, 131_072),
        ("llama-3.1-70b", 70.6, 70.6, 327_680),
        ("llama-3.3-70b", 70.6, 70.6, 327_680),
        ("llama-3.1-405b", 405.85, 405.85, 516_096),
        ("mixtral-8x7b", 46.7, 12.9, 131_072),
        ("mixtral-8x22b", 140.6, 39.1, 229_376),
        ("glm-4.5", 352.8, 33.6, 376_832),
        ("minimax-m2", 228.7, 11.0, 253_952),
        // Totals from here on are what Hugging Face's model classes allocate without MTP, which
        // agrees with the makers' figures; Kimi K3's and MiniMax-M3's files say the same.
        ("deepseek-v3.2", 671.88, 38.3, 70_272 + 7_808),
        // Two window layers, 21 CSA, 20 HCA: a latent of 512 in the window, one per 4 with an
        // index key of 128 B, one per 128.
        (
            "deepseek-v4-flash",
            284.33,
            13.8,
            43 * 1024 + 21 * 288 + 160,
        ),
        ("deepseek-v4-pro", 1573.0, 49.6, 61 * 1024 + 30 * 288 + 248),
        ("glm-5", 743.91, 41.7, 78 * (1152 + 128)),
        ("kimi-k2.5", 1026.4, 32.7, 70_272),
        ("kimi-k3", 2779.48, 104.8, 24 * 1152),
        ("kimi-linear-48b-a3b", 49.12, 3.5, 7 * 1152),
        ("step-3.7-flash", 196.96, 11.9, 184_320),
        ("qwen3-next-80b-a3b", 79.67, 3.8, 24_576),
        ("qwen3.5-27b", 26.9, 26.9, 65_536),
        ("qwen3.5-35b-a3b", 34.66, 3.4, 20_480),
        ("qwen3.5-397b-a17b", 396.35, 17.2, 30_720),
        ("gpt-oss-120b", 116.83, 5.7, 2 * 36_864),
        ("gpt-oss-20b", 20.91, 4.2, 2 * 24_576),
        ("llama-4-maverick", 400.71, 17.2, 196_608),
        ("llama-4-scout", 107.77, 17.2, 196_608),
        ("minimax-m1", 456.09, 48.4, 40_960),
        ("minimax-m3", 426.17, 25.9, 60 * 2048 + 57 * 256),
        ("ernie-4.5-300b-a47b", 299.48, 47.9, 221_184),
        ("nemotron-3-super-120b-a12b", 120.67, 12.7, 8_192),
        ("mimo-v2-flash", 308.78, 15.4, 23_040 + 199_680),
        ("gemma-3-27b", 27.01, 27.0, 507_904),
        ("mistral-small-3.2-24b", 23.57, 23.6, 163_840),
    ];
    assert_eq!(
        presets().iter().count(),
        rows.len(),
        "every preset has a row"
    );
    for (id, total, active, kv) in rows {
        let model = preset(id);
        let counted = parameters(&model);
        let digits = if total == 671.03 || total == 405.85 {
            0.005
        } else {
            0.05
        };
        assert!(
            (billions(counted.total()) - total).abs() <= digits,
            "{id}: {}",
            counted.total()
        );
        assert!(
            (billions(counted.active()) - active).abs() <= 0.05,
            "{id}: {}",
            counted.active()
        );
        assert_eq!(kv_bytes_per_token(&model, Dtype::Bf16).get(), kv, "{id}");
    }
}

#[test]
fn exact_counts_include_norms() {
    assert_eq!(parameters(&preset("qwen3-0.6b")).total(), 596_049_920);
    assert_eq!(parameters(&preset("qwen3-8b")).total(), 8_190_735_360);
    assert_eq!(parameters(&preset("llama-3.1-8b")).total(), 8_030_261_248);
    assert_eq!(parameters(&preset("llama-3.1-70b")).total(), 70_553_706_496);
    assert_eq!(
        parameters(&preset("llama-3.1-405b")).total(),
        405_853_388_800
    );
    assert_eq!(parameters(&preset("mixtral-8x7b")).total(), 46_702_792_704);
    assert_eq!(parameters(&preset("step-3")).total(), 316_294_538_240);
    assert_eq!(parameters(&preset("qwen3-30b-a3b")).total(), 30_532_122_624);
    assert_eq!(
        parameters(&preset("qwen3-235b-a22b")).total(),
        235_093_634_560
    );
}

#[test]
fn deepseek_v3_part_by_part() {
    let parts = parameters(&preset("deepseek-v3"));
    assert_eq!(parts.embedding, 129_280 * 7168);
    assert_eq!(parts.lm_head, parts.embedding);
    // Q 7168×1536 + 1536×128×192, KV 7168×576 + 512×128×256, O 128×128×7168, in 61 layers.
    assert_eq!(parts.attention, 61 * 187_105_280);
    assert_eq!(parts.dense_ffn, 3 * 3 * 7168 * 18_432);
    assert_eq!(parts.router, 58 * 256 * (7168 + 1));
    assert_eq!(parts.routed_experts, 58 * 256 * 3 * 7168 * 2048);
    assert_eq!(parts.routed_experts_active * 32, parts.routed_experts);
    assert_eq!(parts.shared_experts, 58 * 3 * 7168 * 2048);
    assert_eq!(parts.norms, 61 * 2 * 7168 + 7168);
    assert_eq!(parts.attention_small, 61 * (1536 + 512));
    assert_eq!(parts.attention_bias, 0);
}

#[test]
fn weights_take_the_memory_that_was_measured() {
    let gib = |id: &str| weight_bytes(&preset(id), Precision::BF16).gib();
    // vLLM 0.11 reports 61.03 and 14.99.
    assert!(
        (gib("qwen3-32b") - 61.02).abs() < 0.01,
        "{}",
        gib("qwen3-32b")
    );
    assert!(
        (gib("llama-3.1-8b") - 14.96).abs() < 0.01,
        "{}",
        gib("llama-3.1-8b")
    );
    // 755.95 is the figure without norms, which add 0.008.
    assert!(
        (gib("llama-3.1-405b") - 755.95).abs() < 0.015,
        "{}",
        gib("llama-3.1-405b")
    );
}

#[test]
fn mla_keeps_one_latent_whatever_tp_is() {
    let model = preset("deepseek-v3");
    assert_eq!(kv_bytes_per_token(&model, Dtype::Fp8).get(), 35_136);
    for tp in [1, 2, 8, 16] {
        assert_eq!(
            kv_bytes_per_token_rank(&model.layers, Dtype::Bf16, tp).get(),
            70_272
        );
    }
}

#[test]
fn key_value_heads_are_divided_then_copied() {
    let model = preset("qwen3-30b-a3b");
    let per_rank = |tp| kv_bytes_per_token_rank(&model.layers, Dtype::Bf16, tp).get();
    assert_eq!(per_rank(1), 98_304);
    assert_eq!(per_rank(2), 49_152);
    assert_eq!(per_rank(4), 24_576);
    assert_eq!(per_rank(8), 24_576, "4 heads on 8 ranks: each twice");
    let layer = LayerRun {
        count: 1,
        ..model.layers[0].clone()
    };
    let one = kv_bytes_per_token_rank(&[layer], Dtype::Bf16, 1);
    assert_eq!(one.get() * 48, 98_304);
}

/// Every rank's weights together are the model plus the copies: router and norms on each rank, key
/// and value heads where there are too few. (Layers of the plain kinds, all in one format; other
/// kinds follow below.)
#[test]
fn ranks_sum_to_the_model_and_its_copies() {
    let precision = Precision::FP8;
    let mut tested = 0;
    for model in presets().iter().filter(|model| is_plain(model)) {
        tested += 1;
        for tp in [1, 2, 4, 8] {
            let mut ranks = 0;
            let mut copies = 0;
            for run in &model.layers {
                let one = layer_parameters(run, model.hidden);
                let shard = Shard::new(tp, tp, tp);
                let rank = layer_weights(model, run, precision, shard);
                let count = u64::from(run.count);
                ranks += count * tp * rank.total().get();
                copies += count * (tp - 1) * 2 * one.router;
                copies += count * (tp * rank.norms.get() - 2 * one.norms);
                copies += count * copied_attention(run, model.hidden, tp);
            }
            ranks += tp * (embedding_bytes(model, tp) + head_bytes(model, tp)).get();
            ranks += 2 * model.hidden;
            // Rows that fill the tables up to whole tiles.
            let tables = if model.tied_embeddings { 1 } else { 2 };
            let filled = padded_vocab(model.vocab, tp) - model.vocab;
            copies += 2 * tables * filled * model.hidden;
            let whole = weight_bytes(model, precision).get();
            assert_eq!(ranks, whole + copies, "{} TP {tp}", model.id);
        }
    }
    assert!(tested >= 17, "{tested} presets of plain layers");
}

/// Whether all layers are plain GQA, MFA or MLA, in the pool's format, with experts that 8 divides.
fn is_plain(model: &Model) -> bool {
    use crate::model::{Attention, Gate};
    model.quantization.is_none()
        && model.extras.iter().all(|extra| !extra.served)
        && model.layers.iter().all(|run| {
            let attention = match &run.attention {
                Attention::Gqa(gqa) => {
                    gqa.indexer.is_none()
                        && !gqa.sinks
                        && gqa.gate == Gate::None
                        && gqa.heads.is_multiple_of(8)
                }
                Attention::Mla(mla) => mla.indexer.is_none() && mla.gate == Gate::None,
                _ => false,
            };
            let ffn = match &run.ffn {
                Ffn::Moe(moe) => moe.experts.is_multiple_of(8) && !moe.bias && !moe.shared_gate,
                _ => true,
            };
            attention && ffn
        })
}

/// Of any kind of layer: the ranks hold all of it together, and each no more than its share and
/// what can't be divided (what a rank of very many would still hold).
#[test]
fn ranks_of_any_kind_hold_all_of_it_and_what_cannot_be_divided() {
    let precision = Precision::FP8;
    for model in presets().iter() {
        for run in &model.layers {
            let on = |tp: u64| {
                let shard = Shard::new(tp, tp, tp);
                layer_weights(model, run, precision, shard).total().get()
            };
            let (whole, floor) = (on(1), on(1 << 20));
            for tp in [2, 4, 8] {
                let rank = on(tp);
                let kind = run.attention.kind();
                assert!(tp * rank >= whole, "{} {kind} TP {tp}", model.id);
                // Each part is rounded up to whole bytes.
                assert!(
                    rank <= whole / tp + floor + 16,
                    "{} {kind} TP {tp}",
                    model.id
                );
            }
        }
    }
}

/// Attention bytes (FP8 matrices) that exist more than once, over all ranks.
fn copied_attention(run: &LayerRun, hidden: u64, tp: u64) -> u64 {
    match &run.attention {
        crate::model::Attention::Gqa(gqa) => {
            let extra = gqa.kv_heads.div_ceil(tp) * tp - gqa.kv_heads;
            let bias = if gqa.qkv_bias { 2 } else { 0 };
            let norms = match (gqa.qk_norm, gqa.qk_norm_whole) {
                (false, _) => 0,
                (true, true) => 2 * extra * gqa.head_dim,
                (true, false) => (tp - 1) * 2 * 2 * gqa.head_dim,
            };
            // MFA's first query matrix is whole on every rank, and so is the norm behind it.
            let query = gqa.q_rank.map_or(0, |rank| (tp - 1) * rank * (hidden + 2));
            2 * extra * gqa.head_dim * (hidden + bias) + norms + query
        }
        crate::model::Attention::Mla(mla) => {
            let norms = mla.q_rank.unwrap_or(0) + mla.kv_rank;
            (tp - 1) * (hidden * (norms + mla.rope_dim) + 2 * norms)
        }
        other => panic!("{} in a preset: say what is copied", other.kind()),
    }
}

#[test]
fn wide_expert_parallelism_leaves_a_few_experts_per_rank() {
    let model = preset("deepseek-v3");
    let moe = &model.layers[1];
    // A scale of 32 bits for every 128 × 128 weights.
    let expert = 3 * 7168 * 2048 / 16_384 * (16_384 + 4);
    let wide = layer_weights(&model, moe, Precision::FP8, Shard::new(1, 1, 32));
    assert_eq!(wide.routed_experts.get(), 8 * expert);
    assert_eq!(
        wide.shared_experts.get(),
        expert,
        "copied under DP attention"
    );
    // TP 8 with EP 2: 128 experts in quarters; the shared one in eighths.
    let mixed = Shard::new(8, 8, 2);
    assert_eq!(mixed.moe_tp, 4);
    let mixed = layer_weights(&model, moe, Precision::FP8, mixed);
    assert_eq!(mixed.routed_experts.get(), 32 * expert);
    assert_eq!(mixed.shared_experts.get(), expert / 8);
}

#[test]
fn vocabulary_is_padded_to_whole_tiles_on_every_rank() {
    assert_eq!(padded_vocab(151_936, 1), 151_936);
    assert_eq!(padded_vocab(32_001, 1), 32_064);
    assert_eq!(padded_vocab(32_001, 7), 32_067);
    assert_eq!(padded_vocab(32_001, 0), 32_064);
}

#[test]
fn four_bit_weights_carry_their_scales() {
    let model = preset("qwen3-32b");
    let parts = parameters(&model);
    let linears = parts.attention + parts.dense_ffn;
    let precision = Precision {
        weights: Dtype::Fp4,
        ..Precision::BF16
    };
    let expected = linears / 16 * 9 + 2 * (parts.total() - linears);
    assert_eq!(weight_bytes(&model, precision).get(), expected);
}

#[test]
fn flops_follow_the_weights_visited() {
    let model = preset("llama-3.1-8b");
    let parts = parameters(&model);
    assert_eq!(
        linear_flops_per_token(&model),
        2 * (parts.attention + parts.dense_ffn)
    );
    assert_eq!(head_flops_per_token(&model), 2 * parts.lm_head);
    // 4 · 32 · 128 per token of context.
    assert_eq!(
        attention_flops_per_context_token(&model.layers[0].attention, false),
        16_384
    );
    let moe = preset("qwen3-30b-a3b");
    let parts = parameters(&moe);
    let visited = parts.attention + parts.router + parts.routed_experts_active;
    assert_eq!(linear_flops_per_token(&moe), 2 * visited);
    // Tied or not, the head multiplies.
    assert_eq!(
        head_flops_per_token(&preset("qwen3-0.6b")),
        2 * 151_936 * 1024
    );
}

/// LongCat-Flash: a third of the router's choices do nothing, so a third less is multiplied.
#[test]
fn experts_that_do_nothing_multiply_nothing() {
    let mut model = preset("qwen3-30b-a3b");
    let all = ffn_flops_per_token(&model);
    for run in &mut model.layers {
        if let Ffn::Moe(moe) = &mut run.ffn {
            moe.zero_experts = moe.experts / 2;
        }
    }
    assert_eq!(ffn_flops_per_token(&model), all / 3 * 2);
    let parts = parameters(&model);
    assert_eq!(ffn_flops_per_token(&model), 2 * parts.routed_experts_active);
}

#[test]
fn absorbed_mla_trades_memory_for_flops() {
    let mla = &preset("deepseek-v3").layers[0].attention;
    assert_eq!(attention_flops_per_context_token(mla, false), 2 * 128 * 320);
    assert_eq!(attention_flops_per_context_token(mla, true), 2 * 128 * 1088);
}

#[test]
fn absurd_shapes_saturate() {
    let mut model = preset("qwen3-30b-a3b");
    model.hidden = u64::MAX;
    model.layers[0].count = u32::MAX;
    if let Ffn::Moe(moe) = &mut model.layers[0].ffn {
        moe.experts = u64::MAX;
    }
    assert!(model.check().is_err());
    assert_eq!(parameters(&model).total(), u64::MAX);
    let run = model.layers[0].clone();
    let _ = weight_bytes(&model, Precision::BF16);
    let _ = layer_weight_bytes(&model, &run, Precision::BF16, 0, 0, 0);
    let _ = kv_bytes_per_token(&model, Dtype::Fp32);
    let _ = linear_flops_per_token(&model);
    model.layers.push(run);
    assert_eq!(model.layer_count(), u32::MAX);
}

fn any_model() -> impl Strategy<Value = Model> {
    let ids: Vec<Model> = presets().iter().cloned().collect();
    proptest::sample::select(ids)
}

/// Of models whose checkpoint leaves the format of every linear to the pool.
fn any_unquantised() -> impl Strategy<Value = Model> {
    let ids: Vec<Model> = presets()
        .iter()
        .filter(|model| model.quantization.is_none())
        .cloned()
        .collect();
    proptest::sample::select(ids)
}

proptest! {
    #[test]
    fn wider_linears_weigh_in_proportion(model in any_unquantised()) {
        let bytes = |weights| {
            weight_bytes(&model, Precision { weights, ..Precision::BF16 }).get()
        };
        let parts = parameters(&model);
        let kept = 2 * (parts.embedding + parts.lm_head + parts.router + parts.norms + parts.attention_bias + parts.attention_small + parts.ffn_bias + parts.extras);
        prop_assert_eq!((bytes(Dtype::Fp8) - kept) * 2, bytes(Dtype::Bf16) - kept);
        prop_assert_eq!((bytes(Dtype::Bf16) - kept) * 2, bytes(Dtype::Fp32) - kept);
    }

    #[test]
    fn a_longer_sequence_never_keeps_less(model in any_model(), a in 0_u64..300_000, b in 0_u64..300_000, tp in 1_u64..33) {
        let (short, long) = (a.min(b), a.max(b));
        for kv in [Dtype::Bf16, Dtype::Fp8] {
            let at = |tokens| kv_bytes_per_sequence_rank(&model.layers, kv, tp, tokens);
            prop_assert!(at(short) <= at(long));
            // Nothing is kept twice: a sequence keeps no more than every token's and its state.
            let state = state_bytes_per_sequence(&model.layers, tp);
            let each = kv_bytes_per_token_rank(&model.layers, kv, tp);
            prop_assert!(at(long) <= each * long + state);
            prop_assert!(at(0) == state);
        }
        // States and index keys have formats of their own; the rest is half as wide.
        let wide = kv_bytes_per_sequence(&model, Dtype::Bf16, long);
        let narrow = kv_bytes_per_sequence(&model, Dtype::Fp8, long);
        prop_assert!(narrow <= wide && wide.get() <= 2 * narrow.get());
    }

    #[test]
    fn more_ranks_never_mean_more_per_rank(model in any_model(), tp in 1_u64..64, ep in 1_u64..64) {
        for run in &model.layers {
            let bytes = |tp, ep| {
                let shard = Shard { attention_tp: tp, ffn_tp: tp, moe_tp: tp, ep };
                layer_weights(&model, run, Precision::FP8, shard).total()
            };
            prop_assert!(bytes(tp + 1, ep) <= bytes(tp, ep));
            prop_assert!(bytes(tp, ep + 1) <= bytes(tp, ep));
        }
        let kv = |tp| kv_bytes_per_token_rank(&model.layers, Dtype::Bf16, tp);
        prop_assert!(kv(tp + 1) <= kv(tp));
        prop_assert!(kv(tp) * tp >= kv_bytes_per_token(&model, Dtype::Bf16));
    }
}
