//! `per_layer_config`: what single layers state otherwise than the file as a whole (transformers'
//! heterogeneous configs: a sparse map from a layer's index, from 0, to the keys that differ).

use super::ImportError;
use super::context::Context;
use super::fields::Fields;
use super::json::describe;
use super::known;
use crate::model::check::{MOST_TOKENS, MOST_WIDE};
use crate::model::{Attention, Ffn, Gqa, LayerRun, Moe, Span};
use serde_json::Value;

/// Changes the layers it names.
pub(super) fn apply(
    context: &Context<'_, '_>,
    layers: Vec<LayerRun>,
) -> Result<Vec<LayerRun>, ImportError> {
    let Some(section) = context.fields.section("per_layer_config")? else {
        return Ok(layers);
    };
    let mut layers: Vec<LayerRun> = layers
        .into_iter()
        .flat_map(|run| {
            let count = usize::try_from(run.count).unwrap_or(0);
            std::iter::repeat_n(LayerRun { count: 1, ..run }, count)
        })
        .collect();
    let mut seen = vec![false; layers.len()];
    for name in section.keys() {
        let index = whole_index(name).filter(|index| *index < layers.len());
        let (Some(index), Some(own)) = (index, section.section(name)?) else {
            if index.is_some() {
                continue;
            }
            return Err(ImportError::Wrong {
                path: section.path(&shown(name)),
                found: describe(&Value::from(name)),
                expected: "the index of a layer, from 0, below num_hidden_layers",
            });
        };
        // “5” and “05” are one layer.
        if seen.get(index) == Some(&true) {
            return Err(ImportError::DuplicateKey {
                path: section.path(&shown(name)),
            });
        }
        if let (Some(seen), Some(layer)) = (seen.get_mut(index), layers.get_mut(index)) {
            *seen = true;
            change(context, layer, &own)?;
        }
    }
    Ok(layers)
}

fn shown(name: &str) -> String {
    name.chars().take(40).collect()
}

fn whole_index(name: &str) -> Option<usize> {
    let digits = name.len() <= 8 && name.chars().all(|letter| letter.is_ascii_digit());
    digits.then(|| name.parse().ok()).flatten()
}

fn change(
    context: &Context<'_, '_>,
    layer: &mut LayerRun,
    own: &Fields<'_>,
) -> Result<(), ImportError> {
    for key in own.keys() {
        if known::harmless(key) {
            continue;
        }
        let changed = match key {
            "sliding_window" => window(context, layer, own)?,
            _ if !own.has(key) => false,
            _ => match attention_size(&mut layer.attention, key) {
                Size::Is(size) => set(own, key, size)?,
                Size::Elsewhere => true,
                Size::Unknown => match ffn_size(&mut layer.ffn, key) {
                    Some(size) => set(own, key, size)?,
                    None => false,
                },
            },
        };
        if !changed {
            return Err(ImportError::Unsupported {
                feature: "a key that one layer states otherwise".to_owned(),
                key: own.path(&shown(key)),
            });
        }
    }
    Ok(())
}

fn set(own: &Fields<'_>, key: &str, size: &mut u64) -> Result<bool, ImportError> {
    if let Some(value) = own.whole(key, 1, MOST_WIDE)? {
        *size = value;
    }
    Ok(true)
}

/// Where a key's quantity stands.
enum Size<'a> {
    Is(&'a mut u64),
    /// It is of layers of another kind.
    Elsewhere,
    Unknown,
}

fn gqa_of(attention: &mut Attention) -> Option<&mut Gqa> {
    match attention {
        Attention::Gqa(gqa) | Attention::Parallel { attention: gqa, .. } => Some(gqa),
        _ => None,
    }
}

fn attention_size<'a>(attention: &'a mut Attention, key: &str) -> Size<'a> {
    if let Attention::Mla(mla) = attention {
        return match key {
            "num_attention_heads" => Size::Is(&mut mla.heads),
            _ => Size::Unknown,
        };
    }
    let Some(gqa) = gqa_of(attention) else {
        return Size::Unknown;
    };
    let full = gqa.span.is_full();
    match key {
        "num_attention_heads" => Size::Is(&mut gqa.heads),
        "num_key_value_heads" => Size::Is(&mut gqa.kv_heads),
        "head_dim" => Size::Is(&mut gqa.head_dim),
        "global_head_dim" if full => Size::Is(&mut gqa.head_dim),
        "num_global_key_value_heads" if full => Size::Is(&mut gqa.kv_heads),
        "global_head_dim" | "num_global_key_value_heads" => Size::Elsewhere,
        _ => Size::Unknown,
    }
}

fn ffn_size<'a>(ffn: &'a mut Ffn, key: &str) -> Option<&'a mut u64> {
    match (ffn, key) {
        (Ffn::Dense { intermediate, .. }, "intermediate_size") => Some(intermediate),
        (Ffn::Moe(moe), _) => expert_size(moe, key),
        _ => None,
    }
}

fn expert_size<'a>(moe: &'a mut Moe, key: &str) -> Option<&'a mut u64> {
    match key {
        "moe_intermediate_size" => Some(&mut moe.intermediate),
        "num_experts" | "num_local_experts" | "n_routed_experts" => Some(&mut moe.experts),
        "num_experts_per_tok" => Some(&mut moe.top_k),
        _ => None,
    }
}

/// A layer's own window; `null`: it sees everything. Of a layer whose kind says that it sees
/// everything it means nothing.
fn window(
    context: &Context<'_, '_>,
    layer: &mut LayerRun,
    own: &Fields<'_>,
) -> Result<bool, ImportError> {
    let tokens = own.whole("sliding_window", 0, MOST_TOKENS)?;
    let Some(gqa) = gqa_of(&mut layer.attention) else {
        return Ok(false);
    };
    if gqa.span.is_full() && context.fields.has("layer_types") {
        return Ok(true);
    }
    if matches!(gqa.span, Span::Chunk(_)) {
        return Ok(false);
    }
    gqa.span = match tokens {
        Some(tokens) if (1..context.max_context).contains(&tokens) => Span::Window(tokens),
        _ => Span::Full,
    };
    Ok(true)
}
