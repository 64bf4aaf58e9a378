//! What an engine keeps beside weights, activations and KV: the CUDA context, communicators, CUDA
//! graphs.

use super::MemoryTerm;
use crate::model::{Ffn, LayerRun, Model};
use crate::plan::engine::{Captured, Engine, EngineKind};
use crate::plan::pool::Layout;
use crate::units::Bytes;

/// What the CUDA context keeps of the memory the driver shows: PyTorch sees 79.18 of 79.65 GiB on an
/// H100.
pub(super) const DRIVER: Bytes = Bytes::new(481 << 20);
/// Memory outside PyTorch without peers: 0.14 GiB (vLLM 0.11, H100).
const RUNTIME: u64 = 144 << 20;
/// An NCCL communicator: channel buffers to its neighbours in rings and trees, whatever the number
/// of ranks. Inferred from `cases.md` T39: Llama-3.3-70B-FP8 at TP 2 has 0.38 GiB more outside
/// PyTorch than at TP 1, less the buffers below.
const NCCL: u64 = 288 << 20;
/// vLLM's custom all-reduce: two buffers of 8 MiB (`custom_all_reduce.py`), and symmetric memory of
/// 64 MiB (`symm_mem.py`).
const ALL_REDUCE: u64 = (2 * 8 + 64) << 20;
/// DeepEP's buffer for expert dispatch: `VLLM_DEEPEP_BUFFER_SIZE_MB`, 1,024.
const DEEP_EP: u64 = 1024 << 20;
/// A layer in a captured graph, whole or in a piece: its kernels' nodes and what the driver keeps for
/// them. An estimate; the activations of all sizes share one pool.
const LAYER: u64 = 256 << 10;

/// The terms.
pub(super) struct Buffers {
    pub(super) context: MemoryTerm,
    pub(super) communication: MemoryTerm,
    pub(super) graphs: MemoryTerm,
}

impl Buffers {
    /// Of a rank with these layers.
    pub(super) fn of(model: &Model, layers: &[LayerRun], engine: &Engine, layout: Layout) -> Self {
        Self {
            context: MemoryTerm {
                name: "CUDA context and runtime",
                bytes: DRIVER + Bytes::new(RUNTIME),
                formula: format!(
                    "{:.2} GiB between what the driver shows and what PyTorch sees + 144 MiB of the framework outside it",
                    DRIVER.gib()
                ),
                source: "vLLM 0.11 on H100: 79.65 GiB shown, 79.18 seen, 0.14 outside",
            },
            communication: communication(layers, layout),
            graphs: graphs(model, layers, engine),
        }
    }
}

fn communication(layers: &[LayerRun], layout: Layout) -> MemoryTerm {
    let groups = [layout.tp, layout.pp, layout.dp, layout.cp]
        .into_iter()
        .filter(|degree| *degree > 1)
        .count() as u64;
    let reduce = if layout.tp > 1 { ALL_REDUCE } else { 0 };
    let moe = layers.iter().any(|run| matches!(run.ffn, Ffn::Moe(_)));
    let dispatch = if moe && layout.dp > 1 && layout.ep > 1 {
        DEEP_EP
    } else {
        0
    };
    let mut parts = vec![format!("{groups} NCCL communicators × {} MiB", NCCL >> 20)];
    if reduce > 0 {
        parts.push(format!("{} MiB custom all-reduce", reduce >> 20));
    }
    if dispatch > 0 {
        parts.push(format!("{} MiB expert dispatch (DeepEP)", dispatch >> 20));
    }
    MemoryTerm {
        name: "Communication buffers",
        bytes: Bytes::new(groups * NCCL + reduce + dispatch),
        formula: if groups == 0 {
            "one GPU: none".to_owned()
        } else {
            parts.join(" + ")
        },
        source: "NCCL: inferred from vLLM 0.11 on H100 at TP 1 and 2; all-reduce and DeepEP: vLLM's buffer sizes",
    }
}

fn graphs(model: &Model, layers: &[LayerRun], engine: &Engine) -> MemoryTerm {
    let count = layers
        .iter()
        .fold(0_u64, |sum, run| sum.saturating_add(u64::from(run.count)));
    let captured = Captured::of(engine);
    let [whole, pieces] = captured.counts();
    let (bytes, formula, source) = if captured.is_none() {
        (0, "none are captured".to_owned(), "the engine's settings")
    } else if engine.kind == EngineKind::Sglang {
        let batch = u64::from(engine.graphs.max_size);
        (
            batch << 21,
            format!("2 MiB × cuda_graph_max_bs ({batch})"),
            "SGLang 0.5 srt/server_args.py, its own allowance",
        )
    } else {
        let sizes = (whole + pieces) as u64;
        (
            sizes.saturating_mul(count).saturating_mul(LAYER),
            format!(
                "{whole} captured sizes of whole steps and {pieces} of pieces × {count} of {} layers × 0.25 MiB",
                model.layer_count()
            ),
            "estimate; not part of what KV is cut from",
        )
    };
    MemoryTerm {
        name: "CUDA graphs",
        bytes: Bytes::new(bytes),
        formula,
        source,
    }
}
