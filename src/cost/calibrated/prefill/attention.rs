//! MHA and GQA over new tokens and a prior context, whole or in a window.
//!
//! `t = launch + (core ⊕ Q, K, V and output through memory) + writing the new K and V to the cache`.
//! The core is [`Walk::core`] at a share of the peak that depends on the head size. The write is a
//! kernel of its own in every engine: bytes, or a CTA per token with a thread per element of the
//! token's keys, up to 512.

use super::super::hardware::Hardware;
use super::super::kernel::{Features, Kernel, Parameter, Parts, soft_max};
use super::span::{Tiling, Walk, hot, key};

/// What attention multiplies in and what its cache is kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AttentionFormat {
    /// FP8 products (else BF16).
    pub fp8: bool,
    /// FP8 cache (else BF16).
    pub fp8_cache: bool,
}

impl AttentionFormat {
    /// FLOP/s on a GPU.
    pub(super) const fn peak(self, hardware: &Hardware) -> f64 {
        if self.fp8 {
            hardware.fp8
        } else {
            hardware.bf16
        }
    }

    /// Bytes of an element of the cache.
    pub(super) const fn cache(self) -> f64 {
        if self.fp8_cache { 1.0 } else { 2.0 }
    }

    /// Bytes of an element of the queries.
    pub(super) const fn query(self) -> f64 {
        if self.fp8 { 1.0 } else { 2.0 }
    }
}

/// A prefill's shape on one GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContextAttention {
    /// Sequences.
    pub batch: f64,
    /// New tokens of each.
    pub tokens: f64,
    /// Tokens of each in the cache before them.
    pub prior: f64,
    /// Query heads.
    pub heads: f64,
    /// KV heads.
    pub kv_heads: f64,
    /// Elements of a head.
    pub head_dim: f64,
    /// Keys a query sees; infinite for all.
    pub window: f64,
    /// Number formats.
    pub format: AttentionFormat,
    /// It is issued outside a CUDA graph: the host's time shows where the GPU's is less.
    pub eager: bool,
}

/// Threads of a CTA that writes one token to the cache.
const THREADS: f64 = 512.0;

impl ContextAttention {
    const fn walk(&self) -> Walk {
        Walk {
            batch: self.batch,
            tokens: self.tokens,
            prior: self.prior,
            heads: self.heads,
            kv_heads: self.kv_heads,
            window: self.window,
        }
    }

    /// Bytes of a call.
    fn bytes(&self, walk: &Walk) -> Bytes {
        let row = self.batch * self.tokens * self.head_dim;
        let entry = 2.0 * self.batch * self.kv_heads * self.head_dim * self.format.cache();
        let read = walk.read();
        let fresh = read.min(self.tokens);
        Bytes {
            ends: row * self.heads * (self.format.query() + 2.0),
            fresh: entry * fresh,
            prior: entry * (read - fresh),
            new: row * self.kv_heads * 2.0,
        }
    }
}

/// Bytes of a call.
#[derive(Debug, Clone, Copy)]
struct Bytes {
    /// Queries and output.
    ends: f64,
    /// Cache entries read of the new tokens.
    fresh: f64,
    /// Cache entries read of the tokens before them: written long ago, never hot.
    prior: f64,
    /// One side, K or V, of the new tokens as computed.
    new: f64,
}

impl Bytes {
    /// All that is touched.
    fn touched(&self) -> f64 {
        self.ends + self.fresh + self.prior + self.new
    }
}

pub(super) const fn parameter(
    name: &'static str,
    about: &'static str,
    start: f64,
    low: f64,
    high: f64,
) -> Parameter {
    Parameter {
        name,
        about,
        start,
        low,
        high,
    }
}

