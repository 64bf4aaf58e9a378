use super::*;
use crate::catalog::{Catalog, Dtype, ModelId, NodeTypeId};
use crate::cluster::GroupKind;
use crate::model::{Models, Precision};
use crate::project::example;
use crate::units::Seconds;

fn worked(index: usize) -> Design {
    example("pdd-vs-colocated")
        .unwrap()
        .designs
        .swap_remove(index)
}

fn check(design: &Design) -> Compiled {
    let demand = Demand {
        longest_context: 2304,
        longest_prompt: 2048,
    };
    compile(
        design,
        &Catalog::embedded().unwrap(),
        &Models::embedded().unwrap(),
        demand,
    )
}

fn on(node: &str, model: &str, layout: Layout, precision: Precision) -> Design {
    let mut design = worked(1);
    for group in &mut design.cluster.groups {
        group.kind = GroupKind::Node(NodeTypeId::new(node).unwrap());
    }
    design.model = ModelRef::Preset(ModelId::new(model).unwrap());
    design.pools[0].layout = layout;
    design.pools[0].precision = precision;
    design
}

fn tp(tp: u32) -> Layout {
    Layout {
        tp,
        pp: 1,
        dp: 1,
        ep: 1,
        ..Layout::SINGLE
    }
}

fn errors(compiled: &Compiled) -> Vec<&Finding> {
    compiled
        .findings
        .iter()
        .filter(|f| f.severity == Severity::Error)
        .collect()
}

/// Applies the first repair offered and checks again.
fn repaired(mut design: Design) -> Compiled {
    let compiled = check(&design);
    let repair = errors(&compiled)[0]
        .repair
        .clone()
        .expect("a repair is offered");
    repair.apply(&mut design);
    check(&design)
}

#[test]
fn the_worked_example_runs() {
    for index in 0..2 {
        let compiled = check(&worked(index));
        assert!(errors(&compiled).is_empty(), "{:#?}", compiled.findings);
        let plan = compiled.plan.unwrap();
        assert_eq!(plan.gpus, 16);
        assert!(
            plan.pools
                .iter()
                .all(|pool| pool.replicas.iter().all(|r| r.ranks.len() == 4))
        );
    }
}

#[test]
fn tp_that_does_not_divide_lists_what_does_and_is_mended() {
    let design = on("hgx-h800", "qwen3-32b", tp(6), Precision::BF16);
    let compiled = check(&design);
    assert!(compiled.plan.is_none());
    assert_eq!(
        errors(&compiled)[0].cause,
        "TP 6 does not divide 64 heads: 1, 2, 4, 8 and 16 do"
    );
    assert!(repaired(design).plan.is_some());
}

#[test]
fn experts_must_divide() {
    // cases.md T17 for 128 experts: EP 3 gives 42.67 experts a GPU.
    let design = on(
        "hgx-h800",
        "qwen3-30b-a3b",
        Layout {
            tp: 1,
            pp: 1,
            dp: 3,
            ep: 3,
            ..Layout::SINGLE
        },
        Precision::BF16,
    );
    let compiled = check(&design);
    assert!(
        errors(&compiled)[0]
            .cause
            .contains("EP 3 does not divide 128 experts"),
        "{:?}",
        compiled.findings
    );
    assert!(repaired(design).plan.is_some());
    let dense = on(
        "hgx-h800",
        "qwen3-32b",
        Layout {
            tp: 2,
            pp: 1,
            dp: 1,
            ep: 2,
            ..Layout::SINGLE
        },
        Precision::BF16,
    );
    assert!(
        errors(&check(&dense))[0]
            .cause
            .contains("the model is dense")
    );
}

#[test]
fn a_model_that_does_not_fit_names_the_smallest_layout_that_does() {
    // Llama-3.3-70B in BF16 is 131 GiB: two H800 are not enough, four are.
    let design = on("hgx-h800", "llama-3.3-70b", tp(1), Precision::BF16);
    let compiled = check(&design);
    assert!(compiled.plan.is_none());
    let cause = &errors(&compiled)[0].cause;
    assert!(cause.contains("does not fit"), "{cause}");
    assert!(cause.contains("TP 4") || cause.contains("TP 2"), "{cause}");
    assert!(repaired(design).plan.is_some());
    // cases.md T43: 405B in BF16 needs at least 11 cards of 79 GiB before any KV: 16 with legal TP.
    let huge = check(&on("hgx-h800", "llama-3.1-405b", tp(8), Precision::BF16));
    let cause = &errors(&huge)[0].cause;
    assert!(cause.contains("16 GPUs"), "{cause}");
}

