//! Attention over a window and a compressed past (DeepSeek-V4).

use super::ImportError;
use super::attention::heads;
use super::context::Context;
use super::fields::whole;
use super::indexer;
use super::json::describe;
use super::keys;
use crate::model::check::{MOST_TOKENS, MOST_WIDE};
use crate::model::{Attention, Compressed};

/// The ratio at which an indexer picks entries (CSA); at others all are attended to (HCA).
const INDEXED: u64 = 4;

/// The attention of every layer, where the file describes this kind.
pub(super) fn read(context: &Context<'_, '_>) -> Result<Option<Vec<Attention>>, ImportError> {
    let Some(ratios) = ratios(context)? else {
        return Ok(None);
    };
    let fields = context.fields;
    let need = |keys: &[&'static str], most: u64| match fields.size(keys, 1, most)? {
        Some(value) => Ok(value),
        None => Err(fields.missing(
            keys.first().copied().unwrap_or_default(),
            "compressed attention depends on it",
        )),
    };
    // Part of head_dim, and one latent for all heads.
    for key in [
        "qk_nope_head_dim",
        "qk_rope_head_dim",
        "num_key_value_heads",
        "compress_rope_theta",
    ] {
        fields.value(key);
    }
    let own = Compressed {
        heads: heads(context)?,
        head_dim: need(keys::HEAD_DIM, MOST_WIDE)?,
        q_rank: need(keys::Q_RANK, MOST_WIDE)?,
        out_groups: need(&["o_groups"], MOST_WIDE)?,
        out_rank: need(&["o_lora_rank"], MOST_WIDE)?,
        window: need(keys::WINDOW, MOST_TOKENS)?,
        ratio: 0,
        indexer: None,
    };
    let index = indexer::stated(context)?;
    Ok(Some(
        ratios
            .into_iter()
            .map(|ratio| {
                Attention::Compressed(Compressed {
                    ratio,
                    indexer: index.filter(|_| ratio == INDEXED),
                    ..own.clone()
                })
            })
            .collect(),
    ))
}

/// Tokens per entry, layer by layer: numbers, or words and a number for each word.
fn ratios(context: &Context<'_, '_>) -> Result<Option<Vec<u64>>, ImportError> {
    let fields = context.fields;
    if let Some(list) = context.per_layer(fields, "compress_ratios")? {
        let path = fields.path("compress_ratios");
        return list
            .iter()
            .map(|item| whole(item, &path, 0, MOST_WIDE))
            .collect::<Result<Vec<u64>, _>>()
            .map(Some);
    }
    let Some(rates) = fields.section("compress_rates")? else {
        return Ok(None);
    };
    let Some(list) = context.per_layer(fields, "layer_types")? else {
        return Err(fields.missing("layer_types", "it says how each layer compresses its past"));
    };
    list.iter()
        .map(|item| match item.as_str() {
            Some("sliding_attention") => Ok(0),
            Some(word) => rates
                .whole(word, 0, MOST_WIDE)?
                .ok_or_else(|| rates.missing(word, "a layer compresses its past by it")),
            None => Err(ImportError::Wrong {
                path: fields.path("layer_types"),
                found: describe(item),
                expected: "a kind of layer per layer",
            }),
        })
        .collect::<Result<Vec<u64>, _>>()
        .map(Some)
}
