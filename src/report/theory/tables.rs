//! Each part of the analysis as a table of numbers.

use crate::report::{Cell, Column, ReportError, Table};
use crate::study::theory::{CostTable, Hardware, Split, SplitTraffic, micro_batch};

/// A micro-batch as the count it is.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole by construction; float casts saturate"
)]
fn whole(tokens: f64) -> u64 {
    tokens.round() as u64
}

fn columns(heads: &[(&str, &str)]) -> Table {
    let column = |(name, unit): &(&str, &str)| Column::new(*name, *unit);
    Table::new(heads.iter().map(column).collect())
}

/// One row per model, context and GPU, every part of the price with what it follows from.
///
/// # Errors
/// None in practice: rows are as wide as the table.
pub fn cost_table(table: &CostTable) -> Result<Table, ReportError> {
    let mut out = columns(&[
        ("Model", ""),
        ("GPU", ""),
        ("Context", "tokens"),
        ("Attention", "$/M tokens"),
        ("FFN", "$/M tokens"),
        ("Total", "$/M tokens"),
        ("Core by FLOPs", "$/M tokens"),
        ("Core by bytes", "$/M tokens"),
        ("Linears", "$/M tokens"),
        ("Bound by", ""),
        ("Core FLOPs", "per token"),
        ("Cache bytes", "per token"),
        ("Linear FLOPs", "per token"),
        ("FFN FLOPs", "per token"),
        ("Price", "$/GPU/h"),
        ("Core peak", "FLOP/s"),
        ("GEMM peak", "FLOP/s"),
        ("Bandwidth", "B/s"),
    ]);
    for model in &table.models {
        for (at, context) in table.contexts.iter().enumerate() {
            let work = &model.work[at];
            for (cost, gpu) in model.costs[at].iter().zip(&table.hardware) {
                out.push(vec![
                    model.name.clone().into(),
                    gpu.name.clone().into(),
                    (*context).into(),
                    cost.attention().get().into(),
                    cost.ffn.get().into(),
                    cost.total().get().into(),
                    cost.core.get().into(),
                    cost.memory.get().into(),
                    cost.linears.get().into(),
                    if cost.memory_bound() {
                        "memory"
                    } else {
                        "compute"
                    }
                    .into(),
                    work.core_flops.into(),
                    work.kv_bytes.into(),
                    work.linear_flops.into(),
                    work.ffn_flops.into(),
                    gpu.price.get().into(),
                    gpu.core_peak(table.terms).get().into(),
                    gpu.gemm_peak(table.terms).get().into(),
                    gpu.bandwidth.get().into(),
                ])?;
            }
        }
    }
    Ok(out)
}

/// The cheapest deployment of each model at each context.
///
/// # Errors
/// As [`cost_table`].
pub fn best_table(table: &CostTable) -> Result<Table, ReportError> {
    let mut out = columns(&[
        ("Model", ""),
        ("Context", "tokens"),
        ("Cheapest", "$/M tokens"),
        ("Attention on", ""),
        ("FFN on", ""),
        ("One GPU type", "$/M tokens"),
        ("Which", ""),
        ("Split saves", "%"),
    ]);
    let name = |at: usize| table.hardware[at].name.clone();
    for model in &table.models {
        for (best, context) in model.best.iter().zip(&table.contexts) {
            let (cost, single) = (best.cost.get(), best.single_cost.get());
            let saved = if single > 0.0 {
                100.0 * (1.0 - cost / single).max(0.0)
            } else {
                0.0
            };
            out.push(vec![
                model.name.clone().into(),
                (*context).into(),
                cost.into(),
                name(best.attention).into(),
                name(best.ffn).into(),
                single.into(),
                name(best.single).into(),
                saved.into(),
            ])?;
        }
    }
    Ok(out)
}

