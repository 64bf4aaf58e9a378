//! Collectives and expert exchanges: `nccl`, `custom_allreduce`, `deepep_normal`, `deepep_ll`,
//! `trtllm_alltoall`. `message_size` counts values, not bytes.

use super::{Entry, Line};
use crate::cost::calibrated::{
    Attributes, Collective, Deepep, DeepepLowLatency, EngineAllReduce, Exchange, NvlinkExchange,
    Shape, Way, distinct,
};

/// GPUs of a scale-up domain in these tables: the trays of GB200 and GB300 were measured alone.
fn domain(line: &Line<'_>) -> f64 {
    if line.text("gpu").starts_with("gb") {
        4.0
    } else {
        8.0
    }
}

/// Bytes per second of a GPU's NIC in the tables over several nodes: HGX H100 and H200 with one
/// 400 Gb/s NIC each.
const NIC: f64 = 50e9;

/// Nodes up to which the network of the DeepEP tables keeps its rate. Over eight, dispatch takes
/// longer than combine, which moves twice the bytes, and a notification up to 16 ms: that network was
/// crowded. Those rows are fitted apart, so that the others say what the links can do.
const UNCROWDED: f64 = 4.0;

/// Bytes of a value. Tables of both kinds hold the same kernels, so they are fitted together.
fn value_bytes(dtype: &str) -> Result<f64, String> {
    match dtype {
        "half" | "bfloat16" | "float16" => Ok(2.0),
        "int8" | "fp8" => Ok(1.0),
        "float" | "float32" => Ok(4.0),
        other => Err(format!("unknown number format {other:?}")),
    }
}

/// The kernel of a line: the table's, without how it was launched, which the shape knows.
pub(super) fn kernel(line: &Line<'_>, shape: &Shape) -> String {
    let source = line.text("kernel_source");
    match shape {
        // One library, one name.
        Shape::Nccl(_) | Shape::DeepepNormal(_) | Shape::DeepepLl(_) => String::new(),
        Shape::CustomAllreduce(_) => source
            .trim_end_matches("_graph")
            .trim_end_matches("_eager")
            .to_owned(),
        _ => source.to_owned(),
    }
}

pub(super) fn nccl(line: &Line<'_>) -> Result<Entry, String> {
    let name = line.text("op_name");
    let collective = Collective::ALL
        .into_iter()
        .find(|own| own.word() == name)
        .ok_or_else(|| format!("unknown op_name {name:?}"))?;
    let value = value_bytes(line.text("nccl_dtype"))?;
    let shape = Exchange {
        collective,
        ranks: ranks(line)?,
        bytes: line.positive("message_size")? * value,
        value,
    };
    Ok(Entry {
        shape: Shape::Nccl(shape),
        seconds: line.milliseconds("latency_ms")?,
        // The operation stands with the number format: neither is ever traded for another.
        precision: name.to_owned(),
        attributes: Attributes::default(),
    })
}

fn ranks(line: &Line<'_>) -> Result<f64, String> {
    let ranks = line.positive("num_gpus")?;
    if ranks < 2.0 {
        Err("num_gpus is below 2".to_owned())
    } else {
        Ok(ranks)
    }
}

pub(super) fn custom_all_reduce(line: &Line<'_>) -> Result<Entry, String> {
    let source = line.text("kernel_source");
    let precision = line.text("allreduce_dtype");
    let shape = EngineAllReduce {
        ranks: ranks(line)?,
        bytes: line.positive("message_size")? * value_bytes(precision)?,
        eager: source.ends_with("_eager"),
        switch: false,
    };
    Ok(Entry {
        shape: Shape::CustomAllreduce(shape).run_by(line.text("engine"), source),
        seconds: line.milliseconds("latency_ms")?,
        precision: precision.to_owned(),
        attributes: Attributes::default(),
    })
}

fn microseconds(line: &Line<'_>, column: &str) -> Result<f64, String> {
    Ok(line.positive(column)? * 1e-6)
}

