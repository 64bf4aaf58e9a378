//! The feed-forward part of each layer.

use super::ImportError;
use super::attention::first_flag;
use super::context::Context;
use super::fields::Spread;
use super::keys;
use super::moe;
use super::sparse;
use crate::model::Ffn;
use crate::model::check::{MOST_LAYERS, MOST_WIDE};
use serde_json::Value;

/// Reads the part of every layer.
pub(super) fn read(context: &Context<'_, '_>) -> Result<Vec<Ffn>, ImportError> {
    if context.family.is(&["mamba", "mamba2", "falcon_mamba"]) {
        return Ok(vec![Ffn::None; context.layers]);
    }
    let Some((key, experts)) = moe::experts(context)? else {
        return dense(context);
    };
    let sparse = sparse::layers(context, key)?;
    let moe = if sparse.contains(&true) {
        Some(moe::read(context, key, &experts)?)
    } else {
        None
    };
    let plain = if sparse.contains(&false) {
        dense(context)?
    } else {
        // Stated by MoE-only files as well.
        for key in keys::INTERMEDIATE.iter().chain(keys::DENSE_INTERMEDIATE) {
            context.fields.value(key);
        }
        Vec::new()
    };
    Ok(sparse
        .into_iter()
        .enumerate()
        .map(|(layer, is_moe)| {
            let part = if is_moe {
                moe.as_ref().and_then(|moe| moe.get(layer))
            } else {
                plain.get(layer)
            };
            part.cloned().unwrap_or(Ffn::None)
        })
        .collect())
}

/// A dense MLP in every layer.
pub(super) fn dense(context: &Context<'_, '_>) -> Result<Vec<Ffn>, ImportError> {
    let widths = width(context)?;
    let gated = gated(context)?;
    let bias = first_flag(context.ffn(), &["mlp_bias"])?
        .or(first_flag(
            context.fields,
            &["use_bias", "bias", "add_bias_linear", "enable_bias"],
        )?)
        .unwrap_or(context.family.facts.mlp_bias)
        && context.fields.flag("no_bias")? != Some(true);
    let double = double_wide(context)?;
    Ok((0..context.layers)
        .map(|layer| {
            let width = widths.at(layer);
            let width = if double.contains(&layer) {
                width.saturating_mul(2)
            } else {
                width
            };
            Ffn::Dense {
                intermediate: width,
                gated,
                bias,
            }
        })
        .collect())
}

/// Gemma 4: layers that keep no keys of their own have MLPs twice as wide.
fn double_wide(context: &Context<'_, '_>) -> Result<std::ops::Range<usize>, ImportError> {
    let fields = context.fields;
    let on = fields.flag("use_double_wide_mlp")? == Some(true);
    let last = fields
        .whole("num_kv_shared_layers", 0, MOST_LAYERS)?
        .unwrap_or(0);
    let last = usize::try_from(last).unwrap_or(0);
    Ok(if on {
        context.layers.saturating_sub(last)..context.layers
    } else {
        0..0
    })
}

fn width(context: &Context<'_, '_>) -> Result<Spread, ImportError> {
    let fields = context.ffn();
    let facts = &context.family.facts;
    let own = fields.spread(keys::DENSE_INTERMEDIATE, context.layers, 1, MOST_WIDE)?;
    let stated = fields.spread(keys::INTERMEDIATE, context.layers, 1, MOST_WIDE)?;
    if let Some(widths) = own {
        return Ok(widths);
    }
    if context.family.is(&["lfm2"])
        && let Some(Spread::One(width)) = stated
    {
        return adjusted(context, width).map(Spread::One);
    }
    // RecurrentGemma states both halves of its gated MLP.
    if context.family.is(&["recurrent_gemma"])
        && let Some(Spread::One(width)) = stated
    {
        return Ok(Spread::One((width / 2).max(1)));
    }
    // Qwen 1 too.
    if context.family.is(&["qwen"])
        && let Some(Spread::One(width)) = stated
    {
        return Ok(Spread::One((width / 2).max(1)));
    }
    if let Some(widths) = stated {
        return Ok(widths);
    }
    let ratio = match fields.value("expansion_ratio") {
        Some(Value::Number(number)) => number.as_f64(),
        _ => None,
    };
    if let Some(ratio) = ratio.filter(|ratio| (0.01..=1000.0).contains(ratio)) {
        return Ok(Spread::One(scaled(context.hidden, ratio)));
    }
    if facts.four_wide || context.family.is(&["mpt", "rwkv"]) {
        context.note(
            "intermediate_size is missing: four times hidden_size, as the family's class has it",
        );
        return Ok(Spread::One(context.hidden.saturating_mul(4).min(MOST_WIDE)));
    }
    Err(context
        .fields
        .missing("intermediate_size", "the model's shape depends on it"))
}

/// `width · factor`, rounded down.
pub(super) fn scaled(width: u64, factor: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "widths are below 2^20 and factors positive and small"
    )]
    let scaled = (width as f64 * factor) as u64;
    scaled.clamp(1, MOST_WIDE)
}

/// LFM2 states a width of which two thirds are taken and rounded up.
fn adjusted(context: &Context<'_, '_>, width: u64) -> Result<u64, ImportError> {
    let fields = context.fields;
    let multiple = fields
        .whole("block_multiple_of", 1, MOST_WIDE)?
        .unwrap_or(256);
    let factor = match fields.value("block_ffn_dim_multiplier") {
        Some(Value::Number(number)) => number.as_f64().unwrap_or(1.0),
        _ => 1.0,
    };
    if fields.flag("block_auto_adjust_ff_dim")? == Some(false) {
        return Ok(width);
    }
    let width = scaled(width.saturating_mul(2) / 3, factor.clamp(0.01, 1000.0));
    Ok(width.div_ceil(multiple).saturating_mul(multiple))
}

/// Whether MLPs have a gate: the family says so; in one that isn't known, the activation.
pub(super) fn gated(context: &Context<'_, '_>) -> Result<bool, ImportError> {
    let fields = context.fields;
    let mut act = None;
    for key in [
        "hidden_act",
        "mlp_hidden_act",
        "hidden_activation",
        "activation_function",
        "activation",
    ] {
        let stated = match fields.value(key) {
            Some(Value::String(text)) => Some(text.as_str()),
            _ => None,
        };
        act = act.or(stated);
    }
    if let Some(own) = first_flag(
        fields,
        &["gated_linear_unit", "use_gated_activation", "use_swiglu"],
    )? {
        return Ok(own);
    }
    // Squared ReLU and xIELU have no gate in any model so far.
    if matches!(act, Some("relu2" | "xielu")) {
        return Ok(false);
    }
    if context.family.known || !matches!(act, Some("relu" | "gelu" | "gelu_new" | "gelu_fast")) {
        return Ok(context.family.facts.gated);
    }
    context.note(format!(
        "hidden_act “{}” in a family that is not known: its MLPs are taken as two matrices without a gate",
        act.unwrap_or_default()
    ));
    Ok(false)
}
