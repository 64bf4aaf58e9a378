//! A project that uses every part of the format once.

use crate::catalog::{Dtype, GpuId, ModelId, NicId, NodeTypeId, SwitchTypeId};
use crate::cluster::{
    Cluster, DomainKind, Group, GroupId, GroupKind, InstanceOverride, Instances, LinkBundle,
    LinkId, LinkKind, Port, Position, Wiring,
};
use crate::model::{Attention, Ffn, Gqa, LayerRun, Mla, Model, Moe, Precision};
use crate::plan::{
    Design, DesignId, Engine, Feed, FirstToken, Layout, ModelRef, Phases, Pool, PoolId, Role,
    Service, ServiceId,
};
use crate::project::{CurveStudy, Project, Slo};
use crate::units::{ByteRate, Seconds, Tokens};
use crate::workload::{
    Arrivals, ColumnMap, Count, Hidden, Length, PriorityClass, Sessions, SystemPrompt, Ties,
    TimeUnit, TraceFile, TraceOptions, Wait, Window, Workload,
};
use std::collections::BTreeMap;

fn group(id: &str, kind: GroupKind, count: u32) -> Group {
    Group {
        id: GroupId::new(id).unwrap(),
        name: format!("The “{id}” (of {count})"),
        kind,
        count,
        position: Position { x: -12.5, y: 340.1 },
        overrides: BTreeMap::new(),
    }
}

fn link(id: &str, kind: LinkKind, wiring: Wiring, instances: Instances) -> LinkBundle {
    let port = |group: &str, instances| Port {
        group: GroupId::new(group).unwrap(),
        instances,
    };
    LinkBundle {
        id: LinkId::new(id).unwrap(),
        a: port("nodes", instances),
        b: port("leaf", Instances::Each),
        count: 2,
        rate: ByteRate::from_gb_per_s(50.0),
        latency: Seconds::from_us(1.5),
        kind,
        wiring,
    }
}

fn groups() -> Vec<Group> {
    let rate = ByteRate::from_gb_per_s(900.0);
    let domain = |kind| GroupKind::Domain { kind, rate };
    let mut nodes = group(
        "nodes",
        GroupKind::Node(NodeTypeId::new("hgx-h800").unwrap()),
        32,
    );
    nodes.overrides = BTreeMap::from([
        (
            3,
            InstanceOverride {
                position: Some(Position { x: 1.0, y: 2.0 }),
                name: Some("the odd one".to_owned()),
                kind: Some(GroupKind::Node(NodeTypeId::new("hgx-h20").unwrap())),
            },
        ),
        (7, InstanceOverride::default()),
    ]);
    vec![
        nodes,
        group("gpu", GroupKind::Gpu(GpuId::new("l20").unwrap()), 8),
        group("nic", GroupKind::Nic(NicId::new("cx7-400g").unwrap()), 8),
        group(
            "leaf",
            GroupKind::Switch(SwitchTypeId::new("qm9700-64x400g").unwrap()),
            8,
        ),
        group("ocs", GroupKind::Ocs { ports: 128, rate }, 1),
        group("d0", domain(DomainKind::NvSwitch), 1),
        group("d1", domain(DomainKind::FullMesh), 1),
        group("d2", domain(DomainKind::Ring), 1),
        group("d3", domain(DomainKind::Torus), 1),
        group("d4", domain(DomainKind::KHopRing { hops: 3 }), 1),
    ]
}

fn model() -> Model {
    let gqa = Attention::Gqa(Gqa {
        heads: 16,
        kv_heads: 4,
        head_dim: 128,
        qk_norm: true,
        ..Gqa::default()
    });
    let mla = Attention::Mla(Mla {
        heads: 16,
        q_rank: Some(1536),
        kv_rank: 512,
        nope_dim: 128,
        rope_dim: 64,
        v_dim: 128,
        ..Mla::default()
    });
    let moe = Ffn::Moe(Moe {
        experts: 64,
        top_k: 6,
        intermediate: 1408,
        shared_intermediate: 2816,
        router_bias: true,
        groups: 8,
        groups_per_token: 4,
        ..Moe::default()
    });
    Model {
        name: "Mine".to_owned(),
        tied_embeddings: true,
        max_context: 65_536,
        source: "made up".to_owned(),
        ..Model::of_layers(
            ModelId::new("mine").unwrap(),
            2048,
            32_000,
            vec![
                LayerRun::new(3, gqa, Ffn::gated(8192)),
                LayerRun::new(29, mla, moe),
            ],
        )
    }
}

