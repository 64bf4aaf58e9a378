//! Routed experts of one rank under independent, even choices.

use super::{Timed, seconds};
use crate::calibrate::tables::csv::Line;
use crate::cost::calibrated::{Load, Moe, MoeFormat, Shape};

pub(super) fn read(line: &Line<'_>, out: &mut Vec<Timed>) -> Result<(), String> {
    let Some(seconds) = seconds(line, "moe_grouped_gemm")? else {
        return Ok(());
    };
    let tp = line.positive("num_tensor_parallel_workers")?;
    let experts = line.positive("num_experts")?;
    let local = line.positive("num_experts_per_device")?;
    if local > experts || experts > 4096.0 {
        return Err("more experts on a device than there are, or more than 4096".to_owned());
    }
    let load = Load::uniform(
        line.positive("num_tokens")?.min(1e7),
        line.positive("router_topk")?,
        experts,
        local,
    );
    let shape = Shape::Moe(Moe {
        load,
        hidden: line.positive("hidden_dim")?,
        intermediate: line.positive("expert_hidden_dim")? / tp,
        local,
        experts,
        gated: !line.text("use_gated").eq_ignore_ascii_case("false"),
        format: MoeFormat::Bf16,
        resident: true,
    });
    out.push(Timed {
        shape,
        seconds,
        precision: "bfloat16",
        kernel: line.text("moe_grouped_gemm_backend").to_owned(),
    });
    Ok(())
}
