//! What fills a GPU: weights, activation peak, CUDA graphs, communication buffers, the CUDA
//! context, what the engine leaves alone; the rest is KV blocks.
//!
//! Engines divide the memory by different rules; each has its file here. The sizes they divide
//! are estimated from shapes, and each term says how and on whose word.

mod activation;
mod buffers;
mod drafter;
mod sglang;
mod tensorrt_llm;
#[cfg(test)]
mod tests;
mod vllm;
mod weights;

pub(super) use weights::{is_partition, split_layers};

pub(crate) use weights::shard;

use super::engine::{Engine, EngineKind};
use super::pool::{Layout, Pool};
use super::sequence::SequenceKv;
use crate::catalog::Gpu;
use crate::model::{Model, Precision};
use crate::units::Bytes;
use activation::Activation;
use buffers::Buffers;
use drafter::Drafter;
use std::cmp::Reverse;
use weights::Shapes;

/// One part of a GPU's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryTerm {
    /// What it is.
    pub name: &'static str,
    /// How much.
    pub bytes: Bytes,
    /// How it was worked out.
    pub formula: String,
    /// Where the formula or its constants come from: the engine and version, a measurement.
    pub source: &'static str,
}

/// Where the number of blocks comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockSource {
    /// From the terms.
    Derived,
    /// The user's measured `num_gpu_blocks`.
    Measured,
}

/// Memory of a pool's fullest GPU, and its KV blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryBudget {
    /// The GPU's memory.
    pub capacity: Bytes,
    /// Everything but KV.
    pub terms: Vec<MemoryTerm>,
    /// What is left for KV.
    pub kv: Bytes,
    /// How much is missing, if the terms alone don't fit.
    pub shortfall: Option<Bytes>,
    /// What one sequence takes of it.
    pub sequence: SequenceKv,
    /// One KV block on one GPU, while every window has room for it.
    pub block_bytes: Bytes,
    /// KV blocks of one scheduler (a replica, or a lane of DP-attention).
    pub blocks: u64,
    /// Tokens of the longest sequence they hold.
    pub kv_tokens: u64,
    /// Where `blocks` comes from.
    pub source: BlockSource,
}

impl MemoryBudget {
    /// Bytes a scheduler hands out to sequences: whole blocks, where every sequence takes whole
    /// blocks or blocks are what the user measured.
    #[must_use]
    pub fn pool_bytes(&self) -> u64 {
        if self.source == BlockSource::Measured || self.sequence.is_plain() {
            self.blocks.saturating_mul(self.block_bytes.get())
        } else {
            self.kv.get()
        }
    }

    /// Sequences of a mean length that fit, as an estimate: fractions of blocks count.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub fn sequences(&self, tokens: f64) -> f64 {
        if self.sequence.is_plain() {
            self.kv_tokens as f64 / tokens
        } else {
            self.pool_bytes() as f64 / self.sequence.mean_bytes(tokens).max(1.0)
        }
    }
}

/// One GPU's sizes, for an engine's rule to divide its memory by.
struct Rank<'a> {
    engine: &'a Engine,
    capacity: Bytes,
    weights: MemoryTerm,
    activation: Activation,
    buffers: Buffers,
}

/// How a rule divides the memory: what is not KV, and what is missing.
struct Division {
    terms: Vec<MemoryTerm>,
    shortfall: Option<Bytes>,
}

/// Works out budgets of one model on one GPU type, for as many layouts as are asked for.
pub(super) struct Sizer<'a> {
    model: &'a Model,
    gpu: &'a Gpu,
    draft: Option<&'a Model>,
    shapes: Shapes<'a>,
}

impl<'a> Sizer<'a> {
    /// Of this model on this GPU, and of the one that drafts for it, if one does.
    pub(super) fn new(model: &'a Model, gpu: &'a Gpu, draft: Option<&'a Model>) -> Self {
        Self {
            model,
            gpu,
            draft,
            shapes: Shapes::of(model),
        }
    }

    /// The least each of so many GPUs holds of the weights, whatever the layout.
    pub(super) fn least_weights(&self, precision: Precision, gpus: u32) -> Bytes {
        let whole = self.shapes.whole(self.model, precision);
        Bytes::new(whole.get() / u64::from(gpus.max(1)))
    }

