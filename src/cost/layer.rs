//! A layer as the list of kernels an engine launches for it, for one rank of a layout.
//!
//! The split follows how prices depend on a batch: some kernels depend only on how many tokens a
//! lane has, the experts on the tokens of all lanes together, attention on contexts.

use super::operator::{Class, Operator};
use crate::catalog::Dtype;
use crate::model::{Attention, Ffn, Model, Precision, kv_bytes_per_token_layer};
use crate::plan::Layout;

/// Kernels and their classes.
pub(super) type Kernels = Vec<(Class, Operator)>;

/// Counts of a model fit an f64 exactly.
#[expect(
    clippy::cast_precision_loss,
    reason = "model sizes stay far below 2^53"
)]
pub(super) const fn real(count: u64) -> f64 {
    count as f64
}

/// What depends on a lane's token count: projections, norms, rotary, cache write, and a dense MLP.
pub(super) fn by_tokens(
    model: &Model,
    run: usize,
    layout: Layout,
    precision: Precision,
    tokens: f64,
) -> Kernels {
    let layer = &model.layers[run];
    let (h, tp) = (real(model.hidden), f64::from(layout.tp));
    let linear = |k: f64, n: f64| Operator::Linear {
        tokens,
        k,
        n,
        gemm: precision.gemm(),
        weights: precision.weights,
    };
    let stream = |values: f64| Operator::Elementwise {
        bytes: tokens * values * 2.0,
    };
    // Norm and residual add before attention and before the FFN: read two, write two.
    let mut kernels: Kernels = vec![
        (Class::Elementwise, stream(4.0 * h)),
        (Class::Elementwise, stream(4.0 * h)),
    ];
    match &layer.attention {
        Attention::Gqa(gqa) => {
            let heads = real(gqa.heads) / tp;
            // Heads are copied where TP exceeds them.
            let kv = real(gqa.kv_heads.div_ceil(u64::from(layout.tp)));
            let d = real(gqa.head_dim);
            kernels.push((Class::Linear, linear(h, (heads + 2.0 * kv) * d)));
            // Q/K norms and rotary fused, then the cache write.
            kernels.push((Class::Elementwise, stream(2.0 * (heads + kv) * d)));
            kernels.push((Class::Elementwise, stream(4.0 * kv * d)));
            kernels.push((Class::Linear, linear(heads * d, h)));
        }
        Attention::Mla(mla) => {
            let heads = real(mla.heads) / tp;
            let (qk, v) = (real(mla.nope_dim + mla.rope_dim), real(mla.v_dim));
            let latent = real(mla.kv_rank + mla.rope_dim);
            match mla.q_rank {
                // Query and KV down-projections are one GEMM.
                Some(rank) => {
                    kernels.push((Class::Linear, linear(h, real(rank) + latent)));
                    kernels.push((Class::Linear, linear(real(rank), heads * qk)));
                    kernels.push((Class::Elementwise, stream(2.0 * (real(rank) + latent))));
                }
                None => {
                    kernels.push((Class::Linear, linear(h, heads * qk + latent)));
                    kernels.push((Class::Elementwise, stream(2.0 * latent)));
                }
            }
            kernels.push((Class::Elementwise, stream(4.0 * latent)));
            kernels.push((Class::Linear, linear(heads * v, h)));
        }
        // Refused by `plan` until they are priced.
        Attention::Compressed(_)
        | Attention::Recurrent(_)
        | Attention::Parallel { .. }
        | Attention::Matrix
        | Attention::None => {}
    }
    if let Ffn::Dense { intermediate, .. } = layer.ffn {
        let i = real(intermediate) / tp;
        kernels.push((Class::Linear, linear(h, 2.0 * i)));
        kernels.push((Class::Elementwise, stream(3.0 * i)));
        kernels.push((Class::Linear, linear(i, h)));
    }
    kernels
}

/// The experts of a MoE layer on one rank, for `lane` tokens of this lane and `all` tokens of all
/// lanes. Expert load is balanced: every rank gets its share, and the number of distinct experts
/// visited is what independent uniform choices give, `E · (1 − (1 − k/E)^tokens)`.
pub(super) fn experts(
    model: &Model,
    run: usize,
    layout: Layout,
    precision: Precision,
    lane: f64,
    all: f64,
) -> Kernels {
    let Ffn::Moe(moe) = &model.layers[run].ffn else {
        return Vec::new();
    };
    let h = real(model.hidden);
    let (e, k) = (real(moe.experts), real(moe.top_k));
    let (ep, moe_tp) = (f64::from(layout.ep), f64::from(layout.moe_tp()));
    let local = e / ep;
    let visited = local * (1.0 - libm::pow(1.0 - k / e, all));
    let mut kernels = vec![
        (
            Class::Experts,
            Operator::Linear {
                tokens: lane,
                k: h,
                n: e,
                gemm: Dtype::Bf16,
                weights: Dtype::Bf16,
            },
        ),
        // Softmax and top-k.
        (
            Class::Experts,
            Operator::Elementwise {
                bytes: lane * e * 4.0,
            },
        ),
        (
            Class::Experts,
            Operator::Experts {
                copies: all * k / ep,
                visited,
                hidden: h,
                intermediate: real(moe.intermediate) / moe_tp,
                gemm: precision.gemm(),
                weights: precision.weights,
            },
        ),
        // Weighted sum of the visited experts' outputs.
        (
            Class::Experts,
            Operator::Elementwise {
                bytes: all * (k / ep + 1.0) * h * 2.0,
            },
        ),
    ];
    if moe.shared_intermediate > 0 {
        let i = real(moe.shared_intermediate) / f64::from(layout.tp);
        for (kk, n) in [(h, 2.0 * i), (i, h)] {
            kernels.push((
                Class::Experts,
                Operator::Linear {
                    tokens: lane,
                    k: kk,
                    n,
                    gemm: precision.gemm(),
                    weights: precision.weights,
                },
            ));
        }
    }
    kernels
}

