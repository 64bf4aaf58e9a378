//! What a model in a file leaves out because it goes without saying: serde's questions about its
//! fields, and what those are worth where they are not there.

#![expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]

use crate::catalog::Dtype;

pub(super) const fn two() -> u64 {
    2
}

pub(super) const fn is_two(count: &u64) -> bool {
    *count == 2
}

pub(super) const fn is_zero(count: &u64) -> bool {
    *count == 0
}

pub(super) const fn no(flag: &bool) -> bool {
    !*flag
}

pub(super) const fn yes() -> bool {
    true
}

pub(super) const fn is_yes(flag: &bool) -> bool {
    *flag
}

pub(super) const fn fp32() -> Dtype {
    Dtype::Fp32
}

pub(super) const fn is_fp32(dtype: &Dtype) -> bool {
    matches!(dtype, Dtype::Fp32)
}
