//! Kernels of a layer's mixer that depend on its tokens alone: projections, norms, rotary,
//! convolutions, cache writes, gates. Matrices that engines fuse are one GEMM.

use super::{Gemm, Kernels, recurrent, rows, stream};
use crate::cost::calibrated::DeltaHeads;
use crate::cost::operator::{Class, Operator, RowKind};
use crate::model::{Attention, Compressed, Gate, Gqa, Indexer, Mla};
use crate::units::real;

/// Kernels being collected: the layer's width, the formats, and tokens.
pub(super) struct Mixer<'a> {
    pub(super) h: f64,
    pub(super) gemm: Gemm,
    pub(super) tokens: f64,
    pub(super) kernels: &'a mut Kernels,
}

impl Mixer<'_> {
    pub(super) fn linear(&mut self, k: f64, n: f64) {
        let gemm = self.gemm.linear(self.tokens, k, n);
        self.kernels.push((Class::Linear, gemm));
    }

    /// A matrix that no checkpoint quantises.
    fn wide(&mut self, k: f64, n: f64) {
        let gemm = Gemm::WIDE.linear(self.tokens, k, n);
        self.kernels.push((Class::Linear, gemm));
    }

    /// One kernel that reads or writes so many values per token.
    pub(super) fn stream(&mut self, values: f64) {
        self.kernels.push(stream(self.tokens, values));
    }

    /// A delta net's convolution.
    pub(super) fn convolve(&mut self, heads: DeltaHeads) {
        let tokens = self.tokens;
        let operator = Operator::Convolution { tokens, heads };
        self.kernels.push((Class::Elementwise, operator));
    }

    /// One kernel over rows of each token, so many values wide, in and out.
    fn rows(&mut self, kind: RowKind, each: f64, width: f64) {
        let count = self.tokens * each;
        self.kernels
            .push(rows(Class::Elementwise, kind, count, width, 4.0));
    }
}

/// Adds those of a rank's layer.
pub(super) fn of(attention: &Attention, h: f64, gemm: Gemm, tokens: f64, kernels: &mut Kernels) {
    let mut mixer = Mixer {
        h,
        gemm,
        tokens,
        kernels,
    };
    match attention {
        Attention::Gqa(own) => gqa(own, &mut mixer),
        Attention::Mla(own) => mla(own, &mut mixer),
        Attention::Compressed(own) => compressed(own, &mut mixer),
        Attention::Recurrent(own) => recurrent::projections(own, &mut mixer),
        Attention::Parallel {
            attention,
            recurrent,
        } => {
            gqa(attention, &mut mixer);
            recurrent::projections(recurrent, &mut mixer);
            // Their sum.
            mixer.stream(3.0 * h);
        }
        Attention::Matrix => mixer.linear(h, h),
        Attention::None => {}
    }
}

fn gqa(gqa: &Gqa, mixer: &mut Mixer<'_>) {
    let h = mixer.h;
    let heads = real(gqa.heads);
    // Heads are copied where TP exceeds them.
    let kv = if gqa.shares_kv {
        0.0
    } else {
        real(gqa.kv_heads)
    };
    let (d, v) = (real(gqa.head_dim), real(gqa.value_dim()));
    let values = if gqa.keys_are_values { 0.0 } else { kv * v };
    let gated = match gqa.gate {
        Gate::Full => heads * v,
        Gate::Head | Gate::None => 0.0,
    };
    match gqa.q_rank {
        // MFA: the query's first matrix goes with keys and values, a norm, its second matrix.
        Some(rank) => {
            mixer.linear(h, real(rank) + kv * d + values + gated);
            mixer.rows(RowKind::Norm, 1.0, real(rank));
            mixer.linear(real(rank), heads * d);
        }
        None => mixer.linear(h, heads * d + kv * d + values + gated),
    }
    // Norms of queries and keys, rotary, then the cache write.
    if gqa.qk_norm {
        mixer.rows(RowKind::NormOfHeads, heads + kv, d);
    }
    mixer.rows(RowKind::Rope, 1.0, (heads + kv) * d);
    if kv > 0.0 {
        mixer.stream(2.0 * kv * (d + v));
    }
    if let Some(own) = gqa.indexer {
        indexer(own, gqa.q_rank.map_or(h, real), mixer);
    }
    gate(gqa.gate, heads, v, mixer);
    mixer.linear(heads * v, h);
}

