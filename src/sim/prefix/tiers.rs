//! Where pages go that leave HBM: the host's memory, its disks, a pool over the network.
//!
//! What is evicted goes to the first tier, and when that is full its oldest goes on to the next;
//! the last one drops it. Pages of a node in a tier are one stretch, evicted from its end. A page
//! that is loaded stays, but what has a copy higher up is the first to go when room is needed, and
//! needs no writing when it is evicted again (`SGLang`'s hierarchical cache keeps copies so, 0.5
//! `mem_cache/hiradix_cache.py`, `write_back`). So HBM and the tiers together have the pages used
//! last, as many as fit in their sum: more HBM never finds less.
//!
//! Reading: one after another, `latency + bytes / read rate`; the latency of one overlaps with
//! what is read before it. Several tiers are read side by side. Writing takes its time off nobody:
//! it happens beside the steps, and is counted.

use super::order::Order;
use super::tree::{Size, Tree};
use crate::plan::Tier;
use crate::sim::queue::Nanos;
use crate::units::real;

/// Latest end of a read, ns: 146 years, so that adding to it can't overflow.
const LATEST_NS: u64 = 1 << 62;

/// The pages `low..high` of a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Stretch {
    low: u32,
    high: u32,
}

impl Stretch {
    const fn is_empty(self) -> bool {
        self.low == self.high
    }
}

/// The reading side of a tier.
#[derive(Debug)]
pub(super) struct TierPort {
    latency: Nanos,
    /// Bytes per second.
    rate: f64,
    free_at: Nanos,
}

impl TierPort {
    fn new(tier: &Tier) -> Self {
        Self {
            latency: nanoseconds(tier.latency.get()),
            rate: tier.read.get(),
            free_at: 0,
        }
    }

    /// Reads so many bytes after what was asked for before; when they are there.
    fn read(&mut self, now: Nanos, bytes: u64) -> Nanos {
        let took = nanoseconds(real(bytes) / self.rate);
        self.free_at = self.free_at.max(now).saturating_add(took).min(LATEST_NS);
        self.free_at + self.latency
    }
}

/// Rounded up, so that nothing takes no time.
fn nanoseconds(seconds: f64) -> Nanos {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "float casts saturate"
    )]
    let ns = (seconds * 1e9).ceil() as u64;
    ns.min(LATEST_NS)
}

/// One tier.
#[derive(Debug)]
struct Level {
    capacity: u64,
    used: u64,
    /// What each node has here, by slot.
    stretches: Vec<Stretch>,
    /// Nodes that have something here.
    order: Order,
    port: TierPort,
    /// Bytes asked for since reads were last started.
    asked: u64,
    read: u64,
    written: u64,
}

impl Level {
    fn new(tier: &Tier) -> Self {
        Self {
            capacity: tier.capacity.get(),
            used: 0,
            stretches: Vec::new(),
            order: Order::new(),
            port: TierPort::new(tier),
            asked: 0,
            read: 0,
            written: 0,
        }
    }

    fn stretch(&self, slot: u32) -> Stretch {
        let stretch = self.stretches.get(slot as usize);
        stretch.copied().unwrap_or_default()
    }

    fn set(&mut self, slot: u32, stretch: Stretch) {
        let index = slot as usize;
        if self.stretches.len() <= index {
            self.stretches.resize(index + 1, Stretch::default());
        }
        self.stretches[index] = stretch;
    }
}

/// All tiers, nearest first.
#[derive(Debug)]
pub(super) struct Tiers {
    levels: Vec<Level>,
    /// Nodes that lost their last page in a tier.
    emptied: Vec<u32>,
    /// Scratch for a text's nodes.
    pub(super) visited: Vec<(u32, u32)>,
}

impl Tiers {
    pub(super) fn new(tiers: &[Tier]) -> Self {
        Self {
            levels: tiers.iter().map(Level::new).collect(),
            emptied: Vec::new(),
            visited: Vec::new(),
        }
    }

    /// How far a node's pages go without a gap, the first `cached` in HBM. No tier's stretch begins
    /// beyond what HBM and the tiers above it have, so one look at each is enough.
    pub(super) fn reach(&self, slot: u32, cached: u32) -> u32 {
        reach(&self.levels, slot, cached)
    }

    /// The end of a node's last page anywhere.
    pub(super) fn top(&self, slot: u32, cached: u32) -> u32 {
        let ends = self.levels.iter().map(|level| level.stretch(slot));
        ends.filter(|stretch| !stretch.is_empty())
            .fold(cached, |top, stretch| top.max(stretch.high))
    }

    /// Whether a node has a page in any tier.
    pub(super) fn has(&self, slot: u32) -> bool {
        self.levels
            .iter()
            .any(|level| !level.stretch(slot).is_empty())
    }

    /// The pages `low..high` of a node have left HBM.
    pub(super) fn put(&mut self, tree: &Tree, size: &Size, slot: u32, low: u32, high: u32) {
        self.put_in(0, tree, size, slot, Stretch { low, high });
    }

