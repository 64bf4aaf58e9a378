use super::*;
use crate::catalog::{Catalog, Dtype, GpuId, ModelId};
use crate::model::{
    Attention, Ffn, Gqa, Kept, LayerRun, Mla, Models, Moe, Quantization, Scale, Span,
};
use proptest::prelude::*;

fn gpu(id: &str) -> Gpu {
    let catalog = Catalog::embedded().unwrap();
    catalog.gpu(&GpuId::new(id).unwrap()).unwrap().clone()
}

fn preset(id: &str) -> Model {
    let models = Models::embedded().unwrap();
    models.get(&ModelId::new(id).unwrap()).unwrap().clone()
}

fn tp(tp: u32) -> Layout {
    Layout {
        tp,
        ..Layout::SINGLE
    }
}

fn on(model: &Model, gpu: &Gpu, precision: Precision, layout: Layout) -> MemoryBudget {
    let engine = Engine::defaults(EngineKind::Vllm, gpu, layout);
    Sizer::new(model, gpu, None).budget(&engine, precision, layout)
}

fn term(budget: &MemoryBudget, name: &str) -> f64 {
    let found = budget.terms.iter().find(|term| term.name == name);
    found.unwrap_or_else(|| panic!("no {name}")).bytes.gib()
}

/// gpt-oss-120b: every other layer sees 128 tokens; experts in MXFP4, the rest BF16.
fn gpt_oss_120b() -> Model {
    let run = |span| LayerRun {
        kept: Kept {
            attention: Some(Dtype::Bf16),
            ..Kept::NONE
        },
        ..LayerRun::new(
            1,
            Attention::Gqa(Gqa {
                heads: 64,
                kv_heads: 8,
                head_dim: 64,
                span,
                qkv_bias: true,
                out_bias: true,
                sinks: true,
                ..Gqa::default()
            }),
            Ffn::Moe(Moe {
                experts: 128,
                top_k: 4,
                intermediate: 2880,
                bias: true,
                ..Moe::default()
            }),
        )
    };
    let layers = (0..18)
        .flat_map(|_| [run(Span::Window(128)), run(Span::Full)])
        .collect();
    Model::of_layers(ModelId::new("gpt-oss-120b").unwrap(), 2880, 201_088, layers)
}

const MXFP4: Precision = Precision {
    weights: Dtype::Mxfp4,
    activations: Dtype::Bf16,
    kv: Dtype::Bf16,
};

/// KV left, or what is missing as a negative number, GiB.
fn kv(budget: &MemoryBudget) -> f64 {
    budget
        .shortfall
        .map_or(budget.kv.gib(), |missing| -missing.gib())
}

// cases.md T39: one rule for the activation peak, no constants per model. Residuals, GiB: Qwen3-32B
// −0.02, Llama-8B +0.01, 70B-FP8 −0.01, gpt-oss −0.35. 70B-FP8 at TP 2 (+0.03) is what the NCCL
// buffers were inferred from, so it checks the rest only.
#[test]
fn kv_is_what_vllm_measures_on_an_h100() {
    let h100 = gpu("h100-sxm");
    let llama70 = preset("llama-3.3-70b");
    let cases = [
        (preset("qwen3-32b"), Precision::BF16, 1, 4.45, 0.1),
        (preset("llama-3.1-8b"), Precision::BF16, 1, 51.38, 0.1),
        (llama70.clone(), Precision::FP8, 1, -1.44, 0.1),
        (llama70, Precision::FP8, 2, 32.0, 0.1),
        (gpt_oss_120b(), MXFP4, 1, 3.33, 0.5),
    ];
    for (model, precision, ranks, measured, tolerance) in cases {
        let ours = kv(&on(&model, &h100, precision, tp(ranks)));
        println!(
            "{} TP {ranks}: {ours:.2} GiB, measured {measured}, residual {:+.2}",
            model.name,
            ours - measured
        );
        assert!(
            (ours - measured).abs() <= tolerance,
            "{} TP {ranks}: {ours}",
            model.name
        );
    }
}

