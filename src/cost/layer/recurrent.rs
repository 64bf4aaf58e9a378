//! Kernels of a recurrent mixer: projections and convolution by tokens, and the recurrence itself.
//!
//! A decode step reads and writes the whole state of every sequence. A prompt is computed in
//! chunks of `C` tokens: inside a chunk products of `C × C`, between chunks the state
//! (Gated DeltaNet, arXiv 2412.06464 §3; Mamba-2's SSD, arXiv 2405.21060 §6; lightning attention,
//! arXiv 2401.04658). FLOPs are linear in the tokens; the chunks' states pass through memory.

use super::projections::Mixer;
use crate::catalog::Dtype;
use crate::cost::calibrated::DeltaHeads;
use crate::model::{
    Attention, DeltaNet, Extent, Mamba1, Mamba2, Recurrent, layer_cache, recurrence_flops,
};
use crate::units::real;

/// Tokens of a chunk: flash-linear-attention's `chunk_gated_delta_rule` (64), Mamba-2's published
/// `chunk_size` (256), vLLM's `lightning_attn.py` `BLOCK` (256).
const DELTA_CHUNK: f64 = 64.0;
const SSD_CHUNK: f64 = 256.0;
const LIGHTNING_CHUNK: f64 = 256.0;

/// A rank's recurrence, as far as it is the same for every batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::cost) struct Recurrence {
    /// FLOPs of a token's step.
    pub(super) step_flops: f64,
    /// FLOPs of a prompt's token.
    pub(super) scan_flops: f64,
    /// Bytes a token brings and leaves.
    pub(super) token_bytes: f64,
    /// Bytes a prompt's token moves, its share of the chunks' states included.
    pub(super) scan_bytes: f64,
    /// Bytes of a sequence's state.
    pub(super) state_bytes: f64,
    /// Heads, if it is a gated delta net with one decay per head.
    pub(super) delta: Option<DeltaHeads>,
}

impl Recurrence {
    /// Of a rank's mixer.
    pub(super) fn of(own: &Recurrent) -> Self {
        let step_flops = real(recurrence_flops(own));
        // Values in and out, FLOPs of the chunked form, bytes of states between chunks per token.
        let (values, scan_flops, states) = match own {
            Recurrent::DeltaNet(delta) => delta_scan(delta),
            Recurrent::Lightning {
                heads, head_dim, ..
            } => {
                let (n, d) = (real(*heads), real(*head_dim));
                // Scores and values of a chunk; its outer products; the state's part.
                let flops = n * (4.0 * LIGHTNING_CHUNK * d + 4.0 * d * d);
                // FP32 states, written, summed up, read.
                (4.0 * n * d, flops, 16.0 * n * d * d / LIGHTNING_CHUNK)
            }
            Recurrent::Mamba2(mamba) => ssd_scan(mamba),
            Recurrent::Mamba1(Mamba1 { inner, state, .. }) => {
                // Token by token; input, step size, gate and output, B and C.
                (4.0 * real(*inner) + 2.0 * real(*state), step_flops, 0.0)
            }
            Recurrent::ShortConv { width, .. } => (4.0 * real(*width), step_flops, 0.0),
            Recurrent::RgLru { width, .. } => (4.0 * real(*width), step_flops, 0.0),
            // Unknown but for its size: its step's work for every token.
            Recurrent::Other { .. } => (0.0, step_flops, 0.0),
        };
        let cache = layer_cache(&Attention::Recurrent(own.clone()), Dtype::Bf16, 1);
        let state_bytes = cache
            .iter()
            .filter(|part| part.extent == Extent::Once)
            .map(|part| part.entry_bytes().as_f64())
            .sum();
        Self {
            step_flops,
            scan_flops,
            token_bytes: 2.0 * values,
            scan_bytes: 2.0 * values + states,
            state_bytes,
            delta: match own {
                Recurrent::DeltaNet(delta) if !delta.channel_decay => Some(heads_of(delta)),
                _ => None,
            },
        }
    }
}

fn heads_of(delta: &DeltaNet) -> DeltaHeads {
    DeltaHeads {
        keys: real(delta.key_heads),
        values: real(delta.value_heads),
        key_dim: real(delta.key_dim),
        value_dim: real(delta.value_dim),
    }
}

