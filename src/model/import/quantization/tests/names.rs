use super::super::modules::{self, Part};
use super::super::names::Names;
use super::*;
use crate::model::{Compressed, DeltaNet, Gate, Indexer, Mamba1, Mamba2, Recurrent};

fn matcher(entries: &[&str]) -> super::super::names::Matcher {
    let mut names = Names::default();
    for entry in entries {
        names.add(entry, "ignore").expect("an entry");
    }
    names.finish("ignore", 8, &mut Vec::new()).expect("a list")
}

#[test]
fn entries_mean_what_their_tools_make_of_them() {
    let cases: [(&str, &[&str], &[&str]); 12] = [
        (
            "lm_head",
            &["lm_head", "language_model.lm_head"],
            &["model.lm_head_norm"],
        ),
        // MiniMax-M2's router is not the gate projection.
        (
            "gate",
            &["model.layers.3.mlp.gate"],
            &["model.layers.3.mlp.gate_proj"],
        ),
        (
            "self_attn*",
            &["model.layers.3.self_attn.q_proj"],
            &["model.layers.3.mlp.up_proj"],
        ),
        (
            "model.layers.61*",
            &["model.layers.61.mlp.up_proj"],
            &["model.layers.6.mlp.up_proj"],
        ),
        (
            "model.layers.6",
            &["model.layers.6.mlp.up_proj"],
            &["model.layers.61.mlp.up_proj"],
        ),
        (
            "*.attn.*",
            &["layers.0.attn.wq_a"],
            &["layers.0.self_attn.wq_a", "layers.0.ffn.w1"],
        ),
        (
            "*self_attn*",
            &["model.layers.0.self_attn.q_proj"],
            &["model.layers.0.mlp.up_proj"],
        ),
        (
            "model.layers.*.self_attn",
            &["model.layers.35.self_attn.q_proj"],
            &[
                "model.layers.35.mlp.experts.0.w1",
                "model.layers.35.self_attn_norm",
            ],
        ),
        (
            "model.layers.[0-2].mlp*",
            &["model.layers.1.mlp.up_proj"],
            &["model.layers.3.mlp.up_proj"],
        ),
        (
            r"re:.*mlp\.(gate|up|gate_up|down)_proj.*",
            &["model.layers.0.mlp.up_proj"],
            &[
                "model.layers.1.mlp.experts.0.up_proj",
                "model.layers.1.mlp.shared_experts.up_proj",
            ],
        ),
        // re.match starts at the beginning.
        ("re:self_attn.*", &[], &["model.layers.0.self_attn.q_proj"]),
        (
            "model.layers.0.self_attn.o_proj.weight",
            &["model.layers.0.self_attn.o_proj"],
            &["model.layers.0.self_attn.q_proj"],
        ),
    ];
    for (entry, means, others) in cases {
        let list = matcher(&[entry]);
        for name in means {
            assert!(list.matches(name), "{entry} means {name}");
        }
        for name in others {
            assert!(!list.matches(name), "{entry} doesn't mean {name}");
        }
    }
}

#[test]
fn a_shorter_beginning_hides_no_other() {
    let list = matcher(&[
        "a.b*",
        "a.bc*",
        "a*",
        "b.x*",
        "model.layers.1*",
        "model.layers.10*",
    ]);
    for name in [
        "a.bc.d",
        "a.z",
        "b.xy",
        "model.layers.10.q",
        "model.layers.19.q",
    ] {
        assert!(list.matches(name), "{name}");
    }
    for name in ["b.c", "c.b", "model.layers.2.q"] {
        assert!(!list.matches(name), "{name}");
    }
}

/// Experts by number: all of a layer's, or too few to be its format.
#[test]
fn single_experts_are_counted() {
    let list = |named: u64| {
        let mut names = Names::default();
        for expert in 0..named {
            let entry = format!("model.layers.1.mlp.experts.{expert}.up_proj");
            names.add(&entry, "ignore").expect("an entry");
        }
        let mut notes = Vec::new();
        let list = names.finish("ignore", 8, &mut notes).expect("a list");
        (
            list.matches("model.layers.1.mlp.experts.0.up_proj"),
            notes.len(),
        )
    };
    assert_eq!(list(8), (true, 0));
    assert_eq!(list(5), (true, 1));
    assert_eq!(list(2), (false, 1));
}

