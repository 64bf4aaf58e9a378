use super::super::{drafts, engine as budgets};
use super::*;
use crate::catalog::{Catalog, GpuId, ModelId};
use crate::model::{Models, Precision};
use crate::plan::engine::{Draft, ExpertExchange, Speculation, TierKind};
use crate::plan::{Demand, PoolId, Role};
use crate::units::Seconds;
use proptest::prelude::*;
use std::sync::LazyLock;

static MODELS: LazyLock<Models> = LazyLock::new(|| Models::embedded().unwrap());
static CATALOG: LazyLock<Catalog> = LazyLock::new(|| Catalog::embedded().unwrap());

fn model(id: &str) -> Model {
    MODELS.get(&ModelId::new(id).unwrap()).unwrap().clone()
}

fn pool(kind: EngineKind, layout: Layout) -> Pool {
    let gpu = CATALOG.gpu(&GpuId::new("h100-sxm").unwrap()).unwrap();
    Pool {
        id: PoolId::new("p").unwrap(),
        name: "p".to_owned(),
        role: Role::Colocated,
        gpus: Vec::new(),
        layout,
        engine: Engine::defaults(kind, gpu, layout),
        precision: Precision::BF16,
    }
}

fn plain(kind: EngineKind) -> Pool {
    pool(kind, Layout::SINGLE)
}

/// Everything said of a pool, of a model without states.
fn said(own: &Pool) -> Vec<Finding> {
    said_of(&model("llama-3.1-8b"), own)
}

fn said_of(of: &Model, own: &Pool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let demand = Demand {
        longest_context: 2048,
        longest_prompt: 2048,
    };
    budgets(own, demand, &mut findings);
    loops(of, own, &mut findings);
    let draft = own
        .engine
        .speculation
        .as_ref()
        .and_then(|own| match &own.draft {
            Draft::Model { model } => MODELS.get(model),
            _ => None,
        });
    drafts(of, own, draft, own.layout, &mut findings);
    findings
}

/// The one thing said after a change, of that severity and with those words.
fn one(kind: EngineKind, change: impl FnOnce(&mut Engine), severity: Severity, words: &str) {
    let mut own = plain(kind);
    change(&mut own.engine);
    let found = said(&own);
    let [only] = &found[..] else {
        panic!("{words}: {found:?}")
    };
    assert_eq!(only.severity, severity, "{}", only.cause);
    assert!(only.cause.contains(words), "{}", only.cause);
}

#[test]
fn defaults_have_nothing_to_say() {
    for kind in EngineKind::ALL {
        for layout in [
            Layout::SINGLE,
            Layout {
                tp: 4,
                pp: 2,
                ..Layout::SINGLE
            },
        ] {
            assert_eq!(said(&pool(kind, layout)), [], "{kind:?}");
        }
    }
}

