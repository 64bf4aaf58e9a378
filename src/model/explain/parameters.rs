//! Parameters, part by part.

use super::expr::{Expr, ZERO, layers, n, named, of, plus, product, times};
use super::mixer::matrices;
use super::{Amount, Row, Section, grouped_by, label, over_layers};
use crate::model::derive::{layer_parameters, parameters};
use crate::model::{Ffn, Model, Moe};

/// Matrices of an MLP, in words.
fn mlp(gated: bool) -> Expr {
    of(if gated { 3 } else { 2 }, "matrices")
}

/// The matrices of one routed expert.
pub(super) fn expert(moe: &Moe, hidden: u64) -> Expr {
    times([
        mlp(!moe.ungated),
        n(moe.latent.unwrap_or(hidden)),
        n(moe.intermediate),
    ])
}

/// The parameters of a model.
pub(super) fn section(model: &Model) -> Section {
    let hidden = model.hidden;
    let all = parameters(model);
    let row = |what: &str, expr: &Expr| Row::of(what, expr, Amount::Parameters);
    let table = times([of(model.vocab, "tokens"), n(hidden)]);
    let mut rows = vec![row("Embedding", &table)];
    if !model.tied_embeddings {
        rows.push(row("LM head", &table));
    }
    for (attention, count) in grouped_by(model, |run| (!run.reused).then_some(&run.attention)) {
        let expr = times([layers(count), matrices(attention, hidden)]);
        rows.push(row(&format!("Attention · {}", label(attention)), &expr));
    }
    let part = |of: fn(&crate::model::LayerParameters) -> u64| {
        over_layers(model, |run| {
            if run.reused {
                return 0;
            }
            of(&layer_parameters(run, hidden))
        })
    };
    rows.push(row(
        "Attention · norms, convolutions, gates per head",
        &part(|p| p.attention_small),
    ));
    rows.push(row("Attention · biases", &part(|p| p.attention_bias)));
    for (ffn, count) in grouped_by(model, |run| (!run.reused).then_some(&run.ffn)) {
        for (what, expr) in ffn_rows(ffn, hidden) {
            rows.push(row(what, &times([layers(count), expr])));
        }
    }
    rows.push(row("Biases of MLPs and experts", &part(|p| p.ffn_bias)));
    let vectors = model.norm.vectors();
    let norms = grouped_by(model, |run| (!run.reused).then_some(run.norms))
        .into_iter()
        .map(|(norms, count)| times([layers(count), of(norms, "norms"), n(vectors), n(hidden)]));
    let last = named("last", times([n(vectors), n(hidden)]));
    rows.push(row("Norms", &Expr::Sum(norms.chain([last]).collect())));
    for extra in model.extras.iter().filter(|extra| extra.served) {
        rows.push(row(&sentence(&extra.name), &n(extra.parameters)));
    }
    let mut section = Section::summed("Parameters", rows, "Total", Amount::Parameters(all.total()));
    if all.routed_experts > 0 {
        section.beside.push(Row::new(
            "Active for a token",
            active_formula(model),
            Amount::Parameters(all.active()),
        ));
        section.notes.push(
            "Active counts the experts a token visits, embedding and head, and no router, as model cards do."
                .to_owned(),
        );
    }
    if all.mtp > 0 {
        section.beside.push(Row::new(
            "Beside it: MTP layers",
            "predict further tokens; not part of the served model",
            Amount::Parameters(all.mtp),
        ));
    }
    for extra in model.extras.iter().filter(|extra| !extra.served) {
        section.beside.push(Row::new(
            format!("Beside it: {}", extra.name),
            "not part of the served language model",
            Amount::Parameters(extra.parameters),
        ));
    }
    section
}

fn active_formula(model: &Model) -> String {
    use super::text::grouped;
    let all = parameters(model);
    let visited = model.moe().map_or(String::new(), |moe| {
        format!(" ({} of {} experts)", moe.top_k, moe.experts)
    });
    format!(
        "{} − routed {} − router {} + visited {}{visited}",
        grouped(all.total()),
        grouped(all.routed_experts),
        grouped(all.router),
        grouped(all.routed_experts_active)
    )
}

/// Parts of one layer's FFN: biases apart.
pub(super) fn ffn_rows(ffn: &Ffn, hidden: u64) -> Vec<(&'static str, Expr)> {
    match ffn {
        Ffn::Dense {
            intermediate,
            gated,
            ..
        } => vec![(
            "Dense FFN",
            times([mlp(*gated), n(hidden), n(*intermediate)]),
        )],
        Ffn::Moe(moe) => moe_rows(moe, hidden),
        Ffn::Matrix => vec![("FFN of one matrix", product([hidden, hidden]))],
        Ffn::None => Vec::new(),
    }
}

fn moe_rows(moe: &Moe, hidden: u64) -> Vec<(&'static str, Expr)> {
    let choices = moe.experts.saturating_add(moe.zero_experts);
    let per_choice = |on: bool, word| {
        if on { named(word, n(choices)) } else { ZERO }
    };
    let router = plus([
        product([hidden, choices]),
        per_choice(moe.router_bias, "correction"),
        per_choice(moe.bias, "bias"),
        if moe.shared_gate {
            named("gate of shared", n(hidden))
        } else {
            ZERO
        },
    ]);
    let shared = times([mlp(!moe.ungated), n(hidden), n(moe.shared_intermediate)]);
    let latent = moe
        .latent
        .map_or(ZERO, |width| times([n(2), n(hidden), n(width)]));
    vec![
        (
            "Routed experts",
            times([of(moe.experts, "experts"), expert(moe, hidden)]),
        ),
        ("Shared experts", shared),
        ("To and from latent experts", latent),
        ("Router", router),
    ]
}

fn sentence(name: &str) -> String {
    let mut chars = name.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}