/// With the change the design does not run, for a reason that says `part`.
fn refused(mut design: Design, change: &dyn Fn(&mut Design), part: &str) {
    change(&mut design);
    let compiled = check(&design);
    assert!(compiled.plan.is_none(), "{part}");
    assert!(
        compiled.findings.iter().any(|f| f.cause.contains(part)),
        "{part}: {:#?}",
        compiled.findings
    );
}

#[test]
fn numbers_no_hardware_has_are_refused() {
    let refuses = |change: &dyn Fn(&mut Design), part: &str| refused(worked(1), change, part);
    for blocks in [10_000_000, u64::MAX] {
        refuses(
            &|design| design.pools[0].engine.num_gpu_blocks = Some(blocks),
            "num_gpu_blocks",
        );
    }
    refuses(
        &|design| design.pools[0].engine.host_step_time = Seconds::new(1e300),
        "host step time",
    );
    refuses(
        &|design| design.cluster.links[0].latency = Seconds::new(1e300),
        "latency",
    );
}

#[test]
fn a_pool_serves_once_and_what_its_role_says() {
    let refused = |change: &dyn Fn(&mut Design), part: &str| refused(worked(0), change, part);
    // Served twice, its GPUs would count twice.
    let again = |id: &str| Service::Whole {
        id: id.parse().unwrap(),
        pool: "prefill".parse().unwrap(),
        phases: Phases::Prefill,
    };
    refused(&|d| d.services.push(again("prefill")), "two services");
    refused(&|d| d.services.push(again("more")), "both have pool");
    refused(&|d| d.pools[0].role = Role::Attention, "role of its pool");
    refused(&|d| d.pools[1].role = Role::Colocated, "role of its pool");
    refused(&|d| d.services.clear(), "nothing serves");
    refused(
        &|d| {
            d.feeds = vec![Feed {
                from: "decode".parse().unwrap(),
                to: "prefill".parse().unwrap(),
            }];
        },
        "can't feed",
    );
}

#[test]
fn memory_adds_up() {
    for index in 0..2 {
        for (_, memory) in check(&worked(index)).memory {
            let terms: u64 = memory.terms.iter().map(|term| term.bytes.get()).sum();
            assert_eq!(terms + memory.kv.get(), memory.capacity.get());
            assert!(memory.blocks * memory.block_bytes.get() <= memory.kv.get());
        }
    }
}

#[test]
fn pools_and_links_that_are_wrong_are_named() {
    let mut empty = worked(1);
    empty.pools[0].gpus.clear();
    let compiled = check(&empty);
    assert!(
        errors(&compiled)[0].cause.contains("has no GPUs"),
        "{:?}",
        compiled.findings
    );

    let mut nowhere = worked(1);
    nowhere.pools[0].gpus = vec!["n7/0/0-7".parse().unwrap()];
    assert!(
        errors(&check(&nowhere))[0]
            .cause
            .contains("n7/0/0, which is not drawn")
    );

    let mut unjoined = worked(0);
    unjoined.cluster.links.clear();
    assert!(
        errors(&check(&unjoined))[0]
            .cause
            .contains("reaches no decode pool")
    );

    // A decode node that only half of the drawing reaches.
    let mut island = worked(0);
    let mut third = island.cluster.groups[1].clone();
    third.id = crate::cluster::GroupId::new("n2").unwrap();
    island.cluster.groups.push(third);
    island.pools[1].gpus.push("n2/0/0-7".parse().unwrap());
    let compiled = check(&island);
    assert!(
        errors(&compiled)[0]
            .cause
            .contains("can't reach decode GPU n2/0/0"),
        "{:?}",
        compiled.findings
    );

    let mut twice = worked(0);
    twice.pools[1].gpus = twice.pools[0].gpus.clone();
    assert!(errors(&check(&twice))[0].cause.contains("also in pool"));

    let mut mixed = worked(1);
    mixed.cluster.groups[1].kind = GroupKind::Node(NodeTypeId::new("hgx-h20").unwrap());
    assert!(errors(&check(&mixed))[0].cause.contains("mixes"));

    let mut alone = worked(0);
    alone.pools.remove(1);
    alone.settle();
    assert!(
        errors(&check(&alone))
            .iter()
            .any(|f| f.cause.contains("nobody to decode"))
    );

    let mut engine = worked(1);
    engine.pools[0].engine.max_num_batched_tokens = 512;
    engine.pools[0].engine.enable_chunked_prefill = false;
    assert!(
        errors(&check(&engine))
            .iter()
            .any(|f| f.cause.contains("max_num_seqs"))
    );
    assert!(
        errors(&check(&engine))
            .iter()
            .any(|f| f.cause.contains("longest prompt and answer (2304,"))
    );
}

