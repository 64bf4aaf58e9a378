use super::*;
use crate::catalog::{Catalog, Dtype, Gpu, ModelId};
use crate::model::{Model, Models};
use crate::units::{ByteRate, DollarsPerHour, FlopRate, Seconds};
use proptest::prelude::*;

fn catalog() -> Catalog {
    Catalog::embedded().expect("presets are sound")
}

fn model(id: &str) -> Model {
    let models = Models::embedded().expect("presets are sound");
    let id = ModelId::new(id).expect("an id");
    models
        .get(&id)
        .cloned()
        .unwrap_or_else(|| panic!("no preset {id}"))
}

/// Step-3's GPUs: H800, H20, A800, 910B.
fn step3() -> Vec<Hardware> {
    Hardware::of_step3(&catalog()).expect("the four GPUs")
}

const CONTEXTS: [u64; 2] = [8192, 32_768];

fn table(ids: &[&str], hardware: Vec<Hardware>) -> CostTable {
    let models: Vec<Model> = ids.iter().map(|id| model(id)).collect();
    let models: Vec<&Model> = models.iter().collect();
    CostTable::new(
        &models,
        hardware,
        CONTEXTS.to_vec(),
        Terms::default(),
        Pipeline::default(),
    )
    .expect("a table")
}

/// A number as the paper prints it: three decimals, no zero before the point.
fn printed(dollars: f64) -> String {
    format!("{dollars:.3}").trim_start_matches('0').to_owned()
}

/// Table 6 of arXiv 2507.19427: attention at 8K and 32K, FFN; each on H800, H20, A800, 910B.
const TABLE_6: [(&str, [&str; 3]); 5] = [
    (
        "deepseek-v3",
        [
            ".054 .128 .114 .113",
            ".197 .460 .409 .407",
            ".014 .036 .032 .032",
        ],
    ),
    (
        "kimi-k2",
        [
            ".051 .065 .057 .057",
            ".194 .231 .205 .204",
            ".014 .036 .032 .032",
        ],
    ),
    (
        "qwen3-235b-a22b",
        [
            ".135 .054 .091 .101",
            ".527 .185 .338 .376",
            ".008 .021 .019 .019",
        ],
    ),
    (
        "qwen3-32b",
        [
            ".181 .069 .120 .133",
            ".716 .248 .455 .508",
            ".014 .038 .034 .033",
        ],
    ),
    (
        "step-3",
        [
            ".048 .040 .040 .043",
            ".176 .114 .120 .133",
            ".015 .040 .036 .035",
        ],
    ),
];

#[test]
fn table_6_of_step_3_to_every_printed_digit() {
    let ids = TABLE_6.map(|(id, _)| id);
    let table = table(&ids, step3());
    let mut cells = 0;
    for (row, (id, printed_rows)) in table.models.iter().zip(TABLE_6) {
        assert_eq!(row.id.as_str(), id);
        let computed = [
            row.costs[0].iter().map(DecodeCost::attention).collect(),
            row.costs[1].iter().map(DecodeCost::attention).collect(),
            row.costs[0].iter().map(|cost| cost.ffn).collect::<Vec<_>>(),
        ];
        for (computed, theirs) in computed.iter().zip(printed_rows) {
            let ours: Vec<String> = computed.iter().map(|d| printed(d.get())).collect();
            assert_eq!(ours.join(" "), theirs, "{id}");
            cells += ours.len();
        }
    }
    assert_eq!(cells, 60);
}

/// Its best deployments: Step-3 and Qwen split over two GPU types, DeepSeek-V3 on H800 alone.
#[test]
fn the_best_deployments_of_step_3() {
    let table = table(&["step-3", "qwen3-235b-a22b", "deepseek-v3"], step3());
    let name = |at: usize| table.hardware[at].gpu.as_str();
    let rows = [
        (["0.055", "0.129"], "h20-96", "h800-sxm"),
        (["0.062", "0.193"], "h20-96", "h800-sxm"),
        (["0.068", "0.211"], "h800-sxm", "h800-sxm"),
    ];
    for (row, (costs, attention, ffn)) in table.models.iter().zip(rows) {
        for (best, cost) in row.best.iter().zip(costs) {
            assert_eq!(format!("{:.3}", best.cost.get()), cost, "{}", row.name);
            assert_eq!((name(best.attention), name(best.ffn)), (attention, ffn));
            assert_eq!(best.is_split(), attention != ffn);
            assert!(best.cost.get() <= best.single_cost.get() + 1e-12);
        }
    }
}

