//! The linears of a layer under the names files and engines use, and how large each is.
//!
//! One linear has many names: `self_attn.q_proj` in transformers, `qkv_proj` in vLLM, `attn.wq_b`
//! in DeepSeek's own code. A section is asked for all of them; sizes are those of
//! [`layer_parameters`](crate::model::layer_parameters), part by part (a test says so).

mod ffn;

use crate::model::{
    Attention, Compressed, DeltaNet, Ffn, Gate, Gqa, Indexer, LayerRun, Mla, Recurrent,
};

/// A part of a layer that has one format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Attention,
    DenseFfn,
    RoutedExperts,
    SharedExperts,
}

impl Part {
    /// Its word in messages.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Attention => "attention",
            Self::DenseFfn => "the dense MLP",
            Self::RoutedExperts => "the routed experts",
            Self::SharedExperts => "the shared experts",
        }
    }
}

type Words = &'static [&'static str];

/// A linear, or several that are always named together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Module {
    pub(super) part: Part,
    /// Parameters.
    pub(super) size: u64,
    blocks: Words,
    leaves: Words,
}

/// What stands before a layer's number.
const STACKS: [&str; 7] = [
    "model.layers.",
    "model.language_model.layers.",
    "language_model.model.layers.",
    "layers.",
    "backbone.layers.",
    "transformer.h.",
    "model.decoder.layers.",
];
/// The same of layers that predict further tokens; they are also numbered on after the others.
const FURTHER: [&str; 3] = ["mtp.", "mtp.layers.", "model.mtp.layers."];

impl Module {
    /// Its names in the layer of a number.
    pub(super) fn names(&self, layer: u64) -> Vec<String> {
        self.under(STACKS.iter().map(|stack| format!("{stack}{layer}")))
    }

    /// Its names in a layer that predicts further tokens: number `index` of those, `layer` of all.
    pub(super) fn further_names(&self, index: u64, layer: u64) -> Vec<String> {
        let mut names = self.names(layer);
        names.extend(self.under(FURTHER.iter().map(|stack| format!("{stack}{index}"))));
        names
    }

    fn under(&self, layers: impl Iterator<Item = String>) -> Vec<String> {
        let mut names = Vec::new();
        for layer in layers {
            for block in self.blocks {
                for leaf in self.leaves {
                    names.push(format!("{layer}.{block}.{leaf}"));
                }
            }
        }
        names
    }
}

/// Names of the LM head.
pub(super) fn head_names() -> Vec<String> {
    ["lm_head", "language_model.lm_head", "model.lm_head", "head"]
        .map(str::to_owned)
        .to_vec()
}

const SOFTMAX: Words = &["self_attn", "attn", "attention", "self_attention"];
/// Models whose layers are one operation each call all of them so.
const ANY: Words = &["mixer", "self_attn", "attn"];

const Q: Words = &[
    "q_proj",
    "qkv_proj",
    "wq",
    "wqkv",
    "W_pack",
    "query_key_value",
    "c_attn",
    "Wqkv",
];
const K: Words = &[
    "k_proj",
    "qkv_proj",
    "wk",
    "wqkv",
    "W_pack",
    "query_key_value",
    "c_attn",
    "Wqkv",
];
const V: Words = &[
    "v_proj",
    "qkv_proj",
    "wv",
    "wqkv",
    "W_pack",
    "query_key_value",
    "c_attn",
    "Wqkv",
];
const O: Words = &["o_proj", "wo", "out_proj", "dense", "c_proj"];
const GATE: Words = &["g_proj", "gate_proj", "q_proj", "qkv_proj"];

struct Builder {
    part: Part,
    blocks: Words,
    modules: Vec<Module>,
}

impl Builder {
    fn add(&mut self, leaves: Words, factors: &[u64]) {
        let size = factors.iter().fold(1_u64, |all, f| all.saturating_mul(*f));
        if size > 0 {
            self.modules.push(Module {
                part: self.part,
                size,
                blocks: self.blocks,
                leaves,
            });
        }
    }
}