    /// The budget of the fullest stage.
    pub(super) fn budget(
        &self,
        engine: &Engine,
        precision: Precision,
        layout: Layout,
    ) -> MemoryBudget {
        let stages = split_layers(self.model, layout.pp, &engine.stage_layers);
        let last = stages.len().saturating_sub(1);
        let weights = self.shapes.weigh(self.model, precision, layout);
        let drafter = Drafter::of(self.model, self.draft, engine, precision, layout);
        let mut fullest: Option<MemoryBudget> = None;
        for (index, stage) in stages.iter().enumerate() {
            let counts = self.shapes.counts(stage);
            let layers = self.shapes.layers(&counts);
            let mut bytes = weights.stage(&counts, index == 0, index == last);
            let mut drafts = Bytes::ZERO;
            let mut cached = layers.clone();
            if index == last {
                drafts = drafter.weights;
                bytes += drafts;
                cached.extend(drafter.layers.iter().cloned());
            }
            let rank = Rank {
                engine,
                capacity: self.gpu.memory,
                weights: weights::term(
                    bytes,
                    drafts,
                    precision,
                    layout,
                    self.model.quantization.as_ref(),
                ),
                activation: Activation::of(self.model, &layers, engine, layout, index == last),
                buffers: Buffers::of(self.model, &layers, engine, layout),
            };
            let sequence = SequenceKv::of(
                &cached,
                precision.kv,
                u64::from(layout.tp),
                engine.block_size,
            );
            let budget = divide(&rank, sequence);
            let fuller = fullest.as_ref().is_none_or(|other| {
                // A stage of recurrent layers alone has no blocks, but room for any length.
                (budget.kv_tokens, budget.blocks, Reverse(budget.shortfall))
                    < (other.kv_tokens, other.blocks, Reverse(other.shortfall))
            });
            if fuller {
                fullest = Some(budget);
            }
        }
        // `split_layers` gives one stage at least.
        let mut fullest = fullest.unwrap_or_else(|| MemoryBudget {
            capacity: self.gpu.memory,
            terms: Vec::new(),
            kv: Bytes::ZERO,
            shortfall: None,
            sequence: SequenceKv::default(),
            block_bytes: Bytes::ZERO,
            blocks: 0,
            kv_tokens: 0,
            source: BlockSource::Derived,
        });
        if let Some(blocks) = engine.num_gpu_blocks {
            measured(&mut fullest, blocks);
        }
        fullest
    }
}

/// The budget of a pool's fullest stage.
pub(super) fn budget(
    model: &Model,
    draft: Option<&Model>,
    pool: &Pool,
    gpu: &Gpu,
    layout: Layout,
) -> MemoryBudget {
    Sizer::new(model, gpu, draft).budget(&pool.engine, pool.precision, layout)
}

fn divide(rank: &Rank<'_>, sequence: SequenceKv) -> MemoryBudget {
    let Division { terms, shortfall } = match rank.engine.kind {
        EngineKind::Vllm => vllm::divide(rank),
        EngineKind::Sglang => sglang::divide(rank),
        EngineKind::TensorRtLlm => tensorrt_llm::divide(rank),
    };
    let taken: Bytes = terms.iter().map(|term| term.bytes).sum();
    let kv = rank.capacity - taken;
    let block_bytes = Bytes::new(sequence.block_bytes());
    let blocks = kv.get().checked_div(block_bytes.get()).unwrap_or(0);
    MemoryBudget {
        capacity: rank.capacity,
        terms,
        kv,
        shortfall,
        block_bytes,
        blocks,
        kv_tokens: sequence.longest(kv.get()),
        sequence,
        source: BlockSource::Derived,
    }
}

/// Measured blocks overrule our estimates of the rest, but not the size of the GPU.
fn measured(budget: &mut MemoryBudget, blocks: u64) {
    let bytes = blocks.saturating_mul(budget.block_bytes.get());
    budget.blocks = blocks;
    budget.kv_tokens = budget.sequence.longest(bytes);
    budget.source = BlockSource::Measured;
    let weights = budget.terms.first().map_or(Bytes::ZERO, |term| term.bytes);
    let taken = Bytes::new(bytes.saturating_add(weights.get()));
    budget.shortfall = (taken > budget.capacity).then(|| taken - budget.capacity);
}

/// The part of what an engine leaves alone that CUDA graphs take, and the rest of it.
fn graphs_and_reserve(
    rank: &Rank<'_>,
    reserve: Bytes,
    what: String,
    source: &'static str,
) -> [MemoryTerm; 2] {
    let graphs = rank.buffers.graphs.bytes.min(reserve);
    [
        MemoryTerm {
            bytes: graphs,
            ..rank.buffers.graphs.clone()
        },
        MemoryTerm {
            name: "Not used by the engine",
            bytes: reserve - graphs,
            formula: what,
            source,
        },
    ]
}
