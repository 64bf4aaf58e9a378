//! Where a model's attending layers differ from one another.

use super::ImportError;
use super::context::Context;
use super::keys;
use super::pattern::Kind;
use crate::model::Gqa;
use crate::model::check::{MOST_LAYERS, MOST_WIDE};

/// The shapes of layers that see everything and of layers that see a window.
pub(super) fn halves(
    context: &Context<'_, '_>,
    base: Gqa,
    kinds: &[Kind],
) -> Result<(Gqa, Gqa), ImportError> {
    let fields = context.fields;
    let (mut full, mut local) = (base.clone(), base);
    let size = |key: &str| fields.whole(key, 1, MOST_WIDE);
    // MiMo: the window layers' own shape.
    local.heads = size("swa_num_attention_heads")?.unwrap_or(local.heads);
    local.kv_heads = size("swa_num_key_value_heads")?.unwrap_or(local.kv_heads);
    local.head_dim = size("swa_head_dim")?.unwrap_or(local.head_dim);
    let value = size("swa_v_head_dim")?.or(local.v_dim);
    local.v_dim = value.filter(|width| *width != local.head_dim);
    if let Some(sinks) = fields.flag("add_swa_attention_sink_bias")? {
        local.sinks = sinks;
    }
    if let Some(sinks) = fields.flag("add_full_attention_sink_bias")? {
        full.sinks = sinks;
    }
    // Step-3.5.
    if let Some(other) = fields.section("attention_other_setting")? {
        let kind = other.text("attention_type")?;
        if matches!(kind, None | Some("sliding_attention")) {
            local.heads = other
                .size(keys::HEADS, 1, MOST_WIDE)?
                .unwrap_or(local.heads);
            local.kv_heads = other
                .size(keys::KV_HEADS, 1, MOST_WIDE)?
                .unwrap_or(local.kv_heads);
            local.head_dim = other
                .size(keys::HEAD_DIM, 1, MOST_WIDE)?
                .unwrap_or(local.head_dim);
        }
    } else if let Some(heads) = size("num_sliding_attention_heads")? {
        local.heads = heads;
    } else if context.family.is(&["step3p5", "step3p7"])
        && kinds.iter().any(|kind| matches!(kind, Kind::Local(_)))
    {
        context.note("attention_other_setting is missing: window layers are taken to have as many heads as the others");
    }
    // Gemma 4: the other way round, and global keys that are values too.
    full.head_dim = size("global_head_dim")?.unwrap_or(full.head_dim);
    full.kv_heads = size("num_global_key_value_heads")?.unwrap_or(full.kv_heads);
    full.keys_are_values = fields.flag("attention_k_eq_v")?.unwrap_or(false);
    Ok((full, local))
}

/// Which layers read an earlier layer's cache.
pub(super) fn shared(context: &Context<'_, '_>) -> Result<Vec<bool>, ImportError> {
    let fields = context.fields;
    let layers = context.layers;
    let mut last = fields.whole("num_kv_shared_layers", 0, MOST_LAYERS)?;
    if last.is_none() && context.family.is(&["gemma3n"]) {
        last = context.class_default("num_kv_shared_layers");
    }
    if let Some(last) = last
        .and_then(|last| usize::try_from(last).ok())
        .filter(|last| *last > 0)
    {
        return Ok((0..layers).map(|layer| layer + last >= layers).collect());
    }
    // Hunyuan-Large: the first of every so many keeps one for all of them.
    let factor = fields.whole("cla_share_factor", 1, MOST_LAYERS)?;
    if fields.flag("use_cla")? == Some(true) {
        let factor = factor.ok_or_else(|| {
            fields.missing(
                "cla_share_factor",
                "it says how many layers share a KV cache",
            )
        })?;
        let factor = usize::try_from(factor).unwrap_or(1).max(1);
        return Ok((0..layers)
            .map(|layer| !layer.is_multiple_of(factor))
            .collect());
    }
    Ok(vec![false; layers])
}
