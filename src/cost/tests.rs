use super::calibrated::{
    Attributes, Calibrated, Calibrations, Errors, Family, Forest, Surface, TableId,
};
use super::collective::ring_bytes_time;
use super::layer::{by_tokens, experts, shared_experts};
use super::*;
use crate::catalog::{Catalog, Dtype, GpuId, ModelId};
use crate::cluster::{GpuIx, Router, unfold};
use crate::model::{Models, Precision, WeightFormat, layer_flops_per_token};
use crate::plan::{Demand, Design, Layout, ModelRef, Plan, compile};
use crate::project::example;
use crate::units::ByteRate;
use proptest::prelude::*;
use std::sync::Arc;

mod exchange;
mod kinds;
mod rows;
mod runtime;
mod speculation;

fn rate(gb: f64) -> ByteRate {
    ByteRate::from_gb_per_s(gb)
}

fn plan_of(design: &Design) -> Arc<Plan> {
    let compiled = compile(
        design,
        &Catalog::embedded().unwrap(),
        &Models::embedded().unwrap(),
        Demand {
            longest_context: 4096,
            longest_prompt: 4096,
        },
    );
    compiled
        .plan
        .unwrap_or_else(|| panic!("{:#?}", compiled.findings))
}

fn worked(index: usize) -> Design {
    example("pdd-vs-colocated")
        .unwrap()
        .designs
        .swap_remove(index)
}

fn pricer(plan: &Plan, pool: usize) -> StepPricer {
    let fidelity: Arc<dyn Fidelity> = Arc::new(Roofline);
    StepPricer::new(&plan.topology, &plan.model, &plan.pools[pool], &fidelity)
}

#[test]
fn ring_all_reduce_follows_the_drawn_rate() {
    // cases.md T46: 8 MiB over 8 ranks, 2·7/8·S/B, without latency terms.
    let bytes = 8.0 * 1_048_576.0;
    let us = |ranks, gb| 2.0 * ring_bytes_time(bytes, ranks, rate(gb)) * 1e6;
    assert!((us(8, 450.0) - 32.6).abs() < 0.05);
    assert!((us(8, 50.0) - 293.6).abs() < 0.05);
    assert!((us(16, 50.0) - 314.6).abs() < 0.05);
}

#[test]
fn collectives_across_nodes_cost_more_and_follow_the_nics() {
    let design = worked(1);
    let plan = plan_of(&design);
    let topology = &plan.topology;
    let mut router = Router::new(topology);
    let inside: Vec<GpuIx> = (0..8).map(GpuIx).collect();
    let across: Vec<GpuIx> = (0..16).map(GpuIx).collect();
    let one = CommGroup::of(topology, &mut router, &inside);
    let two = CommGroup::of(topology, &mut router, &across);
    assert_eq!((one.per_domain, two.ranks, two.per_domain), (8, 16, 8));
    assert!(
        (two.inter_rate - 50e9).abs() < 1.0,
        "each GPU has its own NIC: {}",
        two.inter_rate
    );
    let mib = 8.0 * 1_048_576.0;
    let roofline = RooflineOn::of(&plan.pools[0].gpu);
    let reduce = |group: &CommGroup| all_reduce(group, mib, &roofline).seconds();
    assert!(reduce(&two) > reduce(&one));
    // Half the links: two GPUs share one.
    let mut fewer = design;
    fewer.cluster.links[0].count = 4;
    let (topology, _) = unfold(&fewer.cluster, &Catalog::embedded().unwrap());
    let shared = CommGroup::of(&topology, &mut Router::new(&topology), &across);
    assert!(shared.inter_rate < two.inter_rate);
    assert!(reduce(&shared) > reduce(&two));
}

#[test]
fn kernels_do_the_models_flops() {
    // The linears and experts of a layer on one rank add up to what the shape says per token.
    let models = Models::embedded().unwrap();
    for id in ["qwen3-8b", "qwen3-30b-a3b", "llama-3.1-70b", "glm-4.5"] {
        let model = models.get(&ModelId::new(id).unwrap()).unwrap();
        for (run, layer) in model.layers.iter().enumerate() {
            let precision = Precision::BF16;
            let mut kernels = by_tokens(model, run, Layout::SINGLE, precision, 1.0);
            kernels.extend(experts(model, run, Layout::SINGLE, precision, 1.0, 1.0));
            kernels.extend(shared_experts(model, run, Layout::SINGLE, precision, 1.0));
            let flops: f64 = kernels.iter().map(|(_, op)| op.work().0).sum();
            let expected = layer_flops_per_token(layer, model.hidden) as f64;
            assert!(
                (flops / expected - 1.0).abs() < 1e-3,
                "{id}: {flops} against {expected}"
            );
        }
    }
}

