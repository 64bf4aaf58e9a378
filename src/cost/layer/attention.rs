//! What a layer does with what its sequences keep: attention over entries of the cache, an
//! indexer's scores, a recurrence's state. As far as it is the same for every batch.

use super::recurrent::Recurrence;
use super::{Gemm, Kernels, on_rank};
use crate::catalog::Dtype;
use crate::cost::operator::{Class, Operator};
use crate::cost::reach::{Reach, attended};
use crate::model::{Attention, Compressed, Gqa, Indexer, Mla, Model, Precision, WeightFormat};
use crate::plan::Layout;
use crate::units::real;

/// A share of the entries a token attends to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::cost) struct Share {
    /// Which tokens.
    pub(in crate::cost) reach: Reach,
    /// Entries per token.
    pub(in crate::cost) per: f64,
    /// An indexer chooses: where a sequence has more tokens, every query gathers entries of its
    /// own.
    chosen: bool,
}

/// The attention kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::cost) struct Core {
    heads: f64,
    kv_heads: f64,
    qk_dim: f64,
    v_dim: f64,
    /// Format of the cache.
    kv: Dtype,
    /// Cache bytes of an entry on the rank.
    pub(in crate::cost) kv_bytes: f64,
    /// Decode FLOPs per entry on the rank.
    pub(in crate::cost) decode_flops: f64,
    /// MLA, whose keys and values can be unfolded from the latents or stay folded.
    latent: Option<Latent>,
}

impl Core {
    /// Heads that keys and values are shared among, kept in BF16: what FlashAttention 2 is for.
    pub(in crate::cost) fn is_grouped_bf16(&self) -> bool {
        self.latent.is_none() && self.kv == Dtype::Bf16
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Latent {
    rank: f64,
    nope: f64,
    rope: f64,
    gemm: Gemm,
}

/// An indexer at work: every rank scores with all its heads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::cost) struct Scoring {
    pub(in crate::cost) heads: f64,
    pub(in crate::cost) dim: f64,
    /// Format of queries and keys.
    pub(in crate::cost) dtype: Dtype,
    /// Entries scored per token of context.
    pub(in crate::cost) per: f64,
}

/// One layer on one rank.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cost) struct AttentionShape {
    pub(in crate::cost) core: Option<Core>,
    pub(in crate::cost) shares: Vec<Share>,
    pub(in crate::cost) scoring: Option<Scoring>,
    pub(in crate::cost) recurrence: Option<Recurrence>,
}

/// A prefill chunk as attention sees it.
#[derive(Debug, Clone, Copy)]
pub(in crate::cost) struct PrefillShape {
    /// New tokens.
    pub(in crate::cost) tokens: u64,
    /// Tokens in the cache.
    pub(in crate::cost) context: u64,
}

impl PrefillShape {
    /// The share of one of `cp` ranks that split the chunk in zigzag: each takes a slice from the
    /// front and its mirror image from the back, so that all attend to equally many pairs, and sees
    /// on average what a chunk of its size in the middle would.
    pub(in crate::cost) fn of_rank(self, cp: u32) -> Self {
        if cp <= 1 {
            return self;
        }
        let tokens = self.tokens.div_ceil(u64::from(cp));
        Self {
            tokens,
            context: self.context + (self.tokens - tokens) / 2,
        }
    }
}

impl AttentionShape {
    pub(in crate::cost) fn of(
        model: &Model,
        run: usize,
        layout: Layout,
        precision: Precision,
    ) -> Self {
        let layer = on_rank(model, run, layout);
        let gemm = Gemm::of(model, precision, layer.kept.attention);
        let kv = WeightFormat::plain(precision.kv);
        let (core, indexer, ratio, recurrent) = match &layer.attention {
            Attention::Gqa(own) => (Some(gqa(own, kv)), own.indexer, 1, None),
            Attention::Mla(own) => (Some(mla(own, kv, gemm)), own.indexer, 1, None),
            Attention::Compressed(own) => {
                let core = compressed(own, kv);
                (Some(core), own.indexer, own.ratio, None)
            }
            Attention::Parallel {
                attention: own,
                recurrent,
            } => (Some(gqa(own, kv)), own.indexer, 1, Some(recurrent)),
            Attention::Recurrent(own) => (None, None, 1, Some(own)),
            Attention::Matrix | Attention::None => (None, None, 1, None),
        };
        // The window of compressed attention is attended to whole; what an indexer chooses is last.
        let parts = attended(&layer.attention);
        let last = parts.len().saturating_sub(1);
        let shares = parts
            .into_iter()
            .enumerate()
            .map(|(index, (reach, per))| Share {
                reach,
                per,
                chosen: indexer.is_some() && index == last && ratio > 0,
            })
            .collect();
        Self {
            core,
            shares,
            scoring: scoring(indexer, ratio, kv),
            recurrence: recurrent.map(Recurrence::of),
        }
    }