#[test]
fn attention_and_ffn_run_apart() {
    let mut afd = worked(0);
    afd.pools[0].role = Role::Attention;
    afd.pools[1].role = Role::Ffn;
    afd.settle();
    let compiled = check(&afd);
    let plan = compiled
        .plan
        .unwrap_or_else(|| panic!("{:#?}", compiled.findings));
    let [service] = plan.services.as_slice() else {
        panic!("{:?}", plan.services)
    };
    let split = service.split.as_ref().unwrap();
    assert_eq!((split.attention.as_slice(), split.ffn), ([0].as_slice(), 1));
    let copies = plan.copies(service);
    let shares: Vec<_> = (0..copies)
        .flat_map(|copy| plan.shares(service, copy))
        .collect();
    let all: Vec<_> = (0..plan.pools[0].replicas.len())
        .map(|own| (0, own))
        .collect();
    assert_eq!(shares, all, "every attention replica is of one copy");
    // The halves hold the weights between them, and only attention keeps KV.
    let weights = |pool: usize| plan.pools[pool].memory.terms[0].bytes.get();
    let whole = check(&worked(0)).plan.unwrap();
    let both = whole.pools[0].memory.terms[0].bytes.get();
    let sum = weights(0) + weights(1);
    assert!(sum.abs_diff(both) < both / 100, "{sum} of {both}");
    assert!(plan.pools[0].memory.blocks > 0 && plan.pools[1].memory.blocks == 0);
    // What can't be dealt out, and what no pipeline has.
    for (change, cause) in [
        (
            (|own: &mut Design| {
                if let Some(Service::Afd { split, .. }) = own.services.first_mut() {
                    split.micro_batches = 9;
                }
            }) as fn(&mut Design),
            "dealt into 1 to 4",
        ),
        (|own| own.pools[0].layout.pp = 2, "use PP 1"),
        (|own| own.pools[0].gpus.truncate(0), "has no GPUs"),
    ] {
        let mut own = afd.clone();
        change(&mut own);
        let compiled = check(&own);
        assert!(
            errors(&compiled).iter().any(|f| f.cause.contains(cause)),
            "{cause}: {:?}",
            errors(&compiled)
        );
    }
}

#[test]
fn halves_of_a_split_must_be_what_they_are_drawn_as() {
    type Spoil = fn(&mut Vec<PoolId>, &mut PoolId);
    let cases: [(Spoil, &str); 4] = [
        (|attention, _| attention.clear(), "has no attention pool"),
        (
            |attention, ffn| attention[0] = ffn.clone(),
            "as its Attention half",
        ),
        (
            |attention, ffn| *ffn = attention[0].clone(),
            "as its FFN half",
        ),
        (|attention, _| attention.push(attention[0].clone()), "twice"),
    ];
    for (spoil, cause) in cases {
        let mut afd = worked(0);
        afd.pools[0].role = Role::Attention;
        afd.pools[1].role = Role::Ffn;
        afd.settle();
        let halves = afd.services.iter_mut().find_map(|service| match service {
            Service::Afd { attention, ffn, .. } => Some((attention, ffn)),
            Service::Whole { .. } => None,
        });
        let (attention, ffn) = halves.unwrap();
        spoil(attention, ffn);
        let compiled = check(&afd);
        assert!(
            errors(&compiled).iter().any(|f| f.cause.contains(cause)),
            "{cause}: {:?}",
            errors(&compiled)
        );
    }
}

