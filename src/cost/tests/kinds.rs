//! Prices of models of every kind: what they multiply is what their shapes say, and how prices grow
//! with context is what their kinds are for.

use super::*;
use crate::cost::layer::{AttentionShape, PrefillShape};
use crate::model::{
    Attention, Ffn, Gqa, Model, Recurrent, Span, attention_flops, kv_bytes_per_sequence_rank,
    samples,
};
use crate::plan::ModelRef;

/// Co-located on one node of 8, a model's weights in `precision`.
fn plan_for(model: Model, tp: u32, precision: Precision) -> Arc<Plan> {
    let mut design = worked(1);
    let moe = model.moe().is_some();
    design.model = ModelRef::Inline(Box::new(model));
    design.pools[0].precision = precision;
    design.pools[0].layout = Layout {
        tp,
        pp: 1,
        dp: 1,
        ep: if moe { tp } else { 1 },
        ..Layout::SINGLE
    };
    plan_of(&design)
}

/// Seconds of a step that decodes `count` sequences of `context` each.
fn decode(plan: &Arc<Plan>, count: u32, context: u64) -> f64 {
    let count64 = u64::from(count);
    let reached: Vec<u64> = reaches(&plan.model)
        .iter()
        .map(|reach| count64 * reach.tokens(context))
        .collect();
    let lane = LaneShape {
        drafted: 0,
        decodes: count,
        context: count64 * context,
        reached: &reached,
        chunks: &[],
        sampled: count,
    };
    pricer(plan, 0).stage(0, &[lane]).took(false) as f64 * 1e-15
}

/// Seconds of a step that prefills one chunk.
fn prefill(plan: &Arc<Plan>, tokens: u32, context: u32) -> f64 {
    let chunks = [Chunk { tokens, context }];
    let lane = LaneShape {
        chunks: &chunks,
        ..LaneShape::default()
    };
    pricer(plan, 0).stage(0, &[lane]).took(false) as f64 * 1e-15
}

#[test]
fn kernels_of_every_kind_do_the_models_flops() {
    for model in samples::all() {
        for (run, layer) in model.layers.iter().enumerate() {
            let precision = Precision::BF16;
            let mut kernels = by_tokens(&model, run, Layout::SINGLE, precision, 1.0);
            kernels.extend(experts(&model, run, Layout::SINGLE, precision, 1.0, 1.0));
            kernels.extend(shared_experts(&model, run, Layout::SINGLE, precision, 1.0));
            let mut flops: f64 = kernels.iter().map(|(_, op)| op.work().0).sum();
            // MLA's up-projection is in decode's absorbed products or prefill's unfolding.
            if let Attention::Mla(mla) = &layer.attention {
                flops += (2 * mla.heads * mla.kv_rank * (mla.nope_dim + mla.v_dim)) as f64;
            }
            let expected = layer_flops_per_token(layer, model.hidden) as f64;
            assert!(
                (flops / expected - 1.0).abs() < 2e-3,
                "{} {}: {flops} against {expected}",
                model.id,
                layer.attention.kind()
            );
        }
    }
}

#[test]
fn decode_attention_does_the_models_flops() {
    for model in samples::all() {
        for (run, layer) in model.layers.iter().enumerate() {
            // Chunks are counted exactly here and at their cap there.
            if matches!(&layer.attention, Attention::Gqa(gqa) if matches!(gqa.span, Span::Chunk(_)))
            {
                continue;
            }
            let shape = AttentionShape::of(&model, run, Layout::SINGLE, Precision::BF16);
            for context in [128u64, 1024, 65_536] {
                let entries: f64 = shape
                    .shares
                    .iter()
                    .map(|share| share.per * share.reach.tokens(context) as f64)
                    .sum();
                let mut flops = shape.core.map_or(0.0, |core| core.decode_flops * entries);
                if let Some(own) = shape.scoring {
                    let scored = own.per * context as f64;
                    flops += own.operator(1.0, scored, scored).work().0;
                }
                flops += shape
                    .step(1.0, 1.0)
                    .map_or(0.0, |operator| operator.work().0);
                let expected = attention_flops(&layer.attention, true, context) as f64;
                let kind = layer.attention.kind();
                assert!(
                    (flops - expected).abs() <= 1e-6 * expected,
                    "{} {kind} at {context}: {flops} against {expected}",
                    model.id
                );
            }
        }
    }
}

