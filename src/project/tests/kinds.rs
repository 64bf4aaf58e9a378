//! A project with what version 2 of the format added: every kind of layer, a quantised checkpoint,
//! every engine.

use crate::catalog::{Dtype, ModelId};
use crate::model::{
    Attention, Compressed, DeltaNet, Extra, Ffn, Gate, Gqa, Indexer, Kept, LayerRun, Mamba1,
    Mamba2, Mla, Model, Moe, NormKind, Quantization, Recurrent, Scale, Span,
};
use crate::plan::{EngineKind, ModelRef};
use crate::project::Project;

const INDEXER: Indexer = Indexer {
    heads: 64,
    dim: 128,
    top_k: 2048,
    shared: false,
    by_blocks: false,
};

fn gqa() -> Gqa {
    Gqa {
        heads: 64,
        kv_heads: 8,
        head_dim: 192,
        v_dim: Some(128),
        q_rank: Some(2048),
        span: Span::Window(128),
        qk_norm: true,
        qk_norm_whole: true,
        qkv_bias: true,
        out_bias: true,
        sinks: true,
        gate: Gate::Full,
        shares_kv: true,
        keys_are_values: true,
        indexer: Some(Indexer {
            shared: true,
            ..INDEXER
        }),
    }
}

fn recurrents() -> Vec<Recurrent> {
    vec![
        Recurrent::DeltaNet(DeltaNet {
            key_heads: 16,
            value_heads: 32,
            key_dim: 128,
            value_dim: 128,
            kernel: 4,
            channel_decay: true,
            full_gate: true,
            state_dtype: Dtype::Fp32,
        }),
        Recurrent::Lightning {
            heads: 64,
            head_dim: 128,
            gated: true,
        },
        Recurrent::Mamba2(Mamba2 {
            heads: 128,
            head_dim: 64,
            state: 128,
            groups: 8,
            kernel: 4,
            bias: true,
            conv_bias: false,
            norm: false,
            state_dtype: Dtype::Bf16,
        }),
        Recurrent::Mamba1(Mamba1 {
            inner: 8192,
            state: 16,
            dt_rank: 256,
            kernel: 4,
            bias: false,
            conv_bias: true,
            inner_norms: true,
            state_dtype: Dtype::Fp32,
        }),
        Recurrent::ShortConv {
            width: 4096,
            kernel: 3,
            bias: true,
        },
        Recurrent::RgLru {
            width: 2560,
            blocks: 10,
            kernel: 4,
        },
        Recurrent::Other {
            name: "something new".to_owned(),
            parameters: 1_000_000,
            state_values: 4096,
        },
    ]
}

fn layers() -> Vec<LayerRun> {
    let moe = Ffn::Moe(Moe {
        experts: 512,
        top_k: 10,
        intermediate: 512,
        shared_intermediate: 512,
        router_bias: true,
        groups: 8,
        groups_per_token: 4,
        ungated: true,
        bias: true,
        shared_gate: true,
        latent: Some(1024),
        zero_experts: 256,
    });
    let plain = Ffn::Dense {
        intermediate: 8192,
        gated: false,
        bias: true,
    };
    let mla = Attention::Mla(Mla {
        heads: 64,
        q_rank: None,
        kv_rank: 512,
        nope_dim: 128,
        rope_dim: 64,
        v_dim: 128,
        gate: Gate::Head,
        indexer: Some(INDEXER),
    });
    let compressed = Attention::Compressed(Compressed {
        heads: 64,
        head_dim: 512,
        q_rank: 1024,
        out_groups: 8,
        out_rank: 1024,
        window: 128,
        ratio: 4,
        indexer: Some(INDEXER),
    });
    let chunked = Gqa {
        span: Span::Chunk(8192),
        ..gqa()
    };
    let mut layers = vec![
        LayerRun {
            norms: 4,
            reused: true,
            kept: Kept {
                attention: Some(Dtype::Bf16),
                dense_ffn: Some(Dtype::Fp8),
                routed_experts: Some(Dtype::Mxfp4),
                shared_experts: Some(Dtype::Int4),
            },
            ..LayerRun::new(2, Attention::Gqa(gqa()), moe)
        },
        LayerRun::new(1, mla, plain),
        LayerRun::new(1, compressed, Ffn::Matrix),
        LayerRun::new(1, Attention::Matrix, Ffn::None),
        LayerRun::new(1, Attention::None, Ffn::gated(8192)),
    ];
    for recurrent in recurrents() {
        layers.push(LayerRun::new(
            1,
            Attention::Recurrent(recurrent.clone()),
            Ffn::None,
        ));
        layers.push(LayerRun::new(
            1,
            Attention::Parallel {
                attention: chunked.clone(),
                recurrent,
            },
            Ffn::gated(8192),
        ));
    }
    layers
}

fn model() -> Model {
    let layers = layers();
    Model {
        norm: NormKind::LayerNorm,
        extras: vec![
            Extra {
                name: "positions".to_owned(),
                parameters: 1024 * 4096,
                served: true,
            },
            Extra {
                name: "vision tower".to_owned(),
                parameters: 400_000_000,
                served: false,
            },
        ],
        mtp: Some(Box::new(layers[1].clone())),
        quantization: Some(Quantization {
            weights: Dtype::Fp8,
            activations: Dtype::Fp8,
            scale: Some(Scale {
                bits: 32,
                per: 16_384,
            }),
            block: Some(128),
            head: Some(Dtype::Fp8),
        }),
        source: "made up".to_owned(),
        assumptions: vec!["“head_dim” is missing: 128".to_owned()],
        ..Model::of_layers(ModelId::from_label("every-kind"), 4096, 128_000, layers)
    }
}

/// Everything version 2 can hold and version 1 could not.
pub(super) fn every_kind() -> Project {
    let mut project = super::everything_of_version_1();
    let design = &mut project.designs[0];
    design.model = ModelRef::Inline(Box::new(model()));
    let engines = [
        EngineKind::Vllm,
        EngineKind::Sglang,
        EngineKind::TensorRtLlm,
    ];
    for (pool, kind) in design.pools.iter_mut().zip(engines) {
        pool.engine.kind = kind;
        pool.layout.cp = 2;
        pool.layout.redundant_experts = 32;
    }
    project
}
