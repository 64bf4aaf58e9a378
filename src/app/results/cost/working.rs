//! How each number was worked out, in words.

use crate::app::results::plot::short;
use crate::study::theory::{Best, CostTable, DecodeCost, DecodeWork, Hardware, ModelCosts, Terms};

fn flops(count: u64) -> String {
    scaled(count, "FLOP")
}

fn bytes(count: u64) -> String {
    scaled(count, "B")
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn scaled(count: u64, unit: &str) -> String {
    let value = count as f64;
    let (scale, prefix) = match value {
        v if v >= 1e12 => (1e12, "T"),
        v if v >= 1e9 => (1e9, "G"),
        v if v >= 1e6 => (1e6, "M"),
        v if v >= 1e3 => (1e3, "k"),
        _ => (1.0, ""),
    };
    format!("{} {prefix}{unit}", short(value / scale))
}

/// Four decimals, more for less.
fn dollars(value: f64) -> String {
    if value < 0.001 {
        format!("${value:.2e}")
    } else {
        format!("${value:.4}")
    }
}

/// An attention cell.
pub(super) fn attention(
    work: &DecodeWork,
    cost: &DecodeCost,
    gpu: &Hardware,
    terms: Terms,
) -> String {
    let (core, linear) = (gpu.core_peak(terms), gpu.gemm_peak(terms));
    let bound = if cost.memory_bound() {
        "memory decides"
    } else {
        "units decide"
    };
    format!(
        "Per token, all layers, at {price} a GPU:\n\
         core: {} at {core} = {}\n\
         KV: {} at {} = {} ({bound})\n\
         linears: {} at {linear} = {}\n\
         larger of the first two + linears = {} per million tokens",
        flops(work.core_flops),
        dollars(cost.core.get()),
        bytes(work.kv_bytes),
        gpu.bandwidth,
        dollars(cost.memory.get()),
        flops(work.linear_flops),
        dollars(cost.linears.get()),
        dollars(cost.attention().get()),
        price = gpu.price,
    )
}

/// An FFN cell.
pub(super) fn ffn(work: &DecodeWork, cost: &DecodeCost, gpu: &Hardware, terms: Terms) -> String {
    format!(
        "Visited and shared experts and dense layers: {} per token\n\
         at {} and {} a GPU = {} per million tokens",
        flops(work.ffn_flops),
        gpu.gemm_peak(terms),
        gpu.price,
        dollars(cost.ffn.get()),
    )
}

/// Both halves.
pub(super) fn total(cost: &DecodeCost) -> String {
    format!(
        "attention {} + FFN {} = {}",
        dollars(cost.attention().get()),
        dollars(cost.ffn.get()),
        dollars(cost.total().get())
    )
}

/// The cheapest deployment.
pub(super) fn best(best: &Best, table: &CostTable) -> String {
    let name = |at: usize| &table.hardware[at].name;
    let single = format!(
        "One GPU type for both: {} at {}",
        name(best.single),
        dollars(best.single_cost.get())
    );
    if best.is_split() {
        format!(
            "Attention on {}, FFN on {} (AFD): {}\n{single}",
            name(best.attention),
            name(best.ffn),
            dollars(best.cost.get())
        )
    } else {
        format!("No split is cheaper. {single}")
    }
}

/// A smallest sparsity.
pub(super) fn floor(model: &ModelCosts, gpu: &Hardware, table: &CostTable, at: usize) -> String {
    let Some((floor, experts)) = model.floors[at] else {
        return "No server of the catalog has this GPU and NICs".to_owned();
    };
    let net = gpu
        .network
        .map_or_else(String::new, |rate| rate.to_string());
    let server = gpu
        .server
        .as_ref()
        .map_or_else(String::new, |id| format!(" ({id})"));
    let mut words = format!(
        "{} · {} · {} / ({net}{server} · {} · {:.1} ms) = {floor:.4}",
        model.hidden,
        gpu.gemm_peak(table.terms),
        model.layers,
        gpu.bandwidth,
        table.pipeline.stage().get() * 1e3 * 2.0 / 3.0,
    );
    match (model.sparsity, experts) {
        (Some(own), Some(experts)) if own < floor => {
            words.push_str(&format!(
                "\nThe model’s {own:.4} is sparser: its NICs fill first. {experts} routed experts a token would do."
            ));
        }
        (Some(own), _) => words.push_str(&format!("\nThe model’s {own:.4} is enough.")),
        (None, _) => words.push_str("\nThe model has no experts."),
    }
    words
}
