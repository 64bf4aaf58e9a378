//! KV transfer from a prefill lane to a decode lane: how many bytes go over which channels.
//!
//! Every decode rank needs the cache of its heads and layers. It takes it from the prefill ranks
//! that hold them; where TP exceeds the KV heads, heads are stored and sent more than once, so TP
//! 8 over 4 KV heads sends twice the bytes. A latent, an index key or a compressed entry is whole
//! on every rank and is sent to each; a recurrent state is divided evenly. Windows send what they
//! keep, states are sent once. A transfer is one fluid flow over all its rank-to-rank paths:
//! channel `c` carries the share `w_c` of its bytes, the slowest share decides.
//!
//! What moves it, a [`TransferEngine`], needs a time of its own and reaches a share of the links.

use super::operator::TransferEngine;
use crate::catalog::Dtype;
use crate::cluster::{ChannelId, GpuIx, Router, Topology};
use crate::model::{Attention, CachePart, Extent, INDEX_KEYS, Model, layer_cache};
use crate::plan::{Layout, PlannedPool, StageRun};
use crate::units::real;
use std::collections::BTreeMap;

/// Where a transfer's bytes go.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TransferShape {
    /// What is sent, by how it grows with the sequence.
    pub parts: Vec<TransferPart>,
    /// Longest path latency, seconds.
    pub latency: f64,
}

/// All entries of a sequence that grow alike.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferPart {
    /// How many entries a sequence has.
    pub extent: Extent,
    /// Bytes of an entry, all layers and ranks together.
    pub entry_bytes: f64,
    /// Channels and the share of the bytes each carries.
    pub channels: Vec<(ChannelId, f64)>,
}

impl TransferPart {
    fn bytes(&self, tokens: u64) -> f64 {
        self.entry_bytes * real(self.extent.entries(tokens))
    }
}

impl TransferShape {
    /// Bytes of a sequence of `tokens`, all ranks together.
    #[must_use]
    pub fn bytes(&self, tokens: u64) -> f64 {
        self.parts.iter().map(|part| part.bytes(tokens)).sum()
    }

    /// Whether the channels' shares are the same for all lengths.
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        self.parts.len() < 2
    }

    /// Channels and the share of a sequence's bytes each carries.
    #[must_use]
    pub fn channels(&self, tokens: u64) -> Vec<(ChannelId, f64)> {
        if let [part] = self.parts.as_slice() {
            return part.channels.clone();
        }
        let total = self.bytes(tokens);
        if total <= 0.0 {
            return Vec::new();
        }
        let mut shares: BTreeMap<ChannelId, f64> = BTreeMap::new();
        for part in &self.parts {
            let weight = part.bytes(tokens) / total;
            for (channel, share) in &part.channels {
                *shares.entry(*channel).or_default() += weight * share;
            }
        }
        shares.retain(|_, share| *share > 0.0);
        shares.into_iter().collect()
    }
}

/// Bytes per second at which caches move over each channel of a topology, by its index.
#[must_use]
pub fn transfer_rates(topology: &Topology, engine: &TransferEngine) -> Vec<f64> {
    topology
        .channels()
        .iter()
        .map(|channel| {
            let most = if topology.is_nic_port(channel) {
                engine.nic
            } else {
                f64::INFINITY
            };
            channel.rate.get().min(most) * engine.efficiency
        })
        .collect()
}

/// Seconds of a transfer alone on the links: what a sequence of `tokens` takes.
#[must_use]
pub fn transfer_time(
    shape: &TransferShape,
    tokens: u64,
    rates: &[f64],
    engine: &TransferEngine,
) -> f64 {
    let bytes = shape.bytes(tokens);
    let slowest = shape
        .channels(tokens)
        .iter()
        .map(|(channel, share)| {
            let rate = rates.get(channel.0 as usize).copied().unwrap_or(0.0);
            bytes * share / rate
        })
        .fold(0.0, f64::max);
    engine.latency + shape.latency + slowest
}

/// Layers two stages share, by layer run.
fn shared_layers(
    model: &Model,
    a: &[Vec<StageRun>],
    i: usize,
    b: &[Vec<StageRun>],
    j: usize,
) -> Vec<(usize, f64)> {
    let range = |stages: &[Vec<StageRun>], stage: usize| {
        let before: u32 = stages[..stage].iter().flatten().map(|r| r.count).sum();
        let size: u32 = stages[stage].iter().map(|r| r.count).sum();
        (before, before + size)
    };
    let (a0, a1) = range(a, i);
    let (b0, b1) = range(b, j);
    let mut at = 0;
    let mut shared = Vec::new();
    for (index, run) in model.layers.iter().enumerate() {
        let low = a0.max(b0).max(at);
        let high = a1.min(b1).min(at + run.count);
        if high > low {
            shared.push((index, f64::from(high - low)));
        }
        at += run.count;
    }
    shared
}