#[test]
fn what_contradicts_is_named() {
    use EngineKind::{Sglang, TensorRtLlm, Vllm};
    let warns = |kind, change: fn(&mut Engine), words| one(kind, change, Severity::Warning, words);
    let refuses = |kind, change: fn(&mut Engine), words| one(kind, change, Severity::Error, words);
    warns(
        Vllm,
        |e| e.scheduling.scheduler = Scheduler::Orca,
        "scheduler is Orca, which vLLM does not have: for study",
    );
    warns(
        TensorRtLlm,
        |e| e.scheduling.scheduler = Scheduler::VllmV1,
        "capacity_scheduler_policy is vLLM V1",
    );
    warns(
        Vllm,
        |e| e.scheduling.order = QueueOrder::LongestPrefix,
        "scheduling_policy is lpm",
    );
    warns(
        Sglang,
        |e| {
            e.scheduling.order = QueueOrder::LongestPrefix;
            e.caching.prefix = false;
        },
        "schedule_policy is lpm, but no prefix is cached",
    );
    warns(
        Vllm,
        |e| e.scheduling.max_num_partial_prefills = 2,
        "max_num_partial_prefills is 2",
    );
    warns(
        Vllm,
        |e| e.scheduling.mixed_chunk = true,
        "mixed chunks is on, without effect",
    );
    warns(
        Sglang,
        |e| {
            e.scheduling.mixed_chunk = true;
            e.enable_chunked_prefill = false;
        },
        "enable_mixed_chunk is on, without effect",
    );
    warns(
        Vllm,
        |e| {
            e.caching.prefix = false;
            e.caching.tiers = vec![Tier::start(TierKind::Host)];
        },
        "A KV tier is drawn, without effect",
    );
    refuses(Sglang, |e| e.graphs.max_size = 0, "cuda_graph_max_bs is 0");
    warns(
        Vllm,
        |e| e.graphs.padding = false,
        "CUDA graph padding is off, which vLLM does not have",
    );
    refuses(
        Vllm,
        |e| e.stage_layers = vec![16, 16],
        "VLLM_PP_LAYER_PARTITION is 2 stages of 32 layers: it must give each of 1 stages",
    );
    one(
        Vllm,
        |e| e.graphs.max_size = 10_000,
        Severity::Hint,
        "max_cudagraph_capture_size is 10000",
    );
    // Settings that are the engine's own, and settings of its own loops.
    for scheduler in TensorRtLlm.schedulers() {
        let mut own = plain(TensorRtLlm);
        own.engine.scheduling.scheduler = *scheduler;
        assert_eq!(said(&own), []);
    }
    let mut own = plain(Sglang);
    own.engine.scheduling.order = QueueOrder::LongestPrefix;
    own.engine.caching.tiers = TierKind::ALL.map(Tier::start).to_vec();
    assert_eq!(said(&own), []);
}

#[test]
fn an_exchange_that_cannot_be_is_named() {
    use EngineKind::{Sglang, TensorRtLlm, Vllm};
    use ExpertExchange::{Broadcast, Deepep, DeepepLowLatency, DeepepNormal, NvlinkOneSided};
    let moe = model("qwen3-30b-a3b");
    let of = |kind, (tp, dp, ep), own| {
        let mut pool = pool(
            kind,
            Layout {
                tp,
                dp,
                ep,
                ..Layout::SINGLE
            },
        );
        pool.engine.expert_exchange = own;
        pool.engine.max_num_seqs = 128;
        // What a default of another setting says is not asked here.
        let word = pool.engine.word(Setting::ExpertExchange);
        let mut found = said_of(&moe, &pool);
        found.retain(|own| own.cause.contains(word) || own.cause.contains("Capturing"));
        let said: Vec<String> = found.into_iter().map(|own| own.cause).collect();
        said.join("; ")
    };
    let wide = (1, 8, 8);
    for (kind, layout, own, words) in [
        (
            Sglang,
            wide,
            Broadcast,
            "moe_a2a_backend is broadcast, which SGLang does not have",
        ),
        (
            Vllm,
            (8, 1, 8),
            DeepepNormal,
            "deepep_high_throughput, without effect: one lane (DP 1)",
        ),
        (
            Vllm,
            (1, 8, 1),
            DeepepNormal,
            "without expert parallelism (EP 1)",
        ),
        (
            TensorRtLlm,
            (1, 8, 4),
            NvlinkOneSided,
            "experts divided by MoE-TP",
        ),
        (
            Sglang,
            (2, 4, 4),
            Deepep,
            "over all 8 ranks of TP × DP, but EP is 4",
        ),
        (
            Vllm,
            wide,
            DeepepNormal,
            "Capturing CUDA graphs is on, but vLLM 0.11.0 has none with DeepEP",
        ),
        (
            Vllm,
            wide,
            DeepepLowLatency,
            "of 8192 tokens of a rank goes through it in pieces of 256",
        ),
        (Sglang, wide, DeepepLowLatency, "can't be longer than 128"),
    ] {
        let said = of(kind, layout, own);
        assert!(said.contains(words), "{kind:?} {own:?}: {said}");
    }
    for (kind, own) in [
        (Vllm, ExpertExchange::AllGather),
        (Sglang, Deepep),
        (TensorRtLlm, ExpertExchange::Automatic),
        (TensorRtLlm, NvlinkOneSided),
    ] {
        assert_eq!(of(kind, wide, own), "", "{kind:?} {own:?}");
    }
    // A dense model exchanges nothing: nothing is said of it.
    let mut dense = plain(Vllm);
    dense.engine.expert_exchange = Deepep;
    assert_eq!(said(&dense), []);
}

