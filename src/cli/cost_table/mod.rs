//! `frontier cost-table`: what decoding costs at the very least, for models × GPUs × contexts.

mod chosen;

use super::{Failure, print};
use crate::catalog::{Catalog, Dtype, user_presets_dir};
use crate::model::{Model, Models};
use crate::report::theory::{
    best_table, cost_figure, cost_table, floor_table, intensity_table, network_table, sweep,
};
use crate::report::{Style, Table, to_png, to_svg};
use crate::study::theory::{Convention, CostTable, Pipeline, Terms};
use crate::units::Seconds;
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Arguments of `cost-table`.
#[derive(Debug, Args)]
pub struct CostTableArgs {
    /// Models, by id or as a Hugging Face config.json, separated by commas; `all` presets.
    #[arg(long, value_delimiter = ',', value_name = "ID|FILE.json")]
    models: Vec<String>,
    /// GPUs, by id, separated by commas; `all` of the catalog.
    #[arg(long, value_delimiter = ',', value_name = "ID")]
    gpus: Vec<String>,
    /// Contexts, tokens, separated by commas.
    #[arg(long, value_delimiter = ',', default_values_t = [8192, 32_768])]
    context: Vec<u64>,
    /// Format of the KV cache.
    #[arg(long, default_value = "fp8")]
    kv_precision: String,
    /// Format of weights and GEMMs; a GPU without it multiplies in the next wider one.
    #[arg(long, default_value = "fp8")]
    precision: String,
    /// Price of a GPU-hour instead of the catalog's, such as h20-96=0.8; several by commas.
    #[arg(long, value_delimiter = ',', value_name = "GPU=PRICE")]
    price: Vec<String>,
    /// How FLOPs are counted: as Step-3's tables (MLA values as wide as its keys, no routers, no
    /// head), or as executed.
    #[arg(long, default_value = "step3", value_parser = ["step3", "executed"])]
    convention: String,
    /// The four GPUs of Step-3's Table 6 exactly as it has them, prices too (A800 with 2.0 TB/s;
    /// the catalog has 2.039).
    #[arg(long, conflicts_with_all = ["gpus", "price"])]
    paper: bool,
    /// Time per output token to hold, for the network.
    #[arg(long, default_value = "50 ms")]
    tpot: Seconds,
    /// Attention and FFN instances of the split whose network is shown.
    #[arg(long, default_value = "2A2F", value_name = "xAyF")]
    split: String,
    /// Tokens of a micro-batch on each attention GPU; without it as many as a stage has time for.
    #[arg(long)]
    tokens: Option<u32>,
    /// Print JSON.
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print CSV: one row per model, context and GPU, with what each price follows from.
    #[arg(long)]
    csv: bool,
    /// Write the plot of cost against context to this file (.svg or .png).
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &CostTableArgs) -> Result<(), Failure> {
    let user = user_presets_dir();
    let catalog = Catalog::load(user.as_deref()).map_err(|e| Failure::usage(&e))?;
    let presets = Models::load(user.as_deref()).map_err(|e| Failure::usage(&e))?;
    let models = chosen::models(&args.models, &presets)?;
    let models: Vec<&Model> = models.iter().collect();
    let hardware = chosen::hardware(args, &catalog)?;
    let terms = Terms {
        kv: dtype("--kv-precision", &args.kv_precision)?,
        gemm: dtype("--precision", &args.precision)?,
        convention: if args.convention == "executed" {
            Convention::Executed
        } else {
            Convention::Step3
        },
    };
    if args.tpot <= Seconds::ZERO {
        return Err(Failure::Usage("--tpot must be above 0".to_owned()));
    }
    let pipeline = Pipeline {
        tpot: args.tpot,
        ..Pipeline::default()
    };
    let split = split(&args.split)?;
    let table = CostTable::new(
        &models,
        hardware.clone(),
        args.context.clone(),
        terms,
        pipeline,
    )
    .map_err(|e| Failure::usage(&e))?;
    let parts = Parts::of(&table, split, args.tokens.map(f64::from), !args.json)
        .map_err(|e| Failure::usage(&e))?;
    if args.csv {
        print::out(&parts.costs.to_csv().map_err(|e| Failure::usage(&e))?);
    } else if args.json {
        print::out(&format!("{:#}\n", to_json(&table, &parts)));
    } else {
        print::out(&as_text(&table, &parts, split));
    }
    if let Some(path) = &args.out {
        let swept = sweep(&models, hardware, &args.context, terms, pipeline)
            .map_err(|e| Failure::usage(&e))?;
        write_plot(&swept, path)?;
    }
    Ok(())
}

