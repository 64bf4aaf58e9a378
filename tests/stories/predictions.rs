//! Published serving numbers, predicted with nothing changed for them: what a user sees who draws the
//! same deployment. Bounds are wide; what was measured, and what we say, is printed and in the comments
//! (`cargo test --test stories predictions -- --nocapture`).

use frontier::catalog::{Catalog, Dtype};
use frontier::cost::calibrated::{Calibrated, Calibrations};
use frontier::cost::{Chunk, Class, FEMTOS_PER_NANO, LaneShape, StepPrice, StepPricer};
use frontier::model::Models;
use frontier::plan::{Demand, EngineKind, Plan, compile};
use frontier::sim::{Control, Scenario, run};
use frontier::units::Tokens;
use frontier::validation::{Condition, Deployment, Over, Predictor, Recipes, Sharding};
use frontier::workload::{Arrivals, Length, Load, Workload};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Settings over all recipes: name and value in the engine's words.
type Settings<'a> = &'a [(&'a str, &'a str)];

fn predictor(engine: EngineKind, settings: Settings<'_>) -> Predictor {
    let catalog = Arc::new(Catalog::load(None).unwrap());
    let recipes = settings
        .iter()
        .fold(Recipes::load(None).unwrap(), |recipes, (name, value)| {
            recipes.with(Over {
                engine,
                since: String::new(),
                name: (*name).to_owned(),
                text: (*value).to_owned(),
            })
        });
    Predictor {
        fidelity: Arc::new(Calibrated::new(
            Calibrations::embedded().unwrap(),
            Arc::clone(&catalog),
        )),
        catalog,
        models: Arc::new(Models::load(None).unwrap()),
        recipes: Arc::new(recipes),
    }
}

/// A replica of a model on a GPU: engine and version, precision, ranks of attention, pipeline stages,
/// lanes, ranks of experts.
#[derive(Clone, Copy)]
struct Replica<'a> {
    engine: EngineKind,
    version: &'a str,
    model: &'a str,
    gpu: &'a str,
    precision: &'a str,
    ranks: [u32; 4],
    /// Formats of the KV cache and of the activations, where the engine's are others.
    kv: Dtype,
    activations: Option<Dtype>,
    /// Redundant experts, with which a load balancer evens all out.
    redundant: u32,
}

impl Replica<'_> {
    fn gpus(&self) -> f64 {
        let [tp, pp, dp, _] = self.ranks;
        f64::from(tp * pp * dp)
    }

    fn plan(&self, predictor: &Predictor, longest: u64) -> Arc<Plan> {
        let [tp, pp, dp, ep] = self.ranks;
        let condition = Condition {
            engine: self.engine,
            version: self.version.to_owned(),
            image: String::new(),
            model_path: self.model.to_owned(),
            model: self.model.to_owned(),
            system: self.gpu.to_owned(),
            precision: self.precision.to_owned(),
            gemm: String::new(),
            deployment: Deployment::Colocated(Sharding {
                tp,
                pp,
                dp,
                moe_tp: (tp * dp / ep).max(1),
                ep,
            }),
            isl: 1024,
            osl: 1024,
            concurrency: 1024,
            campaign: "published".to_owned(),
            date: String::new(),
            group: String::new(),
        };
        let mut design = predictor.draw(&condition).unwrap().design;
        for pool in &mut design.pools {
            pool.precision.kv = self.kv;
            pool.layout.redundant_experts = self.redundant;
            pool.precision.activations = self.activations.unwrap_or(pool.precision.activations);
        }
        let demand = Demand {
            longest_context: longest,
            longest_prompt: longest,
        };
        let compiled = compile(&design, &predictor.catalog, &predictor.models, demand);
        let (findings, memory) = (compiled.findings, compiled.memory);
        compiled
            .plan
            .unwrap_or_else(|| panic!("{} on {}: {findings:?} {memory:#?}", self.model, self.gpu))
    }
}

