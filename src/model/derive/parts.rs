//! Parameters of a model, part by part. Exact: norms and biases are counted.

use super::mixer::{self, MixerParameters};
use super::{product, sum};
use crate::catalog::Dtype;
use crate::model::{Ffn, Kept, LayerRun, Model, Moe, Precision, Quantization, WeightFormat};
use crate::units::Bytes;

/// Parameters of one layer, by part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LayerParameters {
    /// Matrices of attention or recurrence, an indexer's included.
    pub attention: u64,
    /// Biases of its projections.
    pub attention_bias: u64,
    /// Its small parts, never quantised: convolutions, decays, sinks, head gates, inner norms.
    pub attention_small: u64,
    /// A dense layer's MLP.
    pub dense_ffn: u64,
    /// Biases of a dense MLP, or of all experts together.
    pub ffn_bias: u64,
    /// Router matrix and its per-expert correction bias, and a shared expert's gate.
    pub router: u64,
    /// One routed expert.
    pub routed_expert: u64,
    /// Routed experts.
    pub experts: u64,
    /// Routed experts one token visits.
    pub top_k: u64,
    /// All shared experts together, and the matrices to and from latent experts.
    pub shared_experts: u64,
    /// Norms before attention and FFN.
    pub norms: u64,
}

/// Matrices of a gated (3) or plain (2) MLP.
const fn matrices(gated: bool) -> u64 {
    if gated { 3 } else { 2 }
}

/// Parameters of a layer (one, not the run's `count`). A gated MLP of width `i` has `3·h·i`, a
/// plain one `2·h·i`; a router `h × (experts + zero experts)`; experts in a latent space of width
/// `l` have `l` in place of `h`, and `2·h·l` lead there and back.
#[must_use]
pub fn layer_parameters(run: &LayerRun, hidden: u64) -> LayerParameters {
    let MixerParameters {
        matrices: attention,
        bias: attention_bias,
        small: attention_small,
    } = mixer::parameters(&run.attention, hidden);
    let mut parts = LayerParameters {
        attention,
        attention_bias,
        attention_small,
        norms: product(&[run.norms, hidden]),
        ..LayerParameters::default()
    };
    match &run.ffn {
        Ffn::Dense {
            intermediate,
            gated,
            bias,
        } => {
            parts.dense_ffn = product(&[matrices(*gated), hidden, *intermediate]);
            if *bias {
                let wide = product(&[matrices(*gated) - 1, *intermediate]);
                parts.ffn_bias = sum(&[wide, hidden]);
            }
        }
        Ffn::Moe(moe) => moe_parameters(moe, hidden, &mut parts),
        Ffn::Matrix => parts.dense_ffn = product(&[hidden, hidden]),
        Ffn::None => {}
    }
    parts
}

fn moe_parameters(moe: &Moe, hidden: u64, parts: &mut LayerParameters) {
    let choices = sum(&[moe.experts, moe.zero_experts]);
    let width = moe.latent.unwrap_or(hidden);
    let gated = matrices(!moe.ungated);
    let corrections = if moe.router_bias { choices } else { 0 };
    let biases = if moe.bias { choices } else { 0 };
    let gate = if moe.shared_gate { hidden } else { 0 };
    parts.router = sum(&[product(&[hidden, choices]), corrections, biases, gate]);
    parts.routed_expert = product(&[gated, width, moe.intermediate]);
    parts.experts = moe.experts;
    parts.top_k = moe.top_k;
    let latent = moe.latent.map_or(0, |width| product(&[2, hidden, width]));
    let shared = product(&[gated, hidden, moe.shared_intermediate]);
    parts.shared_experts = sum(&[shared, latent]);
    if moe.bias {
        let each = sum(&[product(&[gated - 1, moe.intermediate]), width]);
        parts.ffn_bias = product(&[moe.experts, each]);
    }
}

impl LayerParameters {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        sum(&[
            self.attention,
            self.attention_bias,
            self.attention_small,
            self.dense_ffn,
            self.ffn_bias,
            self.router,
            product(&[self.routed_expert, self.experts]),
            self.shared_experts,
            self.norms,
        ])
    }
}

/// Parameters of a whole model, by part. Layers that predict further tokens (MTP) and towers for
/// other senses are beside the served model and not part of its total.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parameters {
    /// Embedding table.
    pub embedding: u64,
    /// LM head; 0 where it is the embedding table.
    pub lm_head: u64,
    /// Matrices of attention and recurrence.
    pub attention: u64,
    /// Biases of the attention projections.
    pub attention_bias: u64,
    /// Convolutions, decays, sinks, head gates, inner norms.
    pub attention_small: u64,
    /// MLPs of dense layers.
    pub dense_ffn: u64,
    /// Biases of MLPs and experts.
    pub ffn_bias: u64,
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
    /// Whatever else is served: position tables, per-layer embeddings.
    pub extras: u64,
    /// Layers that predict further tokens; beside the model.
    pub mtp: u64,
    /// Towers for other senses; beside the model.
    pub towers: u64,
}

