//! vLLM's rule (0.11, `v1/worker/gpu_worker.py`): the engine may have `gpu_memory_utilization` of
//! what PyTorch sees; weights, the peak of a dummy run and memory outside PyTorch come off; the
//! rest is KV. CUDA graphs are captured later, from the share it may not have.

use super::buffers::DRIVER;
use super::{Division, Rank, graphs_and_reserve};
use crate::units::Bytes;

const SOURCE: &str = "vLLM 0.11 v1/worker/gpu_worker.py, determine_available_memory";

pub(super) fn divide(rank: &Rank<'_>) -> Division {
    let share = rank.engine.gpu_memory_utilization.clamp(0.0, 1.0);
    let shown = rank.capacity - DRIVER;
    let reserve = Bytes::from_f64_ceil(shown.as_f64() * (1.0 - share)).min(shown);
    let mut terms = vec![
        rank.weights.clone(),
        rank.activation.vllm().term(),
        rank.buffers.communication.clone(),
        rank.buffers.context.clone(),
    ];
    terms.extend(graphs_and_reserve(
        rank,
        reserve,
        format!("1 − gpu_memory_utilization ({share}) of what PyTorch sees, less CUDA graphs"),
        SOURCE,
    ));
    let taken: Bytes = terms.iter().map(|term| term.bytes).sum();
    Division {
        shortfall: (taken > rank.capacity).then(|| taken - rank.capacity),
        terms,
    }
}
