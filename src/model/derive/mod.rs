//! What follows from a model's shape: parameters by part, bytes of weights on one rank, bytes of
//! KV cache, FLOPs per token. Pure functions; every formula stands beside its code.
//!
//! A shape that passes [`Model::check`](super::Model::check) fits these functions' integers; one
//! that doesn't saturates instead of wrapping.

mod cache;
mod flops;
mod mixer;
mod parts;
mod read;
mod shard;

pub use cache::{
    CachePart, Extent, INDEX_KEYS, kv_bytes_per_sequence, kv_bytes_per_sequence_rank,
    kv_bytes_per_token, kv_bytes_per_token_growing, kv_bytes_per_token_rank, layer_cache,
    state_bytes_per_sequence,
};
pub(in crate::model) use flops::visited_experts;
pub use flops::{
    attended, attention_flops, attention_flops_per_context_token, ffn_flops_per_token,
    head_flops_per_token, layer_flops_per_token, linear_flops_per_token,
    projection_flops_per_token, recurrence_flops,
};
pub use parts::{LayerParameters, Parameters, layer_parameters, parameters, weight_bytes};
pub use read::cache_bytes_read;
pub use shard::{
    LayerWeights, Shard, embedding_bytes, head_bytes, layer_on_rank, layer_weight_bytes,
    layer_weights, padded_vocab,
};

/// Product that saturates.
fn product(factors: &[u64]) -> u64 {
    factors
        .iter()
        .fold(1, |so_far: u64, factor| so_far.saturating_mul(*factor))
}

/// Sum that saturates.
fn sum(terms: &[u64]) -> u64 {
    terms
        .iter()
        .fold(0, |so_far: u64, term| so_far.saturating_add(*term))
}

#[cfg(test)]
mod tests;
