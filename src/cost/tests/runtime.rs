//! Prices of what engines do at run time: host, CUDA graphs, drafts, context parallelism.

use super::*;
use crate::catalog::NodeTypeId;
use crate::cluster::GroupKind;
use crate::cost::layer::PrefillShape;
use crate::plan::{Draft, Engine, EngineKind, GraphMode, Graphs, Host, Speculation};
use crate::units::Seconds;

/// One pool of 8 H200 with a bare engine, changed.
pub(super) fn planned(model: &str, layout: Layout, change: impl FnOnce(&mut Engine)) -> Arc<Plan> {
    planned_in(model, Precision::BF16, layout, change)
}

pub(super) fn planned_in(
    model: &str,
    precision: Precision,
    layout: Layout,
    change: impl FnOnce(&mut Engine),
) -> Arc<Plan> {
    let mut design = worked(1);
    for group in &mut design.cluster.groups {
        group.kind = GroupKind::Node(NodeTypeId::new("hgx-h200").unwrap());
    }
    design.model = ModelRef::Preset(ModelId::new(model).unwrap());
    let pool = &mut design.pools[0];
    pool.layout = layout;
    pool.precision = precision;
    pool.engine = Engine::vllm(true);
    change(&mut pool.engine);
    plan_of(&design)
}

fn captures(mode: GraphMode, max_size: u32) -> Graphs {
    Graphs {
        mode,
        max_size,
        padding: true,
    }
}

fn launch(us: f64) -> Host {
    Host {
        launch: Seconds::from_us(us),
        ..Host::default()
    }
}

/// So many decodes of `context` tokens each in all.
fn decodes(count: u32, context: u64) -> LaneShape<'static> {
    LaneShape {
        decodes: count,
        context,
        sampled: count,
        ..LaneShape::default()
    }
}

/// The same, each verifying so many drafts.
fn verifying(count: u32, context: u64, drafts: u32) -> LaneShape<'static> {
    LaneShape {
        drafted: count * drafts,
        sampled: count * (1 + drafts),
        ..decodes(count, context)
    }
}

fn price(plan: &Plan, lane: LaneShape<'_>) -> StepPrice {
    pricer(plan, 0).stage(0, &[lane])
}

const PROMPT: [Chunk; 2] = [
    Chunk {
        tokens: 100,
        context: 0,
    },
    Chunk {
        tokens: 50,
        context: 200,
    },
];

#[test]
fn launches_are_counted_by_hand() {
    // Llama-3.1-8B, 32 layers of: two norms, QKV, rotary, cache write, output, gate-up, activation,
    // down (9), attention of decodes (2: splits and their combine), of prompts (1, all in one call).
    // Beside them embedding 1, final norm and head 2, sampler 4.
    let none = planned("llama-3.1-8b", Layout::SINGLE, |_| {});
    let launches = |plan: &Plan, lane| price(plan, lane).launches;
    let mixed = LaneShape {
        chunks: &PROMPT,
        ..decodes(8, 800)
    };
    let prompts = LaneShape {
        chunks: &PROMPT,
        sampled: 1,
        ..LaneShape::default()
    };
    assert_eq!(launches(&none, decodes(8, 800)), 32 * 11 + 1 + 6);
    assert_eq!(launches(&none, prompts), 32 * 10 + 1 + 6);
    assert_eq!(launches(&none, mixed), 32 * 12 + 1 + 6);
    // A chunk that does not end its prompt samples nothing.
    let middle = LaneShape {
        sampled: 0,
        ..prompts
    };
    assert_eq!(launches(&none, middle), 32 * 10 + 1);
    // Qwen3-8B, 36 layers, has a norm of queries and one of keys.
    let qwen = planned("qwen3-8b", Layout::SINGLE, |_| {});
    assert_eq!(launches(&qwen, decodes(8, 800)), 36 * 13 + 1 + 6);
    // TP 2: two all-reduces per layer, the embedding's, the logits' gather.
    let two = Layout {
        tp: 2,
        ..Layout::SINGLE
    };
    let two = planned("llama-3.1-8b", two, |_| {});
    assert_eq!(launches(&two, decodes(8, 800)), 32 * 13 + 2 + 7);
    // Pieces: 33 graphs, and of each layer the write and the attention.
    let pieces = planned("llama-3.1-8b", Layout::SINGLE, |engine| {
        engine.graphs = captures(GraphMode::Piecewise, 512);
    });
    assert_eq!(launches(&pieces, decodes(8, 800)), 33 + 32 * 3 + 6);
    assert_eq!(launches(&pieces, mixed), 33 + 32 * 4 + 6);
    // Whole: vLLM's ends before the head.
    for (kind, rest) in [
        (EngineKind::Vllm, 6),
        (EngineKind::Sglang, 4),
        (EngineKind::TensorRtLlm, 4),
    ] {
        let whole = planned("llama-3.1-8b", Layout::SINGLE, |engine| {
            engine.kind = kind;
            engine.graphs = captures(GraphMode::FullDecode, 512);
        });
        let own = price(&whole, decodes(8, 800));
        assert_eq!((own.launches, own.issued), (1 + rest, Issued::Whole));
        assert_eq!(price(&whole, mixed).issued, Issued::Eager);
    }
}

