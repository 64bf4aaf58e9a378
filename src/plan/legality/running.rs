//! What this version can't simulate of what it can import.

use crate::model::{Attention, Indexer, Model, Span};

/// Most different windows, chunks and choices of an indexer a model's layers may have: every lane
/// keeps sums for each. Published models have three at most.
const MOST_SPANS: usize = 16;

/// Why this version can't run a model it can import; none: it can.
pub(in crate::plan) fn not_run(model: &Model) -> Option<String> {
    let gqa = |attention: &Attention| match attention {
        Attention::Gqa(gqa) | Attention::Parallel { attention: gqa, .. } => Some(gqa.clone()),
        _ => None,
    };
    let attentions = || model.layers.iter().filter_map(|run| gqa(&run.attention));
    if attentions().any(|gqa| gqa.indexer.is_some() && matches!(gqa.span, Span::Chunk(_))) {
        return Some(format!(
            "{} has layers in which an indexer chooses inside a chunk: this version can't simulate them",
            model.name
        ));
    }
    let mut spans: Vec<u64> = model
        .layers
        .iter()
        .flat_map(|run| layer_spans(&run.attention))
        .collect();
    spans.sort_unstable();
    spans.dedup();
    (spans.len() > MOST_SPANS).then(|| {
        format!(
            "{} has layers of {} different spans: this version simulates up to {MOST_SPANS}",
            model.name,
            spans.len()
        )
    })
}

/// Lengths at which what a layer sees stops growing.
fn layer_spans(attention: &Attention) -> Vec<u64> {
    let chosen = |indexer: &Option<Indexer>, ratio: u64| {
        indexer.map(|own| own.top_k.saturating_mul(ratio.max(1)))
    };
    match attention {
        Attention::Gqa(own) | Attention::Parallel { attention: own, .. } => {
            [own.span.cap(), chosen(&own.indexer, 1)]
                .into_iter()
                .flatten()
                .collect()
        }
        Attention::Mla(own) => chosen(&own.indexer, 1).into_iter().collect(),
        Attention::Compressed(own) => [Some(own.window), chosen(&own.indexer, own.ratio)]
            .into_iter()
            .flatten()
            .collect(),
        Attention::Recurrent(_) | Attention::Matrix | Attention::None => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
