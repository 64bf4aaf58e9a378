//! A whole block of DeepSeek's sparse attention (DSA) in prefill: an indexer scores every earlier
//! token, the best few thousand are attended in latent space.
//!
//! `t = host ⊕ (launches + projections + passes over tokens + indexer + attention)`. The indexer's
//! scores and their selection grow with the context; the attention does not beyond the number
//! chosen. What happens while a context has no more tokens than would be chosen differs by engine:
//! all slots are worked off, filled or not, or a dense kernel runs and no indexer.
//! (DeepSeek-V3.2 report §2.1; GLM-5's `config.json`.)

use super::super::gemm::GemmFormat;
use super::super::hardware::Hardware;
use super::super::kernel::{Features, Kernel, Parameter, Parts, hash, soft_max};
use super::attention::parameter;
use super::mla::{MlaContext, MlaWidths, share};
use super::module::Projecting;
use super::span::Walk;

/// A sparse block's prefill on one GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DsaContext {
    /// Its core.
    pub core: MlaContext,
    /// Format of its projections.
    pub projections: GemmFormat,
    /// Heads of the indexer, all on every GPU.
    pub index_heads: f64,
    /// Elements of each.
    pub index_dim: f64,
    /// Tokens chosen.
    pub chosen: f64,
}

impl DsaContext {
    /// Tokens a query attends to on average, those whose context is not larger than what is chosen
    /// padded up to it by a share.
    fn slots(&self, padded: f64) -> f64 {
        let seen = Walk {
            window: self.chosen,
            ..self.core.walk()
        }
        .seen();
        seen + padded * (self.chosen - seen)
    }

    fn short(&self) -> bool {
        self.core.walk().keys() <= self.chosen
    }

    /// The indexer's projections, inner by outer size: its key, its heads' weights, its queries.
    fn indexing(&self) -> [(f64, f64); 2] {
        let MlaWidths {
            hidden,
            query_latent,
            ..
        } = self.core.widths;
        [
            (hidden, self.index_dim + self.index_heads),
            (query_latent, self.index_heads * self.index_dim),
        ]
    }
}

impl Kernel for DsaContext {
    const PARAMETERS: &'static [Parameter] = &[
        parameter(
            "host_us",
            "host time of a call outside a CUDA graph",
            200.0,
            0.5,
            2000.0,
        ),
        parameter("launch_us", "launches and drains", 60.0, 0.5, 500.0),
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
        share(
            "index_peak",
            "share of FP8 peak of the indexer's scores",
            0.3,
        ),
        parameter(
            "select",
            "choosing among the scores, times their bytes",
            2.0,
            0.05,
            40.0,
        ),
        share(
            "peak",
            "share of peak of the sparse core, in latent space",
            0.4,
        ),
        parameter(
            "least_heads",
            "heads a tile of the core is padded to",
            40.0,
            1.0,
            64.0,
        ),
        parameter(
            "gather",
            "bringing in chosen latents, times their bytes at memory bandwidth",
            0.1,
            0.002,
            3.0,
        ),
        parameter(
            "padded",
            "share of empty slots worked off all the same",
            0.1,
            0.001,
            1.0,
        ),
        parameter(
            "short",
            "cost of a slot where no more tokens are there than chosen",
            0.7,
            0.02,
            2.0,
        ),
        parameter(
            "short_index",
            "share of the indexer that runs there",
            0.3,
            0.001,
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
        "short",
        "keys",
        "scores/slots",
        "hidden",
        "projected/slots",
    ];
    const SIZES: usize = 4;
    const ANSWERS: usize = 480;

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let &[
            host,
            launch,
            sequence,
            latent_peak,
            head_peak,
            fill,
            weights,
            latents,
            heads,
            index_peak,
            select,
            share,
            least_heads,
            gather,
            padded,
            short,
            short_index,
        ] = p
        else {
            return Parts::default();
        };
        let core = &self.core;
        let rows = core.rows();
        let projecting = Projecting {
            narrow: latent_peak,
            wide: head_peak,
            fill,
            bandwidth: weights,
        };
        let (product, reading) =
            core.project(hardware, self.projections, &projecting, &self.indexing());
        let MlaWidths { latent, rope, .. } = core.widths;
        let passes = core.passes();
        let passes = latents * passes.0 + heads * passes.1;
        let passes = rows * passes / hardware.bandwidth;
        let (slot, indexed) = if self.short() {
            (short, short_index)
        } else {
            (1.0, 1.0)
        };
        let scores = rows * core.walk().seen();
        let scoring = indexed * scores * 2.0 * self.index_heads * self.index_dim
            / (hardware.fp8 * index_peak);
        let selecting = indexed * select * scores * 4.0 / hardware.bandwidth;
        let slots = rows * self.slots(padded) * slot;
        let attending = slots * core.heads.max(least_heads) * 2.0 * (2.0 * latent + rope)
            / (core.format.peak(hardware) * share);
        let gathering = slots * gather * (latent + rope) * core.format.cache() / hardware.bandwidth;
        let launch = (launch + sequence * core.batch) * 1e-6;
        let device = launch
            + soft_max(product, reading)
            + passes
            + scoring
            + selecting
            + attending
            + gathering;
        Parts {
            compute: product + scoring + attending,
            memory: reading + passes + selecting + gathering,
            link: 0.0,
            launch: launch.max(host * 1e-6),
            seconds: soft_max(host * 1e-6, device),
        }
    }

    fn features(&self, hardware: &Hardware, out: &mut Features) {
        let core = &self.core;
        core.core_features(hardware, out);
        let slots = self.slots(0.0) * core.heads;
        let (narrow, wide) = core.products(0.0);
        out.push(f64::from(self.short()));
        out.log(core.walk().keys());
        out.log(core.walk().seen() * self.index_heads / slots);
        out.log(core.widths.hidden);
        out.log((narrow + wide) / slots / 1024.0);
    }

    fn key(&self) -> u64 {
        hash(&[self.core.widths.key(), self.core.heads.to_bits()])
    }

    fn size(&self) -> f64 {
        self.core.rows()
    }
}
