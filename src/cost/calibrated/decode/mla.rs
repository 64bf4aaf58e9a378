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
}

/// Heads of an item.
const HEADS: f64 = 64.0;

/// Parameters of the core, alone or in a block.
pub(super) const CORE: [Parameter; 14] = [
    Parameter {
        name: "bandwidth",
        about: "share of memory bandwidth the core reaches",
        start: 0.8,
        low: 0.1,
        high: 1.0,
    },
    Parameter {
        name: "peak",
        about: "share of BF16 peak the core reaches",
        start: 0.5,
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
        start: 256.0,
        low: TILE,
        high: 8192.0,
    },
    Parameter {
        name: "splits",
        about: "most splits of a sequence",
        start: 32.0,
        low: 1.0,
        high: 256.0,
    },
    Parameter {
        name: "resident",
        about: "items an SM holds at once",
        start: 1.0,
        low: 0.25,
        high: 8.0,
    },
    us(
        "item_us",
        "an SM's time to start and end an item",
        2.0,
        40.0,
    ),
    us(
        "tile_us",
        "an SM's time for the latents of 128 tokens",
        0.5,
        40.0,
    ),
    us(
        "chain_us",
        "time of such a tile in one item's chain",
        1.0,
        40.0,
    ),
    us("combine_us", "combining splits", 2.0, 40.0),
    Parameter {
        name: "l2_rate",
        about: "rate of repeated readings in L2, times the memory's",
        start: 2.0,
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
        name: "rows",
        about: "exponent of an item's heads in its arithmetic",
        start: 0.3,
        low: 0.001,
        high: 1.0,
    },
    Parameter {
        name: "queries",
        about: "traffic of queries and outputs, times their bytes",
        start: 1.0,
        low: 0.1,
        high: 20.0,
    },
];

impl MlaDecode {
    fn items(&self) -> f64 {
        self.sequences * libm::ceil(self.heads / HEADS)
    }

    pub(super) fn tokens(&self) -> f64 {
        self.entries / self.sequences.max(1.0)
    }

    pub(super) fn elements(&self) -> f64 {
        self.entries * (self.widths.latent + self.widths.rope)
    }

    /// Seconds of arithmetic, of memory, and in all. `p` are as many as [`CORE`].
    pub(super) fn core(&self, hardware: &Hardware, p: &[f64; 14]) -> (f64, f64, f64) {
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
            rows,
            queries,
        ] = p;
        let MlaWidths { latent, rope, .. } = self.widths;
        let bytes = self.elements() * self.kv_bytes;
        let found = if self.hot {
            found_in_l2(bytes, hardware, l2_share)
        } else {
            0.0
        };
        let carried = self.sequences * self.heads * (2.0 * latent + rope) * 2.0 * queries;
        let memory =
            (bytes * (1.0 - found + found / l2_rate) + carried) / (hardware.bandwidth * bandwidth);
        // A tensor core's least rows are 16; fewer heads than an item's share it.
        let own = libm::ceil(self.heads.min(HEADS) / 16.0) * 16.0;
        let own = HEADS * libm::pow(own / HEADS, rows);
        let products =
            2.0 * own * TILE * (2.0 * latent + rope) / (hardware.bf16 / hardware.sms * peak);
        let items = Items {
            count: self.items(),
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

    pub(super) const FEATURES: [&str; 8] = [
        "sequences",
        "tokens",
        "elements",
        "heads",
        "items",
        "queries",
        "tiles",
        "fill",
    ];

    pub(super) fn core_features(&self, hardware: &Hardware, out: &mut Features) {
        let items = self.items();
        for size in [
            self.sequences,
            self.tokens(),
            self.elements() / 1e3,
            self.heads,
            items / hardware.sms,
        ] {
            out.log(size);
        }
        out.log(self.sequences * self.heads / hardware.sms);
        out.log(items * (self.tokens() / TILE).max(1.0) / hardware.sms);
        out.push(items / hardware.sms / libm::ceil(items / hardware.sms).max(1.0));
    }

    pub(super) fn core_key(&self) -> u64 {
        hash(&[self.heads.to_bits(), self.widths.key()])
    }
}

impl Kernel for MlaDecode {
    const PARAMETERS: &'static [Parameter] = &with::<1, 14, 15>(
        [Parameter {
            name: "launch_us",
            about: "launches and drains",
            start: 8.0,
            low: 1.0,
            high: 400.0,
        }],
        CORE,
    );
    const FEATURES: &'static [&'static str] = &Self::FEATURES;
    const SIZES: usize = 3;
    const ANSWERS: usize = 320;

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let Some((&launch, own)) = p.split_first() else {
            return Parts::default();
        };
        let Ok(own) = own.try_into() else {
            return Parts::default();
        };
        let (compute, memory, seconds) = self.core(hardware, own);
        let launch = launch * 1e-6;
        Parts {
            compute,
            memory,
            link: 0.0,
            launch,
            seconds: seconds + launch,
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