#[test]
fn tp_stays_inside_a_node_and_leftovers_are_said() {
    let mut design = worked(1);
    design.pools[0].layout = Layout {
        tp: 4,
        pp: 1,
        dp: 1,
        ep: 4,
        ..Layout::SINGLE
    };
    design.pools[0].gpus = vec!["n0/0/0-5".parse().unwrap(), "n1/0/0-3".parse().unwrap()];
    let compiled = check(&design);
    let plan = compiled.plan.unwrap();
    assert_eq!(plan.pools[0].replicas.len(), 2);
    for replica in &plan.pools[0].replicas {
        let domains: std::collections::BTreeSet<u32> = replica
            .ranks
            .iter()
            .map(|ix| plan.topology.gpu(*ix).domain)
            .collect();
        assert_eq!(domains.len(), 1);
    }
    assert!(
        compiled
            .findings
            .iter()
            .any(|f| f.cause.starts_with("2 of 10 GPUs"))
    );
    // TP 16 has nowhere to stay inside.
    let wide = on("hgx-h800", "llama-3.1-405b", tp(16), Precision::FP8);
    let compiled = check(&wide);
    assert!(
        compiled
            .findings
            .iter()
            .any(|f| f.cause.contains("wider than a scale-up domain"))
    );
}

#[test]
fn lanes_of_a_dense_model_are_replicas() {
    let design = on(
        "hgx-h800",
        "qwen3-8b",
        Layout {
            tp: 1,
            pp: 1,
            dp: 4,
            ep: 1,
            ..Layout::SINGLE
        },
        Precision::BF16,
    );
    let plan = check(&design).plan.unwrap();
    assert_eq!(plan.pools[0].replicas.len(), 16);
}

#[test]
fn a_gpu_without_the_format_is_warned_of() {
    let a100 = on(
        "dgx-a100-80",
        "qwen3-8b",
        tp(1),
        Precision {
            weights: Dtype::Fp8,
            activations: Dtype::Fp8,
            kv: Dtype::Bf16,
        },
    );
    let compiled = check(&a100);
    assert!(compiled.plan.is_some());
    assert!(
        compiled
            .findings
            .iter()
            .any(|f| f.severity == Severity::Warning && f.cause.contains("does not multiply FP8"))
    );
}

#[test]
fn stages_get_all_layers() {
    let models = Models::embedded().unwrap();
    let model = models.get(&ModelId::new("deepseek-v3").unwrap()).unwrap();
    for pp in 1..=16 {
        let stages = memory::split_layers(model, pp, &[]);
        assert_eq!(stages.len(), pp as usize);
        let total: u32 = stages.iter().flatten().map(|run| run.count).sum();
        assert_eq!(total, model.layer_count());
        let sizes: Vec<u32> = stages
            .iter()
            .map(|s| s.iter().map(|r| r.count).sum())
            .collect();
        assert!(
            sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1,
            "{sizes:?}"
        );
    }
}

#[test]
fn stages_have_the_layers_they_are_given() {
    let mut design = worked(1);
    design.pools[0].layout = Layout { pp: 4, ..tp(1) };
    let layers = |design: &Design| {
        let plan = check(design).plan.unwrap();
        let stages = plan.pools[0].stages.iter();
        let sizes: Vec<u32> = stages.map(|s| s.iter().map(|r| r.count).sum()).collect();
        (sizes, plan.pools[0].memory.clone())
    };
    let (even, level) = layers(&design);
    let all: u32 = even.iter().sum();
    let given = vec![1, 2, 3, all - 6];
    design.pools[0].engine.stage_layers.clone_from(&given);
    let (sizes, uneven) = layers(&design);
    assert_eq!(sizes, given);
    // The last stage is the fullest: it has so many more layers, and as many more of each token's KV.
    let weights = |memory: &MemoryBudget| memory.terms[0].bytes.as_f64();
    assert!(weights(&uneven) > 2.0 * weights(&level));
    let each = |memory: &MemoryBudget, layers: u32| {
        assert_eq!(memory.block_bytes.get() % u64::from(layers), 0);
        memory.block_bytes.get() / u64::from(layers)
    };
    assert_eq!(each(&uneven, given[3]), each(&level, even[0]));
    // One stage too few, a layer too many, a stage without layers.
    for wrong in [
        vec![all - 2, 1, 1],
        vec![1, 2, 3, all - 5],
        vec![0, 2, 3, all - 5],
    ] {
        design.pools[0].engine.stage_layers = wrong;
        let compiled = check(&design);
        assert!(compiled.plan.is_none());
        let said = "VLLM_PP_LAYER_PARTITION is";
        assert!(compiled.findings.iter().any(|f| f.cause.starts_with(said)));
    }
}

