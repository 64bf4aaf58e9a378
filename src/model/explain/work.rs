//! What one token costs: FLOPs, bytes read, and FLOPs per byte of KV cache.
//!
//! The token is one of a decode of batch 1: MLA works on the latent (absorbed), every visited
//! weight is read once, and so is the cache the token attends to.

use super::expr::{Expr, layers, n, named, of, plus, times};
use super::text::grouped;
use super::weights::PARTS;
use super::{Amount, ExplainAt, Row, Section, grouped_by, label, over_layers};
use crate::catalog::Dtype;
use crate::model::derive::{
    Extent, attended, attention_flops, attention_flops_per_context_token, head_flops_per_token,
    layer_cache, layer_parameters, linear_flops_per_token, parameters, recurrence_flops,
    visited_experts,
};
use crate::model::{Attention, Ffn, Indexer, LayerRun, Model, Precision, Recurrent, WeightFormat};
use crate::units::real;

/// FLOPs of a token.
pub(super) fn flops(model: &Model, at: &ExplainAt) -> Section {
    let hidden = model.hidden;
    let row = |what: String, expr: &Expr| Row::of(what, expr, Amount::Flops);
    let twice =
        |of: fn(&LayerRun, u64) -> u64| times([n(2), over_layers(model, |run| of(run, hidden))]);
    let mut rows = vec![row(
        "Attention projections".to_owned(),
        &twice(|run, hidden| layer_parameters(run, hidden).attention),
    )];
    let mut total = linear_flops_per_token(model).saturating_add(head_flops_per_token(model));
    for (attention, count) in grouped_by(model, |run| Some(&run.attention)) {
        for (what, expr) in over_context(attention, at.context) {
            rows.push(row(
                format!("{} · {what}", label(attention)),
                &times([layers(count), expr]),
            ));
        }
        total = total
            .saturating_add(attention_flops(attention, true, at.context).saturating_mul(count));
    }
    rows.push(row(
        "Router".to_owned(),
        &twice(|run, hidden| hidden.saturating_mul(layer_parameters(run, hidden).experts)),
    ));
    let visited = grouped_by(model, |run| {
        let parts = layer_parameters(run, hidden);
        let visited = visited_experts(run, parts.routed_expert);
        Some((parts.top_k, parts.routed_expert, visited)).filter(|(top_k, _, _)| *top_k > 0)
    })
    .into_iter()
    .map(|((top_k, expert, visited), count)| {
        if top_k.saturating_mul(expert) == visited {
            times([layers(count), of(top_k, "experts"), n(expert)])
        } else {
            // Some choices do nothing: the expected share of real ones.
            times([layers(count), named("expected", n(visited))])
        }
    });
    rows.push(row(
        "Routed experts visited".to_owned(),
        &times([n(2), Expr::Sum(visited.collect())]),
    ));
    rows.push(row(
        "Shared experts".to_owned(),
        &twice(|run, hidden| layer_parameters(run, hidden).shared_experts),
    ));
    rows.push(row(
        "Dense FFN".to_owned(),
        &twice(|run, hidden| layer_parameters(run, hidden).dense_ffn),
    ));
    rows.push(row(
        "LM head".to_owned(),
        &times([n(2), n(hidden), of(model.vocab, "tokens")]),
    ));
    let mut section = Section::summed(
        format!(
            "FLOPs of a token after {} tokens of context",
            grouped(at.context)
        ),
        rows,
        "A token",
        Amount::Flops(total),
    );
    section.notes.push(
        "A multiply-add counts as two; norms, rotary embedding and activations are not counted."
            .to_owned(),
    );
    if model
        .layers
        .iter()
        .any(|run| matches!(run.attention, Attention::Mla(_)))
    {
        section.notes.push(
            "MLA as decode does it, on the latent itself; prefill unfolds keys and values and needs fewer."
                .to_owned(),
        );
    }
    section
}

/// What a query token does over its context, or to its state: parts of `attention_flops`.
fn over_context(attention: &Attention, context: u64) -> Vec<(&'static str, Expr)> {
    let entries = of(attended(attention, context), "entries");
    let scores = |indexer: Option<Indexer>, entries: u64| {
        indexer.filter(|own| !own.shared).map(|own| {
            let all = times([n(2), n(own.heads), n(own.dim), of(entries, "entries")]);
            ("index scores", all)
        })
    };
    let core = |each: Expr| ("scores and values", times([each, entries.clone()]));
    match attention {
        Attention::Gqa(gqa) => std::iter::once(core(of_gqa(gqa)))
            .chain(scores(gqa.indexer, context))
            .collect(),
        Attention::Mla(mla) => std::iter::once(core(of_mla(mla)))
            .chain(scores(mla.indexer, context))
            .collect(),
        Attention::Compressed(own) => {
            let each = times([n(4), of(own.heads, "heads"), n(own.head_dim)]);
            let compressed = context.checked_div(own.ratio).unwrap_or(0);
            std::iter::once(core(each))
                .chain(scores(own.indexer, compressed))
                .collect()
        }
        Attention::Recurrent(recurrent) => vec![update(recurrent)],
        Attention::Parallel {
            attention,
            recurrent,
        } => vec![core(of_gqa(attention)), update(recurrent)],
        Attention::Matrix | Attention::None => Vec::new(),
    }
}

fn of_gqa(gqa: &crate::model::Gqa) -> Expr {
    times([
        n(2),
        of(gqa.heads, "heads"),
        plus([n(gqa.head_dim), n(gqa.value_dim())]),
    ])
}