/// A step of lanes that all do the same.
fn step(plan: &Plan, predictor: &Predictor, lane: LaneShape<'_>) -> StepPrice {
    let pool = &plan.pools[0];
    let mut pricer = StepPricer::new(&plan.topology, &plan.model, pool, &predictor.fidelity);
    pricer.stage(0, &vec![lane; pool.layout.dp as usize])
}

#[expect(clippy::cast_precision_loss, reason = "a step is far below 2^53 fs")]
fn seconds(femtos: u64) -> f64 {
    femtos as f64 / FEMTOS_PER_NANO as f64 * 1e-9
}

/// Time of a step as the engine runs it, of its device alone, and of its exchanges.
fn times(price: &StepPrice) -> (f64, f64, f64) {
    (
        seconds(price.took(true)),
        seconds(price.total),
        seconds(price.by_class[Class::Communication as usize]),
    )
}

fn decodes(sequences: u32, context: u64) -> LaneShape<'static> {
    LaneShape {
        decodes: sequences,
        context: u64::from(sequences) * context,
        sampled: sequences,
        ..LaneShape::default()
    }
}

fn prefills(chunks: &[Chunk]) -> LaneShape<'_> {
    LaneShape {
        chunks,
        sampled: u32::try_from(chunks.len()).unwrap(),
        ..LaneShape::default()
    }
}

fn said(what: &str, measured: f64, ours: f64) -> f64 {
    let error = ours / measured - 1.0;
    println!(
        "{what}: measured {measured:.0}, ours {ours:.0} tokens/s/GPU, {:+.1} %",
        error * 100.0
    );
    error
}

/// Two micro-batches, one at its exchanges while the other computes: the longer of the two kinds of
/// work sets the pace, and one layer's share of the shorter is left at the ends.
fn overlapped(half: &StepPrice, layers: f64) -> f64 {
    let (_, device, exchange) = times(half);
    let compute = device - exchange;
    2.0 * compute.max(exchange) + compute.min(exchange) / layers
}

// DeepSeek's profile of its own engine on H800, experts perfectly balanced (systems.md §18). The bar is
// 10 %. As first reported: prefill −46 % (−17 in two batches that overlap), decode −33 (−19). With the
// checkpoint's block scales: −58 (−47) and −74 (−71), which showed that experts after a dispatch were asked
// of tables without one. With that mended (2026-12-01): −41 (−8) and −17 (+14). Not blind, then.
// Overlap is worked out here. Exchanges are 1.25 of 3.5 s and 32 of 67 ms, and grouped products are
// priced by H100's.
#[test]
fn deepseek_v3_on_h800() {
    let settings = [
        ("moe_a2a_backend", "deepep"),
        // For memory's sake: the steps below are priced as they are.
        ("chunked_prefill_size", "1024"),
        ("mem_fraction_static", "0.8"),
        ("max_running_requests", "128"),
        ("cuda_graph_max_bs", "128"),
    ];
    let predictor = predictor(EngineKind::Sglang, &settings);
    let on = |gpus| Replica {
        engine: EngineKind::Sglang,
        version: "0.5.9",
        model: "deepseek-v3",
        gpu: "h800_sxm",
        precision: "fp8",
        ranks: [1, 1, gpus, gpus],
        kv: Dtype::Bf16,
        activations: None,
        redundant: gpus,
    };
    // Prefill, 32 GPUs: 16,384 tokens a GPU in prompts of 4,096, two micro-batches.
    let prefill = on(32);
    let plan = prefill.plan(&predictor, 4096);
    let prompts = [Chunk {
        tokens: 4096,
        context: 0,
    }; 4];
    let whole = step(&plan, &predictor, prefills(&prompts));
    let half = step(&plan, &predictor, prefills(&prompts[..2]));
    println!(
        "prefill step {:?}, half {:?} {:?}",
        times(&whole),
        times(&half),
        whole.by_class.map(seconds)
    );
    let alone = said("prefill, one batch", 7839.0, 16_384.0 / times(&whole).0);
    let prefill = said("prefill, two", 7839.0, 16_384.0 / overlapped(&half, 61.0));
    // Decode, 128 GPUs: 128 requests a GPU at 4,096 tokens.
    let plan = on(128).plan(&predictor, 8192);
    let whole = step(&plan, &predictor, decodes(128, 4096));
    let half = step(&plan, &predictor, decodes(64, 4096));
    println!(
        "decode step {:?}, half {:?} {:?}",
        times(&whole),
        times(&half),
        whole.by_class.map(seconds)
    );
    let one = said("decode, one batch", 2324.0, 128.0 / times(&whole).0);
    let decode = said("decode, two", 2324.0, 128.0 / overlapped(&half, 61.0));
    for error in [alone, prefill, one, decode] {
        assert!(error.abs() < 0.45, "{error}");
    }
}

