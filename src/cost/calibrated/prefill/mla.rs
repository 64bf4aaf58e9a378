//! Latent attention (MLA) in prefill, the core alone: projected queries, keys and values in,
//! attended values out, the new latents written to the cache.
//!
//! Keys and values are expanded to every head (DeepSeek-V2 §2.1), so the core is MHA with heads of
//! `nope + rope` and `value`. An engine that instead attends in latent space does `2 · latent + rope`
//! products a pair where this counts `nope + rope + value`: its fitted share of the peak says so.

use super::super::hardware::Hardware;
use super::super::kernel::{Features, Kernel, Parameter, Parts, hash, soft_max};
use super::attention::{AttentionFormat, parameter};
use super::span::{Tiling, Walk, hot};

/// Widths of a latent attention.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MlaWidths {
    /// Of the model.
    pub hidden: f64,
    /// Of the latent the queries come from.
    pub query_latent: f64,
    /// Of the latent in the cache.
    pub latent: f64,
    /// A head's part without rotation.
    pub nope: f64,
    /// The rotated part, which all heads share in the cache.
    pub rope: f64,
    /// A head's values.
    pub value: f64,
}

impl MlaWidths {
    /// DeepSeek-V3, R1, V3.1 and V3.2: `config.json` of each.
    pub const DEEPSEEK_V3: Self = Self {
        hidden: 7168.0,
        query_latent: 1536.0,
        latent: 512.0,
        nope: 128.0,
        rope: 64.0,
        value: 128.0,
    };
    /// GLM-5: its `config.json`.
    pub const GLM_5: Self = Self {
        hidden: 6144.0,
        query_latent: 2048.0,
        latent: 512.0,
        nope: 192.0,
        rope: 64.0,
        value: 256.0,
    };

    /// Weights of the projections that no head has, and of those of so many heads.
    pub(in super::super) fn weights(&self, heads: f64) -> (f64, f64) {
        let Self {
            hidden,
            query_latent,
            latent,
            nope,
            rope,
            value,
        } = *self;
        (
            hidden * (query_latent + latent + rope),
            heads * (query_latent * (nope + rope) + latent * (nope + value) + value * hidden),
        )
    }

    pub(in super::super) fn key(&self) -> u64 {
        hash(
            &[
                self.hidden,
                self.query_latent,
                self.latent,
                self.nope,
                self.rope,
                self.value,
            ]
            .map(f64::to_bits),
        )
    }
}

/// A latent attention's prefill on one GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MlaContext {
    /// Sequences.
    pub batch: f64,
    /// New tokens of each.
    pub tokens: f64,
    /// Tokens of each in the cache before them.
    pub prior: f64,
    /// Heads on this GPU.
    pub heads: f64,
    /// Widths.
    pub widths: MlaWidths,
    /// Number formats.
    pub format: AttentionFormat,
}

/// Parameters of the core, and of what surrounds it in every engine.
pub(super) struct Core {
    pub(super) share: f64,
    pub(super) tiling: Tiling,
    pub(super) bandwidth: f64,
    pub(super) hot_size: f64,
    pub(super) hot: f64,
}

impl MlaContext {
    pub(super) const fn walk(&self) -> Walk {
        Walk {
            batch: self.batch,
            tokens: self.tokens,
            prior: self.prior,
            heads: self.heads,
            kv_heads: 1.0,
            window: f64::INFINITY,
        }
    }

    /// New tokens of all sequences.
    pub(super) fn rows(&self) -> f64 {
        self.batch * self.tokens
    }

    /// Bytes the core moves: queries and output, expanded keys and values, and the cached latents.
    pub(super) fn bytes(&self) -> f64 {
        let MlaWidths {
            latent,
            nope,
            rope,
            value,
            ..
        } = self.widths;
        let head = nope + rope + value;
        let keys = self.batch * self.walk().keys();
        (self.rows() + keys) * self.heads * head * 2.0
            + keys * (latent + rope) * self.format.cache()
    }

    /// Seconds of the core's arithmetic and of its traffic, and the factor of traffic that hits L2.
    pub(super) fn core(&self, hardware: &Hardware, own: &Core) -> (f64, f64, f64) {
        let MlaWidths {
            nope, rope, value, ..
        } = self.widths;
        let peak = self.format.peak(hardware) / hardware.sms;
        let pair = 2.0 * (nope + rope + value) / (peak * own.share);
        let hit = hot(self.bytes(), hardware.l2, own.hot_size, own.hot);
        let memory = hit * self.bytes() / (hardware.bandwidth * own.bandwidth);
        (
            self.walk().core(hardware.sms, pair, &own.tiling),
            memory,
            hit,
        )
    }

