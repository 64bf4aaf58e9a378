//! Collectives over the drawn links: α–β per level, hierarchical where a group spans scale-up
//! domains, the algorithm with the least time for the size.
//!
//! With `S` bytes per rank, `n` ranks and rate `B`, a ring all-reduce moves `2·(n − 1)/n · S`
//! over each rank's link in `2·(n − 1)` steps; all-gather and reduce-scatter half of that. A
//! one-shot all-reduce reads `n − 1` peers' whole buffers in one step. Across domains of `m` ranks
//! each, reduce-scatter inside, all-reduce of `S/m` across (every rank over its own NIC path),
//! all-gather inside (Thakur, Rabenseifner and Gropp 2005; NCCL does the same).
//!
//! Inside a domain a calibration prices a collective where there is one: it knows the protocol, the
//! start and the share of the link. Which links there are, the drawing says.

use super::calibrated::Collective;
use super::operator::{Band, Joint, OpCost, Prices};
use crate::catalog::ScaleUpKind;
use crate::cluster::{ChannelId, GpuIx, Router, Topology};
use crate::units::ByteRate;
use std::collections::BTreeMap;

/// Fixed time of a collective kernel inside a scale-up domain, seconds (vLLM's custom all-reduce
/// of a few KiB on 8 NVLink GPUs takes 5–10 µs).
pub(super) const BASE: f64 = 4.0e-6;
/// One synchronised step over NVLink, seconds.
const NVLINK_STEP: f64 = 0.8e-6;
/// One synchronised step over PCIe, through host memory or peer-to-peer.
const PCIE_STEP: f64 = 3.0e-6;
/// Share of a link's rate a collective reaches (8 × B200: 741 of 900 GB/s busbw, 82 %).
pub(super) const LINK_EFFICIENCY: f64 = 0.80;

/// Ranks that take part in a collective, as the cost model sees them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommGroup {
    /// Ranks.
    pub ranks: u32,
    /// Ranks per scale-up domain (equal in all).
    pub per_domain: u32,
    /// Rate of a rank inside its domain, bytes/s.
    pub intra_rate: f64,
    /// Time of one step inside a domain, seconds.
    pub intra_step: f64,
    /// Rate of a rank's path to the next domain, shared paths divided, bytes/s; infinite if the
    /// group is inside one domain.
    pub inter_rate: f64,
    /// Time of one step between domains, seconds.
    pub inter_step: f64,
}

impl CommGroup {
    /// One rank: nothing to exchange.
    pub const ALONE: Self = Self {
        ranks: 1,
        per_domain: 1,
        intra_rate: f64::INFINITY,
        intra_step: 0.0,
        inter_rate: f64::INFINITY,
        inter_step: 0.0,
    };

    /// Reads a group off the drawn links.
    #[must_use]
    pub fn of(topology: &Topology, router: &mut Router<'_>, ranks: &[GpuIx]) -> Self {
        if ranks.len() < 2 {
            return Self::ALONE;
        }
        let mut domains: BTreeMap<u32, Vec<GpuIx>> = BTreeMap::new();
        for rank in ranks {
            domains
                .entry(topology.gpu(*rank).domain)
                .or_default()
                .push(*rank);
        }
        let count = u32::try_from(ranks.len()).unwrap_or(u32::MAX);
        // Uneven domains: the fewest ranks a domain has decides how far traffic stays inside.
        let per_domain = domains.values().map(Vec::len).min().unwrap_or(1);
        let slowest = |a: f64, b: f64| if b < a { b } else { a };
        let mut intra_rate = f64::INFINITY;
        let mut intra_step: f64 = 0.0;
        for rank in ranks {
            let site = topology.gpu(*rank);
            let size = domains[&site.domain].len();
            let (rate, step) = match site.scale_up_kind {
                ScaleUpKind::Switched => (site.scale_up.get(), NVLINK_STEP),
                // A mesh's ring uses the direct links to all peers in parallel.
                ScaleUpKind::FullMesh => {
                    let peers = topology.domain_size(site.domain).max(2) - 1;
                    let used = u32::try_from(size.max(2) - 1).unwrap_or(1);
                    (
                        site.scale_up.get() * f64::from(used) / f64::from(peers),
                        NVLINK_STEP,
                    )
                }
                ScaleUpKind::Pcie => (site.scale_up.get(), PCIE_STEP),
            };
            intra_rate = slowest(intra_rate, rate);
            intra_step = intra_step.max(step);
        }
        let (mut inter_rate, mut inter_step) = (f64::INFINITY, 0.0_f64);
        if domains.len() > 1 {
            let rows: Vec<&Vec<GpuIx>> = domains.values().collect();
            let mut use_count: BTreeMap<ChannelId, u32> = BTreeMap::new();
            let mut paths = Vec::new();
            for (index, row) in rows.iter().enumerate() {
                let next = rows[(index + 1) % rows.len()];
                for (i, rank) in row.iter().enumerate() {
                    if let Some(path) = router.path(*rank, next[i % next.len()]) {
                        for id in &path.channels {
                            *use_count.entry(*id).or_default() += 1;
                        }
                        paths.push(path);
                    }
                }
            }
            for path in &paths {
                inter_step = inter_step.max(path.latency.get());
                for id in &path.channels {
                    let rate = topology.channel(*id).rate.get();
                    inter_rate = slowest(inter_rate, rate / f64::from(use_count[id]));
                }
            }
        }
        Self {
            ranks: count,
            per_domain: u32::try_from(per_domain).unwrap_or(1),
            intra_rate,
            intra_step,
            inter_rate,
            inter_step,
        }
    }

