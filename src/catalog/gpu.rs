//! GPU types: what one accelerator can do at best, and where each number comes from.

use super::id::GpuId;
use super::source::{Price, Source};
use crate::units::{ByteRate, Bytes, FlopRate, Watts};
use serde::{Deserialize, Serialize};

/// Number formats a GPU multiplies in, and weights and KV are stored in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dtype {
    /// 32-bit float (recurrent state, some norms). Multiplied at BF16 rate / 2 here.
    Fp32,
    /// bfloat16 or float16: same size, same peak on every GPU of the catalog.
    Bf16,
    /// 8-bit float (E4M3/E5M2).
    Fp8,
    /// 8-bit integer.
    Int8,
    /// 4-bit float with an FP8 scale per 16 values (NVFP4).
    Fp4,
    /// 4-bit float with a power-of-two scale per 32 values (MXFP4).
    Mxfp4,
    /// 4-bit integer, dequantised before it is multiplied (AWQ, GPTQ, W4A16).
    Int4,
}

impl Dtype {
    /// Every format, widest first.
    pub const ALL: [Self; 7] = [
        Self::Fp32,
        Self::Bf16,
        Self::Fp8,
        Self::Int8,
        Self::Fp4,
        Self::Mxfp4,
        Self::Int4,
    ];

    /// Bits of one value, block scales not counted.
    #[must_use]
    pub const fn bits(self) -> u64 {
        match self {
            Self::Fp32 => 32,
            Self::Bf16 => 16,
            Self::Fp8 | Self::Int8 => 8,
            Self::Fp4 | Self::Mxfp4 | Self::Int4 => 4,
        }
    }

    /// The field's word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp32 => "FP32",
            Self::Bf16 => "BF16",
            Self::Fp8 => "FP8",
            Self::Int8 => "INT8",
            Self::Fp4 => "FP4",
            Self::Mxfp4 => "MXFP4",
            Self::Int4 => "INT4",
        }
    }
}

/// Dense (not sparse) peak rates per number format. A missing one means the GPU has no such unit:
/// a kernel in that format runs at the next wider format's rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peaks {
    /// bfloat16 / float16 with FP32 accumulation.
    pub bf16: FlopRate,
    /// 8-bit float.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fp8: Option<FlopRate>,
    /// 8-bit integer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub int8: Option<FlopRate>,
    /// 4-bit float.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fp4: Option<FlopRate>,
}

impl Peaks {
    /// Peak in a format; the next wider one's where the GPU has no unit for it (weights are then
    /// dequantised on the fly and multiplied wide).
    #[must_use]
    pub fn of(&self, dtype: Dtype) -> FlopRate {
        match dtype {
            Dtype::Fp32 => self.bf16 * 0.5,
            Dtype::Bf16 => self.bf16,
            Dtype::Fp8 => self.fp8.unwrap_or(self.bf16),
            Dtype::Int8 => self.int8.unwrap_or(self.bf16),
            Dtype::Fp4 | Dtype::Mxfp4 => self.fp4.unwrap_or_else(|| self.of(Dtype::Fp8)),
            Dtype::Int4 => self.of(Dtype::Int8),
        }
    }

    /// Whether the GPU multiplies in this format natively.
    #[must_use]
    pub const fn has(&self, dtype: Dtype) -> bool {
        match dtype {
            Dtype::Fp32 | Dtype::Bf16 => true,
            Dtype::Fp8 => self.fp8.is_some(),
            Dtype::Int8 => self.int8.is_some(),
            Dtype::Fp4 | Dtype::Mxfp4 => self.fp4.is_some(),
            Dtype::Int4 => false,
        }
    }
}

/// How GPUs of one scale-up domain are wired together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScaleUpKind {
    /// Every GPU to a switch plane (NVSwitch, UB): any pair at the full per-GPU rate.
    Switched,
    /// A direct link per pair (xGMI, HCCS): one pair gets the per-GPU rate / (n − 1).
    FullMesh,
    /// No fabric of its own: GPUs meet on the host's PCIe.
    Pcie,
}

/// One GPU type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Its name in documents.
    pub id: GpuId,
    /// Its name for people.
    pub name: String,
    /// Who makes it.
    pub vendor: String,
    /// `Hopper`, `Blackwell`, `CDNA 3`, …
    pub architecture: String,
    /// Device memory as the driver reports it (`nvidia-smi`, MiB): makers write “80 GB” and mean
    /// GiB less a reserve, and a KV budget counts the bytes that are there.
    pub memory: Bytes,
    /// Streaming multiprocessors switched on (compute units, AI cores), as the driver counts them.
    pub sms: u32,
    /// Last-level cache: L2, or AMD's Infinity Cache.
    pub l2: Bytes,
    /// Device memory rate.
    pub bandwidth: ByteRate,
    /// Dense peaks.
    pub peaks: Peaks,
    /// Scale-up rate of one GPU, one direction.
    pub scale_up: ByteRate,
    /// How the domain is wired.
    pub scale_up_kind: ScaleUpKind,
    /// Most GPUs one scale-up domain joins.
    pub scale_up_domain: u32,
    /// Host link, one direction.
    pub pcie: ByteRate,
    /// Board power.
    pub power: Watts,
    /// Price of an hour.
    pub price: Price,
    /// Where the numbers come from; disagreements between sources and how they were settled.
    pub sources: Vec<Source>,
}