fn delta_scan(delta: &DeltaNet) -> (f64, f64, f64) {
    let n = real(delta.value_heads);
    let (k, v) = (real(delta.key_dim), real(delta.value_dim));
    // K·Kᵀ, W, Q·Kᵀ of width k and U, scores · V of width v inside a chunk; W·S, Kᵀ·V, Q·S.
    let flops = n * (2.0 * DELTA_CHUNK * (3.0 * k + 2.0 * v) + 6.0 * k * v);
    // W, U and the corrected values pass through memory as well: written and read.
    let values = 2.0 * real(delta.key_heads) * k + 2.0 * n * v + 2.0 * (n * k + 2.0 * n * v);
    // One state per chunk in the keys' format, written and read.
    (values, flops, 4.0 * n * k * v / DELTA_CHUNK)
}

fn ssd_scan(mamba: &Mamba2) -> (f64, f64, f64) {
    let n = real(mamba.heads);
    let (p, s, groups) = (real(mamba.head_dim), real(mamba.state), real(mamba.groups));
    // C·Bᵀ once per group, its product with the inputs per head; chunk states and their output.
    let flops = 2.0 * SSD_CHUNK * (groups * s + n * p) + 4.0 * n * p * s;
    // Scores of a chunk, written and read.
    let values = 2.0 * n * p + 2.0 * groups * s + 2.0 * groups * SSD_CHUNK;
    // FP32 states: written, passed on (read and written), read.
    (values, flops, 16.0 * n * p * s / SSD_CHUNK)
}

/// Adds projections, convolution, norm and gate of a rank's mixer.
pub(super) fn projections(own: &Recurrent, mixer: &mut Mixer<'_>) {
    let h = mixer.h;
    match own {
        Recurrent::DeltaNet(delta) => delta_projections(delta, mixer),
        Recurrent::Lightning {
            heads,
            head_dim,
            gated,
        } => {
            let w = real(*heads) * real(*head_dim);
            mixer.linear(h, 3.0 * w);
            mixer.stream(6.0 * w);
            if *gated {
                mixer.linear(h, w);
                mixer.stream(3.0 * w);
            }
            mixer.linear(w, h);
        }
        Recurrent::Mamba2(mamba) => {
            let inner = real(mamba.heads) * real(mamba.head_dim);
            let shared = 2.0 * real(mamba.groups) * real(mamba.state);
            mixer.linear(h, 2.0 * inner + shared + real(mamba.heads));
            mixer.stream(2.0 * (inner + shared));
            mixer.stream(3.0 * inner);
            mixer.linear(inner, h);
        }
        Recurrent::Mamba1(mamba) => {
            let (inner, rank) = (real(mamba.inner), real(mamba.dt_rank));
            mixer.linear(h, 2.0 * inner);
            mixer.stream(2.0 * inner);
            mixer.linear(inner, rank + 2.0 * real(mamba.state));
            mixer.linear(rank, inner);
            mixer.linear(inner, h);
        }
        Recurrent::ShortConv { width, .. } => {
            let w = real(*width);
            mixer.linear(h, 3.0 * w);
            mixer.linear(w, h);
        }
        Recurrent::RgLru { width, blocks, .. } => {
            let w = real(*width);
            mixer.linear(h, 2.0 * w);
            mixer.stream(2.0 * w);
            // Two gates of block-diagonal matrices.
            mixer.linear(w, 2.0 * real(width / (*blocks).max(1)));
            mixer.stream(3.0 * w);
            mixer.linear(w, h);
        }
        Recurrent::Other { parameters, .. } => mixer.linear(h, real(*parameters) / h),
    }
}

fn delta_projections(delta: &DeltaNet, mixer: &mut Mixer<'_>) {
    let h = mixer.h;
    let key = real(delta.key_heads) * real(delta.key_dim);
    let value = real(delta.value_heads) * real(delta.value_dim);
    let heads = real(delta.value_heads);
    if delta.channel_decay {
        mixer.linear(h, 2.0 * key + value);
        // Decay and gate through low-rank matrices; their inputs with the write strengths.
        mixer.linear(h, real(delta.key_dim) + real(delta.value_dim) + heads);
        mixer.linear(real(delta.key_dim), key);
        mixer.linear(real(delta.value_dim), value);
        mixer.stream(2.0 * key);
    } else {
        mixer.linear(h, 2.0 * key + 2.0 * value);
        mixer.linear(h, 2.0 * heads);
    }
    // Convolution; gated norm of the output.
    mixer.convolve(heads_of(delta));
    mixer.stream(3.0 * value);
    mixer.linear(value, h);
}
