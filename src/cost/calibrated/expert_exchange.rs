//! Dispatch of tokens to the ranks that hold their experts, and the combine of what these return.
//!
//! Physics: what a rank moves over its scale-up links and its NIC, the rate of the SMs that move it,
//! and a start. A token goes once to every rank (DeepEP normal mode, TensorRT-LLM) or once to every
//! expert (low-latency mode) that wants it.

use super::exchange::{blend, linked, soft_min};
use super::hardware::Hardware;
use super::kernel::{Features, Kernel, Parameter, Parts, hash};

/// One way of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// Tokens to experts.
    Dispatch,
    /// Results back, summed.
    Combine,
}

impl Way {
    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Dispatch => "dispatch",
            Self::Combine => "combine",
        }
    }

    /// Bytes of a token in DeepEP: FP8 with a scale per 128 values there, BF16 back.
    pub(super) fn deepep_bytes(self, hidden: f64) -> f64 {
        match self {
            Self::Dispatch => hidden * (1.0 + 4.0 / 128.0),
            Self::Combine => hidden * 2.0,
        }
    }
}

/// Of `owners` with equal shares of `experts`, how many hold one of `topk` drawn without repeat:
/// `R · (1 − C(E − E/R, k) / C(E, k))`, for a whole `k`; between those by a straight line.
#[must_use]
pub fn distinct(topk: f64, experts: f64, owners: f64) -> f64 {
    let own = experts / owners.max(1.0);
    let missed = |count: f64| {
        let mut miss = 1.0;
        let mut drawn = 0.0;
        while drawn < count.min(4096.0) {
            miss *= ((experts - own - drawn) / (experts - drawn).max(1.0)).max(0.0);
            drawn += 1.0;
        }
        miss
    };
    let whole = libm::floor(topk);
    let part = topk - whole;
    let miss = missed(whole) * (1.0 - part) + missed(whole + 1.0) * part;
    owners * (1.0 - miss)
}

/// Nodes a token's experts may be on at most: routing limited to groups (DeepSeek-V3 picks 4 of 8
/// groups, and DeepEP's own test does the same).
pub const NODES_OF_A_TOKEN: f64 = 4.0;

/// DeepEP's high-throughput mode.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deepep {
    /// Which way.
    pub way: Way,
    /// Tokens of each rank.
    pub tokens: f64,
    /// Values of a token.
    pub hidden: f64,
    /// Experts of a token.
    pub topk: f64,
    /// Experts in all.
    pub experts: f64,
    /// Ranks in all.
    pub ranks: f64,
    /// Scale-up domains they are in.
    pub nodes: f64,
    /// SMs that move tokens.
    pub sms: f64,
    /// Bytes per second of a rank's NIC.
    pub nic: f64,
}

/// What a rank sends or receives of a token.
struct Spread {
    /// Ranks it reaches, its own among them.
    ranks: f64,
    /// Domains it reaches besides its own.
    remote: f64,
}

impl Deepep {
    fn spread(&self) -> Spread {
        let groups = self.nodes.min(NODES_OF_A_TOKEN);
        let share = groups / self.nodes;
        let ranks = distinct(self.topk, self.experts * share, self.ranks * share);
        let remote = if self.nodes > 1.0 {
            distinct(self.topk, self.experts * share, groups) * (1.0 - 1.0 / self.nodes)
        } else {
            0.0
        };
        Spread { ranks, remote }
    }
}

/// Softness between the SMs' rate and the link's, and between links.
const SOFT: f64 = 4.0;

const fn us(name: &'static str, about: &'static str, start: f64, low: f64, high: f64) -> Parameter {
    Parameter {
        name,
        about,
        start,
        low,
        high,
    }
}

const BLEND: Parameter = Parameter {
    name: "blend",
    about: "how start and movement add: 1 their sum, more the larger",
    start: 1.3,
    low: 1.0,
    high: 6.0,
};