/// The linears of a layer.
pub(super) fn of(run: &LayerRun, hidden: u64) -> Vec<Module> {
    let alone = matches!(run.ffn, Ffn::None);
    let mut to = Builder {
        part: Part::Attention,
        blocks: if alone { ANY } else { SOFTMAX },
        modules: Vec::new(),
    };
    match &run.attention {
        Attention::Gqa(gqa) => gqa_modules(gqa, hidden, &mut to),
        Attention::Mla(mla) => mla_modules(mla, hidden, &mut to),
        Attention::Compressed(own) => compressed_modules(own, hidden, &mut to),
        Attention::Recurrent(own) => recurrent_modules(own, hidden, &mut to),
        Attention::Parallel {
            attention,
            recurrent,
        } => {
            gqa_modules(attention, hidden, &mut to);
            recurrent_modules(recurrent, hidden, &mut to);
        }
        Attention::Matrix => to.add(&["linear_attn"], &[hidden, hidden]),
        Attention::None => {}
    }
    ffn::modules(run, hidden, &mut to);
    to.modules
}

fn gqa_modules(gqa: &Gqa, hidden: u64, to: &mut Builder) {
    match gqa.q_rank {
        Some(rank) => {
            to.add(Q, &[hidden, rank]);
            to.add(&["wq", "q_b_proj"], &[rank, gqa.heads, gqa.head_dim]);
        }
        None => to.add(Q, &[hidden, gqa.heads, gqa.head_dim]),
    }
    if !gqa.shares_kv {
        to.add(K, &[hidden, gqa.kv_heads, gqa.head_dim]);
        if !gqa.keys_are_values {
            to.add(V, &[hidden, gqa.kv_heads, gqa.value_dim()]);
        }
    }
    to.add(O, &[gqa.heads, gqa.value_dim(), hidden]);
    if gqa.gate == Gate::Full {
        to.add(GATE, &[hidden, gqa.heads, gqa.value_dim()]);
    }
    indexer(gqa.indexer, gqa.q_rank.unwrap_or(hidden), hidden, to);
}

fn mla_modules(mla: &Mla, hidden: u64, to: &mut Builder) {
    let head = mla.nope_dim.saturating_add(mla.rope_dim);
    match mla.q_rank {
        Some(rank) => {
            to.add(
                &[
                    "q_a_proj",
                    "wq_a",
                    "fused_qkv_a_proj",
                    "fused_qkv_a_proj_with_mqa",
                ],
                &[hidden, rank],
            );
            to.add(&["q_b_proj", "wq_b"], &[rank, mla.heads, head]);
        }
        None => to.add(&["q_proj", "wq"], &[hidden, mla.heads, head]),
    }
    to.add(
        &[
            "kv_a_proj_with_mqa",
            "wkv_a",
            "fused_qkv_a_proj",
            "fused_qkv_a_proj_with_mqa",
        ],
        &[hidden, mla.kv_rank.saturating_add(mla.rope_dim)],
    );
    let unfolded = mla.nope_dim.saturating_add(mla.v_dim);
    to.add(&["kv_b_proj", "wkv_b"], &[mla.kv_rank, mla.heads, unfolded]);
    to.add(O, &[mla.heads, mla.v_dim, hidden]);
    if mla.gate == Gate::Full {
        to.add(&["g_proj"], &[hidden, mla.heads, mla.v_dim]);
    }
    indexer(mla.indexer, mla.q_rank.unwrap_or(hidden), hidden, to);
}

fn indexer(own: Option<Indexer>, from: u64, hidden: u64, to: &mut Builder) {
    if let Some(own) = own.filter(|own| !own.shared) {
        to.add(
            &["indexer.wq_b", "index_q_proj", "indexer.q_proj"],
            &[from, own.heads, own.dim],
        );
        to.add(
            &["indexer.wk", "index_k_proj", "indexer.k_proj"],
            &[hidden, own.dim],
        );
        if !own.by_blocks {
            to.add(&["indexer.weights_proj"], &[hidden, own.heads]);
        }
    }
}

fn compressed_modules(own: &Compressed, hidden: u64, to: &mut Builder) {
    to.add(
        &["wq_a", "q_a_proj", "fused_wqa_wkv"],
        &[hidden, own.q_rank],
    );
    to.add(
        &["wq_b", "q_b_proj"],
        &[own.q_rank, own.heads, own.head_dim],
    );
    to.add(
        &["wkv", "kv_proj", "fused_wqa_wkv"],
        &[hidden, own.head_dim],
    );
    to.add(
        &["wo_a", "o_a_proj"],
        &[own.heads, own.head_dim, own.out_rank],
    );
    to.add(
        &["wo_b", "o_b_proj"],
        &[own.out_groups, own.out_rank, hidden],
    );
    if own.ratio > 0 {
        let width = own.overlap().saturating_mul(own.head_dim);
        to.add(&["compressor.wkv"], &[hidden, width]);
        to.add(&["compressor.wgate"], &[hidden, width]);
    }
    if let Some(index) = own.indexer.filter(|index| !index.shared) {
        to.add(&["indexer.wq_b"], &[own.q_rank, index.heads, index.dim]);
        to.add(&["indexer.weights_proj"], &[hidden, index.heads]);
        if own.ratio > 0 {
            let width = own.overlap().saturating_mul(index.dim);
            to.add(&["indexer.compressor.wkv"], &[hidden, width]);
            to.add(&["indexer.compressor.wgate"], &[hidden, width]);
        }
    }
}

