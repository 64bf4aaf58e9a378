//! Latent attention (MLA) in decode, folded: all heads score one latent per token and sum it.
//!
//! An item is a sequence and 64 heads, whose scores and sums are arithmetic of real size; the
//! latents of a token are read once (`FlashMLA`; DeepSeek-V2 §2.1 for the folding).

use super::super::hardware::Hardware;
use super::super::kernel::{Features, Kernel, Parameter, Parts, hash};
use super::super::prefill::MlaWidths;
use super::attention::us;
use super::items::{Items, TILE, found_in_l2};

/// A folded latent attention's decode on one GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MlaDecode {
    /// Sequences, of one new token each.
    pub sequences: f64,
    /// Entries they attend to, summed.
    pub entries: f64,
    /// Heads on this GPU.
    pub heads: f64,
    /// Widths.
    pub widths: MlaWidths,
    /// Bytes of an element of the cache.
    pub kv_bytes: f64,
    /// The latents were read just before and may lie in L2.
    pub hot: bool,
    /// It is issued outside a CUDA graph.
    pub eager: bool,
    /// A kernel for matrices in tensor memory, where the GPU has it; [`Kernel::run_by`] knows.
    pub tensor_memory: bool,
}

/// Parameters of the core, alone or in a block.
pub(super) const CORE: [Parameter; 16] = [
    Parameter {
        name: "bandwidth",
        about: "share of memory bandwidth the core reaches",
        start: 0.9,
        low: 0.1,
        high: 1.0,
    },
    Parameter {
        name: "peak",
        about: "share of BF16 peak the core reaches",
        start: 1.2,
        low: 0.02,
        high: 2.0,
    },
    Parameter {
        name: "overlap",
        about: "exponent with which memory, SMs and chains overlap",
        start: 2.0,
        low: 1.0,
        high: 6.0,
    },
    Parameter {
        name: "split_tokens",
        about: "fewest tokens of a split",
        start: 150.0,
        low: TILE,
        high: 8192.0,
    },
    Parameter {
        name: "splits",
        about: "most splits of a sequence",
        start: 20.0,
        low: 1.0,
        high: 256.0,
    },
    Parameter {
        name: "resident",
        about: "items an SM holds at once",
        start: 1.8,
        low: 0.25,
        high: 8.0,
    },
    us(
        "item_us",
        "an SM's time to start and end an item",
        4.0,
        80.0,
    ),
    us(
        "tile_us",
        "an SM's time for the latents of 128 tokens",
        0.4,
        40.0,
    ),
    us(
        "chain_us",
        "time of such a tile in one item's chain",
        0.35,
        40.0,
    ),
    us("combine_us", "combining splits", 5.0, 40.0),
    Parameter {
        name: "l2_rate",
        about: "rate of repeated readings in L2, times the memory's",
        start: 2.7,
        low: 1.0,
        high: 8.0,
    },
    Parameter {
        name: "l2_share",
        about: "share of the L2 that holds latents",
        start: 0.6,
        low: 0.1,
        high: 1.5,
    },
    Parameter {
        name: "item_heads",
        about: "heads of an item, times those of its kind of kernel",
        start: 1.0,
        low: 0.7,
        high: 1.4,
    },
    Parameter {
        name: "again",
        about: "share of the latents that a second tile of 16 heads reads again",
        start: 0.46,
        low: 0.4,
        high: 0.52,
    },
    Parameter {
        name: "rows",
        about: "exponent of an item's heads in its arithmetic",
        start: 0.7,
        low: 0.001,
        high: 1.0,
    },
    Parameter {
        name: "queries",
        about: "traffic of queries and outputs, times their bytes",
        start: 2.4,
        low: 0.1,
        high: 20.0,
    },
];

impl MlaDecode {
    /// Items, of so many heads each: fewer heads make one that is not full. Smooth between, as
    /// kernels for more heads stand in.
    fn items(&self, heads: f64) -> f64 {
        let full = self.heads / heads;
        let square = full * full;
        let fourth = square * square;
        self.sequences * libm::sqrt(libm::sqrt(libm::sqrt(1.0 + fourth * fourth)))
    }

    pub(super) fn tokens(&self) -> f64 {
        self.entries / self.sequences.max(1.0)
    }

    pub(super) fn elements(&self) -> f64 {
        self.entries * (self.widths.latent + self.widths.rope)
    }

