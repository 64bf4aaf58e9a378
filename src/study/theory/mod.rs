//! What decoding costs at the very least, in closed form: the analysis of Step-3's technical report
//! (arXiv 2507.19427 §2–§5), for any model on any GPU.
//!
//! A decoded token costs FLOPs and bytes; a GPU-hour buys a number of each. Per layer,
//!
//! ```text
//! attention = max(core FLOPs · U_flop, KV bytes · U_byte) + attention-linear FLOPs · U_flop
//! FFN       = FLOPs · U_flop
//! U_flop    = price / 3600 / peak FLOP/s        U_byte = price / 3600 / memory bytes/s
//! ```
//!
//! Every batch is taken to be large enough that the weights' own traffic costs nothing, and the
//! network to be free. It is a floor, not a forecast: the simulator prices what this leaves out.
//! Attention–FFN disaggregation (AFD) may put the two halves on different GPUs, so it pays the
//! cheaper one for each; [`sparsity_floor`] and [`SplitTraffic`] say what its network must carry.
//!
//! It needs nothing but a model and the catalog, yet it lives in `study`: it answers a question
//! about many (model, GPU, context) combinations at once, and nothing below uses its answers.

mod capacity;
mod hardware;
mod network;
mod price;
mod table;
mod work;

pub use capacity::{CapacityPlan, Day, TokenPrices};
pub use hardware::{Hardware, short_name};
pub use network::{
    Pipeline, Split, SplitTraffic, micro_batch, routed_experts_for, sparsity, sparsity_floor,
};
pub use price::{DecodeCost, decode_cost};
pub use table::{Best, CostTable, MAX_CONTEXT, MAX_CONTEXTS, ModelCosts};
pub use work::{Convention, DecodeWork, Terms, decode_work};

use crate::catalog::GpuId;
use thiserror::Error;

/// Why there is no table.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TheoryError {
    /// A GPU of the user's own with a rate of zero.
    #[error("{gpu} has no {what}: nothing can be divided by it")]
    NoRate {
        /// The GPU.
        gpu: GpuId,
        /// Which rate.
        what: &'static str,
    },
    /// A context that can't be.
    #[error("a context of {context} tokens: use 1 to {MAX_CONTEXT}")]
    Context {
        /// Tokens.
        context: u64,
    },
    /// Too many contexts.
    #[error("{count} contexts: use 1 to {MAX_CONTEXTS}")]
    Contexts {
        /// How many.
        count: usize,
    },
    /// Nothing to compare.
    #[error("there is no {what} in the table")]
    Empty {
        /// What is missing.
        what: &'static str,
    },
    /// A number of a capacity plan that must be above zero.
    #[error("{what} must be a number above 0, not {value}")]
    NotPositive {
        /// Which.
        what: &'static str,
        /// What was given.
        value: String,
    },
    /// A share outside 0 … 1.
    #[error("the share of cached input must be from 0 to 1, not {value}")]
    Share {
        /// What was given.
        value: String,
    },
}

#[cfg(test)]
mod tests;