impl Kernel for Deepep {
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "sm_gbs",
            about: "GB/s one SM moves",
            start: 12.0,
            low: 0.5,
            high: 200.0,
        },
        Parameter {
            name: "sm_power",
            about: "how that grows with their number",
            start: 0.95,
            low: 0.3,
            high: 1.2,
        },
        // NCCL reaches 0.82 at best; where SMs decide, the tables leave it open.
        Parameter {
            name: "scale_up",
            about: "share of the scale-up link reached",
            start: 0.78,
            low: 0.1,
            high: 0.82,
        },
        us(
            "token_us",
            "an SM's time of a token whatever its width",
            0.1,
            1e-4,
            2.0,
        ),
        Parameter {
            name: "nic",
            about: "share of the NIC reached",
            start: 0.85,
            low: 0.05,
            high: 1.0,
        },
        us("launch_us", "start and synchronisation", 25.0, 5.0, 80.0),
        us(
            "hidden_us",
            "more of it per 4096 values of a token",
            5.0,
            0.1,
            40.0,
        ),
        us("node_us", "more of it per further node", 3.0, 0.1, 60.0),
        BLEND,
    ];
    const FEATURES: &'static [&'static str] = &[
        "tokens",
        "hidden",
        "topk",
        "experts",
        "ranks of a token",
        "SMs",
        "nodes",
        "bytes",
        "bytes per SM",
    ];
    const SIZES: usize = 3;
    const BETWEEN_GPUS: bool = true;

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let &[
            sm_gbs,
            sm_power,
            scale_up,
            token,
            nic,
            launch,
            hidden_us,
            node,
            z,
        ] = p
        else {
            return Parts::default();
        };
        let Spread { ranks, remote } = self.spread();
        let bytes = self.tokens * self.way.deepep_bytes(self.hidden);
        let sms = sm_gbs * 1e9 * libm::pow(self.sms, sm_power);
        let rate = soft_min(&[sms, hardware.scale_up * scale_up], SOFT);
        let inside = bytes * ranks / rate + self.tokens * token * 1e-6 / self.sms;
        let across = bytes * remote / (self.nic * nic);
        let link = blend(inside, across, SOFT);
        let start = (launch + hidden_us * self.hidden / 4096.0 + node * (self.nodes - 1.0)) * 1e-6;
        let seconds = blend(start, link, z);
        linked(seconds - link, link, seconds)
    }

    fn features(&self, _: &Hardware, out: &mut Features) {
        let Spread { ranks, .. } = self.spread();
        let bytes = self.tokens * self.hidden * ranks;
        for size in [
            self.tokens,
            self.hidden,
            self.topk,
            self.experts,
            ranks,
            self.sms,
            self.nodes,
            bytes,
            bytes / self.sms,
        ] {
            out.log(size);
        }
    }

    fn key(&self) -> u64 {
        hash(&[
            self.hidden.to_bits(),
            self.topk.to_bits(),
            self.experts.to_bits(),
            self.nodes.to_bits(),
        ])
    }

    fn size(&self) -> f64 {
        self.tokens
    }
}

/// DeepEP's low-latency mode: every copy goes straight to its expert's rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeepepLowLatency {
    /// Which way.
    pub way: Way,
    /// Tokens of each rank.
    pub tokens: f64,
    /// Values of a token.
    pub hidden: f64,
    /// Experts of a token.
    pub topk: f64,
    /// Experts in all.
    pub experts: f64,
    /// Ranks in all.
    pub ranks: f64,
    /// Scale-up domains they are in.
    pub nodes: f64,
    /// Bytes per second of a rank's NIC.
    pub nic: f64,
}

impl DeepepLowLatency {
    /// SMs its kernel takes and experts of each: as few experts per SM as fit (its launch rule).
    fn sms(&self, hardware: &Hardware) -> (f64, f64) {
        let each = libm::ceil(self.experts / hardware.sms).max(1.0);
        (libm::ceil(self.experts / each).max(1.0), each)
    }
}

