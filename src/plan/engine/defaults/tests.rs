use super::*;
use crate::catalog::{Catalog, GpuId};
use crate::plan::QueueOrder;

fn gpu(id: &str) -> Gpu {
    let catalog = Catalog::embedded().unwrap();
    catalog.gpu(&GpuId::new(id).unwrap()).unwrap().clone()
}

fn tp(tp: u32) -> Layout {
    Layout {
        tp,
        ..Layout::SINGLE
    }
}

#[test]
fn budgets_and_memory_are_the_engines_own() {
    let vllm = |id| Engine::defaults(EngineKind::Vllm, &gpu(id), Layout::SINGLE);
    assert_eq!(vllm("h100-sxm").max_num_batched_tokens, 8192);
    assert_eq!(vllm("h100-sxm").max_num_seqs, 1024);
    assert_eq!(vllm("a100-80-sxm").max_num_batched_tokens, 2048);
    assert_eq!(vllm("rtx-4090").max_num_seqs, 256);
    let sglang = |id, layout| Engine::defaults(EngineKind::Sglang, &gpu(id), layout);
    let h100 = sglang("h100-sxm", tp(1));
    assert_eq!((h100.max_num_batched_tokens, h100.block_size), (8192, 1));
    assert_eq!(h100.max_num_seqs, 2048);
    // (81559 − 512 − 12288 − 512 − 128) / 81559.
    assert!((h100.gpu_memory_utilization - 0.835).abs() < 1e-9);
    assert_eq!(sglang("b200-sxm", tp(8)).max_num_batched_tokens, 16_384);
    assert_eq!(sglang("rtx-4090", tp(1)).max_num_batched_tokens, 2048);
    let lanes = Layout {
        dp: 8,
        ep: 8,
        ..Layout::SINGLE
    };
    let wide = sglang("h200-sxm", lanes);
    assert_eq!(wide.max_num_batched_tokens, 1024);
    assert_eq!(wide.max_num_seqs, 2048);
    let trt = Engine::defaults(EngineKind::TensorRtLlm, &gpu("h100-sxm"), tp(1));
    assert_eq!(
        (trt.max_num_seqs, trt.max_num_batched_tokens, trt.block_size),
        (2048, 8192, 32)
    );
    assert!(!trt.enable_chunked_prefill);
}

#[test]
fn loops_are_the_engines_own() {
    let of = |kind| Engine::defaults(kind, &gpu("h100-sxm"), tp(1));
    let vllm = of(EngineKind::Vllm);
    assert_eq!(vllm.scheduling, Scheduling::default());
    assert!(vllm.caching.prefix && !vllm.host.overlap);
    assert_eq!(vllm.graphs.mode, GraphMode::FullAndPiecewise);
    // min(2 × 1,024, 512).
    assert_eq!(vllm.graphs.max_size, 512);

    let sglang = of(EngineKind::Sglang);
    assert_eq!(
        sglang.scheduling,
        Scheduling {
            scheduler: Scheduler::Sglang,
            order: QueueOrder::Fcfs,
            max_prefill_tokens: 16_384,
            conservativeness: 1.0,
            mixed_chunk: false,
            ..Scheduling::default()
        }
    );
    assert!(sglang.caching.prefix && sglang.host.overlap);
    assert_eq!(sglang.graphs.mode, GraphMode::FullDecode);
    // `cuda_graph_max_bs` below 160 GiB: 256, with four ranks and more 512; on a 4090 24.
    assert_eq!(sglang.graphs.max_size, 256);
    let size = |id, layout| {
        Engine::defaults(EngineKind::Sglang, &gpu(id), layout)
            .graphs
            .max_size
    };
    assert_eq!(size("h100-sxm", tp(8)), 512);
    assert_eq!(size("rtx-4090", tp(1)), 24);

    let trt = of(EngineKind::TensorRtLlm);
    assert_eq!(trt.scheduling.scheduler, Scheduler::GuaranteedNoEvict);
    assert!(trt.caching.prefix && trt.host.overlap);
    assert_eq!(trt.graphs.mode, GraphMode::FullDecode);
    assert_eq!(trt.graphs.max_size, 128);

    for kind in EngineKind::ALL {
        let own = of(kind);
        assert_eq!(own.host_step_time, Seconds::ZERO);
        // What its server costs is another table's.
        assert_eq!(own.host.launch, Seconds::ZERO);
        assert!(own.host.network > Seconds::ZERO);
        assert!(own.caching.tiers.is_empty() && own.speculation.is_none());
        assert!(kind.schedulers().contains(&own.scheduling.scheduler));
        assert_eq!(own.no_overlap(tp(1)), None);
    }
}

#[test]
fn a_version_has_its_own_defaults() {
    let of = |version: &str, layout| {
        let own = Engine::defaults_of(EngineKind::Vllm, version, &gpu("h100-sxm"), layout);
        assert_eq!(own.version, version);
        (own.host.overlap, own.graphs.mode)
    };
    let full = GraphMode::FullAndPiecewise;
    for (version, expected) in [
        ("0.9.2", (false, GraphMode::Piecewise)),
        ("0.11.0", (false, full)),
        ("0.13", (false, full)),
        ("v0.14.1", (true, full)),
        ("0.19.0", (true, full)),
        ("1.0.0rc1", (true, full)),
        // Older than all that are known, and no version at all.
        ("0.1", (false, GraphMode::Piecewise)),
        ("main", (false, full)),
    ] {
        assert_eq!(of(version, tp(1)), expected, "{version}");
    }
    let deep = Layout { pp: 2, ..tp(1) };
    assert!(!of("0.14.0", deep).0);
    assert!(of("0.19.0", deep).0);
    let sglang = Engine::defaults(EngineKind::Sglang, &gpu("h100-sxm"), deep);
    assert!(!sglang.host.overlap);
}

#[test]
fn the_bare_constructors_have_the_loop_of_documents_before_version_3() {
    for own in [
        Engine::vllm(true),
        Engine::vllm(false),
        Engine::sglang(gpu("h100-sxm").memory, tp(8)),
        Engine::tensorrt_llm(),
    ] {
        assert_eq!(own.scheduling, Scheduling::default());
        assert_eq!(own.scheduling.scheduler, Scheduler::VllmV1);
        assert_eq!(own.host, Host::default());
        assert!(!own.host.overlap);
        assert_eq!(own.graphs.mode, GraphMode::None);
        assert_eq!(own.caching, Caching::default());
        assert!(!own.caching.prefix);
        assert_eq!(own.speculation, None);
    }
}