#[test]
fn a_stage_costs_its_own_layers() {
    let layout = Layout {
        pp: 2,
        ..Layout::SINGLE
    };
    let stages = |given: &[u32]| {
        let plan = planned("llama-3.1-8b", layout, |engine| {
            engine.stage_layers = given.to_vec();
        });
        let mut pricer = pricer(&plan, 0);
        [0, 1].map(|stage| pricer.stage(stage, &[decodes(8, 8000)]).total)
    };
    // Of 32 layers: each four that move take as long there as they did here.
    let [first, second] = stages(&[16, 16]);
    for moved in [4, 8, 12] {
        let [more, less] = stages(&[16 + moved, 16 - moved]);
        // A femtosecond an entry is what rounding takes.
        assert!((more - first).abs_diff(second - less) <= 20_000, "{moved}");
        let (of_four, one) = (f64::from(moved / 4), stages(&[20, 12])[0] - first);
        let share = (more - first) as f64 / (of_four * one as f64);
        assert!((share - 1.0).abs() < 1e-6, "{share}");
    }
    assert_eq!(stages(&[]), [first, second]);
}

#[test]
fn a_graph_without_padding_runs_its_own_sizes_only() {
    let of = |padding, count| {
        let plan = planned("llama-3.1-8b", Layout::SINGLE, |engine| {
            engine.kind = EngineKind::TensorRtLlm;
            engine.graphs = Graphs {
                padding,
                ..captures(GraphMode::FullDecode, 128)
            };
        });
        price(&plan, decodes(count, 8000))
    };
    // 33 to 63 are padded to a multiple of 8, or eager.
    assert_eq!(of(true, 33).issued, Issued::Whole);
    assert_eq!(of(false, 33).issued, Issued::Eager);
    assert!(
        of(false, 33).total < of(true, 33).total,
        "nothing is padded"
    );
    assert_eq!(of(false, 31).issued, Issued::Whole);
    assert_eq!(of(false, 64), of(true, 64));
}

#[test]
fn a_graph_saves_exactly_the_launches() {
    let of = |mode, us| {
        let plan = planned("llama-3.1-8b", Layout::SINGLE, |engine| {
            engine.graphs = captures(mode, 512);
            engine.host = launch(us);
        });
        price(&plan, decodes(8, 8000))
    };
    let free = of(GraphMode::None, 0.0);
    let eager = of(GraphMode::None, 40.0);
    let whole = of(GraphMode::FullDecode, 40.0);
    // 8 is a captured size: the same kernels.
    assert_eq!((free.total, eager.total), (whole.total, whole.total));
    assert_eq!(free.took(false), free.total, "nothing is issued");
    // 40 µs each: 359 launches take longer than the kernels, 7 do not.
    let each = 40_000_000_000;
    assert_eq!(eager.took(false), 359 * each);
    assert!(eager.took(false) > 2 * eager.total);
    assert_eq!(whole.took(false), whole.total + each);
    // Cheap launches are hidden, but for the first.
    let quick = of(GraphMode::None, 1.0);
    assert_eq!(quick.took(false), quick.total + 1_000_000_000);
}

