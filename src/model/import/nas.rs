//! Blocks found by architecture search (Llama-Nemotron, arXiv 2505.00949): each layer's attention
//! and MLP has a width of its own, is one matrix, or isn't there.

use super::ImportError;
use super::attention;
use super::context::Context;
use super::ffn::{gated, scaled};
use super::fields::Fields;
use super::json::describe;
use crate::model::check::{MOST_TOKENS, MOST_WIDE};
use crate::model::{Attention, Ffn, Gqa, LayerRun, Span};
use serde_json::Value;

/// MLPs are as wide as the next multiple of this.
const MULTIPLE: u64 = 256;

pub(super) fn read(context: &Context<'_, '_>) -> Result<Vec<LayerRun>, ImportError> {
    let fields = context.fields;
    let Some(list) = context.per_layer(fields, "block_configs")? else {
        return Err(fields.missing("block_configs", "it describes the layers"));
    };
    let heads = attention::heads(context)?;
    let base = attention::base(context, heads)?;
    let gated = gated(context)?;
    // What a block doesn't override.
    let whole = fields.whole("intermediate_size", 1, MOST_WIDE)?;
    list.iter()
        .enumerate()
        .map(|(layer, item)| {
            let path = format!("{}.{layer}", fields.path("block_configs"));
            let Value::Object(map) = item else {
                return Err(ImportError::NotAnObject {
                    path,
                    found: describe(item),
                });
            };
            let block = Fields::new(map, &format!("{path}."));
            let attention = attention_of(&block, &base)?;
            let ffn = ffn_of(context, &block, whole, gated)?;
            let norms = u64::from(attention != Attention::None) + u64::from(ffn != Ffn::None);
            Ok(LayerRun {
                norms,
                ..LayerRun::new(1, attention, ffn)
            })
        })
        .collect()
}

fn attention_of(block: &Fields<'_>, base: &Gqa) -> Result<Attention, ImportError> {
    let Some(own) = block.section("attention")? else {
        return Err(block.missing("attention", "the block's shape depends on it"));
    };
    if own.flag("no_op")? == Some(true) {
        return Ok(Attention::None);
    }
    if own.flag("replace_with_linear")? == Some(true) {
        return Ok(Attention::Matrix);
    }
    let heads = base.heads;
    let kv_heads = match own.whole("n_heads_in_group", 1, heads)? {
        Some(group) if heads.is_multiple_of(group) => heads / group,
        Some(group) => {
            return Err(ImportError::Contradiction {
                first: format!("num_attention_heads ({heads})"),
                second: format!("{} ({group})", own.path("n_heads_in_group")),
                why: "each key-value head serves equally many query heads",
            });
        }
        None => own.whole("num_key_value_heads", 1, heads)?.ok_or_else(|| {
            own.missing("n_heads_in_group", "the size of the KV cache depends on it")
        })?,
    };
    let span = own
        .whole("window_length", 1, MOST_TOKENS)?
        .map_or(Span::Full, Span::Window);
    Ok(Attention::Gqa(Gqa {
        kv_heads,
        span,
        ..base.clone()
    }))
}

fn ffn_of(
    context: &Context<'_, '_>,
    block: &Fields<'_>,
    whole: Option<u64>,
    gated: bool,
) -> Result<Ffn, ImportError> {
    let Some(own) = block.section("ffn")? else {
        return Err(block.missing("ffn", "the block's shape depends on it"));
    };
    if own.flag("no_op")? == Some(true) {
        return Ok(Ffn::None);
    }
    if own.flag("replace_with_linear")? == Some(true) {
        return Ok(Ffn::Matrix);
    }
    let stated = own.whole("intermediate_size", 1, MOST_WIDE)?;
    let intermediate = match (stated, own.value("ffn_mult"), whole) {
        (Some(width), ..) => width,
        (None, Some(Value::Number(factor)), _) => {
            let factor = factor
                .as_f64()
                .filter(|factor| (0.001..=1000.0).contains(factor))
                .ok_or_else(|| ImportError::Wrong {
                    path: own.path("ffn_mult"),
                    found: factor.to_string(),
                    expected: "a factor from 0.001 to 1000",
                })?;
            let width = scaled(context.hidden, 2.0 * factor / 3.0);
            width.div_ceil(MULTIPLE).saturating_mul(MULTIPLE)
        }
        (None, Some(other), _) => {
            return Err(ImportError::Wrong {
                path: own.path("ffn_mult"),
                found: describe(other),
                expected: "a factor",
            });
        }
        (None, None, Some(width)) => width,
        (None, None, None) => {
            return Err(own.missing("ffn_mult", "the block's width depends on it"));
        }
    };
    Ok(Ffn::Dense {
        intermediate,
        gated,
        bias: false,
    })
}
