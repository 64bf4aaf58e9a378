//! The kinds of layers of a stage: what their attention costs, as far as it is the same for every
//! batch.

use super::LaneShape;
use crate::catalog::Gpu;
use crate::cost::layer::{AttentionShape, reductions};
use crate::cost::operator::{Fidelity, Operator};
use crate::cost::reach::reaches;
use crate::model::{Ffn, Model, Precision};
use crate::plan::{Layout, StageRun};
use crate::units::real;

/// One kind of layer of a stage.
pub(super) struct LayerKind {
    pub(super) run: usize,
    pub(super) count: f64,
    pub(super) attention: AttentionShape,
    pub(super) moe: bool,
    /// All-reduces of a hidden vector per token.
    pub(super) reductions: f64,
    /// Seconds per entry the decodes of one layer attend to.
    per_entry: f64,
    /// What the entries are: index into the model's reaches (none: the whole context), entries per
    /// token.
    entries: Vec<(Option<usize>, f64)>,
    /// Seconds per context token an indexer scores.
    per_score: f64,
}

impl LayerKind {
    /// Seconds of one layer's decode attention that grow with the contexts.
    pub(super) fn by_context(&self, lane: &LaneShape<'_>) -> f64 {
        let sum = |slot: Option<usize>| {
            let reached = slot.and_then(|slot| lane.reached.get(slot));
            real(reached.copied().unwrap_or(lane.context))
        };
        let entries: f64 = self
            .entries
            .iter()
            .map(|(slot, per)| per * sum(*slot))
            .sum();
        self.per_entry * entries + self.per_score * real(lane.context)
    }
}

/// The distinct kinds of these runs, in order, and how many layers are of each.
pub(super) fn kinds(
    model: &Model,
    runs: &[StageRun],
    layout: Layout,
    precision: Precision,
    gpu: &Gpu,
    fidelity: &dyn Fidelity,
) -> Vec<LayerKind> {
    let known = reaches(model);
    let mut kinds: Vec<LayerKind> = Vec::new();
    for run in runs {
        let layer = &model.layers[run.run];
        // Runs of equal layers count as one kind.
        if let Some(same) = kinds.iter_mut().find(|kind| {
            let other = &model.layers[kind.run];
            other.attention == layer.attention
                && other.ffn == layer.ffn
                && other.norms == layer.norms
                && other.kept == layer.kept
        }) {
            same.count += f64::from(run.count);
            continue;
        }
        let attention = AttentionShape::of(model, run.run, layout, precision);
        // Both sides of the roofline are proportional to the entries, so is their maximum.
        let each = |operator: Operator| {
            let one = fidelity.price(gpu, &operator);
            one.compute.max(one.memory)
        };
        let per_entry = attention.core.map_or(0.0, |core| {
            each(Operator::Decode {
                sequences: 1.0,
                entries: 1.0,
                flops: core.decode_flops,
                kv_bytes: core.kv_bytes,
            })
        });
        let per_score = attention
            .scoring
            .map_or(0.0, |own| own.per * each(own.operator(0.0, 1.0, 1.0)));
        let entries = attention
            .shares
            .iter()
            .map(|share| {
                let slot = known.iter().position(|reach| *reach == share.reach);
                (slot, share.per)
            })
            .collect();
        kinds.push(LayerKind {
            run: run.run,
            count: f64::from(run.count),
            attention,
            moe: matches!(layer.ffn, Ffn::Moe(_)),
            reductions: reductions(layer),
            per_entry,
            entries,
            per_score,
        });
    }
    kinds
}
