//! A layer as the list of kernels an engine launches for it, for one rank of a layout.
//!
//! The split follows how prices depend on a batch: some kernels depend only on how many tokens a
//! lane has, the experts on the tokens of all lanes together, attention on contexts, a recurrence
//! on tokens and sequences.

mod attention;
mod ffn;
mod projections;
mod recurrent;

pub(super) use attention::{AttentionShape, PrefillShape};
pub(super) use ffn::{Sent, brought, experts, router, sent, shared_experts};

use super::operator::{Class, Operator, RowKind};
use crate::catalog::Dtype;
use crate::model::{
    Attention, Ffn, LayerRun, Model, Precision, Recurrent, WeightFormat, layer_on_rank,
};
use crate::plan::{Layout, shard};
use crate::units::real;

/// Kernels and their classes.
pub(super) type Kernels = Vec<(Class, Operator)>;

/// The number formats of one part of a layer: what its weights are kept in and multiplied in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gemm {
    gemm: Dtype,
    weights: WeightFormat,
}

impl Gemm {
    /// BF16 throughout: routers and gates, which no checkpoint quantises.
    const WIDE: Self = Self {
        gemm: Dtype::Bf16,
        weights: WeightFormat::plain(Dtype::Bf16),
    };

    /// Of a part whose weights the checkpoint keeps in `kept`.
    fn of(model: &Model, precision: Precision, kept: Option<Dtype>) -> Self {
        let own = precision.for_part(kept);
        Self {
            gemm: own.gemm(),
            weights: WeightFormat::of(own.weights, model.quantization.as_ref()),
        }
    }

    /// `tokens × k` by `k × n`.
    const fn linear(self, tokens: f64, k: f64, n: f64) -> Operator {
        Operator::Linear {
            tokens,
            k,
            n,
            gemm: self.gemm,
            weights: self.weights,
        }
    }
}

/// So many BF16 values per token, read or written.
fn stream(tokens: f64, values: f64) -> (Class, Operator) {
    rows(Class::Elementwise, RowKind::Other, tokens, values, 2.0)
}

/// A row-wise kernel: `bytes` for each of a row's values.
const fn rows(class: Class, kind: RowKind, rows: f64, width: f64, bytes: f64) -> (Class, Operator) {
    let operator = Operator::Rows {
        kind,
        rows,
        width,
        bytes,
    };
    (class, operator)
}

/// The layer as one rank has it.
fn on_rank(model: &Model, run: usize, layout: Layout) -> LayerRun {
    layer_on_rank(&model.layers[run], shard(layout))
}

/// What depends on a lane's token count: projections, norms, rotary, cache write, and a dense MLP.
pub(super) fn by_tokens(
    model: &Model,
    run: usize,
    layout: Layout,
    precision: Precision,
    tokens: f64,
) -> Kernels {
    let layer = on_rank(model, run, layout);
    let h = real(model.hidden);
    let mut kernels = Kernels::new();
    // Norm and residual add before attention and before the FFN: read two, write two. Further norms
    // (after them, Gemma's) read and write one.
    let parts = u64::from(layer.attention != Attention::None) + u64::from(layer.ffn != Ffn::None);
    // Without norms of its own it is the FFN half of a split.
    let norms = if layer.norms == 0 {
        0
    } else {
        layer.norms.max(parts)
    };
    for index in 0..norms {
        let bytes = if index < parts { 8.0 } else { 4.0 };
        kernels.push(rows(Class::Elementwise, RowKind::Norm, tokens, h, bytes));
    }
    let gemm = Gemm::of(model, precision, layer.kept.attention);
    projections::of(&layer.attention, h, gemm, tokens, &mut kernels);
    let gemm = Gemm::of(model, precision, layer.kept.dense_ffn);
    ffn::dense(&layer.ffn, h, gemm, tokens, &mut kernels);
    kernels
}

/// All-reduces over TP of a layer but its experts', each of one hidden vector per token: one after
/// attention, after a recurrence, after a dense MLP. What is not divided is not summed.
pub(super) fn reductions(layer: &LayerRun) -> f64 {
    let mixer = match &layer.attention {
        Attention::Gqa(_)
        | Attention::Mla(_)
        | Attention::Compressed(_)
        | Attention::Recurrent(_) => 1.0,
        // Each half sums its own output (vLLM's Falcon-H1).
        Attention::Parallel { .. } => 2.0,
        Attention::Matrix | Attention::None => 0.0,
    };
    let ffn = match layer.ffn {
        Ffn::Dense { .. } => 1.0,
        Ffn::Moe(_) | Ffn::Matrix | Ffn::None => 0.0,
    };
    mixer + ffn
}

/// Values per token that a layer sums over TP inside its mixer: Mamba's step size, B and C come
/// from channels of all ranks; norms over all heads' queries and keys sum their squares (MiniMax's,
/// two FP32 values, vLLM's `MiniMaxText01RMSNormTP`).
pub(super) fn inner_reduction(layer: &LayerRun) -> f64 {
    match &layer.attention {
        Attention::Gqa(own) if own.qk_norm_whole => 4.0,
        Attention::Recurrent(Recurrent::Mamba1(mamba))
        | Attention::Parallel {
            recurrent: Recurrent::Mamba1(mamba),
            ..
        } => real(mamba.dt_rank) + 2.0 * real(mamba.state),
        _ => 0.0,
    }
}

/// Embedding look-up of `tokens` (first stage).
pub(super) fn embedding(model: &Model, tokens: f64) -> Kernels {
    let h = real(model.hidden);
    vec![rows(Class::Head, RowKind::Embedding, tokens, h, 4.0)]
}

/// What brings the target's hidden states and the embedding together before an MTP layer or an EAGLE
/// head: a norm of each and one product of both, which no checkpoint quantises (DeepSeek-V3's
/// `eh_proj`, EAGLE's `fc`), whole on every rank.
pub(super) fn fusion(model: &Model, tokens: f64) -> Kernels {
    let h = real(model.hidden);
    vec![
        rows(Class::Elementwise, RowKind::Norm, tokens, h, 4.0),
        rows(Class::Elementwise, RowKind::Norm, tokens, h, 4.0),
        (Class::Linear, Gemm::WIDE.linear(tokens, 2.0 * h, h)),
    ]
}

/// Final norm, LM head and sampling of `sequences` tokens (last stage).
pub(super) fn head(model: &Model, layout: Layout, precision: Precision, sequences: f64) -> Kernels {
    let (h, vocab) = (real(model.hidden), real(model.vocab));
    // BF16 unless the checkpoint quantised it; a tied head is the embedding table, which it did not.
    let gemm = match model.quantization.and_then(|own| own.head) {
        Some(format) if !model.tied_embeddings => Gemm::of(model, precision, Some(format)),
        _ => Gemm::WIDE,
    };
    vec![
        rows(Class::Head, RowKind::Norm, sequences, h, 4.0),
        (
            Class::Head,
            gemm.linear(sequences, h, vocab / f64::from(layout.tp)),
        ),
        // Logits to FP32, softmax and a draw: about four passes over FP32 logits.
        rows(Class::Head, RowKind::Sampling, sequences, vocab, 16.0),
    ]
}

#[cfg(test)]
mod tests;