    /// Seconds of arithmetic, of memory, and in all. `p` are as many as [`CORE`].
    pub(super) fn core(&self, hardware: &Hardware, p: &[f64; 16]) -> (f64, f64, f64) {
        let &[
            bandwidth,
            peak,
            overlap,
            split,
            splits,
            resident,
            item,
            tile,
            chain,
            combine,
            l2_rate,
            l2_share,
            item_heads,
            again,
            rows,
            queries,
        ] = p;
        let MlaWidths { latent, rope, .. } = self.widths;
        // Kernels for datacenter Blackwell have tiles of 16 heads and of 64 and more: for 32 heads two
        // of the former read the latents, 1.45 times the time of 16 and more than that of 64 heads in
        // every engine's tables of B200 and GB200, at any length.
        let blackwell = self.tensor_memory && hardware.fp4 > hardware.fp8;
        let two = if blackwell && self.heads > 16.0 && self.heads <= 32.0 {
            again
        } else {
            0.0
        };
        let bytes = self.elements() * self.kv_bytes;
        let found = if self.hot {
            found_in_l2(bytes, hardware, l2_share)
        } else {
            0.0
        };
        let carried = self.sequences * self.heads * (2.0 * latent + rope) * 2.0 * queries;
        let memory = (bytes * (1.0 + two) * (1.0 - found + found / l2_rate) + carried)
            / (hardware.bandwidth * bandwidth);
        // A tensor core's least rows are 16; fewer heads than an item's share it.
        let full = if blackwell {
            128.0
        } else if self.tensor_memory {
            64.0
        } else {
            16.0
        } * item_heads;
        let own = libm::ceil(self.heads.min(full) / 16.0) * 16.0;
        let own = full * libm::pow((own / full).min(1.0), rows);
        let products =
            2.0 * own * TILE * (2.0 * latent + rope) / (hardware.bf16 / hardware.sms * peak);
        let items = Items {
            count: self.items(full),
            tokens: self.tokens(),
            edge: 0.0,
            start: item * 1e-6,
            tile: tile * 1e-6 + products,
            chain: chain * 1e-6 + products,
            split,
            splits,
            resident,
            combine: combine * 1e-6,
            overlap,
        };
        let (compute, seconds) = items.seconds(hardware, memory);
        (compute, memory, seconds)
    }

    pub(super) const FEATURES: [&str; 7] = [
        "sequences",
        "tokens",
        "elements",
        "rows",
        "items",
        "tiles",
        "fill",
    ];

    pub(super) fn core_features(&self, hardware: &Hardware, out: &mut Features) {
        let items = self.sequences / hardware.sms;
        for size in [self.sequences, self.tokens(), self.elements() / 1e3] {
            out.log(size);
        }
        out.log(libm::ceil(self.heads / 16.0));
        out.log(items);
        out.log(items * (self.tokens() / TILE).max(1.0));
        out.push(items / libm::ceil(items).max(1.0));
    }

    pub(super) fn core_key(&self) -> u64 {
        hash(&[self.heads.to_bits(), self.widths.key()])
    }
}

impl Kernel for MlaDecode {
    const PARAMETERS: &'static [Parameter] = &with::<2, 16, 18>(
        [
            Parameter {
                name: "launch_us",
                about: "launches and drains",
                start: 10.0,
                low: 1.0,
                high: 40.0,
            },
            Parameter {
                name: "host_us",
                about: "host's time of a call outside a CUDA graph",
                start: 300.0,
                low: 5.0,
                high: 1000.0,
            },
        ],
        CORE,
    );
    const FEATURES: &'static [&'static str] = &Self::FEATURES;
    const SIZES: usize = 3;
    const ANSWERS: usize = 480;
    const ROWS_PER_ANSWER: usize = 4;

    fn run_by(self, engine: &str, kernel: &str) -> Self {
        // Its rows on an A100 have a floor of a third of a millisecond, whatever the size.
        let eager = engine == "vllm" && kernel == "vllm_triton_mla";
        let tensor_memory = !kernel.to_ascii_lowercase().contains("triton");
        Self {
            eager,
            tensor_memory,
            ..self
        }
    }

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let Some((&[launch, host], own)) = p.split_first_chunk::<2>() else {
            return Parts::default();
        };
        let Ok(own) = own.try_into() else {
            return Parts::default();
        };
        let (compute, memory, seconds) = self.core(hardware, own);
        let launch = launch * 1e-6;
        let parts = Parts {
            compute,
            memory,
            link: 0.0,
            launch,
            seconds: seconds + launch,
        };
        if self.eager {
            parts.beside_host(host * 1e-6)
        } else {
            parts
        }
    }

    fn features(&self, hardware: &Hardware, out: &mut Features) {
        self.core_features(hardware, out);
    }

    fn key(&self) -> u64 {
        self.core_key()
    }

    fn size(&self) -> f64 {
        self.entries
    }

    fn host(&self, parameters: &[f64]) -> f64 {
        if self.eager {
            parameters.get(1).map_or(0.0, |host| host * 1e-6)
        } else {
            0.0
        }
    }
}

/// Parameters of a family and, after them, those of what it contains.
pub(super) const fn with<const A: usize, const B: usize, const N: usize>(
    own: [Parameter; A],
    inner: [Parameter; B],
) -> [Parameter; N] {
    let mut all = [inner[0]; N];
    let mut index = 0;
    while index < N {
        all[index] = if index < A {
            own[index]
        } else {
            inner[index - A]
        };
        index += 1;
    }
    all
}
