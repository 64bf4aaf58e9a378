//! Which layers have experts: the rules families state, all of which must hold where several are
//! stated.

use super::ImportError;
use super::context::Context;
use super::fields::{Fields, whole};
use super::json::describe;
use super::keys;
use crate::model::check::MOST_LAYERS;
use serde_json::Value;

/// Whether each layer has experts.
pub(super) fn layers(
    context: &Context<'_, '_>,
    experts_key: &str,
) -> Result<Vec<bool>, ImportError> {
    let fields = context.ffn();
    // Said for each layer. What other rules say is then said once more.
    let listed = listed(context, fields)?;
    let first = fields.size(keys::FIRST_DENSE, 0, MOST_LAYERS)?;
    let rules = Rules::read(context, fields)?;
    if let Some(listed) = listed {
        return Ok(listed);
    }
    let known = rules.stated
        || !context.family.is(&[
            "deepseek_v2",
            "deepseek_v3",
            "deepseek_v32",
            "kimi_k2",
            "glm4_moe",
        ]);
    if first.is_none() && experts_key == "n_routed_experts" && !known {
        return Err(fields.missing(
            "first_k_dense_replace",
            "it says how many layers in front are dense",
        ));
    }
    let first = first.unwrap_or(0);
    Ok((0..context.layer_count())
        .map(|layer| layer >= first && rules.hold(layer))
        .collect())
}

/// Rules by number.
struct Rules {
    /// DeepSeek: every so manieth, the first included.
    every: u64,
    /// Qwen, Llama 4, Arctic: every so manieth, the last of each period.
    step: u64,
    /// Qwen: but not these.
    dense: Vec<u64>,
    /// Jamba: every so manieth, from an offset.
    period: Option<(u64, u64)>,
    /// ERNIE: from here to there.
    range: (u64, u64),
    /// Some rule beside DeepSeek's is stated.
    stated: bool,
}

impl Rules {
    fn read(context: &Context<'_, '_>, fields: &Fields<'_>) -> Result<Self, ImportError> {
        let mut rules = Self {
            every: 1,
            step: 1,
            dense: Vec::new(),
            period: None,
            range: (0, u64::MAX),
            stated: false,
        };
        if !matches!(fields.value("moe_layer_freq"), Some(Value::Array(_))) {
            rules.every = fields.whole("moe_layer_freq", 1, MOST_LAYERS)?.unwrap_or(1);
        }
        for key in [
            "decoder_sparse_step",
            "interleave_moe_layer_step",
            "moe_layer_interval",
            "moe_layer_frequency",
            "moe_every_n_layer",
        ] {
            if let Some(step) = fields.whole(key, 1, MOST_LAYERS)? {
                rules.step = rules.step.max(step);
                rules.stated = true;
            }
        }
        // Counted by moe_every_n_layer from here on (Step-3).
        fields.whole("moe_layer_offset", 0, MOST_LAYERS)?;
        rules.dense = fields
            .numbers("mlp_only_layers", 0, MOST_LAYERS)?
            .unwrap_or_default();
        if let Some(period) = fields.whole("expert_layer_period", 1, MOST_LAYERS)? {
            let offset = fields
                .whole("expert_layer_offset", 0, MOST_LAYERS)?
                .unwrap_or(0);
            rules.period = Some((period, offset));
        }
        let end = |key: &str| -> Result<Option<u64>, ImportError> {
            match fields.value(key) {
                // Multimodal ERNIE: text first.
                Some(Value::Array(list)) => list
                    .first()
                    .map(|item| whole(item, &fields.path(key), 0, MOST_LAYERS))
                    .transpose(),
                // −1 is the last layer.
                Some(Value::Number(number)) if number.as_i64() == Some(-1) => Ok(None),
                _ => fields.whole(key, 0, MOST_LAYERS),
            }
        };
        if let Some(start) = end("moe_layer_start_index")? {
            rules.range = (start, end("moe_layer_end_index")?.unwrap_or(u64::MAX));
            rules.stated = true;
        }
        let _ = context;
        Ok(rules)
    }

    fn hold(&self, layer: u64) -> bool {
        let (start, end) = self.range;
        layer.is_multiple_of(self.every)
            && (layer + 1).is_multiple_of(self.step)
            && !self.dense.contains(&layer)
            && self
                .period
                .is_none_or(|(period, offset)| layer % period == offset % period)
            && (start..=end).contains(&layer)
    }
}

/// Lists with an entry for every layer, or of the layers.
fn listed<'a>(
    context: &Context<'_, 'a>,
    fields: &Fields<'a>,
) -> Result<Option<Vec<bool>>, ImportError> {
    if let Some(kinds) = context.per_layer(fields, "mlp_layer_types")? {
        return kinds
            .iter()
            .map(|kind| match kind.as_str() {
                Some("sparse" | "moe" | "hash_moe") => Ok(true),
                Some("dense" | "mlp") => Ok(false),
                _ => Err(ImportError::Wrong {
                    path: fields.path("mlp_layer_types"),
                    found: describe(kind),
                    expected: "“dense” or “sparse” per layer",
                }),
            })
            .collect::<Result<Vec<bool>, _>>()
            .map(Some);
    }
    if matches!(fields.value("moe_layer_freq"), Some(Value::Array(_)))
        && let Some(flags) = context.per_layer(fields, "moe_layer_freq")?
    {
        return flags
            .iter()
            .map(|flag| whole(flag, &fields.path("moe_layer_freq"), 0, 1).map(|flag| flag == 1))
            .collect::<Result<Vec<bool>, _>>()
            .map(Some);
    }
    for key in ["moe_layers_enum", "moe_layers"] {
        if let Some(layers) = enumerated(fields, key)? {
            return Ok(Some(
                (0..context.layer_count())
                    .map(|layer| layers.contains(&layer))
                    .collect(),
            ));
        }
    }
    Ok(None)
}

/// Layers by number, in a list or in a text with commas.
fn enumerated(fields: &Fields<'_>, key: &str) -> Result<Option<Vec<u64>>, ImportError> {
    match fields.value(key) {
        None => Ok(None),
        Some(Value::String(text)) => text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(|part| {
                part.parse::<u64>().map_err(|_| ImportError::Wrong {
                    path: fields.path(key),
                    found: describe(&Value::from(part)),
                    expected: "numbers of layers with commas between",
                })
            })
            .collect::<Result<Vec<u64>, _>>()
            .map(Some),
        Some(_) => fields.numbers(key, 0, MOST_LAYERS),
    }
}
