//! A language model as data: its shape ([`Model`]), everything derived from it (parameters,
//! weight bytes, FLOPs, KV bytes) and the import of Hugging Face `config.json`.

mod arch;
mod check;
mod derive;
mod import;
mod library;
mod precision;

pub use arch::{Attention, Ffn, Gqa, LayerRun, Mla, Model, Moe};
pub use check::ModelError;
pub use derive::{
    LayerParameters, LayerWeights, Parameters, Shard, attention_flops_per_context_token,
    embedding_bytes, head_bytes, head_flops_per_token, kv_bytes_per_token,
    kv_bytes_per_token_layer, kv_bytes_per_token_rank, layer_flops_per_token, layer_parameters,
    layer_weight_bytes, layer_weights, linear_flops_per_token, padded_vocab, parameters,
    weight_bytes,
};
pub use import::{ImportError, Imported, import_config};
pub use library::Models;
pub use precision::Precision;
