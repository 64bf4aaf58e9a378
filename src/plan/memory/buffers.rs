//! What an engine keeps beside weights, activations and KV: the CUDA context, communicators, CUDA
//! graphs.

use super::MemoryTerm;
use crate::model::{Ffn, LayerRun, Model, Moe};
use crate::plan::engine::{Captured, Engine, EngineKind, ExpertExchange, low_latency_tokens};
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
/// DeepEP's buffer of its normal mode: `VLLM_DEEPEP_BUFFER_SIZE_MB`, 1,024, and as much again for
/// RDMA where ranks are in several servers.
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
            communication: communication(model, layers, engine, layout),
            graphs: graphs(model, layers, engine),
        }
    }
}

fn communication(
    model: &Model,
    layers: &[LayerRun],
    engine: &Engine,
    layout: Layout,
) -> MemoryTerm {
    let groups = [layout.tp, layout.pp, layout.dp, layout.cp]
        .into_iter()
        .filter(|degree| *degree > 1)
        .count() as u64;
    let reduce = if layout.tp > 1 { ALL_REDUCE } else { 0 };
    let dispatch = layers
        .iter()
        .find_map(|run| match &run.ffn {
            Ffn::Moe(moe) => Some(moe),
            _ => None,
        })
        .map_or(0, |moe| exchange(model, moe, engine, layout));
    let mut parts = vec![format!("{groups} NCCL communicators × {} MiB", NCCL >> 20)];
    if reduce > 0 {
        parts.push(format!("{} MiB custom all-reduce", reduce >> 20));
    }
    if dispatch > 0 {
        parts.push(format!("{} MiB expert exchange", dispatch >> 20));
    }
    MemoryTerm {
        name: "Communication buffers",
        bytes: Bytes::new(
            (groups * NCCL)
                .saturating_add(reduce)
                .saturating_add(dispatch),
        ),
        formula: if groups == 0 {
            "one GPU: none".to_owned()
        } else {
            parts.join(" + ")
        },
        source: "NCCL: inferred from vLLM 0.11 on H100 at TP 1 and 2; all-reduce: vLLM's buffer sizes; exchange: vLLM's DeepEP buffer, DeepEP's get_low_latency_rdma_size_hint, TensorRT-LLM's NVLinkOneSided workspace",
    }
}

/// Bytes of an exchange's buffers on a rank. Where the engine chooses itself (TensorRT-LLM), and of
/// kernels whose buffers are not documented, none are counted.
fn exchange(model: &Model, moe: &Moe, engine: &Engine, layout: Layout) -> u64 {
    let width = moe.latent.unwrap_or(model.hidden);
    let ranks = u64::from(layout.tp).saturating_mul(u64::from(layout.dp));
    let [normal, low_latency] = engine.deepep_modes(layout);
    let mut bytes = 0_u64;
    if normal {
        let networks = if ranks > 8 { 2 } else { 1 };
        bytes += DEEP_EP * networks;
    }
    if low_latency {
        let tokens = low_latency_tokens(engine.kind).unwrap_or(engine.max_num_batched_tokens);
        bytes = bytes.saturating_add(low_latency_buffer(moe.experts, tokens.into(), width));
    }
    let one_sided = engine.expert_exchange == ExpertExchange::NvlinkOneSided;
    if one_sided && engine.kind == EngineKind::TensorRtLlm && layout.dp > 1 && layout.moe_tp() == 1
    {
        // Room for every rank's tokens, there and back, in BF16.
        let tokens = u64::from(engine.max_num_batched_tokens);
        bytes = bytes.saturating_add(ranks.saturating_mul(tokens).saturating_mul(width * 4));
    }
    bytes
}

/// DeepEP's `LowLatencyLayout` (`csrc/config.hpp`): twice a send and a receive buffer. A message there
/// is a header and BF16 values; every expert receives from every rank.
fn low_latency_buffer(experts: u64, tokens: u64, hidden: u64) -> u64 {
    let there = 16 + hidden.saturating_mul(2);
    let back = hidden.saturating_mul(2);
    let copies = experts.saturating_mul(tokens);
    let send = tokens
        .saturating_mul(there)
        .max(copies.saturating_mul(back));
    let receive = copies.saturating_mul(there);
    send.saturating_add(receive).saturating_mul(2)
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