impl Kernel for ContextAttention {
    const PARAMETERS: &'static [Parameter] = &[
        parameter("launch_us", "launches and drain", 6.0, 0.3, 80.0),
        parameter(
            "peak",
            "share of peak reached at heads of 128",
            0.6,
            0.005,
            1.0,
        ),
        parameter("peak_64", "of it at heads of 64", 0.8, 0.5, 1.5),
        parameter("peak_256", "of it at heads of 256", 1.0, 0.15, 2.0),
        parameter(
            "peak_512",
            "of the share at heads of 256, at heads of 512",
            0.8,
            0.15,
            2.0,
        ),
        parameter(
            "prologue_us",
            "a CTA whatever it does, at heads of 128",
            1.5,
            0.02,
            20.0,
        ),
        parameter(
            "load_us",
            "bringing in and writing out 128 rows of 128",
            0.7,
            0.02,
            20.0,
        ),
        parameter("deep", "exponent of the head size in both", 0.3, 0.01, 1.5),
        parameter(
            "small",
            "what halving a tile costs more per row",
            0.2,
            0.02,
            3.0,
        ),
        parameter(
            "packed",
            "a tile that packs a group's heads against one of a head",
            2.0,
            1.0,
            40.0,
        ),
        parameter(
            "tail",
            "share of a part-filled last wave that is waited for",
            0.4,
            0.02,
            1.0,
        ),
        parameter(
            "edge",
            "blocks of keys masked at a window's far edge",
            0.3,
            0.01,
            5.0,
        ),
        parameter(
            "visited",
            "skipping a key outside the window, of working on it at heads of 128",
            0.05,
            0.001,
            4.0,
        ),
        parameter(
            "window_start",
            "launch and prologue of a kernel with a window, of those without",
            1.1,
            0.7,
            3.0,
        ),
        parameter(
            "bandwidth",
            "share of memory bandwidth reached",
            0.75,
            0.1,
            1.0,
        ),
        parameter(
            "append",
            "writing the new keys and values: its traffic, times its bytes at full bandwidth",
            0.8,
            0.02,
            5.0,
        ),
        parameter(
            "rotate",
            "a pass over the queries before the core, times its bytes at full bandwidth",
            0.1,
            0.002,
            5.0,
        ),
        parameter(
            "token_us",
            "SM time of a CTA that writes one token of 512 or more elements",
            0.3,
            0.002,
            5.0,
        ),
        parameter(
            "threads",
            "exponent of the threads such a CTA has, of 512",
            0.7,
            0.01,
            1.0,
        ),
        parameter(
            "head_ns",
            "SM time of writing one token of one KV head",
            5.0,
            0.05,
            500.0,
        ),
        parameter(
            "hot_size",
            "bytes touched, of L2, at which half of the hits of the call before are gone",
            1.0,
            0.2,
            3.0,
        ),
        parameter(
            "hot",
            "time of traffic that hits L2, of what memory takes",
            0.5,
            0.04,
            1.0,
        ),
        parameter(
            "host_us",
            "host's time of a call outside a CUDA graph",
            60.0,
            1.0,
            1000.0,
        ),
    ];
    const FEATURES: &'static [&'static str] = &[
        "batch",
        "tokens",
        "context/tokens",
        "heads",
        "kv_heads",
        "head_dim",
        "window",
        "windowed",
        "group",
        "work",
        "cache writes",
        "work/byte",
        "work/write",
        "touched/l2",
        "ctas",
        "tail_128",
        "packed_ctas",
        "packed_tail",
        "group fill",
        "tokens mod 128",
        "rows",
        "kv elements",
    ];
    const SIZES: usize = 6;
    const ANSWERS: usize = 900;

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let &[
            launch,
            at_128,
            half,
            double,
            fourfold,
            prologue,
            load,
            deep,
            small,
            packed,
            tail,
            edge,
            visited,
            window_start,
            bandwidth,
            append,
            rotate,
            token,
            threads,
            head,
            hot_size,
            hot_share,
            host,
        ] = p
        else {
            return Parts::default();
        };
        let walk = self.walk();
        let depth = libm::log2(self.head_dim / 128.0);
        // Geometric between sizes; twice the head never takes less, as no factor is above 2.
        let share = at_128
            * libm::pow(half, (-depth).clamp(0.0, 1.0))
            * libm::pow(double, depth.clamp(0.0, 1.0))
            * libm::pow(fourfold, (depth - 1.0).clamp(0.0, 1.0));
        let peak = self.format.peak(hardware) / hardware.sms;
        let pair = 4.0 * self.head_dim / (peak * share);
        // Skipping a key takes the same whatever the head's size, and never more than working on it.
        let visited = (visited * 4.0 * 128.0 / (peak * at_128 * pair)).min(1.0);
        let start = if self.window.is_finite() {
            window_start
        } else {
            1.0
        };
        let larger = libm::exp2(depth * deep) * start;
        let launch = launch * start * 1e-6;
        let tiling = Tiling {
            prologue: prologue * 1e-6 * larger,
            load: load * 1e-6 * larger,
            small,
            packed,
            tail,
            edge,
            visited,
        };
        let core = walk.core(hardware.sms, pair, &tiling);
        let bytes = self.bytes(&walk);
        let hit = hot(bytes.touched(), hardware.l2, hot_size, hot_share);
        let memory =
            (hit * (bytes.ends + bytes.fresh) + bytes.prior) / (hardware.bandwidth * bandwidth);
        let written = bytes.new * (2.0 + self.format.cache());
        let elements = (self.kv_heads * self.head_dim / THREADS).min(1.0);
        let tokens = self.batch * self.tokens / hardware.sms
            * soft_max(
                token * 1e-6 * libm::pow(elements, threads),
                head * 1e-9 * self.kv_heads,
            );
        let queries = self.batch * self.tokens * self.heads * self.head_dim * 4.0;
        let writing = soft_max(hit * append * written / hardware.bandwidth, tokens)
            + hit * rotate * queries / hardware.bandwidth;
        let parts = Parts {
            compute: core,
            memory: memory + writing,
            link: 0.0,
            launch,
            seconds: soft_max(core, memory) + writing + launch,
        };
        if self.eager {
            parts.beside_host(host * 1e-6)
        } else {
            parts
        }
    }

    fn host(&self, parameters: &[f64]) -> f64 {
        let host = parameters.last().copied().unwrap_or(0.0);
        if self.eager { host * 1e-6 } else { 0.0 }
    }

    fn features(&self, hardware: &Hardware, out: &mut Features) {
        let walk = self.walk();
        let group = self.heads / self.kv_heads;
        let work = self.batch * self.heads * self.tokens * walk.seen() * self.head_dim;
        let bytes = self.bytes(&walk);
        for size in [
            self.batch,
            self.tokens,
            walk.keys() / self.tokens,
            self.heads,
            self.kv_heads,
            self.head_dim,
        ] {
            out.log(size);
        }
        out.log(self.window.min(walk.keys()));
        out.push(f64::from(self.window < walk.keys()));
        out.log(group);
        out.log(work);
        out.log(bytes.new);
        out.log(work / (bytes.ends + bytes.fresh + bytes.prior));
        out.log(work / bytes.new);
        out.log(bytes.touched() / hardware.l2);
        for ctas in [
            self.batch * self.heads * libm::ceil(self.tokens / 128.0) / hardware.sms,
            self.batch * self.kv_heads * libm::ceil(self.tokens * group / 128.0) / hardware.sms,
        ] {
            out.log(ctas);
            out.push(ctas / libm::ceil(ctas));
        }
        let packed = self.tokens * group / 128.0;
        out.push(packed / libm::ceil(packed));
        out.push(self.tokens % 128.0 / 8.0);
        out.log(self.batch * self.tokens);
        out.log(self.kv_heads * self.head_dim);
    }

    fn key(&self) -> u64 {
        key(&[self.heads, self.kv_heads, self.head_dim, self.window])
    }

    fn size(&self) -> f64 {
        self.batch * self.tokens
    }
}
