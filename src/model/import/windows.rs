//! Layers that see part of the context: which, and how much of it.

use super::ImportError;
use super::context::Context;
use super::facts::Windows;
use super::fields::{Fields, whole};
use super::json::describe;
use super::keys;
use super::pattern::Kind;
use crate::model::Span;
use crate::model::check::{MOST_LAYERS, MOST_TOKENS};
use serde_json::Value;

/// Marks as read what a list of words goes before.
pub(super) fn skip(fields: &Fields<'_>) {
    for key in [
        "sliding_window_pattern",
        "_sliding_window_pattern",
        "full_attention_interval",
        "global_attn_every_n_layers",
        "max_window_layers",
        "use_sliding_window",
        "no_rope_layers",
        "no_rope_layer_interval",
        "layer_switch",
        "full_attn_idxs",
        "attn_layer_indices",
        "layer_group_size",
        "hybrid_layer_ids",
    ] {
        fields.value(key);
    }
}

/// Llama 4: layers with rotary positions see chunks, those without (every fourth) everything.
pub(super) fn chunked(context: &Context<'_, '_>) -> Result<Option<Vec<Kind>>, ImportError> {
    let fields = context.fields;
    let llama4 = context.family.is(&["llama4"]);
    let stated = fields.whole("attention_chunk_size", 0, MOST_TOKENS)?;
    let size = match stated {
        Some(size) if size > 0 => size,
        None if llama4 => {
            context.note("attention_chunk_size is missing: 8192, the default of llama4's class");
            8192
        }
        _ => return Ok(None),
    };
    let span = Kind::Local(narrow(context, Span::Chunk(size)));
    if let Some(list) = context.per_layer(fields, "no_rope_layers")? {
        fields.value("no_rope_layer_interval");
        return list
            .iter()
            .map(|item| {
                let rotary = whole(item, &fields.path("no_rope_layers"), 0, 1)? == 1;
                Ok(if rotary { span } else { Kind::Full })
            })
            .collect::<Result<Vec<Kind>, _>>()
            .map(Some);
    }
    let interval = fields.whole("no_rope_layer_interval", 1, MOST_LAYERS)?;
    let interval = match interval {
        Some(interval) => interval,
        None if llama4 => 4,
        None => {
            context.note(format!(
                "attention_chunk_size = {size} without a list of layers: all layers are taken as chunked"
            ));
            return Ok(Some(vec![span; context.layers]));
        }
    };
    Ok(Some(all_but(context.layers, span, interval)))
}

fn all_but(layers: usize, local: Kind, interval: u64) -> Vec<Kind> {
    let interval = usize::try_from(interval).unwrap_or(1).max(1);
    (0..layers)
        .map(|layer| {
            if (layer + 1).is_multiple_of(interval) {
                Kind::Full
            } else {
                local
            }
        })
        .collect()
}

/// Windows stated by a width and a rule.
pub(super) fn read(context: &Context<'_, '_>) -> Result<Vec<Kind>, ImportError> {
    let fields = context.fields;
    let layers = context.layers;
    // A period, or a word with a letter per layer of it: L sliding, G global.
    for key in ["sliding_window_pattern", "_sliding_window_pattern"] {
        match fields.value(key) {
            Some(Value::String(text)) if !text.is_empty() => {
                let local = Kind::Local(need_local(context)?);
                return text
                    .chars()
                    .cycle()
                    .take(layers)
                    .map(|letter| match letter {
                        'L' | 'l' => Ok(local),
                        'G' | 'g' => Ok(Kind::Full),
                        _ => Err(ImportError::Wrong {
                            path: fields.path(key),
                            found: describe(&Value::from(text.as_str())),
                            expected: "letters L (sliding) and G (global)",
                        }),
                    })
                    .collect();
            }
            Some(value) => {
                let interval = whole(value, &fields.path(key), 0, MOST_LAYERS)?;
                if interval > 0 {
                    skip(fields);
                    return Ok(all_but(layers, Kind::Local(need_local(context)?), interval));
                }
            }
            None => {}
        }
    }
    for key in ["layer_switch", "global_attn_every_n_layers"] {
        if let Some(interval) = fields.whole(key, 1, MOST_LAYERS)? {
            return Ok(all_but(layers, Kind::Local(need_local(context)?), interval));
        }
    }
    let switch = fields.flag("use_sliding_window")?;
    let first = fields.whole("max_window_layers", 0, MOST_LAYERS)?;
    if switch == Some(false) {
        fields.size(keys::WINDOW, 0, MOST_TOKENS)?;
        return Ok(vec![Kind::Full; layers]);
    }
    match context.family.facts.windows {
        Windows::But(interval) if !context.family.is(&["llama4"]) => {
            let stated = context.fields.has("sliding_window")
                || context.class_default("sliding_window").is_some();
            if !stated && local(context)?.is_none() {
                return Ok(vec![Kind::Full; layers]);
            }
            let local = Kind::Local(need_local(context)?);
            context.note(format!(
                "which layers see a window is not stated: one in {interval} sees everything, as in {}'s class",
                context.family.name
            ));
            Ok(all_but(layers, local, interval))
        }
        Windows::Switched => {
            let local = local(context)?.filter(|_| switch == Some(true));
            let first = first
                .and_then(|first| usize::try_from(first).ok())
                .unwrap_or(28);
            Ok((0..layers)
                .map(|layer| match local {
                    Some(span) if layer >= first => Kind::Local(span),
                    _ => Kind::Full,
                })
                .collect())
        }
        Windows::All | Windows::But(_) => Ok(vec![
            match local(context)? {
                Some(span) => Kind::Local(span),
                None => Kind::Full,
            };
            layers
        ]),
    }
}

/// A window as wide as the longest context is none.
fn narrow(context: &Context<'_, '_>, span: Span) -> Span {
    match span.cap() {
        Some(tokens) if tokens < context.max_context => span,
        _ => Span::Full,
    }
}

/// The window the file states.
pub(super) fn local(context: &Context<'_, '_>) -> Result<Option<Span>, ImportError> {
    let window = context.fields.size(keys::WINDOW, 0, MOST_TOKENS)?;
    Ok(window
        .filter(|tokens| *tokens > 0)
        .map(|tokens| narrow(context, Span::Window(tokens))))
}

pub(super) fn need_local(context: &Context<'_, '_>) -> Result<Span, ImportError> {
    if let Some(span) = local(context)? {
        return Ok(span);
    }
    match context.class_default("sliding_window") {
        Some(tokens) => Ok(narrow(context, Span::Window(tokens))),
        None => Err(context.fields.missing(
            "sliding_window",
            "some layers see only a window of this width",
        )),
    }
}

pub(super) fn need_chunk(context: &Context<'_, '_>) -> Result<Span, ImportError> {
    let fields = context.fields;
    match fields.whole("attention_chunk_size", 1, MOST_TOKENS)? {
        Some(tokens) => Ok(narrow(context, Span::Chunk(tokens))),
        None => Err(fields.missing(
            "attention_chunk_size",
            "some layers see only a chunk of this width",
        )),
    }
}