#[test]
fn intensities_of_attention_at_8_bits() {
    for (id, expected) in [
        ("step-3", 128.0),
        ("deepseek-v3", 512.0),
        ("qwen3-235b-a22b", 32.0),
    ] {
        for context in CONTEXTS {
            let work = decode_work(&model(id), Terms::default(), context);
            assert_eq!(work.intensity(), Some(expected), "{id}");
        }
    }
}

#[test]
fn rooflines_of_the_four_gpus() {
    let ridges: Vec<String> = step3()
        .iter()
        .map(|gpu| format!("{:.0}", gpu.ridge(Terms::default())))
        .collect();
    assert_eq!(ridges, ["591", "74", "156", "175"]);
}

/// The paper's numbers are the catalog's, but for A800's memory, which it rounds down.
#[test]
fn the_paper_and_the_catalog_differ_in_one_rate() {
    let catalog = catalog();
    for paper in step3() {
        let ours = Hardware::of(catalog.gpu(&paper.gpu).expect("a row"), &catalog).expect("sound");
        let terms = Terms::default();
        assert_eq!(ours.gemm_peak(terms), paper.gemm_peak(terms));
        assert_eq!(ours.price, paper.price);
        assert_eq!(ours.network, paper.network, "{}", paper.gpu);
        let more = ours.bandwidth / paper.bandwidth;
        let expected = if paper.gpu.as_str() == "a800-80-sxm" {
            2.039 / 2.0
        } else {
            1.0
        };
        assert!((more - expected).abs() < 1e-12, "{}: {more}", paper.gpu);
    }
}

#[test]
fn the_smallest_sparsity_a_network_allows() {
    let step_3 = model("step-3");
    let floor = |gpu: &Hardware| {
        sparsity_floor(&step_3, gpu, Terms::default(), &Pipeline::default()).expect("NICs")
    };
    let floors: Vec<String> = step3().iter().map(|g| format!("{:.3}", floor(g))).collect();
    assert_eq!(floors, ["0.058", "0.007", "0.031", "0.034"]);
    // DeepEP measures 40 GB/s of a NIC's 50.
    let measured = Hardware {
        network: Some(ByteRate::from_gb_per_s(8.0 * 40.0)),
        ..step3()[0].clone()
    };
    assert_eq!(format!("{:.3}", floor(&measured)), "0.073");
    // The formula as printed, its 11.1 ms being two thirds of a stage.
    let printed = 7168.0 * 1979e12 * 61.0 / (400e9 * 3.35e12 * 11.1e-3);
    assert!((floor(&step3()[0]) / printed - 1.0).abs() < 0.002);
}

/// “DeepSeek-V3 is over-sparse for H800: it would need 14 active experts.”
#[test]
fn deepseek_v3_is_too_sparse_for_h800() {
    let v3 = model("deepseek-v3");
    assert_eq!(sparsity(&v3), Some(9.0 / 257.0));
    let floor = sparsity_floor(&v3, &step3()[0], Terms::default(), &Pipeline::default());
    assert_eq!(routed_experts_for(&v3, floor.expect("NICs")), Some(14));
    assert_eq!(sparsity(&model("step-3")), Some(4.0 / 49.0));
    assert_eq!(sparsity(&model("qwen3-32b")), None);
    assert_eq!(routed_experts_for(&model("qwen3-32b"), 0.1), None);
}

#[test]
fn the_network_of_2a2f() {
    let pipeline = Pipeline::default();
    let split = Split {
        attention: 2,
        ffn: 2,
        tokens: 128.0,
    };
    // The paper rounds a layer's 273.2 µs down before it divides.
    let layer = pipeline.layer(61);
    assert_eq!(format!("{:.0}", layer.get() * 1e6), "273");
    let traffic = SplitTraffic::of(7168, split, &pipeline, Seconds::from_us(273.0));
    assert_eq!(format!("{:.1}", traffic.ffn_gpu.get() * 8e-9), "161.3");
    assert_eq!(traffic.to_ffn.get(), 1_835_008);
    assert_eq!(traffic.back.get(), 3_670_016);
    let unrounded = SplitTraffic::of(7168, split, &pipeline, layer);
    assert_eq!(format!("{:.1}", unrounded.ffn_gpu.get() * 8e-9), "161.2");
    assert_eq!(unrounded.ffn_gpu, unrounded.attention_gpu);
    // More attention instances load the FFN's NICs, more FFN instances attention's.
    let wide = SplitTraffic::of(
        7168,
        Split {
            attention: 4,
            ..split
        },
        &pipeline,
        layer,
    );
    assert!((wide.ffn_gpu / unrounded.ffn_gpu - 2.0).abs() < 1e-12);
    assert_eq!(wide.attention_gpu, unrounded.attention_gpu);
}

