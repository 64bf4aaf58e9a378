//! What drafting tokens costs a step.
//!
//! After the target's pass the drafter passes over all its tokens once, so that its own cache keeps
//! up, and proposes the first token of each sequence; further passes go one token deeper each, over
//! the sequences alone (EAGLE, MTP: vLLM's `EagleProposer`, SGLang's draft extend and draft). In a tree
//! a pass has several tokens per sequence: those verified, spread evenly over the depths. N-grams are
//! looked up by the host.
//!
//! The drafter lies beside the last pipeline stage. vLLM runs it in pieces, where pieces are captured;
//! SGLang has a graph for the first pass and one for the rest; TensorRT-LLM's one engine has all in the
//! target's graph.

use super::kinds::kinds;
use super::price::{Issued, StepPrice};
use super::shape::LaneShape;
use super::tower::{Parts, Pass, Ranks, Tower};
use crate::cost::reach::Reach;
use crate::model::Model;
use crate::plan::{Captured, Draft, EngineKind, PlannedPool, StageRun};
use std::sync::Arc;

/// A drafter.
pub(super) struct Drafter {
    tower: Tower,
    steps: u32,
    /// Tokens of a sequence in a further pass.
    width: u32,
    engine: EngineKind,
}

impl Drafter {
    /// A pool's, if the device has a part in drafting.
    pub(super) fn of(
        model: &Arc<Model>,
        pool: &PlannedPool,
        ranks: &Ranks,
        known: &[Reach],
    ) -> Option<Self> {
        let own = pool.engine.speculation.as_ref()?;
        if own.steps == 0 {
            return None;
        }
        let (model, runs, fuses) = match &own.draft {
            Draft::Ngram => return None,
            Draft::Mtp { layers } => {
                let run = model.layers.len().checked_sub(1)?;
                let count = *layers;
                (model, vec![StageRun { run, count }], true)
            }
            Draft::Model { .. } => {
                let model = pool.draft.as_ref()?;
                let runs = model.layers.iter().enumerate();
                let runs = runs.map(|(run, own)| StageRun {
                    run,
                    count: own.count,
                });
                (model, runs.collect(), false)
            }
        };
        let parts = Parts {
            apart: None,
            model: Arc::clone(model),
            precision: pool.precision,
            kinds: kinds(model, &runs, ranks.layout, pool.precision, known),
            first: true,
            last: true,
            fuses,
        };
        Some(Self {
            tower: Tower::new(parts, ranks),
            steps: own.steps,
            width: own.verified.div_ceil(own.steps).max(1),
            engine: pool.engine.kind,
        })
    }

    /// All passes of a step whose target ran as `target`.
    pub(super) fn passes(
        &mut self,
        ranks: &Ranks,
        captured: &Captured,
        lanes: &[LaneShape<'_>],
        target: Pass,
    ) -> StepPrice {
        let whole = target.issued == Issued::Whole;
        let first = match self.engine {
            EngineKind::Vllm => {
                let tokens = lanes.iter().map(|lane| lane.on_rank(ranks.layout.cp));
                pieces(captured, tokens.max().unwrap_or(0))
            }
            // The graph of the target's shape.
            _ if whole => target,
            _ => Pass::default(),
        };
        // One token more of each sequence is proposed, however many were verified.
        let first = Pass {
            one_each: true,
            ..first
        };
        let mut price = self.tower.pass(ranks, lanes.iter().copied(), first);
        let inside = whole && self.engine == EngineKind::TensorRtLlm;
        if inside {
            price.launches = 0;
        }
        let sequences = lanes.iter().map(LaneShape::going_on).max().unwrap_or(0);
        if self.steps == 1 || sequences == 0 {
            return price;
        }
        let width = self.width;
        let rest = match self.engine {
            EngineKind::Vllm => pieces(captured, sequences.saturating_mul(width)),
            _ => captured
                .whole(sequences, width)
                .map_or_else(Pass::default, |padded| Pass {
                    issued: Issued::Whole,
                    tokens: padded.tokens,
                    sequences: padded.sequences,
                    head_inside: true,
                    one_each: false,
                }),
        };
        let deeper = lanes.iter().map(|lane| deeper(lane, width));
        let each = self.tower.pass(ranks, deeper, rest);
        let mut rest = each.times(self.steps - 1);
        if rest.issued == Issued::Whole {
            // All of them are one graph.
            rest.launches = u32::from(!inside);
        }
        price.add_all(&rest);
        price
    }
}

/// In pieces if there are some that large.
fn pieces(captured: &Captured, tokens: u32) -> Pass {
    captured
        .pieces(tokens)
        .map_or_else(Pass::default, |tokens| Pass {
            issued: Issued::Pieces,
            tokens,
            ..Pass::default()
        })
}

/// A further pass over the sequences of a lane that go on; prompts that end are taken to be of the
/// lane's mean length.
fn deeper<'a>(lane: &LaneShape<'a>, width: u32) -> LaneShape<'a> {
    let sequences = lane.going_on();
    let ends = u64::from(sequences.saturating_sub(lane.decodes));
    let prompts: u64 = lane
        .chunks
        .iter()
        .map(|chunk| u64::from(chunk.tokens) + u64::from(chunk.context))
        .sum();
    let ended = prompts * ends / (lane.chunks.len() as u64).max(1);
    LaneShape {
        decodes: sequences,
        drafted: sequences.saturating_mul(width - 1),
        context: lane.context + ended,
        reached: lane.reached,
        chunks: &[],
        sampled: sequences.saturating_mul(width),
    }
}
