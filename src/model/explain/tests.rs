use super::*;
use crate::catalog::{Dtype, ModelId};
use crate::model::{
    Compressed, DeltaNet, Extra, Ffn, Gate, Gqa, Indexer, Kept, LayerRun, Mamba1, Mamba2, Mla,
    Models, Moe, NormKind, Quantization, Recurrent, Scale, Span, head_flops_per_token,
    kv_bytes_per_sequence, kv_bytes_per_sequence_rank, kv_bytes_per_token, linear_flops_per_token,
    parameters, state_bytes_per_sequence, weight_bytes,
};

/// A model with a layer of every kind, and everything that can be beside them.
fn of_every_kind() -> Model {
    let gqa = Gqa {
        heads: 12,
        kv_heads: 3,
        head_dim: 40,
        ..Gqa::default()
    };
    let indexer = Indexer {
        heads: 6,
        dim: 24,
        top_k: 500,
        shared: false,
        by_blocks: false,
    };
    let mla = Mla {
        heads: 14,
        q_rank: Some(96),
        kv_rank: 72,
        nope_dim: 20,
        rope_dim: 10,
        v_dim: 18,
        ..Mla::default()
    };
    let compressed = Compressed {
        heads: 8,
        head_dim: 36,
        q_rank: 50,
        out_groups: 4,
        out_rank: 22,
        window: 128,
        ratio: 4,
        indexer: Some(indexer),
    };
    let delta = DeltaNet {
        key_heads: 4,
        value_heads: 8,
        key_dim: 16,
        value_dim: 18,
        kernel: 4,
        channel_decay: false,
        full_gate: false,
        state_dtype: Dtype::Fp32,
    };
    let mamba2 = Mamba2 {
        heads: 10,
        head_dim: 12,
        state: 14,
        groups: 2,
        kernel: 4,
        bias: true,
        conv_bias: true,
        norm: true,
        state_dtype: Dtype::Fp32,
    };
    let attentions = vec![
        Attention::Gqa(gqa.clone()),
        Attention::Gqa(Gqa {
            span: Span::Window(300),
            v_dim: Some(24),
            sinks: true,
            qkv_bias: true,
            out_bias: true,
            gate: Gate::Full,
            ..gqa.clone()
        }),
        Attention::Gqa(Gqa {
            q_rank: Some(30),
            kv_heads: 1,
            gate: Gate::Head,
            indexer: Some(indexer),
            ..gqa.clone()
        }),
        Attention::Gqa(Gqa {
            shares_kv: true,
            ..gqa.clone()
        }),
        Attention::Gqa(Gqa {
            keys_are_values: true,
            span: Span::Chunk(64),
            ..gqa.clone()
        }),
        Attention::Mla(mla.clone()),
        Attention::Mla(Mla {
            q_rank: None,
            gate: Gate::Full,
            indexer: Some(indexer),
            ..mla
        }),
        Attention::Compressed(compressed.clone()),
        Attention::Compressed(Compressed {
            ratio: 128,
            indexer: None,
            ..compressed.clone()
        }),
        Attention::Compressed(Compressed {
            ratio: 0,
            indexer: None,
            ..compressed
        }),
        Attention::Recurrent(Recurrent::DeltaNet(delta.clone())),
        Attention::Recurrent(Recurrent::DeltaNet(DeltaNet {
            channel_decay: true,
            full_gate: false,
            ..delta
        })),
        Attention::Recurrent(Recurrent::Lightning {
            heads: 6,
            head_dim: 20,
            gated: true,
        }),
        Attention::Recurrent(Recurrent::Mamba2(mamba2.clone())),
        Attention::Recurrent(Recurrent::Mamba1(Mamba1 {
            inner: 90,
            state: 8,
            dt_rank: 5,
            kernel: 4,
            bias: true,
            conv_bias: true,
            inner_norms: true,
            state_dtype: Dtype::Fp32,
        })),
        Attention::Recurrent(Recurrent::ShortConv {
            width: 60,
            kernel: 3,
            bias: true,
        }),
        Attention::Recurrent(Recurrent::RgLru {
            width: 64,
            blocks: 4,
            kernel: 4,
        }),
        Attention::Recurrent(Recurrent::Other {
            name: "new".to_owned(),
            parameters: 12_345,
            state_values: 678,
        }),
        Attention::Parallel {
            attention: gqa,
            recurrent: Recurrent::Mamba2(mamba2),
        },
        Attention::Matrix,
        Attention::None,
    ];
    let moe = Moe {
        experts: 10,
        top_k: 3,
        intermediate: 70,
        shared_intermediate: 140,
        router_bias: true,
        ..Moe::default()
    };
    let ffns = [
        Ffn::gated(333),
        Ffn::Dense {
            intermediate: 222,
            gated: false,
            bias: true,
        },
        Ffn::Moe(moe.clone()),
        Ffn::Moe(Moe {
            ungated: true,
            bias: true,
            shared_gate: true,
            latent: Some(32),
            zero_experts: 5,
            ..moe
        }),
        Ffn::Matrix,
        Ffn::None,
    ];
    let layers: Vec<LayerRun> = attentions
        .into_iter()
        .enumerate()
        .map(|(i, attention)| LayerRun {
            norms: 1 + (i % 3) as u64,
            kept: Kept {
                attention: (i % 4 == 0).then_some(Dtype::Bf16),
                routed_experts: (i % 3 == 0).then_some(Dtype::Fp4),
                ..Kept::NONE
            },
            ..LayerRun::new(1 + i as u32 % 3, attention, ffns[i % ffns.len()].clone())
        })
        .collect();
    let id = ModelId::new("every-kind").expect("an id");
    let mut model = Model::of_layers(id, 120, 1000, layers.clone());
    model.norm = NormKind::LayerNorm;
    model.quantization = Some(Quantization {
        weights: Dtype::Fp8,
        activations: Dtype::Fp8,
        scale: Some(Scale {
            bits: 32,
            per: 16_384,
        }),
        block: Some(128),
        head: None,
    });
    model.extras = vec![
        Extra {
            name: "position table".to_owned(),
            parameters: 777,
            served: true,
        },
        Extra {
            name: "vision tower".to_owned(),
            parameters: 888,
            served: false,
        },
    ];
    model.mtp = Some(Box::new(layers[2].clone()));
    model
}

