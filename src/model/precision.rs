//! Which number format each part of a served model is kept and multiplied in.

use crate::catalog::Dtype;
use serde::{Deserialize, Serialize};

/// Formats of one pool's model copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Precision {
    /// Linear and expert weights. Embedding, LM head, router and norms stay BF16, as published
    /// quantised checkpoints keep them.
    pub weights: Dtype,
    /// Inputs of those GEMMs; with `weights` it decides the GEMM's peak (the wider of the two).
    pub activations: Dtype,
    /// The KV cache.
    pub kv: Dtype,
}

impl Precision {
    /// BF16 throughout.
    pub const BF16: Self = Self {
        weights: Dtype::Bf16,
        activations: Dtype::Bf16,
        kv: Dtype::Bf16,
    };

    /// FP8 weights and activations, BF16 KV.
    pub const FP8: Self = Self {
        weights: Dtype::Fp8,
        activations: Dtype::Fp8,
        kv: Dtype::Bf16,
    };

    /// The format GEMMs multiply in: the wider of weights and activations.
    #[must_use]
    pub const fn gemm(self) -> Dtype {
        if self.weights.bits() > self.activations.bits() {
            self.weights
        } else {
            self.activations
        }
    }
}

impl Default for Precision {
    fn default() -> Self {
        Self::BF16
    }
}

impl Dtype {
    /// Bytes of one stored weight, block scales included: NVFP4 keeps one FP8 scale per 16 values
    /// (0.5 + 1/16 B); FP8 block scales (one FP32 per 128 × 128) are 0.02 % and left out.
    #[must_use]
    pub fn weight_bytes(self) -> f64 {
        match self {
            Self::Fp32 => 4.0,
            Self::Bf16 => 2.0,
            Self::Fp8 | Self::Int8 => 1.0,
            Self::Fp4 => 0.5 + 1.0 / 16.0,
        }
    }
}
