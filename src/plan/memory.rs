//! What fills a GPU: weights, activation peak, runtime buffers, reserve; the rest is KV blocks.
//!
//! The rule is vLLM's: the engine may use `gpu_memory_utilization` of the memory the driver
//! shows; a dummy run at the full token budget measures the peak; what is left becomes blocks.
//! Here the dummy run is estimated from shapes, and each term says how.

use super::frozen::StageRun;
use super::pool::{Layout, Pool};
use super::sequence::SequenceKv;
use crate::catalog::Gpu;
use crate::model::{
    Attention, Ffn, LayerRun, Model, Precision, Shard, embedding_bytes, head_bytes, layer_weights,
};
use crate::units::Bytes;

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

/// What the CUDA context keeps of the memory the driver shows: PyTorch sees 79.18 of 79.65 GiB on an
/// H100.
const DRIVER: Bytes = Bytes::new(481 << 20);
/// CUDA context and allocator, without peers: 0.14 GiB beside PyTorch at TP 1 (vLLM 0.11, H100).
const RUNTIME: u64 = 144 << 20;
/// Communicator buffers per peer: about 390 MiB at TP 8.
const PER_PEER: u64 = 35 << 20;
/// Bytes per logit of the sampler's dummy run: BF16 logits, their FP32 copy, and a sort's values
/// and 64-bit indices.
const LOGIT_BYTES: u64 = 2 + 4 + 4 + 8;

