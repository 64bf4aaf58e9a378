use super::*;
use crate::catalog::{Dtype, ModelId};
use crate::model::{
    Compressed, DeltaNet, Ffn, Gqa, LayerRun, Mamba2, Mla, Moe, Precision, Quantization, Recurrent,
};
use crate::plan::engine::Engine;
use crate::plan::pool::{PoolId, Role};
use proptest::prelude::*;

fn gqa(heads: u64, kv_heads: u64) -> Attention {
    Attention::Gqa(Gqa {
        heads,
        kv_heads,
        head_dim: 128,
        ..Gqa::default()
    })
}

fn model(vocab: u64, layers: Vec<LayerRun>) -> Model {
    Model::of_layers(ModelId::new("m").unwrap(), 4096, vocab, layers)
}

fn dense(heads: u64, kv_heads: u64, width: u64, vocab: u64) -> Model {
    let run = LayerRun::new(32, gqa(heads, kv_heads), Ffn::gated(width));
    model(vocab, vec![run])
}

fn moe(experts: u64, width: u64, block: Option<u64>) -> Model {
    let own = Moe {
        experts,
        top_k: 8,
        intermediate: width,
        ..Moe::default()
    };
    let mut model = model(151_936, vec![LayerRun::new(48, gqa(64, 4), Ffn::Moe(own))]);
    model.quantization = block.map(|block| Quantization {
        weights: Dtype::Fp8,
        activations: Dtype::Fp8,
        scale: None,
        block: Some(block),
        head: None,
    });
    model
}

fn pool(layout: Layout, kind: EngineKind, precision: Precision) -> Pool {
    Pool {
        id: PoolId::new("p").unwrap(),
        name: "p".to_owned(),
        role: Role::Colocated,
        gpus: Vec::new(),
        layout,
        engine: Engine {
            kind,
            ..Engine::vllm(true)
        },
        precision,
    }
}

fn found(model: &Model, pool: &Pool) -> Vec<Finding> {
    let mut findings = Vec::new();
    layout(model, pool, 64, &mut findings);
    findings.retain(|f| f.severity == crate::plan::Severity::Error);
    findings
}

fn tps(model: &Model) -> Vec<u32> {
    legal_tps(&Facts::of(model, Dtype::Bf16), 64)
}

fn lanes(tp: u32, dp: u32, ep: u32) -> Layout {
    Layout {
        tp,
        dp,
        ep,
        ..Layout::SINGLE
    }
}

// cases.md T15.
#[test]
fn legal_tp_follows_heads_kv_heads_widths_and_vocabulary() {
    assert_eq!(tps(&dense(28, 4, 18_944, 152_064)), [1, 2, 4]);
    assert_eq!(tps(&dense(40, 8, 8192, 202_048)), [1, 2, 4, 8]);
    assert_eq!(tps(&dense(14, 2, 4864, 151_936)), [1, 2]);
    // 96 heads and width 6144 take TP 3; the vocabulary of 2000 rows, padded to 2048, does not.
    assert_eq!(tps(&dense(96, 96, 6144, 2000)), [1, 2, 4, 8, 16, 32]);
    let illegal = pool(lanes(7, 1, 1), EngineKind::Vllm, Precision::BF16);
    let finding = &found(&dense(28, 4, 18_944, 152_064), &illegal)[0];
    assert_eq!(
        finding.cause,
        "TP 7 neither divides 4 KV heads nor is a multiple of them: 1, 2 and 4 do"
    );
}

#[test]
fn every_kind_of_mixer_has_something_tp_must_divide() {
    let of = |attention| {
        let run = LayerRun::new(4, attention, Ffn::gated(1 << 12));
        tps(&model(1 << 17, vec![run]))
    };
    let mla = Attention::Mla(Mla {
        heads: 16,
        kv_rank: 512,
        nope_dim: 128,
        rope_dim: 64,
        v_dim: 128,
        ..Mla::default()
    });
    assert_eq!(of(mla), [1, 2, 4, 8, 16]);
    let compressed = Attention::Compressed(Compressed {
        heads: 64,
        head_dim: 512,
        q_rank: 1024,
        out_groups: 8,
        out_rank: 1024,
        window: 128,
        ratio: 4,
        indexer: None,
    });
    assert_eq!(of(compressed), [1, 2, 4, 8]);
    let delta = Attention::Recurrent(Recurrent::DeltaNet(DeltaNet {
        key_heads: 16,
        value_heads: 32,
        key_dim: 128,
        value_dim: 128,
        kernel: 4,
        channel_decay: false,
        full_gate: false,
        state_dtype: Dtype::Fp32,
    }));
    assert_eq!(of(delta), [1, 2, 4, 8, 16]);
    let mamba = |groups| {
        Attention::Recurrent(Recurrent::Mamba2(Mamba2 {
            heads: 128,
            head_dim: 64,
            state: 128,
            groups,
            kernel: 4,
            bias: false,
            conv_bias: true,
            norm: true,
            state_dtype: Dtype::Fp32,
        }))
    };
    assert_eq!(of(mamba(8)), [1, 2, 4, 8]);
    assert_eq!(of(mamba(1)), [1, 2, 4, 8, 16, 32, 64]);
}