/// The linears of a layer have the sizes the derivation counts, part by part, for every kind of
/// layer.
#[test]
fn linears_add_up_to_the_layer() {
    let indexer = Some(Indexer {
        heads: 64,
        dim: 128,
        top_k: 2048,
        shared: false,
        by_blocks: false,
    });
    let delta = |channel_decay, full_gate| {
        Attention::Recurrent(Recurrent::DeltaNet(DeltaNet {
            key_heads: 16,
            value_heads: 32,
            key_dim: 128,
            value_dim: 96,
            kernel: 4,
            channel_decay,
            full_gate,
            state_dtype: Dtype::Fp32,
        }))
    };
    let mamba2 = Recurrent::Mamba2(Mamba2 {
        heads: 128,
        head_dim: 64,
        state: 128,
        groups: 8,
        kernel: 4,
        bias: false,
        conv_bias: true,
        norm: true,
        state_dtype: Dtype::Fp32,
    });
    let mla = |q_rank, gate| {
        Attention::Mla(Mla {
            heads: 128,
            q_rank,
            kv_rank: 512,
            nope_dim: 128,
            rope_dim: 64,
            v_dim: 96,
            gate,
            indexer,
        })
    };
    let compressed = |ratio| {
        Attention::Compressed(Compressed {
            heads: 64,
            head_dim: 512,
            q_rank: 1024,
            out_groups: 8,
            out_rank: 1024,
            window: 128,
            ratio,
            indexer: indexer.filter(|_| ratio == 4),
        })
    };
    let mixers = [
        Attention::Gqa(gqa(64, 8, 128)),
        Attention::Gqa(Gqa {
            v_dim: Some(96),
            q_rank: Some(2048),
            gate: Gate::Full,
            indexer,
            ..gqa(64, 1, 256)
        }),
        Attention::Gqa(Gqa {
            keys_are_values: true,
            gate: Gate::Head,
            ..gqa(32, 4, 512)
        }),
        Attention::Gqa(Gqa {
            shares_kv: true,
            ..gqa(32, 4, 512)
        }),
        mla(Some(1536), Gate::None),
        mla(None, Gate::Full),
        compressed(0),
        compressed(4),
        compressed(128),
        delta(false, false),
        delta(true, false),
        delta(true, true),
        Attention::Recurrent(mamba2.clone()),
        Attention::Recurrent(Recurrent::Mamba1(Mamba1 {
            inner: 8192,
            state: 16,
            dt_rank: 256,
            kernel: 4,
            bias: false,
            conv_bias: true,
            inner_norms: true,
            state_dtype: Dtype::Fp32,
        })),
        Attention::Recurrent(Recurrent::Lightning {
            heads: 64,
            head_dim: 128,
            gated: true,
        }),
        Attention::Recurrent(Recurrent::ShortConv {
            width: 2048,
            kernel: 3,
            bias: false,
        }),
        Attention::Recurrent(Recurrent::RgLru {
            width: 4096,
            blocks: 16,
            kernel: 4,
        }),
        Attention::Recurrent(Recurrent::Other {
            name: "new".to_owned(),
            parameters: 12_345,
            state_values: 1,
        }),
        Attention::Parallel {
            attention: gqa(12, 2, 128),
            recurrent: mamba2,
        },
        Attention::Matrix,
        Attention::None,
    ];
    let moe = Moe {
        experts: 16,
        top_k: 2,
        intermediate: 1408,
        shared_intermediate: 2816,
        ..Moe::default()
    };
    let ffns = [
        Ffn::gated(14_336),
        Ffn::Dense {
            intermediate: 999,
            gated: false,
            bias: true,
        },
        Ffn::Moe(moe.clone()),
        Ffn::Moe(Moe {
            latent: Some(1024),
            ungated: true,
            ..moe
        }),
        Ffn::Matrix,
        Ffn::None,
    ];
    for mixer in mixers {
        for ffn in &ffns {
            let run = LayerRun::new(1, mixer.clone(), ffn.clone());
            let one = layer_parameters(&run, 4096);
            let linears = modules::of(&run, 4096);
            let size = |part: Part| -> u64 {
                linears
                    .iter()
                    .filter(|m| m.part == part)
                    .map(|m| m.size)
                    .sum()
            };
            assert_eq!(size(Part::Attention), one.attention, "{mixer:?}");
            assert_eq!(size(Part::DenseFfn), one.dense_ffn, "{ffn:?}");
            assert_eq!(
                size(Part::RoutedExperts),
                one.routed_expert * one.experts,
                "{ffn:?}"
            );
            assert_eq!(size(Part::SharedExperts), one.shared_experts, "{ffn:?}");
        }
    }
}
