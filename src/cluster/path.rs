//! Paths between GPUs over the drawn links.
//!
//! The shortest in hops; among equals, one chosen by a hash of the pair, as ECMP spreads flows
//! over spines. GPUs may forward over their scale-up domain to reach a NIC on another rail (PXN),
//! because the graph lets them. The same drawing always gives the same paths.

use super::topology::{ChannelId, GpuIx, Topology};
use crate::units::{ByteRate, Seconds};
use std::collections::{BTreeMap, VecDeque};

/// A way from one GPU to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// Channels in order; empty from a GPU to itself.
    pub channels: Vec<ChannelId>,
    /// Sum of the hops' latencies.
    pub latency: Seconds,
    /// Rate of the slowest channel.
    pub rate: ByteRate,
}

/// Finds paths, remembering one breadth-first search per destination.
pub struct Router<'a> {
    topology: &'a Topology,
    distances: BTreeMap<u32, Vec<u32>>,
}

const UNREACHED: u32 = u32::MAX;

impl<'a> Router<'a> {
    /// Over a topology.
    #[must_use]
    pub const fn new(topology: &'a Topology) -> Self {
        Self {
            topology,
            distances: BTreeMap::new(),
        }
    }

    /// The path from one GPU to another; none: they aren't joined.
    pub fn path(&mut self, from: GpuIx, to: GpuIx) -> Option<Path> {
        let topology = self.topology;
        let (start, goal) = (
            topology.gpu_vertex[from.0 as usize],
            topology.gpu_vertex[to.0 as usize],
        );
        let distances = self
            .distances
            .entry(goal)
            .or_insert_with(|| distances_to(topology, goal));
        let mut left = distances[start as usize];
        if left == UNREACHED {
            return None;
        }
        let mut at = start;
        let mut channels = Vec::with_capacity(left as usize);
        let mut latency = Seconds::ZERO;
        let mut rate: Option<ByteRate> = None;
        let hash = mix(u64::from(from.0) << 32 | u64::from(to.0));
        while left > 0 {
            let closer = |id: &&ChannelId| {
                let next = topology.channel(**id).to;
                distances[next as usize] == left - 1
            };
            let ways = topology.out[at as usize].iter().filter(closer).count() as u64;
            let pick = if ways > 1 { hash % ways } else { 0 };
            let id = *topology.out[at as usize]
                .iter()
                .filter(closer)
                .nth(usize::try_from(pick).unwrap_or(0))?;
            let channel = topology.channel(id);
            latency = latency + channel.latency;
            rate = Some(match rate {
                Some(slowest) if slowest <= channel.rate => slowest,
                _ => channel.rate,
            });
            channels.push(id);
            at = channel.to;
            left -= 1;
        }
        Some(Path {
            channels,
            latency,
            rate: rate.unwrap_or(ByteRate::new(f64::MAX)),
        })
    }
}

/// Hops from every vertex to `goal`. Links are symmetric, so a search from the goal will do.
fn distances_to(topology: &Topology, goal: u32) -> Vec<u32> {
    let mut distances = vec![UNREACHED; topology.vertices.len()];
    distances[goal as usize] = 0;
    let mut queue = VecDeque::from([goal]);
    while let Some(vertex) = queue.pop_front() {
        let next = distances[vertex as usize] + 1;
        for id in &topology.out[vertex as usize] {
            let to = topology.channel(*id).to as usize;
            if distances[to] == UNREACHED {
                distances[to] = next;
                queue.push_back(topology.channel(*id).to);
            }
        }
    }
    distances
}

/// A bijective mix (the finaliser of `SplitMix64`), so that neighbouring pairs spread evenly.
const fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
