//! Prefill attention: many queries a sequence, each seeing what came before it.
//!
//! Kernels after FlashAttention cut the queries of a head into tiles; a CTA walks the keys its
//! tile sees, and CTAs share the SMs out among themselves. [`span`] is that walk, common to all
//! families: [`attention`] (MHA, GQA, windows), [`mla`] (the latent kind: core alone, or the whole
//! block with its projections) and [`dsa`] (its sparse kind with an indexer).

mod attention;
mod dsa;
mod mla;
mod module;
mod span;

pub use attention::{AttentionFormat, ContextAttention};
pub use dsa::DsaContext;
pub use mla::{MlaContext, MlaWidths};
pub use module::MlaModule;

#[cfg(test)]
mod tests;