/// The tables of the analysis.
struct Parts {
    costs: Table,
    best: Table,
    intensity: Table,
    floors: Table,
    network: Table,
}

impl Parts {
    fn of(
        table: &CostTable,
        split: (u32, u32),
        tokens: Option<f64>,
        cheapest: bool,
    ) -> Result<Self, crate::report::ReportError> {
        Ok(Self {
            costs: cost_table(table)?,
            best: best_table(table)?,
            intensity: intensity_table(table)?,
            floors: floor_table(table)?,
            network: network_table(table, split, tokens, cheapest)?,
        })
    }
}

fn dtype(option: &str, text: &str) -> Result<Dtype, Failure> {
    let named = |dtype: &Dtype| dtype.name().eq_ignore_ascii_case(text);
    Dtype::ALL.into_iter().find(named).ok_or_else(|| {
        let names: Vec<String> = Dtype::ALL
            .iter()
            .map(|dtype| dtype.name().to_lowercase())
            .collect();
        Failure::Usage(format!(
            "{option} {}: use {}",
            print::plain(text),
            names.join(", ")
        ))
    })
}

/// `2A2F`: attention and FFN instances.
fn split(text: &str) -> Result<(u32, u32), Failure> {
    let lower = text.to_lowercase();
    let parts = lower
        .strip_suffix('f')
        .and_then(|rest| rest.split_once('a'))
        .and_then(|(a, f)| Some((a.parse().ok()?, f.parse().ok()?)));
    match parts {
        Some((a @ 1..=100_000, f @ 1..=100_000)) => Ok((a, f)),
        _ => Err(Failure::Usage(format!(
            "--split {}: write attention and FFN instances, such as 2A2F",
            print::plain(text)
        ))),
    }
}

fn as_text(table: &CostTable, parts: &Parts, (attention, ffn): (u32, u32)) -> String {
    let terms = table.terms;
    let sections = [
        (
            format!(
                "Decode cost, $ per million tokens ({} KV, {} GEMMs where the GPU has them, FLOPs counted as {})\n\
                 attention = max(core FLOPs · U_flop, KV bytes · U_byte) + linears · U_flop; U = price / 3600 / peak",
                terms.kv.name(),
                terms.gemm.name(),
                terms.convention.name()
            ),
            narrow(table).to_text(),
        ),
        (
            "Cheapest deployment, attention and FFN each on its own GPU type (AFD)".to_owned(),
            parts.best.to_text(),
        ),
        (
            "Arithmetic intensity of attention, FLOP per byte of KV, and what bounds it on each GPU (whose roofline bends at)".to_owned(),
            parts.intensity.to_text(),
        ),
        (
            format!(
                "Smallest MoE sparsity the NICs of a server allow: S ≥ H · FLOPs · L / (Net · BW · {:.1} ms)",
                table.pipeline.stage().get() * 1e3 * 2.0 / 3.0
            ),
            parts.floors.to_text(),
        ),
        (
            format!(
                "Network of {attention}A{ffn}F, attention where it is cheapest: TPOT {} in {} stages, FP8 there, BF16 back",
                table.pipeline.tpot, table.pipeline.stages
            ),
            parts.network.to_text(),
        ),
    ];
    let text = sections.map(|(heading, table)| format!("{heading}\n\n{table}"));
    text.join("\n")
}

/// Model × GPU, contexts side by side; three decimals as the paper prints them.
fn narrow(table: &CostTable) -> Table {
    use crate::report::{Cell, Column};
    let mut heads = vec![Column::new("Model", ""), Column::new("GPU", "")];
    let each = |what: &str, heads: &mut Vec<Column>| {
        for context in &table.contexts {
            heads.push(Column::new(format!("{what} @{}", short(*context)), ""));
        }
    };
    each("attention", &mut heads);
    heads.push(Column::new("FFN", ""));
    each("total", &mut heads);
    let mut out = Table::new(heads);
    for model in &table.models {
        for (at, gpu) in table.hardware.iter().enumerate() {
            let of = |value: f64| Cell::Text(format!("{value:.3}"));
            let costs = || model.costs.iter().map(move |costs| costs[at]);
            let mut row: Vec<Cell> = vec![model.name.clone().into(), gpu.name.clone().into()];
            row.extend(costs().map(|cost| of(cost.attention().get())));
            row.extend(costs().take(1).map(|cost| of(cost.ffn.get())));
            row.extend(costs().map(|cost| of(cost.total().get())));
            // As wide as the heads by construction.
            let _ = out.push(row);
        }
    }
    out
}