#[test]
fn an_engine_turns_off_what_it_cant_do() {
    let hybrid = model("qwen3-next-80b-a3b");
    for kind in EngineKind::ALL {
        let own = plain(kind);
        let found = said_of(&hybrid, &own);
        let [only] = &found[..] else {
            panic!("{found:?}")
        };
        let refuses = kind == EngineKind::TensorRtLlm;
        let severity = if refuses {
            Severity::Error
        } else {
            Severity::Hint
        };
        assert_eq!(only.severity, severity);
        assert!(own.engine.caching.prefix && !effective(&hybrid, &own).caching.prefix);
        assert!(effective(&model("llama-3.1-8b"), &own).caching.prefix);
    }
    // vLLM 0.11 has no async scheduling with pipeline parallelism, 0.19 has.
    let deep = Layout {
        pp: 2,
        ..Layout::SINGLE
    };
    let dense = model("llama-3.1-8b");
    for (version, runs) in [("0.11.0", false), ("0.19.0", true)] {
        let mut own = pool(EngineKind::Vllm, deep);
        own.engine.version = version.to_owned();
        own.engine.host.overlap = true;
        assert_eq!(effective(&dense, &own).host.overlap, runs, "{version}");
        assert_eq!(said(&own).is_empty(), runs);
    }
    // SGLang 0.5 does not overlap with drafts.
    let mut own = plain(EngineKind::Sglang);
    own.engine.speculation = Some(Speculation::start(Draft::Mtp { layers: 1 }));
    assert!(!effective(&dense, &own).host.overlap);
    assert!(
        said(&own)[0]
            .cause
            .contains("Overlap of host and device is on, but SGLang 0.5")
    );
}

#[test]
fn drafts_are_checked() {
    let refuses = |change: fn(&mut Speculation), words| {
        one(
            EngineKind::Vllm,
            |engine| {
                let mut own = Speculation::start(Draft::Ngram);
                change(&mut own);
                engine.speculation = Some(own);
            },
            Severity::Error,
            words,
        );
    };
    let to = |id: &str| Draft::Model {
        model: ModelId::new(id).unwrap(),
    };
    refuses(
        |own| (own.steps, own.verified) = (0, 1),
        "num_speculative_tokens is 0",
    );
    refuses(
        |own| (own.steps, own.verified) = (65, 65),
        "it must be from 1 to 64",
    );
    refuses(|own| own.verified = own.steps - 1, "tokens verified is 2");
    refuses(|own| own.verified = 2000, "to 1024");
    refuses(|own| own.acceptance.clear(), "acceptance has 0 depths");
    refuses(|own| own.acceptance = vec![0.5; 17], "17 depths");
    refuses(
        |own| own.acceptance = vec![0.5, 1.5],
        "acceptance at depth 2 is 1.5",
    );
    refuses(|own| own.acceptance = vec![f64::NAN], "is NaN");
    refuses(
        |own| own.draft = Draft::Mtp { layers: 0 },
        "0 layers predict",
    );
    for (id, words) in [
        (
            "no-such-model",
            Some("“no-such-model” is not in the library"),
        ),
        ("qwen3-32b", Some("can't draft for")),
        ("llama-3.1-70b", None),
    ] {
        let mut own = plain(EngineKind::Vllm);
        own.engine.speculation = Some(Speculation::start(to(id)));
        let found = said(&own);
        match words {
            None => assert_eq!(found, []),
            Some(words) => assert!(found[0].cause.contains(words), "{found:?}"),
        }
    }
    for draft in [Draft::Ngram, Draft::Mtp { layers: 1 }] {
        let mut own = plain(EngineKind::Vllm);
        own.engine.speculation = Some(Speculation {
            acceptance: vec![1.0, 0.0],
            ..Speculation::start(draft)
        });
        assert_eq!(said(&own), []);
    }
}