#[test]
fn the_terms_are_what_vllm_measures_on_an_h100() {
    let h100 = gpu("h100-sxm");
    let qwen = on(&preset("qwen3-32b"), &h100, Precision::BF16, tp(1));
    assert!((term(&qwen, "Weights") - 61.03).abs() < 0.05);
    assert!((term(&qwen, "Activation peak") - 5.64).abs() < 0.1);
    assert_eq!(term(&qwen, "Communication buffers"), 0.0);
    // 18,227 tokens at 262,144 B; a context of 32,000 has no room.
    assert!((qwen.kv_tokens as f64 / 18_227.0 - 1.0).abs() < 0.03);
    assert!(qwen.kv_tokens < 32_000);
    let llama = on(&preset("llama-3.1-8b"), &h100, Precision::BF16, tp(1));
    assert!((term(&llama, "Weights") - 14.99).abs() < 0.05);
    // vLLM reports 64.38 for gpt-oss-120b; its shapes have 3.6 less. The KV it then has agrees with
    // our smaller weights (above), so the difference is most likely gone after loading; unproved.
    let oss = on(&gpt_oss_120b(), &h100, MXFP4, tp(1));
    let weights = term(&oss, "Weights");
    assert!((60.0..=64.5).contains(&weights), "{weights}");
}

// cases.md T40: vLLM resolved 2,588 blocks where memory less weights alone gives 3,400.
#[test]
fn a_4090_has_the_blocks_vllm_resolved() {
    let card = gpu("rtx-4090");
    let model = preset("llama-3.1-8b");
    let derived = on(&model, &card, Precision::BF16, tp(1));
    println!("T40: {} blocks, measured 2588", derived.blocks);
    assert!(
        (derived.blocks as f64 / 2588.0 - 1.0).abs() < 0.05,
        "{}",
        derived.blocks
    );
    let engine = Engine {
        num_gpu_blocks: Some(2588),
        ..Engine::vllm(false)
    };
    let measured = Sizer::new(&model, &card, None).budget(&engine, Precision::BF16, tp(1));
    assert_eq!((measured.blocks, measured.kv_tokens), (2588, 41_408));
    assert_eq!(measured.source, BlockSource::Measured);
}

/// Kimi-K2.5-NVFP4: MLA and the first dense layer; attention BF16, the rest NVFP4.
fn kimi_k25_nvfp4() -> Model {
    let attention = Attention::Mla(Mla {
        heads: 64,
        q_rank: Some(1536),
        kv_rank: 512,
        nope_dim: 128,
        rope_dim: 64,
        v_dim: 128,
        ..Mla::default()
    });
    let kept = Kept {
        attention: Some(Dtype::Bf16),
        ..Kept::NONE
    };
    let experts = Ffn::Moe(Moe {
        experts: 384,
        top_k: 8,
        intermediate: 2048,
        shared_intermediate: 2048,
        router_bias: true,
        ..Moe::default()
    });
    let runs = [(1, Ffn::gated(18_432)), (60, experts)].map(|(count, ffn)| LayerRun {
        kept,
        ..LayerRun::new(count, attention.clone(), ffn)
    });
    let mut model = Model::of_layers(
        ModelId::new("kimi-k2.5-nvfp4").unwrap(),
        7168,
        163_840,
        runs.to_vec(),
    );
    model.quantization = Some(Quantization {
        weights: Dtype::Fp4,
        activations: Dtype::Fp4,
        scale: Some(Scale { bits: 8, per: 16 }),
        block: None,
        head: None,
    });
    model
}

// cases.md T41: a decode worker of four ranks with a lane each, requests of 8,192 + 1,024 tokens,
// FP8 KV. A bare engine admits 29 a rank, one with transfer buffers 17 or 18; a planner that packed
// memory to the brim said 96, and 384 in all.
#[test]
fn memory_is_not_packed_to_the_brim() {
    let precision = Precision {
        weights: Dtype::Fp4,
        activations: Dtype::Fp4,
        kv: Dtype::Fp8,
    };
    let layout = Layout {
        dp: 4,
        ep: 4,
        ..Layout::SINGLE
    };
    let engine = Engine {
        gpu_memory_utilization: 0.92,
        version: "0.22".to_owned(),
        ..Engine::vllm(true)
    };
    let (model, b200) = (kimi_k25_nvfp4(), gpu("b200-sxm"));
    let budget = Sizer::new(&model, &b200, None).budget(&engine, precision, layout);
    assert!(
        (term(&budget, "Weights") - 152.0).abs() < 2.0,
        "{}",
        term(&budget, "Weights")
    );
    let each = budget.sequence.bytes(8192 + 1024);
    let batch = budget.kv.get() / each;
    println!("T41: {batch} a rank, {} in all", 4 * batch);
    assert!((17..=29).contains(&batch), "{batch}");
}