/// All layers of GQA with one span.
fn spanned(span: Span) -> Model {
    let layer = samples::gqa(32, 8, 128, span);
    let runs = vec![crate::model::LayerRun::new(
        32,
        Attention::Gqa(layer),
        Ffn::gated(14_336),
    )];
    samples::model("spanned", 4096, 128_256, runs)
}

#[test]
fn a_window_costs_the_same_at_ten_times_the_context() {
    let plan = plan_for(spanned(Span::Window(1024)), 1, Precision::BF16);
    let near = decode(&plan, 64, 10_000);
    assert!((decode(&plan, 64, 100_000) / near - 1.0).abs() < 1e-9);
    let full = plan_for(spanned(Span::Full), 1, Precision::BF16);
    assert!(decode(&full, 64, 10_000) > 1.5 * near);
    // A prompt in chunks: each costs the same once the window is full.
    let chunk = prefill(&plan, 2048, 8192);
    assert!((prefill(&plan, 2048, 65_536) / chunk - 1.0).abs() < 1e-9);
    assert!(prefill(&full, 2048, 65_536) > chunk);
}

#[test]
fn inside_its_window_a_model_is_the_full_one() {
    let full = plan_for(spanned(Span::Full), 1, Precision::BF16);
    for span in [Span::Window(8192), Span::Chunk(8192)] {
        let plan = plan_for(spanned(span), 1, Precision::BF16);
        for context in [1, 100, 8192] {
            assert_eq!(
                decode(&plan, 32, context).to_bits(),
                decode(&full, 32, context).to_bits(),
                "{span:?} {context}"
            );
        }
        assert_eq!(
            prefill(&plan, 2048, 4096).to_bits(),
            prefill(&full, 2048, 4096).to_bits(),
            "{span:?}"
        );
        assert!(decode(&plan, 32, 12_288) < decode(&full, 32, 12_288));
    }
}

#[test]
fn a_sparse_layer_below_its_choice_is_full_attention_and_scoring() {
    let dense = plan_for(samples::deepseek(10, None), 8, Precision::FP8);
    let sparse = plan_for(
        samples::deepseek(10, Some(samples::INDEXER)),
        8,
        Precision::FP8,
    );
    let gpu = &sparse.pools[0].gpu;
    let scoring = |sum: f64| {
        let scores = Operator::Scores {
            queries: 0.0,
            pairs: sum,
            entries: sum,
            heads: 64.0,
            dim: 128.0,
            dtype: crate::catalog::Dtype::Fp8,
        };
        let price = RooflineOn::of(gpu).price(&scores);
        13.0 * price.compute.max(price.memory)
    };
    // Apart from projections and launches, which no context changes.
    let grown = |plan: &Arc<Plan>, from, to| decode(plan, 64, to) - decode(plan, 64, from);
    let below = grown(&sparse, 100, 2048);
    let expected = grown(&dense, 100, 2048) + scoring(64.0 * 1948.0);
    assert!((below / expected - 1.0).abs() < 1e-6, "{below} {expected}");
    // Above it only the scores grow.
    let above = grown(&sparse, 10_000, 100_000);
    let expected = scoring(64.0 * 90_000.0);
    assert!((above / expected - 1.0).abs() < 1e-6, "{above} {expected}");
    assert!(decode(&sparse, 64, 100_000) < decode(&dense, 64, 100_000));
    // Short prompts: dense attention, plus the indexer's work.
    let (short, full) = (prefill(&sparse, 2048, 0), prefill(&dense, 2048, 0));
    assert!(short > full && short < 1.3 * full, "{short} {full}");
    // A long one: with all heads on a rank, as DP-attention has them, the choice pays. (TP divides
    // the heads but not the scores, so at TP 8 it does not.)
    let long = |plan: &Arc<Plan>| -> f64 {
        let shape = AttentionShape::of(&plan.model, 1, Layout::SINGLE, Precision::FP8);
        let chunk = PrefillShape {
            tokens: 2048,
            context: 120_000,
        };
        let mut seconds = 0.0;
        shape.prefill(chunk, |_, op| {
            seconds += RooflineOn::of(gpu).price(op).seconds()
        });
        seconds
    };
    assert!(long(&sparse) < 0.3 * long(&dense));
}

