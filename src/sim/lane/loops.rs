//! The engines' schedulers: which requests the next step takes.

mod owed;
mod sarathi;
mod sglang;
mod study;
mod vllm;

pub(super) use owed::Owed;
pub(super) use sglang::first_ratio;
