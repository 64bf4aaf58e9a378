//! Kernel tables, one operator's shapes a row: `<operator>/<gpu>.csv[.gz]`, `<operator>.csv[.gz]`
//! with a `gpu` column, aiconfigurator's own `<system>/<engine>/<version>/<operator>_perf.txt`, or any
//! CSV with an `operator` column (ours). Latencies are milliseconds (`latency_ms`, `latency`),
//! microseconds (`latency_us`, `*_us`) or seconds (`seconds`) per call.

mod communication;
mod decode;
mod delta;
mod gemm;
mod head_product;
mod moe;
mod prefill;
mod rowwise;

use super::csv::{Line, header, lines};
use super::walk::words;
use super::{Found, Row, TablesError};
use crate::catalog::{Catalog, GpuId};
use crate::cost::calibrated::{Attributes, Shape, TableId};
use std::collections::BTreeSet;
use std::path::Path;

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
#[rustfmt::skip]
const SOURCES: &[Source] = &[
    Source { operator: "gemm", read: gemm::read },
    Source { operator: "mla_bmm", read: head_product::read },
    Source { operator: "computescale", read: rowwise::scale },
    Source { operator: "scale_matrix", read: rowwise::quantise },
    Source { operator: "nccl", read: communication::nccl },
    Source { operator: "custom_allreduce", read: communication::custom_all_reduce },
    // Both ways of an exchange are on one line.
    Source { operator: "deepep_normal", read: communication::deepep_dispatch },
    Source { operator: "deepep_normal", read: communication::deepep_combine },
    Source { operator: "deepep_ll", read: communication::low_latency_dispatch },
    Source { operator: "deepep_ll", read: communication::low_latency_combine },
    Source { operator: "trtllm_alltoall", read: communication::nvlink },
    Source { operator: "gdn", read: delta::read },
    Source { operator: "context_attention", read: prefill::attention },
    Source { operator: "context_mla", read: prefill::mla },
    Source { operator: "mla_context_module", read: prefill::mla_module },
    Source { operator: "wideep_context_mla", read: prefill::wideep_mla },
    Source { operator: "dsa_context_module", read: prefill::dsa_module },
    Source { operator: "generation_attention", read: decode::attention },
    Source { operator: "generation_mla", read: decode::mla },
    Source { operator: "mla_generation_module", read: decode::mla_module },
    Source { operator: "wideep_generation_mla", read: decode::wideep_mla },
    Source { operator: "dsa_generation_module", read: decode::dsa_module },
    Source { operator: "moe", read: moe::read },
];

/// Names others give GPUs, and ours.
const SYSTEMS: [(&str, &str); 24] = [
    ("a100_sxm", "a100-80-sxm"),
    ("a100", "a100-80-sxm"),
    ("a100_pcie", "a100-80-pcie"),
    ("a40", "a40"),
    ("a800", "a800-80-sxm"),
    ("b200_sxm", "b200-sxm"),
    ("b200", "b200-sxm"),
    ("b300_sxm", "b300-sxm"),
    ("b300", "b300-sxm"),
    ("gb200", "gb200"),
    ("gb300", "gb300"),
    ("h100_sxm", "h100-sxm"),
    ("h100", "h100-sxm"),
    ("h100_pcie", "h100-pcie"),
    ("h200_sxm", "h200-sxm"),
    ("h200", "h200-sxm"),
    ("h20_sxm", "h20-96"),
    ("h20", "h20-96"),
    ("h800_sxm", "h800-sxm"),
    ("h800", "h800-sxm"),
    ("l40s", "l40s"),
    ("rtx4090", "rtx-4090"),
    ("rtx_pro_6000", "rtx-pro-6000"),
    ("rtx_pro_6000_server", "rtx-pro-6000"),
];

/// A GPU by anybody's name for it.
pub(super) fn gpu_of(system: &str, catalog: &Catalog) -> Result<GpuId, String> {
    let name = system.to_ascii_lowercase();
    let known = SYSTEMS
        .iter()
        .find(|(own, _)| *own == name || own.replace('_', "") == name)
        .map_or(name.as_str(), |(_, ours)| ours);
    let id: Option<GpuId> = known.parse().ok();
    id.filter(|id| catalog.gpu(id).is_some())
        .ok_or_else(|| format!("unknown GPU {system:?}"))
}

/// The operator of a file: named by the file, or by a folder it is in.
fn operator_of(words: &[&str]) -> Option<&'static str> {
    let known = |word: &&str| SOURCES.iter().find(|source| source.operator == *word);
    words.iter().find_map(known).map(|source| source.operator)
}

/// Takes in a file, if it is of this layout.
pub(super) fn read(
    dir: &Path,
    path: &Path,
    catalog: &Catalog,
    found: &mut Found,
) -> Result<bool, TablesError> {
    let words = words(dir, path);
    let by_name = operator_of(&words);
    let named = header(path)?.iter().any(|column| column == "operator");
    if by_name.is_none() && !named {
        return Ok(false);
    }
    let place = path.strip_prefix(dir).unwrap_or(path).display().to_string();
    let in_path = words
        .iter()
        .map(|word| gpu_of(word, catalog))
        .find_map(Result::ok);
    lines(path, |line, number| {
        let operator = match (line.text("operator"), by_name) {
            ("", Some(name)) => name,
            (operator, _) => operator,
        };
        let mut sources = SOURCES
            .iter()
            .filter(|source| source.operator == operator)
            .peekable();
        if sources.peek().is_none() {
            found.refuse(&place, number, unknown(operator));
        }
        for source in sources {
            match take(line, source, in_path.as_ref(), catalog) {
                Ok((id, attributes, row)) => found.add(source.operator, id, attributes, row),
                Err(why) => found.refuse(&place, number, why),
            }
        }
    })?;
    Ok(true)
}

fn unknown(operator: &str) -> String {
    let known: BTreeSet<&str> = SOURCES.iter().map(|source| source.operator).collect();
    let known: Vec<&str> = known.into_iter().collect();
    format!(
        "unknown operator {operator:?}; there are {}",
        known.join(", ")
    )
}

fn take(
    line: &Line<'_>,
    source: &Source,
    in_path: Option<&GpuId>,
    catalog: &Catalog,
) -> Result<(TableId, Attributes, Row), String> {
    let gpu = match line.text("gpu") {
        "" => in_path
            .cloned()
            .ok_or_else(|| "no gpu column, and no GPU in the path".to_owned())?,
        system => gpu_of(system, catalog)?,
    };
    let entry = (source.read)(line)?;
    let id = TableId {
        gpu,
        family: entry.shape.family(),
        engine: line.text("engine").to_ascii_lowercase(),
        version: line.text("backend_version").to_owned(),
        precision: entry.precision,
        kernel: communication::kernel(line, &entry.shape),
    };
    let row = Row {
        shape: entry.shape,
        seconds: entry.seconds,
    };
    Ok((id, entry.attributes, row))
}