#[test]
fn a_hybrid_is_nearly_flat_in_context() {
    let hybrid = samples::qwen3_next();
    let mut full = hybrid.clone();
    let attention = full.layers[1].attention.clone();
    for run in &mut full.layers {
        run.attention = attention.clone();
    }
    let (hybrid, full) = (
        plan_for(hybrid, 4, Precision::BF16),
        plan_for(full, 4, Precision::BF16),
    );
    let growth = |plan: &Arc<Plan>| decode(plan, 32, 65_536) - decode(plan, 32, 1024);
    // A quarter of the layers keep a cache.
    let share = growth(&hybrid) / growth(&full);
    assert!((share - 0.25).abs() < 1e-3, "{share}");
    assert!(decode(&hybrid, 32, 16_384) < 1.6 * decode(&hybrid, 32, 1024));
}

#[test]
fn a_recurrent_prompt_is_linear_and_its_decode_reads_the_state() {
    let own = Attention::Recurrent(Recurrent::DeltaNet(samples::delta_net(16, 32, false)));
    let model = samples::model(
        "delta",
        2048,
        151_936,
        vec![crate::model::LayerRun::new(48, own, Ffn::gated(6144))],
    );
    let plan = plan_for(model.clone(), 1, Precision::BF16);
    let early = prefill(&plan, 4096, 0);
    assert!((prefill(&plan, 4096, 500_000) / early - 1.0).abs() < 1e-9);
    assert!((decode(&plan, 64, 100) / decode(&plan, 64, 1_000_000) - 1.0).abs() < 1e-9);
    // 2 MiB of state and 48 KiB of convolution, read and written, in 48 layers.
    let state = f64::from(2 * 48) * (2_097_152.0 + 49_152.0);
    let more = decode(&plan, 128, 100) - decode(&plan, 64, 100);
    let bandwidth = plan.pools[0].gpu.bandwidth.get();
    let least = 64.0 * state / bandwidth;
    assert!(more > least && more < 2.0 * least, "{more} {least}");
}

#[test]
fn what_is_sent_is_what_the_decode_ranks_keep() {
    for model in samples::all() {
        let mut checked = 0;
        for (from, to) in [(1, 1), (1, 4), (4, 1), (8, 2), (2, 8), (4, 8), (8, 4)] {
            let mut design = worked(0);
            design.model = ModelRef::Inline(Box::new(model.clone()));
            let moe = model.moe().is_some();
            for (pool, tp) in design.pools.iter_mut().zip([from, to]) {
                pool.precision = Precision::FP8;
                pool.layout = Layout {
                    tp,
                    ep: if moe { tp } else { 1 },
                    ..Layout::SINGLE
                };
            }
            let demand = Demand {
                longest_context: 4096,
                longest_prompt: 4096,
            };
            let (catalog, models) = (Catalog::embedded().unwrap(), Models::embedded().unwrap());
            // Too large for so few GPUs, or TP does not divide its heads: another layout's turn.
            let Some(plan) = compile(&design, &catalog, &models, demand).plan else {
                continue;
            };
            checked += 1;
            let shape = kv_transfer(
                &mut Router::new(&plan.topology),
                &plan.model,
                &|channel| plan.topology.channel(channel).rate.get(),
                (&plan.pools[0], 0, 0),
                (&plan.pools[1], 0, 0),
            )
            .unwrap();
            for tokens in [1, 100, 5000, 100_000] {
                let tp = u64::from(to);
                let kept = kv_bytes_per_sequence_rank(&model.layers, Dtype::Bf16, tp, tokens);
                let kept = kept.as_f64() * f64::from(to);
                let sent = shape.bytes(tokens);
                assert!(
                    (sent - kept).abs() <= 1e-9 * kept,
                    "{} TP {from} to {to}, {tokens}: {sent} {kept}",
                    model.id
                );
                let network: f64 = shape
                    .channels(tokens)
                    .iter()
                    .filter(|(id, _)| {
                        plan.topology.channel(*id).class == crate::cluster::ChannelClass::Network
                    })
                    .map(|(_, share)| share)
                    .sum();
                // Every byte leaves and arrives: whole passes of the network.
                assert!(
                    (network - network.round()).abs() < 1e-9 && network > 0.5,
                    "{network}"
                );
            }
        }
        assert!(checked >= 2, "{}: {checked}", model.id);
    }
}

