//! What the decodes of a cohort see of their contexts, and which of their windows still take
//! blocks, kept as sums.
//!
//! A request that joins at step `j` with `b` tokens cached sees a context of `b + 1 + (s − j)` at
//! step `s`. Of a window of `w` it sees all until step `j + w − b − 1`, then `w`; of a chunk of `c`
//! it sees one more every step and starts again whenever the context passes a multiple of `c`. So
//! a sum over the decodes is affine in the step but for crossings, and when each crosses is known
//! when it joins: a calendar of counts is enough, and a step costs its crossings.
//!
//! Everything is stated as of the cohort's next step `now`; a request may join at `now` or one
//! step later.

use crate::cost::Reach;
use std::collections::BTreeMap;

/// Counts by step, or by step modulo a period.
#[derive(Debug, Default)]
struct Calendar(BTreeMap<u64, u32>);

impl Calendar {
    fn add(&mut self, key: u64) {
        *self.0.entry(key).or_default() += 1;
    }

    /// Steps after `now` before the first key.
    fn steps(&self, now: u64) -> u64 {
        let first = self.0.first_key_value();
        first.map_or(u64::MAX, |(key, _)| key.saturating_sub(now + 1))
    }

    /// The same where keys are modulo `period`.
    fn steps_around(&self, now: u64, period: u64) -> u64 {
        let next = (now + 1) % period;
        let first = self.0.range(next..).next().map(|(key, _)| key - next);
        let around = || {
            let first = self.0.first_key_value();
            first.map(|(key, _)| period - next + key)
        };
        first.or_else(around).unwrap_or(u64::MAX)
    }

    fn remove(&mut self, key: u64) {
        if let Some(count) = self.0.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&key);
            }
        }
    }
}

/// A decode: its first step, and the tokens it has cached by then.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decode {
    pub(super) join: u64,
    pub(super) base: u64,
}

impl Decode {
    /// The step at which it has `tokens` cached; none: it has had them before its first.
    fn has_cached(self, tokens: u64) -> Option<u64> {
        (tokens >= self.base).then(|| self.join + (tokens - self.base))
    }
}

/// The sum over the decodes of what they see by one [`Reach`].
#[derive(Debug)]
pub(super) struct Reached {
    reach: Reach,
    /// Decodes that see one more every step.
    growing: u32,
    /// Their sum is this + `growing` · step.
    origin: i64,
    /// Decodes that see a full window.
    full: u32,
    crossings: Calendar,
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

impl Reached {
    pub(super) fn new(reach: Reach) -> Self {
        Self {
            reach,
            growing: 0,
            origin: 0,
            full: 0,
            crossings: Calendar::default(),
        }
    }

    /// The sum at step `now`.
    pub(super) fn sum(&self, now: u64) -> u64 {
        let growing = self.origin + i64::from(self.growing) * signed(now);
        let full = match self.reach {
            Reach::Last(most) => u64::from(self.full) * most,
            Reach::All | Reach::Chunk(_) => 0,
        };
        u64::try_from(growing).unwrap_or(0) + full
    }

    /// The step from which a decode sees its full window; none: it does at once.
    fn fills(most: u64, decode: Decode, now: u64) -> Option<u64> {
        decode
            .has_cached(most.saturating_sub(1))
            .filter(|step| *step > now)
    }

    /// What a growing decode adds to `origin`.
    fn part(&self, decode: Decode, now: u64) -> i64 {
        let context = signed(decode.base) + 1 - signed(decode.join);
        match self.reach {
            Reach::All | Reach::Last(_) => context,
            Reach::Chunk(size) => {
                let size = signed(size.max(1));
                // What it sees now, less the step.
                (context + signed(now) - 1).rem_euclid(size) + 1 - signed(now)
            }
        }
    }

    /// Steps at which a decode begins a chunk are these, modulo the chunk.
    fn phase(size: u64, decode: Decode) -> u64 {
        let size = size.max(1);
        (decode.join % size + size - decode.base % size) % size
    }