/// Attention of one layer on one rank, as far as it is the same for every batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttentionShape {
    pub(super) heads: f64,
    pub(super) qk_dim: f64,
    pub(super) v_dim: f64,
    /// Cache bytes per context token on the rank.
    pub(super) kv_bytes: f64,
    /// Decode FLOPs per context token on the rank.
    pub(super) decode_flops: f64,
    /// MLA: the latent's rank and the nope width, for absorption and up-projection.
    pub(super) latent: Option<(f64, f64)>,
}

impl AttentionShape {
    pub(super) fn of(model: &Model, run: usize, layout: Layout, kv: Dtype) -> Self {
        let tp = f64::from(layout.tp);
        let whole = kv_bytes_per_token_layer(&model.layers[run].attention, kv).as_f64();
        match &model.layers[run].attention {
            Attention::Gqa(gqa) => {
                let heads = real(gqa.heads) / tp;
                let local = real(gqa.kv_heads.div_ceil(u64::from(layout.tp)));
                Self {
                    heads,
                    qk_dim: real(gqa.head_dim),
                    v_dim: real(gqa.head_dim),
                    kv_bytes: whole * local / real(gqa.kv_heads),
                    decode_flops: 4.0 * heads * real(gqa.head_dim),
                    latent: None,
                }
            }
            Attention::Mla(mla) => {
                let heads = real(mla.heads) / tp;
                Self {
                    heads,
                    qk_dim: real(mla.nope_dim + mla.rope_dim),
                    v_dim: real(mla.v_dim),
                    kv_bytes: whole,
                    // Absorbed: scores over latent and rotary part, values over the latent.
                    decode_flops: 2.0 * heads * real(2 * mla.kv_rank + mla.rope_dim),
                    latent: Some((real(mla.kv_rank), real(mla.nope_dim))),
                }
            }
            Attention::Compressed(_)
            | Attention::Recurrent(_)
            | Attention::Parallel { .. }
            | Attention::Matrix
            | Attention::None => Self {
                heads: 0.0,
                qk_dim: 0.0,
                v_dim: 0.0,
                kv_bytes: 0.0,
                decode_flops: 0.0,
                latent: None,
            },
        }
    }

    /// Kernels of decode for `sequences` tokens over `context` tokens in all.
    pub(super) fn decode(&self, sequences: f64, context: f64) -> Kernels {
        let mut kernels = vec![(
            Class::Attention,
            Operator::Decode {
                sequences,
                context,
                flops: self.decode_flops,
                kv_bytes: self.kv_bytes,
            },
        )];
        if let Some((rank, nope)) = self.latent {
            // Queries into the latent space, values out of it.
            for (k, n) in [(nope, rank), (rank, self.v_dim)] {
                kernels.push((
                    Class::Linear,
                    Operator::HeadProduct {
                        tokens: sequences,
                        heads: self.heads,
                        k,
                        n,
                    },
                ));
            }
        }
        kernels
    }

    /// Kernels of prefill for one chunk after `context` cached tokens. Called for every chunk of
    /// every step, so nothing is allocated.
    pub(super) fn prefill(
        &self,
        tokens: f64,
        context: f64,
        precision: Precision,
    ) -> impl Iterator<Item = (Class, Operator)> {
        let core = (
            Class::Attention,
            Operator::Prefill {
                tokens,
                context,
                heads: self.heads,
                qk_dim: self.qk_dim,
                v_dim: self.v_dim,
                kv_bytes: self.kv_bytes,
            },
        );
        // MLA: keys and values are unfolded from the latents of chunk and context.
        let unfold = self.latent.map(|(rank, nope)| {
            (
                Class::Linear,
                Operator::Linear {
                    tokens: tokens + context,
                    k: rank,
                    n: self.heads * (nope + self.v_dim),
                    gemm: precision.gemm(),
                    weights: precision.weights,
                },
            )
        });
        std::iter::once(core).chain(unfold)
    }
}

/// Embedding look-up of `tokens` (first stage).
pub(super) fn embedding(model: &Model, tokens: f64) -> Kernels {
    vec![(
        Class::Head,
        Operator::Elementwise {
            bytes: tokens * real(model.hidden) * 4.0,
        },
    )]
}

/// Final norm, LM head and sampling of `sequences` tokens (last stage).
pub(super) fn head(model: &Model, layout: Layout, sequences: f64) -> Kernels {
    let (h, vocab) = (real(model.hidden), real(model.vocab));
    vec![
        (
            Class::Head,
            Operator::Elementwise {
                bytes: sequences * h * 4.0,
            },
        ),
        (
            Class::Head,
            Operator::Linear {
                tokens: sequences,
                k: h,
                n: vocab / f64::from(layout.tp),
                gemm: Dtype::Bf16,
                weights: Dtype::Bf16,
            },
        ),
        // Logits to FP32, softmax and a draw: about four passes over FP32 logits.
        (
            Class::Head,
            Operator::Elementwise {
                bytes: sequences * vocab * 16.0,
            },
        ),
    ]
}
