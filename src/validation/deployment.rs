//! A measured condition drawn as a design: servers of its GPU, pools as its columns say, settings
//! from the recipes.

use super::recipe::{Half, RecipeError, Recipes, Served};
use super::row::{Condition, Deployment, Sharding, Workers};
use super::setting::{self, Setting};
use crate::catalog::{Catalog, Gpu, ModelId, Nic, NodeType, SwitchTier, SwitchType};
use crate::cluster::{
    Cluster, GpuRange, Group, GroupId, GroupKind, Instances, LinkBundle, LinkId, LinkKind, Port,
    Position, Span, Wiring,
};
use crate::model::{Model, Models, Precision};
use crate::plan::{Design, DesignId, Layout, ModelRef, Pool, PoolId, Role};
use crate::units::{Seconds, Tokens};
use crate::workload::{Arrivals, Length, Workload};
use thiserror::Error;

/// Why a condition can't be drawn.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DeploymentError {
    /// No GPU of the catalog.
    #[error("system “{0}” is no GPU of the catalog")]
    System(String),
    /// No server of that GPU.
    #[error("the catalog has no server with {0}")]
    NoServer(String),
    /// No model of the library.
    #[error("model “{0}” is none of the library")]
    Model(String),
    /// Columns that contradict each other.
    #[error("attention has {attention} ranks (tp × dp) and the experts {experts} (moe_tp × ep)")]
    Ranks {
        /// Ranks of attention.
        attention: u32,
        /// Ranks of the experts.
        experts: u32,
    },
    /// A recipe can't be applied.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
}

/// Latency of a hop from a NIC to its leaf, s: what the worked examples take.
const HOP: f64 = 1.5e-6;
/// The seed of every prediction.
const SEED: u64 = 1;

/// A condition as a design.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// The design.
    pub design: Design,
    /// What is in it that the row does not say, and what its client does.
    pub settings: Vec<Setting>,
}

/// The design of a condition.
///
/// # Errors
/// Its GPU or model is unknown, its ranks contradict each other, or a recipe is wrong.
pub fn design_of(
    condition: &Condition,
    recipes: &Recipes,
    catalog: &Catalog,
    models: &Models,
) -> Result<Drawn, DeploymentError> {
    let model = find_model(condition, models)
        .ok_or_else(|| DeploymentError::Model(condition.model_path.clone()))?;
    let node = find_node(&condition.system, catalog)?;
    let gpu = catalog
        .gpus()
        .find(|gpu| gpu.id == node.gpu)
        .ok_or_else(|| DeploymentError::System(condition.system.clone()))?;
    let nic = catalog
        .nic(&node.nic)
        .ok_or_else(|| DeploymentError::NoServer(gpu.name.clone()))?;
    let leaf = catalog
        .switches()
        .filter(|own| own.tier == SwitchTier::Leaf && own.port_rate.get() >= nic.rate.get())
        .max_by_key(|own| own.ports)
        .ok_or_else(|| DeploymentError::NoServer(gpu.name.clone()))?;
    let drawing = Drawing {
        condition,
        recipes,
        gpu,
        node,
        nic,
        leaf,
        model,
    };
    drawing.design()
}

/// What a condition's client sends.
#[must_use]
pub fn workload_of(condition: &Condition, recipes: &Recipes) -> Workload {
    let client = recipes.client(&condition.campaign);
    let length = |nominal: u32| {
        let at = |share: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "shares of a count of 32 bits"
            )]
            let tokens = (f64::from(nominal) * share).round().max(1.0) as u64;
            tokens
        };
        let (min, max) = (at(client.lengths.0), at(client.lengths.1));
        if min >= max {
            Length::Fixed(Tokens::new(max))
        } else {
            Length::Uniform {
                min: Tokens::new(min),
                max: Tokens::new(max),
            }
        }
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "some times a count of 32 bits"
    )]
    let requests = (f64::from(condition.concurrency) * client.requests_per_slot).ceil() as u64;
    Workload {
        arrivals: Arrivals::Closed,
        input: length(condition.isl),
        output: length(condition.osl),
        requests: requests.max(1),
        seed: SEED,
        trace: None,
        sessions: None,
        hidden: None,
        priorities: Vec::new(),
    }
}

/// Letters and digits of a name, small.
fn squeezed(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// Endings of published names that say how a checkpoint was tuned or stored, not its shape.
const ENDINGS: [&str; 12] = [
    "fp8", "nvfp4", "mxfp4", "fp4", "bf16", "awq", "w4a16", "instruct", "chat", "2507", "0528",
    "v2",
];

/// Names of one architecture: published name → preset.
const SAME_SHAPE: [(&str, &str); 12] = [
    ("deepseekr1", "deepseek-v3"),
    ("deepseekv3r1", "deepseek-v3"),
    ("deepseekv31", "deepseek-v3"),
    ("minimaxm25", "minimax-m2"),
    ("minimaxm21", "minimax-m2"),
    ("kimik25", "kimi-k2.5"),
    ("kimik26", "kimi-k2.5"),
    ("llama3170b", "llama-3.1-70b"),
    ("llama3370b", "llama-3.3-70b"),
    ("glm46", "glm-4.5"),
    ("glm47", "glm-4.5"),
    ("glm51", "glm-5"),
];

/// The model a condition serves: by its published name, then by the table's own.
fn find_model<'a>(condition: &Condition, models: &'a Models) -> Option<&'a Model> {
    let published = condition
        .model_path
        .rsplit('/')
        .next()
        .unwrap_or(&condition.model_path);
    [published, &condition.model]
        .into_iter()
        .find_map(|name| by_name(name, models))
}

