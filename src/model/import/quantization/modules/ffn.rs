//! The linears of feed-forward parts: dense MLPs, routed and shared experts.

use super::{Builder, Part, Words};
use crate::model::{Attention, Ffn, LayerRun, Moe};

const W_GATE: Words = &["gate_proj", "gate_up_proj", "w1"];
const W_UP: Words = &[
    "up_proj",
    "gate_up_proj",
    "w3",
    "fc1",
    "c_fc",
    "dense_h_to_4h",
    "fc_in",
];
const W_DOWN: Words = &[
    "down_proj",
    "w2",
    "fc2",
    "c_proj",
    "dense_4h_to_h",
    "fc_out",
];

const DENSE: Words = &["mlp", "feed_forward", "ffn"];
const EXPERTS: Words = &[
    "mlp.experts.0",
    "mlp.experts",
    "block_sparse_moe.experts.0",
    "block_sparse_moe.experts",
    "feed_forward.experts.0",
    "feed_forward.experts",
    "ffn.experts.0",
    "ffn.experts",
    "mixer.experts.0",
    "mixer.experts",
    "moe.experts",
];
const SHARED: Words = &[
    "mlp.shared_experts",
    "mlp.shared_expert",
    "mlp.shared_mlp",
    "feed_forward.shared_expert",
    "ffn.shared_experts",
    "block_sparse_moe.shared_experts",
    "mixer.shared_experts",
    "shared_mlp",
    "share_expert",
];

pub(super) fn modules(run: &LayerRun, hidden: u64, to: &mut Builder) {
    match &run.ffn {
        Ffn::Dense {
            intermediate,
            gated,
            ..
        } => {
            to.part = Part::DenseFfn;
            to.blocks = if matches!(run.attention, Attention::None) {
                &["mixer", "mlp", "feed_forward", "ffn"]
            } else {
                DENSE
            };
            mlp(hidden, *intermediate, *gated, to);
        }
        Ffn::Moe(moe) => moe_modules(moe, hidden, to),
        Ffn::Matrix => {
            to.part = Part::DenseFfn;
            to.blocks = &["mlp", "ffn"];
            to.add(&["linear_mlp"], &[hidden, hidden]);
        }
        Ffn::None => {}
    }
}

fn mlp(hidden: u64, width: u64, gated: bool, to: &mut Builder) {
    if gated {
        to.add(W_GATE, &[hidden, width]);
    }
    to.add(W_UP, &[hidden, width]);
    to.add(W_DOWN, &[hidden, width]);
}

fn moe_modules(moe: &Moe, hidden: u64, to: &mut Builder) {
    to.part = Part::RoutedExperts;
    to.blocks = EXPERTS;
    let all = moe.experts.saturating_mul(moe.intermediate);
    mlp(moe.latent.unwrap_or(hidden), all, !moe.ungated, to);
    to.part = Part::SharedExperts;
    to.blocks = SHARED;
    mlp(hidden, moe.shared_intermediate, !moe.ungated, to);
    if let Some(width) = moe.latent {
        to.blocks = &["mixer", "mlp", "block_sparse_moe", "ffn"];
        to.add(
            &["fc1_latent_proj", "routed_expert_down_proj"],
            &[hidden, width],
        );
        to.add(
            &["fc2_latent_proj", "routed_expert_up_proj"],
            &[hidden, width],
        );
    }
}