    /// The attention of so many tokens of each of `sequences` over `entries` of their caches. The
    /// tokens of a sequence are more rows of the tile, as heads that share keys are: the entries are
    /// read once for all (FlashAttention's and FlashMLA's packing). Where an indexer chooses, every
    /// token gathers its own.
    pub(in crate::cost) fn attend_each(
        &self,
        sequences: f64,
        queries: f64,
        entries: f64,
    ) -> Option<Operator> {
        let core = self.core?;
        // Absorbed, all heads work on the latent: its rank and the rotary part.
        let (qk_dim, v_dim) = match core.latent {
            Some(latent) => (latent.rank + latent.rope, latent.rank),
            None => (core.qk_dim, core.v_dim),
        };
        let chosen = self.shares.iter().any(|share| share.chosen);
        let (apart, packed) = if chosen {
            (queries, 1.0)
        } else {
            (1.0, queries)
        };
        Some(Operator::Decode {
            sequences: sequences * apart,
            entries: entries * apart,
            heads: core.heads * packed,
            kv_heads: core.kv_heads,
            qk_dim,
            v_dim,
            window: self.window(),
            kv: core.kv,
            latent: core.latent.is_some(),
            flops: core.decode_flops * packed,
            kv_bytes: core.kv_bytes,
        })
    }

    /// Tokens looked back over; 0: all, or not one window.
    fn window(&self) -> f64 {
        match self.shares.as_slice() {
            [
                Share {
                    reach: Reach::Last(most),
                    chosen: false,
                    ..
                },
            ] => real(*most),
            _ => 0.0,
        }
    }

    /// Kernels of decode for so many tokens, but for attention over their contexts.
    pub(in crate::cost) fn decode(&self, tokens: f64) -> Kernels {
        let mut kernels = Kernels::new();
        if let Some(core) = self.core
            && let Some(latent) = core.latent
        {
            kernels.extend(absorption(&core, latent, tokens));
        }
        if let Some(own) = self.scoring {
            kernels.push((Class::Attention, own.operator(tokens, 0.0, 0.0)));
        }
        kernels
    }

    /// The recurrence's steps for so many tokens of each of `sequences`: one kernel reads the state
    /// and writes one after each token, of which those of rejected tokens are dropped (vLLM's and
    /// SGLang's states with speculation).
    pub(in crate::cost) fn step(&self, sequences: f64, queries: f64) -> Option<Operator> {
        let own = self.recurrence?;
        // Read and written for one token, in equal parts.
        let passes = 0.5 * (1.0 + queries);
        Some(Operator::Step {
            sequences: sequences * passes,
            flops: own.step_flops * queries / passes,
            bytes: own.token_bytes * queries / passes,
            state_bytes: own.state_bytes,
            delta: own.delta,
        })
    }

    /// Kernels of prefill for one chunk, one after the other. Called for every chunk of every step,
    /// so nothing is allocated.
    pub(in crate::cost) fn prefill(
        &self,
        chunk: PrefillShape,
        mut each: impl FnMut(Class, &Operator),
    ) {
        let PrefillShape { tokens, context } = chunk;
        let (new, total) = (real(tokens), real(tokens + context));
        if let Some(core) = &self.core {
            self.attend(core, chunk, &mut each);
        }
        if let Some(own) = self.scoring {
            let pairs = own.per * Reach::All.pairs(tokens, context);
            let scores = own.operator(new, pairs, own.per * total);
            each(Class::Attention, &scores);
        }
        if let Some(own) = self.recurrence {
            let scan = Operator::Scan {
                tokens: new,
                flops: own.scan_flops,
                bytes: own.scan_bytes,
                state_bytes: own.state_bytes,
                delta: own.delta,
            };
            each(Class::Attention, &scan);
        }
    }

