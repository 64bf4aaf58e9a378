//! Models of every kind for tests, shaped like published ones (their `config.json`), some with
//! fewer layers.

use super::{
    Attention, Compressed, DeltaNet, Ffn, Gate, Gqa, Indexer, LayerRun, Mamba1, Mamba2, Mla, Model,
    Moe, Recurrent, Span,
};
use crate::catalog::{Dtype, ModelId};

/// A model of these layers.
pub(crate) fn model(id: &str, hidden: u64, vocab: u64, layers: Vec<LayerRun>) -> Model {
    let id = ModelId::new(id).expect("an id");
    let mut model = Model::of_layers(id, hidden, vocab, layers);
    model.max_context = 1 << 20;
    model
}

/// `times` repeats of a pattern of layers.
pub(crate) fn repeat(times: usize, pattern: &[LayerRun]) -> Vec<LayerRun> {
    std::iter::repeat_n(pattern, times)
        .flatten()
        .cloned()
        .collect()
}

pub(crate) fn gqa(heads: u64, kv_heads: u64, head_dim: u64, span: Span) -> Gqa {
    Gqa {
        heads,
        kv_heads,
        head_dim,
        span,
        ..Gqa::default()
    }
}

fn moe(experts: u64, top_k: u64, intermediate: u64, shared: u64) -> Moe {
    Moe {
        experts,
        top_k,
        intermediate,
        shared_intermediate: shared,
        ..Moe::default()
    }
}

fn layers(count: u32, attention: Attention, ffn: Ffn) -> LayerRun {
    LayerRun::new(count, attention, ffn)
}

/// gpt-oss-120b: every other layer sees 128 tokens.
pub(crate) fn gpt_oss() -> Model {
    let layer = |span| {
        let mut own = gqa(64, 8, 64, span);
        own.sinks = true;
        layers(1, Attention::Gqa(own), Ffn::Moe(moe(128, 4, 2880, 0)))
    };
    let pattern = [layer(Span::Window(128)), layer(Span::Full)];
    model("gpt-oss-like", 2880, 201_088, repeat(18, &pattern))
}

/// Qwen3-Next-80B-A3B: three gated DeltaNets, then gated attention.
pub(crate) fn qwen3_next() -> Model {
    let ffn = || {
        Ffn::Moe(Moe {
            shared_gate: true,
            ..moe(512, 10, 512, 512)
        })
    };
    let delta = Recurrent::DeltaNet(delta_net(16, 32, false));
    let mut full = gqa(16, 2, 256, Span::Full);
    full.gate = Gate::Full;
    let pattern = [
        layers(3, Attention::Recurrent(delta), ffn()),
        layers(1, Attention::Gqa(full), ffn()),
    ];
    model("qwen3-next-like", 2048, 151_936, repeat(12, &pattern))
}

pub(crate) fn delta_net(key_heads: u64, value_heads: u64, channel_decay: bool) -> DeltaNet {
    DeltaNet {
        key_heads,
        value_heads,
        key_dim: 128,
        value_dim: 128,
        kernel: 4,
        channel_decay,
        full_gate: false,
        state_dtype: Dtype::Fp32,
    }
}

/// Llama 4 Scout: three layers of chunks, then one that sees everything.
pub(crate) fn llama4() -> Model {
    let layer = |count, span| {
        let own = gqa(40, 8, 128, span);
        layers(count, Attention::Gqa(own), Ffn::Moe(moe(16, 1, 8192, 8192)))
    };
    let pattern = [layer(3, Span::Chunk(8192)), layer(1, Span::Full)];
    model("llama4-like", 5120, 202_048, repeat(12, &pattern))
}

/// DeepSeek-V3.2 with `moe_layers` of its 58 MoE layers; without an indexer it is V3.
pub(crate) fn deepseek(moe_layers: u32, indexer: Option<Indexer>) -> Model {
    let mla = || {
        Attention::Mla(Mla {
            heads: 128,
            q_rank: Some(1536),
            kv_rank: 512,
            nope_dim: 128,
            rope_dim: 64,
            v_dim: 128,
            indexer,
            ..Mla::default()
        })
    };
    let runs = vec![
        layers(3, mla(), Ffn::gated(18_432)),
        layers(moe_layers, mla(), Ffn::Moe(moe(256, 8, 2048, 2048))),
    ];
    model("deepseek-like", 7168, 129_280, runs)
}

/// V3.2's.
pub(crate) const INDEXER: Indexer = Indexer {
    heads: 64,
    dim: 128,
    top_k: 2048,
    shared: false,
    by_blocks: false,
};