    pub(super) fn join(&mut self, decode: Decode, now: u64) {
        match self.reach {
            Reach::All => {}
            Reach::Last(most) => match Self::fills(most, decode, now) {
                Some(step) => self.crossings.add(step),
                None => {
                    self.full += 1;
                    return;
                }
            },
            Reach::Chunk(size) => self.crossings.add(Self::phase(size, decode)),
        }
        self.growing += 1;
        self.origin += self.part(decode, now);
    }

    pub(super) fn leave(&mut self, decode: Decode, now: u64) {
        match self.reach {
            Reach::All => {}
            Reach::Last(most) => match Self::fills(most, decode, now) {
                Some(step) => self.crossings.remove(step),
                None => {
                    self.full -= 1;
                    return;
                }
            },
            Reach::Chunk(size) => self.crossings.remove(Self::phase(size, decode)),
        }
        self.growing -= 1;
        self.origin -= self.part(decode, now);
    }

    /// By how much the sum grows with a step.
    pub(super) fn growth(&self) -> u64 {
        u64::from(self.growing)
    }

    /// Steps on from `now` in which nobody crosses: their sums are affine.
    pub(super) fn steps(&self, now: u64) -> u64 {
        match self.reach {
            Reach::All => u64::MAX,
            Reach::Last(_) => self.crossings.steps(now),
            Reach::Chunk(size) => self.crossings.steps_around(now, size.max(1)),
        }
    }

    /// The next step is `now`, one on.
    pub(super) fn advance(&mut self, now: u64) {
        match self.reach {
            Reach::All => {}
            Reach::Last(most) => {
                while let Some(entry) = self.crossings.0.first_entry() {
                    if *entry.key() > now {
                        break;
                    }
                    let (step, count) = entry.remove_entry();
                    self.growing -= count;
                    self.full += count;
                    // Each had grown to the window by that step.
                    self.origin -= i64::from(count) * (signed(most) - signed(step));
                }
            }
            Reach::Chunk(size) => {
                let size = size.max(1);
                if let Some(count) = self.crossings.0.get(&(now % size)) {
                    self.origin -= i64::from(*count) * signed(size);
                }
            }
        }
    }
}

/// Which decodes take a block at which step (modulo the block size), of those that still do.
#[derive(Debug)]
pub(super) struct BlockDue {
    block: u64,
    /// Blocks a sequence takes at most; none: no limit.
    cap: Option<u64>,
    by_step: Vec<u32>,
    /// Last steps before which those with a limit take blocks.
    filled: Calendar,
}

impl BlockDue {
    pub(super) fn new(block: u32, cap: Option<u64>) -> Self {
        Self {
            block: u64::from(block),
            cap,
            by_step: vec![0; block as usize],
            filled: Calendar::default(),
        }
    }

    /// Blocks to take at step `now`.
    pub(super) fn at(&self, now: u64) -> u64 {
        u64::from(self.by_step[(now % self.block) as usize])
    }

    /// Blocks to take at steps `from` to `from + steps - 1`, if nobody's limit is reached before.
    pub(super) fn over(&self, from: u64, steps: u64) -> u64 {
        let cycles = steps / self.block;
        let (start, rest) = (from % self.block, steps % self.block);
        let at = |offset: u64| u64::from(self.by_step[((start + offset) % self.block) as usize]);
        let whole: u64 = if cycles > 0 {
            self.by_step.iter().copied().map(u64::from).sum()
        } else {
            0
        };
        cycles.saturating_mul(whole) + (0..rest).map(at).sum::<u64>()
    }

    /// Steps on from `now` in which nobody's limit is reached.
    pub(super) fn steps(&self, now: u64) -> u64 {
        self.filled.steps(now)
    }

    /// A decode needs a block whenever its cached tokens are a multiple of the block size.
    fn slot(&self, decode: Decode) -> usize {
        let block = self.block;
        usize::try_from((decode.join % block + block - decode.base % block) % block).unwrap_or(0)
    }

    /// The step from which it takes no more; none: that is past.
    fn fills(&self, cap: u64, decode: Decode, now: u64) -> Option<u64> {
        decode
            .has_cached(cap.saturating_mul(self.block))
            .filter(|step| *step > now)
    }

