//! Parameters, part by part.
//!
//! With `h` the hidden size, the matrices of a layer are:
//! - GQA: Q and O `h × heads·d` each, K and V `h × kv·d` each;
//! - MLA (DeepSeek-V2, arXiv 2405.04434 §2.1): Q `h × q_rank` and `q_rank × heads·(nope + rope)`
//!   (or `h × heads·(nope + rope)` without compression), KV down `h × (kv_rank + rope)`, KV up
//!   `kv_rank × heads·(nope + v)`, O `heads·v × h`;
//! - a gated MLP of width `i`: `3·h·i`; a router: `h × experts`.

use super::{product, sum};
use crate::catalog::Dtype;
use crate::model::{Attention, Ffn, LayerRun, Model, Precision};
use crate::units::Bytes;

/// Parameters of one layer, by part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LayerParameters {
    /// Attention matrices.
    pub attention: u64,
    /// Biases of the attention projections.
    pub attention_bias: u64,
    /// A dense layer's MLP.
    pub dense_ffn: u64,
    /// Router matrix and its per-expert correction bias.
    pub router: u64,
    /// One routed expert.
    pub routed_expert: u64,
    /// Routed experts.
    pub experts: u64,
    /// Routed experts one token visits.
    pub top_k: u64,
    /// All shared experts together.
    pub shared_experts: u64,
    /// RMS norms: before attention, before the FFN, on queries and keys, on MLA's latents.
    pub norms: u64,
}

/// Parameters of a layer (one, not the run's `count`).
#[must_use]
pub fn layer_parameters(run: &LayerRun, hidden: u64) -> LayerParameters {
    let mut parts = LayerParameters {
        norms: product(&[2, hidden]),
        ..LayerParameters::default()
    };
    match &run.attention {
        Attention::Gqa(gqa) => {
            let q = product(&[gqa.heads, gqa.head_dim]);
            let kv = product(&[gqa.kv_heads, gqa.head_dim]);
            parts.attention = product(&[2, hidden, sum(&[q, kv])]);
            if gqa.qkv_bias {
                parts.attention_bias = sum(&[q, kv, kv]);
            }
            if gqa.qk_norm {
                let width = if gqa.qk_norm_whole {
                    sum(&[q, kv])
                } else {
                    product(&[2, gqa.head_dim])
                };
                parts.norms = sum(&[parts.norms, width]);
            }
        }
        Attention::Mla(mla) => {
            let queries = product(&[mla.heads, sum(&[mla.nope_dim, mla.rope_dim])]);
            let query = match mla.q_rank {
                Some(rank) => product(&[rank, sum(&[hidden, queries])]),
                None => product(&[hidden, queries]),
            };
            let down = product(&[hidden, sum(&[mla.kv_rank, mla.rope_dim])]);
            let up = product(&[mla.kv_rank, mla.heads, sum(&[mla.nope_dim, mla.v_dim])]);
            let out = product(&[mla.heads, mla.v_dim, hidden]);
            parts.attention = sum(&[query, down, up, out]);
            parts.norms = sum(&[parts.norms, mla.q_rank.unwrap_or(0), mla.kv_rank]);
        }
    }
    match &run.ffn {
        Ffn::Dense { intermediate } => parts.dense_ffn = product(&[3, hidden, *intermediate]),
        Ffn::Moe(moe) => {
            let bias = if moe.router_bias { moe.experts } else { 0 };
            parts.router = sum(&[product(&[hidden, moe.experts]), bias]);
            parts.routed_expert = product(&[3, hidden, moe.intermediate]);
            parts.experts = moe.experts;
            parts.top_k = moe.top_k;
            parts.shared_experts = product(&[3, hidden, moe.shared_intermediate]);
        }
    }
    parts
}

/// Parameters of a whole model, by part. Exact: norms and biases are counted, layers that predict
/// further tokens (MTP) are not part of the served model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parameters {
    /// Embedding table.
    pub embedding: u64,
    /// LM head; 0 where it is the embedding table.
    pub lm_head: u64,
    /// Attention matrices.
    pub attention: u64,
    /// Biases of the attention projections.
    pub attention_bias: u64,
    /// MLPs of dense layers.
    pub dense_ffn: u64,
    /// Routers and their correction biases.
    pub router: u64,
    /// Routed experts, all of them.
    pub routed_experts: u64,
    /// Routed experts one token visits; part of `routed_experts`.
    pub routed_experts_active: u64,
    /// Shared experts.
    pub shared_experts: u64,
    /// Norms, the last one included.
    pub norms: u64,
}

impl Parameters {
    /// All parameters.
    #[must_use]
    pub fn total(&self) -> u64 {
        sum(&[
            self.embedding,
            self.lm_head,
            self.attention,
            self.attention_bias,
            self.dense_ffn,
            self.router,
            self.routed_experts,
            self.shared_experts,
            self.norms,
        ])
    }

    /// “Activated” parameters as model cards print them: of the routed experts only the visited
    /// ones; embedding and head in full. Routers are left out, as the cards leave them out
    /// (Qwen3-30B-A3B is “3.3B activated”: 3.340 without, 3.353 with them); what a token
    /// multiplies is [`linear_flops_per_token`](super::linear_flops_per_token), routers included.
    #[must_use]
    pub fn active(&self) -> u64 {
        self.total()
            .saturating_sub(self.routed_experts)
            .saturating_sub(self.router)
            .saturating_add(self.routed_experts_active)
    }
}

/// Counts a model's parameters.
#[must_use]
pub fn parameters(model: &Model) -> Parameters {
    let table = product(&[model.vocab, model.hidden]);
    let mut all = Parameters {
        embedding: table,
        lm_head: if model.tied_embeddings { 0 } else { table },
        norms: model.hidden,
        ..Parameters::default()
    };
    for run in &model.layers {
        let one = layer_parameters(run, model.hidden);
        let count = u64::from(run.count);
        let add = |total: &mut u64, part: &[u64]| {
            *total = total.saturating_add(product(part).saturating_mul(count));
        };
        add(&mut all.attention, &[one.attention]);
        add(&mut all.attention_bias, &[one.attention_bias]);
        add(&mut all.dense_ffn, &[one.dense_ffn]);
        add(&mut all.router, &[one.router]);
        add(&mut all.routed_experts, &[one.routed_expert, one.experts]);
        add(
            &mut all.routed_experts_active,
            &[one.routed_expert, one.top_k],
        );
        add(&mut all.shared_experts, &[one.shared_experts]);
        add(&mut all.norms, &[one.norms]);
    }
    all
}

/// Bytes of a number of weights kept in a format, block scales included, rounded up.
#[expect(
    clippy::cast_precision_loss,
    reason = "a checked model has at most 10^15 parameters"
)]
pub(super) fn stored(count: u64, dtype: Dtype) -> Bytes {
    Bytes::from_f64_ceil(count as f64 * dtype.weight_bytes())
}

/// Bytes of all weights, once. Matrices in `precision.weights`; embedding, LM head, routers,
/// norms and biases in BF16, as quantised checkpoints keep them.
#[must_use]
pub fn weight_bytes(model: &Model, precision: Precision) -> Bytes {
    let all = parameters(model);
    let linears = sum(&[
        all.attention,
        all.dense_ffn,
        all.routed_experts,
        all.shared_experts,
    ]);
    let kept = all.total().saturating_sub(linears);
    stored(linears, precision.weights) + stored(kept, Dtype::Bf16)
}
