//! Weights of a pipeline stage on its fullest rank.

use super::MemoryTerm;
use crate::model::{
    Extra, Ffn, LayerRun, Model, Precision, Quantization, Shard, embedding_bytes, head_bytes,
    layer_weights,
};
use crate::plan::frozen::StageRun;
use crate::plan::pool::Layout;
use crate::units::Bytes;

/// Shapes compared before a run counts as one of its own: models repeat a handful of layers.
const REPEATED: usize = 32;

/// Whether layers given by stage are ones of so many layers and stages: a stage has one at least, none
/// is left out (vLLM and SGLang, `distributed/utils.py`, `get_pp_indices`).
pub(in crate::plan) fn is_partition(given: &[u32], layers: u32, stages: u32) -> bool {
    let sum = given.iter().map(|own| u64::from(*own)).sum::<u64>();
    given.len() == stages as usize && sum == u64::from(layers) && !given.contains(&0)
}

/// Layers of each pipeline stage: as given, else equal shares, a remainder going to the stages before
/// the last, as vLLM deals them (the last one has the LM head, the first the embedding).
fn stage_sizes(layers: u32, stages: u32, given: &[u32]) -> Vec<u32> {
    if is_partition(given, layers, stages) {
        return given.to_vec();
    }
    let stages = stages.clamp(1, layers.max(1));
    let mut sizes = vec![layers / stages; stages as usize];
    let last = sizes.len() - 1;
    for extra in 0..(layers % stages) as usize {
        let at = (last + sizes.len() - 1 - extra % sizes.len()) % sizes.len();
        sizes[at] += 1;
    }
    sizes
}

/// The layers of each pipeline stage, of so many each if they are `given`.
pub(in crate::plan) fn split_layers(
    model: &Model,
    stages: u32,
    given: &[u32],
) -> Vec<Vec<StageRun>> {
    let sizes = stage_sizes(model.layer_count(), stages, given);
    let mut runs = model.layers.iter().enumerate();
    let mut left = runs.next().map_or((0, 0), |(i, run)| (i, run.count));
    sizes
        .into_iter()
        .map(|mut size| {
            let mut stage = Vec::new();
            while size > 0 {
                if left.1 == 0 {
                    match runs.next() {
                        Some((i, run)) => left = (i, run.count),
                        None => break,
                    }
                }
                let take = size.min(left.1);
                if take > 0 {
                    stage.push(StageRun {
                        run: left.0,
                        count: take,
                    });
                }
                left.1 -= take;
                size -= take;
            }
            stage
        })
        .collect()
}

/// How a layout divides a layer.
pub(crate) fn shard(layout: Layout) -> Shard {
    Shard {
        attention_tp: u64::from(layout.tp),
        ffn_tp: u64::from(layout.tp),
        moe_tp: u64::from(layout.moe_tp()),
        ep: u64::from(layout.ep),
    }
}

/// A model's different layers, so that a thousand of a few kinds cost a few.
pub(super) struct Shapes<'a> {
    distinct: Vec<&'a LayerRun>,
    of_run: Vec<usize>,
}

impl<'a> Shapes<'a> {
    pub(super) fn of(model: &'a Model) -> Self {
        let mut distinct: Vec<&LayerRun> = Vec::new();
        let of_run = model
            .layers
            .iter()
            .map(|run| {
                let same = |other: &&LayerRun| {
                    other.attention == run.attention
                        && other.ffn == run.ffn
                        && other.norms == run.norms
                        && other.kept == run.kept
                };
                let known = distinct.iter().take(REPEATED).position(same);
                known.unwrap_or_else(|| {
                    distinct.push(run);
                    distinct.len() - 1
                })
            })
            .collect();
        Self { distinct, of_run }
    }

    /// Layers of each shape in a stage.
    pub(super) fn counts(&self, stage: &[StageRun]) -> Vec<u32> {
        let mut counts = vec![0_u32; self.distinct.len()];
        for run in stage {
            let count = &mut counts[self.of_run[run.run]];
            *count = count.saturating_add(run.count);
        }
        counts
    }

    /// A stage's layers, equal ones together.
    pub(super) fn layers(&self, counts: &[u32]) -> Vec<LayerRun> {
        counts
            .iter()
            .zip(&self.distinct)
            .filter(|(count, _)| **count > 0)
            .map(|(count, run)| LayerRun {
                count: *count,
                ..(*run).clone()
            })
            .collect()
    }