/// Step-3 runs 128 tokens per attention GPU at 4K on H800; half to two thirds of the bound at 8K.
#[test]
fn a_micro_batch_is_what_a_stage_has_time_for() {
    let (h800, terms, pipeline) = (&step3()[0], Terms::default(), Pipeline::default());
    let at = |context| {
        let work = decode_work(&model("step-3"), terms, context);
        micro_batch(&work, h800, terms, &pipeline).expect("attention takes time")
    };
    assert!((160.0..260.0).contains(&at(8192)), "{}", at(8192));
    assert!(at(4096) > at(8192) && at(8192) > at(32_768));
    // As many as the stage holds, and not one more.
    let work = decode_work(&model("step-3"), terms, 8192);
    let [one, _] = price::decode_time(&work, h800, terms);
    let stage = pipeline.stage().get();
    assert!(at(8192) * one.get() <= stage && (at(8192) + 1.0) * one.get() > stage);
}

#[test]
fn a_day_at_deepseek() {
    let plan = CapacityPlan::of(&Day::DEEPSEEK).expect("a plan");
    let near = |ours: f64, theirs: f64| (ours / theirs - 1.0).abs() < 0.005;
    assert!(near(plan.nodes(), 226.9), "{}", plan.nodes());
    assert!(near(plan.nodes(), 226.75), "the number reported");
    assert!(near(plan.prefill_nodes, 95.5) && near(plan.decode_nodes, 131.4));
    assert!(near(plan.cost.get(), 87_072.0), "{}", plan.cost);
    assert!(near(plan.revenue.get(), 562_027.0), "{}", plan.revenue);
    assert!(near(plan.margin(), 5.45), "{}", plan.margin());
    let wrong = [
        Day {
            input_rate: 0.0,
            ..Day::DEEPSEEK
        },
        Day {
            output_tokens: f64::NAN,
            ..Day::DEEPSEEK
        },
        Day {
            cached: 1.5,
            ..Day::DEEPSEEK
        },
        Day {
            gpus_per_node: 0,
            ..Day::DEEPSEEK
        },
    ];
    for day in wrong {
        assert!(CapacityPlan::of(&day).is_err(), "{day:?}");
    }
}

/// What is executed for MLA is less than Step-3 counts in the core and more beside it.
#[test]
fn conventions_differ_where_they_say() {
    let v3 = model("deepseek-v3");
    let count = |convention| {
        let terms = Terms {
            convention,
            ..Terms::default()
        };
        decode_work(&v3, terms, 8192)
    };
    let (paper, executed) = (count(Convention::Step3), count(Convention::Executed));
    assert_eq!(paper.core_flops, 61 * 128 * 576 * 4 * 8192);
    assert_eq!(executed.core_flops, 61 * 128 * (576 + 512) * 2 * 8192);
    let beside = executed.linear_flops - paper.linear_flops;
    assert_eq!(beside, 2 * 7168 * (58 * 256 + 129_280));
    assert_eq!(executed.ffn_flops, paper.ffn_flops);
    assert_eq!(executed.kv_bytes, paper.kv_bytes);
}

#[test]
fn wider_kv_costs_bytes_and_multiplies_wider() {
    let terms = Terms {
        kv: Dtype::Bf16,
        ..Terms::default()
    };
    let h800 = &step3()[0];
    assert_eq!(h800.core_peak(terms), FlopRate::new(989e12));
    assert_eq!(h800.gemm_peak(terms), FlopRate::new(1979e12));
    let v3 = model("deepseek-v3");
    let narrow = decode_work(&v3, Terms::default(), 8192);
    assert_eq!(decode_work(&v3, terms, 8192).kv_bytes, 2 * narrow.kv_bytes);
}