fn of_mla(mla: &crate::model::Mla) -> Expr {
    times([
        n(2),
        of(mla.heads, "heads"),
        plus([n(mla.kv_rank), n(mla.rope_dim), n(mla.kv_rank)]),
    ])
}

fn update(recurrent: &Recurrent) -> (&'static str, Expr) {
    ("state update", n(recurrence_flops(recurrent)))
}

/// Bytes a token reads.
pub(super) fn bytes(model: &Model, precision: Precision, at: &ExplainAt) -> Section {
    let quantization = model.quantization.as_ref();
    let mut rows = Vec::new();
    for part in &PARTS {
        let (mut total, mut count, mut name) = (0_u64, 0_u64, String::new());
        for run in &model.layers {
            let whole = (part.count)(run, model.hidden);
            let read = match &run.ffn {
                Ffn::Moe(moe) if part.name == "Routed experts" => {
                    name = format!("Routed experts visited, {} of {}", moe.top_k, moe.experts);
                    let one = layer_parameters(run, model.hidden).routed_expert;
                    visited_experts(run, one)
                }
                _ => whole,
            }
            .saturating_mul(u64::from(run.count));
            let format = part.format(run, precision, quantization);
            total = total.saturating_add(format.bytes(read).get());
            count = count.saturating_add(read);
        }
        if name.is_empty() {
            name = part.name.to_owned();
        }
        rows.push(Row::new(
            name,
            format!("{} weights", grouped(count)),
            Amount::Bytes(total),
        ));
    }
    let all = parameters(model);
    let wide = WeightFormat::plain(Dtype::Bf16);
    let small = all
        .norms
        .saturating_add(all.attention_small)
        .saturating_add(all.attention_bias);
    let table = model.vocab.saturating_mul(model.hidden);
    let head = WeightFormat::plain(quantization.and_then(|own| own.head).unwrap_or(Dtype::Bf16));
    for (name, count, format) in [
        ("Router", all.router, wide),
        ("Norms and small parts", small, wide),
        ("LM head", table, head),
        ("One row of the embedding", model.hidden, wide),
    ] {
        rows.push(Row::new(
            name,
            format!("{} weights", grouped(count)),
            Amount::Bytes(format.bytes(count).get()),
        ));
    }
    for (attention, count) in grouped_by(model, |run| Some(&run.attention)) {
        for (what, entries, entry) in cache_reads(attention, precision.kv, at.context) {
            let noun = if entries == 1 { "states" } else { "entries" };
            rows.push(Row::of(
                format!("{} · {what}", label(attention)),
                &times([layers(count), of(entries, noun), of(entry, "B")]),
                Amount::Bytes,
            ));
        }
    }
    let total = rows
        .iter()
        .filter_map(|row| row.value.count())
        .fold(0, u64::saturating_add);
    let mut section = Section::summed(
        format!(
            "Bytes read for a token after {} tokens of context",
            grouped(at.context)
        ),
        rows,
        "A token, batch 1",
        Amount::Bytes(total),
    );
    section.notes.push(
        "Weights are shared by all sequences of a batch; the cache is each one's own.".to_owned(),
    );
    section
}

/// What a token reads of a layer's cache: (what, entries, bytes of one).
fn cache_reads(attention: &Attention, kv: Dtype, context: u64) -> Vec<(&'static str, u64, u64)> {
    // A layer without a cache of its own reads another's of the same shape.
    let mut reads = attention.clone();
    if let Attention::Gqa(gqa) = &mut reads {
        gqa.shares_kv = false;
    }
    let chosen = |indexer: Option<Indexer>, entries: u64| {
        indexer.map_or(entries, |own| entries.min(own.top_k))
    };
    layer_cache(&reads, kv, 1)
        .into_iter()
        .map(|part| {
            let entries = part.extent.entries(context);
            let entries = match (&reads, part.name, part.extent) {
                (_, "index keys", _) | (_, _, Extent::Once | Extent::Last(_)) => entries,
                (Attention::Gqa(gqa), ..) => chosen(gqa.indexer, entries),
                (Attention::Mla(mla), ..) => chosen(mla.indexer, entries),
                (Attention::Compressed(own), ..) => chosen(own.indexer, entries),
                _ => entries,
            };
            (part.name, entries, part.entry_bytes().get())
        })
        .collect()
}

/// FLOPs per byte of the cache a token attends to, by kind of attention; none: nothing attends.
pub(super) fn intensity(model: &Model, kv: Dtype) -> Option<Section> {
    let mut rows: Vec<Row> = Vec::new();
    for (attention, _) in grouped_by(model, |run| Some(&run.attention)) {
        let flops = attention_flops_per_context_token(attention, true);
        // An entry of what is attended to: index keys and states are not.
        let entry = cache_reads(attention, kv, u64::MAX)
            .into_iter()
            .find(|(name, ..)| *name != "index keys" && !name.ends_with("state"))
            .map_or(0, |(_, _, bytes)| bytes);
        if flops == 0 || entry == 0 {
            continue;
        }
        let expr = match attention {
            Attention::Gqa(gqa) | Attention::Parallel { attention: gqa, .. } => of_gqa(gqa),
            Attention::Mla(mla) => of_mla(mla),
            _ => n(flops),
        };
        let (a, b) = (real(flops), real(entry));
        let row = Row::new(
            label(attention),
            format!("{} FLOP / {} B of an entry", expr, grouped(entry)),
            Amount::Intensity(a / b),
        );
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return None;
    }
    let mut section = Section::listed(
        format!("Arithmetic intensity of decode attention, {} KV", kv.name()),
        rows,
    );
    section.notes.push(
        "Below a GPU's FLOPs per byte, attention waits for memory; a batch does not raise it."
            .to_owned(),
    );
    Some(section)
}