impl Kernel for DeepepLowLatency {
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "sm_gbs",
            about: "GB/s one SM moves",
            start: 5.0,
            low: 0.3,
            high: 400.0,
        },
        Parameter {
            name: "sm_power",
            about: "how that grows with their number",
            start: 0.9,
            low: 0.3,
            high: 1.2,
        },
        Parameter {
            name: "scale_up",
            about: "share of the scale-up link reached",
            start: 0.7,
            low: 0.1,
            high: 1.0,
        },
        Parameter {
            name: "own_gbs",
            about: "GB/s of copies one SM handles wherever they go",
            start: 50.0,
            low: 0.5,
            high: 1e4,
        },
        us(
            "token_us",
            "an SM's time of a token whatever its width",
            0.5,
            1e-3,
            10.0,
        ),
        Parameter {
            name: "nic",
            about: "share of the NIC reached",
            start: 0.8,
            low: 0.3,
            high: 1.0,
        },
        us("launch_us", "start and synchronisation", 9.0, 3.0, 40.0),
        us("experts_us", "more of it per 128 experts", 1.0, 0.05, 10.0),
        us(
            "nodes_us",
            "more of it per doubling of the nodes",
            4.0,
            0.1,
            40.0,
        ),
        BLEND,
    ];
    const FEATURES: &'static [&'static str] = &[
        "tokens",
        "hidden",
        "topk",
        "experts",
        "experts per SM",
        "SMs",
        "nodes",
        "bytes",
    ];
    const SIZES: usize = 3;
    const BETWEEN_GPUS: bool = true;
    const ROWS_PER_ANSWER: usize = 1;

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let &[
            sm_gbs,
            sm_power,
            scale_up,
            own,
            token,
            nic,
            launch,
            experts,
            nodes_us,
            z,
        ] = p
        else {
            return Parts::default();
        };
        let (sms, _) = self.sms(hardware);
        let bytes = self.tokens * self.topk * self.way.deepep_bytes(self.hidden);
        // Copies to the rank itself move in memory.
        let local = bytes * (self.ranks / self.nodes - 1.0).max(0.0) / self.ranks;
        let remote = bytes * (1.0 - 1.0 / self.nodes);
        let moved = sm_gbs * 1e9 * libm::pow(sms, sm_power);
        let rate = soft_min(&[moved, hardware.scale_up * scale_up], SOFT);
        let inside = local / rate + (bytes / (own * 1e9) + self.tokens * token * 1e-6) / sms;
        let across = remote / (self.nic * nic);
        // NVLink and NIC work at the same time, but not all of it.
        let link = blend(inside, across, 1.5);
        let start =
            (launch + experts * self.experts / 128.0 + nodes_us * libm::log2(self.nodes)) * 1e-6;
        let seconds = blend(start, link, z);
        linked(seconds - link, link, seconds)
    }

    fn features(&self, hardware: &Hardware, out: &mut Features) {
        let (sms, each) = self.sms(hardware);
        let bytes = self.tokens * self.hidden * self.topk;
        for size in [
            self.tokens,
            self.hidden,
            self.topk,
            self.experts,
            each,
            sms,
            self.nodes,
            bytes,
        ] {
            out.log(size);
        }
    }

    fn key(&self) -> u64 {
        hash(&[
            self.hidden.to_bits(),
            self.topk.to_bits(),
            self.experts.to_bits(),
            self.nodes.to_bits(),
        ])
    }

    fn size(&self) -> f64 {
        self.tokens
    }
}

/// TensorRT-LLM's exchange inside one NVLink domain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NvlinkExchange {
    /// Tokens of each rank.
    pub tokens: f64,
    /// Bytes of a token as it is sent; zero: only its destinations are (the prepare phase).
    pub token_bytes: f64,
    /// Values of a token.
    pub hidden: f64,
    /// Experts of a token.
    pub topk: f64,
    /// Experts in all.
    pub experts: f64,
    /// Ranks.
    pub ranks: f64,
    /// Ranks a token's experts are on: [`distinct`] if chance decides, as many as can be in tables
    /// of balanced routing.
    pub spread: f64,
}

impl Kernel for NvlinkExchange {
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "scale_up",
            about: "share of the scale-up link reached",
            start: 0.6,
            low: 0.01,
            high: 1.0,
        },
        Parameter {
            name: "doubling",
            about: "time of a byte, per doubling of the ranks",
            start: 1.0,
            low: 0.7,
            high: 2.0,
        },
        Parameter {
            name: "memory",
            about: "share of memory bandwidth reached packing a token",
            start: 0.5,
            low: 0.005,
            high: 10.0,
        },
        us(
            "choice_ns",
            "time of each of a token's choices, nanoseconds",
            0.1,
            1e-4,
            100.0,
        ),
        us("launch_us", "start and synchronisation", 11.0, 3.0, 40.0),
        us(
            "ranks_us",
            "more of it per doubling of the ranks",
            0.5,
            0.01,
            10.0,
        ),
        BLEND,
    ];
    const FEATURES: &'static [&'static str] = &["tokens", "copies", "bytes"];
    const SIZES: usize = 1;
    const BETWEEN_GPUS: bool = true;
    const ROWS_PER_ANSWER: usize = 1;

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let &[scale_up, doubling, memory, choice, launch, ranks_us, z] = p else {
            return Parts::default();
        };
        let doublings = libm::log2(self.ranks).max(0.0);
        let sent = self.tokens * self.spread * (self.ranks - 1.0) / self.ranks * self.token_bytes;
        let link = sent / (hardware.scale_up * scale_up) * libm::pow(doubling, doublings - 1.0);
        let packing = self.tokens * self.token_bytes / (hardware.bandwidth * memory)
            + self.tokens * self.topk * choice * 1e-9;
        let start = (launch + ranks_us * doublings) * 1e-6;
        let seconds = blend(start, link + packing, z);
        Parts {
            compute: 0.0,
            memory: packing,
            link,
            launch: seconds - link - packing,
            seconds,
        }
    }

    fn features(&self, _: &Hardware, out: &mut Features) {
        let copies = self.tokens * self.spread;
        for size in [self.tokens, copies, copies * self.token_bytes] {
            out.log(size);
        }
    }

    fn key(&self) -> u64 {
        hash(&[
            self.hidden.to_bits(),
            self.topk.to_bits(),
            self.experts.to_bits(),
            self.ranks.to_bits(),
        ])
    }

    fn size(&self) -> f64 {
        self.tokens
    }
}