fn pools() -> Vec<Pool> {
    let precision = |weights| Precision {
        weights,
        activations: Dtype::Fp8,
        kv: Dtype::Int8,
    };
    let dtypes = [
        Dtype::Fp32,
        Dtype::Bf16,
        Dtype::Fp8,
        Dtype::Int8,
        Dtype::Fp4,
    ];
    Role::ALL
        .into_iter()
        .zip(dtypes)
        .enumerate()
        .map(|(i, (role, weights))| Pool {
            id: PoolId::new(&format!("p{i}")).unwrap(),
            name: role.name().to_owned(),
            role,
            gpus: vec![
                format!("nodes/{}-{}/0-7", 4 * i, 4 * i + 3)
                    .parse()
                    .unwrap(),
            ],
            layout: Layout {
                tp: 2,
                pp: 4,
                dp: 1,
                ep: 2,
                ..Layout::SINGLE
            },
            engine: Engine {
                num_gpu_blocks: (i == 1).then_some(2588),
                host_step_time: Seconds::from_us(350.0),
                first_token: if i == 0 {
                    FirstToken::PrefillEnd
                } else {
                    FirstToken::DecodeAdmission
                },
                ..Engine::vllm(i > 2)
            },
            precision: precision(weights),
        })
        .collect()
}

/// Everything a document can hold.
pub(super) fn everything() -> Project {
    let service = |id: &str| ServiceId::new(id).unwrap();
    let pool = |id: &str| PoolId::new(id).unwrap();
    let kinds = [Wiring::All, Wiring::Pairwise, Wiring::Rails]
        .into_iter()
        .cycle();
    let links = LinkKind::ALL
        .into_iter()
        .zip(kinds)
        .enumerate()
        .map(|(i, (kind, wiring))| {
            let instances = if i == 0 {
                Instances::One(3)
            } else {
                Instances::Each
            };
            link(&format!("l{i}"), kind, wiring, instances)
        })
        .collect();
    Project {
        name: "Everything \\ “at once”\u{1f680}".to_owned(),
        story: "Two\nlines, (brackets], \"quotes\" and 'ticks'.".to_owned(),
        designs: vec![Design {
            id: DesignId::new("a").unwrap(),
            name: String::new(),
            cluster: Cluster {
                groups: groups(),
                links,
            },
            model: ModelRef::Inline(Box::new(model())),
            pools: pools(),
            services: vec![
                Service::Whole {
                    id: service("both"),
                    pool: pool("p0"),
                    phases: Phases::Both,
                },
                Service::Whole {
                    id: service("prefill"),
                    pool: pool("p1"),
                    phases: Phases::Prefill,
                },
                Service::Afd {
                    id: service("afd"),
                    attention: vec![pool("p3")],
                    ffn: pool("p4"),
                    phases: Phases::Decode,
                    split: crate::plan::Split::default(),
                },
            ],
            feeds: vec![Feed {
                from: service("prefill"),
                to: service("afd"),
            }],
            routing: crate::plan::Routing::default(),
        }],
        workload: Workload {
            arrivals: Arrivals::Trace,
            input: Length::Uniform {
                min: Tokens::new(10),
                max: Tokens::new(20),
            },
            output: Length::LogNormal {
                mean: Tokens::new(300),
                cv: 0.7,
                max: Tokens::new(4096),
            },
            requests: 0,
            seed: u64::MAX,
            trace: Some(TraceFile {
                path: "../traces/monday.csv".to_owned(),
                options: TraceOptions {
                    columns: Some(ColumnMap {
                        arrival_unit: Some(TimeUnit::Milliseconds),
                        priority: Some("class".to_owned()),
                        session: Some("chat".to_owned()),
                        blocks: Some("hashes".to_owned()),
                        ..ColumnMap::new("sent at", "server_in", "out")
                    }),
                    drop_failed: true,
                    ties: Ties::Random,
                    block_tokens: Some(16),
                    window: Some(Window {
                        from: Seconds::new(60.0),
                        to: Seconds::new(3600.0),
                    }),
                },
            }),
            sessions: Some(Sessions {
                turns: Count::Geometric { mean: 3.5, max: 40 },
                think: Wait {
                    mean: Seconds::new(12.0),
                    cv: 1.0,
                },
                system: Some(SystemPrompt {
                    tokens: Tokens::new(1500),
                    distinct: 4,
                }),
            }),
            hidden: Some(Hidden {
                rounds: Count::Uniform { min: 0, max: 3 },
                tokens: Length::Fixed(Tokens::new(200)),
                tool: Some(Length::Fixed(Tokens::new(400))),
                wait: Wait {
                    mean: Seconds::from_ms(800.0),
                    cv: 0.5,
                },
                kept: true,
            }),
            priorities: vec![
                PriorityClass {
                    priority: -1,
                    share: 0.25,
                },
                PriorityClass {
                    priority: 7,
                    share: 3.0,
                },
            ],
        },
        slo: Slo {
            ttft: Seconds::new(2.0),
            tpot: Seconds::from_ms(50.0),
            attainment: 0.95,
        },
        curve: CurveStudy {
            loads: vec![0.5, 1.0, 1e-3, 1e22],
            points: 8,
            percentile: 99.9,
        },
    }
}