impl Parameters {
    /// All parameters of the served language model.
    #[must_use]
    pub fn total(&self) -> u64 {
        sum(&[
            self.embedding,
            self.lm_head,
            self.attention,
            self.attention_bias,
            self.attention_small,
            self.dense_ffn,
            self.ffn_bias,
            self.router,
            self.routed_experts,
            self.shared_experts,
            self.norms,
            self.extras,
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
    let extras = |served: bool| {
        let of: Vec<u64> = model
            .extras
            .iter()
            .filter(|extra| extra.served == served)
            .map(|extra| extra.parameters)
            .collect();
        sum(&of)
    };
    let vectors = model.norm.vectors();
    let mut all = Parameters {
        embedding: table,
        lm_head: if model.tied_embeddings { 0 } else { table },
        norms: product(&[vectors, model.hidden]),
        extras: extras(true),
        towers: extras(false),
        mtp: mtp_parameters(model),
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
        add(&mut all.attention_small, &[one.attention_small]);
        add(&mut all.dense_ffn, &[one.dense_ffn]);
        add(&mut all.ffn_bias, &[one.ffn_bias]);
        add(&mut all.router, &[one.router]);
        add(&mut all.routed_experts, &[one.routed_expert, one.experts]);
        let visited = match &run.ffn {
            Ffn::Moe(moe) => visited(moe, one.routed_expert),
            Ffn::Dense { .. } | Ffn::Matrix | Ffn::None => 0,
        };
        add(&mut all.routed_experts_active, &[visited]);
        add(&mut all.shared_experts, &[one.shared_experts]);
        add(&mut all.norms, &[one.norms, vectors]);
    }
    all
}

/// Parameters of the routed experts a token visits: where some choices do nothing, the expected
/// share of real ones.
pub(super) fn visited(moe: &Moe, expert: u64) -> u64 {
    let choices = sum(&[moe.experts, moe.zero_experts]).max(1);
    let all = u128::from(product(&[moe.top_k, expert])) * u128::from(moe.experts);
    u64::try_from(all / u128::from(choices)).unwrap_or(u64::MAX)
}

/// MTP layers: the layer, the projection of two hidden vectors to one, and their three norms
/// (DeepSeek-V3, arXiv 2412.19437 §2.2; embedding and head are the model's own).
fn mtp_parameters(model: &Model) -> u64 {
    model.mtp.as_ref().map_or(0, |run| {
        let layer = layer_parameters(run, model.hidden).total();
        let around = product(&[model.hidden, sum(&[product(&[2, model.hidden]), 3])]);
        product(&[u64::from(run.count), sum(&[layer, around])])
    })
}

/// The format of each part of a layer.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartFormats {
    pub(super) attention: WeightFormat,
    pub(super) dense_ffn: WeightFormat,
    pub(super) routed_experts: WeightFormat,
    pub(super) shared_experts: WeightFormat,
}

impl PartFormats {
    pub(super) fn of(
        kept: Kept,
        precision: Precision,
        quantization: Option<&Quantization>,
    ) -> Self {
        let format =
            |kept: Option<Dtype>| WeightFormat::of(kept.unwrap_or(precision.weights), quantization);
        Self {
            attention: format(kept.attention),
            dense_ffn: format(kept.dense_ffn),
            routed_experts: format(kept.routed_experts),
            shared_experts: format(kept.shared_experts),
        }
    }
}

/// Bytes of all weights of the served model, once. Matrices in `precision.weights` or what the
/// checkpoint keeps them in; embedding, LM head, routers, norms, biases and small parts in BF16, as
/// quantised checkpoints keep them.
#[must_use]
pub fn weight_bytes(model: &Model, precision: Precision) -> Bytes {
    let wide = WeightFormat::plain(Dtype::Bf16);
    let all = parameters(model);
    let head = model
        .quantization
        .and_then(|own| own.head)
        .unwrap_or(Dtype::Bf16);
    let mut linears = 0;
    let mut bytes = WeightFormat::plain(head).bytes(all.lm_head);
    for run in &model.layers {
        let one = layer_parameters(run, model.hidden);
        let formats = PartFormats::of(run.kept, precision, model.quantization.as_ref());
        let count = u64::from(run.count);
        for (format, part) in [
            (formats.attention, one.attention),
            (formats.dense_ffn, one.dense_ffn),
            (
                formats.routed_experts,
                product(&[one.routed_expert, one.experts]),
            ),
            (formats.shared_experts, one.shared_experts),
        ] {
            let part = product(&[part, count]);
            linears = sum(&[linears, part]);
            bytes += format.bytes(part);
        }
    }
    let kept = all
        .total()
        .saturating_sub(linears)
        .saturating_sub(all.lm_head);
    bytes + wide.bytes(kept)
}
