//! Multi-head latent attention, with the indexer of sparse attention where there is one.

use super::ImportError;
use super::attention::{first_flag, heads};
use super::context::Context;
use super::indexer;
use super::keys;
use super::pattern::Kind;
use crate::model::check::MOST_WIDE;
use crate::model::{Attention, Gate, Mla};

/// The attention of every layer, as if all had it.
pub(super) fn read(
    context: &Context<'_, '_>,
    kinds: &[Kind],
) -> Result<Vec<Attention>, ImportError> {
    let fields = context.attention();
    // Stated by the files, but all heads share one latent.
    fields.size(keys::KV_HEADS, 1, MOST_WIDE)?;
    for key in ["head_dim", "qk_head_dim"] {
        fields.whole(key, 0, MOST_WIDE)?;
    }
    if fields.flag("attention_bias")? == Some(true) {
        context.note("attention_bias: the biases of the latent projections are not counted");
    }
    let need = |keys: &[&'static str], least: u64| match fields.size(keys, least, MOST_WIDE)? {
        Some(width) => Ok(width),
        None => Err(fields.missing(
            keys.first().copied().unwrap_or_default(),
            "the model's shape depends on it",
        )),
    };
    let q_rank = fields.size(keys::Q_RANK, 1, MOST_WIDE)?;
    if q_rank.is_none() {
        context.note("q_lora_rank is null or missing: queries are projected directly");
    }
    if kinds.iter().any(|kind| matches!(kind, Kind::Local(_))) {
        context.note("windows of latent attention are not known: its layers are taken to see the whole context");
    }
    let gate = match first_flag(fields, &["mla_use_output_gate"])? {
        Some(true) => Gate::Full,
        _ => Gate::None,
    };
    let own = Mla {
        heads: heads(context)?,
        q_rank,
        kv_rank: need(keys::KV_RANK, 1)?,
        nope_dim: need(keys::NOPE, 1)?,
        rope_dim: need(keys::ROPE, 0)?,
        v_dim: need(keys::VALUE, 1)?,
        gate,
        indexer: None,
    };
    let indexed = indexer::of_mla(context)?;
    Ok((0..context.layers)
        .map(|layer| {
            Attention::Mla(Mla {
                indexer: indexed.get(layer).copied().flatten(),
                ..own.clone()
            })
        })
        .collect())
}
