//! A language model as data: its shape ([`Model`]), everything derived from it (parameters,
//! weight bytes, FLOPs, KV bytes) and the import of Hugging Face `config.json`.

mod arch;
mod derive;
mod import;
mod library;
mod precision;

pub use arch::{Attention, Ffn, Gqa, LayerRun, Mla, Model, Moe};
pub use derive::{Parameters, kv_bytes_per_token, parameters, weight_bytes};
pub use import::{ImportError, Imported, import_config};
pub use library::{ModelError, Models};
pub use precision::Precision;
