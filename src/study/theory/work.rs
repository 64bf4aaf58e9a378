//! What one decoded token takes: FLOPs and bytes, all layers.

use crate::catalog::Dtype;
use crate::model::{
    Attention, Model, attended, attention_flops, cache_bytes_read, ffn_flops_per_token,
    head_flops_per_token, linear_flops_per_token, projection_flops_per_token,
};
use crate::units::real;

/// How FLOPs are counted where the literature and the kernels differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Convention {
    /// As Step-3's tables count: an MLA head multiplies the whole cached vector, rotary key
    /// included, with the probabilities too (576 for both products of DeepSeek-V3, not 576 and
    /// 512); routers, embedding and LM head are left out. The default, so that numbers stand
    /// beside published ones; for DeepSeek-V3 its core is 5.9 % above what is executed.
    #[default]
    Step3,
    /// What kernels multiply: values are the latent alone (DeepSeek-V2, arXiv 2405.04434 §2.1.3),
    /// and the attention GPUs also run routers and LM head, where AFD puts them (arXiv 2507.19427
    /// §4).
    Executed,
}

impl Convention {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Step3, Self::Executed];

    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Step3 => "step3",
            Self::Executed => "executed",
        }
    }
}

/// The terms of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Terms {
    /// Format of the KV cache.
    pub kv: Dtype,
    /// Format of weights and GEMMs. A GPU without a unit for it multiplies in the next wider one
    /// (A800 and 910B: BF16 for FP8), as [`Peaks::of`](crate::catalog::Peaks::of) says.
    pub gemm: Dtype,
    /// How FLOPs are counted.
    pub convention: Convention,
}

impl Default for Terms {
    /// Step-3's: 8-bit KV, FP8 where there is a unit for it.
    fn default() -> Self {
        Self {
            kv: Dtype::Fp8,
            gemm: Dtype::Fp8,
            convention: Convention::Step3,
        }
    }
}

impl Terms {
    /// The format attention's core multiplies in: the wider of cache and GEMMs.
    #[must_use]
    pub const fn core(self) -> Dtype {
        if self.kv.bits() > self.gemm.bits() {
            self.kv
        } else {
            self.gemm
        }
    }
}

/// What one decoded token takes, all layers, one multiply-add being two FLOPs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecodeWork {
    /// FLOPs of attention itself at the context: scores and weighted sums over the entries
    /// attended to, an indexer's scores, a recurrence's update.
    pub core_flops: u64,
    /// Cache bytes moved: entries read, index keys read, states read and written.
    pub kv_bytes: u64,
    /// FLOPs of attention's projections (MLA absorbed); as executed, of routers and LM head too.
    pub linear_flops: u64,
    /// FLOPs of dense MLPs, visited experts and shared experts.
    pub ffn_flops: u64,
}

impl DecodeWork {
    /// FLOPs of attention's core per byte of cache; none: nothing is read.
    #[must_use]
    pub fn intensity(&self) -> Option<f64> {
        (self.kv_bytes > 0).then(|| real(self.core_flops) / real(self.kv_bytes))
    }
}

/// Counts what one decoded token takes at a length of context.
#[must_use]
pub fn decode_work(model: &Model, terms: Terms, context: u64) -> DecodeWork {
    let mut work = DecodeWork {
        linear_flops: projection_flops_per_token(model),
        ffn_flops: ffn_flops_per_token(model),
        ..DecodeWork::default()
    };
    if terms.convention == Convention::Executed {
        let routers = linear_flops_per_token(model)
            .saturating_sub(work.linear_flops)
            .saturating_sub(work.ffn_flops);
        work.linear_flops = work
            .linear_flops
            .saturating_add(routers)
            .saturating_add(head_flops_per_token(model));
    }
    for run in &model.layers {
        let count = u64::from(run.count);
        let mut core = attention_flops(&run.attention, true, context);
        if terms.convention == Convention::Step3 {
            core = core.saturating_add(rotary_values(&run.attention, context));
        }
        let bytes = cache_bytes_read(&run.attention, terms.kv, context).get();
        work.core_flops = work.core_flops.saturating_add(core.saturating_mul(count));
        work.kv_bytes = work.kv_bytes.saturating_add(bytes.saturating_mul(count));
    }
    work
}

/// FLOPs of the rotary part as if it were values too: `2 · heads · rope` per entry.
fn rotary_values(attention: &Attention, context: u64) -> u64 {
    match attention {
        Attention::Mla(mla) => [mla.heads, mla.rope_dim, attended(attention, context)]
            .into_iter()
            .fold(2, u64::saturating_mul),
        Attention::Gqa(_)
        | Attention::Compressed(_)
        | Attention::Recurrent(_)
        | Attention::Parallel { .. }
        | Attention::Matrix
        | Attention::None => 0,
    }
}