#[test]
fn sharing_a_cache_saves_its_making_not_its_reading() {
    let model = samples::menagerie();
    let of = |shares: bool| {
        model
            .layers
            .iter()
            .position(|run| {
                matches!(&run.attention, Attention::Gqa(Gqa { shares_kv, v_dim: None, keys_are_values: false, .. }) if *shares_kv == shares)
                    && matches!(run.ffn, Ffn::Dense { gated, .. } if gated == shares)
            })
            .unwrap()
    };
    let shape = |run| AttentionShape::of(&model, run, Layout::SINGLE, Precision::BF16);
    let (shared, own) = (shape(of(true)), shape(of(false)));
    assert_eq!(shared.core, own.core);
    let chunk = PrefillShape {
        tokens: 100,
        context: 900,
    };
    let bytes = |shape: &AttentionShape| -> f64 {
        let mut bytes = 0.0;
        shape.prefill(chunk, |_, op| bytes += op.work().1);
        bytes
    };
    assert!((bytes(&shared) - bytes(&own)).abs() < 1e-9);
    let qkv = |run| -> f64 {
        by_tokens(&model, run, Layout::SINGLE, Precision::BF16, 1.0)
            .iter()
            .filter(|(class, _)| *class == Class::Linear)
            .map(|(_, op)| op.work().0)
            .take(1)
            .sum()
    };
    assert!((qkv(of(false)) - qkv(of(true)) - 2.0 * 2048.0 * 1024.0).abs() < 1e-6);
}

#[test]
fn a_part_kept_wider_is_read_wider() {
    let mut model = spanned(Span::Full);
    let read = |model: &Model| -> f64 {
        by_tokens(model, 0, Layout::SINGLE, Precision::FP8, 1.0)
            .iter()
            .filter(|(class, _)| *class == Class::Linear)
            .map(|(_, op)| op.work().1)
            .sum()
    };
    let narrow = read(&model);
    model.layers[0].kept.attention = Some(Dtype::Bf16);
    let attention = 4096.0 * (4096.0 * 2.0 + 2.0 * 1024.0);
    // A byte more per weight, and per value of the inputs.
    assert!((read(&model) - narrow - attention - 8192.0).abs() < 1.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_faster_memory_is_never_slower_for_any_kind(
        which in 0usize..9,
        count in 1u32..200,
        context in 1u64..200_000,
        chunk in 1u32..4000,
        faster in 1.0f64..4.0,
    ) {
        let model = samples::all().swap_remove(which);
        let shapes: Vec<AttentionShape> = (0..model.layers.len())
            .map(|run| AttentionShape::of(&model, run, Layout::SINGLE, Precision::BF16))
            .collect();
        let catalog = Catalog::embedded().unwrap();
        let gpu = catalog.gpu(&GpuId::new("h800-sxm").unwrap()).unwrap();
        let mut better = gpu.clone();
        better.bandwidth = better.bandwidth * faster;
        for (run, shape) in shapes.iter().enumerate() {
            let n = f64::from(count);
            let mut kernels = by_tokens(&model, run, Layout::SINGLE, Precision::BF16, n);
            kernels.extend(experts(&model, run, Layout::SINGLE, Precision::BF16, n, n));
            kernels.extend(shape.decode(n));
            kernels.extend(shape.step(n, 1.0).map(|own| (Class::Attention, own)));
            let new = PrefillShape { tokens: u64::from(chunk), context };
            shape.prefill(new, |class, op| kernels.push((class, *op)));
            for (_, operator) in kernels {
                let (slow, fast) = (RooflineOn::of(gpu).price(&operator), RooflineOn::of(&better).price(&operator));
                prop_assert!(slow.seconds().is_finite() && slow.seconds() > 0.0);
                prop_assert!(fast.seconds() <= slow.seconds());
                let (flops, bytes) = operator.work();
                prop_assert!(flops >= 0.0 && bytes >= 0.0);
            }
        }
    }
}