#[test]
fn what_cannot_be_priced_is_refused() {
    let catalog = catalog();
    let row = catalog.gpus().next().expect("a GPU").clone();
    let dead = [
        Gpu {
            bandwidth: ByteRate::ZERO,
            ..row.clone()
        },
        {
            let mut gpu = row;
            gpu.peaks.fp8 = Some(FlopRate::ZERO);
            gpu
        },
    ];
    for gpu in dead {
        let refused = Hardware::of(&gpu, &catalog);
        assert!(matches!(refused, Err(TheoryError::NoRate { .. })));
    }
    let v3 = model("deepseek-v3");
    let ask = |models: &[&Model], hardware: Vec<Hardware>, contexts: Vec<u64>| {
        CostTable::new(
            models,
            hardware,
            contexts,
            Terms::default(),
            Pipeline::default(),
        )
        .expect_err("refused")
        .to_string()
    };
    assert!(ask(&[], step3(), vec![1]).contains("model"));
    assert!(ask(&[&v3], Vec::new(), vec![1]).contains("GPU"));
    assert!(ask(&[&v3], step3(), Vec::new()).contains("contexts"));
    assert!(ask(&[&v3], step3(), vec![0]).contains("0 tokens"));
    assert!(ask(&[&v3], step3(), vec![u64::MAX]).contains("tokens"));
}

#[test]
fn every_preset_is_priced_on_every_gpu() {
    let (catalog, models) = (catalog(), Models::embedded().expect("presets are sound"));
    let hardware: Vec<Hardware> = catalog
        .gpus()
        .map(|gpu| Hardware::of(gpu, &catalog).expect("sound"))
        .collect();
    let all: Vec<&Model> = models.iter().collect();
    let table = CostTable::new(
        &all,
        hardware,
        vec![1, 4096, 1_000_000],
        Terms::default(),
        Pipeline::default(),
    )
    .expect("a table");
    for row in &table.models {
        for cost in row.costs.iter().flatten() {
            let total = cost.total().get();
            assert!(total > 0.0 && total < 1e4, "{}: {total}", row.name);
        }
    }
}

#[test]
fn names_fit_a_narrow_column() {
    let catalog = catalog();
    let mut names: Vec<String> = catalog
        .gpus()
        .map(|gpu| short_name(gpu, &catalog))
        .collect();
    for name in ["H800 SXM", "H20", "A100 SXM 40 GB", "Ascend 910B", "GB200"] {
        assert!(names.iter().any(|n| n == name), "{name} in {names:?}");
    }
    assert!(names.iter().all(|name| name.len() <= 29), "{names:?}");
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all, "no two of a name");
}

proptest! {
    /// More of anything never costs more; a longer context never less.
    #[test]
    fn more_never_costs_more(
        index in 0_usize..17,
        faster in 1.0_f64..10.0,
        (context, longer) in (1_u64..200_000, 0_u64..200_000),
        cheaper in 0.1_f64..1.0,
    ) {
        let models = Models::embedded().expect("presets are sound");
        let model = models.iter().nth(index).expect("a preset");
        let terms = Terms::default();
        let work = decode_work(model, terms, context);
        let more = decode_work(model, terms, context + longer);
        prop_assert!(more.core_flops >= work.core_flops && more.kv_bytes >= work.kv_bytes);
        for gpu in step3() {
            let cost = decode_cost(&work, &gpu, terms);
            prop_assert!(decode_cost(&more, &gpu, terms).total() >= cost.total());
            let changed = [
                Hardware { bandwidth: gpu.bandwidth * faster, ..gpu.clone() },
                Hardware { price: DollarsPerHour::new(gpu.price.get() * cheaper), ..gpu.clone() },
                {
                    let mut gpu = gpu.clone();
                    gpu.peaks.bf16 = gpu.peaks.bf16 * faster;
                    gpu.peaks.fp8 = gpu.peaks.fp8.map(|peak| peak * faster);
                    gpu
                },
            ];
            for better in changed {
                let now = decode_cost(&work, &better, terms);
                prop_assert!(now.total().get() <= cost.total().get() * (1.0 + 1e-12));
                prop_assert!(now.attention().get() <= cost.attention().get() * (1.0 + 1e-12));
            }
        }
    }

    /// A further GPU to choose from never makes the best deployment dearer, and a split never
    /// costs more than one GPU for both.
    #[test]
    fn choice_never_hurts(index in 0_usize..17, count in 1_usize..4) {
        let models = Models::embedded().expect("presets are sound");
        let model = models.iter().nth(index).expect("a preset");
        let best = |count: usize| {
            let hardware = step3().into_iter().take(count).collect();
            let table = CostTable::new(
                &[model],
                hardware,
                CONTEXTS.to_vec(),
                Terms::default(),
                Pipeline::default(),
            );
            table.expect("a table").models[0].best.clone()
        };
        for (few, many) in best(count).iter().zip(best(count + 1)) {
            prop_assert!(many.cost <= few.cost);
            prop_assert!(many.cost.get() <= many.single_cost.get() * (1.0 + 1e-12));
        }
    }
}
