//! The activation peak of an engine's dummy run, from shapes.
//!
//! A profile run (vLLM 0.11 `v1/worker/gpu_model_runner.py`, `profile_run`) does two things after
//! each other, and the larger of their peaks counts:
//!
//! 1. **Forward** over `max_num_batched_tokens` tokens: the widest set of tensors one layer keeps
//!    at once (residual, normed input, and QKV with the attention output, or gate-up with their
//!    product; a fused MoE kernel holds those of every routed copy).
//! 2. **Sampling** for `max_num_seqs` rows with top-k and top-p. PyTorch sorts the rows, and the
//!    sort is what is large. Per logit: BF16 logits 2, FP32 copy 4, sorted values 4 and 64-bit
//!    indices 8, the indices to start from 8, the radix sort's second buffers of both 4 + 8:
//!    38 bytes for 128 rows and more (`aten/src/ATen/native/cuda/Sort.cu`, `segmented_sort_pairs`);
//!    fewer rows are sorted whole, with two pairs of (index, row) 8 + 8, keys 4 and second buffers
//!    4 + 8 in place of those: 50. The hidden states and the residual of all tokens are still alive.
//!
//! Measured on an H100 (`cases.md` T39): 5.64 GiB for Qwen3-32B, of which the rule gives 5.66.

use super::MemoryTerm;
use crate::model::{Attention, Ffn, Gqa, LayerRun, Model, Recurrent};
use crate::plan::engine::Engine;
use crate::plan::pool::Layout;
use crate::units::Bytes;

/// Rows from which PyTorch sorts segment by segment.
const SEGMENTED: u64 = 128;
/// Bytes per logit of a segmented sort, and of a whole one.
const SORT: [u64; 2] = [38, 50];
/// Bytes per logit where a fused kernel samples without sorting: BF16 logits, their FP32 copy,
/// probabilities.
const FUSED: u64 = 2 + 4 + 4;

/// What the dummy run holds.
pub(super) struct Activation {
    tokens: u64,
    per_token: u64,
    hidden: u64,
    /// Rows that are sampled, and logits of each; 0 rows where this stage has no head.
    rows: u64,
    vocab: u64,
}

/// A peak and how it came about.
pub(super) struct Peak {
    bytes: u64,
    formula: String,
    source: &'static str,
}

impl Activation {
    /// Of a stage with these layers.
    pub(super) fn of(
        model: &Model,
        layers: &[LayerRun],
        engine: &Engine,
        layout: Layout,
        has_head: bool,
    ) -> Self {
        let tokens = u64::from(engine.max_num_batched_tokens);
        let rows = u64::from(engine.max_num_seqs).min(tokens);
        Self {
            tokens,
            per_token: layers
                .iter()
                .map(|run| layer(run, model.hidden, layout))
                .max()
                .unwrap_or(0),
            hidden: model.hidden,
            rows: if has_head { rows } else { 0 },
            vocab: model.vocab,
        }
    }

    fn forward(&self) -> u64 {
        self.tokens.saturating_mul(self.per_token)
    }

    /// Sampling at so many bytes per logit, with hidden states and residual of all tokens alive.
    fn sampling(&self, per_logit: u64) -> u64 {
        if self.rows == 0 {
            return 0;
        }
        let logits = self.rows.saturating_mul(self.vocab);
        let alive = self.tokens.saturating_mul(self.hidden).saturating_mul(4);
        logits.saturating_mul(per_logit).saturating_add(alive)
    }

    fn peak(&self, per_logit: u64, source: &'static str) -> Peak {
        let (forward, sampling) = (self.forward(), self.sampling(per_logit));
        let formula = if sampling > forward {
            format!(
                "sampling: {} rows × {} logits × {per_logit} B + {} tokens × 2 × {} × 2 B; larger than the forward pass ({} tokens × {} B)",
                self.rows, self.vocab, self.tokens, self.hidden, self.tokens, self.per_token
            )
        } else {
            format!(
                "{} tokens × {} B of the widest layer; larger than sampling {} rows",
                self.tokens, self.per_token, self.rows
            )
        };
        Peak {
            bytes: forward.max(sampling),
            formula,
            source,
        }
    }

    /// vLLM's: forward, or sampling with a sort.
    pub(super) fn vllm(&self) -> Peak {
        let per_logit = SORT[usize::from(self.rows < SEGMENTED)];
        self.peak(
            per_logit,
            "vLLM 0.11 profile_run; PyTorch Sort.cu; checked on H100 (within 0.1 GiB for three models)",
        )
    }

