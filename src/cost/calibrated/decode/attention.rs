//! Decode attention: one new token of each of some sequences over keys and values in a paged cache,
//! with heads that share them (MHA, GQA, MQA) and perhaps a window.
//!
//! Two kernels: one that packs the query heads of a KV head into the rows of a tile and reads the
//! keys once, and one with an item per query head. Which of them runs is [`Packing`].
//!
//! Ragged batches are priced by their sum of entries: items of different lengths share the SMs, and
//! engines cut long ones into splits.

use super::super::hardware::Hardware;
use super::super::kernel::{Features, Kernel, Parameter, Parts, hash};
use super::items::{Items, TILE, found_in_l2};

/// Which of the two kernels an engine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// Heads that share keys are packed; where none do, an item is a head anyway.
    Groups,
    /// Up to 32 heads of a KV head are packed, and where none share keys the faster kernel runs:
    /// TensorRT-LLM, whose XQA and trtllm-gen kernels pack no more and whose masked multi-head
    /// attention has an item per head. Its times step at 33 heads on every GPU; heads that share
    /// nothing take the latter on Hopper and Ada, the former on Blackwell.
    UpTo32,
    /// Nothing is packed: FlashAttention 2 behind a window (`seqlenq_ngroups_swapped` in its
    /// `mha_fwd_kvcache` asks for none), whose times then go with query heads.
    Never,
}

/// A decode attention's shape on one GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decode {
    /// Sequences, of one new token each.
    pub sequences: f64,
    /// Entries they attend to, summed.
    pub entries: f64,
    /// Query heads.
    pub heads: f64,
    /// KV heads.
    pub kv_heads: f64,
    /// Width of a head's keys.
    pub qk_dim: f64,
    /// Width of a head's values.
    pub v_dim: f64,
    /// Tokens looked back over; 0: all.
    pub window: f64,
    /// Share of the sequences that are longer than the window.
    pub past_window: f64,
    /// Tokens in the caches of all sequences, those behind the window too: what an engine plans its
    /// splits by, if it does not look at the window.
    pub context: f64,
    /// Bytes of an element of the cache.
    pub kv_bytes: f64,
    /// Which kernel; [`Kernel::run_by`] knows.
    pub packing: Packing,
    /// The keys were read just before and may lie in L2: a benchmark's loop, never serving, where
    /// the other layers' keys and weights pass between two readings.
    pub hot: bool,
    /// It is issued outside a CUDA graph: the host's time shows where the GPU's is less.
    pub eager: bool,
}

impl Decode {
    fn group(&self) -> f64 {
        (self.heads / self.kv_heads.max(1.0)).max(1.0)
    }

    /// Whether the heads of a group are one item. Heads that share nothing are, whatever runs.
    fn packs(&self) -> bool {
        match self.packing {
            Packing::Groups => true,
            Packing::UpTo32 => self.group() <= 32.0,
            Packing::Never => self.group() <= 1.0,
        }
    }

    fn tokens(&self) -> f64 {
        self.entries / self.sequences.max(1.0)
    }
}

pub(super) const fn us(
    name: &'static str,
    about: &'static str,
    start: f64,
    high: f64,
) -> Parameter {
    Parameter {
        name,
        about,
        start,
        low: 0.005,
        high,
    }
}

