//! Services and feeds of a design: who serves, who hands over to whom, and what is wrong with that.

use super::super::finding::{Finding, Place};
use super::super::frozen::{PlannedPool, PlannedService, PlannedSplit};
use super::super::pool::{Phases, Pool, PoolId, Role, Service, Split};
use super::Compiling;
use crate::catalog::Dtype;
use crate::cluster::Router;

impl Compiling<'_> {
    /// The services that run, and what is wrong with those drawn.
    pub(super) fn services(&mut self, pools: &[Option<PlannedPool>]) -> Vec<PlannedService> {
        let mut planned = Vec::new();
        for service in &self.design.services {
            match service {
                Service::Whole { id, pool, phases } => {
                    let Some(index) = self.design.pools.iter().position(|p| &p.id == pool) else {
                        self.findings.push(Finding::error(
                            Place::Service(id.clone()),
                            format!("service “{id}” names pool “{pool}”, which does not exist"),
                        ));
                        continue;
                    };
                    if let Some(cause) = self.misuse(service, *phases, &self.design.pools[index]) {
                        self.findings
                            .push(Finding::error(Place::Service(id.clone()), cause));
                        continue;
                    }
                    if pools[index].is_some() {
                        planned.push(PlannedService {
                            // Pools that can't serve drop out of the plan; count those before.
                            pool: pools[..index].iter().flatten().count(),
                            phases: *phases,
                            split: None,
                        });
                    }
                }
                Service::Afd {
                    id,
                    attention,
                    ffn,
                    phases,
                    split,
                } => {
                    let found = match self.split_misuse(service, attention, ffn) {
                        Some(cause) => Err(cause),
                        None => self.split(pools, (attention, ffn), *phases, *split),
                    };
                    match found {
                        Ok(own) => planned.extend(own),
                        Err(cause) => self
                            .findings
                            .push(Finding::error(Place::Service(id.clone()), cause)),
                    }
                }
            }
        }
        self.lone_halves();
        self.routing(pools);
        let has = |phase: Phases| {
            self.design
                .services
                .iter()
                .any(|s| s.phases() == phase || s.phases() == Phases::Both)
        };
        let missing = if self.design.services.is_empty() {
            Some("nothing serves yet: paint a role on some GPUs".to_owned())
        } else if !has(Phases::Prefill) {
            Some(
                "decode has nobody to prefill for it: paint some GPUs prefill or co-located"
                    .to_owned(),
            )
        } else if !has(Phases::Decode) {
            Some("prefill has nobody to decode for it: paint some GPUs decode".to_owned())
        } else {
            None
        };
        if let Some(cause) = missing {
            self.findings.push(Finding::error(Place::Design, cause));
        }
        planned
    }

    /// Why a service can't take its pool: it does what the pool's role does, alone.
    fn misuse(&self, service: &Service, phases: Phases, pool: &Pool) -> Option<String> {
        let (id, role) = (service.id(), pool.role.name());
        let fits = matches!(
            (pool.role, phases),
            (Role::Colocated, Phases::Both)
                | (Role::Prefill, Phases::Prefill)
                | (Role::Decode, Phases::Decode)
        );
        if !fits {
            let does = match phases {
                Phases::Both => "prefills and decodes",
                Phases::Prefill => "prefills",
                Phases::Decode => "decodes",
            };
            return Some(format!(
                "service “{id}” {does}, but the role of its pool “{}” is {role}",
                pool.name
            ));
        }
        self.taken(service, &pool.id)
    }

    /// An earlier service of the same name, or one that has the same pool.
    fn taken(&self, service: &Service, pool: &PoolId) -> Option<String> {
        let id = service.id();
        let services = &self.design.services;
        let earlier = services
            .iter()
            .take_while(|other| !std::ptr::eq(*other, service));
        earlier.into_iter().find_map(|other| {
            if other.id() == id {
                Some(format!("two services are called “{id}”: ids must differ"))
            } else if other.uses(pool) {
                let named = self.design.pools.iter().find(|own| own.id == *pool);
                Some(format!(
                    "services “{}” and “{id}” both have pool “{}”: a pool serves in one",
                    other.id(),
                    named.map_or(pool.as_str(), |own| own.name.as_str())
                ))
            } else {
                None
            }
        })
    }

    /// A split as it runs; nothing where a pool of it can't serve, which has been said.
    fn split(
        &self,
        pools: &[Option<PlannedPool>],
        (attention, ffn): (&[PoolId], &PoolId),
        phases: Phases,
        how: Split,
    ) -> Result<Option<PlannedService>, String> {
        if !(1..=Split::MOST_MICRO_BATCHES).contains(&how.micro_batches) {
            return Err(format!(
                "{} micro-batches: a step is dealt into 1 to {}",
                how.micro_batches,
                Split::MOST_MICRO_BATCHES
            ));
        }
        for format in [how.dispatch, how.combine] {
            if !matches!(format, Dtype::Bf16 | Dtype::Fp8) {
                return Err(format!(
                    "activations in {}: attention and FFN GPUs send BF16 or FP8",
                    format.name()
                ));
            }
        }
        let live: Vec<&PlannedPool> = pools.iter().flatten().collect();
        let index = |id: &PoolId| live.iter().position(|pool| pool.id == *id);
        let Some(ffn) = index(ffn) else {
            return Ok(None);
        };
        let Some(attention) = attention.iter().map(index).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let copies = live[ffn].replicas.len();
        let mut router = Router::new(self.topology);
        for pool in &attention {
            let own = live[*pool];
            if !own.replicas.len().is_multiple_of(copies) {
                return Err(format!(
                    "{} attention replicas of “{}” can't be dealt out evenly to {copies} of “{}”: paint a multiple, or make the FFN replicas larger",
                    own.replicas.len(),
                    own.name,
                    live[ffn].name
                ));
            }
            let each = own.replicas.len() / copies;
            for (at, replica) in own.replicas.iter().enumerate() {
                let (from, to) = (
                    replica.ranks[0],
                    live[ffn].replicas[at / each.max(1)].ranks[0],
                );
                if router.path(from, to).is_none() {
                    return Err(format!(
                        "attention GPU {} can't reach FFN GPU {}: draw a link between them",
                        self.topology.gpu(from).address,
                        self.topology.gpu(to).address
                    ));
                }
            }
        }
        Ok(Some(PlannedService {
            pool: attention[0],
            phases,
            split: Some(PlannedSplit {
                attention,
                ffn,
                how,
            }),
        }))
    }

    /// Why pools can't be the halves of a split: attention pools attend, the FFN pool has the FFNs.
    fn split_misuse(
        &self,
        service: &Service,
        attention: &[PoolId],
        ffn: &PoolId,
    ) -> Option<String> {
        let id = service.id();
        if attention.is_empty() {
            return Some(format!(
                "service “{id}” has no attention pool: pair one with its FFN pool"
            ));
        }
        let halves = attention.iter().map(|pool| (pool, Role::Attention));
        let halves = halves.chain(std::iter::once((ffn, Role::Ffn)));
        for (index, (pool, role)) in halves.enumerate() {
            let Some(own) = self.design.pools.iter().find(|own| own.id == *pool) else {
                return Some(format!(
                    "service “{id}” names pool “{pool}”, which does not exist"
                ));
            };
            if own.role != role {
                return Some(format!(
                    "service “{id}” has pool “{}” as its {} half, but the role of the pool is {}",
                    own.name,
                    role.name(),
                    own.role.name()
                ));
            }
            if attention.iter().take(index).any(|other| other == pool) {
                return Some(format!(
                    "service “{id}” has pool “{}” twice: once is enough",
                    own.name
                ));
            }
            if let Some(cause) = self.taken(service, pool) {
                return Some(cause);
            }
        }
        None
    }

    /// An attention pool without an FFN pool, or the other way round, belongs to no service.
    fn lone_halves(&mut self) {
        for pool in &self.design.pools {
            let half = matches!(pool.role, Role::Attention | Role::Ffn);
            if half && !self.design.services.iter().any(|s| s.uses(&pool.id)) {
                let other = if pool.role == Role::Ffn {
                    "attention"
                } else {
                    "FFN"
                };
                self.findings.push(Finding::error(
                    Place::Pool(pool.id.clone()),
                    format!(
                        "“{}” is half of a split: paint some GPUs {other} to pair it with",
                        pool.name
                    ),
                ));
            }
        }
    }

    /// Which prefill service feeds which decode service, by index.
    pub(super) fn feeds(
        &mut self,
        pools: &[Option<PlannedPool>],
        services: &[PlannedService],
    ) -> Vec<(usize, usize)> {
        let live: Vec<&PlannedPool> = pools.iter().flatten().collect();
        let mut router = Router::new(self.topology);
        let mut reach = |from: usize, to: usize| {
            let rank = |service: usize| live[services[service].pool].replicas[0].ranks[0];
            router.path(rank(from), rank(to)).is_some()
        };
        let of = |phases: Phases| -> Vec<usize> {
            (0..services.len())
                .filter(|s| services[*s].phases == phases)
                .collect()
        };
        let mut feeds = Vec::new();
        if self.design.feeds.is_empty() {
            for from in of(Phases::Prefill) {
                for to in of(Phases::Decode) {
                    if reach(from, to) {
                        feeds.push((from, to));
                    }
                }
            }
        } else {
            let index = |pool: &PoolId| {
                services
                    .iter()
                    .position(|service| live[service.pool].id == *pool)
            };
            let named = |id| {
                self.design.services.iter().find_map(|s| match s {
                    Service::Whole { id: own, pool, .. } if own == id => Some(pool.clone()),
                    Service::Afd {
                        id: own, attention, ..
                    } if own == id => attention.first().cloned(),
                    _ => None,
                })
            };
            for feed in &self.design.feeds {
                let ends = (
                    named(&feed.from).and_then(|p| index(&p)),
                    named(&feed.to).and_then(|p| index(&p)),
                );
                if let (Some(from), Some(to)) = ends {
                    let phases = (services[from].phases, services[to].phases);
                    if phases != (Phases::Prefill, Phases::Decode) {
                        self.findings.push(Finding::error(
                            Place::Service(feed.from.clone()),
                            format!(
                                "“{}” can't feed “{}”: a prefill service feeds a decode service",
                                feed.from, feed.to
                            ),
                        ));
                    } else if reach(from, to) {
                        feeds.push((from, to));
                    } else {
                        self.findings.push(Finding::error(
                            Place::Service(feed.from.clone()),
                            format!(
                                "“{}” feeds “{}” but nothing joins them: draw a link",
                                feed.from, feed.to
                            ),
                        ));
                    }
                }
            }
        }
        for (from, to) in &feeds {
            for prefill in services[*from].holders() {
                for decode in services[*to].holders() {
                    self.all_joined(live[*prefill], live[*decode]);
                }
            }
        }
        for service in of(Phases::Prefill) {
            if !feeds.iter().any(|(from, _)| *from == service) && !of(Phases::Decode).is_empty() {
                let pool = live[services[service].pool];
                self.findings.push(Finding::error(
                    Place::Pool(pool.id.clone()),
                    format!(
                        "prefill “{}” reaches no decode pool: draw a link between them",
                        pool.name
                    ),
                ));
            }
        }
        for service in of(Phases::Decode) {
            if !feeds.iter().any(|(_, to)| *to == service) && !of(Phases::Prefill).is_empty() {
                let pool = live[services[service].pool];
                self.findings.push(Finding::warning(
                    Place::Pool(pool.id.clone()),
                    format!(
                        "decode “{}” is fed by no prefill pool and stays idle",
                        pool.name
                    ),
                ));
            }
        }
        feeds
    }

    /// Every replica of a prefill pool must reach every one of the decode pool it feeds. Ranks of one
    /// replica reach each other, so one rank each will do.
    fn all_joined(&mut self, prefill: &PlannedPool, decode: &PlannedPool) {
        let mut router = Router::new(self.topology);
        let first = |pool: &PlannedPool, replica: usize| pool.replicas[replica].ranks[0];
        let to_all = (0..decode.replicas.len()).map(|r| (first(prefill, 0), first(decode, r)));
        let from_all = (0..prefill.replicas.len()).map(|r| (first(prefill, r), first(decode, 0)));
        let apart = to_all
            .chain(from_all)
            .find(|(from, to)| router.path(*from, *to).is_none());
        if let Some((from, to)) = apart {
            self.findings.push(Finding::error(
                Place::Pool(decode.id.clone()),
                format!(
                    "prefill GPU {} can't reach decode GPU {}: draw a link, or take the GPU out of its pool",
                    self.topology.gpu(from).address,
                    self.topology.gpu(to).address
                ),
            ));
        }
    }
}