// cases.md T43: what fits 405B in BF16 is 16 GPUs, TP inside a server first.
#[test]
fn repairs_of_what_does_not_fit_make_it_fit() {
    for (node, model, at, precision) in [
        ("hgx-h800", "llama-3.3-70b", tp(1), Precision::BF16),
        ("hgx-h800", "llama-3.1-405b", tp(8), Precision::BF16),
        ("hgx-h100", "llama-3.3-70b", tp(1), Precision::FP8),
        ("hgx-h200", "deepseek-v3", tp(4), Precision::FP8),
    ] {
        let design = on(node, model, at, precision);
        let compiled = check(&design);
        let finding = errors(&compiled)[0];
        assert!(finding.cause.contains("does not fit"), "{}", finding.cause);
        let repairs: Vec<_> = finding.repair.iter().chain(&finding.further).collect();
        assert!(!repairs.is_empty(), "{model}: {}", finding.cause);
        for repair in repairs {
            let mut mended = design.clone();
            repair.apply(&mut mended);
            let after = check(&mended);
            assert!(
                !errors(&after)
                    .iter()
                    .any(|f| f.cause.contains("does not fit") || f.cause.contains("left for KV")),
                "{model}, {}: {:?}",
                repair.label,
                errors(&after)
            );
        }
    }
    let huge = check(&on("hgx-h800", "llama-3.1-405b", tp(8), Precision::BF16));
    let cause = &errors(&huge)[0].cause;
    assert!(cause.contains("TP 8 · PP 2"), "{cause}");
}

// cases.md T31: CP counts its GPUs.
#[test]
fn context_parallelism_counts_its_gpus() {
    let cp = Layout {
        cp: 8,
        ..Layout::SINGLE
    };
    assert_eq!(cp.gpus(), 8);
    let decode = Layout {
        dp: 48,
        ep: 48,
        ..Layout::SINGLE
    };
    assert_eq!(3 * cp.gpus() + decode.gpus(), 72);
    let mut design = on("hgx-h800", "qwen3-8b", cp, Precision::BF16);
    let compiled = check(&design);
    let plan = compiled.plan.expect("it runs");
    let replica = &plan.pools[0].replicas[0];
    // 16 GPUs.
    assert_eq!((plan.pools[0].replicas.len(), replica.ranks.len()), (2, 8));
    assert_eq!(replica.sharers(cp, 0, 0).count(), 8);
    assert_eq!(replica.lane(cp, 0, 0), &replica.ranks[..1]);
    assert!(
        compiled
            .findings
            .iter()
            .any(|f| f.cause.contains("does not split prompts")),
        "vLLM 0.11 has no such thing"
    );
    design.pools[0].gpus = vec!["n0/0/0-3".parse().unwrap()];
    let compiled = check(&design);
    assert!(
        errors(&compiled)
            .iter()
            .any(|f| f.cause.contains("CP 8 needs 8 GPUs") && f.cause.contains("has 4")),
        "{:?}",
        errors(&compiled)
    );
}

#[test]
fn another_engine_runs_with_its_own_defaults() {
    let mut design = worked(1);
    let gpu = check(&design).plan.unwrap().pools[0].gpu.clone();
    let layout = design.pools[0].layout;
    for kind in EngineKind::ALL {
        design.pools[0].engine = Engine::defaults(kind, &gpu, layout);
        let compiled = check(&design);
        assert!(compiled.findings.is_empty(), "{:?}", compiled.findings);
        assert_eq!(
            compiled.plan.unwrap().pools[0].engine,
            design.pools[0].engine
        );
    }
}

#[test]
fn routing_rules_need_something_to_go_by() {
    let says = |design: &Design, words: &str| {
        let compiled = check(design);
        assert!(compiled.plan.is_some());
        compiled
            .findings
            .iter()
            .any(|f| f.severity == Severity::Warning && f.cause.contains(words))
    };
    let mut design = worked(1);
    design.routing.entry = Rule::PrefixAware;
    design.routing.local.max_local_prefill_length = 100;
    assert!(says(&design, "no pool that prefills keeps prefixes"));
    assert!(says(&design, "no service only prefills"));
    design.pools[0].engine.caching.prefix = true;
    assert!(!says(&design, "keeps prefixes"));
    let mut apart = worked(0);
    apart.routing = design.routing;
    assert!(!says(&apart, "no service only prefills"));
}
