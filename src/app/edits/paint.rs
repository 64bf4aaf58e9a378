//! The brush: GPUs into pools by role.
//!
//! A role belongs to a pool. Painting moves GPUs into the pool asked for, or into the default
//! pool of that role and GPU type, which is made if there is none; pools left empty go.

use super::{drop_empty_pools, gpu_short, members, set_members};
use crate::catalog::{Catalog, Gpu, GpuId};
use crate::cluster::{Cluster, GpuAddress, GroupKind};
use crate::model::Precision;
use crate::plan::{Design, Engine, EngineKind, Layout, Pool, PoolId, Role};
use std::collections::{BTreeMap, BTreeSet};

/// Widest tensor parallelism suggested: beyond it most models run out of KV heads and servers
/// out of GPUs.
const WIDEST_TP: u32 = 8;

/// The type of a GPU, if it is drawn.
#[must_use]
pub fn gpu_type_of<'a>(
    cluster: &'a Cluster,
    gpu: &GpuAddress,
    catalog: &'a Catalog,
) -> Option<&'a GpuId> {
    let group = cluster.group(&gpu.group)?;
    if gpu.instance >= group.count {
        return None;
    }
    match group.kind_of(gpu.instance) {
        GroupKind::Node(id) => catalog
            .node(id)
            .filter(|node| gpu.slot < node.gpus)
            .map(|node| &node.gpu),
        GroupKind::Gpu(id) if gpu.slot == 0 => Some(id),
        _ => None,
    }
}

/// The engine a new pool starts with.
#[must_use]
pub fn engine_default(gpu: &Gpu) -> Engine {
    Engine::defaults(EngineKind::Vllm, gpu, Layout::SINGLE)
}

/// A layout that leaves no GPU over: the given one where it fits; else its like, narrower; else
/// the widest tensor parallelism up to 8 that divides the GPUs of every instance.
#[must_use]
pub fn layout_suggestion(gpus: &BTreeSet<GpuAddress>, base: Option<Layout>) -> Layout {
    let count = u32::try_from(gpus.len()).unwrap_or(u32::MAX);
    let mut per_instance: BTreeMap<_, u32> = BTreeMap::new();
    for gpu in gpus {
        *per_instance.entry((&gpu.group, gpu.instance)).or_insert(0) += 1;
    }
    let fits = |tp: u32| tp > 0 && per_instance.values().all(|n| n % tp == 0);
    if let Some(base) = base {
        if base.gpus() > 0 && count > 0 && count.is_multiple_of(base.gpus()) {
            return base;
        }
        let all_to_all = base.ep > 1 && base.ep == base.tp.saturating_mul(base.dp);
        if base.dp > 1 && fits(base.tp) {
            let lanes = count / base.tp;
            let dp = largest_power(base.dp.min(lanes), |dp| lanes.is_multiple_of(dp));
            let ranks = base.tp * dp;
            return Layout {
                tp: base.tp,
                pp: 1,
                dp,
                ep: if all_to_all { ranks } else { 1 },
                ..Layout::SINGLE
            };
        }
        let tp = largest_power(base.tp.clamp(1, WIDEST_TP), fits);
        return Layout {
            tp,
            ep: if all_to_all { tp } else { 1 },
            ..Layout::SINGLE
        };
    }
    Layout {
        tp: largest_power(WIDEST_TP, fits),
        ..Layout::SINGLE
    }
}

/// The largest power of two up to `most` that passes.
fn largest_power(most: u32, passes: impl Fn(u32) -> bool) -> u32 {
    let mut power = 1;
    let mut best = 1;
    while power <= most {
        if passes(power) {
            best = power;
        }
        if power > u32::MAX / 2 {
            break;
        }
        power *= 2;
    }
    best
}

/// Makes GPUs idle.
pub fn idle(design: &mut Design, gpus: &BTreeSet<GpuAddress>) {
    take_away(design, gpus, None);
    drop_empty_pools(design);
}

/// Takes GPUs out of every pool but the one they are on their way to.
fn take_away(design: &mut Design, gpus: &BTreeSet<GpuAddress>, to: Option<&PoolId>) {
    for pool in design.pools.iter_mut().filter(|pool| Some(&pool.id) != to) {
        let mut left = members(pool);
        let before = left.len();
        left.retain(|gpu| !gpus.contains(gpu));
        if left.len() != before {
            set_members(pool, &left);
            if !left.is_empty() && u64::from(pool.layout.gpus()) > left.len() as u64 {
                pool.layout = layout_suggestion(&left, Some(pool.layout));
            }
        }
    }
}

