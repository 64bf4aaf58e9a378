//! The feed-forward part of each layer: which are MoE, and of what size.

use super::ImportError;
use super::family::Family;
use super::fields::{Fields, whole};
use crate::model::check::{MOST_LAYERS, MOST_WIDE};
use crate::model::{Ffn, Moe};
use serde_json::Value;

/// The families' words for the number of routed experts.
const EXPERTS: [&str; 4] = [
    "n_routed_experts",
    "num_experts",
    "num_local_experts",
    "num_routed_experts",
];

/// Reads the part of each of `layers` layers.
pub(super) fn read(
    fields: &Fields<'_>,
    family: &Family,
    layers: u64,
    notes: &mut Vec<String>,
) -> Result<Vec<Ffn>, ImportError> {
    let experts = experts(fields)?;
    let Some((experts_key, experts)) = experts else {
        let visited = fields.whole("num_experts_per_tok", 0, MOST_WIDE)?;
        if visited.is_some_and(|count| count > 0)
            && !EXPERTS.iter().any(|key| fields.value(key).is_some())
        {
            return Err(fields.missing(
                "num_experts",
                "num_experts_per_tok says this is a mixture of experts",
            ));
        }
        if fields
            .whole("shared_intermediate_size", 0, MOST_WIDE)?
            .unwrap_or(0)
            > 0
        {
            return Err(ImportError::Unsupported {
                feature: "shared experts without routed ones".to_owned(),
                key: fields.path("shared_intermediate_size"),
            });
        }
        let dense = dense(fields)?;
        return Ok((0..layers).map(|_| dense.clone()).collect());
    };
    let sparse = sparse_layers(fields, experts_key, layers)?;
    let moe = if sparse.contains(&true) {
        Some(Ffn::Moe(moe(fields, family, experts_key, experts, notes)?))
    } else {
        None
    };
    let plain = if sparse.contains(&false) {
        Some(dense(fields)?)
    } else {
        // Stated by MoE-only files as well.
        fields.value("intermediate_size");
        None
    };
    Ok(sparse
        .into_iter()
        .filter_map(|is_moe| if is_moe { moe.clone() } else { plain.clone() })
        .collect())
}

