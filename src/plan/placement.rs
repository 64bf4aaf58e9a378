//! Which GPU is which rank: TP inside a scale-up domain first, then the lanes that share experts,
//! then pipeline stages, then replicas.

use super::frozen::Replica;
use super::pool::Layout;
use crate::cluster::{GpuIx, Topology};
use std::collections::BTreeMap;

/// Replicas, and what the placement could not use.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) replicas: Vec<Replica>,
    /// GPUs left over: too few of a domain for a TP group, or too few groups for a replica.
    pub(super) idle: usize,
    /// TP groups span scale-up domains.
    pub(super) tp_crosses: bool,
}

/// Places replicas on a pool's GPUs.
pub(super) fn place(topology: &Topology, gpus: &[GpuIx], layout: Layout) -> Placed {
    let tp = layout.tp.max(1) as usize;
    let mut by_domain: BTreeMap<u32, Vec<GpuIx>> = BTreeMap::new();
    for gpu in gpus {
        by_domain
            .entry(topology.gpu(*gpu).domain)
            .or_default()
            .push(*gpu);
    }
    // Domains in the order drawn.
    let mut domains: Vec<Vec<GpuIx>> = by_domain.into_values().collect();
    for domain in &mut domains {
        domain.sort_unstable();
    }
    domains.sort_by_key(|domain| domain.first().copied());
    let tp_crosses = domains.iter().all(|domain| domain.len() < tp) && gpus.len() >= tp;
    let groups: Vec<Vec<GpuIx>> = if tp_crosses {
        let all: Vec<GpuIx> = domains.concat();
        all.chunks_exact(tp).map(<[GpuIx]>::to_vec).collect()
    } else {
        domains
            .iter()
            .flat_map(|domain| domain.chunks_exact(tp).map(<[GpuIx]>::to_vec))
            .collect()
    };
    let per_replica = (layout.gpus() as usize / tp).max(1);
    let replicas: Vec<Replica> = groups
        .chunks_exact(per_replica)
        .map(|chunk| Replica {
            ranks: chunk.concat(),
        })
        .collect();
    let used: usize = replicas.iter().map(|replica| replica.ranks.len()).sum();
    Placed {
        replicas,
        idle: gpus.len() - used,
        tp_crosses,
    }
}