// SGLang on H20, prompts of 4,096 and answers of 2,048, a hundred requests a GPU (systems.md §20):
// Qwen3-30B-A3B on four GPUs with a lane each, Qwen3-8B on one. The bar is 12 %; 2026-12-01: prefill −34 %
// (missed) and −4 %, decode −10 % and −3 %. The busiest rank's experts are 0.90 of the 1.50 s of that
// prefill: whether the prompts of this run were dealt as unevenly is not known.
#[test]
fn qwen3_on_h20() {
    let settings = [
        ("max_num_seqs", "256"),
        ("max_cudagraph_capture_size", "256"),
    ];
    let predictor = predictor(EngineKind::Sglang, &settings);
    let runs = [
        ("qwen3-30b-a3b", "bf16", [1, 1, 4, 4], 16_594.0, 2749.0),
        ("qwen3-8b", "fp8", [1, 1, 1, 1], 15_061.0, 2682.0),
    ];
    for (model, precision, ranks, prefill, decode) in runs {
        let replica = Replica {
            engine: EngineKind::Sglang,
            version: "0.5.9",
            model,
            gpu: "h20-96",
            precision,
            ranks,
            kv: Dtype::Bf16,
            activations: None,
            redundant: 0,
        };
        let plan = replica.plan(&predictor, 6144);
        let prompts = [Chunk {
            tokens: 4096,
            context: 0,
        }; 4];
        let whole = step(&plan, &predictor, prefills(&prompts));
        println!(
            "{model}: prefill step {:?} {:?}",
            times(&whole),
            whole.by_class.map(seconds)
        );
        let first = said(model, prefill, 16_384.0 / times(&whole).0);
        // Answers are half way on average.
        let whole = step(&plan, &predictor, decodes(100, 4096 + 1024));
        println!(
            "{model}: decode step {:?} {:?}",
            times(&whole),
            whole.by_class.map(seconds)
        );
        let second = said(model, decode, 100.0 / times(&whole).0);
        assert!(first.abs() < 0.5 && second.abs() < 0.5, "{first} {second}");
    }
}

/// A row of TensorRT-LLM's performance overview: model, GPU, precision, ranks, prompt and answer,
/// output tokens/s/GPU.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    [u32; 4],
    u64,
    u64,
    f64,
);

const DEP4: [u32; 4] = [1, 1, 4, 4];
const DEP8: [u32; 4] = [1, 1, 8, 8];
const DEP2: [u32; 4] = [1, 1, 2, 2];
const TP1: [u32; 4] = [1, 1, 1, 1];
const TP2: [u32; 4] = [2, 1, 1, 1];
const PP2: [u32; 4] = [1, 2, 1, 1];