/// The number of routed experts and the key that states it; none or zero: a dense model.
fn experts(fields: &Fields<'_>) -> Result<Option<(&'static str, u64)>, ImportError> {
    let mut found: Option<(&'static str, u64)> = None;
    for key in EXPERTS {
        let Some(count) = fields.whole(key, 0, MOST_WIDE)? else {
            continue;
        };
        match found {
            Some((first, other)) if other != count => {
                return Err(ImportError::Contradiction {
                    first: format!("{first} ({other})"),
                    second: format!("{key} ({count})"),
                    why: "both are the number of routed experts",
                });
            }
            Some(_) => {}
            None => found = Some((key, count)),
        }
    }
    Ok(found.filter(|(_, count)| *count > 0))
}

fn dense(fields: &Fields<'_>) -> Result<Ffn, ImportError> {
    Ok(Ffn::gated(fields.need(
        "intermediate_size",
        1,
        MOST_WIDE,
    )?))
}

fn moe(
    fields: &Fields<'_>,
    family: &Family,
    experts_key: &'static str,
    experts: u64,
    notes: &mut Vec<String>,
) -> Result<Moe, ImportError> {
    let top_k = match fields.whole("num_experts_per_tok", 1, experts)? {
        Some(top_k) => top_k,
        None => fields.need("num_experts_per_token", 1, experts)?,
    };
    let intermediate = match fields.whole("moe_intermediate_size", 1, MOST_WIDE)? {
        Some(width) => width,
        None if family.shares_intermediate() || experts_key == "num_local_experts" => {
            fields.need("intermediate_size", 1, MOST_WIDE)?
        }
        None => {
            return Err(fields.missing(
                "moe_intermediate_size",
                "the experts' width is not intermediate_size in this family",
            ));
        }
    };
    let groups = fields.whole("n_group", 0, experts)?.unwrap_or(0);
    let groups_per_token = fields.whole("topk_group", 0, experts)?.unwrap_or(0);
    let method = fields.text("topk_method")?;
    // One group, or a method that ignores groups, is no grouping.
    let grouped = groups > 1 && method != Some("greedy");
    if grouped && groups_per_token == 0 {
        return Err(fields.missing("topk_group", "n_group divides the experts into groups"));
    }
    let routing_bias = fields.flag("use_routing_bias")?;
    Ok(Moe {
        experts,
        top_k,
        intermediate,
        shared_intermediate: shared(fields, intermediate, notes)?,
        router_bias: routing_bias.unwrap_or(match method {
            Some(method) => method == "noaux_tc",
            None => family.biases_router(),
        }),
        groups: if grouped { groups } else { 0 },
        groups_per_token: if grouped { groups_per_token } else { 0 },
        ..Moe::default()
    })
}

/// Width of all shared experts together.
fn shared(
    fields: &Fields<'_>,
    intermediate: u64,
    notes: &mut Vec<String>,
) -> Result<u64, ImportError> {
    let mut count = None;
    for key in ["n_shared_experts", "num_shared_experts"] {
        let stated = fields.whole(key, 0, MOST_WIDE)?;
        count = count.or(stated);
    }
    let mut width = None;
    for key in [
        "shared_expert_intermediate_size",
        "moe_shared_expert_intermediate_size",
        "shared_intermediate_size",
    ] {
        let stated = fields.whole(key, 0, MOST_WIDE)?;
        width = width.or(stated);
    }
    if fields.has("shared_expert_intermediate_size") {
        notes.push(
            "the shared expert's gate (hidden_size parameters per layer) is not counted".to_owned(),
        );
    }
    match (count, width) {
        (Some(count), Some(width)) if count > 1 && width > 0 => Err(ImportError::Contradiction {
            first: format!("the number of shared experts ({count})"),
            second: format!("the width of the shared experts ({width})"),
            why: "with more than one it isn't clear whether the width is that of one or of all",
        }),
        (Some(0), _) => Ok(0),
        (_, Some(width)) => Ok(width),
        (Some(count), None) => Ok(count.saturating_mul(intermediate)),
        (None, None) => Ok(0),
    }
}

/// Which layers are MoE, by the rule the keys state:
/// - `mlp_layer_types`, or a list in `moe_layer_freq`, says it layer by layer;
/// - DeepSeek: from `first_k_dense_replace` on, every `moe_layer_freq`-th;
/// - Qwen: every `decoder_sparse_step`-th, but those in `mlp_only_layers`;
/// - else all.
fn sparse_layers(
    fields: &Fields<'_>,
    experts_key: &str,
    layers: u64,
) -> Result<Vec<bool>, ImportError> {
    let first = fields.whole("first_k_dense_replace", 0, MOST_LAYERS)?;
    let step = fields
        .whole("decoder_sparse_step", 1, MOST_LAYERS)?
        .unwrap_or(1);
    let only_mlp = match fields.list("mlp_only_layers")? {
        None => Vec::new(),
        Some(list) => list
            .iter()
            .map(|item| whole(item, &fields.path("mlp_only_layers"), 0, MOST_LAYERS))
            .collect::<Result<Vec<u64>, _>>()?,
    };
    if let Some(kinds) = fields.list("mlp_layer_types")? {
        return by_name(fields, kinds, layers);
    }
    let every = match fields.value("moe_layer_freq") {
        Some(Value::Array(list)) => return by_flag(fields, list, layers),
        Some(value) => whole(value, &fields.path("moe_layer_freq"), 1, MOST_LAYERS)?,
        None => 1,
    };
    if first.is_none() && experts_key == "n_routed_experts" {
        return Err(fields.missing(
            "first_k_dense_replace",
            "it says how many layers in front are dense",
        ));
    }
    let first = first.unwrap_or(0);
    Ok((0..layers)
        .map(|layer| {
            layer >= first
                && layer.is_multiple_of(every)
                && (layer + 1).is_multiple_of(step)
                && !only_mlp.contains(&layer)
        })
        .collect())
}

fn by_name(fields: &Fields<'_>, kinds: &[Value], layers: u64) -> Result<Vec<bool>, ImportError> {
    one_per_layer(fields, "mlp_layer_types", kinds, layers)?;
    kinds
        .iter()
        .map(|kind| match kind.as_str() {
            Some("sparse") => Ok(true),
            Some("dense") => Ok(false),
            _ => Err(ImportError::Wrong {
                path: fields.path("mlp_layer_types"),
                found: super::json::describe(kind),
                expected: "“dense” or “sparse” per layer",
            }),
        })
        .collect()
}

fn by_flag(fields: &Fields<'_>, flags: &[Value], layers: u64) -> Result<Vec<bool>, ImportError> {
    one_per_layer(fields, "moe_layer_freq", flags, layers)?;
    flags
        .iter()
        .map(|flag| whole(flag, &fields.path("moe_layer_freq"), 0, 1).map(|flag| flag == 1))
        .collect()
}

/// A list that describes layers has an entry for each.
pub(super) fn one_per_layer(
    fields: &Fields<'_>,
    key: &str,
    list: &[Value],
    layers: u64,
) -> Result<(), ImportError> {
    if u64::try_from(list.len()) == Ok(layers) {
        return Ok(());
    }
    Err(ImportError::Contradiction {
        first: format!("{} ({} entries)", fields.path(key), list.len()),
        second: format!("num_hidden_layers ({layers})"),
        why: "there must be one entry per layer",
    })
}
