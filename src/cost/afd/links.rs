//! How long activations take between a copy's attention and FFN GPUs, on the drawn links.
//!
//! Each attention GPU sends its share of its lane's tokens to the FFN ranks, evenly; the ways back are
//! the same. All flows of a micro-batch start together and are equal, so max–min fairness ends with the
//! channel that has most to carry for its rate. Which channel that is depends on the lanes' tokens: one
//! that a single lane uses carries that lane's, one that several share carries their mean; the longest
//! of each sort is kept, so a step asks two numbers.

use crate::cluster::{ChannelId, GpuIx, Router, Topology};
use crate::cost::collective::LINK_EFFICIENCY;
use crate::units::real;
use std::collections::BTreeMap;

/// Most pairs of GPUs whose paths are walked; beyond, every so many-th attention GPU stands for its
/// neighbours.
const MOST_PAIRS: usize = 1 << 16;

/// One way.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Way {
    /// Seconds a byte of each token of a lane takes on the worst channel only one lane uses.
    own: f64,
    /// The same on the worst one that lanes share.
    shared: f64,
    /// Longest path, seconds.
    latency: f64,
    /// The worst channel when lanes are level.
    pub(super) worst: Option<ChannelId>,
}

impl Way {
    /// `lanes`: ranks of each attention lane; `ffn`: ranks of the FFN replica. `back`: from the FFN.
    pub(super) fn of(
        topology: &Topology,
        router: &mut Router<'_>,
        lanes: &[&[GpuIx]],
        ffn: &[GpuIx],
        back: bool,
    ) -> Self {
        let senders: usize = lanes.iter().map(|lane| lane.len()).sum();
        let stride = (senders * ffn.len()).div_ceil(MOST_PAIRS).max(1);
        // What a channel carries of a byte of every token, and for which lane if for one alone.
        let mut loads: BTreeMap<ChannelId, (f64, Option<usize>)> = BTreeMap::new();
        let mut latency = 0.0_f64;
        let mut at = 0_usize;
        for (index, lane) in lanes.iter().enumerate() {
            let each = real(stride as u64) / real((lane.len() * ffn.len()) as u64);
            for own in *lane {
                at += 1;
                if !at.is_multiple_of(stride) && stride > 1 {
                    continue;
                }
                for other in ffn {
                    let (from, to) = if back { (*other, *own) } else { (*own, *other) };
                    let Some(path) = router.path(from, to) else {
                        continue;
                    };
                    latency = latency.max(path.latency.get());
                    for channel in path.channels {
                        let load = loads.entry(channel).or_insert((0.0, Some(index)));
                        load.0 += each;
                        if load.1 != Some(index) {
                            load.1 = None;
                        }
                    }
                }
            }
        }
        let mut way = Self {
            latency,
            ..Self::default()
        };
        let mut worst = 0.0;
        for (channel, (load, lane)) in loads {
            let seconds = load / (topology.channel(channel).rate.get() * LINK_EFFICIENCY);
            let sort = if lane.is_some() {
                &mut way.own
            } else {
                &mut way.shared
            };
            *sort = sort.max(seconds);
            if seconds > worst {
                (worst, way.worst) = (seconds, Some(channel));
            }
        }
        way
    }

    /// Seconds of so many bytes of each token, `most` tokens in the fullest lane, `mean` in all.
    pub(super) fn seconds(&self, bytes: f64, most: f64, mean: f64) -> f64 {
        if mean <= 0.0 {
            return 0.0;
        }
        self.latency + bytes * (self.own * most).max(self.shared * mean)
    }
}