    fn put_in(&mut self, index: usize, tree: &Tree, size: &Size, slot: u32, new: Stretch) {
        let (above, rest) = self.levels.split_at_mut(index);
        let Some(level) = rest.first_mut() else {
            return;
        };
        let old = level.stretch(slot);
        let mut stretch = if old.is_empty() {
            new
        } else {
            level.order.remove(slot);
            // Pages between the two are higher up, and are written as well.
            Stretch {
                low: old.low.min(new.low),
                high: old.high.max(new.high),
            }
        };
        let bytes = size.between(stretch.low, stretch.high) - size.between(old.low, old.high);
        level.used += bytes;
        level.written += bytes;
        if level.used > level.capacity {
            // The node is young now, what of it is higher up as well is not: it goes first.
            let low = reach(above, slot, tree[slot].cached).max(stretch.low);
            level.used -= size.between(stretch.low, low);
            stretch.low = low;
        }
        level.set(slot, stretch);
        level.order.push_last(slot);
        self.shrink(index, tree, size);
    }

    /// Lets go of a tier's oldest until it is within its capacity.
    fn shrink(&mut self, index: usize, tree: &Tree, size: &Size) {
        loop {
            let (above, rest) = self.levels.split_at_mut(index);
            let level = &mut rest[0];
            let Some(over) = level.used.checked_sub(level.capacity).filter(|n| *n > 0) else {
                return;
            };
            let Some(slot) = level.order.first() else {
                return;
            };
            let old = level.stretch(slot);
            let high = size.keep(old.low, old.high, over);
            level.used -= size.between(high, old.high);
            level.set(slot, Stretch { high, ..old });
            if high == old.low {
                level.order.remove(slot);
                self.emptied.push(slot);
            }
            // What is higher up as well need not go further down.
            let low = reach(above, slot, tree[slot].cached).max(high);
            if low < old.high {
                let gone = Stretch {
                    low,
                    high: old.high,
                };
                self.put_in(index + 1, tree, size, slot, gone);
            }
        }
    }

    /// A node that lost its last page in some tier.
    pub(super) fn emptied(&mut self) -> Option<u32> {
        self.emptied.pop()
    }

    /// A node has so many pages in HBM: whole copies of them are the first to go.
    pub(super) fn is_above(&mut self, slot: u32, cached: u32) {
        for level in &mut self.levels {
            let stretch = level.stretch(slot);
            if !stretch.is_empty() && stretch.high <= cached {
                level.order.remove(slot);
                level.order.push_first(slot);
            }
        }
    }

    /// A node was parted at so many pages: `upper` has those before.
    pub(super) fn split(&mut self, lower: u32, upper: u32, at: u32) {
        for level in &mut self.levels {
            let Stretch { low, high } = level.stretch(lower);
            if low >= at || low == high {
                continue;
            }
            let before = Stretch {
                low,
                high: high.min(at),
            };
            level.set(upper, before);
            level.order.push_after(upper, lower);
            if high > at {
                level.set(lower, Stretch { low: at, high });
            } else {
                level.order.remove(lower);
                level.set(lower, Stretch::default());
            }
        }
    }

    /// Asks for a node's pages from `cached` to `pages`, each from the nearest tier that has it. How
    /// far they go.
    pub(super) fn read(&mut self, size: &Size, slot: u32, cached: u32, pages: u32) -> u32 {
        let mut at = cached;
        for level in &mut self.levels {
            let stretch = level.stretch(slot);
            let to = stretch.high.min(pages);
            if stretch.low <= at && at < to {
                level.asked += size.between(at, to);
                at = to;
            }
        }
        at
    }

    /// Starts to read what was asked for: how many bytes, and when the last are there.
    pub(super) fn start_reads(&mut self, now: Nanos) -> (u64, Nanos) {
        let (mut sum, mut done) = (0, now);
        for level in &mut self.levels {
            let bytes = std::mem::take(&mut level.asked);
            if bytes > 0 {
                level.read += bytes;
                sum += bytes;
                done = done.max(level.port.read(now, bytes));
            }
        }
        (sum, done)
    }

    /// Bytes read from and written to each so far.
    pub(super) fn traffic(&self) -> impl Iterator<Item = (u64, u64)> {
        self.levels.iter().map(|level| (level.read, level.written))
    }
}

fn reach(levels: &[Level], slot: u32, cached: u32) -> u32 {
    levels.iter().fold(cached, |reach, level| {
        let stretch = level.stretch(slot);
        if stretch.low <= reach {
            reach.max(stretch.high)
        } else {
            reach
        }
    })
}

#[cfg(test)]
impl Tiers {
    /// Used bytes are sums, within capacity; stretches join what is above them.
    pub(super) fn check(&self, tree: &Tree, size: &Size) {
        for (index, level) in self.levels.iter().enumerate() {
            let mut used = 0;
            let mut listed: Vec<u32> = level.order.iter().collect();
            listed.sort_unstable();
            let stored = tree.slots().filter(|slot| !level.stretch(*slot).is_empty());
            assert_eq!(listed, stored.collect::<Vec<_>>());
            for slot in listed {
                let Stretch { low, high } = level.stretch(slot);
                let node = tree[slot];
                assert!(node.start / size.page <= low && low < high);
                assert!(high <= node.end / size.page);
                let above = reach(&self.levels[..index], slot, node.cached);
                assert!(low <= above, "a gap in a node");
                used += size.between(low, high);
            }
            assert_eq!(level.used, used);
            assert!(used <= level.capacity);
        }
    }
}
