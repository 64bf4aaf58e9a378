//! Collectives inside one scale-up domain: NCCL's and the engines' own all-reduces.
//!
//! A library has several protocols: one that starts at once and moves few bytes per second (LL: a
//! flag beside every word), one between (LL128, two-shot) and one that needs time to start and
//! reaches the link's rate (Simple, NVLS). Physics: the soft minimum of three of them, each
//! `α + ranks + bytes / (share of the link)`, later ones starting later and moving faster.

use super::hardware::Hardware;
use super::kernel::{Features, Kernel, Parameter, Parts, hash};

/// What the ranks exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Collective {
    /// Every rank ends with the sum of all buffers.
    AllReduce,
    /// Every rank ends with all parts, the buffer in all.
    AllGather,
    /// Every rank ends with the sum of its part of the buffer.
    ReduceScatter,
    /// Every rank ends with its part of every rank's buffer.
    AllToAll,
    /// One rank to another.
    SendReceive,
}

impl Collective {
    /// All.
    pub const ALL: [Self; 5] = [
        Self::AllReduce,
        Self::AllGather,
        Self::ReduceScatter,
        Self::AllToAll,
        Self::SendReceive,
    ];

    /// Its name in tables.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::AllGather => "all_gather",
            Self::ReduceScatter => "reduce_scatter",
            Self::AllToAll => "alltoall",
            Self::SendReceive => "send_recv",
        }
    }

    /// How often the buffer's share `(n − 1)/n` goes over each rank's link.
    const fn passes(self) -> f64 {
        match self {
            Self::AllReduce => 2.0,
            _ => 1.0,
        }
    }

    /// Bytes over each rank's link.
    fn bytes(self, ranks: f64, bytes: f64) -> f64 {
        match self {
            Self::SendReceive => bytes,
            _ => self.passes() * bytes * (ranks - 1.0) / ranks,
        }
    }
}

/// A library's collective of a buffer among the ranks of one domain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exchange {
    /// Which.
    pub collective: Collective,
    /// Ranks.
    pub ranks: f64,
    /// Bytes of the buffer, as NCCL counts it: what a rank ends with (gather) or starts with.
    pub bytes: f64,
    /// Bytes of a value: reductions of bytes take other kernels than those of halves.
    pub value: f64,
}

/// An engine's own all-reduce of a buffer in peers' memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EngineAllReduce {
    /// Ranks.
    pub ranks: f64,
    /// Bytes of the buffer.
    pub bytes: f64,
    /// Launched from the host each time instead of replayed in a CUDA graph: the input is copied
    /// into the shared buffer first, and the host is what small ones wait for.
    pub eager: bool,
    /// The kernel changes from one-shot to two-shot at a size the engine's source has;
    /// [`Kernel::run_by`] knows.
    pub switch: bool,
}

/// `(Σ aᵢ^−q)^(−1/q)`: about the least.
pub(super) fn soft_min(values: &[f64], q: f64) -> f64 {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    if !(least > 0.0 && least.is_finite()) {
        return least.max(0.0);
    }
    let sum: f64 = values.iter().map(|own| libm::pow(own / least, -q)).sum();
    least * libm::pow(sum, -1.0 / q)
}

/// `(a^z + b^z)^(1/z)`: their sum at `z = 1`, their larger at large `z`.
pub(super) fn blend(a: f64, b: f64, z: f64) -> f64 {
    let (large, small) = if a > b { (a, b) } else { (b, a) };
    if large <= 0.0 {
        return 0.0;
    }
    large * libm::pow(1.0 + libm::pow(small / large, z), 1.0 / z)
}

/// A launch and what follows it, as parts; `factor` of both is the time they blend to.
pub(super) fn linked(launch: f64, link: f64, seconds: f64) -> Parts {
    Parts {
        compute: 0.0,
        memory: 0.0,
        link,
        launch,
        seconds,
    }
}

/// How sharply one protocol gives way to the next.
const SHARP: f64 = 8.0;

