//! FLOPs per token. A multiply-add counts as two.
//!
//! Linear layers cost two FLOPs per weight visited; norms, rotary embedding and activation
//! functions are elementwise and priced by their bytes elsewhere. Attention costs, per query token
//! and entry it attends to, one dot product for the score and one scaled sum for the value in
//! each head; an indexer one dot product per head and entry it scores; a recurrence a few passes
//! over its state per token.

use super::parts::{layer_parameters, visited};
use super::{product, sum};
use crate::model::{Attention, Ffn, Indexer, LayerRun, Model, Recurrent};

/// FLOPs of one layer's linears for one token, router and the visited experts included
/// (`2 ·` weights visited).
///
/// For MLA it holds for both forms: absorbing the KV up-projection into query and output moves its
/// multiplications but doesn't change their number for one token.
#[must_use]
pub fn layer_flops_per_token(run: &LayerRun, hidden: u64) -> u64 {
    let parts = layer_parameters(run, hidden);
    let router = product(&[hidden, parts.experts]);
    let visited = visited_experts(run, parts.routed_expert);
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
    over_layers(model, |run| layer_flops_per_token(run, model.hidden))
}

/// FLOPs of the feed-forward parts for one token, as cost tables count them: visited experts,
/// shared ones and dense layers, without routers.
#[must_use]
pub fn ffn_flops_per_token(model: &Model) -> u64 {
    over_layers(model, |run| {
        let parts = layer_parameters(run, model.hidden);
        let visited = visited_experts(run, parts.routed_expert);
        product(&[2, sum(&[visited, parts.shared_experts, parts.dense_ffn])])
    })
}

/// Weights of the routed experts a token visits, on average where some choices do nothing.
pub(in crate::model) fn visited_experts(run: &LayerRun, expert: u64) -> u64 {
    match &run.ffn {
        Ffn::Moe(moe) => visited(moe, expert),
        Ffn::Dense { .. } | Ffn::Matrix | Ffn::None => 0,
    }
}

/// FLOPs of the attention projections for one token, all layers.
#[must_use]
pub fn projection_flops_per_token(model: &Model) -> u64 {
    over_layers(model, |run| {
        product(&[2, layer_parameters(run, model.hidden).attention])
    })
}

fn over_layers(model: &Model, of: impl Fn(&LayerRun) -> u64) -> u64 {
    model.layers.iter().fold(0, |total: u64, run| {
        total.saturating_add(of(run).saturating_mul(u64::from(run.count)))
    })
}

/// FLOPs of the LM head for one position (`2 · hidden · vocab`), tied or not.
#[must_use]
pub fn head_flops_per_token(model: &Model) -> u64 {
    product(&[2, model.hidden, model.vocab])
}

/// FLOPs of one layer's attention for one query token per entry it attends to (a token, or a
/// compressed entry).
///
/// - GQA: `2 · heads · (d + v)`, however the keys and values are shared.
/// - MLA: `2 · heads · (nope + rope + v)` with keys and values decompressed, as prefill does;
///   `absorbed`, as decode does, heads work on the latent itself:
///   `2 · heads · (2 · kv_rank + rope)`.
/// - Compressed: `4 · heads · d`.
/// - Recurrent: none grows with the context.
#[must_use]
pub fn attention_flops_per_context_token(attention: &Attention, absorbed: bool) -> u64 {
    match attention {
        Attention::Gqa(gqa) | Attention::Parallel { attention: gqa, .. } => {
            product(&[2, gqa.heads, sum(&[gqa.head_dim, gqa.value_dim()])])
        }
        Attention::Mla(mla) if absorbed => {
            product(&[2, mla.heads, sum(&[mla.kv_rank, mla.kv_rank, mla.rope_dim])])
        }
        Attention::Mla(mla) => {
            product(&[2, mla.heads, sum(&[mla.nope_dim, mla.rope_dim, mla.v_dim])])
        }
        Attention::Compressed(own) => product(&[4, own.heads, own.head_dim]),
        Attention::Recurrent(_) | Attention::Matrix | Attention::None => 0,
    }
}

/// Entries a query token attends to at a length of context: windows capped, an indexer's choice,
/// compressed entries.
#[must_use]
pub fn attended(attention: &Attention, context: u64) -> u64 {
    let chosen = |indexer: Option<Indexer>, entries: u64| {
        indexer.map_or(entries, |own| entries.min(own.top_k))
    };
    match attention {
        Attention::Gqa(gqa) | Attention::Parallel { attention: gqa, .. } => chosen(
            gqa.indexer,
            gqa.span.cap().map_or(context, |cap| context.min(cap)),
        ),
        Attention::Mla(mla) => chosen(mla.indexer, context),
        Attention::Compressed(own) => {
            let entries = context.checked_div(own.ratio).unwrap_or(0);
            sum(&[context.min(own.window), chosen(own.indexer, entries)])
        }
        Attention::Recurrent(_) | Attention::Matrix | Attention::None => 0,
    }
}

/// FLOPs of one layer's attention for one query token at a length of context, an indexer's scores
/// and a recurrence's update included.
#[must_use]
pub fn attention_flops(attention: &Attention, absorbed: bool, context: u64) -> u64 {
    let core = product(&[
        attention_flops_per_context_token(attention, absorbed),
        attended(attention, context),
    ]);
    let scores = |indexer: Option<Indexer>, entries: u64| {
        indexer
            .filter(|own| !own.shared)
            .map_or(0, |own| product(&[2, own.heads, own.dim, entries]))
    };
    let rest = match attention {
        Attention::Gqa(gqa) => scores(gqa.indexer, context),
        Attention::Mla(mla) => scores(mla.indexer, context),
        Attention::Compressed(own) => {
            scores(own.indexer, context.checked_div(own.ratio).unwrap_or(0))
        }
        Attention::Parallel { recurrent, .. } | Attention::Recurrent(recurrent) => {
            recurrence_flops(recurrent)
        }
        Attention::Matrix | Attention::None => 0,
    };
    sum(&[core, rest])
}

/// FLOPs of a recurrence for one token: what is read from, decayed in and written to its state.
#[must_use]
pub fn recurrence_flops(recurrent: &Recurrent) -> u64 {
    match recurrent {
        // Decay, prediction, correction, write, read: five passes of a multiply-add.
        Recurrent::DeltaNet(delta) => {
            product(&[10, delta.value_heads, delta.key_dim, delta.value_dim])
        }
        // Decay, write, read.
        Recurrent::Lightning {
            heads, head_dim, ..
        } => product(&[6, *heads, *head_dim, *head_dim]),
        Recurrent::Mamba2(mamba) => product(&[6, mamba.heads, mamba.head_dim, mamba.state]),
        Recurrent::Mamba1(mamba) => product(&[6, mamba.inner, mamba.state]),
        Recurrent::ShortConv { width, kernel, .. } => product(&[2, *width, *kernel]),
        Recurrent::RgLru { width, kernel, .. } => product(&[2, *width, sum(&[*kernel, 3])]),
        Recurrent::Other { state_values, .. } => product(&[6, *state_values]),
    }
}
