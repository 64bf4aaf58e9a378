//! What every family of kernels gives: parameters, physics, features.

use super::hardware::Hardware;

/// A physical parameter of a family and the range in which it is plausible.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Its name in files and reports, with its unit where it has one (`launch_us`).
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Where a fit starts.
    pub start: f64,
    /// Least plausible value, above zero: fits walk in its logarithm.
    pub low: f64,
    /// Largest plausible value.
    pub high: f64,
}

/// Parts of a kernel's time, seconds, and the time they make together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Parts {
    /// What the arithmetic takes.
    pub compute: f64,
    /// What device memory takes.
    pub memory: f64,
    /// What links take.
    pub link: f64,
    /// Launch, prologue, synchronisation: what no size hides.
    pub launch: f64,
    /// In all. Not their sum: arithmetic and memory overlap as the family says.
    pub seconds: f64,
}

impl Parts {
    /// Arithmetic and memory overlap softly, `(c⁴ + m⁴)^¼`; links and launch do not.
    #[must_use]
    pub fn overlapped(compute: f64, memory: f64, link: f64, launch: f64) -> Self {
        Self {
            compute,
            memory,
            link,
            launch,
            seconds: soft_max(compute, memory) + link + launch,
        }
    }

    /// Issued by a host that takes so many seconds for it, outside a CUDA graph: the longer of both.
    #[must_use]
    pub fn beside_host(self, host: f64) -> Self {
        let seconds = soft_max(self.seconds, host);
        Self {
            launch: self.launch + seconds - self.seconds,
            seconds,
            ..self
        }
    }

    /// All parts times a factor.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self {
            compute: self.compute * factor,
            memory: self.memory * factor,
            link: self.link * factor,
            launch: self.launch * factor,
            seconds: self.seconds * factor,
        }
    }
}

/// `(a⁴ + b⁴)^¼`: the larger where they differ, 19 % more where they are equal.
#[must_use]
pub fn soft_max(a: f64, b: f64) -> f64 {
    let (large, small) = if a > b { (a, b) } else { (b, a) };
    if large <= 0.0 {
        return 0.0;
    }
    let ratio = small / large;
    let square = ratio * ratio;
    large * libm::sqrt(libm::sqrt(1.0 + square * square))
}

/// Features of a shape: natural logarithms of sizes, shares, small counts; −8 … 56 each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Features {
    values: [f64; Self::MOST],
    count: usize,
}

impl Default for Features {
    fn default() -> Self {
        Self {
            values: [0.0; Self::MOST],
            count: 0,
        }
    }
}

impl Features {
    /// Most features of a family.
    pub const MOST: usize = 40;

    /// Adds one.
    pub fn push(&mut self, value: f64) {
        if let Some(slot) = self.values.get_mut(self.count) {
            *slot = value;
            self.count += 1;
        }
    }

    /// Adds the natural logarithm of a positive size.
    pub fn log(&mut self, size: f64) {
        self.push(libm::log(size.max(1e-3)));
    }

    /// They.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values[..self.count]
    }
}

/// A family of kernels. Implemented by its shape.
pub trait Kernel {
    /// Physical parameters, in order.
    const PARAMETERS: &'static [Parameter];
    /// Names of the features, in order. The first [`Self::SIZES`] are logarithms of sizes that
    /// tell how far a shape lies outside the measured range.
    const FEATURES: &'static [&'static str];
    /// How many of the features are sizes.
    const SIZES: usize;
    /// Most answers of its forests, over all trees: what the budget of bytes gives it, at about
    /// 3.6 bytes each.
    const ANSWERS: usize = 560;
    /// Fewest rows to an answer; 1: timings that repeat to a percent, of which every row counts.
    const ROWS_PER_ANSWER: usize = 8;

    /// The shape as a kernel of an engine runs it, by its name in the tables: what is known about
    /// that kernel and is no number of the model.
    #[must_use]
    fn run_by(self, engine: &str, kernel: &str) -> Self
    where
        Self: Sized,
    {
        let _ = (engine, kernel);
        self
    }

    /// Time by the physics. `parameters` are as many as [`Self::PARAMETERS`]. Monotone: no more
    /// time for less work or for better hardware.
    fn physics(&self, hardware: &Hardware, parameters: &[f64]) -> Parts;

    /// What may decide the engine's kernel choice. Rates are not among it.
    fn features(&self, hardware: &Hardware, out: &mut Features);

    /// The shape without its batch: a hold-out keeps whole keys apart.
    fn key(&self) -> u64;

    /// Its batch (tokens, sequences, bytes): errors are reported by it.
    fn size(&self) -> f64;

    /// Seconds of host time in the call as its shape describes it.
    fn host(&self, _parameters: &[f64]) -> f64 {
        0.0
    }
}

/// FNV-1a of some numbers: keys and content hashes that are the same everywhere.
#[must_use]
pub fn hash(parts: &[u64]) -> u64 {
    parts
        .iter()
        .flat_map(|part| part.to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |state, byte| {
            (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}
