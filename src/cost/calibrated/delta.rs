//! Gated delta net (Qwen3-Next, Qwen3.5): the convolution before it, its chunked prefill, and a
//! token's step of either.
//!
//! - Convolution: the bytes of queries, keys and values, softly against its blocks.
//! - Chunked prefill: chunks of 64 tokens follow one another in every head, so that
//!   `sequences × heads` chains run in waves over the SMs, blended with the parallel part's
//!   arithmetic and bytes.
//! - Step: the state is read and written, from L2 as far as it fits there.

use super::exchange::blend;
use super::hardware::Hardware;
use super::kernel::{Features, Kernel, Parameter, Parts, hash, soft_max};

/// Heads of a layer on a rank. Keys and values are 128 wide in every model measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeltaHeads {
    /// Query and key heads.
    pub keys: f64,
    /// Value heads.
    pub values: f64,
    /// Width of a key.
    pub key_dim: f64,
    /// Width of a value.
    pub value_dim: f64,
}

impl DeltaHeads {
    /// Channels of queries, keys and values.
    #[must_use]
    pub fn channels(&self) -> f64 {
        2.0 * self.keys * self.key_dim + self.values * self.value_dim
    }

    /// Bytes of a sequence's state, FP32.
    fn state(&self) -> f64 {
        self.values * self.key_dim * self.value_dim * 4.0
    }

    fn key(&self) -> u64 {
        hash(&[self.keys, self.values, self.key_dim, self.value_dim].map(f64::to_bits))
    }
}

/// The convolution over a prompt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeltaConvolution {
    /// Heads.
    pub heads: DeltaHeads,
    /// Sequences.
    pub sequences: f64,
    /// Tokens of each.
    pub tokens: f64,
    /// Channels it runs over: all of them in serving, fewer in some tables.
    pub channels: f64,
}

/// The delta rule over a prompt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeltaChunks {
    /// Heads.
    pub heads: DeltaHeads,
    /// Sequences.
    pub sequences: f64,
    /// Tokens of each.
    pub tokens: f64,
}

/// One token's step of the convolution or of the rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeltaStep {
    /// Heads.
    pub heads: DeltaHeads,
    /// Sequences.
    pub sequences: f64,
    /// Channels of the convolution; zero: the rule's own state.
    pub channels: f64,
}

const SHARE: Parameter = Parameter {
    name: "bandwidth",
    about: "share of memory bandwidth reached",
    start: 0.8,
    low: 0.05,
    high: 1.0,
};
const CACHE: Parameter = Parameter {
    name: "cache",
    about: "rate of L2 against that of memory",
    start: 2.0,
    low: 1.0,
    high: 10.0,
};
const EDGE: Parameter = Parameter {
    name: "cache_edge",
    about: "share of L2 from which data fall out of it",
    start: 0.75,
    low: 0.2,
    high: 3.0,
};
const BLEND: Parameter = Parameter {
    name: "blend",
    about: "how start and work add: 1 their sum, more the larger",
    start: 1.5,
    low: 1.0,
    high: 6.0,
};

const fn us(name: &'static str, about: &'static str, start: f64, low: f64, high: f64) -> Parameter {
    Parameter {
        name,
        about,
        start,
        low,
        high,
    }
}

/// Seconds of `bytes` over data that lie in L2 as far as they fit: the share that does falls with
/// the sixth power of what there is to keep.
fn moved(bytes: f64, kept: f64, hardware: &Hardware, share: f64, cache: f64, edge: f64) -> f64 {
    let over = kept / (hardware.l2 * edge);
    let cube = over * over * over;
    let hit = 1.0 / (1.0 + cube * cube);
    bytes / (hardware.bandwidth * share) * (hit / cache + 1.0 - hit)
}

fn parts(compute: f64, memory: f64, launch: f64, seconds: f64) -> Parts {
    Parts {
        compute,
        memory,
        link: 0.0,
        launch,
        seconds,
    }
}

impl Kernel for DeltaConvolution {
    const PARAMETERS: &'static [Parameter] = &[
        SHARE,
        CACHE,
        EDGE,
        us(
            "block_us",
            "time of a block of 8 tokens × 256 channels on an SM",
            0.1,
            1e-3,
            5.0,
        ),
        us("launch_us", "launch", 2.0, 0.5, 40.0),
        us(
            "token_us",
            "time of the 8 tokens a block takes one after another",
            2.0,
            0.05,
            20.0,
        ),
        us(
            "sequence_us",
            "time of a sequence, where they run one after another",
            0.01,
            1e-4,
            10.0,
        ),
        BLEND,
    ];
    const FEATURES: &'static [&'static str] = &[
        "tokens",
        "sequences",
        "channels",
        "all tokens",
        "work",
        "fill",
        "first block",
    ];
    const SIZES: usize = 3;

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let &[share, cache, edge, block, launch, token, sequence, z] = p else {
            return Parts::default();
        };
        let bytes = self.sequences * self.tokens * self.channels * 4.0;
        let memory = moved(bytes, bytes, hardware, share, cache, edge);
        let blocks =
            self.sequences * libm::ceil(self.tokens / 8.0) * libm::ceil(self.channels / 256.0);
        let compute = block * 1e-6 * blocks / hardware.sms;
        let start =
            (launch + token * self.tokens.min(8.0) / 8.0 + sequence * self.sequences) * 1e-6;
        parts(
            compute,
            memory,
            start,
            blend(start, soft_max(compute, memory), z),
        )
    }

    fn features(&self, hardware: &Hardware, out: &mut Features) {
        let all = self.sequences * self.tokens;
        let blocks =
            self.sequences * libm::ceil(self.tokens / 8.0) * libm::ceil(self.channels / 256.0);
        for size in [
            self.tokens,
            self.sequences,
            self.channels,
            all,
            all * self.channels / 1024.0,
            blocks / hardware.sms,
        ] {
            out.log(size);
        }
        out.push(self.tokens.min(8.0));
    }

    fn key(&self) -> u64 {
        self.heads.key()
    }

    fn size(&self) -> f64 {
        self.sequences * self.tokens
    }
}