const OVERVIEW: [Row; 41] = [
    ("deepseek-r1", "b200_sxm", "fp4", DEP4, 1024, 1024, 6463.0),
    ("deepseek-r1", "gb200", "fp4", DEP4, 1024, 1024, 6939.0),
    ("deepseek-r1", "h200_sxm", "fp8", DEP8, 1024, 1024, 1627.0),
    ("deepseek-r1", "b200_sxm", "fp4", DEP4, 1024, 8192, 3862.0),
    ("deepseek-r1", "gb200", "fp4", DEP4, 1024, 8192, 4379.0),
    ("deepseek-r1", "h200_sxm", "fp8", DEP8, 1024, 8192, 1218.0),
    ("deepseek-r1", "b200_sxm", "fp4", DEP4, 1024, 32_768, 1451.0),
    ("deepseek-r1", "gb200", "fp4", DEP4, 1024, 32_768, 1465.0),
    ("deepseek-r1", "h200_sxm", "fp8", DEP8, 1024, 32_768, 438.0),
    ("deepseek-r1", "b200_sxm", "fp4", DEP4, 8192, 1024, 1168.0),
    ("deepseek-r1", "gb200", "fp4", DEP4, 8192, 1024, 1192.0),
    (
        "gpt-oss-120b",
        "b200_sxm",
        "mxfp4",
        DEP2,
        1024,
        1024,
        25_943.0,
    ),
    ("gpt-oss-120b", "gb200", "mxfp4", TP1, 1024, 1024, 27_198.0),
    ("gpt-oss-120b", "h200_sxm", "mxfp4", TP1, 1024, 1024, 6868.0),
    (
        "gpt-oss-120b",
        "h100_sxm",
        "mxfp4",
        DEP4,
        1024,
        1024,
        4685.0,
    ),
    (
        "gpt-oss-120b",
        "b200_sxm",
        "mxfp4",
        DEP2,
        1024,
        8192,
        17_289.0,
    ),
    ("gpt-oss-120b", "gb200", "mxfp4", TP1, 1024, 8192, 14_800.0),
    ("gpt-oss-120b", "h200_sxm", "mxfp4", TP1, 1024, 8192, 3543.0),
    (
        "gpt-oss-120b",
        "b200_sxm",
        "mxfp4",
        DEP2,
        8192,
        1024,
        6111.0,
    ),
    ("gpt-oss-120b", "gb200", "mxfp4", TP1, 8192, 1024, 6835.0),
    ("gpt-oss-120b", "h200_sxm", "mxfp4", TP1, 8192, 1024, 1828.0),
    (
        "gpt-oss-120b",
        "h100_sxm",
        "mxfp4",
        DEP4,
        8192,
        1024,
        1169.0,
    ),
    (
        "gpt-oss-120b",
        "b200_sxm",
        "mxfp4",
        DEP2,
        32_768,
        1024,
        1392.0,
    ),
    ("gpt-oss-120b", "gb200", "mxfp4", TP1, 32_768, 1024, 1645.0),
    (
        "gpt-oss-120b",
        "h200_sxm",
        "mxfp4",
        TP1,
        32_768,
        1024,
        519.0,
    ),
    (
        "gpt-oss-120b",
        "h100_sxm",
        "mxfp4",
        DEP4,
        32_768,
        1024,
        333.0,
    ),
    ("llama-3.3-70b", "b200_sxm", "fp4", TP1, 1024, 1024, 6920.0),
    ("llama-3.3-70b", "gb200", "fp4", TP1, 1024, 1024, 7769.0),
    ("llama-3.3-70b", "h200_sxm", "fp8", TP2, 1024, 1024, 2587.0),
    ("llama-3.3-70b", "h100_sxm", "fp8", TP2, 1024, 1024, 2209.0),
    ("llama-3.3-70b", "b200_sxm", "fp4", TP1, 1024, 8192, 3242.0),
    ("llama-3.3-70b", "gb200", "fp4", TP1, 1024, 8192, 3805.0),
    ("llama-3.3-70b", "h200_sxm", "fp8", TP2, 1024, 8192, 2009.0),
    ("llama-3.3-70b", "b200_sxm", "fp4", TP1, 8192, 1024, 1362.0),
    ("llama-3.3-70b", "gb200", "fp4", TP1, 8192, 1024, 1491.0),
    ("llama-3.3-70b", "h200_sxm", "fp8", TP2, 8192, 1024, 537.0),
    ("llama-3.3-70b", "h100_sxm", "fp8", TP2, 8192, 1024, 398.0),
    ("llama-3.3-70b", "b200_sxm", "fp4", TP1, 32_768, 1024, 274.0),
    ("llama-3.3-70b", "gb200", "fp4", TP1, 32_768, 1024, 302.0),
    ("llama-3.3-70b", "h200_sxm", "fp8", TP2, 32_768, 1024, 120.0),
    (
        "llama-3.3-70b",
        "rtx-pro-6000",
        "fp4",
        TP1,
        1024,
        1024,
        1724.0,
    ),
];
/// Those of RTX PRO 6000 with more than a GPU, and of a small model.
const RTX: [Row; 4] = [
    (
        "llama-3.3-70b",
        "rtx-pro-6000",
        "fp4",
        PP2,
        1024,
        1024,
        1901.0,
    ),
    (
        "qwen3-30b-a3b",
        "rtx-pro-6000",
        "fp4",
        TP1,
        1024,
        1024,
        9938.0,
    ),
    (
        "qwen3-30b-a3b",
        "rtx-pro-6000",
        "fp4",
        DEP2,
        1024,
        1024,
        8409.0,
    ),
    (
        "qwen3-30b-a3b",
        "rtx-pro-6000",
        "fp4",
        DEP8,
        1024,
        1024,
        3985.0,
    ),
];