fn by_name<'a>(name: &str, models: &'a Models) -> Option<&'a Model> {
    let mut wanted = squeezed(name);
    loop {
        if let Some(found) = models
            .iter()
            .find(|model| squeezed(model.id.as_str()) == wanted)
        {
            return Some(found);
        }
        if let Some((_, id)) = SAME_SHAPE.iter().find(|(known, _)| *known == wanted) {
            return models.get(&ModelId::from_label(id));
        }
        let Some(ending) = ENDINGS.iter().find(|ending| wanted.ends_with(**ending)) else {
            break;
        };
        wanted.truncate(wanted.len() - ending.len());
    }
    // A name with more in it (`Llama-4-Maverick-17B-128E`): the preset with most of it.
    models
        .iter()
        .filter(|model| wanted.starts_with(&squeezed(model.id.as_str())))
        .max_by_key(|model| model.id.as_str().len())
}

/// The GPU a squeezed name means: by its id, by its id without the memory (`a100-80-sxm` is
/// `a100_sxm`), or by its beginning (`rtx_pro_6000_server`, `gb200_nvl72`).
fn find_gpu<'a>(wanted: &str, catalog: &'a Catalog) -> Option<&'a Gpu> {
    let id = |gpu: &Gpu| squeezed(gpu.id.as_str());
    let plain = |gpu: &Gpu| {
        let words = gpu.id.as_str().split('-');
        words
            .filter(|word| !word.chars().all(|c| c.is_ascii_digit()))
            .collect::<String>()
    };
    let find = |is: &dyn Fn(&Gpu) -> bool| {
        catalog
            .gpus()
            .filter(|gpu| is(gpu))
            .max_by_key(|gpu| (id(gpu).len(), gpu.memory.get()))
    };
    find(&|gpu| id(gpu) == wanted)
        .or_else(|| find(&|gpu| plain(gpu) == wanted))
        .or_else(|| find(&|gpu| id(gpu).starts_with(wanted)))
        .or_else(|| find(&|gpu| wanted.starts_with(&id(gpu))))
}

/// The server of a system: the first of the catalog with its GPU, vendors' reference designs before
/// clouds' (they have a NIC for each GPU).
fn find_node<'a>(system: &str, catalog: &'a Catalog) -> Result<&'a NodeType, DeploymentError> {
    let wanted = squeezed(system);
    let gpu =
        find_gpu(&wanted, catalog).ok_or_else(|| DeploymentError::System(system.to_owned()))?;
    let rank = |node: &NodeType| {
        let id = node.id.as_str();
        let maker = ["hgx", "dgx", "gb"].iter().any(|own| id.starts_with(own));
        (
            std::cmp::Reverse(node.nics >= node.gpus),
            !maker,
            id.to_owned(),
        )
    };
    catalog
        .nodes()
        .filter(|node| node.gpu == gpu.id && node.gpus > 1)
        .min_by_key(|node| rank(node))
        .ok_or_else(|| DeploymentError::NoServer(gpu.name.clone()))
}

struct Drawing<'a> {
    condition: &'a Condition,
    recipes: &'a Recipes,
    gpu: &'a Gpu,
    node: &'a NodeType,
    nic: &'a Nic,
    leaf: &'a SwitchType,
    model: &'a Model,
}

