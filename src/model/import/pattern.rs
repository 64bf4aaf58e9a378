//! Which mixer each layer has: the dozen ways files say it.

use super::ImportError;
use super::context::Context;
use super::family::Windows;
use super::fields::{Fields, whole};
use super::json::describe;
use super::keys;
use crate::model::Span;
use crate::model::check::{MOST_LAYERS, MOST_TOKENS};
use serde_json::Value;

/// A layer's mixer, by its place in the pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Attention over the whole context.
    Full,
    /// Attention over part of it.
    Local(Span),
    /// Linear attention, state space, convolution: whatever the file describes.
    Recurrent,
    /// Attention and recurrence side by side.
    Parallel,
}

/// Words of `layer_types` and its like.
const WORDS: &[(&str, Word)] = &[
    ("full_attention", Word::Full),
    ("attention", Word::Full),
    ("global_attention", Word::Full),
    ("global", Word::Full),
    ("full", Word::Full),
    ("indexed_attention", Word::Full),
    ("sparse_attention", Word::Full),
    ("sliding_attention", Word::Sliding),
    ("local_attention", Word::Sliding),
    ("sliding", Word::Sliding),
    ("local", Word::Sliding),
    ("chunked_attention", Word::Chunked),
    ("linear_attention", Word::Recurrent),
    ("mamba", Word::Recurrent),
    ("mamba2", Word::Recurrent),
    ("recurrent", Word::Recurrent),
    ("conv", Word::Recurrent),
    ("kda", Word::Recurrent),
    ("gated_deltanet", Word::Recurrent),
    ("hybrid", Word::Parallel),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Full,
    Sliding,
    Chunked,
    Recurrent,
    Parallel,
}

/// The kind of every layer.
pub(super) fn read(context: &Context<'_, '_>) -> Result<Vec<Kind>, ImportError> {
    let fields = context.fields;
    if let Some(kinds) = named(context)? {
        return Ok(kinds);
    }
    if let Some(kinds) = flagged(context)? {
        return Ok(kinds);
    }
    if let Some(full) = full_layers(context)? {
        return Ok((0..context.layers)
            .map(|layer| {
                if full(layer) {
                    Kind::Full
                } else {
                    Kind::Recurrent
                }
            })
            .collect());
    }
    if context.family.is(&["falcon_h1"]) {
        return Ok(vec![Kind::Parallel; context.layers]);
    }
    if context.family.is(&[
        "mamba",
        "mamba2",
        "falcon_mamba",
        "rwkv",
        "rwkv5",
        "rwkv6",
        "rwkv7",
        "xlstm",
    ]) {
        return Ok(vec![Kind::Recurrent; context.layers]);
    }
    if let Some(kinds) = chunked(context)? {
        return Ok(kinds);
    }
    windows(context, fields)
}

/// Layers named by a word each.
fn named(context: &Context<'_, '_>) -> Result<Option<Vec<Kind>>, ImportError> {
    for key in ["layer_types", "layers_block_type"] {
        if let Some(list) = context.per_layer(context.fields, key)? {
            // What they say once more.
            skip(context.fields);
            return words(context, key, list).map(Some);
        }
    }
    // Repeated over the layers.
    if let Some(list) = context
        .fields
        .list("block_types")?
        .filter(|list| !list.is_empty())
    {
        let one = words(context, "block_types", list)?;
        // RecurrentGemma's attention is over a window.
        let local = local(context)?;
        let kinds = one.iter().cycle().take(context.layers);
        return Ok(Some(
            kinds
                .map(|kind| match (kind, local) {
                    (Kind::Full, Some(span)) => Kind::Local(span),
                    _ => *kind,
                })
                .collect(),
        ));
    }
    Ok(None)
}