/// Tokens of a chunk.
const CHUNK: f64 = 64.0;

impl Kernel for DeltaChunks {
    const PARAMETERS: &'static [Parameter] = &[
        us("launch_us", "launches", 8.0, 1.0, 80.0),
        us("first_us", "a chain's first chunk", 6.0, 0.02, 60.0),
        us("chunk_us", "each further chunk of a chain", 2.0, 0.05, 20.0),
        Parameter {
            name: "slots",
            about: "chains an SM holds",
            start: 1.0,
            low: 0.2,
            high: 8.0,
        },
        Parameter {
            name: "waves",
            about: "how much chains wait for whole waves: 1 fully",
            start: 0.7,
            low: 0.02,
            high: 1.0,
        },
        Parameter {
            name: "arithmetic",
            about: "share of peak the parallel part reaches",
            start: 0.2,
            low: 0.01,
            high: 2.0,
        },
        SHARE,
        CACHE,
        EDGE,
        BLEND,
    ];
    const FEATURES: &'static [&'static str] = &[
        "tokens",
        "sequences",
        "value heads",
        "key heads",
        "chains",
        "all tokens",
        "work",
        "waves",
        "fill",
        "waves of two",
        "chunk rest",
    ];
    const SIZES: usize = 3;

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let &[
            launch,
            first,
            chunk,
            slots,
            quantised,
            arithmetic,
            share,
            cache,
            edge,
            z,
        ] = p
        else {
            return Parts::default();
        };
        let Self {
            heads,
            sequences,
            tokens,
        } = *self;
        let chains = sequences * heads.values;
        let full = chains / (hardware.sms * slots);
        let waves = (quantised * libm::ceil(full - 1e-9) + (1.0 - quantised) * full).max(1.0);
        let chain = waves * (first + chunk * (tokens / CHUNK - 1.0).max(0.0)) * 1e-6;
        let padded = sequences * libm::ceil(tokens / CHUNK) * CHUNK;
        let flops = padded * heads.values * 6.0 * heads.key_dim * (heads.value_dim + CHUNK);
        let bytes = sequences
            * tokens
            * (12.0 * heads.values * heads.value_dim + 8.0 * heads.keys * heads.key_dim)
            + sequences * heads.state();
        let compute = flops / (hardware.bf16 * arithmetic);
        let memory = moved(bytes, bytes, hardware, share, cache, edge);
        let launch = launch * 1e-6;
        parts(
            compute + chain,
            memory,
            launch,
            launch + blend(chain, compute + memory, z),
        )
    }

    fn features(&self, hardware: &Hardware, out: &mut Features) {
        let Self {
            heads,
            sequences,
            tokens,
        } = *self;
        let chains = sequences * heads.values;
        let all = sequences * tokens;
        for size in [
            tokens,
            sequences,
            heads.values,
            heads.keys,
            chains,
            all,
            all * heads.values,
        ] {
            out.log(size);
        }
        let full = chains / hardware.sms;
        out.log(libm::ceil(full));
        out.push(full / libm::ceil(full));
        out.log(libm::ceil(full / 2.0));
        out.push(tokens / CHUNK / libm::ceil(tokens / CHUNK));
    }

    fn key(&self) -> u64 {
        self.heads.key()
    }

    fn size(&self) -> f64 {
        self.sequences * self.tokens
    }
}

impl Kernel for DeltaStep {
    const PARAMETERS: &'static [Parameter] = &[
        SHARE,
        CACHE,
        EDGE,
        us(
            "block_us",
            "time of a head's state, or of 256 channels, on an SM",
            0.3,
            1e-3,
            20.0,
        ),
        us("launch_us", "launch", 4.0, 0.5, 60.0),
        BLEND,
    ];
    const FEATURES: &'static [&'static str] = &[
        "sequences",
        "work",
        "value heads",
        "key heads",
        "waves",
        "fill",
    ];
    const SIZES: usize = 2;
    const ROWS_PER_ANSWER: usize = 1;

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let &[share, cache, edge, block, launch, z] = p else {
            return Parts::default();
        };
        let (bytes, blocks) = self.work();
        let memory = moved(bytes, bytes / 2.0, hardware, share, cache, edge);
        let compute = block * 1e-6 * blocks / hardware.sms;
        let launch = launch * 1e-6;
        parts(
            compute,
            memory,
            launch,
            blend(launch, soft_max(compute, memory), z),
        )
    }

    fn features(&self, hardware: &Hardware, out: &mut Features) {
        let (_, blocks) = self.work();
        for size in [self.sequences, blocks, self.heads.values, self.heads.keys] {
            out.log(size);
        }
        let full = blocks / hardware.sms;
        out.log(libm::ceil(full));
        out.push(full / libm::ceil(full));
    }

    fn key(&self) -> u64 {
        self.heads.key()
    }

    fn size(&self) -> f64 {
        self.sequences
    }
}

impl DeltaStep {
    /// Bytes read and written, and blocks: heads, or 256 channels each. A convolution's state is
    /// three tokens, read and written; its token comes and its result goes.
    fn work(&self) -> (f64, f64) {
        if self.channels > 0.0 {
            (
                self.sequences * self.channels * 16.0,
                self.sequences * self.channels / 256.0,
            )
        } else {
            (
                self.sequences * self.heads.state() * 2.0,
                self.sequences * self.heads.values,
            )
        }
    }
}