#[test]
fn a_batch_is_padded_to_its_graph() {
    let of = |mode, kind, lane| {
        let plan = planned("llama-3.1-8b", Layout::SINGLE, |engine| {
            engine.kind = kind;
            engine.graphs = captures(mode, 512);
        });
        price(&plan, lane)
    };
    // Padding sees nothing: 9 sequences cost what 16 with the same contexts in all do, but for the
    // head, which vLLM leaves out of the graph.
    let nine = decodes(9, 90_000);
    let sixteen = LaneShape {
        sampled: 9,
        ..decodes(16, 90_000)
    };
    let whole = |kind, lane| of(GraphMode::FullDecode, kind, lane).total;
    assert_eq!(
        whole(EngineKind::Vllm, nine),
        whole(EngineKind::Vllm, sixteen)
    );
    assert_eq!(
        whole(EngineKind::TensorRtLlm, nine),
        whole(EngineKind::TensorRtLlm, decodes(16, 90_000))
    );
    // SGLang captures 12.
    assert!(whole(EngineKind::Sglang, nine) == whole(EngineKind::Sglang, decodes(12, 90_000)));
    // In pieces attention works on what is there.
    let pieces = of(GraphMode::Piecewise, EngineKind::Vllm, nine);
    let eager = of(GraphMode::None, EngineKind::Vllm, nine);
    let attention = Class::Attention as usize;
    assert_eq!(pieces.by_class[attention], eager.by_class[attention]);
    assert_eq!(pieces.issued, Issued::Pieces);
    // Above the largest size nothing is padded.
    let large = of(
        GraphMode::FullAndPiecewise,
        EngineKind::Vllm,
        decodes(513, 90_000),
    );
    assert_eq!(large.issued, Issued::Eager);
    assert_eq!(
        large.total,
        of(GraphMode::None, EngineKind::Vllm, decodes(513, 90_000)).total
    );
}

#[test]
fn lanes_that_share_experts_run_in_the_same_graph() {
    let lanes = Layout {
        dp: 8,
        ep: 8,
        ..Layout::SINGLE
    };
    let plan = planned("qwen3-30b-a3b", lanes, |engine| {
        engine.graphs = captures(GraphMode::FullDecode, 512);
    });
    let mut pricer = pricer(&plan, 0);
    let mut idle = [decodes(0, 0); 8];
    idle[3] = decodes(9, 9000);
    let mut level = [decodes(16, 9000); 8];
    for lane in &mut level {
        lane.sampled = 9;
    }
    // The idle ones run padding.
    assert_eq!(pricer.stage(0, &idle).total, pricer.stage(0, &level).total);
    // One prompt makes all of them eager.
    idle[0].chunks = &PROMPT;
    assert_eq!(pricer.stage(0, &idle).issued, Issued::Eager);
}

// cases.md T35.
#[test]
fn drafts_multiply_decodes_alone() {
    let chunks = [Chunk {
        tokens: 16_384,
        context: 0,
    }];
    let lane = LaneShape {
        chunks: &chunks,
        ..verifying(64, 64_000, 3)
    };
    assert_eq!(lane.tokens(), 16_640);
}

fn speculation(draft: Draft, steps: u32, verified: u32) -> Option<Speculation> {
    Some(Speculation {
        draft,
        steps,
        verified,
        acceptance: vec![0.7],
    })
}

#[test]
fn verifying_is_nearly_free_at_batch_one_and_not_at_a_large_batch() {
    let plan = planned("qwen3-8b", Layout::SINGLE, |engine| {
        engine.speculation = speculation(Draft::Ngram, 3, 3);
        engine.max_num_batched_tokens = 16_384;
        engine.max_num_seqs = 4096;
    });
    let ratio = |count: u32, each: u64| {
        let context = u64::from(count) * each;
        let plain = price(&plan, decodes(count, context)).total as f64;
        price(&plan, verifying(count, context, 3)).total as f64 / plain
    };
    let one = ratio(1, 1000);
    assert!((1.0..1.05).contains(&one), "{one}");
    let many = ratio(2048, 100);
    assert!((3.0..4.0).contains(&many), "{many}");
    // Long contexts are read once for all tokens of a sequence.
    let long = ratio(64, 30_000);
    assert!((1.0..1.3).contains(&long), "{long}");
    // Between whole numbers of drafts prices lie between.
    let of = |drafted| {
        let lane = LaneShape {
            drafted,
            sampled: 64 + drafted,
            ..decodes(64, 640_000)
        };
        price(&plan, lane).total
    };
    assert!((0..192).all(|drafted| of(drafted) <= of(drafted + 1)));
}

#[test]
fn every_kind_of_model_verifies_drafts() {
    for id in [
        "deepseek-v3",
        "deepseek-v3.2",
        "qwen3-next-80b-a3b",
        "gpt-oss-20b",
    ] {
        let tp = Layout {
            tp: 8,
            ep: if id == "gpt-oss-20b" { 1 } else { 8 },
            ..Layout::SINGLE
        };
        let mut design = worked(1);
        for group in &mut design.cluster.groups {
            group.kind = GroupKind::Node(NodeTypeId::new("hgx-h200").unwrap());
        }
        design.model = ModelRef::Preset(ModelId::new(id).unwrap());
        design.pools[0].layout = tp;
        design.pools[0].precision = Precision::FP8;
        let plan = plan_of(&design);
        let of = |drafts| price(&plan, verifying(16, 160_000, drafts)).total;
        let (plain, three) = (of(0), of(3));
        assert!(plain < three && three < 4 * plain, "{id}: {plain} {three}");
    }
}