// cases.md T43: 755.95 GiB; at 79.18 GiB and 0.9 that is 11 GPUs before any KV.
#[test]
fn llama_405b_needs_eleven_gpus_for_its_weights_alone() {
    let (model, h800) = (preset("llama-3.1-405b"), gpu("h800-sxm"));
    let sizer = Sizer::new(&model, &h800, None);
    let weights = sizer.least_weights(Precision::BF16, 1).gib();
    assert!((weights - 755.95).abs() < 0.05, "{weights}");
    assert_eq!((weights / (79.18 * 0.9)).ceil(), 11.0);
    let alone = on(&model, &h800, Precision::BF16, tp(1));
    assert!(alone.shortfall.is_some());
    assert_eq!((alone.blocks, alone.kv_tokens), (0, 0));
}

#[test]
fn engines_divide_the_same_gpu_by_their_own_rules() {
    let (model, h100) = (preset("llama-3.1-8b"), gpu("h100-sxm"));
    let sizer = Sizer::new(&model, &h100, None);
    let of = |kind| {
        let engine = Engine::defaults(kind, &h100, tp(1));
        let budget = sizer.budget(&engine, Precision::BF16, tp(1));
        (engine, budget)
    };
    let weights = term(&of(EngineKind::Vllm).1, "Weights");
    // SGLang: KV = fraction × free at start − weights.
    let (engine, budget) = of(EngineKind::Sglang);
    let free = budget.capacity.gib() - term(&budget, "CUDA context and runtime");
    let expected = engine.gpu_memory_utilization * free - weights;
    assert!((budget.kv.gib() - expected).abs() < 0.001);
    // TensorRT-LLM: KV = fraction × (free after weights, activations and buffers).
    let (engine, budget) = of(EngineKind::TensorRtLlm);
    let left = free - weights - term(&budget, "Activation peak");
    assert!((budget.kv.gib() - engine.gpu_memory_utilization * left).abs() < 0.001);
}

#[test]
fn redundant_experts_weigh_what_experts_weigh() {
    let (model, h200) = (preset("deepseek-v3"), gpu("h200-sxm"));
    let with = |redundant_experts| {
        let layout = Layout {
            dp: 32,
            ep: 32,
            redundant_experts,
            ..Layout::SINGLE
        };
        on(&model, &h200, Precision::FP8, layout).terms[0]
            .bytes
            .gib()
    };
    // One more of 58 layers' experts on each rank: 3 × 7168 × 2048 bytes each.
    let expert = 58.0 * 3.0 * 7168.0 * 2048.0 / f64::from(1 << 30);
    assert!((with(32) - with(0) - expert).abs() < 0.05 * expert);
}

#[test]
fn a_thousand_layers_are_searched_in_no_time() {
    // Three kinds of layer in turn, a thousand runs of one.
    let run = |index: u64| {
        let gqa = Gqa {
            heads: 64,
            kv_heads: 8,
            head_dim: 128,
            span: if index.is_multiple_of(3) {
                Span::Full
            } else {
                Span::Window(1024 * (index % 3))
            },
            ..Gqa::default()
        };
        LayerRun::new(1, Attention::Gqa(gqa), Ffn::gated(28_672))
    };
    let model = Model::of_layers(
        ModelId::new("tall").unwrap(),
        8192,
        128_256,
        (0..1000).map(run).collect(),
    );
    let h100 = gpu("h100-sxm");
    let start = std::time::Instant::now();
    let sizer = Sizer::new(&model, &h100, None);
    let engine = Engine::vllm(true);
    for _ in 0..10 {
        let layout = Layout {
            tp: 8,
            pp: 8,
            ..Layout::SINGLE
        };
        let _ = sizer.budget(&engine, Precision::BF16, layout);
    }
    let each = start.elapsed() / 10;
    println!("a budget of 1,000 layers: {each:?}");
    // Bounded loosely: the machine that runs tests is shared.
    assert!(each.as_millis() < 20, "{each:?}");
}

