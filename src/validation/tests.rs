//! Rows read, drawn and scored.

use super::read::read_from;
use super::row::{Condition, Deployment, Sharding};
use super::*;
use crate::catalog::{Catalog, Dtype, GpuId};
use crate::model::Models;
use crate::plan::EngineKind;

/// A condition as tables have it.
pub(super) fn condition() -> Condition {
    Condition {
        engine: EngineKind::Vllm,
        version: "0.19.0".to_owned(),
        image: String::new(),
        model_path: "MiniMaxAI/MiniMax-M2.5".to_owned(),
        model: "minimax-m2.5".to_owned(),
        system: "b200_sxm".to_owned(),
        precision: "fp8".to_owned(),
        gemm: "fp8".to_owned(),
        deployment: Deployment::Colocated(Sharding {
            tp: 4,
            pp: 1,
            dp: 1,
            moe_tp: 4,
            ep: 1,
        }),
        isl: 1024,
        osl: 1024,
        concurrency: 64,
        campaign: "inferencex".to_owned(),
        date: "2026-04-22".to_owned(),
        group: "g".to_owned(),
    }
}

/// A group of known errors: vLLM, dense, FP8, co-located.
pub(super) fn group(gpu: &str, conditions: usize) -> KnownGroup {
    let spread = Spread {
        median: 0.04,
        p10: -0.05,
        p90: 0.08,
    };
    KnownGroup {
        kind: Kind {
            gpu: GpuId::from_label(gpu),
            engine: EngineKind::Vllm,
            experts: false,
            weights: Dtype::Fp8,
            mode: Mode::Colocated,
        },
        conditions,
        gpus: 8,
        context: 9216,
        tpot: spread,
        ttft: Spread {
            median: 0.15,
            ..spread
        },
    }
}

const HEADER: &str = "id,backend,backend_version,model_path,model_canon,system,precision_filled,mode,isl,osl,tp_size,pp_size,attention_dp_size,moe_tp_size,moe_ep_size,concurrency,silicon_ttft_ms,silicon_tpot_ms,config_group,flag_mtp";

fn rows(lines: &[&str]) -> Rows {
    let text = format!("{HEADER}\n{}\n", lines.join("\n"));
    read_from(text.as_bytes(), "rows.csv").unwrap()
}

#[test]
fn repeats_of_a_condition_count_once_and_the_refused_say_why() {
    let own = rows(&[
        "a,vllm,0.19.0,x/Qwen3-32B,qwen3-32b,h100_sxm,fp8,agg,1024,512,2,1,,1,0,8,100,10,g1,0",
        "b,vllm,0.19.0,x/Qwen3-32B,qwen3-32b,h100_sxm,fp8,agg,1024,512,2,1,,1,0,8,200,12,g1,0",
        "c,vllm,0.19.0,x/Qwen3-32B,qwen3-32b,h100_sxm,fp8,agg,1024,512,2,1,,1,0,16,300,14,g1,0",
        "d,vllm,0.19.0,x/Qwen3-32B,qwen3-32b,h100_sxm,fp8,agg,1024,512,2,1,,1,0,8,1,1,g1,2",
        "e,vllm,0.19.0,x/Qwen3-32B,qwen3-32b,h100_sxm,fp8,agg,many,512,2,1,,1,0,8,1,1,g1,0",
        "f,vllm,0.19.0,x/Qwen3-32B,qwen3-32b,h100_sxm,fp8,disagg,1024,512,2,1,,1,0,8,1,1,g1,0",
        "g,tgi,0.19.0,x/Qwen3-32B,qwen3-32b,h100_sxm,fp8,agg,1024,512,2,1,,1,0,8,-1,nan,g1,0",
    ]);
    assert_eq!((own.rows, own.measured.len(), own.refused.len()), (3, 2, 4));
    let first = &own.measured[0];
    assert_eq!(first.ids, ["a", "b"]);
    assert!((first.ttft - 0.15).abs() < 1e-12 && (first.tpot - 0.011).abs() < 1e-12);
    let sharding = first.condition.sharding();
    assert_eq!((sharding.dp, sharding.ep), (1, 1));
    let why: Vec<(&str, bool)> = own
        .refused
        .iter()
        .map(|row| (row.why.split(':').next().unwrap(), row.usable))
        .collect();
    assert_eq!(
        why,
        [
            ("flag_mtp", false),
            ("isl is “many”", true),
            ("prefill_num_workers is missing", false),
            ("backend is “tgi”", true),
        ]
    );
    assert_eq!(own.refused[0].line, 5);
}

