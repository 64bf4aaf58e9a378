//! Parameters beside the layers' matrices that families have: position tables, biases of the LM
//! head, embeddings per layer, hyper-connections.

use super::ImportError;
use super::attention::first_flag;
use super::context::Context;
use super::keys;
use crate::model::check::{MOST_TOKENS, MOST_WIDE};
use crate::model::{Extra, Ffn, LayerRun};

/// All of them.
pub(super) fn read(
    context: &Context<'_, '_>,
    runs: &[LayerRun],
) -> Result<Vec<Extra>, ImportError> {
    let mut extras = Vec::new();
    let mut add = |name: &str, parameters: u64| {
        if parameters > 0 {
            extras.push(Extra {
                name: name.to_owned(),
                parameters,
                served: true,
            });
        }
    };
    let hidden = context.hidden;
    let layers = context.layer_count();
    if let Some(more) = context.family.facts.positions {
        let rows = context.max_context.saturating_add(more);
        add("position table", rows.saturating_mul(hidden));
    }
    if context.family.is(&["bloom"]) {
        add("norm of the embedding", hidden.saturating_mul(2));
    }
    let head_bias = context.fields.flag("lm_head_bias")?;
    if head_bias.unwrap_or(context.family.is(&["gptj", "phi", "codegen"])) {
        add("bias of the LM head", context.vocab);
    }
    if context.family.is(&["apertus"]) {
        add("activations", layers.saturating_mul(2));
    }
    add("hyper-connections", hyper_connections(context)?);
    add("attention residuals", attention_residuals(context)?);
    add("norms of latent experts", latent_norms(context, runs)?);
    add("per-layer embeddings", per_layer(context)?);
    add("alternating updates", alternating(context)?);
    add("scales of the router", router_scales(context, runs));
    projected_embedding(context)?;
    Ok(extras)
}

/// DeepSeek-V4's manifold-constrained hyper-connections: `n` residual streams; before attention
/// and MLP each `n·(n + 2)` mixing numbers from all of them, and `n` at the end.
fn hyper_connections(context: &Context<'_, '_>) -> Result<u64, ImportError> {
    let Some(streams) = context.fields.whole("hc_mult", 1, 64)? else {
        return Ok(0);
    };
    for key in ["hc_sinkhorn_iters", "hc_eps", "hc_magnitude"] {
        context.fields.value(key);
    }
    let wide = streams.saturating_mul(context.hidden);
    let mixes = streams.saturating_mul(streams + 2);
    let one = mixes
        .saturating_mul(wide.saturating_add(1))
        .saturating_add(3);
    let end = streams
        .saturating_mul(wide.saturating_add(1))
        .saturating_add(1);
    Ok(context
        .layer_count()
        .saturating_mul(2)
        .saturating_mul(one)
        .saturating_add(end))
}

/// Kimi-K3: before attention and MLP, and once at the end, a norm and a `hidden × 1` matrix weigh
/// earlier blocks' outputs.
fn attention_residuals(context: &Context<'_, '_>) -> Result<u64, ImportError> {
    if context
        .fields
        .whole("attn_res_block_size", 1, MOST_WIDE)?
        .is_none()
    {
        return Ok(0);
    }
    let places = context.layer_count().saturating_mul(2).saturating_add(1);
    Ok(places.saturating_mul(context.hidden).saturating_mul(2))
}

/// A norm between latent experts and the way back.
fn latent_norms(context: &Context<'_, '_>, runs: &[LayerRun]) -> Result<u64, ImportError> {
    if context.fields.flag("latent_moe_use_norm")? != Some(true) {
        return Ok(0);
    }
    Ok(runs.iter().fold(0, |sum: u64, run| {
        let width = match &run.ffn {
            Ffn::Moe(moe) => moe.latent.unwrap_or(0),
            Ffn::Dense { .. } | Ffn::Matrix | Ffn::None => 0,
        };
        sum.saturating_add(width.saturating_mul(u64::from(run.count)))
    }))
}

/// Width of Gemma 3n's and 4's embeddings per layer; 0: none.
fn per_layer_width(context: &Context<'_, '_>) -> Result<u64, ImportError> {
    let key = "hidden_size_per_layer_input";
    Ok(match context.fields.whole(key, 0, MOST_WIDE)? {
        Some(width) => width,
        None => context.class_default(key).unwrap_or(0),
    })
}

/// A table of `layers · width` per word, a projection `hidden × layers·width` with a norm, and
/// per layer a matrix to the width and one back.
fn per_layer(context: &Context<'_, '_>) -> Result<u64, ImportError> {
    let width = per_layer_width(context)?;
    if width == 0 {
        return Ok(0);
    }
    let key = "vocab_size_per_layer_input";
    let rows = match context.fields.whole(key, 1, MOST_TOKENS)? {
        Some(rows) => rows,
        None => context.class_default(key).unwrap_or(context.vocab),
    };
    let all = context.layer_count().saturating_mul(width);
    let hidden = context.hidden;
    Ok(rows
        .saturating_mul(all)
        .saturating_add(hidden.saturating_mul(all))
        .saturating_add(width)
        .saturating_add(all.saturating_mul(hidden).saturating_mul(2)))
}

