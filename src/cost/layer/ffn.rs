//! Kernels of the feed-forward part: a dense MLP, routed and shared experts.

use super::{Gemm, Kernels, on_rank, rows};
use crate::catalog::Dtype;
use crate::cost::operator::{Brought, Class, Operator, RowKind};
use crate::model::{Ffn, Model, Precision};
use crate::plan::Layout;
use crate::units::real;

/// Adds a dense MLP or matrix of a rank's layer.
pub(super) fn dense(ffn: &Ffn, h: f64, gemm: Gemm, tokens: f64, kernels: &mut Kernels) {
    match ffn {
        Ffn::Dense {
            intermediate,
            gated,
            ..
        } => {
            let i = real(*intermediate);
            // Gate and up are one GEMM; the activation reads both and writes one.
            let wide = if *gated { 2.0 } else { 1.0 };
            kernels.push((Class::Linear, gemm.linear(tokens, h, wide * i)));
            let bytes = 2.0 * (wide + 1.0);
            kernels.push(rows(
                Class::Elementwise,
                RowKind::Activation,
                tokens,
                i,
                bytes,
            ));
            kernels.push((Class::Linear, gemm.linear(tokens, i, h)));
        }
        Ffn::Matrix => kernels.push((Class::Linear, gemm.linear(tokens, h, h))),
        Ffn::Moe(_) | Ffn::None => {}
    }
}

/// What of a token goes to its experts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::cost) struct Sent {
    /// Width of the model's vectors.
    pub(in crate::cost) hidden: f64,
    /// Width of those that go to the experts and back.
    pub(in crate::cost) width: f64,
    /// Experts it goes to, of so many.
    pub(in crate::cost) topk: f64,
    pub(in crate::cost) experts: f64,
    /// Groups of experts, and those of them a token's are in; 0: not limited.
    pub(in crate::cost) groups: [u64; 2],
    /// What the router chooses among: experts, and choices that do nothing.
    pub(in crate::cost) choices: f64,
    /// Format the experts multiply in.
    pub(in crate::cost) gemm: Dtype,
}

/// Of a MoE layer.
pub(in crate::cost) fn sent(model: &Model, run: usize, precision: Precision) -> Option<Sent> {
    let layer = &model.layers[run];
    let Ffn::Moe(moe) = &layer.ffn else {
        return None;
    };
    let choices = real(moe.experts + moe.zero_experts);
    Some(Sent {
        hidden: real(model.hidden),
        width: real(moe.latent.unwrap_or(model.hidden)),
        topk: real(moe.top_k) * (real(moe.experts) / choices),
        experts: real(moe.experts),
        groups: [moe.groups, moe.groups_per_token],
        choices,
        gemm: Gemm::of(model, precision, layer.kept.routed_experts).gemm,
    })
}

/// The router of a MoE layer for the tokens of a lane: its product, softmax and top-k.
pub(in crate::cost) fn router(model: &Model, run: usize, lane: f64) -> Kernels {
    let Ffn::Moe(moe) = &model.layers[run].ffn else {
        return Vec::new();
    };
    let choices = real(moe.experts + moe.zero_experts);
    vec![
        (
            Class::Experts,
            Gemm::WIDE.linear(lane, real(model.hidden), choices),
        ),
        rows(Class::Experts, RowKind::Other, lane, 2.0 * choices, 2.0),
    ]
}

/// The router and the routed experts of a MoE layer on one rank, for `lane` tokens of this lane and `all` tokens of all
/// lanes. Expert load is balanced: every rank gets its share, and the number of distinct experts
/// visited is what independent uniform choices give, `E · (1 − (1 − k/E)^tokens)`. Where some
/// choices do nothing, `k` counts them and `E` in the fraction too (LongCat-Flash).
pub(in crate::cost) fn experts(
    model: &Model,
    run: usize,
    layout: Layout,
    precision: Precision,
    lane: f64,
    all: f64,
) -> Kernels {
    let layer = on_rank(model, run, layout);
    let (Ffn::Moe(moe), Ffn::Moe(own)) = (&model.layers[run].ffn, &layer.ffn) else {
        return Vec::new();
    };
    let routed = Gemm::of(model, precision, layer.kept.routed_experts);
    let shared = Gemm::of(model, precision, layer.kept.shared_experts);
    let h = real(model.hidden);
    let choices = real(moe.experts + moe.zero_experts);
    let chance = real(moe.top_k) / choices;
    // Real experts a token visits.
    let k = real(moe.top_k) * (real(moe.experts) / choices);
    let ep = f64::from(layout.ep);
    let width = real(moe.latent.unwrap_or(model.hidden));
    let visited = real(moe.experts) / ep * (1.0 - libm::pow(1.0 - chance, all));
    let mut kernels = router(model, run, lane);
    kernels.push((
        Class::Experts,
        Operator::Experts {
            tokens: all,
            top_k: k,
            experts: real(moe.experts),
            local: real(moe.experts) / ep,
            copies: all * k / ep,
            visited,
            even: layout.redundant_experts > 0,
            brought: Brought::Gathered,
            hidden: width,
            intermediate: real(own.intermediate),
            matrices: if moe.ungated { 2.0 } else { 3.0 },
            gemm: routed.gemm,
            weights: routed.weights,
        },
    ));
    if let Some(latent) = moe.latent {
        for (k, n) in [(h, real(latent)), (real(latent), h)] {
            kernels.push((Class::Experts, shared.linear(lane, k, n)));
        }
    }
    kernels
}

/// The same, with tokens brought otherwise.
pub(in crate::cost) fn brought(mut kernels: Kernels, how: Brought) -> Kernels {
    for (_, operator) in &mut kernels {
        if let Operator::Experts { brought, .. } = operator {
            *brought = how;
        }
    }
    kernels
}

/// The shared experts of the same layer, which an engine may run beside [`experts`].
pub(in crate::cost) fn shared_experts(
    model: &Model,
    run: usize,
    layout: Layout,
    precision: Precision,
    lane: f64,
) -> Kernels {
    let layer = on_rank(model, run, layout);
    let Ffn::Moe(own) = &layer.ffn else {
        return Vec::new();
    };
    if own.shared_intermediate == 0 {
        return Vec::new();
    }
    let shared = Gemm::of(model, precision, layer.kept.shared_experts);
    let (h, i) = (real(model.hidden), real(own.shared_intermediate));
    let wide = if own.ungated { 1.0 } else { 2.0 };
    let mut kernels: Kernels = [(h, wide * i), (i, h)]
        .into_iter()
        .map(|(k, n)| (Class::Experts, shared.linear(lane, k, n)))
        .collect();
    if own.shared_gate {
        kernels.push((Class::Experts, Gemm::WIDE.linear(lane, h, 1.0)));
        kernels.push(rows(Class::Experts, RowKind::Other, lane, 2.0 * h, 2.0));
    }
    kernels
}
