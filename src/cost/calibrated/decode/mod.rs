//! Decode attention: one new token of each sequence over what is in the cache.
//!
//! All of its kernels walk keys and values in items that are split where there are too few of them:
//! [`items`]. [`attention`] has heads with keys of their own or shared (MHA, GQA, windows), [`mla`]
//! the latent kind, folded; [`block`] is the latter with its projections, [`sparse`] that with an
//! indexer.

mod attention;
mod block;
mod items;
mod mla;
mod sparse;

pub use attention::{Decode, Packing};
pub use block::MlaDecodeBlock;
pub use mla::MlaDecode;
pub use sparse::DsaDecodeBlock;
