//! The recurrent layer a file describes. A model has one kind of it; which one, its keys say.

use super::ImportError;
use super::attention::{first_flag, heads};
use super::context::Context;
use super::fields::Fields;
use super::keys;
use crate::catalog::Dtype;
use crate::model::check::MOST_WIDE;
use crate::model::{DeltaNet, Mamba1, Mamba2, Recurrent};

const MAMBA_HEADS: &[&str] = &["mamba_n_heads", "mamba_num_heads", "n_mamba_heads"];
const MAMBA_HEAD_DIM: &[&str] = &["mamba_d_head", "mamba_head_dim", "mamba_headdim"];
const STATE: &[&str] = &["mamba_d_state", "ssm_state_size", "state_size"];
const GROUPS: &[&str] = &["mamba_n_groups", "n_groups", "mamba_ngroups"];
const KERNEL: &[&str] = &["mamba_d_conv", "conv_kernel", "conv_dimension"];
const EXPAND: &[&str] = &["mamba_expand", "expand"];

/// Reads it.
pub(super) fn read(context: &Context<'_, '_>) -> Result<Recurrent, ImportError> {
    let fields = context.fields;
    let states = |key: &str| fields.has(key);
    if context.family.name.starts_with("rwkv") {
        return Ok(rwkv(context));
    }
    if states("linear_attn_config") || states("linear_num_heads") {
        return kimi(context).map(Recurrent::DeltaNet);
    }
    if states("linear_num_value_heads") {
        return gated_delta(context).map(Recurrent::DeltaNet);
    }
    if states("conv_L_cache") {
        return Ok(Recurrent::ShortConv {
            width: context.hidden,
            kernel: need(fields, &["conv_L_cache"])?,
            bias: fields.flag("conv_bias")?.unwrap_or(false),
        });
    }
    if states("lru_width") || context.family.is(&["recurrent_gemma"]) {
        return rg_lru(context);
    }
    let has_any = |keys: &[&str]| keys.iter().any(|key| fields.has(key));
    if has_any(MAMBA_HEADS) || has_any(MAMBA_HEAD_DIM) || context.family.is(&["mamba2"]) {
        return mamba2(context).map(Recurrent::Mamba2);
    }
    if has_any(STATE) || context.family.is(&["mamba", "falcon_mamba"]) {
        return mamba1(context).map(Recurrent::Mamba1);
    }
    if context.family.name.starts_with("minimax") || context.family.name.starts_with("bailing") {
        return lightning(context);
    }
    unknown(context)
}

fn need(fields: &Fields<'_>, keys: &[&'static str]) -> Result<u64, ImportError> {
    match fields.size(keys, 1, MOST_WIDE)? {
        Some(value) => Ok(value),
        None => Err(fields.missing(
            keys.first().copied().unwrap_or_default(),
            "the recurrent layers' shape depends on it",
        )),
    }
}

/// Format of a matrix state: FP32 unless stated.
fn matrix_state(context: &Context<'_, '_>) -> Result<Dtype, ImportError> {
    if context.fields.has("mamba_ssm_dtype") || context.fields.has("mamba_ssm_cache_dtype") {
        context.state_dtype()
    } else {
        Ok(Dtype::Fp32)
    }
}

/// Gated DeltaNet (Qwen3-Next, Qwen3.5, OLMo hybrid).
fn gated_delta(context: &Context<'_, '_>) -> Result<DeltaNet, ImportError> {
    let fields = context.fields;
    let value_heads = need(fields, &["linear_num_value_heads"])?;
    Ok(DeltaNet {
        key_heads: fields
            .whole("linear_num_key_heads", 1, MOST_WIDE)?
            .unwrap_or(value_heads),
        value_heads,
        key_dim: need(fields, &["linear_key_head_dim"])?,
        value_dim: need(fields, &["linear_value_head_dim"])?,
        kernel: need(fields, &["linear_conv_kernel_dim"])?,
        channel_decay: false,
        full_gate: false,
        state_dtype: matrix_state(context)?,
    })
}