/// Paints GPUs with a role; none: makes them idle. `target` is the pool they go to if it has that
/// role and GPU type. Without one, a GPU whose pool has the role already stays in it. Pools that
/// can't hold one replica of their layout any more get a narrower one.
pub fn paint(
    design: &mut Design,
    gpus: &BTreeSet<GpuAddress>,
    role: Option<Role>,
    target: Option<&PoolId>,
    catalog: &Catalog,
) {
    let Some(role) = role else {
        idle(design, gpus);
        return;
    };
    let target = target
        .and_then(|id| design.pool(id))
        .filter(|pool| pool.role == role);
    let target_type = target.and_then(|pool| pool_type(&design.cluster, pool, catalog));
    let target = target.map(|pool| pool.id.clone());
    let owner = design.pool_by_gpu();
    let mut by_type: BTreeMap<GpuId, BTreeSet<GpuAddress>> = BTreeMap::new();
    for gpu in gpus {
        let has_role = target.is_none()
            && owner
                .get(gpu)
                .is_some_and(|pool| design.pools[*pool].role == role);
        if let (false, Some(kind)) = (has_role, gpu_type_of(&design.cluster, gpu, catalog)) {
            by_type.entry(kind.clone()).or_default().insert(gpu.clone());
        }
    }
    for (kind, gpus) in by_type {
        let explicit = target
            .as_ref()
            .filter(|_| target_type.as_ref().is_none_or(|t| *t == kind));
        let near = nearest(design, &gpus, role, &kind, &owner, catalog);
        let pool = explicit.cloned().or_else(|| {
            design
                .pools
                .iter()
                .find(|pool| {
                    pool.role == role
                        && pool_type(&design.cluster, pool, catalog).as_ref() == Some(&kind)
                })
                .map(|pool| pool.id.clone())
        });
        take_away(design, &gpus, pool.as_ref());
        match pool {
            Some(id) => {
                if let Some(pool) = design.pool_mut(&id) {
                    let mut all = members(pool);
                    all.extend(gpus);
                    set_members(pool, &all);
                }
            }
            None => {
                let pool = new_pool(design, role, &kind, &gpus, near, catalog);
                design.pools.push(pool);
            }
        }
    }
    drop_empty_pools(design);
}

fn pool_type(cluster: &Cluster, pool: &Pool, catalog: &Catalog) -> Option<GpuId> {
    let first = pool.gpus.first()?.iter().next()?;
    gpu_type_of(cluster, &first, catalog).cloned()
}

/// The settings a new pool takes over: those of the pool most of its GPUs come from, else of a
/// pool of the role, else of the GPU type, else of any.
fn nearest(
    design: &Design,
    gpus: &BTreeSet<GpuAddress>,
    role: Role,
    kind: &GpuId,
    owner: &BTreeMap<GpuAddress, usize>,
    catalog: &Catalog,
) -> Option<(Layout, Precision)> {
    let mut from: BTreeMap<usize, usize> = BTreeMap::new();
    for pool in gpus.iter().filter_map(|gpu| owner.get(gpu)) {
        *from.entry(*pool).or_insert(0) += 1;
    }
    let most = from
        .iter()
        .max_by_key(|(pool, n)| (**n, std::cmp::Reverse(**pool)))
        .and_then(|(pool, _)| design.pools.get(*pool));
    let of_role = || design.pools.iter().find(|pool| pool.role == role);
    let of_type = || {
        design
            .pools
            .iter()
            .find(|pool| pool_type(&design.cluster, pool, catalog).as_ref() == Some(kind))
    };
    most.or_else(of_role)
        .or_else(of_type)
        .or_else(|| design.pools.first())
        .map(|pool| (pool.layout, pool.precision))
}

fn new_pool(
    design: &Design,
    role: Role,
    kind: &GpuId,
    gpus: &BTreeSet<GpuAddress>,
    near: Option<(Layout, Precision)>,
    catalog: &Catalog,
) -> Pool {
    let gpu = catalog.gpu(kind);
    let short = gpu.map_or_else(|| kind.to_string(), gpu_short);
    let stem = format!("{} {short}", role.name());
    let (mut id, mut name) = (PoolId::from_label(&stem), stem.clone());
    let mut n = 2u32;
    while design
        .pools
        .iter()
        .any(|pool| pool.id == id || pool.name == name)
    {
        name = format!("{stem} {n}");
        id = PoolId::from_label(&name);
        n += 1;
    }
    let mut pool = Pool {
        id,
        name,
        role,
        gpus: Vec::new(),
        layout: layout_suggestion(gpus, near.map(|(layout, _)| layout)),
        engine: gpu.map_or_else(|| Engine::vllm(false), engine_default),
        precision: near.map(|(_, precision)| precision).unwrap_or_default(),
    };
    set_members(&mut pool, gpus);
    pool
}
