//! What the ranks of MoE layers tell each other, term by term.

use super::runtime::{planned, planned_in};
use super::*;
use crate::plan::{Engine, EngineKind, ExpertExchange, GraphMode, Graphs};

/// A Qwen3-30B-A3B: 48 layers, all MoE, 128 experts of which 8, hidden 2,048.
const MODEL: &str = "qwen3-30b-a3b";
const LAYERS: f64 = 48.0;
const HIDDEN: f64 = 2048.0;
const EXPERTS: f64 = 128.0;

fn layout(tp: u32, dp: u32, ep: u32) -> Layout {
    Layout {
        tp,
        dp,
        ep,
        ..Layout::SINGLE
    }
}

fn of(layout: Layout, kind: EngineKind, own: ExpertExchange) -> Arc<Plan> {
    planned(MODEL, layout, |engine| {
        *engine = Engine {
            kind,
            version: kind.default_version().to_owned(),
            expert_exchange: own,
            ..Engine::vllm(true)
        };
    })
}

/// Communication of a step, seconds: so many decodes on every lane, or one prompt of as many tokens.
fn communication(plan: &Plan, tokens: u32, prompt: bool) -> f64 {
    let chunks = [Chunk { tokens, context: 0 }];
    let lane = if prompt {
        LaneShape {
            chunks: &chunks,
            ..LaneShape::default()
        }
    } else {
        LaneShape {
            decodes: tokens,
            context: u64::from(tokens) * 100,
            ..LaneShape::default()
        }
    };
    let lanes = vec![lane; plan.pools[0].layout.dp as usize];
    let price = pricer(plan, 0).stage(0, &lanes);
    price.by_class[Class::Communication as usize] as f64 * 1e-15
}

/// Groups of so many neighbouring ranks, and their collectives by the drawn links.
struct Links {
    plan: Arc<Plan>,
    prices: RooflineOn,
}

impl Links {
    fn of(plan: &Arc<Plan>) -> Self {
        Self {
            plan: Arc::clone(plan),
            prices: RooflineOn::of(&plan.pools[0].gpu),
        }
    }

    fn group(&self, ranks: u32) -> CommGroup {
        let ranks: Vec<GpuIx> = (0..ranks).map(GpuIx).collect();
        CommGroup::of(
            &self.plan.topology,
            &mut Router::new(&self.plan.topology),
            &ranks,
        )
    }

    fn reduce(&self, ranks: u32, bytes: f64) -> f64 {
        all_reduce(&self.group(ranks), bytes, &self.prices).seconds
    }

    fn gather(&self, ranks: u32, bytes: f64) -> f64 {
        all_gather(&self.group(ranks), bytes, &self.prices).seconds
    }

    fn scatter(&self, ranks: u32, bytes: f64) -> f64 {
        reduce_scatter(&self.group(ranks), bytes, &self.prices).seconds
    }
}

fn same(found: f64, by_hand: f64) {
    assert!((found / by_hand - 1.0).abs() < 1e-6, "{found} {by_hand}");
}

#[test]
fn one_lane_sums_its_experts_results_and_exchanges_nothing() {
    // Attention's and the experts' all-reduce in each layer, and the embedding's.
    let n = 64.0;
    for (ep, own) in [
        (1, ExpertExchange::AllGather),
        (8, ExpertExchange::AllGather),
        (8, ExpertExchange::DeepepLowLatency),
    ] {
        let plan = of(layout(8, 1, ep), EngineKind::Vllm, own);
        let links = Links::of(&plan);
        let by_hand = (2.0 * LAYERS + 1.0) * links.reduce(8, n * HIDDEN * 2.0);
        same(communication(&plan, 64, false), by_hand);
        same(communication(&plan, 64, true), by_hand);
    }
}

#[test]
fn lanes_of_one_rank_gather_and_scatter_and_sum_nothing() {
    // vLLM sends the router's logits along.
    let plan = of(layout(1, 8, 8), EngineKind::Vllm, ExpertExchange::AllGather);
    let links = Links::of(&plan);
    let all = 8.0 * 64.0;
    let by_hand = LAYERS
        * (links.gather(8, all * (HIDDEN + EXPERTS) * 2.0) + links.scatter(8, all * HIDDEN * 2.0));
    same(communication(&plan, 64, false), by_hand);
}

