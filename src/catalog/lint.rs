//! Checks of catalog rows against what is known about hardware apart from the rows themselves.
//!
//! Spec sheets invite a handful of mistakes, each of which has turned somebody's ranking round:
//! the sparse figure taken for the dense one, two GPUs of a superchip counted as one, both
//! directions of a link as one, GB for GiB, a successor slower than its predecessor. The facts
//! the rules hold rows against are in [`super::lint_facts`], written down separately so that a
//! wrong row can't vouch for itself.

use super::lint_facts::{
    CUT_DOWN, FASTEST_GPU_MEMORY, GENERATIONS, MEMORY, Ratios, bf16_ceiling, ratios,
};
use super::{Catalog, Dtype, Gpu, GpuId, Price, ScaleUpKind, Source};
use crate::units::{ByteRate, Bytes, FlopRate};

mod error;
pub use error::LintError;

/// How far below its expected size a card's memory may be: drivers differ in their reserve.
const MEMORY_SLACK: f64 = 0.99;

/// Everything wrong with a catalog, GPUs first, in id order. Empty for the rows we ship; a
/// user's rows are worth a look, not a refusal: hardware to come may break any of these rules.
#[must_use]
pub fn lint(catalog: &Catalog) -> Vec<LintError> {
    let mut found = Vec::new();
    for gpu in catalog.gpus() {
        zeros(gpu, &mut found);
        dense(gpu, &mut found);
        memory(gpu, &mut found);
        scale_up(gpu, &mut found);
        price(gpu, &mut found);
        sourced("gpu", gpu.id.as_str(), &gpu.sources, &mut found);
    }
    for (older, newer) in GENERATIONS {
        if let (Some(older), Some(newer)) = (by_name(catalog, older), by_name(catalog, newer)) {
            not_slower(older, newer, &mut found);
        }
    }
    for (cut, full) in CUT_DOWN {
        if let (Some(cut), Some(full)) = (by_name(catalog, cut), by_name(catalog, full)) {
            not_above(cut, full, &mut found);
        }
    }
    for nic in catalog.nics() {
        nonzero("nic", nic.id.as_str(), "rate", nic.rate.get(), &mut found);
        nonzero(
            "nic",
            nic.id.as_str(),
            "latency",
            nic.latency.get(),
            &mut found,
        );
        sourced("nic", nic.id.as_str(), &nic.sources, &mut found);
    }
    for node in catalog.nodes() {
        if let Some(gpu) = catalog.gpu(&node.gpu)
            && node.gpus > gpu.scale_up_domain
        {
            found.push(LintError::Domain {
                node: node.id.to_string(),
                gpus: node.gpus,
                gpu: gpu.id.clone(),
                domain: gpu.scale_up_domain,
            });
        }
        sourced("node", node.id.as_str(), &node.sources, &mut found);
    }
    for switch in catalog.switches() {
        let id = switch.id.as_str();
        nonzero(
            "switch",
            id,
            "port_rate",
            switch.port_rate.get(),
            &mut found,
        );
        sourced("switch", id, &switch.sources, &mut found);
    }
    found
}

fn by_name<'a>(catalog: &'a Catalog, name: &str) -> Option<&'a Gpu> {
    catalog.gpu(&GpuId::new(name).ok()?)
}

fn nonzero(kind: &str, id: &str, field: &'static str, value: f64, found: &mut Vec<LintError>) {
    if value <= 0.0 {
        found.push(LintError::Zero {
            row: format!("{kind} {id}"),
            field,
        });
    }
}

fn zeros(gpu: &Gpu, found: &mut Vec<LintError>) {
    let id = gpu.id.as_str();
    nonzero("gpu", id, "memory", gpu.memory.as_f64(), found);
    nonzero("gpu", id, "bandwidth", gpu.bandwidth.get(), found);
    nonzero("gpu", id, "scale_up", gpu.scale_up.get(), found);
    nonzero("gpu", id, "pcie", gpu.pcie.get(), found);
    nonzero("gpu", id, "power", gpu.power.get(), found);
    for (field, peak) in peaks(gpu) {
        if let Some(peak) = peak {
            nonzero("gpu", id, field, peak.get(), found);
        }
    }
}