    /// Seconds between domains: every rank passes its share of `bytes` round a ring of domains.
    fn across(&self, bytes: f64, passes: f64) -> f64 {
        ring(
            bytes / f64::from(self.per_domain),
            self.domains(),
            self.inter_rate,
            self.inter_step,
            passes,
        )
    }

    /// Scale-up domains it is in.
    #[must_use]
    pub fn domains(&self) -> u32 {
        self.ranks.div_ceil(self.per_domain.max(1))
    }

    /// Kernels of a collective: one inside a domain; three where it is hierarchical.
    #[must_use]
    pub fn kernels(&self) -> f64 {
        match (self.ranks, self.domains() > 1) {
            (..2, _) => 0.0,
            (_, true) if self.per_domain > 1 => 3.0,
            _ => 1.0,
        }
    }
}

/// Seconds the bytes of one pass round a ring take, `(n − 1)/n · S / B`: half of an all-reduce.
#[must_use]
pub fn ring_bytes_time(bytes: f64, ranks: u32, rate: ByteRate) -> f64 {
    let n = f64::from(ranks.max(1));
    (n - 1.0) / n * bytes / rate.get()
}

pub(super) fn cost(link: f64, launch: f64) -> OpCost {
    let band = Band {
        below: 0.3,
        above: 0.6,
    };
    OpCost::roofline(0.0, 0.0, link, launch, 1, band)
}

/// `passes` times round a ring of `n` ranks (1: gather or scatter; 2: all-reduce).
fn ring(bytes: f64, n: u32, rate: f64, step: f64, passes: f64) -> f64 {
    if n < 2 {
        return 0.0;
    }
    passes * ring_bytes_time(bytes, n, ByteRate::new(rate * LINK_EFFICIENCY))
        + passes * f64::from(n - 1) * step
}

/// A collective of `bytes` among the ranks of a domain of the group, by calibration.
fn inside(
    group: &CommGroup,
    collective: Collective,
    bytes: f64,
    prices: &dyn Prices,
) -> Option<OpCost> {
    let ranks = group.per_domain;
    if ranks < 2 {
        return Some(cost(0.0, 0.0));
    }
    prices.collective(&Joint {
        collective,
        ranks,
        bytes,
        rate: group.intra_rate,
    })
}

/// Every rank ends with the sum of all ranks' `bytes`.
#[must_use]
pub fn all_reduce(group: &CommGroup, bytes: f64, prices: &dyn Prices) -> OpCost {
    if group.ranks < 2 || bytes <= 0.0 {
        return cost(0.0, 0.0);
    }
    let m = group.per_domain;
    if group.domains() == 1 {
        if let Some(own) = inside(group, Collective::AllReduce, bytes, prices) {
            return own;
        }
    } else if m > 1 {
        let part = |collective| inside(group, collective, bytes, prices);
        let scatter = part(Collective::ReduceScatter);
        if let (Some(scatter), Some(gather)) = (scatter, part(Collective::AllGather)) {
            let across = cost(group.across(bytes, 2.0), 0.0);
            return scatter.then(&across).then(&gather);
        }
    }
    let inside = if m < 2 {
        0.0
    } else {
        let one_shot = if group.domains() == 1 {
            f64::from(m - 1) * bytes / (group.intra_rate * LINK_EFFICIENCY) + group.intra_step
        } else {
            f64::INFINITY
        };
        // A two-shot (direct reduce-scatter, direct all-gather) has ring bytes in two steps.
        let two_shot = ring(bytes, m, group.intra_rate, 0.0, 2.0) + 2.0 * group.intra_step;
        one_shot.min(two_shot)
    };
    cost(inside + group.across(bytes, 2.0), BASE)
}

/// Every rank ends with all ranks' parts, `bytes` in all.
#[must_use]
pub fn all_gather(group: &CommGroup, bytes: f64, prices: &dyn Prices) -> OpCost {
    once(group, Collective::AllGather, bytes, prices)
}

/// Every rank starts with `bytes` and ends with the sum of its part of them.
#[must_use]
pub fn reduce_scatter(group: &CommGroup, bytes: f64, prices: &dyn Prices) -> OpCost {
    once(group, Collective::ReduceScatter, bytes, prices)
}

/// A collective whose bytes go once round.
fn once(group: &CommGroup, collective: Collective, bytes: f64, prices: &dyn Prices) -> OpCost {
    if group.ranks < 2 || bytes <= 0.0 {
        return cost(0.0, 0.0);
    }
    let m = group.per_domain;
    if m > 1
        && let Some(own) = inside(group, collective, bytes, prices)
    {
        return if group.domains() == 1 {
            own
        } else {
            own.then(&cost(group.across(bytes, 1.0), 0.0))
        };
    }
    let inside = if m < 2 {
        0.0
    } else {
        ring(bytes, m, group.intra_rate, 0.0, 1.0) + group.intra_step
    };
    cost(inside + group.across(bytes, 1.0), BASE)
}

/// One rank to another over a path.
#[must_use]
pub fn point_to_point(bytes: f64, rate: ByteRate, latency: f64) -> OpCost {
    cost(bytes / (rate.get() * LINK_EFFICIENCY) + latency, BASE)
}