const fn microseconds(
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

const fn share(name: &'static str, about: &'static str, start: f64, high: f64) -> Parameter {
    Parameter {
        name,
        about,
        start,
        low: 1e-3,
        high,
    }
}

impl Kernel for Exchange {
    const PARAMETERS: &'static [Parameter] = &[
        microseconds(
            "launch_us",
            "start of the first protocol, two ranks",
            6.0,
            1.0,
            80.0,
        ),
        microseconds(
            "ranks_us",
            "more of it per doubling of the ranks",
            2.0,
            0.05,
            30.0,
        ),
        share(
            "share_1",
            "share of the link the first protocol reaches",
            0.1,
            0.6,
        ),
        microseconds(
            "later_2_us",
            "start of the second after the first",
            6.0,
            0.3,
            100.0,
        ),
        share("more_2", "how much more of the link it reaches", 0.2, 0.6),
        microseconds(
            "later_3_us",
            "start of the third after the second",
            12.0,
            0.5,
            400.0,
        ),
        share("more_3", "how much more of the link it reaches", 0.3, 0.9),
        Parameter {
            name: "doubling",
            about: "time of a byte, per doubling of the ranks",
            start: 1.0,
            low: 0.4,
            high: 4.0,
        },
    ];
    const FEATURES: &'static [&'static str] =
        &["bytes", "ranks", "bytes per rank", "bytes × ranks", "value"];
    const SIZES: usize = 2;
    const ROWS_PER_ANSWER: usize = 1;

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let &[
            launch,
            ranks_us,
            share_1,
            later_2,
            more_2,
            later_3,
            more_3,
            doubling,
        ] = p
        else {
            return Parts::default();
        };
        let doublings = (libm::log2(self.ranks) - 1.0).max(0.0);
        let wire = self.collective.bytes(self.ranks, self.bytes) / hardware.scale_up
            * libm::pow(doubling, doublings);
        let starts = [launch, launch + later_2, launch + later_2 + later_3];
        let shares = [share_1, share_1 + more_2, share_1 + more_2 + more_3];
        let start =
            |index: usize| (starts[index] + ranks_us * doublings * starts[index] / launch) * 1e-6;
        let times = [0, 1, 2].map(|index| start(index) + wire / shares[index]);
        let seconds = soft_min(&times, SHARP);
        let launch = start(0).min(seconds);
        linked(launch, seconds - launch, seconds)
    }

    fn features(&self, _: &Hardware, out: &mut Features) {
        let Self {
            ranks,
            bytes,
            value,
            ..
        } = *self;
        for size in [bytes, ranks, bytes / ranks, bytes * ranks] {
            out.log(size);
        }
        out.push(value);
    }

    fn key(&self) -> u64 {
        hash(&[
            self.ranks.to_bits(),
            self.bytes.to_bits(),
            self.value.to_bits(),
        ])
    }

    fn size(&self) -> f64 {
        self.bytes
    }
}

/// Where the host's time is among an engine's all-reduce parameters.
const HOST: usize = 10;

/// Bytes from which the engines' kernel is two-shot (`custom_all_reduce.cuh` of vLLM and SGLang,
/// fully connected GPUs): never for two ranks, 512 KiB up to four, 256 KiB beyond.
fn two_shot_from(ranks: f64) -> f64 {
    if ranks <= 2.0 {
        f64::INFINITY
    } else if ranks <= 4.0 {
        512.0 * 1024.0
    } else {
        256.0 * 1024.0
    }
}

/// The kernel that is not vLLM's or SGLang's, whose source has no such size.
const OTHER_KERNEL: &str = "TRTLLM";