/// Attention's FLOPs per cache byte at each context, and what bounds it on each GPU at the last.
///
/// # Errors
/// As [`cost_table`].
pub fn intensity_table(table: &CostTable) -> Result<Table, ReportError> {
    let mut heads = vec![Column::new("Model", "")];
    for context in &table.contexts {
        heads.push(Column::new(format!("At {context}"), "FLOP/B"));
    }
    for gpu in &table.hardware {
        heads.push(Column::new(
            format!("{} ({:.0})", gpu.name, gpu.ridge(table.terms)),
            "",
        ));
    }
    let mut out = Table::new(heads);
    for model in &table.models {
        let mut row: Vec<Cell> = vec![model.name.clone().into()];
        row.extend(model.work.iter().map(|work| Cell::from(work.intensity())));
        if let Some(costs) = model.costs.last() {
            row.extend(costs.iter().map(|cost| {
                Cell::from(if cost.memory_bound() {
                    "memory"
                } else {
                    "compute"
                })
            }));
        }
        out.push(row)?;
    }
    Ok(out)
}

/// Each model's sparsity beside the smallest each GPU's network allows.
///
/// # Errors
/// As [`cost_table`].
pub fn floor_table(table: &CostTable) -> Result<Table, ReportError> {
    let mut heads = vec![Column::new("Model", ""), Column::new("Sparsity", "")];
    for gpu in &table.hardware {
        let net = gpu.network.map_or_else(
            || "no NICs".to_owned(),
            |rate| format!("{:.0} GB/s", rate.get() / 1e9),
        );
        heads.push(Column::new(format!("{} min", gpu.name), net));
    }
    let mut out = Table::new(heads);
    for model in &table.models {
        let mut row: Vec<Cell> = vec![model.name.clone().into(), model.sparsity.into()];
        for floor in &model.floors {
            row.push(floor.map(|(floor, _)| floor).into());
        }
        out.push(row)?;
    }
    Ok(out)
}

/// What a split's NICs must carry with attention on each GPU of the table, or on the `cheapest` for
/// it alone: as many tokens per attention GPU as a stage has time for, or `tokens`.
///
/// # Errors
/// As [`cost_table`].
pub fn network_table(
    table: &CostTable,
    (attention, ffn): (u32, u32),
    tokens: Option<f64>,
    cheapest: bool,
) -> Result<Table, ReportError> {
    let mut out = columns(&[
        ("Model", ""),
        ("Context", "tokens"),
        ("Attention on", ""),
        ("Micro-batch", "tokens/GPU"),
        ("Layer time", "µs"),
        ("To each FFN GPU", "MB"),
        ("Back", "MB"),
        ("FFN GPU needs", "Gb/s"),
        ("Attention GPU needs", "Gb/s"),
    ]);
    let gbit = |rate: crate::units::ByteRate| rate.get() * 8e-9;
    for model in &table.models {
        let time = table.pipeline.layer(model.layers);
        for (at, (work, context)) in model.work.iter().zip(&table.contexts).enumerate() {
            let fits = |gpu: &Hardware| micro_batch(work, gpu, table.terms, &table.pipeline);
            for (index, gpu) in table.hardware.iter().enumerate() {
                if cheapest && model.best[at].attention != index {
                    continue;
                }
                let Some(tokens) = tokens.or_else(|| fits(gpu)) else {
                    continue;
                };
                let split = Split {
                    attention,
                    ffn,
                    tokens,
                };
                let traffic = SplitTraffic::of(model.hidden, split, &table.pipeline, time);
                out.push(vec![
                    model.name.clone().into(),
                    (*context).into(),
                    gpu.name.clone().into(),
                    whole(tokens).into(),
                    (time.get() * 1e6).into(),
                    (traffic.to_ffn.as_f64() / 1e6).into(),
                    (traffic.back.as_f64() / 1e6).into(),
                    gbit(traffic.ffn_gpu).into(),
                    gbit(traffic.attention_gpu).into(),
                ])?;
            }
        }
    }
    Ok(out)
}