#[test]
fn a_tier_that_can_never_move_a_byte_is_refused() {
    let with = |change: fn(&mut Tier)| {
        let mut own = plain(EngineKind::Vllm);
        let mut tier = Tier::start(TierKind::Ssd);
        change(&mut tier);
        own.engine.caching.tiers = vec![Tier::start(TierKind::Host), tier];
        said(&own)
    };
    assert_eq!(with(|_| {}), []);
    for (change, words) in [
        (
            (|t| t.capacity = Bytes::ZERO) as fn(&mut Tier),
            "holds nothing",
        ),
        (
            |t| t.read = ByteRate::ZERO,
            "KV tier 2 (ssd): it is read at 0",
        ),
        (|t| t.write = ByteRate::ZERO, "written at 0"),
        (|t| t.latency = Seconds::new(11.0), "at most 10 s"),
    ] {
        assert!(with(change)[0].cause.contains(words));
    }
    let mut own = plain(EngineKind::Vllm);
    own.engine.caching.tiers = vec![Tier::start(TierKind::Host); 9];
    assert!(said(&own)[0].cause.contains("at most 8"));
}

#[test]
fn only_loops_with_a_budget_must_hold_a_token_of_each_in_it() {
    let errors = |scheduler| {
        let mut own = plain(EngineKind::Vllm);
        own.engine.scheduling.scheduler = scheduler;
        own.engine.max_num_batched_tokens = 512;
        own.engine.enable_chunked_prefill = false;
        let mut found = said(&own);
        found.retain(|f| f.severity == Severity::Error);
        found.len()
    };
    // Below the sequences, and below the longest prompt.
    assert_eq!(errors(Scheduler::VllmV1), 2);
    assert_eq!(errors(Scheduler::GuaranteedNoEvict), 2);
    assert_eq!(errors(Scheduler::Sglang), 0);
    assert_eq!(errors(Scheduler::Static), 0);
}

/// Any number at all, those that are none among them.
fn real() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        Just(f64::NAN),
        Just(f64::INFINITY),
        -0.5..1.5_f64
    ]
}

fn count() -> impl Strategy<Value = u32> {
    prop_oneof![any::<u32>(), 0_u32..4, 1_u32..5000]
}

prop_compose! {
    fn any_engine()(
        kind in prop::sample::select(EngineKind::ALL.to_vec()),
        counts in prop::collection::vec(count(), 9),
        reals in prop::collection::vec(real(), 3),
        times in prop::collection::vec(0.0..20.0_f64, 5),
        flags in prop::collection::vec(any::<bool>(), 4),
        loops in (
            prop::sample::select(Scheduler::ALL.to_vec()),
            prop::sample::select(QueueOrder::ALL.to_vec()),
            prop::sample::select(GraphMode::ALL.to_vec()),
            prop::sample::select(ExpertExchange::ALL.to_vec()),
        ),
        tiers in prop::collection::vec((any::<u64>(), real(), real(), real()), 0..10),
        drafts in prop::option::of((count(), count(), prop::collection::vec(real(), 0..20), count(), 0_u8..4)),
    ) -> Engine {
        let mut engine = plain(kind).engine;
        engine.max_num_batched_tokens = counts[0];
        engine.max_num_seqs = counts[1];
        engine.block_size = counts[2];
        engine.gpu_memory_utilization = reals[0];
        engine.enable_chunked_prefill = flags[0];
        engine.num_gpu_blocks = flags[1].then_some(u64::from(counts[3]));
        engine.scheduling.scheduler = loops.0;
        engine.scheduling.order = loops.1;
        engine.scheduling.long_prefill_token_threshold = counts[4];
        engine.scheduling.max_num_partial_prefills = counts[5];
        engine.scheduling.watermark = reals[1];
        engine.scheduling.mixed_chunk = flags[2];
        engine.scheduling.max_prefill_tokens = counts[6];
        engine.scheduling.conservativeness = reals[2];
        engine.host_step_time = Seconds::new(times[0]);
        engine.host.per_sequence = Seconds::new(times[1]);
        engine.host.request = Seconds::new(times[2]);
        engine.host.output = Seconds::new(times[3]);
        engine.host.launch = Seconds::new(times[4]);
        engine.host.overlap = flags[3];
        engine.graphs.mode = loops.2;
        engine.expert_exchange = loops.3;
        engine.graphs.max_size = counts[7];
        engine.caching.prefix = !flags[2];
        engine.caching.tiers = tiers.into_iter().map(|(capacity, read, write, latency)| Tier {
            kind: TierKind::Host,
            capacity: Bytes::new(capacity),
            read: ByteRate::new(read),
            write: ByteRate::new(write),
            latency: Seconds::new(latency),
        }).collect();
        engine.speculation = drafts.map(|(steps, verified, acceptance, layers, who)| Speculation {
            draft: match who {
                0 => Draft::Ngram,
                1 => Draft::Mtp { layers },
                2 => Draft::Model { model: ModelId::new("llama-3.1-70b").unwrap() },
                _ => Draft::Model { model: ModelId::new("none-such").unwrap() },
            },
            steps,
            verified,
            acceptance,
        });
        engine
    }
}