/// Prefill ranks (TP index, share) that decode rank `j` takes a part of a layer's cache from.
fn sources(
    attention: &Attention,
    part: &CachePart,
    from: Layout,
    to: Layout,
    j: u32,
) -> Vec<(u32, f64)> {
    if part.extent == Extent::Once {
        return evenly(from.tp, to.tp, j);
    }
    match attention {
        Attention::Gqa(gqa) | Attention::Parallel { attention: gqa, .. }
            if part.name != INDEX_KEYS =>
        {
            let heads = u32::try_from(gqa.kv_heads).unwrap_or(u32::MAX);
            by_heads(heads, from.tp, to.tp, j)
        }
        // Whole, from the rank at the same place.
        _ => vec![(j * from.tp / to.tp, 1.0)],
    }
}

/// A state of which each of `from` ranks holds as much as any, and so does each of `to`.
fn evenly(from: u32, to: u32, j: u32) -> Vec<(u32, f64)> {
    // In units of 1 / (from · to) of the whole: rank j has [j · from, (j + 1) · from).
    let (low, high) = (
        u64::from(j) * u64::from(from),
        (u64::from(j) + 1) * u64::from(from),
    );
    let unit = u64::from(to);
    (0..from)
        .filter_map(|rank| {
            let start = u64::from(rank) * unit;
            let common = high.min(start + unit).saturating_sub(low.max(start));
            (common > 0).then(|| (rank, real(common) / real(high - low)))
        })
        .collect()
}

/// Key-value heads, in order, copied where there are more ranks than heads.
fn by_heads(heads: u32, from: u32, to: u32, j: u32) -> Vec<(u32, f64)> {
    let span = |tp: u32, rank: u32| {
        if tp <= heads {
            let each = heads / tp;
            (rank * each, (rank + 1) * each)
        } else {
            let head = rank / (tp / heads);
            (head, head + 1)
        }
    };
    let (low, high) = span(to, j);
    let copies = (from / heads.max(1)).max(1);
    let holders = from / copies;
    (0..holders)
        .filter_map(|holder| {
            // Copies of a head spread over the decode ranks that ask for it.
            let rank = holder * copies + j % copies;
            let (a, b) = span(from, rank);
            let common = high.min(b).saturating_sub(low.max(a));
            (common > 0).then(|| (rank, f64::from(common) / f64::from(high - low)))
        })
        .collect()
}

/// Bytes of the entries of one extent, being summed up.
#[derive(Default)]
struct Load {
    total: f64,
    by_channel: BTreeMap<ChannelId, f64>,
}

/// The flow from one lane of a prefill replica to one lane of a decode replica; none: they are not
/// joined.
#[must_use]
pub fn kv_transfer(
    router: &mut Router<'_>,
    model: &Model,
    rate_of: &dyn Fn(ChannelId) -> f64,
    from: (&PlannedPool, usize, u32),
    to: (&PlannedPool, usize, u32),
) -> Option<TransferShape> {
    let (source, source_replica, source_lane) = from;
    let (target, target_replica, target_lane) = to;
    let mut loads: Vec<(Extent, Load)> = Vec::new();
    let mut latency = 0.0_f64;
    // KV moves as prefill stored it.
    let dtype: Dtype = source.precision.kv;
    let tp = u64::from(target.layout.tp);
    for (i, _) in source.stages.iter().enumerate() {
        for (j, _) in target.stages.iter().enumerate() {
            let stage = |index: usize| u32::try_from(index).unwrap_or(0);
            let receivers =
                target.replicas[target_replica].lane(target.layout, stage(j), target_lane);
            let senders =
                source.replicas[source_replica].lane(source.layout, stage(i), source_lane);
            for (run, layers) in shared_layers(model, &source.stages, i, &target.stages, j) {
                let attention = &model.layers[run].attention;
                for part in layer_cache(attention, dtype, tp) {
                    let per_rank = part.entry_bytes().as_f64() * layers;
                    let load = load_of(&mut loads, part.extent);
                    for (rank, receiver) in receivers.iter().enumerate() {
                        let rank = stage(rank);
                        for (sender, share) in
                            sources(attention, &part, source.layout, target.layout, rank)
                        {
                            let sender: GpuIx = senders[sender as usize];
                            let path = router.path(sender, *receiver)?;
                            let bytes = per_rank * share;
                            load.total += bytes;
                            latency = latency.max(path.latency.get());
                            for channel in path.channels {
                                *load.by_channel.entry(channel).or_default() += bytes;
                            }
                        }
                    }
                }
            }
        }
    }
    let parts = loads
        .into_iter()
        .map(|(extent, load)| TransferPart {
            extent,
            entry_bytes: load.total,
            channels: load
                .by_channel
                .into_iter()
                .filter(|(channel, _)| rate_of(*channel) > 0.0)
                .map(|(channel, bytes)| {
                    let share = if load.total > 0.0 {
                        bytes / load.total
                    } else {
                        0.0
                    };
                    (channel, share)
                })
                .collect(),
        })
        .collect();
    Some(TransferShape { parts, latency })
}

fn load_of(loads: &mut Vec<(Extent, Load)>, extent: Extent) -> &mut Load {
    let index = loads
        .iter()
        .position(|(other, _)| *other == extent)
        .unwrap_or_else(|| {
            loads.push((extent, Load::default()));
            loads.len() - 1
        });
    &mut loads[index].1
}
