//! Kernels a step launches, counted from the operators its layers run.
//!
//! Eager, the host issues every one. Piecewise, what lies between attention operators is a graph, so
//! a model of `L` mixing layers is `L + 1` graphs and the kernels of attention, the cache's write
//! among them (vLLM's `splitting_ops`: `unified_attention_with_output`, `mamba_mixer2`,
//! `gdn_attention`). Whole, it is one graph. Sampling is outside all of them.

use super::exchange::{Exchange, Groups};
use super::kinds::LayerKind;
use super::price::Issued;
use crate::catalog::Dtype;
use crate::cost::collective::CommGroup;
use crate::cost::layer::{
    PrefillShape, by_tokens, embedding, experts, head, inner_reduction, shared_experts,
};
use crate::cost::operator::{Class, Operator, RowKind};
use crate::model::{Attention, Ffn, Model, Precision};
use crate::plan::Layout;

/// Kernels of sampling.
const SAMPLER: f64 = RowKind::Sampling.kernels() as f64;

/// Launches of the parts of a stack of layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Launches {
    /// What runs for any token, experts and collectives too.
    tokens: u32,
    /// Attention of decodes, and of prompts: all prompts of a step in one call.
    decode: u32,
    prefill: u32,
    /// Cache writes; part of `tokens`.
    writes: u32,
    /// Graphs if it runs in pieces.
    pieces: u32,
    /// The head's, and the sampler's.
    head: u32,
    sampler: u32,
}

/// Kernels of one operator where nothing fuses the quantising of activations into what comes before.
fn launches(operator: &Operator) -> f64 {
    let quantise = match operator {
        Operator::Linear { gemm, .. } | Operator::Experts { gemm, .. } => *gemm != Dtype::Bf16,
        _ => false,
    };
    f64::from(operator.kernels()) + if quantise { 1.0 } else { 0.0 }
}

/// Kernels that an engine launches apart and our operators count as one: norms of queries and of keys.
fn apart(attention: &Attention) -> f64 {
    match attention {
        Attention::Gqa(own) | Attention::Parallel { attention: own, .. } if own.qk_norm => 1.0,
        // Norms of the query's and of the key's latent are one stream, rotary and the write another.
        Attention::Mla(own) => 1.0 + if own.q_rank.is_some() { 1.0 } else { 0.0 },
        _ => 0.0,
    }
}

impl Launches {
    /// Of a stack of layers with these ends.
    pub(super) fn of(
        model: &Model,
        kinds: &[LayerKind],
        (layout, precision): (Layout, Precision),
        (first, last): (bool, bool),
        (groups, cp): (Groups<'_>, &CommGroup),
        exchange: &Exchange,
    ) -> Self {
        let sum = |kernels: &[(Class, Operator)]| -> f64 {
            kernels.iter().map(|(_, own)| launches(own)).sum()
        };
        let tp = groups.tp.kernels();
        let (mut tokens, mut decode, mut prefill) = (0.0, 0.0, 0.0);
        let (mut writes, mut mixers) = (0.0, 0.0);
        for kind in kinds {
            let layer = &model.layers[kind.run];
            let mut own = sum(&by_tokens(model, kind.run, layout, precision, 1.0));
            own += apart(&layer.attention) + exchange.reductions(kind) * tp;
            if inner_reduction(layer) > 0.0 {
                own += tp;
            }
            if matches!(layer.ffn, Ffn::Moe(_)) {
                own += sum(&experts(model, kind.run, layout, precision, 1.0, 1.0));
                own += sum(&shared_experts(model, kind.run, layout, precision, 1.0));
                own += exchange.kernels(model, kind.run, groups);
            }
            tokens += own * kind.count;
            let shape = &kind.attention;
            let mut each = sum(&shape.decode(1.0));
            each += shape
                .attend_each(1.0, 1.0, 1.0)
                .map_or(0.0, |own| launches(&own));
            each += shape.step(1.0, 1.0).map_or(0.0, |own| launches(&own));
            decode += each * kind.count;
            let chunk = PrefillShape {
                tokens: 1,
                context: 0,
            };
            shape.prefill(chunk, |_, own| prefill += launches(own) * kind.count);
            prefill += cp.kernels() * kind.count;
            if shape.core.is_some() {
                writes += kind.count;
            }
            if !matches!(layer.attention, Attention::Matrix | Attention::None) {
                mixers += kind.count;
            }
        }
        if first {
            tokens += sum(&embedding(model, 1.0)) + tp;
        }
        let (mut of_head, mut sampler) = (0.0, 0.0);
        if last {
            // The last of the head's operators is the sampling.
            of_head = sum(&head(model, layout, precision, 1.0)) - SAMPLER + tp;
            sampler = SAMPLER;
        }
        Self {
            tokens: whole(tokens),
            decode: whole(decode),
            prefill: whole(prefill),
            writes: whole(writes),
            pieces: whole(mixers + 1.0),
            head: whole(of_head),
            sampler: whole(sampler),
        }
    }

    /// Adds kernels that run for any token.
    pub(super) const fn with(mut self, tokens: u32) -> Self {
        self.tokens += tokens;
        self
    }

    /// Launches of a step: whether it decodes, prefills, samples; whether a whole graph has the head
    /// in it.
    pub(super) fn step(
        &self,
        issued: Issued,
        [decodes, prefills, samples]: [bool; 3],
        head_inside: bool,
    ) -> u32 {
        let when = |does: bool, count: u32| if does { count } else { 0 };
        let attention = when(decodes, self.decode) + when(prefills, self.prefill);
        let forward = match issued {
            Issued::Eager => self.tokens + attention,
            Issued::Pieces => self.pieces + self.writes + attention,
            Issued::Whole => 1,
        };
        let inside = head_inside && matches!(issued, Issued::Whole);
        forward + when(samples && !inside, self.head) + when(samples, self.sampler)
    }
}

/// Counts are whole; so are layers of a model, at most millions.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole, and float casts saturate"
)]
const fn whole(count: f64) -> u32 {
    count as u32
}