impl Kernel for Decode {
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "launch_us",
            about: "launches and drains of the kernels of one call",
            start: 8.0,
            low: 1.0,
            high: 40.0,
        },
        Parameter {
            name: "bandwidth",
            about: "share of memory bandwidth reached",
            start: 0.8,
            low: 0.25,
            high: 1.0,
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
            start: 1.5,
            low: 0.5,
            high: 8.0,
        },
        us(
            "item_us",
            "an SM's time to start and end an item",
            1.0,
            10.0,
        ),
        us(
            "tile_us",
            "an SM's time for 128 tokens of 128 elements",
            0.2,
            5.0,
        ),
        us(
            "chain_us",
            "time of such a tile in one item's chain",
            0.5,
            5.0,
        ),
        us("combine_us", "combining splits", 2.0, 20.0),
        Parameter {
            name: "l2_rate",
            about: "rate of repeated readings in L2, times the memory's",
            start: 2.0,
            low: 1.0,
            high: 8.0,
        },
        Parameter {
            name: "l2_share",
            about: "share of the L2 that holds keys",
            start: 0.6,
            low: 0.1,
            high: 1.5,
        },
        Parameter {
            name: "rows",
            about: "exponent of a group's rows, in sixteens, in the time of a tile",
            start: 0.2,
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
        us("window_us", "masking beyond a window", 0.5, 20.0),
        Parameter {
            name: "head_reads",
            about: "traffic of another head's reading of the same keys, times their bytes",
            start: 0.2,
            low: 0.01,
            high: 1.0,
        },
        us(
            "head_item_us",
            "item_us of the kernel without packing",
            1.0,
            10.0,
        ),
        us(
            "head_tile_us",
            "tile_us of the kernel without packing",
            0.5,
            10.0,
        ),
        us(
            "head_chain_us",
            "chain_us of the kernel without packing",
            1.0,
            10.0,
        ),
        Parameter {
            name: "head_splits",
            about: "splits of the kernel without packing",
            start: 8.0,
            low: 1.0,
            high: 256.0,
        },
        Parameter {
            name: "host_us",
            about: "host's time of a call outside a CUDA graph",
            start: 60.0,
            low: 1.0,
            high: 1000.0,
        },
    ];
    const FEATURES: &'static [&'static str] = &[
        "sequences",
        "tokens",
        "elements",
        "heads",
        "kv_heads",
        "group",
        "head_dim",
        "past_window",
        "items",
        "queries",
        "tiles",
        "fill",
        "context",
        "packs",
    ];
    const SIZES: usize = 3;
    const ANSWERS: usize = 900;
    const ROWS_PER_ANSWER: usize = 4;

    fn run_by(self, engine: &str, kernel: &str) -> Self {
        let packing = match engine {
            "trtllm" => Packing::UpTo32,
            _ if kernel.ends_with("_fa2") && self.window > 0.0 => Packing::Never,
            _ => Packing::Groups,
        };
        Self { packing, ..self }
    }

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let &[
            launch,
            bandwidth,
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
            window,
            head_reads,
            head_item,
            head_tile,
            head_chain,
            head_splits,
            host,
        ] = p
        else {
            return Parts::default();
        };
        let group = self.group();
        let elements = self.kv_heads * (self.qk_dim + self.v_dim);
        let bytes = self.entries * elements * self.kv_bytes;
        let found = if self.hot {
            found_in_l2(bytes, hardware, l2_share)
        } else {
            0.0
        };
        let carried = self.sequences * self.heads * (self.qk_dim + self.v_dim) * 2.0 * queries;
        let read = bytes * (1.0 - found + found / l2_rate);
        let rate = hardware.bandwidth * bandwidth;
        let memory = (read + carried) / rate;
        // Heads that share keys and are not packed find most of them in L2, where another head's
        // reading brought them.
        let again = (read * (1.0 + (group - 1.0) * head_reads) + carried) / rate;
        let width = (self.qk_dim + self.v_dim) / 256.0 * 1e-6;
        let packed = Items {
            count: self.sequences * self.kv_heads,
            tokens: self.tokens(),
            edge: self.past_window,
            start: item * 1e-6,
            tile: tile * width * libm::pow(libm::ceil(group / 16.0), rows),
            chain: chain * width,
            split,
            splits,
            resident,
            combine: combine * 1e-6,
            overlap,
        };
        let alone = Items {
            count: self.sequences * self.heads,
            start: head_item * 1e-6,
            tile: head_tile * width,
            chain: head_chain * width,
            splits: head_splits,
            ..packed
        };
        let (compute, seconds) = match self.packing {
            Packing::Groups if group > 1.0 => packed.seconds(hardware, memory),
            Packing::UpTo32 if group > 1.0 && group <= 32.0 => packed.seconds(hardware, memory),
            Packing::UpTo32 if group <= 1.0 => {
                let (one, other) = (
                    packed.seconds(hardware, memory),
                    alone.seconds(hardware, memory),
                );
                if one.1 < other.1 { one } else { other }
            }
            _ => alone.seconds(hardware, again),
        };
        let launch = (launch + window * self.past_window) * 1e-6;
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

    fn host(&self, parameters: &[f64]) -> f64 {
        let host = parameters.last().copied().unwrap_or(0.0);
        if self.eager { host * 1e-6 } else { 0.0 }
    }

    fn features(&self, hardware: &Hardware, out: &mut Features) {
        let (tokens, items) = (self.tokens(), self.sequences * self.kv_heads);
        let width = self.qk_dim + self.v_dim;
        for size in [
            self.sequences,
            tokens,
            self.entries * self.kv_heads * width / 1e3,
            self.heads,
            self.kv_heads,
        ] {
            out.log(size);
        }
        out.log(self.group());
        out.log(width / 2.0);
        out.push(self.past_window);
        out.log(items / hardware.sms);
        out.log(self.sequences * self.heads / hardware.sms);
        out.log(items * (tokens / TILE).max(1.0) / hardware.sms);
        out.push(items / hardware.sms / libm::ceil(items / hardware.sms).max(1.0));
        out.log(self.context / self.sequences.max(1.0));
        out.push(if self.packs() { 1.0 } else { 0.0 });
    }

    fn key(&self) -> u64 {
        hash(
            &[
                self.heads,
                self.kv_heads,
                self.qk_dim,
                self.v_dim,
                self.window,
            ]
            .map(f64::to_bits),
        )
    }

    fn size(&self) -> f64 {
        self.entries
    }
}