/// Peaks by format, `None` where the GPU has no such unit.
fn peaks(gpu: &Gpu) -> [(&'static str, Option<FlopRate>); 4] {
    [
        (Dtype::Bf16.name(), Some(gpu.peaks.bf16)),
        (Dtype::Fp8.name(), gpu.peaks.fp8),
        (Dtype::Int8.name(), gpu.peaks.int8),
        (Dtype::Fp4.name(), gpu.peaks.fp4),
    ]
}

/// Sparse figures given as dense: they break the ratio to the next wider format, or the ceiling of
/// the architecture if every format was doubled.
fn dense(gpu: &Gpu, found: &mut Vec<LintError>) {
    if let Some(ceiling) = bf16_ceiling(&gpu.architecture)
        && gpu.peaks.bf16 > ceiling
    {
        found.push(LintError::Ceiling {
            gpu: gpu.id.clone(),
            rate: gpu.peaks.bf16,
            architecture: gpu.architecture.clone(),
            ceiling,
        });
    }
    let Ratios { fp8, int8, fp4 } = ratios(gpu);
    let bf16 = (Dtype::Bf16.name(), gpu.peaks.bf16);
    let eight_bit = gpu.peaks.fp8.map_or(bf16, |rate| (Dtype::Fp8.name(), rate));
    for (narrow, rate, (wide, base), limit) in [
        (Dtype::Fp8.name(), gpu.peaks.fp8, bf16, fp8),
        (Dtype::Int8.name(), gpu.peaks.int8, bf16, int8),
        (Dtype::Fp4.name(), gpu.peaks.fp4, eight_bit, fp4),
    ] {
        if let Some(rate) = rate
            && rate.get() > base.get() * limit
        {
            found.push(LintError::Ratio {
                gpu: gpu.id.clone(),
                narrow,
                rate,
                wide,
                base,
                limit,
            });
        }
    }
}

fn memory(gpu: &Gpu, found: &mut Vec<LintError>) {
    if gpu.bandwidth > FASTEST_GPU_MEMORY {
        found.push(LintError::Bandwidth {
            gpu: gpu.id.clone(),
            bandwidth: gpu.bandwidth,
            most: FASTEST_GPU_MEMORY,
        });
    }
    let Some(card) = MEMORY.iter().find(|card| card.gpu == gpu.id.as_str()) else {
        return;
    };
    let nominal = Bytes::from_gib(card.nominal_gib);
    let usable = Bytes::new(card.usable_mib * 1_048_576);
    if gpu.memory > nominal {
        found.push(LintError::MemoryAbove {
            gpu: gpu.id.clone(),
            memory: gpu.memory,
            nominal,
        });
    }
    if gpu.memory.as_f64() < usable.as_f64() * MEMORY_SLACK {
        found.push(LintError::MemoryBelow {
            gpu: gpu.id.clone(),
            memory: gpu.memory,
            usable,
        });
    }
}

fn scale_up(gpu: &Gpu, found: &mut Vec<LintError>) {
    let why = match gpu.scale_up_kind {
        ScaleUpKind::Pcie if gpu.scale_up > gpu.pcie => format!(
            "scale-up {} over PCIe is above the {} of the PCIe link itself",
            gpu.scale_up, gpu.pcie
        ),
        ScaleUpKind::Switched | ScaleUpKind::FullMesh if gpu.scale_up < gpu.pcie => format!(
            "scale-up {} is below the host link's {}; a fabric of its own is faster than PCIe (is one rate per link, the other per GPU?)",
            gpu.scale_up, gpu.pcie
        ),
        _ => return,
    };
    found.push(LintError::ScaleUp {
        gpu: gpu.id.clone(),
        why,
    });
}

fn price(gpu: &Gpu, found: &mut Vec<LintError>) {
    let Price {
        per_hour,
        date,
        cite,
    } = &gpu.price;
    let mut wrong = |why: String| {
        found.push(LintError::Price {
            gpu: gpu.id.clone(),
            why,
        });
    };
    if !year_and_month(date) {
        wrong(format!(
            "price is dated “{}”; prices age, so give year and month, such as “2025-07”",
            date.chars().take(20).collect::<String>()
        ));
    }
    if cite.trim().is_empty() {
        wrong("price says not whose it is; name the seller or survey in “cite”".to_owned());
    }
    if per_hour.get() <= 0.0 {
        wrong("price is zero; give an estimate and say so in “cite”".to_owned());
    }
}

/// `YYYY-MM` of this century.
fn year_and_month(date: &str) -> bool {
    let Some((year, month)) = date.split_once('-') else {
        return false;
    };
    let digits =
        |text: &str, count| text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    digits(year, 4) && digits(month, 2) && year.starts_with("20") && ("01"..="12").contains(&month)
}

fn sourced(kind: &str, id: &str, sources: &[Source], found: &mut Vec<LintError>) {
    let says = |source: &Source| !source.covers.trim().is_empty() && !source.cite.trim().is_empty();
    if sources.is_empty() || !sources.iter().all(says) {
        found.push(LintError::NoSource {
            row: format!("{kind} {id}"),
        });
    }
}

/// A newer part is at least as fast as the one it succeeds, INT8 excepted: makers drop it.
fn not_slower(older: &Gpu, newer: &Gpu, found: &mut Vec<LintError>) {
    let mut slower = |field, got: Option<String>, least: String| {
        found.push(LintError::Regression {
            newer: newer.id.clone(),
            older: older.id.clone(),
            field,
            got: got.unwrap_or_else(|| "none".to_owned()),
            least,
        });
    };
    for (field, got, least) in rates(newer, older) {
        if got < least {
            slower(field, Some(got.to_string()), least.to_string());
        }
    }
    for ((field, got), (_, least)) in peaks(newer).into_iter().zip(peaks(older)) {
        if field != Dtype::Int8.name()
            && let Some(least) = least
            && got.is_none_or(|got| got < least)
        {
            slower(field, got.map(|got| got.to_string()), least.to_string());
        }
    }
}

/// A part cut down for export is nowhere above the one it is cut from.
fn not_above(cut: &Gpu, full: &Gpu, found: &mut Vec<LintError>) {
    let mut above = |field, got: String, most: Option<String>| {
        found.push(LintError::AboveSibling {
            cut: cut.id.clone(),
            full: full.id.clone(),
            field,
            got,
            most: most.unwrap_or_else(|| "none".to_owned()),
        });
    };
    for (field, got, most) in rates(cut, full) {
        if got > most {
            above(field, got.to_string(), Some(most.to_string()));
        }
    }
    for ((field, got), (_, most)) in peaks(cut).into_iter().zip(peaks(full)) {
        if let Some(got) = got
            && most.is_none_or(|most| got > most)
        {
            above(field, got.to_string(), most.map(|most| most.to_string()));
        }
    }
    if cut.memory > full.memory {
        above(
            "memory",
            cut.memory.to_string(),
            Some(full.memory.to_string()),
        );
    }
    if cut.power > full.power {
        above("power", cut.power.to_string(), Some(full.power.to_string()));
    }
    if cut.scale_up_domain > full.scale_up_domain {
        above(
            "scale_up_domain",
            cut.scale_up_domain.to_string(),
            Some(full.scale_up_domain.to_string()),
        );
    }
}

/// The byte rates two parts are compared by, first the one's, then the other's.
fn rates(one: &Gpu, other: &Gpu) -> [(&'static str, ByteRate, ByteRate); 3] {
    [
        ("bandwidth", one.bandwidth, other.bandwidth),
        ("scale_up", one.scale_up, other.scale_up),
        ("pcie", one.pcie, other.pcie),
    ]
}

#[cfg(test)]
mod tests;