    /// Products of the core, in query–key pairs of a head.
    pub(super) fn pairs(&self) -> f64 {
        self.rows() * self.heads * self.walk().seen()
    }

    /// Features of the core.
    pub(super) fn core_features(&self, hardware: &Hardware, out: &mut Features) {
        for size in [
            self.batch,
            self.tokens,
            self.walk().keys() / self.tokens,
            self.heads,
        ] {
            out.log(size);
        }
        out.log(self.rows());
        out.log(self.rows() * self.heads);
        out.log(self.pairs());
        out.log(self.bytes() / hardware.l2);
        out.log(self.pairs() / self.bytes());
        for ctas in [
            self.batch * self.heads * libm::ceil(self.tokens / 128.0) / hardware.sms,
            self.batch * libm::ceil(self.tokens * self.heads / 64.0) / hardware.sms,
        ] {
            out.log(ctas);
            out.push(ctas / libm::ceil(ctas));
        }
    }
}

pub(super) const fn share(name: &'static str, about: &'static str, start: f64) -> Parameter {
    parameter(name, about, start, 0.005, 1.0)
}

impl Kernel for MlaContext {
    const PARAMETERS: &'static [Parameter] = &[
        parameter("launch_us", "launches and drain", 10.0, 0.5, 500.0),
        share("peak", "share of peak reached, on expanded heads", 0.5),
        parameter("prologue_us", "a CTA whatever it does", 2.0, 0.02, 30.0),
        parameter(
            "load_us",
            "bringing in and writing out 128 rows",
            1.0,
            0.02,
            40.0,
        ),
        parameter(
            "small",
            "what halving a tile costs more per row",
            0.2,
            0.02,
            3.0,
        ),
        parameter(
            "packed",
            "a tile that packs the heads against one of a head",
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
            "bandwidth",
            "share of memory bandwidth reached",
            0.7,
            0.1,
            1.0,
        ),
        parameter(
            "latents",
            "traffic around the core per token, times its latent's bytes",
            0.5,
            0.005,
            20.0,
        ),
        parameter(
            "heads",
            "traffic around the core per token and head, times its bytes",
            0.4,
            0.005,
            20.0,
        ),
        parameter("sequence_us", "per sequence", 0.05, 0.0005, 5.0),
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
    ];
    const FEATURES: &'static [&'static str] = &[
        "batch",
        "tokens",
        "context/tokens",
        "heads",
        "rows",
        "rows heads",
        "pairs",
        "touched/l2",
        "pairs/byte",
        "ctas",
        "tail",
        "packed_ctas",
        "packed_tail",
    ];
    const SIZES: usize = 4;
    const ANSWERS: usize = 320;

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let &[
            launch,
            share,
            prologue,
            load,
            small,
            packed,
            tail,
            bandwidth,
            latents,
            heads,
            sequence,
            hot_size,
            hot,
        ] = p
        else {
            return Parts::default();
        };
        let tiling = Tiling {
            prologue: prologue * 1e-6,
            load: load * 1e-6,
            small,
            packed,
            tail,
            edge: 0.0,
            visited: 0.0,
        };
        let own = Core {
            share,
            tiling,
            bandwidth,
            hot_size,
            hot,
        };
        let (core, memory, hit) = self.core(hardware, &own);
        let MlaWidths {
            latent,
            nope,
            rope,
            value,
            ..
        } = self.widths;
        let around =
            latents * (latent + rope) * 4.0 + heads * self.heads * (nope + rope + value) * 2.0;
        let around = hit * self.rows() * around / hardware.bandwidth;
        let launch = (launch + sequence * self.batch) * 1e-6;
        Parts {
            compute: core,
            memory: memory + around,
            link: 0.0,
            launch,
            seconds: soft_max(core, memory) + around + launch,
        }
    }

    fn features(&self, hardware: &Hardware, out: &mut Features) {
        self.core_features(hardware, out);
    }

    fn key(&self) -> u64 {
        hash(&[self.widths.key(), self.heads.to_bits()])
    }

    fn size(&self) -> f64 {
        self.rows()
    }
}
