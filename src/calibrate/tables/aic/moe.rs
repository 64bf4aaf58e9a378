//! `moe`: the routed experts of one rank, with the activation quantised inside.

use super::super::routing::{Given, Law, Routing};
use super::{Entry, Line};
use crate::cost::calibrated::{Attributes, Moe, MoeFormat, Shape};

pub(super) fn format_of(precision: &str) -> Result<MoeFormat, String> {
    Ok(match precision {
        "bfloat16" => MoeFormat::Bf16,
        "fp8" => MoeFormat::Fp8,
        "fp8_block" => MoeFormat::Fp8Block,
        "nvfp4" => MoeFormat::Nvfp4,
        "int4_wo" => MoeFormat::W4a16,
        "w4a16_mxfp4" => MoeFormat::Mxfp4,
        "w4a8_mxfp4_mxfp8" => MoeFormat::Mxfp4Fp8,
        other => return Err(format!("unknown moe_dtype {other:?}")),
    })
}

/// A count, whole and not absurd.
pub(super) fn count(line: &Line<'_>, column: &str) -> Result<usize, String> {
    let value = line.positive(column)?;
    if value > 1e9 || value.fract() != 0.0 {
        return Err(format!("{column} is not a count"));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked"
    )]
    Ok(value as usize)
}

/// What the collector gave the kernel, by engine, version and kernel.
fn given(line: &Line<'_>, hidden: f64, experts: usize, ranks: usize) -> Given {
    let (engine, kernel) = (line.text("engine"), line.text("kernel_source"));
    let old = matches!(line.text("backend_version"), "0.5.9" | "0.5.10");
    // One rank of one needs no ids of others.
    if engine == "sglang" && old && ranks > 1 && kernel.contains("marlin") {
        return Given::Clamped;
    }
    // TensorRT-LLM's low-latency kernels are run with DeepSeek's router, whatever the model; SGLang
    // 0.5.14 runs every model with its own, and DeepSeek-V3's is the one with groups.
    let deepseek = engine == "sglang" && !old && hidden == 7168.0 && experts == 256;
    if experts.is_multiple_of(8) && (deepseek || kernel.contains("min_latency")) {
        return Given::Grouped;
    }
    Given::All
}

pub(super) fn read(line: &Line<'_>) -> Result<Entry, String> {
    let precision = line.text("moe_dtype");
    let format = format_of(precision)?;
    let (hidden, inner) = (line.positive("hidden_size")?, line.positive("inter_size")?);
    let (experts, ranks, slices) = (
        count(line, "num_experts")?,
        count(line, "moe_ep_size")?,
        line.positive("moe_tp_size")?,
    );
    let choices = count(line, "topk")?;
    let routing = Routing {
        law: Law::parse(line.text("distribution"))?,
        given: given(line, hidden, experts, ranks),
        tokens: count(line, "num_tokens")?,
        choices,
        experts,
        ranks,
    };
    // Nemotron's experts (22 choices, or 2688 wide) have no gate; other engines do not name it.
    let gated =
        !line.text("kernel_source").ends_with("nongated") && choices != 22 && hidden != 2688.0;
    #[expect(clippy::cast_precision_loss, reason = "at most 4096")]
    let (local, experts) = ((experts / ranks) as f64, experts as f64);
    let shape = Moe {
        load: routing.load()?,
        hidden,
        intermediate: inner / slices,
        local,
        experts,
        gated,
        format,
        resident: true,
    };
    Ok(Entry {
        shape: Shape::Moe(shape),
        seconds: line.milliseconds("latency_ms")?,
        precision: precision.to_owned(),
        attributes: Attributes {
            quantises: !matches!(
                format,
                MoeFormat::Bf16 | MoeFormat::W4a16 | MoeFormat::Mxfp4
            ),
            host: 0.0,
            hot_l2: true,
        },
    })
}