#[test]
fn a_small_decode_step_is_bound_by_reading_the_weights() {
    // Qwen3-32B BF16 at TP 8 on one H800 node: 65.5 GB of weights / 8 / 3.35 TB/s is 2.44 ms; a
    // step of one token can't be shorter and, at a memory efficiency of 0.8 with launches and
    // all-reduces, is a few times that at most.
    let mut design = worked(1);
    design.model = crate::plan::ModelRef::Preset(ModelId::new("qwen3-32b").unwrap());
    design.pools[0].layout = Layout {
        tp: 8,
        pp: 1,
        dp: 1,
        ep: 1,
        ..Layout::SINGLE
    };
    let plan = plan_of(&design);
    let lane = LaneShape {
        drafted: 0,
        decodes: 1,
        context: 1024,
        reached: &[],
        chunks: &[],
        sampled: 1,
    };
    let ms = pricer(&plan, 0).stage(0, &[lane]).took(false) as f64 * 1e-12;
    assert!((2.44..9.0).contains(&ms), "{ms}");
}

#[test]
fn experts_wait_for_the_tokens_of_all_lanes() {
    let mut design = worked(1);
    design.pools[0].layout = Layout {
        tp: 1,
        pp: 1,
        dp: 8,
        ep: 8,
        ..Layout::SINGLE
    };
    let plan = plan_of(&design);
    let mut pricer = pricer(&plan, 0);
    let lane = |decodes: u32| LaneShape {
        drafted: 0,
        decodes,
        context: u64::from(decodes) * 1000,
        reached: &[],
        chunks: &[],
        sampled: decodes,
    };
    let idle = [
        lane(64),
        lane(0),
        lane(0),
        lane(0),
        lane(0),
        lane(0),
        lane(0),
        lane(0),
    ];
    let level = [lane(64); 8];
    let skewed = [
        lane(512),
        lane(0),
        lane(0),
        lane(0),
        lane(0),
        lane(0),
        lane(0),
        lane(0),
    ];
    let mut time = |lanes: &[LaneShape<'_>]| pricer.stage(0, lanes).total;
    assert!(time(&level) > time(&idle), "more tokens for the experts");
    assert!(time(&skewed) > time(&level), "the slowest lane decides");
}

#[test]
fn four_kv_heads_at_tp_8_send_twice_the_bytes() {
    let mut design = worked(0);
    let bytes = |design: &Design| {
        let plan = plan_of(design);
        kv_transfer(
            &mut Router::new(&plan.topology),
            &plan.model,
            &|channel| plan.topology.channel(channel).rate.get(),
            (&plan.pools[0], 0, 0),
            (&plan.pools[1], 0, 0),
        )
        .unwrap()
        .bytes(1)
    };
    // Qwen3-30B-A3B keeps 98,304 bytes per token in 4 heads.
    let once = bytes(&design);
    assert!((once - 98_304.0).abs() < 1e-6, "{once}");
    for pool in &mut design.pools {
        pool.layout = Layout {
            tp: 8,
            pp: 1,
            dp: 1,
            ep: 8,
            ..Layout::SINGLE
        };
    }
    let twice = bytes(&design);
    assert!((twice - 2.0 * once).abs() < 1e-6, "{twice}");
}

/// A fit as a table of H100 would give it.
fn fitted(family: Family, engine: &str, precision: &str, parameters: &[f64]) -> Surface {
    Surface {
        id: TableId {
            gpu: GpuId::new("h100-sxm").unwrap(),
            family,
            engine: engine.to_owned(),
            version: "1.0".to_owned(),
            precision: precision.to_owned(),
            kernel: String::new(),
        },
        attributes: Attributes::default(),
        parameters: parameters.to_vec(),
        forest: Forest::default(),
        range: vec![(5.0, 21.0), (0.6, 2.1)],
        held_out: Errors::default(),
        residuals: None,
    }
}

#[test]
fn calibration_decides_the_protocol_and_the_drawing_the_links() {
    let nccl = [6.0, 3.0, 0.05, 6.0, 0.3, 20.0, 0.45, 1.0];
    let own = [
        3.0, 0.4, 0.5, 2.0, 1.0, 0.5, 20.0, 0.78, 1.0, 1.0, 20.0, 0.8,
    ];
    let surfaces = vec![
        fitted(Family::Nccl, "nccl", "all_gather", &nccl),
        fitted(Family::Nccl, "nccl", "reduce_scatter", &nccl),
        fitted(Family::CustomAllreduce, "vllm", "bfloat16", &own),
    ];
    let catalog = Arc::new(Catalog::embedded().unwrap());
    let fidelity = Calibrated::new(Arc::new(Calibrations::of(surfaces)), Arc::clone(&catalog));
    let plan = plan_of(&worked(1));
    let prices = fidelity.on(&plan.pools[0].gpu, &plan.pools[0].engine);
    let mut router = Router::new(&plan.topology);
    let mut group = |ranks: u32| {
        let ranks: Vec<GpuIx> = (0..ranks).map(GpuIx).collect();
        CommGroup::of(&plan.topology, &mut router, &ranks)
    };
    let (eight, sixteen) = (group(8), group(16));
    // Small ones are the engine's one-shot: its start and half a microsecond a doubling.
    let small = all_reduce(&eight, 1024.0, &*prices);
    assert_eq!(small.origin, Origin::Relative);
    assert!(
        (3.5e-6..6e-6).contains(&small.seconds()),
        "{}",
        small.seconds()
    );
    // Large ones reach 78 % of the 200 GB/s drawn.
    let large = all_reduce(&eight, 1e9, &*prices).seconds();
    assert!(
        (large / (2.0 * 7.0 / 8.0 * 1e9 / 156e9) - 1.0).abs() < 0.05,
        "{large}"
    );
    // Between servers the NICs decide: what is fitted inside them is added, and no more than that.
    let across = all_reduce(&sixteen, 1e9, &*prices).seconds();
    let plain = all_reduce(&sixteen, 1e9, &RooflineOn::of(&plan.pools[0].gpu)).seconds();
    assert!((across / plain - 1.0).abs() < 0.1, "{across} {plain}");
    let mut before = 0.0;
    for doubling in 0..30 {
        let bytes = 256.0 * f64::from(1_u32 << doubling);
        let now = all_reduce(&eight, bytes, &*prices).seconds();
        assert!(now >= before, "{bytes}");
        assert!(
            all_gather(&sixteen, bytes, &*prices).seconds()
                > all_gather(&eight, bytes, &*prices).seconds()
        );
        before = now;
    }
}

/// Mooncake's measured transfers of Qwen3-8B between two servers of eight H800, TP 8 at both ends
/// (`systems.md` §19): prompt, bytes, milliseconds. Eight key-value heads: nothing is doubled.
#[test]
fn measured_kv_transfers_are_met_by_one_latency_and_one_efficiency() {
    const MIB: f64 = 1_048_576.0;
    let rows = [
        (128, 20.0 * MIB, 0.54),
        (1024, 146.0 * MIB, 1.50),
        (4096, 578.0 * MIB, 4.75),
        (8192, 1.13 * 1024.0 * MIB, 8.84),
        (32768, 4.50 * 1024.0 * MIB, 31.65),
    ];
    let catalog = Arc::new(Catalog::embedded().unwrap());
    let fidelity = Calibrated::new(Arc::new(Calibrations::default()), catalog);
    let engine = fidelity.transfer();
    // NICs of 200 Gb/s, and of 400 Gb/s, of which the engine drives as much.
    for link in [25.0, 50.0] {
        let mut design = worked(0);
        design.model = ModelRef::Preset(ModelId::new("qwen3-8b").unwrap());
        for pool in &mut design.pools {
            pool.layout = Layout {
                tp: 8,
                pp: 1,
                dp: 1,
                ep: 1,
                ..Layout::SINGLE
            };
        }
        for own in &mut design.cluster.links {
            own.rate = rate(link);
        }
        let plan = plan_of(&design);
        let shape = kv_transfer(
            &mut Router::new(&plan.topology),
            &plan.model,
            &|channel| plan.topology.channel(channel).rate.get(),
            (&plan.pools[0], 0, 0),
            (&plan.pools[1], 0, 0),
        )
        .unwrap();
        let rates = transfer_rates(&plan.topology, &engine);
        for (prompt, bytes, measured) in rows {
            // 36 layers, 8 heads of 128, keys and values in BF16; the table rounds and counts a
            // little around it.
            let sent = shape.bytes(prompt);
            assert!((sent - 147_456.0 * f64::from(u32::try_from(prompt).unwrap())).abs() < 1.0);
            assert!((bytes / sent - 1.0).abs() < 0.12, "{prompt}: {sent}");
            let took = transfer_time(&shape, prompt, &rates, &engine) * 1e3;
            let off = took / measured - 1.0;
            assert!(
                off.abs() < 0.08,
                "{link} GB/s, {prompt}: {took:.2} ms, {measured}"
            );
        }
    }
}

#[test]
fn kv_is_spread_over_the_rails_of_the_replicas() {
    let plan = plan_of(&worked(0));
    let shape = kv_transfer(
        &mut Router::new(&plan.topology),
        &plan.model,
        &|channel| plan.topology.channel(channel).rate.get(),
        (&plan.pools[0], 0, 0),
        (&plan.pools[1], 0, 0),
    )
    .unwrap();
    // TP 4 at both ends: four rails carry a quarter each.
    let network: Vec<f64> = shape
        .channels(2048)
        .iter()
        .filter(|(id, _)| plan.topology.channel(*id).class == crate::cluster::ChannelClass::Network)
        .map(|(_, share)| *share)
        .collect();
    assert_eq!(network.len(), 4);
    assert!(
        network.iter().all(|share| (share - 0.25).abs() < 1e-9),
        "{network:?}"
    );
}

fn operators() -> impl Strategy<Value = Operator> {
    let n = || 1.0f64..20_000.0;
    prop_oneof![
        (n(), n(), n()).prop_map(|(tokens, k, n)| Operator::Linear {
            tokens,
            k,
            n,
            gemm: Dtype::Fp8,
            weights: WeightFormat::plain(Dtype::Fp8)
        }),
        (n(), 0.0f64..1e6).prop_map(|(tokens, context)| Operator::Prefill {
            tokens,
            pairs: tokens * (context + 0.5 * (tokens + 1.0)),
            entries: context + tokens,
            context,
            heads: 8.0,
            kv_heads: 1.0,
            qk_dim: 128.0,
            v_dim: 128.0,
            window: 0.0,
            kv: Dtype::Bf16,
            latent: false,
            kv_bytes: 512.0
        }),
        (1.0f64..1024.0, 0.0f64..1e8).prop_map(|(sequences, entries)| Operator::Decode {
            sequences,
            entries,
            heads: 8.0,
            kv_heads: 1.0,
            qk_dim: 128.0,
            v_dim: 128.0,
            window: 0.0,
            kv: Dtype::Bf16,
            latent: false,
            flops: 4096.0,
            kv_bytes: 512.0
        }),
        (n(), 0.0f64..1e8, 0.0f64..1e6).prop_map(|(queries, pairs, entries)| Operator::Scores {
            queries,
            pairs,
            entries,
            heads: 64.0,
            dim: 128.0,
            dtype: Dtype::Fp8
        }),
        (n(), 1.0f64..1e7).prop_map(|(sequences, state_bytes)| Operator::Step {
            sequences,
            flops: 1e6,
            bytes: 1e4,
            state_bytes,
            delta: None,
        }),
        (n(), 1.0f64..1e7).prop_map(|(tokens, state_bytes)| Operator::Scan {
            tokens,
            flops: 1e6,
            bytes: 1e4,
            state_bytes,
            delta: None,
        }),
        (n(), 1.0f64..256.0).prop_map(|(copies, visited)| Operator::Experts {
            tokens: copies / 8.0,
            top_k: 8.0,
            experts: 256.0,
            local: 256.0,
            copies,
            visited,
            even: false,
            brought: Brought::Gathered,
            hidden: 2048.0,
            intermediate: 768.0,
            matrices: 3.0,
            gemm: Dtype::Bf16,
            weights: WeightFormat::plain(Dtype::Bf16)
        }),
        (0.0f64..1e6, 1.0f64..1e5).prop_map(|(rows, width)| Operator::Rows {
            kind: RowKind::Norm,
            rows,
            width,
            bytes: 4.0
        }),
    ]
}

proptest! {
    #[test]
    fn prices_are_finite_and_a_better_gpu_is_never_slower(op in operators(), faster in 1.0f64..4.0) {
        let catalog = Catalog::embedded().unwrap();
        let gpu = catalog.gpu(&GpuId::new("h800-sxm").unwrap()).unwrap();
        let price = RooflineOn::of(gpu).price(&op);
        let seconds = price.seconds();
        prop_assert!(seconds.is_finite() && seconds > 0.0);
        let mut better = gpu.clone();
        better.bandwidth = better.bandwidth * faster;
        prop_assert!(RooflineOn::of(&better).price(&op).seconds() <= seconds);
        better.peaks.bf16 = better.peaks.bf16 * faster;
        better.peaks.fp8 = better.peaks.fp8.map(|peak| peak * faster);
        prop_assert!(RooflineOn::of(&better).price(&op).seconds() <= seconds);
    }

    #[test]
    fn more_work_is_never_faster(tokens in 1u32..4000, more in 1u32..4000, context in 0u64..1_000_000) {
        let plan = plan_of(&worked(1));
        let mut pricer = pricer(&plan, 0);
        let mut time = |decodes: u32, context: u64, chunk: u32| {
            let chunks = [Chunk { tokens: chunk, context: 100 }];
            let lane = LaneShape { decodes, drafted: 0, context, reached: &[], chunks: if chunk > 0 { &chunks } else { &[] }, sampled: decodes };
            pricer.stage(0, &[lane]).total
        };
        let few = time(tokens, context, 0);
        prop_assert!(time(tokens + more, context, 0) >= few);
        prop_assert!(time(tokens, context + u64::from(more), 0) >= few);
        prop_assert!(time(tokens, context, more) >= few);
    }
}