#[test]
fn a_table_without_its_columns_is_refused() {
    let error = read_from("id,backend\na,vllm\n".as_bytes(), "rows.csv").unwrap_err();
    assert!(error.to_string().contains("model_path"), "{error}");
}

#[test]
fn errors_are_what_they_are_called() {
    let errors = Errors::of([(1.0, 1.1), (1.0, 0.85), (2.0, 2.0), (1.0, 1.5)].into_iter());
    assert_eq!(errors.rows, 4);
    assert!((errors.median_ape - 0.125).abs() < 1e-9);
    assert!((errors.mape - (0.1 + 0.15 + 0.5) / 4.0).abs() < 1e-9);
    assert!((errors.within_20 - 0.75).abs() < 1e-9);
    assert!((errors.bias - 0.05).abs() < 1e-9);
    assert_eq!(Errors::of(std::iter::empty()).rows, 0);
}

#[test]
fn models_and_gpus_go_by_the_names_tables_have() {
    let (catalog, models) = (Catalog::embedded().unwrap(), Models::embedded().unwrap());
    let recipes = Recipes::load(None).unwrap();
    let drawn = |system: &str, model: &str| {
        let own = Condition {
            system: system.to_owned(),
            model_path: model.to_owned(),
            model: String::new(),
            ..condition()
        };
        let design = design_of(&own, &recipes, &catalog, &models).unwrap().design;
        let node = match &design.cluster.groups[0].kind {
            crate::cluster::GroupKind::Node(id) => catalog.node(id).unwrap(),
            other => panic!("{other:?}"),
        };
        let model = design.model.find(&models).unwrap().id.to_string();
        (node.gpu.to_string(), model)
    };
    for (system, model, gpu, preset) in [
        (
            "b200_sxm",
            "MiniMaxAI/MiniMax-M2.5",
            "b200-sxm",
            "minimax-m2",
        ),
        (
            "h100_sxm",
            "openai/gpt-oss-120b",
            "h100-sxm",
            "gpt-oss-120b",
        ),
        (
            "h200_sxm",
            "nvidia/DeepSeek-R1-0528-NVFP4-v2",
            "h200-sxm",
            "deepseek-v3",
        ),
        (
            "b300_sxm",
            "deepseek-ai/DeepSeek-V3.2",
            "b300-sxm",
            "deepseek-v3.2",
        ),
        ("gb300", "moonshotai/Kimi-K2.5", "gb300", "kimi-k2.5"),
        (
            "a100_sxm",
            "meta-llama/Llama-3.1-8B-Instruct",
            "a100-80-sxm",
            "llama-3.1-8b",
        ),
        (
            "rtx_pro_6000_server",
            "Qwen/Qwen3-30B-A3B-Instruct-2507",
            "rtx-pro-6000",
            "qwen3-30b-a3b",
        ),
        (
            "l40s",
            "nvidia/Llama-3.3-70B-Instruct-FP8",
            "l40s",
            "llama-3.3-70b",
        ),
        (
            "gb200",
            "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8",
            "gb200",
            "llama-4-maverick",
        ),
    ] {
        assert_eq!(drawn(system, model), (gpu.to_owned(), preset.to_owned()));
    }
}
