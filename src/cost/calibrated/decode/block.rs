//! A whole latent-attention block in decode: projections to latents and of heads, the folding
//! products per head, norms and rotation, the core, the output projection.
//!
//! `t = launches + projections (weights read, or arithmetic) + passes over tokens + core`.

use super::super::gemm::GemmFormat;
use super::super::hardware::Hardware;
use super::super::kernel::{Features, Kernel, Parameter, Parts, soft_max};
use super::super::prefill::MlaWidths;
use super::mla::{CORE, MlaDecode, with};

/// A block's decode on one GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MlaDecodeBlock {
    /// Its core.
    pub core: MlaDecode,
    /// Format of its projections; the folding products stay in BF16.
    pub projections: GemmFormat,
}

/// Parameters of what surrounds the core.
pub(super) const AROUND: [Parameter; 5] = [
    Parameter {
        name: "launch_us",
        about: "launches and drains of all kernels",
        start: 40.0,
        low: 5.0,
        high: 600.0,
    },
    Parameter {
        name: "weights",
        about: "share of memory bandwidth reading weights",
        start: 0.7,
        low: 0.05,
        high: 1.0,
    },
    Parameter {
        name: "products",
        about: "share of peak of projections",
        start: 0.5,
        low: 0.02,
        high: 1.0,
    },
    Parameter {
        name: "passes",
        about: "passes over tokens, times their bytes",
        start: 1.0,
        low: 0.01,
        high: 40.0,
    },
    Parameter {
        name: "head_passes",
        about: "passes over tokens' heads, times their bytes",
        start: 1.0,
        low: 0.01,
        high: 40.0,
    },
];

impl MlaDecodeBlock {
    /// Seconds of arithmetic and of memory of what surrounds the core, and in all without launches.
    /// `p` are as many as [`AROUND`].
    pub(super) fn around(&self, hardware: &Hardware, p: &[f64; 5], more: f64) -> (f64, f64, f64) {
        let &[_, weights, products, passes, head_passes] = p;
        let MlaWidths {
            hidden,
            query_latent,
            latent,
            nope,
            rope,
            value,
        } = self.core.widths;
        let (narrow, wide) = self.core.widths.weights(self.core.heads);
        let fold = self.core.heads * latent * (nope + value);
        let projected = narrow + wide - fold + more;
        let rows = self.core.sequences;
        let bytes = projected * self.projections.bytes().0 + fold * 2.0;
        let reading = bytes / (hardware.bandwidth * weights);
        let arithmetic =
            2.0 * rows * (projected / self.projections.peak(hardware) + fold / hardware.bf16)
                / products;
        let touched = passes * (hidden * 6.0 + (query_latent + latent + rope) * 4.0)
            + head_passes * self.core.heads * (nope + latent + rope + value) * 4.0;
        let touched = rows * touched / hardware.bandwidth;
        (
            arithmetic,
            reading + touched,
            soft_max(arithmetic, reading) + touched,
        )
    }
}

impl Kernel for MlaDecodeBlock {
    const PARAMETERS: &'static [Parameter] = &with::<5, 14, 19>(AROUND, CORE);
    const FEATURES: &'static [&'static str] = &MlaDecode::FEATURES;
    const SIZES: usize = 3;
    const ANSWERS: usize = 320;

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let Some((around, core)) = p.split_first_chunk::<5>() else {
            return Parts::default();
        };
        let Ok(core) = core.try_into() else {
            return Parts::default();
        };
        let (products, reading, outside) = self.around(hardware, around, 0.0);
        let (compute, memory, inside) = self.core.core(hardware, core);
        let launch = around[0] * 1e-6;
        Parts {
            compute: compute + products,
            memory: memory + reading,
            link: 0.0,
            launch,
            seconds: inside + outside + launch,
        }
    }

    fn features(&self, hardware: &Hardware, out: &mut Features) {
        self.core.core_features(hardware, out);
    }

    fn key(&self) -> u64 {
        self.core.core_key()
    }

    fn size(&self) -> f64 {
        self.core.entries
    }
}
