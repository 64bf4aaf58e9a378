//! TensorRT-LLM's rule (1.0, PyTorch backend, `_torch/pyexecutor/_util.py`): a dummy prefill
//! measures the peak with weights and buffers; `free_gpu_memory_fraction` of what it leaves of the
//! GPU becomes KV. CUDA graphs and the sampler live in the rest.

use super::{Division, Rank, graphs_and_reserve};
use crate::units::Bytes;

const SOURCE: &str = "TensorRT-LLM 1.0 _torch/pyexecutor/_util.py, cal_max_tokens";

pub(super) fn divide(rank: &Rank<'_>) -> Division {
    let share = rank.engine.gpu_memory_utilization.clamp(0.0, 1.0);
    let mut terms = vec![
        rank.weights.clone(),
        rank.activation.prefill().term(),
        rank.buffers.communication.clone(),
        rank.buffers.context.clone(),
    ];
    let peak: Bytes = terms.iter().map(|term| term.bytes).sum();
    let free = rank.capacity - peak;
    let reserve = Bytes::from_f64_ceil(free.as_f64() * (1.0 - share)).min(free);
    terms.extend(graphs_and_reserve(
        rank,
        reserve,
        format!(
            "1 − free_gpu_memory_fraction ({share}) of the {:.2} GiB the peak leaves free, less CUDA graphs",
            free.gib()
        ),
        SOURCE,
    ));
    Division {
        terms,
        shortfall: (peak > rank.capacity).then(|| peak - rank.capacity),
    }
}