/// Layers of each pipeline stage: equal shares, a remainder going to the stages before the last,
/// as vLLM deals them (the last one has the LM head, the first the embedding).
pub(super) fn split_layers(model: &Model, stages: u32) -> Vec<Vec<StageRun>> {
    let layers = model.layer_count();
    let stages = stages.clamp(1, layers.max(1));
    let mut sizes = vec![layers / stages; stages as usize];
    let last = sizes.len() - 1;
    for extra in 0..(layers % stages) as usize {
        let at = (last + sizes.len() - 1 - extra % sizes.len()) % sizes.len();
        sizes[at] += 1;
    }
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

fn stage_weights(
    model: &Model,
    stage: &[StageRun],
    first: bool,
    last: bool,
    layout: Layout,
    precision: Precision,
) -> Bytes {
    let tp = u64::from(layout.tp);
    let mut bytes: Bytes = stage
        .iter()
        .map(|run| {
            layer_weights(model, &model.layers[run.run], precision, shard(layout)).total()
                * u64::from(run.count)
        })
        .sum();
    if first {
        bytes += embedding_bytes(model, tp);
    }
    if last {
        bytes += head_bytes(model, tp);
        if model.tied_embeddings && !first {
            bytes += embedding_bytes(model, tp);
        }
        bytes += Bytes::new(2 * model.hidden);
    }
    bytes
}

/// Widest set of activations alive at once while one layer works on one token, bytes.
fn layer_activation(run: &LayerRun, hidden: u64, layout: Layout) -> u64 {
    let tp = u64::from(layout.tp);
    let moe_tp = u64::from(layout.moe_tp());
    let attention = match &run.attention {
        Attention::Gqa(gqa) => {
            (2 * gqa.heads.div_ceil(tp) + 2 * gqa.kv_heads.div_ceil(tp)) * gqa.head_dim
        }
        Attention::Mla(mla) => {
            mla.heads.div_ceil(tp) * (2 * (mla.nope_dim + mla.rope_dim) + 2 * mla.v_dim)
                + mla.q_rank.unwrap_or(0)
                + mla.kv_rank
                + mla.rope_dim
        }
        other => 4 * other.heads().div_ceil(tp) * 128,
    };
    let ffn = match &run.ffn {
        // Gate and up, then their product.
        Ffn::Dense { intermediate, .. } => 3 * intermediate.div_ceil(tp),
        // The fused MoE kernel keeps gate-up, product and output of every routed copy.
        Ffn::Moe(moe) => {
            moe.top_k * (3 * moe.intermediate.div_ceil(moe_tp) + hidden)
                + 3 * moe.shared_intermediate.div_ceil(tp)
        }
        Ffn::Matrix => hidden,
        Ffn::None => 0,
    };
    // Residual and normed input stay alive.
    2 * (2 * hidden + attention.max(ffn))
}

/// The budget of a pool's fullest stage.
pub(super) fn budget(model: &Model, pool: &Pool, gpu: &Gpu, layout: Layout) -> MemoryBudget {
    let stages = split_layers(model, layout.pp);
    let last = stages.len() - 1;
    let engine = &pool.engine;
    let sequence_of = |stage: &[StageRun]| {
        let layers: Vec<LayerRun> = stage
            .iter()
            .map(|run| LayerRun {
                count: run.count,
                ..model.layers[run.run].clone()
            })
            .collect();
        SequenceKv::of(
            &layers,
            pool.precision.kv,
            u64::from(layout.tp),
            engine.block_size,
        )
    };
    let budgets = stages.iter().enumerate().map(|(index, stage)| {
        let weights = stage_weights(
            model,
            stage,
            index == 0,
            index == last,
            layout,
            pool.precision,
        );
        one_stage(
            model,
            pool,
            gpu,
            layout,
            stage,
            weights,
            index == last,
            sequence_of(stage),
        )
    });
    let mut fullest = budgets
        .min_by_key(|budget| {
            // A stage of recurrent layers alone has no blocks, but room for any length.
            let room = (budget.kv_tokens, budget.blocks);
            (room, std::cmp::Reverse(budget.shortfall))
        })
        .unwrap_or_else(|| {
            one_stage(
                model,
                pool,
                gpu,
                layout,
                &[],
                Bytes::ZERO,
                true,
                SequenceKv::default(),
            )
        });
    if let Some(blocks) = engine.num_gpu_blocks {
        fullest.blocks = blocks;
        fullest.kv_tokens = fullest
            .sequence
            .longest(blocks.saturating_mul(fullest.block_bytes.get()));
        fullest.source = BlockSource::Measured;
        // Measured blocks overrule our estimates of the rest, but not the size of the GPU.
        let weights = fullest.terms.first().map_or(Bytes::ZERO, |term| term.bytes);
        let taken = Bytes::new(
            blocks
                .saturating_mul(fullest.block_bytes.get())
                .saturating_add(weights.get()),
        );
        fullest.shortfall = (taken > fullest.capacity).then(|| taken - fullest.capacity);
    }
    fullest
}

#[expect(
    clippy::too_many_arguments,
    reason = "one stage of the budget above, nothing shared"
)]
fn one_stage(
    model: &Model,
    pool: &Pool,
    gpu: &Gpu,
    layout: Layout,
    stage: &[StageRun],
    weights: Bytes,
    has_head: bool,
    sequence: SequenceKv,
) -> MemoryBudget {
    let engine = &pool.engine;
    let capacity = gpu.memory;
    let shown = capacity - DRIVER;
    let reserve = Bytes::from_f64_ceil(shown.as_f64() * (1.0 - engine.gpu_memory_utilization));
    let tokens = u64::from(engine.max_num_batched_tokens);
    let per_token = stage
        .iter()
        .map(|run| layer_activation(&model.layers[run.run], model.hidden, layout))
        .max()
        .unwrap_or(0);
    let logits = if has_head {
        u64::from(engine.max_num_seqs)
            .saturating_mul(model.vocab)
            .saturating_mul(LOGIT_BYTES)
    } else {
        0
    };
    let activation = Bytes::new(tokens.saturating_mul(per_token).saturating_add(logits));
    let peers = u64::from(layout.gpus().saturating_sub(1)).min(63);
    let runtime = Bytes::new(RUNTIME + PER_PEER * peers);
    let terms = vec![
        MemoryTerm {
            name: "Weights",
            bytes: weights,
            formula: format!(
                "{} weights of the fullest stage, TP {} · EP {} · MoE-TP {}; embedding, head, router and norms BF16",
                pool.precision.weights.name(),
                layout.tp,
                layout.ep,
                layout.moe_tp()
            ),
            source: "shapes of the model",
        },
        MemoryTerm {
            name: "Activation peak",
            bytes: activation,
            formula: format!(
                "{tokens} tokens × {per_token} B of the widest layer + {logits} B of logits and their sort for {} sequences (estimate of the engine's dummy run)",
                engine.max_num_seqs
            ),
            source: "estimate",
        },
        MemoryTerm {
            name: "Runtime and communication",
            bytes: runtime,
            formula: format!("144 MiB CUDA context + 35 MiB × {peers} peers (NCCL)"),
            source: "vLLM 0.11 on H100",
        },
        MemoryTerm {
            name: "Not used by the engine",
            bytes: reserve + DRIVER,
            formula: format!(
                "1 − gpu_memory_utilization ({}) of what PyTorch sees, where CUDA graphs go, + {:.2} GiB the CUDA context keeps",
                engine.gpu_memory_utilization,
                DRIVER.gib()
            ),
            source: "vLLM 0.11 on H100",
        },
    ];
    let taken: Bytes = terms.iter().map(|term| term.bytes).sum();
    let kv = capacity - taken;
    let shortfall = (taken > capacity).then(|| taken - capacity);
    let block_bytes = Bytes::new(sequence.block_bytes());
    let blocks = kv.get().checked_div(block_bytes.get()).unwrap_or(0);
    MemoryBudget {
        capacity,
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