/// DeepSeek-V4-Flash with fewer layers: window, CSA, HCA.
pub(crate) fn deepseek_v4() -> Model {
    let layer = |ratio, indexer| {
        let own = Compressed {
            heads: 64,
            head_dim: 512,
            q_rank: 1024,
            out_groups: 8,
            out_rank: 1024,
            window: 128,
            ratio,
            indexer,
        };
        layers(
            1,
            Attention::Compressed(own),
            Ffn::Moe(moe(256, 6, 2048, 2048)),
        )
    };
    let sparse = Indexer {
        top_k: 512,
        ..INDEXER
    };
    let mut runs = vec![layer(0, None)];
    runs.extend(repeat(4, &[layer(4, Some(sparse)), layer(128, None)]));
    model("deepseek-v4-like", 4096, 129_280, runs)
}

/// Step-3's attention: one key-value head, queries through a rank.
pub(crate) fn mfa() -> Model {
    let own = Gqa {
        q_rank: Some(2048),
        ..gqa(64, 1, 256, Span::Full)
    };
    let runs = vec![layers(10, Attention::Gqa(own), Ffn::gated(18_432))];
    model("step3-like", 7168, 128_815, runs)
}

fn mamba2(heads: u64) -> Recurrent {
    Recurrent::Mamba2(Mamba2 {
        heads,
        head_dim: 64,
        state: 128,
        groups: 8,
        kernel: 4,
        bias: false,
        conv_bias: true,
        norm: true,
        state_dtype: Dtype::Fp32,
    })
}

/// Nemotron-3-like: Mamba-2 and attention layers without a feed-forward part, latent experts
/// without a gate as layers of their own.
pub(crate) fn nemotron3() -> Model {
    let alone = |run: LayerRun| LayerRun { norms: 1, ..run };
    let experts = Moe {
        ungated: true,
        latent: Some(1024),
        ..moe(512, 22, 2688, 5376)
    };
    let pattern = [
        alone(layers(1, Attention::Recurrent(mamba2(128)), Ffn::None)),
        alone(layers(1, Attention::None, Ffn::Moe(experts))),
        alone(layers(
            1,
            Attention::Gqa(gqa(32, 2, 128, Span::Full)),
            Ffn::None,
        )),
    ];
    model("nemotron3-like", 4096, 131_072, repeat(6, &pattern))
}

/// One dense layer of every other mixer: side by side, KDA, lightning, Mamba, short convolution,
/// RG-LRU, a matrix, shared caches, keys as values, head gates, ungated MLPs.
pub(crate) fn menagerie() -> Model {
    let dense = |attention| layers(2, attention, Ffn::gated(8192));
    let h = 2048;
    let own = || gqa(16, 4, 128, Span::Full);
    let recurrent = |own| dense(Attention::Recurrent(own));
    let runs = vec![
        dense(Attention::Parallel {
            attention: own(),
            recurrent: mamba2(32),
        }),
        recurrent(Recurrent::DeltaNet(delta_net(16, 16, true))),
        recurrent(Recurrent::Lightning {
            heads: 16,
            head_dim: 128,
            gated: true,
        }),
        recurrent(Recurrent::Mamba1(Mamba1 {
            inner: 4096,
            state: 16,
            dt_rank: 128,
            kernel: 4,
            bias: false,
            conv_bias: true,
            inner_norms: false,
            state_dtype: Dtype::Fp32,
        })),
        recurrent(Recurrent::ShortConv {
            width: h,
            kernel: 3,
            bias: false,
        }),
        recurrent(Recurrent::RgLru {
            width: h,
            blocks: 16,
            kernel: 4,
        }),
        recurrent(Recurrent::Other {
            name: "something new".to_owned(),
            parameters: 4 * h * h,
            state_values: 1 << 18,
        }),
        layers(1, Attention::Matrix, Ffn::Matrix),
        dense(Attention::Gqa(Gqa {
            keys_are_values: true,
            gate: Gate::Head,
            ..own()
        })),
        dense(Attention::Gqa(Gqa {
            shares_kv: true,
            ..own()
        })),
        dense(Attention::Gqa(Gqa {
            v_dim: Some(192),
            ..own()
        })),
        layers(
            2,
            Attention::Gqa(own()),
            Ffn::Dense {
                intermediate: 8192,
                gated: false,
                bias: true,
            },
        ),
    ];
    model("menagerie", h, 32_000, runs)
}

/// All of them.
pub(crate) fn all() -> Vec<Model> {
    vec![
        gpt_oss(),
        qwen3_next(),
        llama4(),
        deepseek(10, None),
        deepseek(10, Some(INDEXER)),
        deepseek_v4(),
        mfa(),
        nemotron3(),
        menagerie(),
    ]
}

/// A few small layers with this attention, to fill memory quickly.
pub(crate) fn tiny(attentions: &[Attention]) -> Model {
    let runs = attentions
        .iter()
        .map(|attention| layers(2, attention.clone(), Ffn::gated(1024)))
        .collect();
    model("tiny", 512, 4096, runs)
}
