//! Which number format each part of a served model is kept and multiplied in.

use super::Quantization;
use crate::catalog::Dtype;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Formats of one pool's model copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Precision {
    /// Linear and expert weights. Embedding, LM head, router and norms stay BF16, as published
    /// quantised checkpoints keep them; what else a checkpoint keeps is in the model's layers.
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

    /// The same for a part whose weights the checkpoint keeps in `kept`: inputs of a part kept
    /// wider than the pool's activations are as wide as its weights.
    #[must_use]
    pub const fn for_part(self, kept: Option<Dtype>) -> Self {
        match kept {
            None => self,
            Some(weights) => Self {
                weights,
                activations: if weights.bits() > self.activations.bits() {
                    weights
                } else {
                    self.activations
                },
                kv: self.kv,
            },
        }
    }
}

impl Default for Precision {
    fn default() -> Self {
        Self::BF16
    }
}

/// Scales kept beside quantised weights: `bits` for every `per` of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// Bits of a scale, and of a zero point where there is one.
    pub bits: u64,
    /// Weights that share it.
    pub per: u64,
}

/// How weights are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WeightFormat {
    /// Format of a value.
    pub dtype: Dtype,
    /// Its scales.
    pub scale: Option<Scale>,
}

impl WeightFormat {
    /// A format with the scales it always has.
    #[must_use]
    pub const fn plain(dtype: Dtype) -> Self {
        Self {
            dtype,
            scale: dtype.scale(),
        }
    }

    /// The format of a checkpoint's linears: its own scales where the format is its own.
    #[must_use]
    pub fn of(dtype: Dtype, quantization: Option<&Quantization>) -> Self {
        match quantization {
            Some(own) if own.weights == dtype && own.scale.is_some() => Self {
                dtype,
                scale: own.scale,
            },
            _ => Self::plain(dtype),
        }
    }

    /// Bytes of so many weights, scales included, rounded up.
    #[must_use]
    pub fn bytes(self, count: u64) -> Bytes {
        let bits = u128::from(count) * u128::from(self.dtype.bits());
        let scales = self.scale.map_or(0, |scale| {
            (u128::from(count) * u128::from(scale.bits)).div_ceil(u128::from(scale.per.max(1)))
        });
        Bytes::new(u64::try_from((bits + scales).div_ceil(8)).unwrap_or(u64::MAX))
    }

    /// Bytes of one weight, its share of the scales included.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    pub fn bytes_each(self) -> f64 {
        let scales = self
            .scale
            .map_or(0.0, |scale| scale.bits as f64 / scale.per.max(1) as f64);
        (self.dtype.bits() as f64 + scales) / 8.0
    }
}

impl Dtype {
    /// Scales the format itself demands: NVFP4 an FP8 one per 16 values, MXFP4 an 8-bit exponent
    /// per 32 (OCP Microscaling 1.0), INT4 a BF16 one per 128 (AWQ's and GPTQ's usual group). FP8
    /// and INT8 may have one per tensor; block scales are a checkpoint's
    /// ([`Quantization::scale`]).
    #[must_use]
    pub const fn scale(self) -> Option<Scale> {
        match self {
            Self::Fp32 | Self::Bf16 | Self::Fp8 | Self::Int8 => None,
            Self::Fp4 => Some(Scale { bits: 8, per: 16 }),
            Self::Mxfp4 => Some(Scale { bits: 8, per: 32 }),
            Self::Int4 => Some(Scale { bits: 16, per: 128 }),
        }
    }

    /// Bytes of one stored weight, the format's own scales included.
    #[must_use]
    pub fn weight_bytes(self) -> f64 {
        WeightFormat::plain(self).bytes_each()
    }
}