    pub(super) fn join(&mut self, decode: Decode, now: u64) {
        if let Some(cap) = self.cap {
            let Some(step) = self.fills(cap, decode, now) else {
                return;
            };
            self.filled.add(step);
        }
        let slot = self.slot(decode);
        self.by_step[slot] += 1;
    }

    pub(super) fn leave(&mut self, decode: Decode, now: u64) {
        if let Some(cap) = self.cap {
            let Some(step) = self.fills(cap, decode, now) else {
                return;
            };
            self.filled.remove(step);
        }
        let slot = self.slot(decode);
        self.by_step[slot] -= 1;
    }

    /// The next step is `now`, one on.
    pub(super) fn advance(&mut self, now: u64) {
        if self.cap.is_none() {
            return;
        }
        while let Some(entry) = self.filled.0.first_entry() {
            if *entry.key() > now {
                break;
            }
            // It has just as many tokens as its blocks hold, so its slot is that step's.
            let (step, count) = entry.remove_entry();
            self.by_step[(step % self.block) as usize] -= count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone, Copy)]
    enum Act {
        Join { base: u64, late: bool },
        Leave(usize),
        Step,
    }

    fn acts() -> impl Strategy<Value = Vec<Act>> {
        let act = prop_oneof![
            2 => (0u64..90, any::<bool>()).prop_map(|(base, late)| Act::Join { base, late }),
            1 => any::<usize>().prop_map(Act::Leave),
            4 => Just(Act::Step),
        ];
        proptest::collection::vec(act, 1..300)
    }

    proptest! {
        /// Sums kept as counts are the sums over the decodes one by one, every step.
        #[test]
        fn sums_are_those_of_brute_force(
            acts in acts(),
            most in 1u64..70,
            size in 1u64..70,
            block in 1u32..9,
            cap in 1u64..12,
        ) {
            let reaches = [Reach::All, Reach::Last(most), Reach::Chunk(size)];
            let mut sums = reaches.map(Reached::new);
            let mut dues = [None, Some(cap)].map(|cap| BlockDue::new(block, cap));
            let mut decodes: Vec<Decode> = Vec::new();
            let mut now = 0u64;
            for act in acts {
                match act {
                    Act::Join { base, late } => {
                        let decode = Decode { join: now + u64::from(late), base };
                        sums.iter_mut().for_each(|sum| sum.join(decode, now));
                        dues.iter_mut().for_each(|due| due.join(decode, now));
                        decodes.push(decode);
                    }
                    Act::Leave(which) if !decodes.is_empty() => {
                        let at = which % decodes.len();
                        // Who has not begun does not leave.
                        if decodes[at].join > now {
                            continue;
                        }
                        let decode = decodes.swap_remove(at);
                        sums.iter_mut().for_each(|sum| sum.leave(decode, now));
                        dues.iter_mut().for_each(|due| due.leave(decode, now));
                    }
                    Act::Leave(_) => {}
                    Act::Step => {
                        now += 1;
                        sums.iter_mut().for_each(|sum| sum.advance(now));
                        dues.iter_mut().for_each(|due| due.advance(now));
                    }
                }
                if decodes.iter().any(|decode| decode.join > now) {
                    // Sums are asked for between a step's end and the next one's start only.
                    continue;
                }
                let cached = |decode: &Decode| decode.base + (now - decode.join);
                for (sum, reach) in sums.iter().zip(reaches) {
                    let seen: u64 = decodes.iter().map(|d| reach.tokens(cached(d) + 1)).sum();
                    prop_assert_eq!(sum.sum(now), seen, "{:?} at {}", reach, now);
                }
                for due in &dues {
                    let block = u64::from(block);
                    let takes = decodes
                        .iter()
                        .filter(|d| cached(d).is_multiple_of(block))
                        .filter(|d| due.cap.is_none_or(|cap| cached(d) / block < cap))
                        .count() as u64;
                    prop_assert_eq!(due.at(now), takes);
                }
            }
        }
    }
}