    /// Forward, or sampling by a kernel that need not sort.
    pub(super) fn fused(&self) -> Peak {
        self.peak(
            FUSED,
            "estimate from shapes; FlashInfer sampling does not sort",
        )
    }

    /// A dummy prefill: logits of a handful of rows.
    pub(super) fn prefill(&self) -> Peak {
        Peak {
            bytes: self.forward(),
            formula: format!(
                "{} tokens × {} B of the widest layer",
                self.tokens, self.per_token
            ),
            source: "estimate from shapes; TensorRT-LLM 1.0 profiles a prefill of max_num_tokens",
        }
    }
}

impl Peak {
    /// As a term.
    pub(super) fn term(self) -> MemoryTerm {
        MemoryTerm {
            name: "Activation peak",
            bytes: Bytes::new(self.bytes),
            formula: self.formula,
            source: self.source,
        }
    }
}

/// Bytes alive at once while one layer works on one token.
fn layer(run: &LayerRun, hidden: u64, layout: Layout) -> u64 {
    let tp = u64::from(layout.tp.max(1));
    let mixer = match &run.attention {
        Attention::Gqa(gqa) => self::gqa(gqa, tp),
        Attention::Mla(mla) => {
            mla.heads.div_ceil(tp) * (2 * (mla.nope_dim + mla.rope_dim) + 2 * mla.v_dim)
                + mla.q_rank.unwrap_or(0)
                + mla.kv_rank
                + mla.rope_dim
        }
        Attention::Compressed(own) => {
            2 * own.heads.div_ceil(tp) * own.head_dim
                + own.q_rank
                + own.head_dim
                + own.out_groups.div_ceil(tp) * own.out_rank
        }
        Attention::Recurrent(own) => recurrent(own, tp),
        Attention::Parallel {
            attention,
            recurrent: own,
        } => gqa(attention, tp).saturating_add(recurrent(own, tp)),
        Attention::Matrix => hidden,
        Attention::None => 0,
    };
    let ffn = match &run.ffn {
        // Gate and up, then their product.
        Ffn::Dense { intermediate, .. } => 3 * intermediate.div_ceil(tp),
        // The fused MoE kernel keeps gate-up, product and output of every routed copy.
        Ffn::Moe(moe) => {
            let width = moe.latent.unwrap_or(hidden);
            let copy = 3 * moe.intermediate.div_ceil(u64::from(layout.moe_tp())) + width;
            moe.top_k
                .saturating_mul(copy)
                .saturating_add(3 * moe.shared_intermediate.div_ceil(tp))
        }
        Ffn::Matrix => hidden,
        Ffn::None => 0,
    };
    // Residual and normed input stay alive.
    2_u64.saturating_mul((2 * hidden).saturating_add(mixer.max(ffn)))
}

/// Queries, keys, values, and the output of as many values as there are query heads.
fn gqa(own: &Gqa, tp: u64) -> u64 {
    let heads = own.heads.div_ceil(tp);
    let kv = own.kv_heads.div_ceil(tp);
    (heads + kv).saturating_mul(own.head_dim.saturating_add(own.value_dim()))
        + own.q_rank.unwrap_or(0)
}

/// Inputs of the recurrence, its convolution and its output.
fn recurrent(own: &Recurrent, tp: u64) -> u64 {
    match own {
        Recurrent::DeltaNet(delta) => {
            let key = delta.key_heads.div_ceil(tp) * delta.key_dim;
            let value = delta.value_heads.div_ceil(tp) * delta.value_dim;
            2 * (2 * key + value) + 2 * value
        }
        Recurrent::Lightning {
            heads, head_dim, ..
        } => 5 * heads.div_ceil(tp) * head_dim,
        Recurrent::Mamba2(mamba) => {
            let inner = mamba.heads.div_ceil(tp) * mamba.head_dim;
            4 * inner + 4 * mamba.groups.div_ceil(tp) * mamba.state
        }
        Recurrent::Mamba1(mamba) => 4 * mamba.inner.div_ceil(tp),
        Recurrent::ShortConv { width, .. } | Recurrent::RgLru { width, .. } => {
            4 * width.div_ceil(tp)
        }
        Recurrent::Other { state_values, .. } => state_values.div_ceil(tp),
    }
}
