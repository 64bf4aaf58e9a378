//! SGLang's rule (0.5, `model_executor/model_runner.py`): of the memory free once the communicators
//! stand, `mem_fraction_static` is for weights and KV; activations and CUDA graphs must find room
//! in the rest.

use super::{Division, Rank, graphs_and_reserve};
use crate::units::Bytes;

const SOURCE: &str = "SGLang 0.5 srt/model_executor/model_runner.py, profile_max_num_token";

pub(super) fn divide(rank: &Rank<'_>) -> Division {
    let share = rank.engine.gpu_memory_utilization.clamp(0.0, 1.0);
    let outside = rank.buffers.communication.bytes + rank.buffers.context.bytes;
    let free = rank.capacity - outside;
    let rest = Bytes::from_f64_ceil(free.as_f64() * (1.0 - share)).min(free);
    let fixed = free - rest;
    let activation = rank.activation.fused().term();
    let dynamic = activation.bytes + rank.buffers.graphs.bytes;
    let left = rest - activation.bytes;
    let mut terms = vec![
        rank.weights.clone(),
        activation,
        rank.buffers.communication.clone(),
        rank.buffers.context.clone(),
    ];
    terms.extend(graphs_and_reserve(
        rank,
        left,
        format!(
            "the rest of 1 − mem_fraction_static ({share}) of the {:.2} GiB free at start",
            free.gib()
        ),
        SOURCE,
    ));
    // What does not fit in the static part, or in the rest: the engine runs out of memory.
    let over = |need: Bytes, have: Bytes| {
        if need > have {
            need - have
        } else {
            Bytes::ZERO
        }
    };
    let missing =
        over(rank.weights.bytes, fixed) + over(dynamic, rest) + over(outside, rank.capacity);
    Division {
        terms,
        shortfall: (missing > Bytes::ZERO).then_some(missing),
    }
}
