//! The layout of aiconfigurator's kernel tables as CSV: `<operator>/<gpu>.csv[.gz]`, or
//! `<operator>.csv[.gz]` with a `gpu` column. Latencies are milliseconds (`latency_ms`) or
//! microseconds (`*_us`) per call.

mod decode;
mod gemm;
mod moe;
mod prefill;

use super::csv::{Line, lines};
use super::{Found, Row, TablesError};
use crate::catalog::{Catalog, GpuId};
use crate::cost::calibrated::{Attributes, Family, Shape, TableId};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// What a line is a measurement of.
struct Entry {
    shape: Shape,
    seconds: f64,
    precision: String,
    attributes: Attributes,
}

/// How to read one operator's files.
struct Source {
    /// Its name in the layout.
    operator: &'static str,
    /// One line. An error refuses it.
    read: fn(&Line<'_>) -> Result<Entry, String>,
}

// One line per operator.
const SOURCES: &[Source] = &[
    Source {
        operator: "gemm",
        read: gemm::read,
    },
    Source {
        operator: "context_attention",
        read: prefill::attention,
    },
    Source {
        operator: "context_mla",
        read: prefill::mla,
    },
    Source {
        operator: "mla_context_module",
        read: prefill::mla_module,
    },
    Source {
        operator: "wideep_context_mla",
        read: prefill::wideep_mla,
    },
    Source {
        operator: "dsa_context_module",
        read: prefill::dsa_module,
    },
    Source {
        operator: "generation_attention",
        read: decode::read,
    },
    Source {
        operator: "moe",
        read: moe::read,
    },
];

/// The systems' names and ours.
const SYSTEMS: [(&str, &str); 11] = [
    ("a100_sxm", "a100-80-sxm"),
    ("b200_sxm", "b200-sxm"),
    ("b300_sxm", "b300-sxm"),
    ("gb200", "gb200"),
    ("gb300", "gb300"),
    ("h100_sxm", "h100-sxm"),
    ("h200_sxm", "h200-sxm"),
    ("l40s", "l40s"),
    ("rtx_pro_6000_server", "rtx-pro-6000"),
    ("h20_sxm", "h20-96"),
    ("h800_sxm", "h800-sxm"),
];

fn gpu_of(system: &str, catalog: &Catalog) -> Result<GpuId, String> {
    let known = SYSTEMS
        .iter()
        .find(|(own, _)| *own == system)
        .map_or(system, |(_, ours)| ours);
    let id: GpuId = known
        .parse()
        .map_err(|_| format!("unknown GPU {system:?}"))?;
    if catalog.gpu(&id).is_some() {
        Ok(id)
    } else {
        Err(format!("unknown GPU {system:?}"))
    }
}

/// Operators of the layout by a family of ours, for reports.
pub(in crate::calibrate) fn operators() -> impl Iterator<Item = &'static str> {
    SOURCES.iter().map(|source| source.operator)
}

pub(super) fn read(dir: &Path, catalog: &Catalog, found: &mut Found) -> Result<(), TablesError> {
    let mut files: Vec<(PathBuf, Option<String>, &Source)> = Vec::new();
    for source in SOURCES {
        for ending in ["csv", "csv.gz"] {
            let path = dir.join(format!("{}.{ending}", source.operator));
            if path.is_file() {
                files.push((path, None, source));
            }
        }
        let Ok(entries) = dir.join(source.operator).read_dir() else {
            continue;
        };
        for entry in entries.filter_map(Result::ok).take(1000) {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            let system = name
                .strip_suffix(".csv.gz")
                .or_else(|| name.strip_suffix(".csv"));
            if let (true, Some(system)) = (path.is_file(), system) {
                files.push((path, Some(system.to_owned()), source));
            }
        }
    }
    files.sort_by(|a, b| a.0.cmp(&b.0));
    let read: Vec<Result<Found, TablesError>> = files
        .par_iter()
        .map(|(path, system, source)| file(dir, path, system.as_deref(), source, catalog))
        .collect();
    for part in read {
        found.merge(part?);
    }
    Ok(())
}

fn file(
    dir: &Path,
    path: &Path,
    system: Option<&str>,
    source: &Source,
    catalog: &Catalog,
) -> Result<Found, TablesError> {
    let mut found = Found::default();
    let place = path.strip_prefix(dir).unwrap_or(path).display().to_string();
    lines(path, |line, number| {
        let system = system.unwrap_or_else(|| line.text("gpu"));
        let entry = gpu_of(system, catalog).and_then(|gpu| Ok((gpu, (source.read)(line)?)));
        match entry {
            Ok((gpu, entry)) => {
                let id = TableId {
                    gpu,
                    family: entry.shape.family(),
                    engine: line.text("engine").to_owned(),
                    version: line.text("backend_version").to_owned(),
                    precision: entry.precision,
                    kernel: line.text("kernel_source").to_owned(),
                };
                found.add(
                    id,
                    entry.attributes,
                    Row {
                        shape: entry.shape,
                        seconds: entry.seconds,
                    },
                );
            }
            Err(why) => found.refuse(&place, number, why),
        }
    })?;
    Ok(found)
}

/// The layout's operator of a family, as `frontier validate` names it.
#[must_use]
pub(in crate::calibrate) const fn operator(family: Family) -> &'static str {
    family.word()
}
