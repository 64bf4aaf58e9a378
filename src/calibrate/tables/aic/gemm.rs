//! `gemm`: `m`, `n`, `k` and a number format. InferSim's table of DeepGEMM has no column for it but
//! one for the share of peak (`mfu`); its kernels are timed alone, on flushed caches.

use super::{Entry, Line};
use crate::cost::calibrated::{Attributes, Call, Gemm, GemmFormat, Shape};

pub(super) fn read(line: &Line<'_>) -> Result<Entry, String> {
    let alone = line.has("mfu") && !line.has("gemm_dtype");
    let precision = if alone {
        "fp8_block"
    } else {
        line.text("gemm_dtype")
    };
    let format = match precision {
        "bfloat16" => GemmFormat::Bf16,
        "fp8" | "fp8_static" => GemmFormat::Fp8,
        "fp8_block" => GemmFormat::Fp8Block,
        "nvfp4" => GemmFormat::Nvfp4,
        "sq" => GemmFormat::Int8,
        "int8_wo" => GemmFormat::W8a16,
        "int4_wo" => GemmFormat::W4a16,
        other => return Err(format!("unknown gemm_dtype {other:?}")),
    };
    // Every table of quantised activations holds the quantising: where a product is all activation
    // (n = 128), its time is 4 to 20 bytes of memory an activation, and one byte would do.
    let quantises = !alone
        && matches!(
            format,
            GemmFormat::Fp8 | GemmFormat::Fp8Block | GemmFormat::Nvfp4
        );
    // vLLM's benchmark times this one kernel outside a CUDA graph.
    let eager = line.text("engine") == "vllm"
        && precision == "fp8_block"
        && line.text("kernel_source").ends_with("Kernel");
    let shape = Gemm {
        m: line.positive("m")?,
        n: line.positive("n")?,
        k: line.positive("k")?,
        format,
        call: Call {
            quantises,
            eager,
            repeated: !alone,
        },
    };
    Ok(Entry {
        shape: Shape::Gemm(shape),
        seconds: line.milliseconds("latency_ms")?,
        precision: precision.to_owned(),
        attributes: Attributes {
            quantises,
            hot_l2: !alone,
            ..Attributes::default()
        },
    })
}