/// What a run may rely on, in words of its own.
fn is_sound(engine: &Engine) -> bool {
    let own = &engine.scheduling;
    let share = |value: f64| value.is_finite() && (0.0..=1.0).contains(&value);
    engine.max_num_batched_tokens >= 1
        && engine.max_num_seqs >= 1
        && engine.block_size >= 1
        && share(engine.gpu_memory_utilization)
        && engine.gpu_memory_utilization > 0.0
        && engine.num_gpu_blocks != Some(0)
        && share(own.watermark)
        && own.watermark < 1.0
        && own.conservativeness.is_finite()
        && own.conservativeness >= 0.0
        && (!own.scheduler.has_budget() || engine.max_num_seqs <= engine.max_num_batched_tokens)
        && (engine.graphs.mode == GraphMode::None || engine.graphs.max_size > 0)
        && engine.caching.tiers.len() <= 8
        && engine.caching.tiers.iter().all(|tier| {
            tier.capacity > Bytes::ZERO && tier.read.get() > 0.0 && tier.write.get() > 0.0
        })
        && [
            engine.host_step_time,
            engine.host.per_sequence,
            engine.host.request,
            engine.host.output,
            engine.host.launch,
        ]
        .iter()
        .all(|time| time.get() <= 10.0)
        && engine.speculation.as_ref().is_none_or(|own| {
            let drafter = match &own.draft {
                Draft::Ngram => true,
                Draft::Mtp { layers } => (1..=64).contains(layers),
                Draft::Model { model } => model.as_str() != "none-such",
            };
            drafter
                && (1..=64).contains(&own.steps)
                && (own.steps..=1024).contains(&own.verified)
                && (1..=16).contains(&own.acceptance.len())
                && own.acceptance.iter().all(|p| share(*p))
        })
}

proptest! {
    #[test]
    fn whatever_passes_is_sound(engine in any_engine()) {
        let own = Pool { engine, ..plain(EngineKind::Vllm) };
        let errors = said(&own).iter().any(|f| f.severity == Severity::Error);
        prop_assert!(errors || is_sound(&own.engine), "{:?}", own.engine);
    }

    /// A repair of a setting mends what it is offered for.
    #[test]
    fn every_repair_mends(engine in any_engine(), hybrid in any::<bool>()) {
        let of = model(if hybrid { "qwen3-next-80b-a3b" } else { "llama-3.1-8b" });
        let own = Pool { engine, ..plain(EngineKind::Vllm) };
        let before = said_of(&of, &own);
        for finding in &before {
            for repair in finding.repair.iter().chain(&finding.further) {
                let mut next = own.clone();
                match &repair.change {
                    Change::Setting(_, setting, text) => {
                        let word = next.engine.word(*setting);
                        next.engine.set(word, text).unwrap();
                    }
                    Change::TokenBudget(_, tokens) => next.engine.max_num_batched_tokens = *tokens,
                    other => panic!("{other:?}"),
                }
                let after = said_of(&of, &next);
                prop_assert!(!after.contains(finding), "{} leaves {}", repair.label, finding.cause);
            }
        }
    }
}
