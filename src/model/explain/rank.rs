//! What one rank of a layout holds: weights, and KV cache in blocks.

use super::cache::parts;
use super::expr::{Expr, layers, of, times};
use super::text::grouped;
use super::{Amount, ExplainAt, Row, Section, expr};
use crate::catalog::Dtype;
use crate::model::derive::{
    LayerWeights, embedding_bytes, head_bytes, kv_bytes_per_sequence_rank, kv_bytes_per_token_rank,
    layer_weights, parameters, weight_bytes,
};
use crate::model::{Attention, Model, Precision};
use crate::units::Bytes;

/// Weights of the fullest rank, one pipeline stage.
pub(super) fn weights(model: &Model, precision: Precision, at: &ExplainAt) -> Section {
    let shard = at.shard();
    let bytes = |of: fn(&LayerWeights) -> Bytes| {
        let mut groups: Vec<(u64, u64)> = Vec::new();
        for run in &model.layers {
            let own = of(&layer_weights(model, run, precision, shard)).get();
            let count = u64::from(run.count);
            match groups.iter_mut().find(|(known, _)| *known == own) {
                Some((_, so_far)) => *so_far = so_far.saturating_add(count),
                None => groups.push((own, count)),
            }
        }
        Expr::Sum(
            groups
                .into_iter()
                .filter(|(own, _)| *own > 0)
                .map(|(own, count)| times([layers(count), expr::of(own, "B")]))
                .collect(),
        )
    };
    let row = |what: String, expr: &Expr| Row::of(what, expr, Amount::Bytes);
    let stated =
        |what: &str, formula: String, bytes: u64| Row::new(what, formula, Amount::Bytes(bytes));
    let (tp, ep, moe_tp) = (at.tp.max(1), at.ep.max(1), at.moe_tp.max(1));
    let in_parts = |name: &str, parts: u64| match parts {
        1 => name.to_owned(),
        parts => format!("{name}, in {parts} parts"),
    };
    let experts = match (ep, moe_tp) {
        (1, moe_tp) => in_parts("Routed experts", moe_tp),
        (ep, 1) => format!("Routed experts, one of {ep} shares"),
        (ep, moe_tp) => format!("Routed experts, one of {ep} shares, each in {moe_tp} parts"),
    };
    let last = Bytes::new(
        2_u64
            .saturating_mul(model.norm.vectors())
            .saturating_mul(model.hidden),
    );
    let extras = 2_u64.saturating_mul(parameters(model).extras);
    let rows = vec![
        row(in_parts("Attention", tp), &bytes(|w| w.attention)),
        row(in_parts("Dense FFN", tp), &bytes(|w| w.dense_ffn)),
        row(experts, &bytes(|w| w.routed_experts)),
        row(in_parts("Shared experts", tp), &bytes(|w| w.shared_experts)),
        row("Router, on every rank".to_owned(), &bytes(|w| w.router)),
        row("Norms, on every rank".to_owned(), &bytes(|w| w.norms)),
        stated("Last norm", String::new(), last.get()),
        stated(
            "Embedding, vocabulary padded",
            format!("vocabulary in {tp} parts"),
            embedding_bytes(model, tp).get(),
        ),
        stated(
            "LM head, vocabulary padded",
            format!("vocabulary in {tp} parts"),
            head_bytes(model, tp).get(),
        ),
        stated("Extras, on every rank", String::new(), extras),
    ];
    let total = rows
        .iter()
        .filter_map(|row| row.value.count())
        .fold(0, u64::saturating_add);
    let mut section = Section::summed(
        format!("Weights of one rank, TP {tp} · EP {ep}"),
        rows,
        "The fullest rank",
        Amount::Bytes(total),
    );
    section.beside.push(Row::new(
        "All weights, once",
        "",
        Amount::Bytes(weight_bytes(model, precision).get()),
    ));
    section
        .notes
        .push("All layers on one rank: pipeline stages divide them.".to_owned());
    if tp > 1 {
        // What a latent's copies cost is told with the cache.
        let heads = replication(model, tp);
        let heads = heads.into_iter().filter(|note| note.contains("KV head"));
        section.notes.extend(heads);
    }
    section
}

/// KV cache of one rank at the given context, and in blocks.
pub(super) fn cache(model: &Model, kv: Dtype, at: &ExplainAt) -> Section {
    let tp = at.tp.max(1);
    let rows = parts(model, kv, tp)
        .iter()
        .map(|kept| kept.at(at.context))
        .collect();
    let total = kv_bytes_per_sequence_rank(&model.layers, kv, tp, at.context).get();
    let title = match tp {
        1 => "KV cache in blocks".to_owned(),
        tp => format!("KV cache of one rank, TP {tp}"),
    };
    let mut section = Section::summed(title, rows, "A sequence on one rank", Amount::Bytes(total));
    let token = kv_bytes_per_token_rank(&model.layers, kv, tp).get();
    let block = at.block_size.max(1);
    if tp > 1 {
        let ranks = times([of(tp, "ranks"), of(total, "B")]);
        section.beside.extend([
            Row::new("A token on one rank", "", Amount::Bytes(token)),
            Row::of("A sequence on all ranks", &ranks, Amount::Bytes),
        ]);
    } else {
        // The parts are those of the section before.
        section.rows.clear();
        section.total = None;
    }
    if token > 0 {
        let bytes = times([of(block, "tokens"), of(token, "B")]);
        section.beside.extend([
            Row::of("A block", &bytes, Amount::Bytes),
            Row::new(
                "Blocks of the sequence",
                format!(
                    "{} tokens / {} tokens, rounded up",
                    grouped(at.context),
                    grouped(block)
                ),
                Amount::Blocks(at.context.div_ceil(block)),
            ),
        ]);
    }
    if tp > 1 {
        section.notes.extend(replication(model, tp));
    }
    section
}

/// Which keys, values and latents exist more than once, one sentence per kind of layer.
fn replication(model: &Model, tp: u64) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for run in &model.layers {
        let words = match &run.attention {
            Attention::Gqa(gqa) | Attention::Parallel { attention: gqa, .. }
                if gqa.kv_heads < tp && !gqa.shares_kv =>
            {
                heads_on_ranks(gqa.kv_heads, tp)
            }
            Attention::Gqa(gqa) | Attention::Parallel { attention: gqa, .. }
                if !gqa.kv_heads.is_multiple_of(tp) && !gqa.shares_kv =>
            {
                format!(
                    "{} KV heads on {tp} ranks: the fullest has {}.",
                    gqa.kv_heads,
                    gqa.kv_heads.div_ceil(tp)
                )
            }
            Attention::Mla(_) => {
                format!("MLA's latent is one for all heads: each of {tp} ranks keeps all of it.")
            }
            Attention::Compressed(_) => format!(
                "Window and compressed entries are one for all heads: each of {tp} ranks keeps all of them."
            ),
            _ => continue,
        };
        if !said.contains(&words) {
            said.push(words);
        }
    }
    said
}

/// `4 KV heads on 8 ranks: each twice.`
fn heads_on_ranks(heads: u64, tp: u64) -> String {
    let (noun, each) = if heads == 1 {
        ("KV head", "it is there")
    } else {
        ("KV heads", "each")
    };
    let copies = tp.div_ceil(heads.max(1));
    let times = match copies {
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    };
    if tp.is_multiple_of(heads.max(1)) {
        format!("{heads} {noun} on {tp} ranks: {each} {times}.")
    } else {
        format!("{heads} {noun} on {tp} ranks: {each} up to {times}.")
    }
}
