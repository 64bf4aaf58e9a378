//! A layer in words.

use super::{grouped, label};
use crate::model::{Attention, Compressed, Ffn, Gqa, Indexer, Mla, Model, Recurrent};

/// `GQA, window of 128: 64 heads, 8 KV heads of 64`.
#[must_use]
pub fn attention_words(attention: &Attention) -> String {
    let kind = label(attention);
    let shape = match attention {
        Attention::Gqa(gqa) => of_gqa(gqa),
        Attention::Mla(mla) => of_mla(mla),
        Attention::Compressed(own) => of_compressed(own),
        Attention::Recurrent(recurrent) => of_recurrent(recurrent),
        Attention::Parallel {
            attention,
            recurrent,
        } => format!("{}; {}", of_gqa(attention), of_recurrent(recurrent)),
        Attention::Matrix => return "one matrix in place of attention".to_owned(),
        Attention::None => return "no attention".to_owned(),
    };
    format!("{kind}: {shape}")
}

fn heads(count: u64) -> String {
    let noun = if count == 1 { "head" } else { "heads" };
    format!("{} {noun}", grouped(count))
}

fn kv_heads(count: u64) -> String {
    let noun = if count == 1 { "KV head" } else { "KV heads" };
    format!("{} {noun}", grouped(count))
}

fn chosen(indexer: Option<Indexer>) -> String {
    indexer.map_or(String::new(), |own| {
        format!(", of which an indexer picks {}", grouped(own.top_k))
    })
}

fn of_gqa(gqa: &Gqa) -> String {
    let width = match gqa.v_dim {
        Some(value) if value != gqa.head_dim => format!("{} and {value}", gqa.head_dim),
        _ => gqa.head_dim.to_string(),
    };
    let cache = if gqa.shares_kv {
        "the cache of an earlier layer".to_owned()
    } else {
        kv_heads(gqa.kv_heads)
    };
    format!(
        "{}, {cache} of {width}{}",
        heads(gqa.heads),
        chosen(gqa.indexer)
    )
}

fn of_mla(mla: &Mla) -> String {
    format!(
        "{}, a latent of {} and a rotary key of {}{}",
        heads(mla.heads),
        mla.kv_rank,
        mla.rope_dim,
        chosen(mla.indexer)
    )
}

fn of_compressed(own: &Compressed) -> String {
    let past = match own.ratio {
        0 => String::new(),
        ratio => format!(", one entry per {ratio} tokens before"),
    };
    format!(
        "{} of {}, the last {} tokens{past}{}",
        heads(own.heads),
        own.head_dim,
        grouped(own.window),
        chosen(own.indexer)
    )
}

fn of_recurrent(recurrent: &Recurrent) -> String {
    match recurrent {
        Recurrent::DeltaNet(own) => format!(
            "{} with a state of {} × {}",
            heads(own.value_heads),
            own.key_dim,
            own.value_dim
        ),
        Recurrent::Lightning {
            heads: count,
            head_dim,
            ..
        } => format!("{} with a state of {head_dim} × {head_dim}", heads(*count)),
        Recurrent::Mamba2(own) => format!(
            "{} with a state of {} × {}",
            heads(own.heads),
            own.head_dim,
            own.state
        ),
        Recurrent::Mamba1(own) => format!(
            "{} channels with a state of {}",
            grouped(own.inner),
            own.state
        ),
        Recurrent::ShortConv { width, kernel, .. } => {
            format!("{} channels over {kernel} tokens", grouped(*width))
        }
        Recurrent::RgLru { width, .. } => format!("a state of {}", grouped(*width)),
        Recurrent::Other {
            name, state_values, ..
        } => format!("{name}, a state of {} values", grouped(*state_values)),
    }
}

/// `256 experts of 2,048, 8 a token, shared 2,048`.
#[must_use]
pub fn ffn_words(ffn: &Ffn) -> String {
    match ffn {
        Ffn::Dense {
            intermediate,
            gated,
            ..
        } => {
            let plain = if *gated { "" } else { ", without a gate" };
            format!("dense FFN of {}{plain}", grouped(*intermediate))
        }
        Ffn::Moe(moe) => {
            let shared = match moe.shared_intermediate {
                0 => String::new(),
                width => format!(", shared {}", grouped(width)),
            };
            let latent = moe
                .latent
                .map(|width| format!(", in a latent space of {}", grouped(width)))
                .unwrap_or_default();
            format!(
                "{} experts of {}, {} a token{shared}{latent}",
                grouped(moe.experts),
                grouped(moe.intermediate),
                moe.top_k
            )
        }
        Ffn::Matrix => "one matrix in place of an FFN".to_owned(),
        Ffn::None => "no FFN".to_owned(),
    }
}

/// Kinds of attention with how many layers have each, in order of their first.
#[must_use]
pub fn attention_kinds(model: &Model) -> Vec<(String, u64)> {
    super::grouped_by(model, |run| Some(attention_words(&run.attention)))
}

/// Kinds of FFN with how many layers have each, in order of their first.
#[must_use]
pub fn ffn_kinds(model: &Model) -> Vec<(String, u64)> {
    super::grouped_by(model, |run| Some(ffn_words(&run.ffn)))
}