fn recurrent_modules(own: &Recurrent, hidden: u64, to: &mut Builder) {
    match own {
        Recurrent::DeltaNet(delta) => delta_modules(delta, hidden, to),
        Recurrent::Lightning {
            heads,
            head_dim,
            gated,
        } => {
            to.blocks = &["self_attn", "linear_attn", "attention"];
            to.add(
                &["qkv_proj", "query_key_value", "q_proj"],
                &[3, hidden, *heads, *head_dim],
            );
            if *gated {
                to.add(&["output_gate", "g_proj"], &[hidden, *heads, *head_dim]);
            }
            to.add(O, &[hidden, *heads, *head_dim]);
        }
        Recurrent::Mamba2(mamba) => {
            to.blocks = &["mixer", "mamba"];
            let inner = mamba.heads.saturating_mul(mamba.head_dim);
            let shared = mamba.groups.saturating_mul(mamba.state).saturating_mul(2);
            let wide = inner.saturating_mul(2).saturating_add(shared);
            to.add(&["in_proj"], &[hidden, wide.saturating_add(mamba.heads)]);
            to.add(&["out_proj"], &[inner, hidden]);
        }
        Recurrent::Mamba1(mamba) => {
            to.blocks = &["mixer", "mamba"];
            let step = mamba.state.saturating_mul(2).saturating_add(mamba.dt_rank);
            to.add(&["in_proj"], &[2, hidden, mamba.inner]);
            to.add(&["x_proj"], &[mamba.inner, step]);
            to.add(&["dt_proj"], &[mamba.dt_rank, mamba.inner]);
            to.add(&["out_proj"], &[mamba.inner, hidden]);
        }
        Recurrent::ShortConv { width, .. } => {
            to.blocks = &["conv", "short_conv"];
            to.add(&["in_proj"], &[3, hidden, *width]);
            to.add(&["out_proj"], &[hidden, *width]);
        }
        Recurrent::RgLru { width, blocks, .. } => {
            to.blocks = &["temporal_block"];
            to.add(&["linear_x", "linear_y"], &[2, hidden, *width]);
            to.add(&["linear_out"], &[hidden, *width]);
            to.add(&["rg_lru"], &[2, *width, width / (*blocks).max(1)]);
        }
        Recurrent::Other { parameters, .. } => {
            to.blocks = &["mixer", "linear_attn", "self_attn", "attn"];
            to.add(&["in_proj", "out_proj"], &[*parameters]);
        }
    }
}

fn delta_modules(delta: &DeltaNet, hidden: u64, to: &mut Builder) {
    let key = delta.key_heads.saturating_mul(delta.key_dim);
    let value = delta.value_heads.saturating_mul(delta.value_dim);
    if delta.channel_decay {
        to.blocks = &["self_attn", "linear_attn"];
        to.add(&["q_proj", "qkv_proj"], &[hidden, key]);
        to.add(&["k_proj", "qkv_proj"], &[hidden, key]);
        to.add(&["v_proj", "qkv_proj"], &[hidden, value]);
        to.add(&["o_proj"], &[hidden, value]);
        to.add(&["f_a_proj"], &[hidden, delta.key_dim]);
        to.add(&["f_b_proj"], &[delta.key_dim, key]);
        if delta.full_gate {
            to.add(&["g_proj"], &[hidden, value]);
        } else {
            to.add(&["g_a_proj", "g_proj"], &[hidden, delta.value_dim]);
            to.add(&["g_b_proj", "g_proj"], &[delta.value_dim, value]);
        }
        to.add(&["b_proj"], &[hidden, delta.value_heads]);
        return;
    }
    to.blocks = &["linear_attn"];
    let convolved = key.saturating_mul(2).saturating_add(value);
    to.add(&["in_proj_qkvz", "in_proj_qkv"], &[hidden, convolved]);
    to.add(&["in_proj_qkvz", "in_proj_z"], &[hidden, value]);
    to.add(
        &["in_proj_ba", "in_proj_b", "in_proj_a"],
        &[2, hidden, delta.value_heads],
    );
    to.add(&["out_proj"], &[hidden, value]);
}