// cases.md T16: Qwen3-235B-A22B-FP8.
#[test]
fn no_rank_holds_part_of_a_quantisation_block() {
    let model = moe(128, 1536, Some(128));
    let with = |layout| pool(layout, EngineKind::Sglang, Precision::FP8);
    let refused = found(&model, &with(lanes(8, 1, 1)));
    assert!(
        refused[0].cause.starts_with(
            "MoE-TP 8 cuts the expert width 1536 into 192, not a multiple of the quantisation block 128"
        ),
        "{}",
        refused[0].cause
    );
    assert!(found(&model, &with(lanes(4, 1, 1))).is_empty(), "384");
    assert!(found(&model, &with(lanes(8, 1, 2))).is_empty(), "384");
    assert!(found(&model, &with(lanes(8, 1, 8))).is_empty(), "whole");
    // The blocks are those of the format: in BF16 there are none.
    let wide = pool(lanes(8, 1, 1), EngineKind::Sglang, Precision::BF16);
    assert!(found(&model, &wide).is_empty());
    // Dense widths too: 1536 over 8 ranks.
    let mut dense = dense(64, 8, 1536, 151_936);
    dense.quantization = model.quantization;
    assert!(
        found(&dense, &with(lanes(8, 1, 1)))[0]
            .cause
            .contains("into 192")
    );
}

// cases.md T17.
#[test]
fn experts_are_dealt_out_evenly_or_with_redundant_ones() {
    for (experts, ep, redundant) in [(256, 3, 2), (512, 72, 64), (128, 3, 1)] {
        let model = moe(experts, 1536, None);
        let mut own = pool(lanes(1, ep, ep), EngineKind::Vllm, Precision::BF16);
        let findings = found(&model, &own);
        let finding = &findings[0];
        assert!(
            finding
                .cause
                .starts_with(&format!("EP {ep} does not divide {experts} experts")),
            "{}",
            finding.cause
        );
        let repair = finding.repair.as_ref().unwrap();
        assert_eq!(repair.label, format!("Add {redundant} redundant experts"));
        let Change::Layout(_, layout) = repair.change else {
            panic!("{repair:?}")
        };
        assert_eq!(layout.redundant_experts, redundant);
        own.layout = layout;
        assert!(found(&model, &own).is_empty());
    }
    // More ranks than experts: refused, or so many copies.
    let model = moe(128, 1536, None);
    let own = pool(lanes(1, 256, 256), EngineKind::Vllm, Precision::BF16);
    let findings = found(&model, &own);
    assert!(
        findings[0]
            .cause
            .contains("EP 256 is more than 128 experts")
    );
    assert_eq!(
        findings[0].repair.as_ref().unwrap().label,
        "Add 128 redundant experts"
    );
}

#[test]
fn engines_have_rules_of_their_own() {
    let model = moe(128, 1536, None);
    let errors = |layout, kind| found(&model, &pool(layout, kind, Precision::BF16)).len();
    // Experts over some of the ranks: SGLang and TensorRT-LLM can, vLLM can't.
    assert_eq!(errors(lanes(4, 1, 2), EngineKind::Vllm), 1);
    assert_eq!(errors(lanes(4, 1, 2), EngineKind::Sglang), 0);
    assert_eq!(errors(lanes(4, 1, 2), EngineKind::TensorRtLlm), 0);
    // Attention in lanes that are themselves divided.
    assert_eq!(errors(lanes(2, 2, 4), EngineKind::Sglang), 0);
    assert_eq!(errors(lanes(2, 2, 4), EngineKind::TensorRtLlm), 1);
    let own = pool(lanes(4, 1, 2), EngineKind::Vllm, Precision::BF16);
    assert!(found(&model, &own)[0].cause.contains("vLLM 0.11"));
}