/// Gemma 3n: AltUp keeps several residual streams (matrices between them, a router and
/// coefficients per layer), LAuReL a low-rank path beside each layer.
fn alternating(context: &Context<'_, '_>) -> Result<u64, ImportError> {
    let fields = context.fields;
    let size = |key: &str| -> Result<Option<u64>, ImportError> {
        Ok(match fields.whole(key, 1, MOST_WIDE)? {
            Some(value) => Some(value),
            None => context.class_default(key),
        })
    };
    for key in [
        "altup_active_idx",
        "altup_coef_clip",
        "altup_correct_scale",
        "altup_lr_multiplier",
        "activation_sparsity_pattern",
    ] {
        fields.value(key);
    }
    let (Some(streams), Some(rank)) = (size("altup_num_inputs")?, size("laurel_rank")?) else {
        return Ok(0);
    };
    let hidden = context.hidden;
    let between = (streams.saturating_sub(1))
        .saturating_mul(2)
        .saturating_mul(hidden.saturating_mul(hidden));
    let squared = streams.saturating_mul(streams);
    // The scale of its output is a vector as the norms are, which are counted with the layers'.
    let layer = squared
        .saturating_mul(streams.saturating_add(1))
        .saturating_add(streams.saturating_mul(hidden))
        .saturating_add(rank.saturating_mul(hidden).saturating_mul(2));
    Ok(between.saturating_add(context.layer_count().saturating_mul(layer)))
}

/// Gemma 4: a scale of the router's input and one per expert.
fn router_scales(context: &Context<'_, '_>, runs: &[LayerRun]) -> u64 {
    if !context.family.is(&["gemma4"]) {
        return 0;
    }
    runs.iter().fold(0, |sum: u64, run| match &run.ffn {
        Ffn::Moe(moe) => {
            let layer = context.hidden.saturating_add(moe.experts);
            sum.saturating_add(layer.saturating_mul(u64::from(run.count)))
        }
        Ffn::Dense { .. } | Ffn::Matrix | Ffn::None => sum,
    })
}

/// OPT-350M's table is narrower than the model.
fn projected_embedding(context: &Context<'_, '_>) -> Result<(), ImportError> {
    if let Some(width) = context.fields.whole("word_embed_proj_dim", 1, MOST_WIDE)?
        && width != context.hidden
    {
        context.note(format!(
            "word_embed_proj_dim ({width}): the embedding is counted as wide as the model"
        ));
    }
    Ok(())
}

/// Norms of the model's width in a layer.
pub(super) fn norms(context: &Context<'_, '_>, run: &LayerRun) -> Result<u64, ImportError> {
    let fields = context.fields;
    let base = context.family.facts.norms;
    match context.family.name.as_str() {
        // One for both halves, or one for each of them, side by side.
        "falcon" | "RefinedWeb" | "RefinedWebModel" => {
            let parallel = fields.flag("parallel_attn")?.unwrap_or(true);
            let each = fields.whole("num_ln_in_parallel_attn", 1, 2)?;
            let new_style = fields.flag("new_decoder_architecture")? == Some(true);
            Ok(match each {
                Some(norms) => norms,
                None if parallel && !new_style => 1,
                None => 2,
            })
        }
        "stablelm" if fields.flag("use_parallel_residual")? == Some(true) => Ok(1),
        // Three around LAuReL, the embeddings and AltUp's router, and AltUp's scale.
        "gemma3n" => Ok(base + 4),
        "gemma4" => {
            let embeddings = u64::from(per_layer_width(context)? > 0);
            let experts = if matches!(run.ffn, Ffn::Moe(_)) { 3 } else { 0 };
            Ok(base + embeddings + experts)
        }
        "arctic" => Ok(base + u64::from(matches!(run.ffn, Ffn::Moe(_)))),
        _ if first_flag(fields, &["sandwich_norm", "use_sandwich_norm"])? == Some(true) => Ok(4),
        _ => Ok(base),
    }
}

/// Layers that predict further tokens: how many, of the shape of `last`.
pub(super) fn mtp(
    context: &Context<'_, '_>,
    last: Option<&LayerRun>,
) -> Result<Option<Box<LayerRun>>, ImportError> {
    let fields = context.fields;
    let mut stated: Option<(&str, u64)> = None;
    for key in keys::MTP {
        let count = fields.whole(key, 0, 64)?;
        stated = stated.or(count.map(|count| (*key, count)));
    }
    let on = fields.flag("use_mtp")?.unwrap_or(true);
    let (Some((key, count)), Some(last)) = (stated.filter(|(_, count)| on && *count > 0), last)
    else {
        return Ok(None);
    };
    context.note(format!(
        "{key} = {count}: layers that predict further tokens (MTP) are taken to be shaped as the last layer; they are beside the served model and not part of its total"
    ));
    Ok(Some(Box::new(LayerRun {
        count: u32::try_from(count).unwrap_or(u32::MAX),
        ..last.clone()
    })))
}
