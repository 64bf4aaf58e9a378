//! Zamba2 (arXiv 2411.15242 §2): Mamba-2 layers, and before some of them one of a few shared
//! transformer blocks, which reads the hidden vector and the embedding side by side. A block's
//! matrices are the same wherever it is used, but for a low-rank addition to its MLP.

use super::ImportError;
use super::attention;
use super::context::Context;
use super::ffn;
use super::keys;
use super::pattern::{self, Kind};
use super::recurrent;
use crate::model::check::{MOST_LAYERS, MOST_WIDE};
use crate::model::{Attention, Extra, Ffn, LayerRun};

/// The layers: a hybrid one is read as a transformer block and a Mamba layer.
pub(super) fn read(context: &Context<'_, '_>) -> Result<Vec<LayerRun>, ImportError> {
    let kinds = pattern::read(context)?;
    let mamba = recurrent::read(context)?;
    let blocks = blocks(context)?;
    let heads = attention::heads(context)?;
    let kv_heads = context.fields.size(keys::KV_HEADS, 1, heads)?;
    let mut attention = attention::base(context, kv_heads.unwrap_or(heads))?;
    // Half of the input is the embedding: heads are twice as wide as the model's width gives.
    attention.head_dim = match context.fields.whole("attention_head_dim", 1, MOST_WIDE)? {
        Some(width) => width,
        None => context.hidden.saturating_mul(2) / heads,
    };
    let dense = ffn::dense(context)?.into_iter().next().unwrap_or(Ffn::None);
    let hybrids = kinds.iter().filter(|kind| **kind == Kind::Parallel).count();
    context.note(format!(
        "{hybrids} of the {} layers are a shared transformer block and a Mamba layer: read as two layers each",
        context.layers
    ));
    let mut runs = Vec::new();
    let mut used = 0;
    for kind in kinds {
        if kind == Kind::Parallel {
            let mut run = LayerRun::new(1, Attention::Gqa(attention.clone()), dense.clone());
            run.reused = used >= blocks;
            used += 1;
            runs.push(run);
        }
        let mut run = LayerRun::new(1, Attention::Recurrent(mamba.clone()), Ffn::None);
        run.norms = 1;
        runs.push(run);
    }
    Ok(runs)
}

fn blocks(context: &Context<'_, '_>) -> Result<u64, ImportError> {
    let blocks = context.fields.whole("num_mem_blocks", 1, MOST_LAYERS)?;
    Ok(blocks.unwrap_or(1))
}

/// What the layers' shapes don't say: the other half of the blocks' input, and in each hybrid layer
/// a matrix behind the block and a low-rank addition to its MLP.
pub(super) fn extras(
    context: &Context<'_, '_>,
    runs: &[LayerRun],
) -> Result<Vec<Extra>, ImportError> {
    let fields = context.fields;
    if !context.family.is(&["zamba2"]) {
        return Ok(Vec::new());
    }
    let hidden = context.hidden;
    let mut queries = 0_u64;
    let mut width = 0_u64;
    let mut hybrids = 0_u64;
    for run in runs {
        if let Attention::Gqa(gqa) = &run.attention {
            hybrids += u64::from(run.count);
            queries = gqa.heads.saturating_mul(gqa.head_dim);
            if let Ffn::Dense { intermediate, .. } = run.ffn {
                width = intermediate;
            }
        }
    }
    let rank = fields
        .size(&["adapter_rank", "lora_rank"], 0, MOST_WIDE)?
        .unwrap_or(0);
    for key in ["use_shared_block_lora", "use_shared_mlp_adapter", "ft_lora"] {
        fields.value(key);
    }
    if attention::first_flag(
        fields,
        &["use_shared_attention_lora", "use_shared_attention_adapter"],
    )? == Some(true)
    {
        context.note("the low-rank additions to shared attention are not counted");
    }
    // Q, K and V of the other half, and its part of the first norm.
    let inputs = blocks(context)?
        .saturating_mul(hidden)
        .saturating_mul(queries.saturating_mul(3).saturating_add(1));
    let adapters = rank.saturating_mul(hidden.saturating_add(width.saturating_mul(2)));
    let behind = hidden.saturating_mul(hidden).saturating_add(adapters);
    let extra = |name: &str, parameters| Extra {
        name: name.to_owned(),
        parameters,
        served: true,
    };
    Ok(vec![
        extra("embedding's half of shared blocks", inputs),
        extra("matrices of hybrid layers", hybrids.saturating_mul(behind)),
    ])
}
