//! A design: one alternative, all of it: drawing, model, pools, services and feeds.

use super::pool::{Feed, Phases, Pool, PoolId, Role, Service, ServiceId, Split};
use super::routing::Routing;
use crate::catalog::{ModelId, typed_id};
use crate::cluster::{Cluster, GpuAddress, MAX_GPUS};
use crate::model::{Model, Models};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

typed_id!(
    /// A design of a project.
    DesignId
);

/// Which model is served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ModelRef {
    /// A preset of the library.
    Preset(ModelId),
    /// A shape kept in the document (imported from a `config.json`).
    Inline(Box<Model>),
}

impl ModelRef {
    /// The model it stands for; none: the library has none of that id.
    #[must_use]
    pub fn find<'a>(&'a self, models: &'a Models) -> Option<&'a Model> {
        match self {
            Self::Preset(id) => models.get(id),
            Self::Inline(model) => Some(model),
        }
    }
}

/// One alternative.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// Its name in the file.
    pub id: DesignId,
    /// Its name for people.
    pub name: String,
    /// The drawing.
    pub cluster: Cluster,
    /// The model.
    pub model: ModelRef,
    /// Who does what.
    pub pools: Vec<Pool>,
    /// What serves requests; [`Design::settle`] keeps it in step with the pools.
    #[serde(default)]
    pub services: Vec<Service>,
    /// Which prefill service feeds which decode service; empty: every one that can reach it.
    #[serde(default)]
    pub feeds: Vec<Feed>,
    /// Who takes a request.
    #[serde(default, skip_serializing_if = "Routing::is_default")]
    pub routing: Routing,
}

impl Design {
    /// The pool of that id.
    #[must_use]
    pub fn pool(&self, id: &PoolId) -> Option<&Pool> {
        self.pools.iter().find(|pool| &pool.id == id)
    }

    /// The pool of that id, to change.
    pub fn pool_mut(&mut self, id: &PoolId) -> Option<&mut Pool> {
        self.pools.iter_mut().find(|pool| &pool.id == id)
    }

    /// The pool a GPU is in.
    #[must_use]
    pub fn pool_of(&self, gpu: &GpuAddress) -> Option<&Pool> {
        self.pools
            .iter()
            .find(|pool| pool.gpus.iter().any(|range| range.contains(gpu)))
    }

    /// GPU → index into `pools`, for painting many GPUs. The first pool that names a GPU has it.
    /// Ranges beyond [`MAX_GPUS`] GPUs in all, which `compile` refuses, are cut there.
    #[must_use]
    pub fn pool_by_gpu(&self) -> BTreeMap<GpuAddress, usize> {
        let named = self.pools.iter().enumerate().flat_map(|(index, pool)| {
            pool.gpus
                .iter()
                .flat_map(move |range| range.iter().map(move |gpu| (gpu, index)))
        });
        let mut map = BTreeMap::new();
        for (gpu, index) in named.take(MAX_GPUS as usize) {
            map.entry(gpu).or_insert(index);
        }
        map
    }

    /// Brings services and feeds in step with the pools: drops what names a pool that is gone or
    /// has changed its role, adds the missing. Called after every edit.
    pub fn settle(&mut self) {
        let roles: BTreeMap<PoolId, Role> = self
            .pools
            .iter()
            .map(|pool| (pool.id.clone(), pool.role))
            .collect();
        self.services.retain_mut(|service| match service {
            Service::Whole { pool, phases, .. } => {
                matches!(
                    (roles.get(pool), phases),
                    (Some(Role::Colocated), Phases::Both)
                        | (Some(Role::Prefill), Phases::Prefill)
                        | (Some(Role::Decode), Phases::Decode)
                )
            }
            Service::Afd { attention, ffn, .. } => {
                attention.retain(|pool| roles.get(pool) == Some(&Role::Attention));
                !attention.is_empty() && roles.get(ffn) == Some(&Role::Ffn)
            }
        });
        let mut taken: BTreeSet<ServiceId> = self.services.iter().map(|s| s.id().clone()).collect();
        let mut fresh_id = |label: &str| {
            let mut id = ServiceId::from_label(label);
            let mut n = 2;
            while !taken.insert(id.clone()) {
                id = ServiceId::from_label(&format!("{label}-{n}"));
                n += 1;
            }
            id
        };
        for pool in &self.pools {
            let phases = match pool.role {
                Role::Colocated => Phases::Both,
                Role::Prefill => Phases::Prefill,
                Role::Decode => Phases::Decode,
                Role::Attention | Role::Ffn => continue,
            };
            if !self.services.iter().any(|service| service.uses(&pool.id)) {
                self.services.push(Service::Whole {
                    id: fresh_id(pool.id.as_str()),
                    pool: pool.id.clone(),
                    phases,
                });
            }
        }
        let unused = |role: Role, services: &[Service]| -> Vec<PoolId> {
            self.pools
                .iter()
                .filter(|pool| pool.role == role)
                .map(|pool| pool.id.clone())
                .filter(|id| !services.iter().any(|service| service.uses(id)))
                .collect()
        };
        let attention = unused(Role::Attention, &self.services);
        if let (false, Some(ffn)) = (
            attention.is_empty(),
            unused(Role::Ffn, &self.services).into_iter().next(),
        ) {
            let has_prefill = roles.values().any(|role| *role == Role::Prefill);
            self.services.push(Service::Afd {
                id: fresh_id("afd"),
                attention,
                ffn,
                phases: if has_prefill {
                    Phases::Decode
                } else {
                    Phases::Both
                },
                split: Split::default(),
            });
        }
        let ids: BTreeSet<ServiceId> = self.services.iter().map(|s| s.id().clone()).collect();
        self.feeds
            .retain(|feed| ids.contains(&feed.from) && ids.contains(&feed.to));
    }
}