#[test]
fn lanes_of_several_ranks_count_each_collective_once() {
    let (lane, all) = (64.0, 256.0);
    // Expert parallel: all eight ranks, each with half of its lane's tokens; then the halves are
    // gathered. Attention's all-reduce stays.
    let plan = of(layout(2, 4, 8), EngineKind::Vllm, ExpertExchange::AllGather);
    let links = Links::of(&plan);
    let attention = (LAYERS + 1.0) * links.reduce(2, lane * HIDDEN * 2.0);
    let by_hand = attention
        + LAYERS
            * (links.gather(8, all * (HIDDEN + EXPERTS) * 2.0)
                + links.scatter(8, all * HIDDEN * 2.0)
                + links.gather(2, lane * HIDDEN * 2.0));
    same(communication(&plan, 64, false), by_hand);
    // Experts divided: the four lanes' peers of each TP rank, then the sum over TP. The peers lie two
    // apart in one domain, which is like four neighbours.
    let plan = of(layout(2, 4, 1), EngineKind::Vllm, ExpertExchange::AllGather);
    let by_hand = attention
        + LAYERS
            * (links.gather(4, all * (HIDDEN + EXPERTS) * 2.0)
                + links.scatter(4, all * HIDDEN * 2.0)
                + links.reduce(2, lane * HIDDEN * 2.0));
    same(communication(&plan, 64, false), by_hand);
}

#[test]
fn sglang_gathers_decodes_and_sums_prompts() {
    let plan = of(
        layout(1, 8, 8),
        EngineKind::Sglang,
        ExpertExchange::AllGather,
    );
    let links = Links::of(&plan);
    let bytes = 8.0 * 64.0 * HIDDEN * 2.0;
    let decodes = LAYERS * (links.gather(8, bytes) + links.scatter(8, bytes));
    same(communication(&plan, 64, false), decodes);
    same(
        communication(&plan, 64, true),
        LAYERS * 2.0 * links.reduce(8, bytes),
    );
    // With several ranks in a lane attention's sum is part of it.
    let plan = of(
        layout(2, 4, 8),
        EngineKind::Sglang,
        ExpertExchange::AllGather,
    );
    let (lane, bytes) = (64.0 * HIDDEN * 2.0, 256.0 * HIDDEN * 2.0);
    let decodes = links.reduce(2, lane)
        + LAYERS
            * (links.scatter(2, lane)
                + links.gather(8, bytes)
                + links.scatter(8, bytes)
                + links.gather(2, lane));
    same(communication(&plan, 64, false), decodes);
    let prompts = links.reduce(2, lane) + LAYERS * 2.0 * links.reduce(8, bytes);
    same(communication(&plan, 64, true), prompts);
}

#[test]
fn tensorrt_llm_gathers_what_it_quantised() {
    let plan = of(
        layout(1, 8, 4),
        EngineKind::TensorRtLlm,
        ExpertExchange::Automatic,
    );
    let links = Links::of(&plan);
    let all = 8.0 * 64.0;
    // BF16 here: values, and eight choices with their weights.
    let by_hand = LAYERS
        * (links.gather(8, all * (HIDDEN * 2.0 + 64.0)) + links.scatter(8, all * HIDDEN * 2.0));
    same(communication(&plan, 64, false), by_hand);
}

#[test]
fn sending_tokens_to_their_experts_moves_less_than_gathering_them() {
    let time =
        |kind, own, tokens, prompt| communication(&of(layout(1, 8, 8), kind, own), tokens, prompt);
    use ExpertExchange::{AllGather, Broadcast, Deepep, DeepepLowLatency, DeepepNormal};
    let vllm = |own, tokens| time(EngineKind::Vllm, own, tokens, false);
    // A token goes to 5.3 of 8 ranks once, in FP8 where the experts are; eight copies of it are more.
    assert!(vllm(DeepepNormal, 4096) < vllm(AllGather, 4096));
    assert!(vllm(DeepepLowLatency, 256) > vllm(DeepepNormal, 256));
    assert!(vllm(Broadcast, 256) > vllm(AllGather, 256));
    // Pieces of 256.
    same(
        vllm(DeepepLowLatency, 1024),
        4.0 * vllm(DeepepLowLatency, 256),
    );
    // SGLang's automatic mode is either.
    let sglang = |own, prompt| time(EngineKind::Sglang, own, 128, prompt);
    same(sglang(Deepep, false), sglang(DeepepLowLatency, false));
    same(sglang(Deepep, true), sglang(DeepepNormal, true));
}

