//! FLOPs per token. A multiply-add counts as two.
//!
//! Linear layers cost two FLOPs per weight visited; norms, rotary embedding and activation
//! functions are elementwise and priced by their bytes elsewhere. Attention costs, per query token
//! and token of context it sees, one dot product for the score and one scaled sum for the value in
//! each head.

use super::parts::layer_parameters;
use super::{product, sum};
use crate::model::{Attention, LayerRun, Model};

/// FLOPs of one layer's linears for one token, router and the visited experts included
/// (`2 ·` weights visited).
///
/// For MLA it holds for both forms: absorbing the KV up-projection into query and output moves its
/// multiplications but doesn't change their number for one token.
#[must_use]
pub fn layer_flops_per_token(run: &LayerRun, hidden: u64) -> u64 {
    let parts = layer_parameters(run, hidden);
    let router = product(&[hidden, parts.experts]);
    let visited = product(&[parts.routed_expert, parts.top_k]);
    let weights = [
        parts.attention,
        parts.dense_ffn,
        router,
        visited,
        parts.shared_experts,
    ];
    product(&[2, sum(&weights)])
}

/// FLOPs of all layers' linears for one token; the LM head is
/// [`head_flops_per_token`], as only sampled positions pay for it.
#[must_use]
pub fn linear_flops_per_token(model: &Model) -> u64 {
    model.layers.iter().fold(0, |total: u64, run| {
        let layer = layer_flops_per_token(run, model.hidden);
        total.saturating_add(layer.saturating_mul(u64::from(run.count)))
    })
}

/// FLOPs of the LM head for one position (`2 · hidden · vocab`), tied or not.
#[must_use]
pub fn head_flops_per_token(model: &Model) -> u64 {
    product(&[2, model.hidden, model.vocab])
}

/// FLOPs of one layer's attention for one query token per token of its context.
///
/// - GQA: `4 · heads · head_dim`, however the keys and values are shared.
/// - MLA: `2 · heads · (nope + rope + v)` with keys and values decompressed, as prefill does;
///   `absorbed`, as decode does, heads work on the latent itself:
///   `2 · heads · (2 · kv_rank + rope)`.
#[must_use]
pub fn attention_flops_per_context_token(attention: &Attention, absorbed: bool) -> u64 {
    match attention {
        Attention::Gqa(gqa) => product(&[4, gqa.heads, gqa.head_dim]),
        Attention::Mla(mla) if absorbed => {
            product(&[2, mla.heads, sum(&[mla.kv_rank, mla.kv_rank, mla.rope_dim])])
        }
        Attention::Mla(mla) => {
            product(&[2, mla.heads, sum(&[mla.nope_dim, mla.rope_dim, mla.v_dim])])
        }
    }
}
