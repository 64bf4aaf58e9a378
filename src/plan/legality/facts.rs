//! The numbers of a model that rules divide, each once, however many layers have it.

use crate::catalog::Dtype;
use crate::model::{Attention, Ffn, LayerRun, Model, Recurrent};
use std::collections::BTreeSet;

/// Numbers of a model that layouts must divide.
#[derive(Debug, Default)]
pub(in crate::plan) struct Facts {
    /// Heads, groups and channels TP must divide, and what they are.
    pub(super) heads: BTreeSet<(u64, &'static str)>,
    /// Key-value heads: divided by TP, or copied.
    pub(super) kv_heads: BTreeSet<u64>,
    /// Groups of states: divided by TP, or one that is copied.
    pub(super) groups: BTreeSet<u64>,
    /// Inner widths TP must divide.
    pub(super) widths: BTreeSet<(u64, &'static str)>,
    /// Those of them that are quantised in blocks.
    pub(super) blocked_widths: BTreeSet<(u64, &'static str)>,
    /// Routed experts of a layer.
    pub(super) experts: BTreeSet<u64>,
    /// Inner widths of routed experts.
    pub(super) expert_widths: BTreeSet<u64>,
    /// Those of them that are quantised in blocks.
    pub(super) blocked_experts: BTreeSet<u64>,
    /// Weights that share a scale, per side.
    pub(super) block: u64,
    /// Rows of the embedding table.
    pub(super) vocab: u64,
    /// Layers.
    pub(super) layers: u32,
}

impl Facts {
    /// Of a model with linear weights in `weights` where the checkpoint says nothing else.
    pub(in crate::plan) fn of(model: &Model, weights: Dtype) -> Self {
        let mut facts = Self {
            vocab: model.vocab,
            layers: model.layer_count(),
            ..Self::default()
        };
        let blocked = model
            .quantization
            .and_then(|own| Some((own.weights, own.block.filter(|block| *block > 1)?)));
        facts.block = blocked.map_or(1, |(_, block)| block);
        let in_blocks = |kept: Option<Dtype>| {
            blocked.is_some_and(|(format, _)| kept.unwrap_or(weights) == format)
        };
        for run in &model.layers {
            facts.mixer(&run.attention);
            facts.ffn(run, in_blocks);
        }
        facts
    }

    fn mixer(&mut self, attention: &Attention) {
        match attention {
            Attention::Gqa(gqa) => self.gqa(gqa.heads, gqa.kv_heads),
            Attention::Mla(mla) => {
                self.heads.insert((mla.heads, "heads"));
            }
            Attention::Compressed(own) => {
                self.heads.insert((own.heads, "heads"));
                self.heads.insert((own.out_groups, "output groups"));
            }
            Attention::Recurrent(own) => self.recurrent(own),
            Attention::Parallel {
                attention,
                recurrent,
            } => {
                self.gqa(attention.heads, attention.kv_heads);
                self.recurrent(recurrent);
            }
            Attention::Matrix | Attention::None => {}
        }
    }

    fn gqa(&mut self, heads: u64, kv_heads: u64) {
        self.heads.insert((heads, "heads"));
        self.kv_heads.insert(kv_heads);
    }

    fn recurrent(&mut self, own: &Recurrent) {
        match own {
            Recurrent::DeltaNet(delta) => {
                self.heads
                    .insert((delta.key_heads, "linear-attention key heads"));
                self.heads
                    .insert((delta.value_heads, "linear-attention value heads"));
            }
            Recurrent::Lightning { heads, .. } => {
                self.heads.insert((*heads, "linear-attention heads"));
            }
            Recurrent::Mamba2(mamba) => {
                self.heads.insert((mamba.heads, "Mamba heads"));
                self.groups.insert(mamba.groups);
            }
            Recurrent::Mamba1(mamba) => {
                self.heads.insert((mamba.inner, "Mamba channels"));
            }
            Recurrent::ShortConv { width, .. } => {
                self.heads.insert((*width, "convolution channels"));
            }
            Recurrent::RgLru { blocks, .. } => {
                self.heads.insert((*blocks, "recurrence blocks"));
            }
            Recurrent::Other { .. } => {}
        }
    }

    fn ffn(&mut self, run: &LayerRun, in_blocks: impl Fn(Option<Dtype>) -> bool) {
        match &run.ffn {
            Ffn::Dense { intermediate, .. } => {
                let width = (*intermediate, "FFN width");
                self.widths.insert(width);
                if in_blocks(run.kept.dense_ffn) {
                    self.blocked_widths.insert(width);
                }
            }
            Ffn::Moe(moe) => {
                self.experts.insert(moe.experts);
                self.expert_widths.insert(moe.intermediate);
                if in_blocks(run.kept.routed_experts) {
                    self.blocked_experts.insert(moe.intermediate);
                }
                if moe.shared_intermediate > 0 {
                    let width = (moe.shared_intermediate, "shared expert's width");
                    self.widths.insert(width);
                    if in_blocks(run.kept.shared_experts) {
                        self.blocked_widths.insert(width);
                    }
                }
            }
            Ffn::Matrix | Ffn::None => {}
        }
    }

    /// Whether there are experts.
    pub(super) fn is_moe(&self) -> bool {
        !self.experts.is_empty()
    }
}