    /// What a layout's stages are weighed with.
    pub(super) fn weigh(&self, model: &Model, precision: Precision, layout: Layout) -> Scales {
        let tp = u64::from(layout.tp);
        let each = self
            .distinct
            .iter()
            .map(|run| layer_bytes(model, run, precision, layout))
            .collect();
        Scales {
            each,
            embedding: embedding_bytes(model, tp),
            head: head_bytes(model, tp),
            tied: model.tied_embeddings,
            norm: Bytes::new(2_u64.saturating_mul(model.hidden)),
            extras: extras(&model.extras),
        }
    }

    /// All weights, one copy.
    pub(super) fn whole(&self, model: &Model, precision: Precision) -> Bytes {
        let scales = self.weigh(model, precision, Layout::SINGLE);
        scales.stage(&self.all(model), true, true)
    }

    /// Layers of each shape in the model.
    pub(super) fn all(&self, model: &Model) -> Vec<u32> {
        let mut counts = vec![0_u32; self.distinct.len()];
        for (run, shape) in model.layers.iter().zip(&self.of_run) {
            counts[*shape] = counts[*shape].saturating_add(run.count);
        }
        counts
    }
}

/// Parameters beside the layers that serving needs, BF16, whole on every rank that has them.
fn extras(extras: &[Extra]) -> Bytes {
    let count = extras
        .iter()
        .filter(|extra| extra.served)
        .fold(0_u64, |sum, extra| sum.saturating_add(extra.parameters));
    Bytes::new(count.saturating_mul(2))
}

/// One layer on one rank: redundant experts are dealt out with the model's own.
pub(super) fn layer_bytes(
    model: &Model,
    run: &LayerRun,
    precision: Precision,
    layout: Layout,
) -> Bytes {
    let weights = layer_weights(model, run, precision, shard(layout));
    let Ffn::Moe(moe) = &run.ffn else {
        return weights.total();
    };
    let ep = u64::from(layout.ep.max(1));
    let own = moe.experts.div_ceil(ep).max(1);
    let with = moe
        .experts
        .saturating_add(u64::from(layout.redundant_experts))
        .div_ceil(ep);
    let experts = u128::from(weights.routed_experts.get());
    let more = experts * u128::from(with.saturating_sub(own)) / u128::from(own);
    weights.total() + Bytes::new(u64::try_from(more).unwrap_or(u64::MAX))
}

/// Bytes of a layout's parts on one rank.
pub(super) struct Scales {
    each: Vec<Bytes>,
    embedding: Bytes,
    head: Bytes,
    tied: bool,
    norm: Bytes,
    extras: Bytes,
}

impl Scales {
    /// A stage of so many layers of each shape.
    pub(super) fn stage(&self, counts: &[u32], first: bool, last: bool) -> Bytes {
        let mut bytes: Bytes = counts
            .iter()
            .zip(&self.each)
            .map(|(count, each)| *each * u64::from(*count))
            .sum();
        if first {
            bytes += self.embedding + self.extras;
        }
        if last {
            bytes += self.head + self.norm;
            if self.tied && !first {
                bytes += self.embedding;
            }
        }
        bytes
    }
}

/// The term; `bytes` has the drafter's.
pub(super) fn term(
    bytes: Bytes,
    drafter: Bytes,
    precision: Precision,
    layout: Layout,
    quantization: Option<&Quantization>,
) -> MemoryTerm {
    let kept = if quantization.is_some() {
        "embedding, router, norms and what the checkpoint keeps wider as it is"
    } else {
        "embedding, head, router and norms BF16"
    };
    let redundant = match layout.redundant_experts {
        0 => String::new(),
        n => format!(" · {n} redundant experts"),
    };
    let drafter = if drafter > Bytes::ZERO {
        format!("; {:.2} GiB of what drafts", drafter.gib())
    } else {
        String::new()
    };
    MemoryTerm {
        name: "Weights",
        bytes,
        formula: format!(
            "{} weights of the fullest stage, TP {} · EP {} · MoE-TP {}{redundant}; {kept}{drafter}",
            precision.weights.name(),
            layout.tp,
            layout.ep,
            layout.moe_tp()
        ),
        source: "shapes of the model, divided as the engines' parallel layers do",
    }
}