/// Output tokens/s/GPU of a row: as many requests at once as memory holds and half as many waiting.
fn offline(predictor: &Predictor, row: &Row) -> f64 {
    let &(model, gpu, precision, ranks, input, output, _) = row;
    let replica = Replica {
        engine: EngineKind::TensorRtLlm,
        version: "1.1.0",
        model,
        gpu,
        precision,
        ranks,
        kv: Dtype::Fp8,
        // On Blackwell gpt-oss multiplies in MXFP8.
        activations: (precision == "mxfp4" && gpu.contains("b200")).then_some(Dtype::Fp8),
        redundant: 0,
    };
    let plan = replica.plan(predictor, input + output);
    let pool = &plan.pools[0];
    let lanes = u64::from(pool.layout.dp);
    let each = (pool.memory.kv_tokens / (input + output)).max(1);
    let fits = each.min(u64::from(pool.engine.max_num_seqs)) * lanes;
    let concurrency = (fits + fits / 2).min(12_288);
    let scenario = Scenario {
        plan: Arc::clone(&plan),
        workload: Workload {
            arrivals: Arrivals::Closed,
            input: Length::Fixed(Tokens::new(input)),
            output: Length::Fixed(Tokens::new(output)),
            requests: 3 * concurrency,
            seed: 1,
            trace: None,
            sessions: None,
            hidden: None,
            priorities: Vec::new(),
        },
        trace: None,
        load: Load::Concurrency(u32::try_from(concurrency).unwrap()),
        fidelity: Arc::clone(&predictor.fidelity),
    };
    let cancel = AtomicBool::new(false);
    let summary = run(&scenario, Control { cancel: &cancel }).unwrap();
    summary.output_tokens_per_s / replica.gpus()
}

/// Spearman's: of the ranks of both.
fn rank_correlation(pairs: &[(f64, f64)]) -> f64 {
    let ranks = |of: fn(&(f64, f64)) -> f64| {
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        order.sort_by(|a, b| of(&pairs[*a]).total_cmp(&of(&pairs[*b])));
        let mut ranks = vec![0.0; pairs.len()];
        for (rank, index) in (0_u32..).zip(order) {
            ranks[index] = f64::from(rank);
        }
        ranks
    };
    let (a, b) = (ranks(|pair| pair.0), ranks(|pair| pair.1));
    let count = f64::from(u32::try_from(pairs.len()).unwrap());
    let off: f64 = a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum();
    1.0 - 6.0 * off / (count * (count * count - 1.0))
}

