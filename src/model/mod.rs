//! A language model as data: its shape ([`Model`]), everything derived from it (parameters,
//! weight bytes, FLOPs, KV bytes) and the import of Hugging Face `config.json`.

mod arch;
mod attention;
mod check;
mod checkpoint;
mod derive;
mod explain;
mod halves;
mod import;
mod library;
mod omit;
mod precision;
mod preset;
#[cfg(test)]
pub(crate) mod samples;

pub use arch::{Extra, Ffn, Kept, LayerRun, Model, Moe, NormKind, Quantization};
pub use attention::{
    Attention, Compressed, DeltaNet, Gate, Gqa, Indexer, Mamba1, Mamba2, Mla, Recurrent, Span,
};
pub use check::ModelError;
pub use checkpoint::{
    Checkpoint, CheckpointError, MAX_ASSUMPTION, MAX_ASSUMPTIONS, MAX_CONFIG_BYTES,
};
pub use derive::{
    CachePart, Extent, INDEX_KEYS, LayerParameters, LayerWeights, Parameters, Shard, attended,
    attention_flops, attention_flops_per_context_token, cache_bytes_read, embedding_bytes,
    ffn_flops_per_token, head_bytes, head_flops_per_token, kv_bytes_per_sequence,
    kv_bytes_per_sequence_rank, kv_bytes_per_token, kv_bytes_per_token_growing,
    kv_bytes_per_token_rank, layer_cache, layer_flops_per_token, layer_on_rank, layer_parameters,
    layer_weight_bytes, layer_weights, linear_flops_per_token, padded_vocab, parameters,
    projection_flops_per_token, recurrence_flops, state_bytes_per_sequence, weight_bytes,
};
pub use explain::{
    Amount, ExplainAt, Row, Section, attention_kinds, attention_words, explain, ffn_kinds,
    ffn_words, grouped, own_precision,
};
#[cfg(test)]
pub(crate) use import::tests::published_models;
pub use import::{ImportError, Imported, import_checkpoint, import_config};
pub use library::Models;
pub use precision::{Precision, Scale, WeightFormat};
pub use preset::{KeepError, keep_preset, preset_text};
