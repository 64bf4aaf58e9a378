//! The small heads that pick the tokens sparse attention attends to.

use super::ImportError;
use super::context::Context;
use super::fields::whole;
use super::json::describe;
use crate::model::Indexer;
use crate::model::check::{MOST_TOKENS, MOST_WIDE};
use serde_json::Value;

/// DeepSeek sparse attention (V3.2): `index_*`, in every layer unless `indexer_types` says that it
/// uses an earlier layer's choice.
pub(super) fn of_mla(context: &Context<'_, '_>) -> Result<Vec<Option<Indexer>>, ImportError> {
    let Some(own) = stated(context)? else {
        return Ok(Vec::new());
    };
    let fields = context.fields;
    let Some(kinds) = context.per_layer(fields, "indexer_types")? else {
        return Ok(vec![Some(own); context.layers]);
    };
    kinds
        .iter()
        .map(|kind| match kind.as_str() {
            Some("full") => Ok(Some(own)),
            Some("shared") => Ok(Some(Indexer {
                shared: true,
                ..own
            })),
            _ => Err(ImportError::Wrong {
                path: fields.path("indexer_types"),
                found: describe(kind),
                expected: "“full” or “shared” per layer",
            }),
        })
        .collect()
}

/// The shape `index_n_heads`, `index_head_dim` and `index_topk` state.
pub(super) fn stated(context: &Context<'_, '_>) -> Result<Option<Indexer>, ImportError> {
    let fields = context.fields;
    let heads = fields.whole("index_n_heads", 1, MOST_WIDE)?;
    let dim = fields.whole("index_head_dim", 1, MOST_WIDE)?;
    let mut top_k = fields.whole("index_topk", 1, MOST_TOKENS)?;
    let blocks = fields.whole("index_topk_blocks", 1, MOST_TOKENS)?;
    let block = fields.whole("index_block_size", 1, MOST_TOKENS)?;
    if let (Some(blocks), Some(block)) = (blocks, block) {
        top_k = top_k.or(Some(blocks.saturating_mul(block)));
    }
    let default = |key: &str, own: Option<u64>| own.or_else(|| context.class_default(key));
    let heads = default("index_n_heads", heads);
    let dim = default("index_head_dim", dim);
    let top_k = default("index_topk", top_k);
    let missing = |key: &str| fields.missing(key, "the indexer's shape depends on it");
    match (heads, dim, top_k) {
        (None, None, None) => Ok(None),
        (Some(heads), Some(dim), Some(top_k)) => Ok(Some(Indexer {
            heads,
            dim,
            top_k,
            shared: false,
            by_blocks: blocks.is_some() || context.family.name.starts_with("minimax_m3"),
        })),
        (None, ..) => Err(missing("index_n_heads")),
        (_, None, _) => Err(missing("index_head_dim")),
        (.., None) => Err(missing("index_topk")),
    }
}

/// MiniMax-M3: heads that score blocks, in the layers a list names.
pub(super) fn of_gqa(context: &Context<'_, '_>) -> Result<Vec<Option<Indexer>>, ImportError> {
    let Some(section) = context.fields.section("sparse_attention_config")? else {
        if context.family.name.starts_with("minimax_m3") {
            return Ok(of_words(context, stated(context)?)?.unwrap_or_default());
        }
        return of_mla(context);
    };
    if section.flag("use_sparse_attention")? == Some(false) {
        return Ok(Vec::new());
    }
    let need = |key: &str, most: u64| match section.whole(key, 1, most)? {
        Some(value) => Ok(value),
        None => Err(section.missing(key, "the indexer's shape depends on it")),
    };
    let blocks = need("sparse_topk_blocks", MOST_TOKENS)?;
    let own = Indexer {
        heads: need("sparse_num_index_heads", MOST_WIDE)?,
        dim: need("sparse_index_dim", MOST_WIDE)?,
        top_k: blocks
            .saturating_mul(need("sparse_block_size", MOST_TOKENS)?)
            .min(MOST_TOKENS),
        shared: false,
        by_blocks: true,
    };
    let Some(list) = context.per_layer(&section, "sparse_attention_freq")? else {
        if let Some(layers) = of_words(context, Some(own))? {
            return Ok(layers);
        }
        return Ok(vec![Some(own); context.layers]);
    };
    list.iter()
        .map(|flag| {
            let on = whole(flag, &section.path("sparse_attention_freq"), 0, 1)? == 1;
            Ok(on.then_some(own))
        })
        .collect()
}

/// MiniMax-M3's `layer_types` name the layers with an indexer; none: there are no such words.
fn of_words(
    context: &Context<'_, '_>,
    own: Option<Indexer>,
) -> Result<Option<Vec<Option<Indexer>>>, ImportError> {
    let words = context.per_layer(context.fields, "layer_types")?;
    Ok(words.map(|words| {
        let sparse = |word: &Value| word.as_str().is_some_and(|word| word.contains("sparse"));
        words
            .iter()
            .map(|word| own.filter(|_| sparse(word)))
            .collect()
    }))
}
