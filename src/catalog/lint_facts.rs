//! What is known about GPUs apart from the catalog's rows: the tables lint holds rows against.
//!
//! They repeat some numbers of the presets on purpose: a slip in one of the two places shows.

use super::Gpu;
use crate::units::{ByteRate, FlopRate};

/// No GPU on sale moves more from its own memory: eight stacks of HBM3e give 8 TB/s.
pub(super) const FASTEST_GPU_MEMORY: ByteRate = ByteRate::new(9e12);

/// The most a format may be of the next wider one, with 2.5 % for makers' rounding: halving the
/// width doubles the rate, and structured sparsity doubles it again.
const TWICE: f64 = 2.05;
/// Blackwell Ultra's FP4 units are half as wide again as its FP8 ones (15 against 5 PFLOPS).
const THRICE: f64 = 3.15;
/// GeForce halves what accumulates in FP32 (FP16, BF16, FP8) and leaves INT8 and FP4 whole.
const FOUR_TIMES: f64 = 4.1;

/// Most a dense rate may be: FP8 and INT8 of BF16, FP4 of FP8.
pub(super) struct Ratios {
    pub(super) fp8: f64,
    pub(super) int8: f64,
    pub(super) fp4: f64,
}

/// The ratios of a GPU's kind.
pub(super) fn ratios(gpu: &Gpu) -> Ratios {
    if gpu.name.contains("GeForce") {
        Ratios {
            fp8: TWICE,
            int8: FOUR_TIMES,
            fp4: FOUR_TIMES,
        }
    } else {
        Ratios {
            fp8: TWICE,
            int8: TWICE,
            fp4: if gpu.architecture == "Blackwell Ultra" {
                THRICE
            } else {
                TWICE
            },
        }
    }
}

/// Dense BF16 of the fastest part of an architecture, rounded up; `None` for one not known here.
pub(super) fn bf16_ceiling(architecture: &str) -> Option<FlopRate> {
    let tflops = match architecture {
        "Ampere" => 320.0,
        "Ada Lovelace" => 370.0,
        "Hopper" => 1000.0,
        "Blackwell" | "Blackwell Ultra" => 2510.0,
        "RTX Blackwell" => 510.0,
        "CDNA 3" => 1310.0,
        "CDNA 4" => 2520.0,
        "Da Vinci" => 800.0,
        _ => return None,
    };
    Some(FlopRate::new(tflops * 1e12))
}

/// Memory of a known card.
pub(super) struct Memory {
    pub(super) gpu: &'static str,
    /// GiB soldered or stacked on the card, as its box says.
    pub(super) nominal_gib: u64,
    /// MiB its driver reports (the lowest of the drivers seen).
    pub(super) usable_mib: u64,
}

const fn memory(gpu: &'static str, nominal_gib: u64, usable_mib: u64) -> Memory {
    Memory {
        gpu,
        nominal_gib,
        usable_mib,
    }
}

/// Memory of the cards we ship. `nvidia-smi`, `rocm-smi` and `npu-smi` listings.
pub(super) const MEMORY: &[Memory] = &[
    memory("a100-40-sxm", 40, 40_536),
    memory("a100-80-sxm", 80, 81_251),
    memory("a100-80-pcie", 80, 81_251),
    memory("a800-80-sxm", 80, 81_251),
    memory("h100-sxm", 80, 81_559),
    memory("h100-pcie", 80, 81_559),
    memory("h800-sxm", 80, 81_559),
    memory("h200-sxm", 141, 143_771),
    memory("h20-96", 96, 97_871),
    memory("b200-sxm", 180, 183_359),
    memory("b300-sxm", 270, 275_040),
    memory("gb200", 186, 189_471),
    memory("gb300", 279, 284_208),
    memory("l40s", 48, 46_068),
    memory("l20", 48, 46_068),
    memory("a40", 48, 46_068),
    memory("rtx-4090", 24, 24_564),
    memory("rtx-5090", 32, 32_607),
    memory("rtx-pro-6000", 96, 97_887),
    memory("mi300x", 192, 196_592),
    memory("mi325x", 256, 262_128),
    memory("mi355x", 288, 294_896),
    memory("ascend-910b", 64, 65_536),
    memory("ascend-910c", 128, 131_072),
];

/// (older, newer): the newer one is nowhere slower, INT8 excepted.
pub(super) const GENERATIONS: &[(&str, &str)] = &[
    ("a100-40-sxm", "a100-80-sxm"),
    ("a100-80-sxm", "h100-sxm"),
    ("a100-80-pcie", "h100-pcie"),
    ("h100-sxm", "h200-sxm"),
    ("h200-sxm", "b200-sxm"),
    ("b200-sxm", "b300-sxm"),
    ("b200-sxm", "gb200"),
    ("gb200", "gb300"),
    ("a800-80-sxm", "h800-sxm"),
    ("a40", "l40s"),
    ("rtx-4090", "rtx-5090"),
    ("mi300x", "mi325x"),
    ("mi325x", "mi355x"),
    ("ascend-910b", "ascend-910c"),
];

/// (cut, uncut): the cut one is nowhere above. H20's memory is newer than H100's, so it is held
/// against H200.
pub(super) const CUT_DOWN: &[(&str, &str)] = &[
    ("a800-80-sxm", "a100-80-sxm"),
    ("h800-sxm", "h100-sxm"),
    ("h20-96", "h200-sxm"),
    ("l20", "l40s"),
];