/// The gate's own product where it has one, and its multiplication.
fn gate(gate: Gate, heads: f64, v: f64, mixer: &mut Mixer<'_>) {
    match gate {
        Gate::None => {}
        Gate::Full => mixer.stream(3.0 * heads * v),
        Gate::Head => {
            mixer.wide(mixer.h, heads);
            mixer.stream(2.0 * heads * v);
        }
    }
}

fn mla(mla: &Mla, mixer: &mut Mixer<'_>) {
    let h = mixer.h;
    let heads = real(mla.heads);
    let (qk, v) = (real(mla.nope_dim + mla.rope_dim), real(mla.v_dim));
    let latent = real(mla.kv_rank + mla.rope_dim);
    match mla.q_rank {
        // Query and KV down-projections are one GEMM.
        Some(rank) => {
            mixer.linear(h, real(rank) + latent);
            mixer.linear(real(rank), heads * qk);
            mixer.rows(RowKind::Norm, 1.0, real(rank) + latent);
        }
        None => {
            mixer.linear(h, heads * qk + latent);
            mixer.rows(RowKind::Norm, 1.0, latent);
        }
    }
    mixer.stream(4.0 * latent);
    if let Some(own) = mla.indexer {
        indexer(own, mla.q_rank.map_or(h, real), mixer);
    }
    if mla.gate == Gate::Full {
        mixer.linear(h, heads * v);
    }
    gate(mla.gate, heads, v, mixer);
    mixer.linear(heads * v, h);
}

/// An indexer's queries, key and head weights, whole on every rank (vLLM's `Indexer` in
/// `deepseek_v2.py` has replicated linears); rotary and rounding to FP8 of queries and key.
fn indexer(own: Indexer, queries_from: f64, mixer: &mut Mixer<'_>) {
    if own.shared {
        return;
    }
    let (heads, dim) = (real(own.heads), real(own.dim));
    mixer.linear(queries_from, heads * dim);
    let weights = if own.by_blocks { 0.0 } else { heads };
    mixer.linear(mixer.h, dim + weights);
    mixer.stream(2.0 * (heads + 1.0) * dim);
}

fn compressed(own: &Compressed, mixer: &mut Mixer<'_>) {
    let h = mixer.h;
    let (heads, d) = (real(own.heads), real(own.head_dim));
    let rank = real(own.q_rank);
    // Query down-projection and the one key-value are one GEMM, as MLA's; then their norms.
    mixer.linear(h, rank + d);
    mixer.stream(2.0 * (rank + d));
    mixer.linear(rank, heads * d);
    // Norm and rotary of the heads; the entry's write.
    mixer.stream(2.0 * heads * d);
    mixer.stream(2.0 * d);
    if own.ratio > 0 {
        let overlap = real(own.overlap());
        // Key-values and gates of the compressor; the pooling reads them, its entries are few.
        mixer.linear(h, 2.0 * overlap * d);
        mixer.stream(4.0 * overlap * d);
        if let Some(index) = own.indexer.filter(|index| !index.shared) {
            let (scoring, dim) = (real(index.heads), real(index.dim));
            mixer.linear(rank, scoring * dim);
            mixer.linear(h, 2.0 * overlap * dim + scoring);
            mixer.stream(2.0 * scoring * dim + 4.0 * overlap * dim);
        }
    }
    // The first output matrix is block-diagonal: every head meets its group's columns only.
    mixer.linear(heads * d, real(own.out_rank));
    mixer.linear(real(own.out_groups) * real(own.out_rank), h);
}