/// What DeepEP sends, FP8 there and BF16 back, and over which network.
fn precision(way: Way, nodes: f64) -> String {
    let format = match way {
        Way::Dispatch => "fp8",
        Way::Combine => "bfloat16",
    };
    let crowded = if nodes > UNCROWDED { " crowded" } else { "" };
    format!("{format} {}{crowded}", way.word())
}

fn deepep(line: &Line<'_>, way: Way) -> Result<Entry, String> {
    let nodes = line.positive("node_num")?;
    let shape = Deepep {
        way,
        tokens: line.positive("num_token")?,
        hidden: line.positive("hidden_size")?,
        topk: line.positive("num_topk")?,
        experts: line.positive("num_experts")?,
        ranks: nodes * domain(line),
        nodes,
        sms: line.positive(&format!("{}_sms", way.word()))?,
        nic: NIC,
    };
    Ok(Entry {
        shape: Shape::DeepepNormal(shape),
        seconds: microseconds(line, &format!("{}_transmit_us", way.word()))?,
        precision: precision(way, nodes),
        attributes: Attributes::default(),
    })
}

pub(super) fn deepep_dispatch(line: &Line<'_>) -> Result<Entry, String> {
    deepep(line, Way::Dispatch)
}

pub(super) fn deepep_combine(line: &Line<'_>) -> Result<Entry, String> {
    deepep(line, Way::Combine)
}

fn low_latency(line: &Line<'_>, way: Way) -> Result<Entry, String> {
    let nodes = line.positive("node_num")?;
    let shape = DeepepLowLatency {
        way,
        tokens: line.positive("num_token")?,
        hidden: line.positive("hidden_size")?,
        topk: line.positive("num_topk")?,
        experts: line.positive("num_experts")?,
        ranks: nodes * domain(line),
        nodes,
        nic: NIC,
    };
    Ok(Entry {
        shape: Shape::DeepepLl(shape),
        seconds: microseconds(line, &format!("{}_avg_t_us", way.word()))?,
        precision: precision(way, 1.0),
        attributes: Attributes::default(),
    })
}

pub(super) fn low_latency_dispatch(line: &Line<'_>) -> Result<Entry, String> {
    low_latency(line, Way::Dispatch)
}

pub(super) fn low_latency_combine(line: &Line<'_>) -> Result<Entry, String> {
    low_latency(line, Way::Combine)
}

pub(super) fn nvlink(line: &Line<'_>) -> Result<Entry, String> {
    let precision = line.text("moe_dtype");
    let hidden = line.positive("hidden_size")?;
    let operation = line.text("op_name");
    let sent = match operation {
        "alltoall_prepare" => 0.0,
        // Results come back in BF16.
        "alltoall_combine" => 2.0,
        "alltoall_combine_low_precision" => 1.0,
        "alltoall_dispatch" => match precision {
            "bfloat16" => 2.0,
            "fp8" | "fp8_block" => 1.0,
            // Half a byte and a scale per 16 values.
            "nvfp4" => 0.5625,
            other => return Err(format!("unknown moe_dtype {other:?}")),
        },
        other => return Err(format!("unknown op_name {other:?}")),
    };
    let (topk, experts, ranks) = (
        line.positive("topk")?,
        line.positive("num_experts")?,
        line.positive("moe_ep_size")?,
    );
    let shape = NvlinkExchange {
        tokens: line.positive("num_tokens")?,
        token_bytes: sent * hidden,
        hidden,
        topk,
        experts,
        ranks,
        spread: if line.text("distribution") == "balanced" {
            topk.min(ranks)
        } else {
            distinct(topk, experts, ranks)
        },
    };
    Ok(Entry {
        shape: Shape::TrtllmAlltoall(shape),
        seconds: line.milliseconds("latency_ms")?,
        precision: format!("{precision} {}", operation.trim_start_matches("alltoall_")),
        attributes: Attributes::default(),
    })
}