/// `8K` for 8192.
fn short(context: u64) -> String {
    if context >= 1024 && context.is_multiple_of(1024) {
        format!("{}K", context / 1024)
    } else {
        context.to_string()
    }
}

fn to_json(table: &CostTable, parts: &Parts) -> Value {
    let models: Vec<Value> = table
        .models
        .iter()
        .map(|model| {
            let contexts: Vec<Value> = table
                .contexts
                .iter()
                .enumerate()
                .map(|(at, context)| {
                    let (work, best) = (&model.work[at], &model.best[at]);
                    let gpus: Vec<Value> = model.costs[at]
                        .iter()
                        .zip(&table.hardware)
                        .map(|(cost, gpu)| {
                            json!({
                                "gpu": gpu.gpu,
                                "attention": cost.attention().get(),
                                "ffn": cost.ffn.get(),
                                "total": cost.total().get(),
                                "core": cost.core.get(),
                                "memory": cost.memory.get(),
                                "linears": cost.linears.get(),
                                "memory_bound": cost.memory_bound(),
                            })
                        })
                        .collect();
                    json!({
                        "context": context,
                        "core_flops": work.core_flops,
                        "kv_bytes": work.kv_bytes,
                        "linear_flops": work.linear_flops,
                        "ffn_flops": work.ffn_flops,
                        "intensity": work.intensity(),
                        "usd_per_million_tokens": gpus,
                        "best": {
                            "attention": table.hardware[best.attention].gpu,
                            "ffn": table.hardware[best.ffn].gpu,
                            "total": best.cost.get(),
                            "single": table.hardware[best.single].gpu,
                            "single_total": best.single_cost.get(),
                        },
                    })
                })
                .collect();
            let floors: Vec<Value> = table
                .hardware
                .iter()
                .zip(&model.floors)
                .map(|(gpu, floor)| {
                    json!({
                        "gpu": gpu.gpu,
                        "sparsity_floor": floor.map(|(floor, _)| floor),
                        "routed_experts": floor.and_then(|(_, experts)| experts),
                    })
                })
                .collect();
            json!({
                "model": model.id,
                "name": model.name,
                "sparsity": model.sparsity,
                "sparsity_floors": floors,
                "contexts": contexts,
            })
        })
        .collect();
    let gpus: Vec<Value> = table
        .hardware
        .iter()
        .map(|gpu| {
            json!({
                "gpu": gpu.gpu,
                "price_per_hour": gpu.price.get(),
                "core_flops_per_s": gpu.core_peak(table.terms).get(),
                "gemm_flops_per_s": gpu.gemm_peak(table.terms).get(),
                "bytes_per_s": gpu.bandwidth.get(),
                "ridge": gpu.ridge(table.terms),
                "server": gpu.server,
                "server_network_bytes_per_s": gpu.network.map(|rate| rate.get()),
            })
        })
        .collect();
    json!({
        "kv_precision": table.terms.kv,
        "precision": table.terms.gemm,
        "convention": table.terms.convention.name(),
        "gpus": gpus,
        "models": models,
        "network": rows_json(&parts.network),
    })
}

/// A table as objects by its columns' keys.
fn rows_json(table: &Table) -> Vec<Value> {
    use crate::report::Cell;
    table
        .rows()
        .iter()
        .map(|row| {
            let cells = table.columns().iter().zip(row).map(|(column, cell)| {
                let value = match cell {
                    Cell::Text(text) => json!(text),
                    Cell::Number(number) => json!(number),
                    Cell::Count(count) => json!(count),
                    Cell::Empty => Value::Null,
                };
                (column.key(), value)
            });
            Value::Object(cells.collect())
        })
        .collect()
}

fn write_plot(table: &CostTable, path: &Path) -> Result<(), Failure> {
    let figure = cost_figure(table);
    let end = path.extension().map(|end| end.to_ascii_lowercase());
    let bytes = match end.as_ref().and_then(|end| end.to_str()) {
        Some("svg") => to_svg(&figure, &Style::default()).into_bytes(),
        Some("png") => to_png(&figure, &Style::default(), 2.0).map_err(|e| Failure::usage(&e))?,
        _ => {
            return Err(Failure::Usage(format!(
                "--out {}: end it with .svg or .png",
                path.display()
            )));
        }
    };
    std::fs::write(path, bytes)
        .map_err(|e| Failure::Usage(format!("can't write {}: {e}", path.display())))?;
    complain!("wrote {}", path.display());
    Ok(())
}
