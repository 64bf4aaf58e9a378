//! The catalog: GPUs, NICs, nodes, switches and models as data, embedded in the binary and
//! overridable from a user's folder.
//!
//! A row is one RON file under `presets/<kind>/`. A user's file of the same id replaces ours; a
//! file with a new id adds a row. Every row says where its numbers come from, and
//! [`lint`] refuses the mistakes spec sheets invite (sparse figures given as dense, a
//! successor slower than its predecessor, …).

mod files;
mod gpu;
mod id;
mod lint;
mod lint_facts;
mod load;
mod node;
mod source;

pub use files::{Origin, PresetFile, user_presets_dir, user_presets_home};
pub(crate) use files::{preset_files, preset_layers};
pub use gpu::{Dtype, Gpu, Peaks, ScaleUpKind};
pub use id::{GpuId, IdError, ModelId, NicId, NodeTypeId, SwitchTypeId, slug};
pub(crate) use id::{check_id, typed_id};
pub use lint::{LintError, lint};
pub use load::{Catalog, CatalogError};
pub use node::{Nic, NodeType, SwitchTier, SwitchType};
pub use source::{Price, Source};
