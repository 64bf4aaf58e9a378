//! Models whose files describe whole blocks and not an attention and an MLP per layer.

use super::ImportError;
use super::attention;
use super::context::Context;
use super::ffn;
use super::moe;
use super::nas;
use super::recurrent;
use crate::model::{Attention, Ffn, LayerRun};
use serde_json::Value;

/// The layers, where the file describes blocks.
pub(super) fn read(context: &Context<'_, '_>) -> Result<Option<Vec<LayerRun>>, ImportError> {
    if context.fields.has("block_configs") {
        return nas::read(context).map(Some);
    }
    if context.family.is(&["longcat_flash"]) {
        return doubled(context).map(Some);
    }
    if let Some(blocks) = pattern(context)? {
        return one_each(context, &blocks).map(Some);
    }
    Ok(None)
}

/// What a block of Nemotron-H is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    Mamba,
    Attention,
    Mlp,
    Experts,
}

/// Blocks by letter (`hybrid_override_pattern`) or by word (`layers_block_type`).
fn pattern(context: &Context<'_, '_>) -> Result<Option<Vec<Block>>, ImportError> {
    let fields = context.fields;
    let key = "hybrid_override_pattern";
    if let Some(text) = fields.text(key)? {
        // Pipeline bounds may be marked in it.
        let letters: Vec<char> = text.chars().filter(|letter| *letter != '|').collect();
        if letters.len() < context.layers {
            return Err(ImportError::Contradiction {
                first: format!("{} ({} letters)", fields.path(key), letters.len()),
                second: format!("num_hidden_layers ({})", context.layers),
                why: "there must be one letter per layer",
            });
        }
        if letters.len() > context.layers {
            context.note(format!(
                "{key} has {} letters for {} layers: the rest is left out",
                letters.len(),
                context.layers
            ));
        }
        return letters
            .into_iter()
            .take(context.layers)
            .map(|letter| match letter {
                'M' => Ok(Block::Mamba),
                '*' => Ok(Block::Attention),
                '-' => Ok(Block::Mlp),
                'E' => Ok(Block::Experts),
                _ => Err(ImportError::Wrong {
                    path: fields.path(key),
                    found: super::json::describe(&Value::from(letter.to_string())),
                    expected: "letters M (Mamba), * (attention), - (MLP) and E (experts)",
                }),
            })
            .collect::<Result<Vec<Block>, _>>()
            .map(Some);
    }
    if !context.family.is(&["nemotron_h"]) {
        return Ok(None);
    }
    let key = "layers_block_type";
    let Some(list) = context.per_layer(fields, key)? else {
        return Err(fields.missing(key, "it says what each block is"));
    };
    list.iter()
        .map(|item| match item.as_str() {
            Some("mamba" | "linear_attention") => Ok(Block::Mamba),
            Some("attention" | "full_attention") => Ok(Block::Attention),
            Some("mlp") => Ok(Block::Mlp),
            Some("moe") => Ok(Block::Experts),
            _ => Err(ImportError::Wrong {
                path: fields.path(key),
                found: super::json::describe(item),
                expected: "“mamba”, “attention”, “mlp” or “moe” per block",
            }),
        })
        .collect::<Result<Vec<Block>, _>>()
        .map(Some)
}

/// Nemotron-H: each layer is one block behind one norm.
fn one_each(context: &Context<'_, '_>, blocks: &[Block]) -> Result<Vec<LayerRun>, ImportError> {
    let of = |block: Block| blocks.contains(&block);
    let mamba = if of(Block::Mamba) {
        Some(recurrent::read(context)?)
    } else {
        None
    };
    let attention = if of(Block::Attention) {
        Some(attention::shape(context)?)
    } else {
        None
    };
    let dense = if of(Block::Mlp) {
        ffn::dense(context)?
    } else {
        Vec::new()
    };
    let experts = if of(Block::Experts) {
        let Some((key, experts)) = moe::experts(context)? else {
            return Err(context
                .fields
                .missing("n_routed_experts", "some blocks are experts"));
        };
        moe::read(context, key, &experts)?
    } else {
        Vec::new()
    };
    // Stated for all variants, whatever blocks there are.
    for key in [
        "intermediate_size",
        "n_group",
        "topk_group",
        "moe_latent_size",
        "chunk_size",
    ] {
        context.fields.value(key);
    }
    Ok(blocks
        .iter()
        .enumerate()
        .map(|(layer, block)| {
            let part = |list: &[Ffn]| list.get(layer).cloned().unwrap_or(Ffn::None);
            let (attention, ffn) = match block {
                Block::Mamba => (
                    mamba.clone().map_or(Attention::None, Attention::Recurrent),
                    Ffn::None,
                ),
                Block::Attention => (attention.clone().unwrap_or(Attention::None), Ffn::None),
                Block::Mlp => (Attention::None, part(&dense)),
                Block::Experts => (Attention::None, part(&experts)),
            };
            LayerRun {
                norms: 1,
                ..LayerRun::new(1, attention, ffn)
            }
        })
        .collect())
}

/// LongCat-Flash (arXiv 2509.01322 §2.2): a layer is two attentions and two dense MLPs, with
/// experts beside the first MLP. Read as two layers; the first MLP as a shared expert.
fn doubled(context: &Context<'_, '_>) -> Result<Vec<LayerRun>, ImportError> {
    context.note(format!(
        "each of the {} layers is two attentions and two MLPs: read as {} layers, the experts and the MLP beside them in every second",
        context.layers,
        context.layers.saturating_mul(2)
    ));
    let attention = attention::read(context)?;
    let dense = ffn::dense(context)?;
    let Some((key, experts)) = moe::experts(context)? else {
        return Err(context
            .fields
            .missing("n_routed_experts", "every layer has experts"));
    };
    let experts = moe::read(context, key, &experts)?;
    let mut runs = Vec::with_capacity(context.layers.saturating_mul(2));
    for ((attention, dense), mut sparse) in attention.into_iter().zip(dense).zip(experts) {
        if let (Ffn::Moe(moe), Ffn::Dense { intermediate, .. }) = (&mut sparse, &dense) {
            moe.shared_intermediate = moe.shared_intermediate.saturating_add(*intermediate);
        }
        runs.push(LayerRun::new(1, attention.clone(), sparse));
        runs.push(LayerRun::new(1, attention, dense));
    }
    Ok(runs)
}
