//! Lays a scheme over a model: which part of which layer is kept in which format, and which format
//! is the checkpoint's own.

use super::modules::{self, Module, Part};
use super::scheme::{Format, Scheme};
use crate::catalog::Dtype;
use crate::model::{Kept, LayerRun, Model, Quantization, WeightFormat};
use crate::units::real;
use std::collections::BTreeMap;

/// A share of a part below this that is kept otherwise is not worth a word.
const WORTH_SAYING: f64 = 0.01;

/// Formats of one layer's parts that are there.
type Parts = BTreeMap<Part, Option<Format>>;

/// Parts of which only some linears are quantised: what is counted, what not.
#[derive(Default)]
struct Mixed {
    layers: u64,
    parameters: u64,
    minority: u64,
    /// Bytes the minority takes beyond what is counted for it.
    beyond: f64,
    counted: &'static str,
    also: &'static str,
}

/// Sets the model's `quantization` and its layers' `kept`; the checkpoint's own format, none
/// where nothing is quantised. The own format is the quantised one with most parameters.
pub(super) fn assign(
    model: &mut Model,
    scheme: &Scheme,
    notes: &mut Vec<String>,
) -> Option<Format> {
    let mut tally: Vec<(Format, u64)> = Vec::new();
    let mut mixed: BTreeMap<Part, Mixed> = BTreeMap::new();
    let mut layers: Vec<(LayerRun, Parts)> = Vec::new();
    let mut number = 0;
    for run in &model.layers {
        let linears = modules::of(run, model.hidden);
        for _ in 0..run.count {
            let parts = decide(&linears, |module| module.names(number), scheme, &mut mixed);
            for module in &linears {
                if let Some(Some(format)) = parts.get(&module.part) {
                    count(&mut tally, *format, module.size);
                }
            }
            let one = LayerRun {
                count: 1,
                ..run.clone()
            };
            layers.push((one, parts));
            number += 1;
        }
    }
    let own = tally
        .iter()
        .max_by_key(|(_, parameters)| *parameters)
        .map(|(format, _)| *format)?;
    model.layers = folded(layers, own);
    if let Some(run) = &mut model.mtp {
        let linears = modules::of(run, model.hidden);
        let names = |module: &Module| module.further_names(0, number);
        let parts = decide(&linears, names, scheme, &mut BTreeMap::new());
        run.kept = kept(&parts, own);
    }
    let head = if model.tied_embeddings {
        None
    } else {
        scheme.head(&modules::head_names())
    };
    model.quantization = Some(Quantization {
        weights: own.weights,
        activations: own.activations,
        scale: own.scale,
        block: own.block,
        head: head.map(|format| format.weights),
    });
    say_mixed(&mixed, notes);
    say_scales(&tally, own, notes);
    Some(own)
}

fn count(tally: &mut Vec<(Format, u64)>, format: Format, parameters: u64) {
    match tally.iter_mut().find(|(other, _)| *other == format) {
        Some((_, sum)) => *sum = sum.saturating_add(parameters),
        None => tally.push((format, parameters)),
    }
}

/// The format of each part: that of most of its parameters.
fn decide(
    linears: &[Module],
    names: impl Fn(&Module) -> Vec<String>,
    scheme: &Scheme,
    mixed: &mut BTreeMap<Part, Mixed>,
) -> Parts {
    let mut shares: BTreeMap<Part, Vec<(Option<Format>, u64)>> = BTreeMap::new();
    for module in linears {
        let format = scheme.format(&names(module));
        let of = shares.entry(module.part).or_default();
        match of.iter_mut().find(|(other, _)| *other == format) {
            Some((_, sum)) => *sum = sum.saturating_add(module.size),
            None => of.push((format, module.size)),
        }
    }
    let mut parts = Parts::new();
    for (part, mut of) in shares {
        of.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
        let Some((most, _)) = of.first().copied() else {
            continue;
        };
        parts.insert(part, most);
        if let Some((other, _)) = of.get(1) {
            let all = of
                .iter()
                .fold(0_u64, |sum, (_, size)| sum.saturating_add(*size));
            let entry = mixed.entry(part).or_default();
            entry.layers += 1;
            entry.parameters = entry.parameters.saturating_add(all);
            entry.counted = word(most);
            entry.also = word(*other);
            for (format, size) in of.iter().skip(1) {
                entry.minority = entry.minority.saturating_add(*size);
                entry.beyond += (each(*format) - each(most)) * real(*size);
            }
        }
    }
    parts
}

fn dtype(format: Option<Format>) -> Dtype {
    format.map_or(Dtype::Bf16, |format| format.weights)
}

fn word(format: Option<Format>) -> &'static str {
    dtype(format).name()
}

/// Bytes of a weight.
fn each(format: Option<Format>) -> f64 {
    let plain = WeightFormat::plain(dtype(format));
    let scale = format.and_then(|format| format.scale).or(plain.scale);
    WeightFormat { scale, ..plain }.bytes_each()
}

fn kept(parts: &Parts, own: Format) -> Kept {
    let of = |part: Part| {
        let dtype = dtype(*parts.get(&part)?);
        (dtype != own.weights).then_some(dtype)
    };
    Kept {
        attention: of(Part::Attention),
        dense_ffn: of(Part::DenseFfn),
        routed_experts: of(Part::RoutedExperts),
        shared_experts: of(Part::SharedExperts),
    }
}

/// Equal neighbours in one run.
fn folded(layers: Vec<(LayerRun, Parts)>, own: Format) -> Vec<LayerRun> {
    let mut runs: Vec<LayerRun> = Vec::new();
    for (mut layer, parts) in layers {
        layer.kept = kept(&parts, own);
        match runs.last_mut() {
            Some(run)
                if run.attention == layer.attention
                    && run.ffn == layer.ffn
                    && run.norms == layer.norms
                    && run.kept == layer.kept =>
            {
                run.count += 1;
            }
            _ => runs.push(layer),
        }
    }
    runs
}

fn say_mixed(mixed: &BTreeMap<Part, Mixed>, notes: &mut Vec<String>) {
    for (part, of) in mixed {
        let share = real(of.minority) / real(of.parameters.max(1));
        if share < WORTH_SAYING {
            continue;
        }
        let direction = if of.beyond >= 0.0 { "more" } else { "less" };
        notes.push(format!(
            "{} of {} layers: kept partly in {} ({:.0} % of it) by the quantisation section: all of it is counted in {}; the file has {:.2} GB {direction}",
            part.name(),
            of.layers,
            of.also,
            100.0 * share,
            of.counted,
            of.beyond.abs() / 1e9,
        ));
    }
}

/// A model has room for one format's own scales.
fn say_scales(tally: &[(Format, u64)], own: Format, notes: &mut Vec<String>) {
    let off: f64 = tally
        .iter()
        .map(|(format, size)| {
            let plain = WeightFormat::plain(format.weights);
            let scale = if format.weights == own.weights {
                own.scale.or(plain.scale)
            } else {
                plain.scale
            };
            let counted = WeightFormat { scale, ..plain }.bytes_each();
            (each(Some(*format)) - counted) * real(*size)
        })
        .sum();
    if off.abs() >= 1e8 {
        notes.push(format!(
            "the checkpoint has several formats with scales of their own: {:.2} GB of scales are counted otherwise than stored",
            off.abs() / 1e9
        ));
    }
}