impl Kernel for EngineAllReduce {
    const PARAMETERS: &'static [Parameter] = &[
        microseconds(
            "launch_us",
            "start of the one-shot kernel, two ranks",
            4.0,
            1.0,
            60.0,
        ),
        microseconds(
            "ranks_us",
            "more of it per doubling of the ranks",
            0.5,
            0.02,
            20.0,
        ),
        share(
            "one_shot",
            "share of the link it reaches reading all peers",
            0.4,
            1.0,
        ),
        microseconds(
            "two_shot_us",
            "start of the two-shot kernel after it",
            3.0,
            0.1,
            60.0,
        ),
        microseconds(
            "two_shot_ranks_us",
            "more of that per doubling of the ranks",
            1.0,
            0.02,
            20.0,
        ),
        share("two_shot", "share of the link it reaches", 0.5, 0.95),
        microseconds(
            "large_us",
            "start of what takes over for large buffers (NCCL) after it",
            20.0,
            0.1,
            400.0,
        ),
        share("large", "share of the link it reaches", 0.75, 0.95),
        Parameter {
            name: "doubling_1",
            about: "one-shot's time of a byte, per doubling of the ranks",
            start: 1.0,
            low: 0.4,
            high: 3.0,
        },
        Parameter {
            name: "doubling_2",
            about: "time of a byte of the others, per doubling of the ranks",
            start: 1.0,
            low: 0.4,
            high: 3.0,
        },
        microseconds(
            "host_us",
            "time of the host per eager call",
            30.0,
            5.0,
            200.0,
        ),
        Parameter {
            name: "copy",
            about: "share of memory bandwidth of an eager call's copy",
            start: 0.8,
            low: 0.2,
            high: 2.0,
        },
    ];
    const FEATURES: &'static [&'static str] =
        &["bytes", "ranks", "bytes per rank", "bytes × ranks", "eager"];
    const SIZES: usize = 2;
    const ROWS_PER_ANSWER: usize = 1;

    fn run_by(self, _: &str, kernel: &str) -> Self {
        Self {
            switch: kernel != OTHER_KERNEL,
            ..self
        }
    }

    fn physics(&self, hardware: &Hardware, p: &[f64]) -> Parts {
        let &[
            launch,
            ranks_us,
            one,
            later,
            later_ranks,
            two,
            large_us,
            large,
            doubling_1,
            doubling_2,
            host,
            copy,
        ] = p
        else {
            return Parts::default();
        };
        let doublings = (libm::log2(self.ranks) - 1.0).max(0.0);
        let first = launch + ranks_us * doublings;
        let one_shot = |bytes: f64| {
            first * 1e-6
                + (self.ranks - 1.0) * bytes / (hardware.scale_up * one)
                    * libm::pow(doubling_1, doublings)
        };
        let wire = Collective::AllReduce.bytes(self.ranks, self.bytes) / hardware.scale_up
            * libm::pow(doubling_2, doublings);
        let second = launch + later + later_ranks * doublings;
        let two_shot = second * 1e-6 + wire / two;
        let largest = (second + large_us) * 1e-6 + wire / large.max(two);
        let from = if self.switch {
            two_shot_from(self.ranks)
        } else {
            f64::INFINITY
        };
        let kernel = if self.bytes < from && from.is_finite() {
            one_shot(self.bytes)
        } else if from.is_finite() {
            // It never got faster by growing.
            soft_min(&[two_shot, largest], SHARP).max(one_shot(from))
        } else {
            soft_min(
                &[one_shot(self.bytes), soft_min(&[two_shot, largest], SHARP)],
                SHARP,
            )
        };
        let launch = (first * 1e-6).min(kernel);
        if !self.eager {
            return linked(launch, kernel - launch, kernel);
        }
        let copying = 2.0 * self.bytes / (hardware.bandwidth * copy);
        let seconds = blend(kernel + copying, host * 1e-6, 6.0);
        Parts {
            compute: 0.0,
            memory: copying,
            link: kernel - launch,
            launch: seconds - copying - (kernel - launch),
            seconds,
        }
    }

    fn features(&self, _: &Hardware, out: &mut Features) {
        let Self {
            ranks,
            bytes,
            eager,
            ..
        } = *self;
        for size in [bytes, ranks, bytes / ranks, bytes * ranks] {
            out.log(size);
        }
        out.push(f64::from(u8::from(eager)));
    }

    fn key(&self) -> u64 {
        hash(&[self.ranks.to_bits(), self.bytes.to_bits()])
    }

    fn size(&self) -> f64 {
        self.bytes
    }

    fn host(&self, parameters: &[f64]) -> f64 {
        if self.eager {
            parameters.get(HOST).copied().unwrap_or(0.0) * 1e-6
        } else {
            0.0
        }
    }
}
