//! What drafts tokens beside the target, on the GPUs of the last stage: its weights, and its own cache
//! of every sequence.

use super::weights::{Shapes, layer_bytes};
use crate::model::{LayerRun, Model, Precision};
use crate::plan::engine::{Draft, Engine};
use crate::plan::pool::Layout;
use crate::units::Bytes;

/// A drafter's share of a GPU.
#[derive(Debug, Default)]
pub(super) struct Drafter {
    pub(super) weights: Bytes,
    pub(super) layers: Vec<LayerRun>,
}

impl Drafter {
    /// Of an engine's settings; `draft` is the model that drafts, if one does. Embedding and head of
    /// MTP layers and EAGLE heads are the target's.
    pub(super) fn of(
        model: &Model,
        draft: Option<&Model>,
        engine: &Engine,
        precision: Precision,
        layout: Layout,
    ) -> Self {
        match (
            engine.speculation.as_ref().map(|own| &own.draft),
            model.layers.last(),
            draft,
        ) {
            (Some(Draft::Mtp { layers }), Some(last), _) => {
                // Two norms and the product that brings hidden state and embedding together, BF16.
                let h = model.hidden;
                let joined = h.saturating_mul(2).saturating_mul(h.saturating_add(1));
                let each = layer_bytes(model, last, precision, layout)
                    + Bytes::new(joined.saturating_mul(2));
                Self {
                    weights: each * u64::from(*layers),
                    layers: vec![LayerRun {
                        count: *layers,
                        ..last.clone()
                    }],
                }
            }
            (Some(Draft::Model { .. }), _, Some(own)) => {
                let shapes = Shapes::of(own);
                let counts = shapes.all(own);
                Self {
                    weights: shapes
                        .weigh(own, precision, layout)
                        .stage(&counts, true, true),
                    layers: own.layers.clone(),
                }
            }
            _ => Self::default(),
        }
    }
}