#[test]
fn a_draft_pass_costs_alike_at_every_depth() {
    let of = |draft: Draft, steps| {
        let plan = planned("qwen3-8b", Layout::SINGLE, |engine| {
            engine.speculation = speculation(draft, steps, steps);
        });
        // The same tokens are verified.
        price(&plan, verifying(8, 80_000, 2))
    };
    let looked_up = of(Draft::Ngram, 2);
    let own = |steps| of(Draft::Mtp { layers: 1 }, steps);
    let [one, two, three] = [1, 2, 3].map(own);
    assert!(looked_up.total < one.total && one.total < two.total);
    assert_eq!(three.total - two.total, two.total - one.total);
    assert_eq!(three.launches - two.launches, two.launches - one.launches);
    // A layer (13), embedding, two norms and a product, norm and head, sampler.
    assert_eq!(two.launches - one.launches, 13 + 1 + 3 + 2 + 4);
    // A pass reads a layer and the head, 0.385 and 1.245 GB of BF16, 2 × 4096 × 4096 of the fusion,
    // and 80,000 tokens' keys and values of one layer, 4,096 B each.
    let pass = (two.total - one.total) as f64 * 1e-15;
    let floor = (0.385e9 + 1.245e9 + 0.067e9 + 0.328e9) / 4.8e12;
    assert!((1.0..1.4).contains(&(pass / floor)), "{pass} {floor}");
    // The smaller model passes over all its layers.
    let model = Draft::Model {
        model: ModelId::new("qwen3-0.6b").unwrap(),
    };
    let beside = of(model, 2);
    assert!(beside.launches - looked_up.launches > 2 * 28 * 13);
    assert!(beside.total > looked_up.total);
}

#[test]
fn a_tree_verifies_more_than_it_is_deep() {
    let of = |steps, verified| {
        let plan = planned("qwen3-8b", Layout::SINGLE, |engine| {
            engine.speculation = speculation(Draft::Mtp { layers: 1 }, steps, verified);
        });
        price(&plan, verifying(64, 64_000, verified)).total
    };
    assert!(of(4, 4) < of(4, 8) && of(4, 8) < of(4, 32));
}

#[test]
fn ranks_that_split_a_prompt_share_its_work_exactly() {
    for (tokens, context, cp) in [(8192, 0, 8), (4096, 100_000, 4), (1600, 37, 2)] {
        let whole = PrefillShape { tokens, context };
        let own = whole.of_rank(cp);
        assert_eq!(own.tokens * u64::from(cp), tokens);
        let pairs = |shape: PrefillShape| Reach::All.pairs(shape.tokens, shape.context);
        let all = pairs(own) * f64::from(cp);
        assert!((all / pairs(whole) - 1.0).abs() < 1e-3, "{all}");
    }
}

#[test]
fn context_parallelism_splits_prompts_and_not_decodes() {
    let of = |cp| {
        let layout = Layout {
            cp,
            ..Layout::SINGLE
        };
        planned("qwen3-8b", layout, |engine| {
            engine.max_num_batched_tokens = 65_536;
        })
    };
    let prompt = |plan: &Plan, tokens| {
        let chunks = [Chunk { tokens, context: 0 }];
        let lane = LaneShape {
            chunks: &chunks,
            sampled: 1,
            ..LaneShape::default()
        };
        price(plan, lane)
    };
    let (one, eight) = (of(1), of(8));
    let speedup = |tokens| prompt(&one, tokens).total as f64 / prompt(&eight, tokens).total as f64;
    // 32K tokens are nearly 8 times as fast, few are not.
    let long = speedup(32_768);
    assert!((6.0..8.0).contains(&long), "{long}");
    assert!(speedup(64) < 1.5, "{}", speedup(64));
    let lane = decodes(32, 32_000);
    assert_eq!(price(&one, lane).total, price(&eight, lane).total);
    let told = prompt(&eight, 32_768).by_class[Class::Communication as usize];
    // 36 layers × 4,096 B × 32,768 tokens, 7/8 of which each rank receives.
    let least = 36.0 * 4096.0 * 32_768.0 * 7.0 / 8.0 / 450e9;
    let told = told as f64 * 1e-15;
    assert!((1.0..2.0).contains(&(told / least)), "{told} {least}");
}

