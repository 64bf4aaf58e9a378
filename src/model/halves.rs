//! The two halves of a model whose attention and FFNs run on different GPUs.
//!
//! A half is a model too: one without FFNs, one without attention, embedding and head. Whatever is
//! derived from a model (weights, KV, kernels) is so derived from its halves.

use super::arch::{Ffn, LayerRun, Model};
use super::attention::Attention;

impl Model {
    /// What attention GPUs hold: attention and norms of every layer (what goes to the FFN is normalised
    /// and rounded before), embedding, head and what lies beside the layers. Routers are not in it: a
    /// few megabytes.
    #[must_use]
    pub fn attention_half(&self) -> Self {
        let half = |run: &LayerRun| LayerRun {
            ffn: Ffn::None,
            ..run.clone()
        };
        Self {
            layers: self.layers.iter().map(half).collect(),
            mtp: None,
            ..self.clone()
        }
    }

    /// What FFN GPUs hold: dense FFNs, experts and routers of every layer.
    #[must_use]
    pub fn ffn_half(&self) -> Self {
        let half = |run: &LayerRun| LayerRun {
            attention: Attention::None,
            norms: 0,
            ..run.clone()
        };
        Self {
            vocab: 0,
            tied_embeddings: false,
            layers: self.layers.iter().map(half).collect(),
            extras: Vec::new(),
            mtp: None,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::{Models, parameters};

    #[test]
    fn halves_have_all_parameters_between_them() {
        let models = Models::embedded().unwrap();
        for model in models.iter() {
            let whole = parameters(model).total();
            let (attention, ffn) = (model.attention_half(), model.ffn_half());
            let sum = parameters(&attention).total() + parameters(&ffn).total();
            // The last norm is in both.
            let apart = sum.abs_diff(whole);
            assert!(apart <= 4 * model.hidden, "{}: {sum} of {whole}", model.id);
        }
    }
}