/// Kimi delta attention: in a section, or by `linear_*` keys.
fn kimi(context: &Context<'_, '_>) -> Result<DeltaNet, ImportError> {
    let fields = context.fields;
    let section = fields.section("linear_attn_config")?;
    let (heads, width, kernel, full_gate) = match &section {
        Some(own) => (
            need(own, &["num_heads"])?,
            need(own, &["head_dim"])?,
            need(own, &["short_conv_kernel_size"])?,
            own.flag("use_full_rank_gate")?.unwrap_or(false),
        ),
        None => (
            need(fields, &["linear_num_heads"])?,
            need(fields, &["linear_head_dim"])?,
            need(
                fields,
                &["linear_conv_kernel_dim", "short_conv_kernel_size"],
            )?,
            false,
        ),
    };
    Ok(DeltaNet {
        key_heads: heads,
        value_heads: heads,
        key_dim: width,
        value_dim: width,
        kernel,
        channel_decay: true,
        full_gate,
        state_dtype: matrix_state(context)?,
    })
}

fn rg_lru(context: &Context<'_, '_>) -> Result<Recurrent, ImportError> {
    let fields = context.fields;
    let kernel = match fields.whole("conv1d_width", 1, MOST_WIDE)? {
        Some(kernel) => kernel,
        None => {
            context.note("conv1d_width is missing: 4, the default of recurrent_gemma's class");
            4
        }
    };
    Ok(Recurrent::RgLru {
        width: fields
            .whole("lru_width", 1, MOST_WIDE)?
            .unwrap_or(context.hidden),
        blocks: heads(context)?,
        kernel,
    })
}

/// Inner width of a state-space layer: `expand` times the model's.
fn inner(context: &Context<'_, '_>) -> Result<u64, ImportError> {
    let fields = context.fields;
    if let Some(width) = fields.whole("mamba_d_ssm", 1, MOST_WIDE)? {
        fields.size(EXPAND, 1, MOST_WIDE)?;
        return Ok(width);
    }
    let own = context.family.is(&["mamba", "falcon_mamba"]);
    let expand = fields.size(EXPAND, 1, MOST_WIDE)?;
    if own && let Some(width) = fields.whole("intermediate_size", 1, MOST_WIDE)? {
        return Ok(width);
    }
    let expand = match expand {
        Some(expand) => expand,
        None => {
            context.note("the expansion of state-space layers is missing: 2, as in every class");
            2
        }
    };
    Ok(expand.saturating_mul(context.hidden).min(MOST_WIDE))
}