// cases.md T34: ISL 9,000, OSL 30, Qwen3-8B on an H200.
#[test]
fn a_mixed_step_of_64_costs_more_than_one_of_32() {
    let plan = planned("qwen3-8b", Layout::SINGLE, |_| {});
    let of = |batch: u32, tokens| {
        let chunks = [Chunk { tokens, context: 0 }];
        let lane = LaneShape {
            chunks: &chunks,
            ..decodes(batch, u64::from(batch) * 9015)
        };
        price(&plan, lane).total
    };
    // The same prompt beside them; what the budget of 8,192 leaves.
    assert!(of(64, 4096) > of(32, 4096));
    assert!(of(64, 8192 - 64) > of(32, 8192 - 32));
}

#[test]
fn a_pipeline_issues_by_stage_and_prepares_once() {
    let layout = Layout {
        pp: 2,
        ..Layout::SINGLE
    };
    let plan = planned("llama-3.1-8b", layout, |engine| {
        engine.host_step_time = Seconds::from_us(500.0);
        engine.host.per_sequence = Seconds::from_us(10.0);
    });
    let mut pricer = pricer(&plan, 0);
    let stages = [0, 1].map(|stage| pricer.stage(stage, &[decodes(8, 8000)]));
    assert_eq!(stages.map(|own| own.host), [580_000_000_000, 0]);
    // Sixteen layers each; embedding and the send; head and sampler.
    assert_eq!(stages.map(|own| own.launches), [16 * 11 + 2, 16 * 11 + 6]);
}

proptest! {
    #[test]
    fn parts_of_a_step_add_up_and_overlap_never_costs(
        which in 0usize..3,
        mode in 0usize..4,
        (count, drafts, chunk) in (0u32..600, 0u32..4, 0u32..2000),
        (host, each, issue) in (0.0f64..2000.0, 0.0f64..20.0, 0.0f64..20.0),
    ) {
        let layout = Layout { tp: 2, ..Layout::SINGLE };
        let plan = planned("qwen3-8b", layout, |engine| {
            engine.kind = EngineKind::ALL[which];
            engine.graphs = captures(GraphMode::ALL[mode], 256);
            engine.host_step_time = Seconds::from_us(host);
            engine.host.per_sequence = Seconds::from_us(each);
            engine.host.launch = Seconds::from_us(issue);
            if drafts > 0 {
                engine.speculation = speculation(Draft::Mtp { layers: 1 }, drafts, drafts);
            }
        });
        let chunks = [Chunk { tokens: chunk, context: 500 }];
        let lane = LaneShape {
            chunks: if chunk > 0 { &chunks } else { &[] },
            ..verifying(count, u64::from(count) * 700, drafts)
        };
        let own = price(&plan, lane);
        prop_assert_eq!(own.by_class.iter().sum::<u64>(), own.total);
        prop_assert_eq!(own.by_origin.iter().sum::<u64>(), own.total);
        prop_assert_eq!(own.by_class[Class::Host as usize], 0);
        for overlap in [false, true] {
            let took = own.took(overlap);
            prop_assert_eq!(own.total + own.exposed(overlap), took);
            prop_assert!(took >= own.issue() && took >= own.host);
        }
        prop_assert!(own.took(true) <= own.took(false));
    }

    #[test]
    fn more_tokens_are_never_cheaper_in_the_same_mode(
        mode in 0usize..4,
        (few, more) in (1u32..600, 0u32..40),
        tokens in 0u32..600,
    ) {
        let plan = planned("llama-3.1-8b", Layout::SINGLE, |engine| {
            engine.graphs = captures(GraphMode::ALL[mode], 512);
        });
        let mut pricer = pricer(&plan, 0);
        let mut of = |count: u32, tokens: u32| {
            let chunks = [Chunk { tokens, context: 0 }];
            let lane = LaneShape {
                chunks: if tokens > 0 { &chunks } else { &[] },
                ..decodes(count, u64::from(count) * 1000)
            };
            pricer.stage(0, &[lane])
        };
        let (less, most) = (of(few, tokens), of(few + more, tokens));
        prop_assert!(less.issued != most.issued || less.total <= most.total);
        if tokens > 0 {
            let longer = of(few, tokens + more);
            prop_assert!(less.issued != longer.issued || less.total <= longer.total);
        }
    }
}
