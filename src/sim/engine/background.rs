//! What collectives leave of the links to KV transfers.
//!
//! A replica that spans scale-up domains (wide EP, TP or a pipeline over nodes) sends all the time:
//! while a step is in its collectives, the NICs of its GPUs are theirs. To transfers that is steady
//! background: of a NIC's rate they get what is left of it on average, one minus the share of the run so far
//! that the replica spent in communication. It is looked up when a transfer sets out, so steps cost
//! nothing more, and where no replica spans domains nothing changes at all. Simplifications: all
//! communication of such a replica is taken to be on its NICs, though some of it is inside domains, and
//! transfers don't slow collectives down.

use super::Engine;
use crate::cluster::{GpuIx, Router};
use crate::cost::Class;
use crate::plan::Plan;
use crate::sim::replica::ReplicaState;
use std::collections::{BTreeMap, BTreeSet};

/// Most of a NIC collectives take from transfers.
const MOST: f64 = 0.9;

/// Replicas whose collectives pass a channel, by channel.
#[derive(Debug, Default)]
pub(super) struct Background(BTreeMap<u32, Vec<u32>>);

/// All GPUs of a replica, those of a split's FFN too.
fn ranks(plan: &Plan, replica: &ReplicaState) -> BTreeSet<GpuIx> {
    let homes = replica.homes.iter().map(|(pool, index, _)| (*pool, *index));
    let service = plan.services.iter().find(|own| own.pool == replica.pool);
    let ffn = service.and_then(|own| own.split.as_ref());
    homes
        .chain(ffn.map(|split| (split.ffn, replica.index)))
        .flat_map(|(pool, index)| &plan.pools[pool].replicas[index].ranks)
        .copied()
        .collect()
}

impl Background {
    /// Finds the NIC ports of all replicas that span scale-up domains.
    pub(super) fn new(plan: &Plan, replicas: &[ReplicaState]) -> Self {
        let topology = &plan.topology;
        let mut router = Router::new(topology);
        let mut by_channel: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for (id, replica) in (0_u32..).zip(replicas) {
            let ranks = ranks(plan, replica);
            let domain = |gpu: GpuIx| topology.gpu(gpu).domain;
            let firsts = |own: GpuIx| ranks.iter().find(|other| domain(**other) != domain(own));
            for gpu in &ranks {
                let Some(other) = firsts(*gpu) else {
                    break;
                };
                for (from, to) in [(*gpu, *other), (*other, *gpu)] {
                    let channels = router.path(from, to).map(|path| path.channels);
                    for channel in channels.into_iter().flatten() {
                        if topology.is_nic_port(topology.channel(channel)) {
                            by_channel.entry(channel.0).or_default().insert(id);
                        }
                    }
                }
            }
        }
        let listed = by_channel.into_iter();
        Self(
            listed
                .map(|(channel, ids)| (channel, ids.into_iter().collect()))
                .collect(),
        )
    }
}

impl Engine<'_> {
    /// Brings what collectives take of a way's channels up to date.
    pub(super) fn see_background(&mut self, uses: &[(u32, f64)]) {
        if self.background.0.is_empty() {
            return;
        }
        for (channel, _) in uses {
            let Some(ids) = self.background.0.get(channel).cloned() else {
                continue;
            };
            let mut taken = 0.0;
            for id in ids {
                self.settle(id);
                taken += self.communicating(id);
            }
            let share = taken.min(MOST);
            if self.wires.network.take(self.now, *channel, share) {
                self.watch_network();
            }
        }
    }

    /// Share of the run so far a replica has spent in communication.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    fn communicating(&self, id: u32) -> f64 {
        let replica = &self.replicas[id as usize];
        let sent = replica.ledger.by_class()[Class::Communication as usize];
        let stages = replica.stage_free.len() as u64;
        let all = u128::from(self.now) * u128::from(stages) * 1_000_000;
        sent as f64 / all.max(1) as f64
    }
}