/// Marks as read what a list of words goes before.
fn skip(fields: &Fields<'_>) {
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

fn words(context: &Context<'_, '_>, key: &str, list: &[Value]) -> Result<Vec<Kind>, ImportError> {
    let mut kinds = Vec::with_capacity(list.len());
    for item in list {
        let Some(text) = item.as_str() else {
            return Err(ImportError::Wrong {
                path: context.fields.path(key),
                found: describe(item),
                expected: "a kind of layer per layer",
            });
        };
        kinds.push(match word(context, key, text)? {
            Word::Full => Kind::Full,
            Word::Recurrent => Kind::Recurrent,
            Word::Parallel => Kind::Parallel,
            Word::Sliding => Kind::Local(need_local(context)?),
            Word::Chunked => Kind::Local(need_chunk(context)?),
        });
    }
    Ok(kinds)
}

/// A word that isn't known is read by its parts, which is said.
fn word(context: &Context<'_, '_>, key: &str, text: &str) -> Result<Word, ImportError> {
    if let Some((_, word)) = WORDS.iter().find(|(known, _)| *known == text) {
        return Ok(*word);
    }
    let has = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    let guess = if has(&["sliding", "window", "local"]) {
        Word::Sliding
    } else if has(&["chunk"]) {
        Word::Chunked
    } else if has(&["linear", "mamba", "delta", "recurrent", "conv", "ssm"]) {
        Word::Recurrent
    } else if has(&["attention", "attn", "full"]) {
        Word::Full
    } else {
        return Err(ImportError::Wrong {
            path: context.fields.path(key),
            found: describe(&Value::from(text)),
            expected: "a kind of layer (“full_attention”, “sliding_attention”, “linear_attention”, …)",
        });
    };
    context.note(format!(
        "{} “{}” is not known: read as {}",
        context.fields.path(key),
        text.chars().take(40).collect::<String>(),
        match guess {
            Word::Full | Word::Parallel => "attention over the whole context",
            Word::Sliding => "sliding-window attention",
            Word::Chunked => "chunked attention",
            Word::Recurrent => "the recurrent layer the file describes",
        }
    ));
    Ok(guess)
}

/// Layers flagged by 0 and 1.
fn flagged(context: &Context<'_, '_>) -> Result<Option<Vec<Kind>>, ImportError> {
    let fields = context.fields;
    let flags = |key: &str| -> Result<Option<Vec<bool>>, ImportError> {
        context
            .per_layer(fields, key)?
            .map(|list| {
                list.iter()
                    .map(|item| whole(item, &fields.path(key), 0, 1).map(|flag| flag == 1))
                    .collect()
            })
            .transpose()
    };
    // MiMo: 1 is a window.
    if let Some(flags) = flags("hybrid_layer_pattern")? {
        fields.value("attention_chunk_size");
        let local = if flags.contains(&true) {
            need_local(context)?
        } else {
            Span::Full
        };
        let kinds = flags.into_iter();
        return Ok(Some(
            kinds
                .map(|window| {
                    if window {
                        Kind::Local(local)
                    } else {
                        Kind::Full
                    }
                })
                .collect(),
        ));
    }
    // MiniMax: 1 is softmax attention, 0 linear.
    Ok(flags("attn_type_list")?.map(|flags| {
        let kinds = flags.into_iter();
        kinds
            .map(|full| if full { Kind::Full } else { Kind::Recurrent })
            .collect()
    }))
}

type Rule = Box<dyn Fn(usize) -> bool>;

/// Where a file says which layers attend, all others being recurrent.
fn full_layers(context: &Context<'_, '_>) -> Result<Option<Rule>, ImportError> {
    let fields = context.fields;
    let layers = context.layers;
    if let Some(section) = fields.section("linear_attn_config")? {
        // Kimi counts layers from 1.
        if let Some(full) = section.numbers("full_attn_layers", 1, MOST_LAYERS)? {
            section.value("kda_layers");
            return Ok(Some(listed(full, 1)));
        }
        return Err(section.missing("full_attn_layers", "it says which layers attend"));
    }
    for key in ["full_attn_idxs", "attn_layer_indices"] {
        if let Some(full) = fields.numbers(key, 0, MOST_LAYERS)? {
            return Ok(Some(listed(full, 0)));
        }
    }
    let every = |interval: u64| -> Rule {
        let interval = usize::try_from(interval).unwrap_or(1).max(1);
        Box::new(move |layer| (layer + 1).is_multiple_of(interval))
    };
    if let Some(interval) = fields.whole("full_attention_interval", 1, MOST_LAYERS)? {
        return Ok(Some(every(interval)));
    }
    if let Some(period) = fields.whole("attn_layer_period", 1, MOST_LAYERS)? {
        let offset = fields
            .whole("attn_layer_offset", 0, MOST_LAYERS)?
            .unwrap_or(0);
        return Ok(Some(Box::new(move |layer| {
            u64::try_from(layer).is_ok_and(|layer| layer % period == offset)
        })));
    }
    // Ling: the layers that don't fill a group attend too.
    if let Some(group) = fields.whole("layer_group_size", 1, MOST_LAYERS)? {
        let group = usize::try_from(group).unwrap_or(1);
        return Ok(Some(Box::new(move |layer| {
            (layer + 1).is_multiple_of(group) || layer >= layers / group * group
        })));
    }
    Ok(None)
}

fn listed(full: Vec<u64>, first: u64) -> Rule {
    Box::new(move |layer| u64::try_from(layer).is_ok_and(|layer| full.contains(&(layer + first))))
}

/// Llama 4: layers with rotary positions see chunks, those without (every fourth) everything.
fn chunked(context: &Context<'_, '_>) -> Result<Option<Vec<Kind>>, ImportError> {
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
fn windows(context: &Context<'_, '_>, fields: &Fields<'_>) -> Result<Vec<Kind>, ImportError> {
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
                "which layers see a window is not stated: all but every {interval}th, as in {}'s class",
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
fn local(context: &Context<'_, '_>) -> Result<Option<Span>, ImportError> {
    let window = context.fields.size(keys::WINDOW, 0, MOST_TOKENS)?;
    Ok(window
        .filter(|tokens| *tokens > 0)
        .map(|tokens| narrow(context, Span::Window(tokens))))
}

fn need_local(context: &Context<'_, '_>) -> Result<Span, ImportError> {
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

fn need_chunk(context: &Context<'_, '_>) -> Result<Span, ImportError> {
    let fields = context.fields;
    match fields.whole("attention_chunk_size", 1, MOST_TOKENS)? {
        Some(tokens) => Ok(narrow(context, Span::Chunk(tokens))),
        None => Err(fields.missing(
            "attention_chunk_size",
            "some layers see only a chunk of this width",
        )),
    }
}