fn models() -> Vec<Model> {
    let presets = Models::embedded().expect("presets are sound");
    presets.iter().cloned().chain([of_every_kind()]).collect()
}

fn section<'a>(sections: &'a [Section], title: &str) -> &'a Section {
    sections
        .iter()
        .find(|section| section.title.starts_with(title))
        .unwrap_or_else(|| panic!("no section {title}"))
}

fn total(section: &Section) -> u64 {
    let total = section.total.as_ref().expect("a total");
    total.value.count().expect("a count")
}

#[test]
fn rows_sum_to_what_derive_says() {
    for model in models() {
        for (weights, kv) in [
            (Dtype::Bf16, Dtype::Bf16),
            (Dtype::Fp8, Dtype::Fp8),
            (Dtype::Fp4, Dtype::Int8),
            (Dtype::Int4, Dtype::Fp4),
        ] {
            for (context, tp, ep) in [(0, 1, 1), (4096, 1, 1), (100_000, 8, 4)] {
                let precision = Precision {
                    weights,
                    activations: Dtype::Bf16,
                    kv,
                };
                let at = ExplainAt::whole(context).ranks(tp, ep);
                let sections = explain(&model, precision, &at);
                for section in &sections {
                    let Some(row) = &section.total else { continue };
                    let rows = section.rows.iter().filter_map(|row| row.value.count());
                    assert_eq!(
                        Some(rows.sum::<u64>()),
                        row.value.count(),
                        "{} {} {context}",
                        model.id,
                        section.title
                    );
                }
                let says = |title| total(section(&sections, title));
                assert_eq!(says("Parameters"), parameters(&model).total());
                let bytes = weight_bytes(&model, precision).get();
                assert_eq!(says("Weight bytes,"), bytes);
                assert_eq!(
                    says("KV cache per token"),
                    kv_bytes_per_token(&model, kv).get()
                );
                assert_eq!(
                    says("KV cache of a sequence"),
                    kv_bytes_per_sequence(&model, kv, context).get()
                );
                if tp > 1 {
                    assert_eq!(
                        says("KV cache of one rank"),
                        kv_bytes_per_sequence_rank(&model.layers, kv, tp, context).get()
                    );
                }
                let attention: u64 = model
                    .layers
                    .iter()
                    .map(|run| {
                        u64::from(run.count)
                            * crate::model::attention_flops(&run.attention, true, context)
                    })
                    .sum();
                assert_eq!(
                    says("FLOPs of a token"),
                    linear_flops_per_token(&model) + head_flops_per_token(&model) + attention
                );
            }
        }
        let state = state_bytes_per_sequence(&model.layers, 1).get();
        let sections = explain(&model, Precision::BF16, &ExplainAt::whole(10));
        match sections.iter().find(|s| s.title.starts_with("Fixed state")) {
            Some(own) => assert_eq!(total(own), state),
            None => assert_eq!(state, 0, "{}", model.id),
        }
    }
}