    fn attend(&self, core: &Core, chunk: PrefillShape, each: &mut impl FnMut(Class, &Operator)) {
        let PrefillShape { tokens, context } = chunk;
        let total = tokens + context;
        let (mut pairs, mut entries, mut folded) = (0.0, 0.0, false);
        for share in &self.shares {
            let own = share.reach.pairs(tokens, context);
            pairs += share.per * own;
            // Above an indexer's choice every query gathers its own; below it all see all.
            let gathers = share.chosen && share.reach.tokens(total) < total;
            folded |= gathers;
            let read = if gathers {
                own
            } else {
                share.reach.entries(tokens, context)
            };
            entries += share.per * read;
        }
        let mut core_of = |qk_dim: f64, v_dim: f64| {
            let attend = Operator::Prefill {
                tokens: real(tokens),
                pairs,
                entries,
                context: real(context),
                heads: core.heads,
                // Unfolded, every head has its own keys and values.
                kv_heads: core.kv_heads,
                qk_dim,
                v_dim,
                window: self.window(),
                kv: core.kv,
                latent: core.latent.is_some(),
                kv_bytes: core.kv_bytes,
            };
            each(Class::Attention, &attend);
        };
        match core.latent {
            // Sparse kernels work on the latents themselves, as decode does (FlashMLA); short
            // prompts take the dense path (SGLang; DeepSeek-V3.2-Exp report §2).
            Some(latent) if folded => {
                core_of(latent.rank + latent.rope, latent.rank);
                for (class, product) in absorption(core, latent, real(tokens)) {
                    each(class, &product);
                }
            }
            // Keys and values are unfolded from the latents of chunk and context.
            Some(latent) => {
                core_of(core.qk_dim, core.v_dim);
                let n = core.heads * (latent.nope + core.v_dim);
                let unfold = latent.gemm.linear(real(total), latent.rank, n);
                each(Class::Linear, &unfold);
            }
            None => core_of(core.qk_dim, core.v_dim),
        }
    }
}

impl Scoring {
    pub(in crate::cost) const fn operator(
        self,
        queries: f64,
        pairs: f64,
        entries: f64,
    ) -> Operator {
        Operator::Scores {
            queries,
            pairs,
            entries,
            heads: self.heads,
            dim: self.dim,
            dtype: self.dtype,
        }
    }
}

fn scoring(indexer: Option<Indexer>, ratio: u64, kv: WeightFormat) -> Option<Scoring> {
    let own = indexer.filter(|own| !own.shared && ratio > 0)?;
    Some(Scoring {
        heads: real(own.heads),
        dim: real(own.dim),
        dtype: if own.by_blocks { kv.dtype } else { Dtype::Fp8 },
        per: 1.0 / real(ratio),
    })
}

/// MLA's products per head: queries into the latent space, values out of it.
fn absorption(core: &Core, latent: Latent, tokens: f64) -> [(Class, Operator); 2] {
    [(latent.nope, latent.rank), (latent.rank, core.v_dim)].map(|(k, n)| {
        (
            Class::Linear,
            Operator::HeadProduct {
                tokens,
                heads: core.heads,
                k,
                n,
            },
        )
    })
}

/// A layer that shares the cache of an earlier one reads it all the same.
fn gqa(own: &Gqa, kv: WeightFormat) -> Core {
    let (heads, d, v) = (real(own.heads), own.head_dim, own.value_dim());
    Core {
        heads,
        kv_heads: real(own.kv_heads),
        kv: kv.dtype,
        qk_dim: real(d),
        v_dim: real(v),
        kv_bytes: kv.bytes(own.kv_heads * (d + v)).as_f64(),
        decode_flops: 2.0 * heads * real(d + v),
        latent: None,
    }
}

fn mla(own: &Mla, kv: WeightFormat, gemm: Gemm) -> Core {
    let heads = real(own.heads);
    Core {
        heads,
        kv_heads: 1.0,
        kv: kv.dtype,
        qk_dim: real(own.nope_dim + own.rope_dim),
        v_dim: real(own.v_dim),
        kv_bytes: kv.bytes(own.kv_rank + own.rope_dim).as_f64(),
        // Absorbed: scores over latent and rotary part, values over the latent.
        decode_flops: 2.0 * heads * real(2 * own.kv_rank + own.rope_dim),
        latent: Some(Latent {
            rank: real(own.kv_rank),
            nope: real(own.nope_dim),
            rope: real(own.rope_dim),
            gemm,
        }),
    }
}

/// An entry is key and value of all heads.
fn compressed(own: &Compressed, kv: WeightFormat) -> Core {
    let (heads, d) = (real(own.heads), real(own.head_dim));
    Core {
        heads,
        kv_heads: 1.0,
        kv: kv.dtype,
        qk_dim: d,
        v_dim: d,
        kv_bytes: kv.bytes(own.head_dim).as_f64(),
        decode_flops: 4.0 * heads * d,
        latent: None,
    }
}
