//! A station of a server that does one thing at a time, in order: taking requests in (HTTP, chat
//! templates, tokenising), handing tokens out (detokenising, streaming).

use super::queue::Nanos;
use crate::units::Seconds;

/// A station.
#[derive(Debug, Clone, Copy)]
pub(super) struct Station {
    each: Nanos,
    free_at: Nanos,
}

/// Seconds to whole nanoseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "float casts saturate"
)]
pub(super) fn nanos(time: Seconds) -> Nanos {
    (time.get() * 1e9).round() as Nanos
}

impl Station {
    /// Idle; `each`: time of one thing.
    pub(super) fn new(each: Seconds) -> Self {
        Self {
            each: nanos(each),
            free_at: 0,
        }
    }

    /// Time for so many things.
    pub(super) const fn work(&self, count: u64) -> Nanos {
        self.each.saturating_mul(count)
    }

    /// Whether it has nothing to do any more by then.
    pub(super) const fn is_idle_at(&self, at: Nanos) -> bool {
        self.free_at <= at
    }

    /// It was idle when `count` things came at `at`.
    pub(super) const fn passed(&mut self, at: Nanos, count: u64) {
        if self.each > 0 {
            self.free_at = at.saturating_add(self.work(count));
        }
    }

    /// When `count` things that come now are done.
    pub(super) fn pass(&mut self, now: Nanos, count: u64) -> Nanos {
        if self.each == 0 {
            return now;
        }
        let work = self.work(count);
        self.free_at = self.free_at.max(now).saturating_add(work);
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_at_a_time() {
        let mut station = Station::new(Seconds::new(1e-6));
        assert_eq!(station.pass(0, 3), 3000);
        assert_eq!(station.pass(1000, 1), 4000);
        assert_eq!(station.pass(9000, 2), 11_000);
        assert_eq!(Station::new(Seconds::ZERO).pass(5, 9), 5);
    }
}
