//! Layer profiles of Vidur and Frontier: one row per batch of a model's layer, one column per
//! operator of it, in milliseconds (`mlp_up_proj_ms`, or `time_stats.mlp_up_proj.median`).
//!
//! Collectives of a server's GPUs are profiled by themselves (`all_reduce.csv`, `send_recv.csv`).
//!
//! Upstream keeps them as `<device>/<model>/{mlp,linear_op,attention,moe}.csv`; the GPU is any word of
//! the path that names one. Rows are told by their columns. They are timed with CUDA events around
//! eager calls, which holds the host's time (declared: `host`, and a GEMM's [`Call::eager`]), except
//! where `measurement_type` says `KERNEL_ONLY`.
//!
//! [`Call::eager`]: crate::cost::calibrated::Call

mod attention;
mod linear;
mod moe;
mod network;

use super::aic::gpu_of;
use super::csv::{Line, header, lines};
use super::walk::words;
use super::{Found, Row, TablesError};
use crate::catalog::{Catalog, GpuId};
use crate::cost::calibrated::{Attributes, Hardware, Shape, TableId};
use std::collections::BTreeMap;
use std::path::Path;

/// One operator of a row.
struct Timed {
    shape: Shape,
    seconds: f64,
    precision: &'static str,
    /// The kernels' library, where the profile names it.
    kernel: String,
}

/// How to read rows with one of these columns.
struct Dialect {
    mark: &'static str,
    read: fn(&Line<'_>, &mut Vec<Timed>) -> Result<(), String>,
}

const DIALECTS: [Dialect; 5] = [
    Dialect {
        mark: "mlp_down_proj",
        read: linear::read,
    },
    Dialect {
        mark: "attn_decode",
        read: attention::read,
    },
    Dialect {
        mark: "moe_grouped_gemm",
        read: moe::read,
    },
    Dialect {
        mark: "all_reduce",
        read: network::read,
    },
    Dialect {
        mark: "send_recv",
        read: network::read,
    },
];

/// Seconds of an operator's column, by either spelling; nothing where it was not timed.
fn seconds(line: &Line<'_>, operator: &str) -> Result<Option<f64>, String> {
    for column in [
        format!("{operator}_ms"),
        format!("time_stats.{operator}.median"),
    ] {
        if !line.text(&column).is_empty() {
            let value = line.number(&column)?;
            return Ok((value > 0.0).then_some(value * 1e-3));
        }
    }
    Ok(None)
}

/// Whether a row's times hold the host's.
fn eager(line: &Line<'_>) -> bool {
    line.text("measurement_type") != "KERNEL_ONLY"
}

/// Who timed a row. Frontier's profiler says how it did; older ones, Vidur's too, do not, and have
/// floors of their own: a table is of one of them.
fn profiler(line: &Line<'_>) -> &'static str {
    match line.text("measurement_type") {
        "KERNEL_ONLY" => "profile, kernels",
        "CUDA_EVENT" => "profile, events",
        _ => "profile",
    }
}

/// Seconds that no kernel can be faster than: attention's products at peak, its keys beyond what L2
/// holds at full bandwidth. Some profiles have rows of kernels that never ran.
fn least_seconds(shape: &Shape, hardware: &Hardware) -> f64 {
    match shape {
        Shape::ContextAttention(own) => {
            let seen = own.prior + 0.5 * own.tokens;
            4.0 * own.batch * own.tokens * seen * own.heads * own.head_dim / hardware.bf16
        }
        Shape::Decode(own) => {
            let bytes = own.entries * own.kv_heads * (own.qk_dim + own.v_dim) * own.kv_bytes;
            (bytes - hardware.l2).max(0.0) / hardware.bandwidth
        }
        _ => 0.0,
    }
}

/// Takes in a file, if it is a profile.
pub(super) fn read(
    dir: &Path,
    path: &Path,
    catalog: &Catalog,
    found: &mut Found,
) -> Result<bool, TablesError> {
    let columns = header(path)?;
    let has = |mark: &str| {
        columns.iter().any(|column| {
            column
                .strip_suffix("_ms")
                .or_else(|| column.strip_prefix("time_stats.")?.strip_suffix(".median"))
                == Some(mark)
        })
    };
    let Some(dialect) = DIALECTS.iter().find(|own| has(own.mark)) else {
        return Ok(false);
    };
    let place = path.strip_prefix(dir).unwrap_or(path).display().to_string();
    let Some(gpu) = gpu_in(&words(dir, path), catalog) else {
        found.refuse(&place, 1, "no GPU in the path".to_owned());
        return Ok(true);
    };
    let Some(hardware) = catalog.gpu(&gpu).map(Hardware::of) else {
        return Ok(true);
    };
    let mut timed = Vec::new();
    // By table: rows that no kernel can have run in, and rows in all.
    let mut impossible: BTreeMap<TableId, (usize, usize)> = BTreeMap::new();
    lines(path, |line, number| {
        timed.clear();
        if let Err(why) = (dialect.read)(line, &mut timed) {
            found.refuse(&place, number, why);
            return;
        }
        for own in timed.drain(..) {
            let id = TableId {
                gpu: gpu.clone(),
                family: own.shape.family(),
                engine: profiler(line).to_owned(),
                version: String::new(),
                precision: own.precision.to_owned(),
                kernel: own.kernel,
            };
            let row = Row {
                shape: own.shape,
                seconds: own.seconds,
            };
            let counts = impossible.entry(id.clone()).or_default();
            counts.1 += 1;
            if own.seconds < 0.8 * least_seconds(&own.shape, &hardware) {
                counts.0 += 1;
                found.refuse(&place, number, "faster than the GPU's datasheet".to_owned());
                continue;
            }
            found.add(id.family.word(), id, Attributes::default(), row);
        }
    })?;
    // Where most rows are impossible, the rest are of the same making.
    for (id, (wrong, all)) in impossible {
        if 2 * wrong > all
            && let Some(table) = found.tables.remove(&id)
        {
            for _ in table.rows {
                let why = "most rows of its table are faster than the GPU's datasheet".to_owned();
                found.refuse(&place, 1, why);
            }
        }
    }
    Ok(true)
}

/// A GPU named by a word of the path, or by part of one (`linear_a100`, `h800_attention`).
fn gpu_in(words: &[&str], catalog: &Catalog) -> Option<GpuId> {
    words.iter().find_map(|word| {
        let parts: Vec<&str> = word.split(['_', '-']).collect();
        (1..=parts.len()).rev().find_map(|count| {
            parts
                .windows(count)
                .find_map(|part| gpu_of(&part.join("_"), catalog).ok())
        })
    })
}
