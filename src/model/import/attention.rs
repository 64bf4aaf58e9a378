//! The attention all layers share.

use super::ImportError;
use super::family::Family;
use super::fields::Fields;
use crate::model::check::{MOST_TOKENS, MOST_WIDE};
use crate::model::{Attention, Gqa, Mla};

/// Reads it.
pub(super) fn read(
    fields: &Fields<'_>,
    family: &Family,
    hidden: u64,
    notes: &mut Vec<String>,
) -> Result<Attention, ImportError> {
    refuse_window(fields, family)?;
    let heads = fields.need("num_attention_heads", 1, MOST_WIDE)?;
    if fields.has("kv_lora_rank") {
        mla(fields, heads, notes).map(Attention::Mla)
    } else {
        gqa(fields, family, hidden, heads, notes).map(Attention::Gqa)
    }
}

fn mla(fields: &Fields<'_>, heads: u64, notes: &mut Vec<String>) -> Result<Mla, ImportError> {
    // Stated by the files, but all heads share one latent.
    fields.whole("num_key_value_heads", 1, MOST_WIDE)?;
    fields.whole("head_dim", 1, MOST_WIDE)?;
    fields.whole("qk_head_dim", 1, MOST_WIDE)?;
    if fields.flag("attention_bias")? == Some(true) {
        notes.push(
            "attention_bias: the biases of the latent projections are not counted".to_owned(),
        );
    }
    if fields.value("q_lora_rank").is_none() {
        notes.push("q_lora_rank is null or missing: queries are projected directly".to_owned());
    }
    Ok(Mla {
        heads,
        q_rank: fields.whole("q_lora_rank", 1, MOST_WIDE)?,
        kv_rank: fields.need("kv_lora_rank", 1, MOST_WIDE)?,
        nope_dim: fields.need("qk_nope_head_dim", 1, MOST_WIDE)?,
        rope_dim: fields.need("qk_rope_head_dim", 1, MOST_WIDE)?,
        v_dim: fields.need("v_head_dim", 1, MOST_WIDE)?,
        ..Mla::default()
    })
}

fn gqa(
    fields: &Fields<'_>,
    family: &Family,
    hidden: u64,
    heads: u64,
    notes: &mut Vec<String>,
) -> Result<Gqa, ImportError> {
    let head_dim = match fields.whole("head_dim", 1, MOST_WIDE)? {
        Some(width) => width,
        None if !hidden.is_multiple_of(heads) => {
            return Err(ImportError::HeadWidth { hidden, heads });
        }
        None if family.must_state_head_dim() => {
            return Err(fields.missing(
                "head_dim",
                "this family's heads are not hidden_size / num_attention_heads wide",
            ));
        }
        None => hidden / heads,
    };
    // Some files state the value width too; a second width can't be told.
    if let Some(width) = fields.whole("v_head_dim", 1, MOST_WIDE)?
        && width != head_dim
    {
        return Err(ImportError::Unsupported {
            feature: "values of another width than keys".to_owned(),
            key: fields.path("v_head_dim"),
        });
    }
    let kv_heads = match fields.whole("num_key_value_heads", 1, MOST_WIDE)? {
        Some(kv_heads) => kv_heads,
        None if family.is_mha_by_default() => {
            notes.push("num_key_value_heads is missing: one per query head (MHA)".to_owned());
            heads
        }
        None => {
            return Err(fields.missing(
                "num_key_value_heads",
                "the size of the KV cache depends on it",
            ));
        }
    };
    if !heads.is_multiple_of(kv_heads) {
        return Err(ImportError::Contradiction {
            first: format!("num_attention_heads ({heads})"),
            second: format!("num_key_value_heads ({kv_heads})"),
            why: "each key-value head serves equally many query heads",
        });
    }
    let bias = stated(fields, &["attention_bias", "qkv_bias", "use_qkv_bias"])?;
    let qkv_bias = bias.unwrap_or_else(|| family.biases_queries());
    if qkv_bias && bias.is_some() && family.biases_output() {
        notes.push("attention_bias: the bias of the output projection is not counted".to_owned());
    }
    if fields.flag("mlp_bias")? == Some(true) {
        notes.push("mlp_bias: biases of the MLPs are not counted".to_owned());
    }
    let qk_norm =
        stated(fields, &["use_qk_norm", "qk_norm"])?.unwrap_or_else(|| family.norms_queries());
    let whole = match fields.text("qk_norm_type")? {
        Some(kind) => kind == "per_layer",
        None => family.norms_whole(),
    };
    Ok(Gqa {
        heads,
        kv_heads,
        head_dim,
        qk_norm,
        qk_norm_whole: qk_norm && whole,
        qkv_bias,
        ..Gqa::default()
    })
}

/// The first of some flags that is stated.
fn stated(fields: &Fields<'_>, keys: &[&str]) -> Result<Option<bool>, ImportError> {
    let mut first = None;
    for key in keys {
        first = first.or(fields.flag(key)?);
    }
    Ok(first)
}

/// A window narrower than the longest context is a different attention. Files carry the key even
/// where it is switched off or as wide as the context.
fn refuse_window(fields: &Fields<'_>, family: &Family) -> Result<(), ImportError> {
    let window = fields.whole("sliding_window", 0, MOST_TOKENS)?;
    let switch = fields.flag("use_sliding_window")?;
    // Qwen: layers before this one see everything.
    let first = fields.whole("max_window_layers", 0, MOST_TOKENS)?;
    let layers = fields.whole("num_hidden_layers", 0, MOST_TOKENS)?;
    let none_left = matches!((first, layers), (Some(first), Some(layers)) if first >= layers);
    let context = fields.whole("max_position_embeddings", 1, MOST_TOKENS)?;
    let on = switch.unwrap_or_else(|| !family.window_off_by_default());
    let narrow = match (window, context) {
        (None | Some(0), _) => false,
        (Some(window), Some(context)) => window < context,
        (Some(_), None) => true,
    };
    if on && narrow && !(none_left && family.window_off_by_default()) {
        return Err(ImportError::Unsupported {
            feature: "sliding-window attention".to_owned(),
            key: fields.path("sliding_window"),
        });
    }
    Ok(())
}