#[test]
fn calibrations_price_an_exchange_where_they_have_it() {
    let fidelity: Arc<dyn Fidelity> = Arc::new(Calibrated::new(
        Calibrations::embedded().unwrap(),
        Arc::new(Catalog::embedded().unwrap()),
    ));
    let time = |own, tokens: u32| {
        let plan = planned_in("deepseek-v3", Precision::FP8, layout(1, 8, 8), |engine| {
            engine.kind = EngineKind::Sglang;
            engine.expert_exchange = own;
        });
        let mut pricer = StepPricer::new(&plan.topology, &plan.model, &plan.pools[0], &fidelity);
        let lane = LaneShape {
            decodes: tokens,
            context: u64::from(tokens) * 100,
            ..LaneShape::default()
        };
        let price = pricer.stage(0, &[lane; 8]);
        price.by_class[Class::Communication as usize] as f64 * 1e-9 / 58.0
    };
    // Microseconds of a layer there and back. H200, one server, hidden 7,168, top 8 of 256: DeepEP's
    // low latency takes some 35 µs for 16 tokens of a rank and 190 for 128 (twice its table's one way
    // each, BF16 there); its normal mode starts slower and ends faster.
    let low = |tokens| time(ExpertExchange::DeepepLowLatency, tokens);
    let normal = |tokens| time(ExpertExchange::DeepepNormal, tokens);
    assert!((25.0..80.0).contains(&low(16)), "{}", low(16));
    assert!(low(16) < normal(16), "{} {}", low(16), normal(16));
    assert!(low(1024) > normal(1024), "{} {}", low(1024), normal(1024));
    let mut before = 0.0;
    for tokens in [1, 8, 64, 128, 512, 2048] {
        let now = low(tokens);
        assert!(now >= before * 0.95, "{tokens}: {now} after {before}");
        before = now;
    }
}

#[test]
fn normal_mode_runs_without_graphs() {
    let graphs = |own| {
        let plan = planned(MODEL, layout(1, 8, 8), |engine| {
            engine.expert_exchange = own;
            engine.graphs = Graphs {
                mode: GraphMode::FullAndPiecewise,
                max_size: 512,
                padding: true,
            };
        });
        plan.pools[0].engine.graphs.mode
    };
    assert_eq!(graphs(ExpertExchange::DeepepNormal), GraphMode::None);
    assert_eq!(
        graphs(ExpertExchange::DeepepLowLatency),
        GraphMode::FullAndPiecewise
    );
}

/// Shared experts on a stream of their own cost what of them the routed ones don't hide, and no step is
/// shorter than without them.
#[test]
fn shared_experts_hide_behind_routed_ones() {
    let step = |version: &str, tokens: u32| {
        let plan = planned("qwen3.5-35b-a3b", layout(1, 1, 1), |engine| {
            *engine = Engine {
                version: version.to_owned(),
                ..Engine::vllm(true)
            };
        });
        let lane = LaneShape {
            decodes: tokens,
            context: u64::from(tokens) * 100,
            sampled: tokens,
            ..LaneShape::default()
        };
        let catalog = Arc::new(Catalog::embedded().unwrap());
        let calibrations = Calibrations::embedded().unwrap();
        let fidelity: Arc<dyn Fidelity> = Arc::new(Calibrated::new(calibrations, catalog));
        StepPricer::new(&plan.topology, &plan.model, &plan.pools[0], &fidelity)
            .stage(0, &[lane])
            .total
    };
    // vLLM does so since 0.11.1, up to 256 tokens.
    assert!(step("0.11.1", 32) < step("0.10", 32));
    assert_eq!(step("0.11.1", 512), step("0.10", 512));
}
