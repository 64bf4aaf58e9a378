//! What a drawing adds up to: GPUs, price, power. Known without running anything.

use crate::catalog::{Catalog, Gpu};
use crate::cluster::{Cluster, Group, GroupKind};
use crate::plan::Pool;
use crate::units::{DollarsPerHour, Watts};

/// Sums over a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Totals {
    /// GPUs drawn.
    pub gpus: u64,
    /// Their price.
    pub price: DollarsPerHour,
    /// Board power of GPUs, hosts and switches.
    pub power: Watts,
}

impl Totals {
    /// Of a drawing; types the catalog lacks count nothing.
    #[must_use]
    pub fn of(cluster: &Cluster, catalog: &Catalog) -> Self {
        let mut totals = Self::default();
        for group in &cluster.groups {
            let own = group
                .overrides
                .iter()
                .filter(|(i, o)| **i < group.count && o.kind.is_some());
            let mut plain = u64::from(group.count);
            for (instance, _) in own {
                plain = plain.saturating_sub(1);
                totals.add(group.kind_of(*instance), 1, catalog);
            }
            totals.add(&group.kind, plain, catalog);
        }
        totals
    }

    fn add(&mut self, kind: &GroupKind, count: u64, catalog: &Catalog) {
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
        let times = |n: u64| n as f64;
        match kind {
            GroupKind::Node(id) => {
                let Some(node) = catalog.node(id) else { return };
                self.power = self.power + node.host_power * times(count);
                if let Some(gpu) = catalog.gpu(&node.gpu) {
                    self.add_gpus(gpu, count.saturating_mul(u64::from(node.gpus)));
                }
            }
            GroupKind::Gpu(id) => {
                if let Some(gpu) = catalog.gpu(id) {
                    self.add_gpus(gpu, count);
                }
            }
            GroupKind::Switch(id) => {
                if let Some(switch) = catalog.switch(id) {
                    self.power = self.power + switch.power * times(count);
                }
            }
            GroupKind::Nic(_) | GroupKind::Domain { .. } | GroupKind::Ocs { .. } => {}
        }
    }

    fn add_gpus(&mut self, gpu: &Gpu, count: u64) {
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
        let n = count as f64;
        self.gpus = self.gpus.saturating_add(count);
        self.price = self.price + gpu.price.per_hour * n;
        self.power = self.power + gpu.power * n;
    }

    /// `$12.80/h`.
    #[must_use]
    pub fn price_text(&self) -> String {
        let dollars = self.price.get();
        if dollars < 1000.0 {
            format!("${dollars:.2}/h")
        } else {
            format!("${dollars:.0}/h")
        }
    }

    /// `9.8 kW`.
    #[must_use]
    pub fn power_text(&self) -> String {
        let watts = self.power.get();
        if watts < 1e6 {
            format!("{:.1} kW", watts / 1e3)
        } else {
            format!("{:.2} MW", watts / 1e6)
        }
    }
}

/// GPUs a pool names.
#[must_use]
pub fn pool_gpus(pool: &Pool) -> u64 {
    pool.gpus.iter().map(crate::cluster::GpuRange::len).sum()
}

/// The GPU type in a group, if it has one.
#[must_use]
pub fn gpu_of<'a>(group: &Group, instance: u32, catalog: &'a Catalog) -> Option<&'a Gpu> {
    match group.kind_of(instance) {
        GroupKind::Node(id) => catalog.node(id).and_then(|node| catalog.gpu(&node.gpu)),
        GroupKind::Gpu(id) => catalog.gpu(id),
        _ => None,
    }
}

/// The GPU type of a pool: that of its first GPU.
#[must_use]
pub fn pool_gpu<'a>(pool: &Pool, cluster: &Cluster, catalog: &'a Catalog) -> Option<&'a Gpu> {
    let range = pool.gpus.first()?;
    let group = cluster.group(&range.group)?;
    gpu_of(group, range.instances.first, catalog)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::NodeTypeId;
    use crate::cluster::{GroupId, InstanceOverride, Position};

    #[test]
    fn two_nodes_add_up_and_an_override_counts_as_itself() {
        let catalog = Catalog::embedded().unwrap();
        let kind = |id: &str| GroupKind::Node(NodeTypeId::new(id).unwrap());
        let mut group = Group {
            id: GroupId::from_label("n"),
            name: "n".to_owned(),
            kind: kind("dgx-h100"),
            count: 2,
            position: Position::default(),
            overrides: std::collections::BTreeMap::new(),
        };
        let mut cluster = Cluster {
            groups: vec![group.clone()],
            links: Vec::new(),
        };
        let two = Totals::of(&cluster, &catalog);
        let gpu = gpu_of(&group, 0, &catalog).unwrap();
        assert_eq!(two.gpus, 16);
        assert!((two.price.get() - 16.0 * gpu.price.per_hour.get()).abs() < 1e-9);
        assert!(two.power.get() > 16.0 * gpu.power.get());
        group.overrides.insert(
            1,
            InstanceOverride {
                kind: Some(kind("dgx-b200")),
                ..InstanceOverride::default()
            },
        );
        cluster.groups = vec![group];
        let mixed = Totals::of(&cluster, &catalog);
        assert_eq!(mixed.gpus, 16);
        assert!(mixed.power > two.power);
    }
}
