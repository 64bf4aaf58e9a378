//! Quantised checkpoints: in which format each part of each layer is kept.
//!
//! A checkpoint says so in `quantization_config` of its `config.json`, or (NVIDIA's exporter) in
//! `hf_quant_config.json` beside it. Every exporter has keys of its own (`methods`,
//! `compressed_tensors`, `modelopt`, `quark`), which all come to one [`Scheme`](scheme::Scheme):
//! rules over module names. Laid over the model (`assign`) they give its `quantization`, the
//! layers' `kept` and a precision to run it in. What isn't known becomes a note, never a guess.

mod assign;
mod compressed_tensors;
mod methods;
mod modelopt;
mod modules;
mod names;
mod quark;
mod scheme;

use super::ImportError;
use super::fields::Fields;
use crate::model::{Ffn, Model, Precision};
use methods::short;
use scheme::{Context, Scheme};

/// Reads the section from wherever the files have it, and marks the model's parts accordingly. The
/// precision the checkpoint is made for; none: not quantised, or in a way that isn't known.
pub(super) fn apply<'a>(
    model: &mut Model,
    top: &Fields<'a>,
    fields: &Fields<'a>,
    hf_quant: Option<&Fields<'a>>,
    notes: &mut Vec<String>,
) -> Result<Option<Precision>, ImportError> {
    let mut own = None;
    for key in ["quantization_config", "compression_config", "quantization"] {
        for place in [top, fields] {
            if own.is_none() {
                own = place.section(key)?;
            }
        }
    }
    let beside = match hf_quant {
        Some(root) => root.section("quantization")?,
        None => None,
    };
    let expert_dtype = match fields.text("expert_dtype")? {
        Some(word) => Some(word),
        None => top.text("expert_dtype")?,
    };
    let mut contradicting = None;
    let (section, beside) = match (own, beside) {
        (Some(own), other) => {
            contradicting = other;
            (own, false)
        }
        (None, Some(other)) => (other, true),
        (None, None) => {
            if let Some(word) = expert_dtype {
                notes.push(format!(
                    "expert_dtype is {} without a quantization_config: BF16 until you choose the precision",
                    short(word)
                ));
            }
            return Ok(None);
        }
    };
    let experts = model
        .layers
        .iter()
        .filter_map(|run| match &run.ffn {
            Ffn::Moe(moe) => Some(moe.experts),
            Ffn::Dense { .. } | Ffn::Matrix | Ffn::None => None,
        })
        .max()
        .unwrap_or(0);
    let mut at = Context {
        hidden: model.hidden,
        experts,
        notes,
    };
    let scheme = if beside {
        modelopt::read(&section, &mut at)?
    } else {
        methods::read(&section, &mut at)?
    };
    if let Some(other) = contradicting {
        say_other(&section, &other, scheme.as_ref(), &mut at)?;
    }
    let Some(mut scheme) = scheme else {
        return Ok(None);
    };
    if let Some(word) = expert_dtype {
        methods::expert_dtype(&mut scheme, &section, word, &mut at)?;
    }
    let Some(format) = assign::assign(model, &scheme, at.notes) else {
        at.notes.push(format!(
            "{} quantises no linear of this model: BF16",
            section.place()
        ));
        return Ok(None);
    };
    Ok(Some(Precision {
        weights: format.weights,
        activations: format.activations,
        kv: scheme.kv,
    }))
}

/// Both files state something: the one engines read first counts. They contradict each other where
/// their words do, or the formats those words stand for.
fn say_other(
    own: &Fields<'_>,
    other: &Fields<'_>,
    scheme: Option<&Scheme>,
    at: &mut Context<'_>,
) -> Result<(), ImportError> {
    let word = own.text("quant_algo")?;
    let Some(second) = other.text("quant_algo")? else {
        return Ok(());
    };
    let mut unsaid = Vec::new();
    let differ = match word {
        Some(first) => first != second,
        None => {
            let mut quietly = Context {
                notes: &mut unsaid,
                ..*at
            };
            let read = modelopt::read(other, &mut quietly)?;
            let formats = |scheme: Option<&Scheme>| {
                scheme
                    .and_then(|scheme| scheme.default)
                    .map(|format| (format.weights, format.activations))
            };
            match (formats(scheme), formats(read.as_ref())) {
                (Some(first), Some(second)) => first != second,
                _ => false,
            }
        }
    };
    if differ {
        let first = match word {
            Some(word) => word,
            None => own.text("quant_method")?.unwrap_or("another format"),
        };
        at.notes.push(format!(
            "config.json and hf_quant_config.json contradict each other: quantised as {} or as {}; the former is taken",
            short(first),
            short(second)
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
