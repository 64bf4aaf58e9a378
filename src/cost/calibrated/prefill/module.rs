//! A whole latent-attention block in prefill: its projections, norms and rotation, the core, the
//! output projection.
//!
//! `t = host ⊕ (launches + projections to and from latents + projections of heads + passes over
//! tokens + core)`. A call that is not in a CUDA graph cannot return before the host has launched
//! its dozen kernels: serving hides that time, and it is the table's declared overhead.

use super::super::gemm::GemmFormat;
use super::super::hardware::Hardware;
use super::super::kernel::{Features, Kernel, Parameter, Parts, hash, soft_max};
use super::attention::parameter;
use super::mla::{Core, MlaContext, MlaWidths, share};
use super::span::Tiling;

/// A block's prefill on one GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MlaModule {
    /// Its core.
    pub core: MlaContext,
    /// Format of its projections.
    pub projections: GemmFormat,
}

/// How projections run. Fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Projecting {
    /// Share of peak of those no head has.
    pub(super) narrow: f64,
    /// Share of peak of those of heads.
    pub(super) wide: f64,
    /// Inner elements whose time filling and emptying a tile takes.
    pub(super) fill: f64,
    /// Share of memory bandwidth reading weights.
    pub(super) bandwidth: f64,
}

impl MlaContext {
    /// Products per token of the projections that no head has, and of those of this GPU's heads:
    /// down to the latents, up to queries and to keys and values, out. `fill` is added to each
    /// inner size.
    pub(super) fn products(&self, fill: f64) -> (f64, f64) {
        let MlaWidths {
            hidden,
            query_latent,
            latent,
            nope,
            rope,
            value,
        } = self.widths;
        let narrow = (hidden + fill) * (query_latent + latent + rope);
        let wide = (query_latent + fill) * self.heads * (nope + rope)
            + (latent + fill) * self.heads * (nope + value)
            + (self.heads * value + fill) * hidden;
        (narrow, wide)
    }

    /// Seconds of the projections, `more` of which no head has (weights, and products per token
    /// and inner element added).
    pub(super) fn project(
        &self,
        hardware: &Hardware,
        format: GemmFormat,
        own: &Projecting,
        more: &[(f64, f64)],
    ) -> (f64, f64) {
        let (mut narrow, wide) = self.products(own.fill);
        let bare = self.products(0.0);
        let mut weights = bare.0 + bare.1;
        for (inner, outer) in more {
            narrow += (inner + own.fill) * outer;
            weights += inner * outer;
        }
        let arithmetic =
            2.0 * self.rows() * (narrow / own.narrow + wide / own.wide) / format.peak(hardware);
        (
            arithmetic,
            weights * format.bytes().0 / (hardware.bandwidth * own.bandwidth),
        )
    }

    /// Bytes per token of passes (norms, rotation, quantisation, appending): those no head has, and
    /// those of heads.
    pub(super) fn passes(&self) -> (f64, f64) {
        let MlaWidths {
            hidden,
            query_latent,
            latent,
            nope,
            rope,
            value,
        } = self.widths;
        (
            hidden * 6.0 + (query_latent + latent + rope) * 4.0,
            self.heads * (2.0 * nope + rope + 2.0 * value) * 4.0,
        )
    }
}

impl Kernel for MlaModule {
    const PARAMETERS: &'static [Parameter] = &[
        parameter(
            "host_us",
            "host time of a call outside a CUDA graph",
            200.0,
            0.5,
            2000.0,
        ),
        parameter("launch_us", "launches and drains", 35.0, 0.5, 500.0),
        share(
            "peak",
            "share of peak the core reaches, on expanded heads",
            0.5,
        ),
        parameter(
            "prologue_us",
            "a CTA of the core whatever it does",
            2.0,
            0.02,
            30.0,
        ),
        parameter(
            "load_us",
            "bringing in and writing out 128 rows of the core",
            1.0,
            0.02,
            40.0,
        ),
        parameter(
            "packed",
            "a tile that packs the heads against one of a head",
            4.0,
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
            "share of memory bandwidth the core reaches",
            0.7,
            0.1,
            1.0,
        ),
        parameter(
            "latents",
            "passes over tokens, times their bytes",
            0.5,
            0.02,
            20.0,
        ),
        parameter(
            "heads",
            "passes over tokens' heads, times their bytes",
            0.5,
            0.02,
            20.0,
        ),
        parameter("sequence_us", "per sequence", 0.05, 0.0005, 5.0),
        share(
            "latent_peak",
            "share of peak of projections to latents",
            0.5,
        ),
        share("head_peak", "share of peak of projections of heads", 0.6),
        parameter(
            "fill",
            "inner elements whose time filling and emptying a tile of a projection takes",
            100.0,
            5.0,
            2000.0,
        ),
        parameter(
            "weights",
            "share of memory bandwidth reading weights",
            0.7,
            0.05,
            1.0,
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
            0.6,
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
        "pairs/product",
        "product",
    ];
    const SIZES: usize = 4;
    const ANSWERS: usize = 320;

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let &[
            host,
            launch,
            share,
            prologue,
            load,
            packed,
            tail,
            bandwidth,
            latents,
            heads,
            sequence,
            latent_peak,
            head_peak,
            fill,
            weights,
            hot_size,
            hot,
        ] = p
        else {
            return Parts::default();
        };
        let core = &self.core;
        let tiling = Tiling {
            prologue: prologue * 1e-6,
            load: load * 1e-6,
            small: 0.2,
            packed,
            tail,
            edge: 0.0,
            visited: 0.0,
        };
        let (attended, memory, hit) = core.core(
            hardware,
            &Core {
                share,
                tiling,
                bandwidth,
                hot_size,
                hot,
            },
        );
        let projecting = Projecting {
            narrow: latent_peak,
            wide: head_peak,
            fill,
            bandwidth: weights,
        };
        let (product, reading) = core.project(hardware, self.projections, &projecting, &[]);
        let passes = core.passes();
        let passes = latents * passes.0 + heads * passes.1;
        let passes = hit * core.rows() * passes / hardware.bandwidth;
        let launch = (launch + sequence * core.batch) * 1e-6;
        let device = soft_max(attended, memory) + soft_max(product, reading) + passes + launch;
        Parts {
            compute: attended + product,
            memory: memory + reading + passes,
            link: 0.0,
            launch: launch.max(host * 1e-6),
            seconds: soft_max(host * 1e-6, device),
        }
    }

    fn features(&self, hardware: &Hardware, out: &mut Features) {
        let core = &self.core;
        core.core_features(hardware, out);
        let (narrow, wide) = core.products(0.0);
        let product = core.rows() * (narrow + wide);
        out.log(core.pairs() * 256.0 / product);
        out.log(product);
    }

    fn key(&self) -> u64 {
        hash(&[self.core.widths.key(), self.core.heads.to_bits()])
    }

    fn size(&self) -> f64 {
        self.core.rows()
    }
}
