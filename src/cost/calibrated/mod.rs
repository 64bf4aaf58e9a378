//! Calibrated prices: `time = physics(parameters, hardware, shape) × exp(forest(features))`.
//!
//! - **Physics** ([`Kernel::physics`]): a few bounded, named parameters per table (launch floor,
//!   shares of peak reached, prologue of a tile, …), monotone in the work and in the hardware. It
//!   carries over to shapes, and with the parameters of a relative to GPUs, that were never measured.
//! - **Forest** ([`Forest`]): the engine's kernel choice, which no closed formula has: a small
//!   boosted correction over features of the shape. It is constant inside its cells and beyond the
//!   measured range, and does not see rates, so that inside one cell more work is never faster and
//!   better hardware never slower.
//!
//! A [`Surface`] is both for one table of measurements: GPU × engine × version × precision × kernel.
//! [`Calibrations`] holds all we ship and all of a user's. Fitting lives in `calibrate`.

mod asked;
mod backends;
mod decode;
mod delta;
mod exchange;
mod expert_exchange;
mod fidelity;
mod forest;
mod gemm;
mod hardware;
mod head_product;
mod kernel;
mod load;
mod moe;
mod packing;
mod prefill;
mod product;
mod quantising;
mod relatives;
mod residuals;
mod route;
mod rows;
mod rowwise;
mod shape;
mod store;
mod surface;

pub use decode::{Decode, DsaDecodeBlock, MlaDecode, MlaDecodeBlock, Packing};
pub use delta::{DeltaChunks, DeltaConvolution, DeltaHeads, DeltaStep};
pub use exchange::{Collective, EngineAllReduce, Exchange};
pub use expert_exchange::{
    Deepep, DeepepLowLatency, NODES_OF_A_TOKEN, NvlinkExchange, Way, distinct,
};
pub use fidelity::{Calibrated, CalibratedOn, Explained, table_name};
pub use forest::{Forest, ForestError, Node, Tree, step_of};
pub use gemm::{Call, Gemm, GemmFormat};
pub use hardware::Hardware;
pub use head_product::HeadProduct;
pub use kernel::{Features, Kernel, Parameter, Parts, hash, soft_max};
pub use load::{Load, TILE_ROWS};
pub use moe::{Moe, MoeFormat};
pub use prefill::{
    AttentionFormat, ContextAttention, DsaContext, MlaContext, MlaModule, MlaWidths,
};
pub use relatives::{Relative, relatives};
pub use residuals::Residuals;
pub use rowwise::Rowwise;
pub use shape::{Family, Shape};
pub use store::{
    CalibrationError, CalibrationFile, Calibrations, KIND, Match, StandIn, SurfaceRow, VERSION,
    Wanted,
};
pub use surface::{Attributes, Errors, Estimate, Surface, TableId};

#[cfg(test)]
mod tests;
