//! Bytes of the weights, by part and by precision.

use super::text::grouped;
use super::{Amount, Row, Section, own_precision};
use crate::catalog::Dtype;
use crate::model::derive::{layer_parameters, parameters, weight_bytes};
use crate::model::{LayerRun, Model, Precision, Quantization, WeightFormat};

/// A part of a layer that has a format.
pub(super) struct Part {
    pub(super) name: &'static str,
    /// Its parameters in one layer.
    pub(super) count: fn(&LayerRun, u64) -> u64,
    /// What the checkpoint keeps it in.
    pub(super) kept: fn(&LayerRun) -> Option<Dtype>,
}

/// The parts whose matrices have a format, as `derive` tells them apart.
pub(super) const PARTS: [Part; 4] = [
    Part {
        name: "Attention",
        count: |run, hidden| layer_parameters(run, hidden).attention,
        kept: |run| run.kept.attention,
    },
    Part {
        name: "Dense FFN",
        count: |run, hidden| layer_parameters(run, hidden).dense_ffn,
        kept: |run| run.kept.dense_ffn,
    },
    Part {
        name: "Routed experts",
        count: |run, hidden| {
            let parts = layer_parameters(run, hidden);
            parts.routed_expert.saturating_mul(parts.experts)
        },
        kept: |run| run.kept.routed_experts,
    },
    Part {
        name: "Shared experts",
        count: |run, hidden| layer_parameters(run, hidden).shared_experts,
        kept: |run| run.kept.shared_experts,
    },
];

impl Part {
    pub(super) fn format(
        &self,
        run: &LayerRun,
        precision: Precision,
        quantization: Option<&Quantization>,
    ) -> WeightFormat {
        WeightFormat::of((self.kept)(run).unwrap_or(precision.weights), quantization)
    }
}

/// `1,000 × 1 B`, or with scales `1,000 × 4 bits + 8 bits of scale per 16`.
pub(super) fn in_format(count: u64, format: WeightFormat) -> String {
    let count = grouped(count);
    let bits = format.dtype.bits();
    match format.scale {
        None if bits.is_multiple_of(8) => format!("{count} × {} B", bits / 8),
        None => format!("{count} × {bits} bits"),
        Some(scale) => format!(
            "{count} × {bits} bits + {} bits of scale per {}",
            scale.bits,
            grouped(scale.per)
        ),
    }
}

/// Bytes by part in one precision.
pub(super) fn by_part(model: &Model, precision: Precision) -> Section {
    let all = parameters(model);
    let quantization = model.quantization.as_ref();
    let mut rows = Vec::new();
    for part in &PARTS {
        // By format: (format, parameters, bytes), rounded layer by layer as `derive` does.
        let mut formats: Vec<(WeightFormat, u64, u64)> = Vec::new();
        for run in model.layers.iter().filter(|run| !run.reused) {
            let count = (part.count)(run, model.hidden).saturating_mul(u64::from(run.count));
            let format = part.format(run, precision, quantization);
            let bytes = format.bytes(count).get();
            match formats.iter_mut().find(|(known, _, _)| *known == format) {
                Some((_, counts, total)) => {
                    *counts = counts.saturating_add(count);
                    *total = total.saturating_add(bytes);
                }
                None => formats.push((format, count, bytes)),
            }
        }
        for (format, count, bytes) in formats {
            rows.push(Row::new(
                format!("{} · {}", part.name, format.dtype.name()),
                in_format(count, format),
                Amount::Bytes(bytes),
            ));
        }
    }
    let head = WeightFormat::plain(quantization.and_then(|own| own.head).unwrap_or(Dtype::Bf16));
    rows.push(Row::new(
        format!("LM head · {}", head.dtype.name()),
        in_format(all.lm_head, head),
        Amount::Bytes(head.bytes(all.lm_head).get()),
    ));
    let wide = WeightFormat::plain(Dtype::Bf16);
    let small = all
        .attention_small
        .saturating_add(all.attention_bias)
        .saturating_add(all.ffn_bias);
    for (name, count) in [
        ("Embedding", all.embedding),
        ("Router", all.router),
        ("Norms", all.norms),
        ("Biases, convolutions, gates", small),
        ("Extras", all.extras),
    ] {
        rows.push(Row::new(
            format!("{name} · BF16"),
            in_format(count, wide),
            Amount::Bytes(wide.bytes(count).get()),
        ));
    }
    Section::summed(
        format!("Weight bytes, {}", precision.weights.name()),
        rows,
        "All weights, once",
        Amount::Bytes(weight_bytes(model, precision).get()),
    )
}

/// All weights in every precision people ask about.
pub(super) fn by_precision(model: &Model, chosen: Precision) -> Section {
    let own = model.quantization.map(|own| own.weights);
    let mut formats = vec![Dtype::Bf16, Dtype::Fp8, Dtype::Fp4];
    formats.extend(own.into_iter().chain([chosen.weights]));
    let mut seen: Vec<Dtype> = Vec::new();
    let mut rows = Vec::new();
    for weights in formats {
        if seen.contains(&weights) {
            continue;
        }
        seen.push(weights);
        let precision = Precision {
            weights,
            ..own_precision(model)
        };
        let checkpoint = own == Some(weights);
        let format = WeightFormat::of(weights, model.quantization.as_ref());
        let mut formula = format!("{} B per weight of a linear layer", each(format));
        if checkpoint {
            formula.push_str("; the checkpoint's own");
        }
        rows.push(Row::new(
            weights.name(),
            formula,
            Amount::Bytes(weight_bytes(model, precision).get()),
        ));
    }
    let mut section = Section::listed("Weight bytes by precision", rows);
    if model.layers.iter().any(|run| !run.kept.is_empty()) {
        section.notes.push(
            "Parts the checkpoint keeps in a format of their own stay in it whatever is chosen."
                .to_owned(),
        );
    }
    section
}

/// Bytes of a weight, without a tail of noughts.
fn each(format: WeightFormat) -> String {
    let text = format!("{:.6}", format.bytes_each());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