impl Drawing<'_> {
    fn design(&self) -> Result<Drawn, DeploymentError> {
        let mut pools = Vec::new();
        let mut settings = Vec::new();
        let mut note = |pool: &Pool, served: &Served| {
            settings.extend(setting::of_pool(&pool.name, served, self.condition));
        };
        let mut model = self.model.clone();
        let servers = match self.condition.deployment {
            Deployment::Colocated(sharding) => {
                let workers = Workers { count: 1, sharding };
                let (pool, served, next) =
                    self.pool(("replica", Role::Colocated, Half::Both), workers, 0)?;
                keep(&mut model, &served);
                note(&pool, &served);
                pools.push(pool);
                next
            }
            Deployment::Disaggregated { prefill, decode } => {
                let (pool, served, next) =
                    self.pool(("prefill", Role::Prefill, Half::Prefill), prefill, 0)?;
                note(&pool, &served);
                pools.push(pool);
                let (pool, served, next) =
                    self.pool(("decode", Role::Decode, Half::Decode), decode, next)?;
                keep(&mut model, &served);
                note(&pool, &served);
                pools.push(pool);
                next
            }
        };
        let client = self.recipes.client(&self.condition.campaign);
        settings.extend(setting::of_client(&client));
        let c = self.condition;
        let mut design = Design {
            id: DesignId::from_label("measured"),
            name: format!(
                "{} · {} · {} · {} × {}",
                c.model,
                c.system,
                c.engine.name(),
                c.isl,
                c.osl
            ),
            cluster: self.cluster(servers),
            model: if model == *self.model {
                ModelRef::Preset(self.model.id.clone())
            } else {
                ModelRef::Inline(Box::new(model))
            },
            pools,
            services: Vec::new(),
            feeds: Vec::new(),
            routing: crate::plan::Routing::default(),
        };
        design.settle();
        Ok(Drawn { design, settings })
    }

    fn layout(&self, sharding: Sharding) -> Result<Layout, DeploymentError> {
        let attention = sharding.tp.saturating_mul(sharding.dp);
        let experts = sharding.moe_tp.saturating_mul(sharding.ep);
        let has_experts = self.model.moe().is_some();
        let ep = if !has_experts {
            1
        } else if experts == attention {
            sharding.ep
        } else if experts == 1 {
            // Not said: TP splits experts too.
            1
        } else {
            return Err(DeploymentError::Ranks { attention, experts });
        };
        Ok(Layout {
            tp: sharding.tp,
            pp: sharding.pp,
            dp: sharding.dp,
            ep,
            ..Layout::SINGLE
        })
    }

    /// The layout without redundant experts where all of them could not be dealt out evenly.
    fn even(&self, mut layout: Layout) -> Layout {
        let experts = self.model.moe().map_or(0, |moe| moe.experts);
        let all = experts.saturating_add(u64::from(layout.redundant_experts));
        if layout.ep < 2 || !all.is_multiple_of(u64::from(layout.ep)) {
            layout.redundant_experts = 0;
        }
        layout
    }

    /// A pool whose workers start at a server of their own, and the next free server.
    fn pool(
        &self,
        (name, role, half): (&str, Role, Half),
        workers: Workers,
        first: u32,
    ) -> Result<(Pool, Served, u32), DeploymentError> {
        let layout = self.layout(workers.sharding)?;
        let served = self
            .recipes
            .served(self.condition, half, self.gpu, layout)?;
        let layout = self.even(served.layout);
        let each = layout.gpus().max(1);
        let slots = self.node.gpus;
        let mut gpus = Vec::new();
        let mut next = first;
        if each >= slots {
            // Whole servers.
            let servers = each.div_ceil(slots).saturating_mul(workers.count);
            gpus.push(range((next, next + servers - 1), (0, slots - 1)));
            next += servers;
        } else {
            // As many workers of a server as fit.
            let fit = slots / each;
            let (full, rest) = (workers.count / fit, workers.count % fit);
            if full > 0 {
                gpus.push(range((next, next + full - 1), (0, fit * each - 1)));
                next += full;
            }
            if rest > 0 {
                gpus.push(range((next, next), (0, rest * each - 1)));
                next += 1;
            }
        }
        let pool = Pool {
            id: PoolId::from_label(name),
            name: role.name().to_owned(),
            role,
            gpus,
            layout,
            engine: served.engine.clone(),
            precision: Precision {
                weights: served.weights,
                activations: served.activations,
                kv: served.kv,
            },
        };
        Ok((pool, served, next))
    }

    fn cluster(&self, servers: u32) -> Cluster {
        let id = GroupId::from_label("n");
        let group = Group {
            id: id.clone(),
            name: "n".to_owned(),
            kind: GroupKind::Node(self.node.id.clone()),
            count: servers,
            position: Position { x: 80.0, y: 80.0 },
            overrides: std::collections::BTreeMap::new(),
        };
        let mut cluster = Cluster {
            groups: vec![group],
            links: Vec::new(),
        };
        if servers > 1 {
            // A rail for each NIC: NIC k of every server meets at leaf k.
            let leaf = GroupId::from_label("leaf");
            cluster.groups.push(Group {
                id: leaf.clone(),
                name: "leaf".to_owned(),
                kind: GroupKind::Switch(self.leaf.id.clone()),
                count: self.node.nics,
                position: Position { x: 80.0, y: 480.0 },
                overrides: std::collections::BTreeMap::new(),
            });
            let port = |group: &GroupId| Port {
                group: group.clone(),
                instances: Instances::Each,
            };
            cluster.links.push(LinkBundle {
                id: LinkId::from_label("rails"),
                a: port(&id),
                b: port(&leaf),
                count: self.node.nics,
                rate: self.nic.rate,
                latency: Seconds::new(HOP),
                kind: LinkKind::Infiniband,
                wiring: Wiring::Rails,
            });
        }
        cluster
    }
}

/// Parts of the model that this checkpoint keeps in another format.
fn keep(model: &mut Model, served: &Served) {
    if let Some(attention) = served.attention {
        for run in &mut model.layers {
            run.kept.attention = Some(attention);
        }
    }
}

fn range(instances: (u32, u32), slots: (u32, u32)) -> GpuRange {
    let span = |(first, last)| Span { first, last };
    GpuRange {
        group: GroupId::from_label("n"),
        instances: span(instances),
        slots: span(slots),
    }
}