#[test]
fn expert_parallelism_follows_the_ranks() {
    let model = moe(128, 1536, None);
    let with = |layout, degree, value| {
        let own = pool(layout, EngineKind::Sglang, Precision::BF16);
        layout_with(&model, &own, degree, value).ep
    };
    assert_eq!(with(lanes(2, 4, 8), Degree::Dp, 2), 4);
    assert_eq!(
        with(lanes(2, 4, 4), Degree::Dp, 2),
        4,
        "still divides 2 × 2"
    );
    assert_eq!(with(lanes(2, 4, 4), Degree::Tp, 1), 4);
    assert_eq!(with(lanes(4, 4, 8), Degree::Tp, 1), 4, "the most that does");
}

#[test]
fn every_rule_says_on_whose_word() {
    for rule in GROUPS.iter().flat_map(|group| group.iter()) {
        assert!(!rule.source.is_empty());
    }
}

fn any_model() -> impl Strategy<Value = Model> {
    let heads = prop::sample::select(vec![8_u64, 14, 28, 40, 64, 96, 128]);
    let kv = prop::sample::select(vec![1_u64, 2, 4, 8]);
    let width = prop::sample::select(vec![768_u64, 1536, 2048, 4864, 18_944]);
    let experts = prop::sample::select(vec![0_u64, 16, 60, 128, 160, 256]);
    let block = prop::option::of(Just(128_u64));
    (heads, kv, width, experts, block).prop_map(|(heads, kv, width, experts, block)| {
        let mut model = moe(experts.max(1), width, block);
        model.layers[0].attention = gqa(heads, kv);
        if experts == 0 {
            model.layers[0].ffn = Ffn::gated(width);
        }
        model
    })
}

proptest! {
    /// Whatever is offered mends what it is offered for, and brings no finding of another degree.
    #[test]
    fn every_repair_removes_its_finding(
        model in any_model(),
        tp in 1_u32..=20,
        pp in 1_u32..=60,
        dp in 1_u32..=12,
        ep in 1_u32..=80,
        redundant in 0_u32..4,
        kind in prop::sample::select(EngineKind::ALL.to_vec()),
        fp8 in any::<bool>(),
    ) {
        let layout = Layout { tp, pp, dp, ep, cp: 1, redundant_experts: redundant };
        let precision = if fp8 { Precision::FP8 } else { Precision::BF16 };
        let before = pool(layout, kind, precision);
        let facts = Facts::of(&model, precision.weights);
        let broken = |layout: Layout| -> Vec<Degree> {
            let case = Case { facts: &facts, layout, engine: Some(kind) };
            Degree::ALL.into_iter().filter(|d| case.breaks(*d).is_some()).collect()
        };
        let degrees = broken(layout);
        let findings = found(&model, &before);
        prop_assert_eq!(findings.len(), degrees.len());
        for (finding, degree) in findings.iter().zip(&degrees) {
            for repair in finding.repair.iter().chain(&finding.further) {
                let Change::Layout(_, next) = repair.change else {
                    panic!("{repair:?}")
                };
                let after = broken(next);
                prop_assert!(!after.contains(degree), "{} leaves {:?}", repair.label, after);
                prop_assert!(after.iter().all(|d| degrees.contains(d)), "{} brings {:?}", repair.label, after);
            }
        }
    }

    /// A picker offers what the rules allow, and choosing it is allowed.
    #[test]
    fn offered_values_are_legal(model in any_model(), tp in 0_u32..4, dp in 0_u32..3, all in any::<bool>()) {
        let (tp, dp) = (1 << tp, 1 << dp);
        let ep = if all && model.moe().is_some() { tp * dp } else { 1 };
        let own = pool(lanes(tp, dp, ep), EngineKind::Vllm, Precision::BF16);
        prop_assume!(found(&model, &own).is_empty());
        for degree in Degree::ALL {
            for value in legal_values(&model, &own, degree, 64) {
                let mut next = own.clone();
                next.layout = layout_with(&model, &own, degree, value);
                prop_assert_eq!(degree.of(next.layout), value);
                prop_assert!(found(&model, &next).is_empty(), "{:?} {}", degree, value);
            }
        }
    }
}
