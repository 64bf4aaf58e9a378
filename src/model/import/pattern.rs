//! Which mixer each layer has: the dozen ways files say it.

use super::ImportError;
use super::context::Context;
use super::fields::whole;
use super::json::describe;
use super::windows;
use crate::model::Span;
use crate::model::check::MOST_LAYERS;
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
    ("minimax_m3_sparse", Word::Full),
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
    if let Some(kinds) = windows::chunked(context)? {
        return Ok(kinds);
    }
    windows::read(context)
}

/// Layers named by a word each.
fn named(context: &Context<'_, '_>) -> Result<Option<Vec<Kind>>, ImportError> {
    for key in ["layer_types", "layers_block_type"] {
        if let Some(list) = context.per_layer(context.fields, key)? {
            // What they say once more.
            windows::skip(context.fields);
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
        let local = windows::local(context)?;
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
            Word::Sliding => Kind::Local(windows::need_local(context)?),
            Word::Chunked => Kind::Local(windows::need_chunk(context)?),
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
            windows::need_local(context)?
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
        let most = context.layer_count();
        let linear = section.numbers("kda_layers", 1, most)?;
        if let Some(full) = section.numbers("full_attn_layers", 1, most)? {
            if let Some(linear) = linear {
                for layer in 1..=most {
                    if full.contains(&layer) == linear.contains(&layer) {
                        return Err(ImportError::Contradiction {
                            first: section.path("full_attn_layers"),
                            second: format!("{} (layer {layer})", section.path("kda_layers")),
                            why: "each layer stands in one of the two lists, counted from 1",
                        });
                    }
                }
            }
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