// TensorRT-LLM's offline throughput (systems.md §20): engine defaults, KV fraction 0.9, FP8 KV cache, the
// precision of Qwen3-30B-A3B's rows taken to be FP4. The bars are MAPE 20 % and rank correlation 0.95;
// 2026-12-01: 31.1 % and 0.936, both missed. Worst: gpt-oss-120b on Hopper (+22 to +136 %), and on two
// B200 at 1,024 / 1,024 (−54 %), where handing out tokens one by one at 49 µs is the limit; prompts of
// 32,768 on Llama (−38 %); Qwen3-30B-A3B on RTX PRO 6000 (−32 to −43 %).
#[test]
fn tensorrt_llm_offline_throughput() {
    let settings = [
        ("gpu_memory_utilization", "0.9"),
        ("max_num_seqs", "2048"),
        ("max_num_batched_tokens", "8192"),
        ("enable_chunked_prefill", "true"),
        ("max_cudagraph_capture_size", "2048"),
    ];
    let predictor = predictor(EngineKind::TensorRtLlm, &settings);
    let mut pairs = Vec::new();
    for row in OVERVIEW.iter().chain(&RTX) {
        let (model, gpu, precision, ranks, input, output, measured) = row;
        let ours = offline(&predictor, row);
        println!(
            "{model} {gpu} {precision} {ranks:?} {input}/{output}: measured {measured:.0}, ours {ours:.0}, {:+.0} %",
            (ours / measured - 1.0) * 100.0
        );
        pairs.push((*measured, ours));
    }
    let count = f64::from(u32::try_from(pairs.len()).unwrap());
    let mape = pairs.iter().map(|(a, b)| (b / a - 1.0).abs()).sum::<f64>() / count;
    let rank = rank_correlation(&pairs);
    println!("MAPE {:.1} %, rank correlation {rank:.3}", mape * 100.0);
    assert!(mape < 0.6 && rank > 0.85, "{mape} {rank}");
}

// A layer's attention of decodes at 1,024 tokens each beside a prompt's chunk of 512, vLLM 0.19 on RTX PRO
// 6000, Llama-3.1-8B: measured 324 and 710 µs beyond the chunk's own time, where alone they take 221 and
// 405 (LLMServingSim's profile). FlashAttention 2 runs both in the prompt's kernel.
#[test]
fn decodes_beside_a_prompt_run_in_its_kernel() {
    let predictor = predictor(EngineKind::Vllm, &[]);
    let replica = Replica {
        engine: EngineKind::Vllm,
        version: "0.19.0",
        model: "llama-3.1-8b",
        gpu: "rtx-pro-6000",
        precision: "bf16",
        ranks: TP1,
        kv: Dtype::Bf16,
        activations: None,
        redundant: 0,
    };
    let plan = replica.plan(&predictor, 4096);
    let prompt = [Chunk {
        tokens: 512,
        context: 0,
    }];
    let attention = |lane| {
        let price = step(&plan, &predictor, lane);
        seconds(price.by_class[Class::Attention as usize]) / 32.0 * 1e6
    };
    let chunk = attention(prefills(&prompt));
    for (sequences, measured) in [(64, 324.0), (128, 710.0)] {
        let alone = attention(decodes(sequences, 1024));
        let beside = attention(LaneShape {
            chunks: &prompt,
            ..decodes(sequences, 1024)
        }) - chunk;
        println!(
            "{sequences} decodes: alone {alone:.0} µs, beside a prompt {beside:.0}, measured {measured:.0}"
        );
        assert!((beside / measured - 1.0).abs() < 0.35, "{beside}");
        assert!(beside > 1.2 * alone, "{beside} {alone}");
    }
}
