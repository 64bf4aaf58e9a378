//! What a step takes, on the device and on the host.
//!
//! The device's time is what its kernels take one after another. The host prepares a step, then issues
//! its kernels or graphs, each of which takes it a moment; a kernel can't start before it is issued.
//! Without overlap a step is preparation, then the device with its first launch before it, or the
//! issuing if that is longer. With overlap (vLLM's `async_scheduling`, the overlap schedulers of
//! SGLang and TensorRT-LLM) the host prepares and issues the next step while the device works on this
//! one: the longer of the two sets the pace.

use super::curve::Priced;
use super::line::{Line, Seen};
use crate::cost::operator::{Class, Origin};

/// Integer time inside a step: 10⁻¹⁵ s, so fine that attention can be a whole number for every entry.
/// A step is shorter than five hours.
pub type Femtos = u64;
/// In a nanosecond.
pub const FEMTOS_PER_NANO: Femtos = 1_000_000;

/// How the kernels of a step are issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Issued {
    /// One by one.
    #[default]
    Eager,
    /// As graphs of what lies between attention kernels, and those one by one.
    Pieces,
    /// As one graph.
    Whole,
}

/// Time of a step or stage, in all and by class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepPrice {
    /// Time of the device's kernels in all.
    pub total: Femtos,
    /// By [`Class`] index; [`Class::Host`] has nothing here, see [`Self::exposed`].
    pub by_class: [Femtos; Class::COUNT],
    /// By [`Origin`] index.
    pub by_origin: [Femtos; Origin::COUNT],
    /// How much less, and how much more, it may be: each part's own band, all off the same way.
    pub off: [Femtos; 2],
    /// Time the host takes to prepare it.
    pub host: Femtos,
    /// Kernels and graphs the host issues.
    pub launches: u32,
    /// Time of each of them.
    pub launch: Femtos,
    /// How long the device stands at each of them.
    pub gap: Femtos,
    /// How the model's kernels are issued.
    pub issued: Issued,
}

impl StepPrice {
    /// Time of the host to issue all kernels and graphs.
    #[must_use]
    pub const fn issue(&self) -> Femtos {
        self.launch.saturating_mul(self.launches as u64)
    }

    /// Time the step takes, host and device together.
    #[must_use]
    pub fn took(&self, overlap: bool) -> Femtos {
        let [before, device, host] = self.meets(overlap);
        before.saturating_add(device.max(host))
    }

    /// What comes first, then what of device and host runs side by side.
    pub(super) fn meets(&self, overlap: bool) -> [Femtos; 3] {
        let issue = self.issue();
        let gaps = self.gap.saturating_mul(u64::from(self.launches));
        let device = self.total.saturating_add(gaps);
        if overlap {
            [0, device, self.host.saturating_add(issue)]
        } else {
            // The first kernel waits for its own launch.
            let first = issue.min(self.launch);
            [self.host, device.saturating_add(first), issue]
        }
    }

    /// What of [`Self::took`] the device does not hide: the share of [`Class::Host`], given by the
    /// design. With the classes it adds up to the step's time.
    #[must_use]
    pub fn exposed(&self, overlap: bool) -> Femtos {
        self.took(overlap) - self.total
    }

    pub(super) fn add(&mut self, class: Class, own: Priced) {
        let time = femtos(own.seconds);
        self.total = self.total.saturating_add(time);
        let sum = &mut self.by_class[class as usize];
        *sum = sum.saturating_add(time);
        let sum = &mut self.by_origin[own.origin as usize];
        *sum = sum.saturating_add(time);
        for (sum, share) in self.off.iter_mut().zip([own.band.below, own.band.above]) {
            *sum = sum.saturating_add(femtos(own.seconds * share));
        }
    }

    /// Adds attention that sees so much.
    pub(super) fn add_line(&mut self, line: &Line, seen: &Seen) {
        let time = line.time.at(seen);
        self.total = self.total.saturating_add(time);
        let sum = &mut self.by_class[Class::Attention as usize];
        *sum = sum.saturating_add(time);
        let sum = &mut self.by_origin[line.origin as usize];
        *sum = sum.saturating_add(time);
        for (sum, off) in self.off.iter_mut().zip(&line.off) {
            *sum = sum.saturating_add(off.at(seen));
        }
    }

    /// Adds the device's time and the launches of another part of the step.
    pub(in crate::cost) fn add_all(&mut self, other: &Self) {
        self.total = self.total.saturating_add(other.total);
        let mine = self
            .by_class
            .iter_mut()
            .chain(&mut self.by_origin)
            .chain(&mut self.off);
        let theirs = other
            .by_class
            .iter()
            .chain(&other.by_origin)
            .chain(&other.off);
        for (mine, theirs) in mine.zip(theirs) {
            *mine = mine.saturating_add(*theirs);
        }
        self.launches = self.launches.saturating_add(other.launches);
    }

    /// The device's time and the launches of so many such parts.
    pub(in crate::cost) fn times(&self, count: u32) -> Self {
        let many = |own: Femtos| own.saturating_mul(u64::from(count));
        Self {
            total: many(self.total),
            by_class: self.by_class.map(many),
            by_origin: self.by_origin.map(many),
            off: self.off.map(many),
            launches: self.launches.saturating_mul(count),
            ..*self
        }
    }
}

/// Seconds to whole femtoseconds. Prices are non-negative and far below the range's end.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "float casts saturate"
)]
pub(in crate::cost) fn femtos(seconds: f64) -> Femtos {
    (seconds * 1e15 + 0.5) as Femtos
}

/// Seconds to whole femtoseconds, rounded down; they may be negative.
#[expect(clippy::cast_possible_truncation, reason = "float casts saturate")]
pub(super) fn signed(seconds: f64) -> i64 {
    (seconds * 1e15).floor() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_device_meet() {
        let step = |total, host, launches, launch| StepPrice {
            total,
            host,
            launches,
            launch,
            ..StepPrice::default()
        };
        // Preparation, the first launch, the kernels; with overlap the kernels alone.
        let hidden = step(1000, 300, 20, 10);
        assert_eq!((hidden.took(false), hidden.took(true)), (1310, 1000));
        assert_eq!((hidden.exposed(false), hidden.exposed(true)), (310, 0));
        // Issuing is what takes long.
        let slow = step(1000, 300, 200, 10);
        assert_eq!((slow.took(false), slow.took(true)), (2300, 2300));
        // Nothing of the host is set.
        let bare = step(1000, 0, 200, 0);
        assert_eq!((bare.took(false), bare.took(true)), (1000, 1000));
    }
}
