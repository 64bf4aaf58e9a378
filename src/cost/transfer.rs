//! KV transfer from a prefill lane to a decode lane: how many bytes go over which channels.
//!
//! Every decode rank needs the cache of its heads and layers. It takes it from the prefill ranks
//! that hold them; where TP exceeds the KV heads, heads are stored and sent more than once, so TP
//! 8 over 4 KV heads sends twice the bytes. MLA's latent is whole on every rank and is sent to
//! each. A transfer is one fluid flow over all its rank-to-rank paths: channel `c` carries the
//! share `w_c` of its bytes, the slowest share decides.

use super::layer::real;
use crate::catalog::Dtype;
use crate::cluster::{ChannelId, GpuIx, Router};
use crate::model::{Attention, Model, kv_bytes_per_token_layer};
use crate::plan::{Layout, PlannedPool, StageRun};
use std::collections::BTreeMap;

/// Where a transfer's bytes go.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TransferShape {
    /// Bytes sent per token of KV, all ranks together.
    pub bytes_per_token: f64,
    /// Channels and the share of the bytes each carries.
    pub channels: Vec<(ChannelId, f64)>,
    /// Longest path latency, seconds.
    pub latency: f64,
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

/// Prefill ranks (TP index, share) that decode rank `j` takes its heads from.
fn sources(attention: &Attention, from: Layout, to: Layout, j: u32) -> Vec<(u32, f64)> {
    match attention {
        // Whole latent from the rank at the same place.
        Attention::Mla(_)
        | Attention::Compressed(_)
        | Attention::Recurrent(_)
        | Attention::Matrix
        | Attention::None => vec![(j * from.tp / to.tp, 1.0)],
        Attention::Gqa(gqa) | Attention::Parallel { attention: gqa, .. } => {
            let kv = u32::try_from(gqa.kv_heads).unwrap_or(u32::MAX);
            let span = |tp: u32, rank: u32| {
                if tp <= kv {
                    let each = kv / tp;
                    (rank * each, (rank + 1) * each)
                } else {
                    let head = rank / (tp / kv);
                    (head, head + 1)
                }
            };
            let (low, high) = span(to.tp, j);
            let copies = (from.tp / kv.max(1)).max(1);
            let holders = from.tp / copies;
            (0..holders)
                .filter_map(|holder| {
                    // Copies of a head spread over the decode ranks that ask for it.
                    let rank = holder * copies + j % copies;
                    let (a, b) = span(from.tp, rank);
                    let common = high.min(b).saturating_sub(low.max(a));
                    (common > 0).then(|| (rank, f64::from(common) / f64::from(high - low)))
                })
                .collect()
        }
    }
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
    let mut loads: BTreeMap<ChannelId, f64> = BTreeMap::new();
    let (mut total, mut latency) = (0.0, 0.0_f64);
    // KV moves as prefill stored it.
    let dtype: Dtype = source.precision.kv;
    for (i, _) in source.stages.iter().enumerate() {
        for (j, _) in target.stages.iter().enumerate() {
            for (run, layers) in shared_layers(model, &source.stages, i, &target.stages, j) {
                let attention = &model.layers[run].attention;
                let whole = kv_bytes_per_token_layer(attention, dtype).as_f64() * layers;
                let heads = real(attention.kv_heads());
                let per_rank = whole
                    * real(attention.kv_heads().div_ceil(u64::from(target.layout.tp)))
                    / heads;
                let stage = u32::try_from(j).unwrap_or(0);
                let receivers =
                    target.replicas[target_replica].lane(target.layout, stage, target_lane);
                let senders = source.replicas[source_replica].lane(
                    source.layout,
                    u32::try_from(i).unwrap_or(0),
                    source_lane,
                );
                for (rank, receiver) in receivers.iter().enumerate() {
                    let rank = u32::try_from(rank).unwrap_or(0);
                    for (sender, share) in sources(attention, source.layout, target.layout, rank) {
                        let sender: GpuIx = senders[sender as usize];
                        let path = router.path(sender, *receiver)?;
                        let bytes = per_rank * share;
                        total += bytes;
                        latency = latency.max(path.latency.get());
                        for channel in path.channels {
                            *loads.entry(channel).or_default() += bytes;
                        }
                    }
                }
            }
        }
    }
    let channels: Vec<(ChannelId, f64)> = loads
        .into_iter()
        .filter(|(channel, _)| rate_of(*channel) > 0.0)
        .map(|(channel, bytes)| (channel, if total > 0.0 { bytes / total } else { 0.0 }))
        .collect();
    Some(TransferShape {
        bytes_per_token: total,
        channels,
        latency,
    })
}