proptest! {
    #[test]
    fn terms_add_up_and_more_tp_never_weighs_more(
        name in prop::sample::select(vec!["llama-3.1-8b", "qwen3-32b", "deepseek-v3", "qwen3-30b-a3b"]),
        kind in prop::sample::select(EngineKind::ALL.to_vec()),
        share in 0.1_f64..=1.0,
        pp in 1_u32..=8,
        power in 0_u32..4,
        tokens in 1_u32..100_000,
        seqs in 1_u32..5000,
    ) {
        let (model, h100) = (preset(name), gpu("h100-sxm"));
        let sizer = Sizer::new(&model, &h100, None);
        let engine = Engine {
            gpu_memory_utilization: share,
            max_num_batched_tokens: tokens,
            max_num_seqs: seqs,
            ..Engine::defaults(kind, &h100, tp(1))
        };
        let at = |tp| sizer.budget(&engine, Precision::BF16, Layout { tp, pp, ..Layout::SINGLE });
        let (one, two) = (at(1 << power), at(2 << power));
        for budget in [&one, &two] {
            let terms: u64 = budget.terms.iter().map(|term| term.bytes.get()).sum();
            if budget.shortfall.is_none() {
                prop_assert_eq!(terms + budget.kv.get(), budget.capacity.get());
            }
            prop_assert!(budget.blocks.saturating_mul(budget.block_bytes.get()) <= budget.kv.get());
            for length in [1, 100, 5000, 100_000] {
                prop_assert!(budget.sequence.bytes(length) <= budget.sequence.bytes(length + 777));
            }
        }
        prop_assert!(two.terms[0].bytes <= one.terms[0].bytes);
    }

    #[test]
    fn ranks_together_hold_the_model_at_least(
        name in prop::sample::select(vec!["llama-3.1-8b", "deepseek-v3", "qwen3-30b-a3b"]),
        power in 0_u32..5,
    ) {
        let (model, h100) = (preset(name), gpu("h100-sxm"));
        let sizer = Sizer::new(&model, &h100, None);
        let ranks = 1_u32 << power;
        let each = on(&model, &h100, Precision::BF16, tp(ranks)).terms[0].bytes;
        prop_assert!(each >= sizer.least_weights(Precision::BF16, ranks));
    }
}

#[test]
fn graphs_take_what_is_captured() {
    let (model, h100) = (preset("llama-3.1-8b"), gpu("h100-sxm"));
    let sizer = Sizer::new(&model, &h100, None);
    let of = |kind, mode, max_size| {
        let engine = Engine {
            graphs: crate::plan::Graphs {
                mode,
                max_size,
                padding: true,
            },
            ..Engine::defaults(kind, &h100, tp(1))
        };
        sizer.budget(&engine, Precision::BF16, tp(1))
    };
    use crate::plan::GraphMode as Mode;
    for kind in EngineKind::ALL {
        assert_eq!(term(&of(kind, Mode::None, 512), "CUDA graphs"), 0.0);
        let [small, large] = [64, 256].map(|size| of(kind, Mode::FullDecode, size));
        assert!(term(&small, "CUDA graphs") < term(&large, "CUDA graphs"));
        // They come out of what KV is not cut from.
        assert_eq!(small.kv, large.kv);
    }
    // 51 sizes up to 512, 32 layers, 0.25 MiB each; twice with whole steps.
    let vllm = |mode| term(&of(EngineKind::Vllm, mode, 512), "CUDA graphs");
    assert!((vllm(Mode::Piecewise) - 51.0 * 32.0 / 4096.0).abs() < 1e-9);
    assert!((vllm(Mode::FullAndPiecewise) - 2.0 * vllm(Mode::Piecewise)).abs() < 1e-9);
}

#[test]
fn a_drafter_takes_its_weights_and_its_cache() {
    let (model, h100) = (preset("qwen3-8b"), gpu("h100-sxm"));
    let small = preset("qwen3-0.6b");
    let of = |draft: Option<crate::plan::Draft>, beside: Option<&Model>| {
        let engine = Engine {
            speculation: draft.map(crate::plan::Speculation::start),
            graphs: crate::plan::Graphs::default(),
            ..Engine::vllm(true)
        };
        Sizer::new(&model, &h100, beside).budget(&engine, Precision::BF16, tp(1))
    };
    let alone = of(None, None);
    let looked_up = of(Some(crate::plan::Draft::Ngram), None);
    assert_eq!(
        (looked_up.kv, looked_up.block_bytes),
        (alone.kv, alone.block_bytes)
    );
    let id = ModelId::new("qwen3-0.6b").unwrap();
    let beside = of(Some(crate::plan::Draft::Model { model: id }), Some(&small));
    // 0.6 billion parameters in BF16, and 28 layers of 8 heads of 128, keys and values.
    let more = term(&beside, "Weights") - term(&alone, "Weights");
    assert!((1.0..1.4).contains(&more), "{more}");
    let block = beside.block_bytes.get() - alone.block_bytes.get();
    assert_eq!(block, 16 * 28 * 2 * 8 * 128 * 2);
    // One layer more of 36, and 2 × 4096 × 4096 that bring its inputs together.
    let own = of(Some(crate::plan::Draft::Mtp { layers: 1 }), None);
    assert_eq!(own.block_bytes.get() * 36, alone.block_bytes.get() * 37);
    let more = term(&own, "Weights") - term(&alone, "Weights");
    assert!((0.40..0.45).contains(&more), "{more}");
}