/// Works a formula out: words are passed over, `×` binds before `+`.
fn worked_out(formula: &str) -> f64 {
    fn sum(rest: &mut std::iter::Peekable<std::vec::IntoIter<String>>) -> f64 {
        let mut total = product(rest);
        while let Some(sign) = rest.next_if(|t| t == "+" || t == "−") {
            let term = product(rest);
            total += if sign == "+" { term } else { -term };
        }
        total
    }
    fn product(rest: &mut std::iter::Peekable<std::vec::IntoIter<String>>) -> f64 {
        let mut total = atom(rest);
        while let Some(sign) = rest.next_if(|t| t == "×" || t == "/") {
            let factor = atom(rest);
            total = if sign == "×" {
                total * factor
            } else {
                total / factor
            };
        }
        total
    }
    fn atom(rest: &mut std::iter::Peekable<std::vec::IntoIter<String>>) -> f64 {
        let token = rest.next().expect("a number");
        if token == "(" {
            let inside = sum(rest);
            assert_eq!(rest.next().as_deref(), Some(")"));
            return inside;
        }
        token
            .parse()
            .unwrap_or_else(|_| panic!("{token} is no number"))
    }
    let mut tokens: Vec<String> = Vec::new();
    for word in formula
        .replace('(', " ( ")
        .replace(')', " ) ")
        .split_whitespace()
    {
        let digits = word.replace(',', "");
        if digits.parse::<u64>().is_ok() || ["(", ")", "×", "+", "/", "−"].contains(&word) {
            tokens.push(digits);
        }
    }
    let mut rest = tokens.into_iter().peekable();
    let value = sum(&mut rest);
    assert_eq!(rest.next(), None, "{formula}");
    value
}

#[test]
fn formulas_come_to_the_values_beside_them() {
    let shown = [
        "Parameters",
        "KV cache",
        "Fixed state",
        "FLOPs of a token",
        "Arithmetic intensity",
    ];
    let mut checked = 0;
    for model in models() {
        let at = ExplainAt::whole(30_000).ranks(8, 4);
        let sections = explain(&model, Precision::BF16, &at);
        for section in sections {
            if !shown.iter().any(|title| section.title.starts_with(title)) {
                continue;
            }
            for row in section.rows {
                let worked = worked_out(&row.formula);
                let value = match row.value {
                    Amount::Intensity(ratio) => ratio,
                    other => other.count().expect("a count") as f64,
                };
                // A share of an entry is rounded up.
                let slack = if row.formula.contains('/') { 1.0 } else { 0.0 };
                assert!(
                    (worked - value).abs() <= slack,
                    "{} {}: {} is {worked}, not {value}",
                    model.id,
                    row.what,
                    row.formula
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 300, "{checked}");
}

#[test]
fn deepseek_v3_reads_as_its_paper() {
    let presets = Models::embedded().expect("presets are sound");
    let id = ModelId::new("deepseek-v3").expect("an id");
    let model = presets.get(&id).expect("a preset");
    let at = ExplainAt::whole(32_768).ranks(8, 8);
    let sections = explain(model, Precision::FP8, &at);
    let row = &section(&sections, "KV cache per token").rows[0];
    assert_eq!(row.formula, "61 layers × (512 + 64) × 2 B");
    assert_eq!(row.value.to_string(), "70,272 B");
    let attention = &section(&sections, "Parameters").rows[2];
    assert_eq!(
        attention.formula,
        "61 layers × (Q down 7,168 × 1,536 + Q up 1,536 × 128 × (128 + 64) + KV down 7,168 × (512 + 64) + KV up 512 × 128 × (128 + 128) + O 128 × 128 × 7,168)"
    );
    let rank = section(&sections, "KV cache of one rank");
    assert!(rank.notes[0].contains("each of 8 ranks keeps all of it"));
    assert_eq!(rank.beside[1].value, Amount::Bytes(8 * 32_768 * 70_272));
    // 2 · 128 · 1088 FLOPs over 576 values of 2 bytes.
    let intensity = section(&sections, "Arithmetic intensity").rows[0].value;
    assert_eq!(intensity.to_string(), "242 FLOP/B");
}

#[test]
fn copies_of_heads_are_said() {
    let presets = Models::embedded().expect("presets are sound");
    let id = ModelId::new("qwen3-30b-a3b").expect("an id");
    let model = presets.get(&id).expect("a preset");
    let notes = |tp| {
        let at = ExplainAt::whole(4096).ranks(tp, 1);
        let sections = explain(model, Precision::BF16, &at);
        sections
            .iter()
            .filter(|s| s.title.contains("one rank"))
            .flat_map(|s| s.notes.clone())
            .filter(|note| note.contains("KV head"))
            .collect::<Vec<_>>()
    };
    assert!(notes(4).is_empty());
    assert!(notes(8).contains(&"4 KV heads on 8 ranks: each twice.".to_owned()));
    assert!(notes(16).contains(&"4 KV heads on 16 ranks: each 4 times.".to_owned()));
    assert!(notes(3).contains(&"4 KV heads on 3 ranks: the fullest has 2.".to_owned()));
}

#[test]
fn absurd_shapes_are_explained_without_a_panic() {
    let mut model = of_every_kind();
    model.hidden = u64::MAX;
    model.layers[0].count = u32::MAX;
    let sections = explain(
        &model,
        Precision::BF16,
        &ExplainAt {
            context: u64::MAX,
            tp: 0,
            ep: 0,
            moe_tp: 0,
            block_size: 0,
        },
    );
    assert!(!sections.is_empty());
}