fn mamba2(context: &Context<'_, '_>) -> Result<Mamba2, ImportError> {
    let fields = context.fields;
    // Pure Mamba-2 calls its heads as attention calls its own.
    let alone = context.family.is(&["mamba2"]);
    let size =
        |keys: &[&'static str], alone_key: &'static str| -> Result<Option<u64>, ImportError> {
            for key in keys {
                // “auto”: what is left to the other one.
                if let Some(value) = fields.value(key)
                    && value.as_str() != Some("auto")
                {
                    return fields.size(&[key], 1, MOST_WIDE);
                }
            }
            if alone {
                fields.whole(alone_key, 1, MOST_WIDE)
            } else {
                Ok(None)
            }
        };
    // Length of the scan's chunks, and what follows from the rest.
    for key in ["chunk_size", "time_step_rank"] {
        fields.value(key);
    }
    if alone {
        fields.value("intermediate_size");
    }
    let heads = size(MAMBA_HEADS, "num_heads")?;
    let width = size(MAMBA_HEAD_DIM, "head_dim")?;
    let (heads, head_dim) = match (heads, width) {
        (Some(heads), Some(width)) => {
            fields.size(EXPAND, 1, MOST_WIDE)?;
            fields.whole("mamba_d_ssm", 1, MOST_WIDE)?;
            (heads, width)
        }
        (Some(heads), None) => (heads, inner(context)? / heads),
        (None, Some(width)) => (inner(context)? / width, width),
        (None, None) => {
            return Err(fields.missing("mamba_n_heads", "the state's shape depends on it"));
        }
    };
    let groups = match fields.size(GROUPS, 1, MOST_WIDE)? {
        Some(groups) => groups,
        None => {
            context.note("the groups of state-space layers are not stated: 1");
            1
        }
    };
    Ok(Mamba2 {
        heads,
        head_dim,
        state: need(fields, STATE)?,
        groups,
        kernel: need(fields, KERNEL)?,
        bias: first_flag(fields, &["mamba_proj_bias", "use_bias", "add_bias_linear"])?
            .unwrap_or(false),
        conv_bias: first_flag(fields, &["mamba_conv_bias", "use_conv_bias"])?.unwrap_or(true),
        norm: first_flag(fields, &["mamba_rms_norm", "rms_norm"])?
            .unwrap_or(!context.family.is(&["falcon_h1"])),
        state_dtype: context.state_dtype()?,
    })
}

fn mamba1(context: &Context<'_, '_>) -> Result<Mamba1, ImportError> {
    let fields = context.fields;
    let mut dt_rank = None;
    for key in ["mamba_dt_rank", "time_step_rank"] {
        if let Some(value) = fields.value(key)
            && value.as_str() != Some("auto")
        {
            dt_rank = fields.whole(key, 1, MOST_WIDE)?;
        }
    }
    Ok(Mamba1 {
        inner: inner(context)?,
        state: need(fields, STATE)?,
        // “auto”.
        dt_rank: dt_rank.unwrap_or(context.hidden.div_ceil(16)),
        kernel: need(fields, KERNEL)?,
        bias: first_flag(fields, &["mamba_proj_bias", "use_bias"])?.unwrap_or(false),
        conv_bias: first_flag(fields, &["mamba_conv_bias", "use_conv_bias"])?.unwrap_or(true),
        inner_norms: context.family.is(&["jamba"]),
        state_dtype: context.state_dtype()?,
    })
}

/// Lightning attention: heads as wide and as many as attention's.
fn lightning(context: &Context<'_, '_>) -> Result<Recurrent, ImportError> {
    let fields = context.fields;
    let heads = heads(context)?;
    let head_dim = match fields.size(keys::HEAD_DIM, 1, MOST_WIDE)? {
        Some(width) => width,
        None => context.hidden / heads,
    };
    Ok(Recurrent::Lightning {
        heads,
        head_dim,
        gated: true,
    })
}

/// RWKV-4 (arXiv 2305.13048): four matrices in time mixing, one more in channel mixing; five
/// vectors of state. Later versions have other small parts and a matrix state.
fn rwkv(context: &Context<'_, '_>) -> Recurrent {
    let fields = context.fields;
    for key in ["attention_hidden_size", "rescale_every"] {
        fields.value(key);
    }
    context.note(format!(
        "{}: its recurrence is counted as RWKV-4's, five matrices and five vectors of state a layer",
        context.family.name
    ));
    let square = context.hidden.saturating_mul(context.hidden);
    Recurrent::Other {
        name: "RWKV".to_owned(),
        parameters: square.saturating_mul(5),
        state_values: context.hidden.saturating_mul(5),
    }
}

/// A recurrence whose shape no key here tells: four matrices and one outer product per head, as
/// linear attention has.
fn unknown(context: &Context<'_, '_>) -> Result<Recurrent, ImportError> {
    let heads = heads(context)?;
    let width = context.hidden / heads;
    context.note(
        "the recurrent layers' shape is not understood: counted as linear attention with four hidden × hidden matrices and a hidden / heads square state per head",
    );
    Ok(Recurrent::Other {
        name: "linear attention".to_owned(),
        parameters: context
            .hidden
            .saturating_mul(context.hidden)
            .saturating_mul(4),
        state_values: heads.saturating_mul(width).saturating_mul(width),
    })
}
