//! Mixture of experts: how many, how wide, and what stands beside them.

use super::ImportError;
use super::context::Context;
use super::ffn::gated;
use super::fields::Spread;
use super::keys;
use crate::model::check::MOST_WIDE;
use crate::model::{Ffn, Moe};
use serde_json::Value;

/// The number of routed experts and the key that states it; none or zero: a dense model.
pub(super) fn experts(
    context: &Context<'_, '_>,
) -> Result<Option<(&'static str, Spread)>, ImportError> {
    let fields = context.ffn();
    if fields.flag("use_moe")? == Some(false) || fields.flag("enable_moe_block")? == Some(false) {
        for key in keys::EXPERTS {
            fields.value(key);
        }
        return Ok(None);
    }
    if let Some(found) = first_list(context)? {
        return Ok(Some(found));
    }
    let stated = fields.any(keys::EXPERTS, 0, MOST_WIDE)?;
    if stated.is_none() {
        let visited = match fields.value("num_experts_per_tok") {
            Some(Value::Number(number)) => number.as_u64().unwrap_or(0),
            _ => 0,
        };
        if visited > 0 {
            return Err(fields.missing(
                "num_experts",
                "num_experts_per_tok says this is a mixture of experts",
            ));
        }
    }
    // One expert is none.
    Ok(stated
        .filter(|(_, count)| *count > 0)
        .map(|(key, count)| (key, Spread::One(count))))
}

/// Experts stated layer by layer, or for text and images (ERNIE).
fn first_list(context: &Context<'_, '_>) -> Result<Option<(&'static str, Spread)>, ImportError> {
    let fields = context.ffn();
    for key in keys::EXPERTS {
        if matches!(fields.value(key), Some(Value::Array(_))) {
            let spread = fields.spread(&[key], context.layers, 1, MOST_WIDE)?;
            return Ok(spread.map(|spread| (*key, spread)));
        }
    }
    Ok(None)
}

/// The experts of every layer, as if all had them.
pub(super) fn read(
    context: &Context<'_, '_>,
    experts_key: &'static str,
    experts: &Spread,
) -> Result<Vec<Ffn>, ImportError> {
    let fields = context.ffn();
    let layers = context.layers;
    let top_k = match fields.spread(keys::TOP_K, layers, 1, experts.most())? {
        Some(top_k) => top_k,
        None => {
            return Err(fields.missing(
                "num_experts_per_tok",
                "it says how many experts a token visits",
            ));
        }
    };
    let width = expert_width(context, experts_key)?;
    let shared = Shared::read(context)?;
    let common = common(context, experts.most())?;
    Ok((0..layers)
        .map(|layer| {
            let intermediate = width.at(layer);
            Ffn::Moe(Moe {
                experts: experts.at(layer),
                top_k: top_k.at(layer),
                intermediate,
                shared_intermediate: shared.width(layer, intermediate),
                ..common.clone()
            })
        })
        .collect())
}

/// What does not differ from layer to layer.
fn common(context: &Context<'_, '_>, experts: u64) -> Result<Moe, ImportError> {
    let fields = context.ffn();
    let facts = &context.family.facts;
    let method = fields.text("topk_method")?;
    let groups = fields.size(keys::GROUPS, 0, experts)?.unwrap_or(0);
    let per_token = fields
        .size(keys::GROUPS_PER_TOKEN, 0, experts)?
        .unwrap_or(0);
    // One group, or a method that ignores groups, is no grouping.
    let grouped = groups > 1 && method != Some("greedy");
    if grouped && per_token == 0 {
        return Err(fields.missing("topk_group", "n_group divides the experts into groups"));
    }
    let mut bias = None;
    for key in [
        "use_routing_bias",
        "use_moe_router_bias",
        "moe_use_aux_free",
        "use_expert_bias",
        "moe_router_enable_expert_bias",
        "router_enable_expert_bias",
    ] {
        let stated = fields.flag(key)?;
        bias = bias.or(stated);
    }
    let from_method = method.map(|method| method == "noaux_tc");
    let gated = gated(context)?;
    let has_shared_width = fields.size(keys::SHARED_WIDTH, 0, MOST_WIDE)?.unwrap_or(0) > 0;
    Ok(Moe {
        router_bias: bias.or(from_method).unwrap_or(facts.router_bias),
        groups: if grouped { groups } else { 0 },
        groups_per_token: if grouped { per_token } else { 0 },
        ungated: !gated,
        bias: facts.mlp_bias,
        shared_gate: facts.shared_gate && has_shared_width,
        latent: fields.size(keys::LATENT, 1, MOST_WIDE)?,
        zero_experts: fields.whole("zero_expert_num", 0, MOST_WIDE)?.unwrap_or(0),
        ..Moe::default()
    })
}

fn expert_width(context: &Context<'_, '_>, experts_key: &str) -> Result<Spread, ImportError> {
    let fields = context.ffn();
    if let Some(width) = fields.spread(keys::EXPERT_WIDTH, context.layers, 1, MOST_WIDE)? {
        return Ok(width);
    }
    let own_section = context.ffn.is_some();
    if context.family.facts.expert_is_intermediate
        || experts_key == "num_local_experts"
        || own_section
    {
        return match fields.spread(keys::INTERMEDIATE, context.layers, 1, MOST_WIDE)? {
            Some(width) => Ok(width),
            None => Err(fields.missing("intermediate_size", "it is the experts' width")),
        };
    }
    Err(fields.missing(
        "moe_intermediate_size",
        "the experts' width is not intermediate_size in this family",
    ))
}

/// Shared experts, and dense MLPs beside the routed experts, which are the same thing.
struct Shared {
    count: Option<Spread>,
    width: Option<u64>,
    beside: u64,
}

impl Shared {
    fn read(context: &Context<'_, '_>) -> Result<Self, ImportError> {
        let fields = context.ffn();
        let count = fields.spread(keys::SHARED, context.layers, 0, MOST_WIDE)?;
        let width = fields.size(keys::SHARED_WIDTH, 0, MOST_WIDE)?;
        let most = count.as_ref().map_or(1, Spread::most);
        // NVIDIA and Qwen state the width of all of them.
        if let (Some(width), true) = (width, most > 1)
            && width > 0
        {
            return Err(ImportError::Contradiction {
                first: format!("the number of shared experts ({most})"),
                second: format!("the width of the shared experts ({width})"),
                why: "with more than one it isn't clear whether the width is that of one or of all",
            });
        }
        let beside = match context.family.name.as_str() {
            // Gemma 4: the layer's own MLP.
            "gemma4" => fields
                .whole("intermediate_size", 1, MOST_WIDE)?
                .unwrap_or(0),
            // A residual MLP as wide as the model.
            "arctic" if fields.flag("parallel_attn_mlp_res")? != Some(false) => context.hidden,
            // Every Llama 4 layer with experts has one more that every token visits.
            "llama4" => fields
                .whole("intermediate_size", 1, MOST_WIDE)?
                .unwrap_or(0),
            _ if fields.flag("residual_moe")? == Some(true) => fields
                .whole("intermediate_size", 1, MOST_WIDE)?
                .unwrap_or(0),
            _ => 0,
        };
        Ok(Self {
            count,
            width,
            beside,
        })
    }

    /// Width of all of a layer's together.
    fn width(&self, layer: usize, expert: u64) -> u64 {
        let count = self.count.as_ref().map(|count| count.at(layer));
        let own = match (count, self.width) {
            (Some(0), _) => 0,
            (_, Some(width)) => width,
            (Some(count), None) => count.saturating_mul(expert),
            (None, None) => 0,
        };
        own.saturating_add(self.beside)
    }
}
