//! The attention of each layer: one shape for all, or one for layers that see everything and one
//! for those that see a window, with exceptions layer by layer.

use super::ImportError;
use super::compressed;
use super::context::Context;
use super::family::{HeadDim, OutBias, QkNorm};
use super::fields::{Fields, Spread};
use super::indexer;
use super::keys;
use super::mla;
use super::pattern::{self, Kind};
use super::recurrent;
use crate::model::check::{MOST_LAYERS, MOST_WIDE};
use crate::model::{Attention, Gate, Gqa, Recurrent, Span};
use serde_json::Value;

/// The mixer of every layer.
pub(super) fn read(context: &Context<'_, '_>) -> Result<Vec<Attention>, ImportError> {
    if let Some(layers) = compressed::read(context)? {
        return Ok(layers);
    }
    let kinds = pattern::read(context)?;
    let recurs = |kind: &Kind| matches!(kind, Kind::Recurrent | Kind::Parallel);
    let state = if kinds.iter().any(recurs) {
        Some(recurrent::read(context)?)
    } else {
        None
    };
    let attends = kinds.iter().any(|kind| *kind != Kind::Recurrent);
    let shape = if attends {
        Some(Shape::read(context, &kinds)?)
    } else {
        None
    };
    kinds
        .iter()
        .enumerate()
        .map(|(layer, kind)| one(context, *kind, layer, shape.as_ref(), state.as_ref()))
        .collect()
}

/// Attention over the whole context, of a model whose layers all have the same.
pub(super) fn shape(context: &Context<'_, '_>) -> Result<Attention, ImportError> {
    Ok(Shape::read(context, &[])?.layer(0, Span::Full))
}

/// The attention of a model whose key-value heads are stated elsewhere.
pub(super) fn base(context: &Context<'_, '_>, heads: u64) -> Result<Gqa, ImportError> {
    gqa(context, Some(&Spread::One(heads)))
}

/// A layer of a kind.
fn one(
    context: &Context<'_, '_>,
    kind: Kind,
    layer: usize,
    shape: Option<&Shape>,
    state: Option<&Recurrent>,
) -> Result<Attention, ImportError> {
    let parts = match kind {
        Kind::Full => (shape.map(|shape| shape.layer(layer, Span::Full)), None),
        Kind::Local(span) => (shape.map(|shape| shape.layer(layer, span)), None),
        Kind::Recurrent => (None, state),
        Kind::Parallel => (shape.map(|shape| shape.layer(layer, Span::Full)), state),
    };
    match parts {
        (Some(attention), None) => Ok(attention),
        (None, Some(recurrent)) => Ok(Attention::Recurrent(recurrent.clone())),
        (Some(Attention::Gqa(attention)), Some(recurrent)) => Ok(Attention::Parallel {
            attention,
            recurrent: recurrent.clone(),
        }),
        _ => Err(ImportError::Unsupported {
            feature: "attention and recurrence in one layer, of these kinds".to_owned(),
            key: context.fields.path("model_type"),
        }),
    }
}

/// Shapes of the attending layers.
enum Shape {
    /// MLA, with or without an indexer layer by layer.
    Mla(Vec<Attention>),
    Gqa {
        full: Gqa,
        local: Gqa,
        heads: Option<Spread>,
        kv_heads: Option<Spread>,
        shared: Vec<bool>,
        indexed: Vec<Option<crate::model::Indexer>>,
    },
}

impl Shape {
    fn read(context: &Context<'_, '_>, kinds: &[Kind]) -> Result<Self, ImportError> {
        if context
            .attention()
            .size(keys::KV_RANK, 1, MOST_WIDE)?
            .is_some()
        {
            return mla::read(context, kinds).map(Self::Mla);
        }
        let kv_heads = kv_spread(context)?;
        let full = gqa(context, kv_heads.as_ref())?;
        let (full, local) = halves(context, full, kinds)?;
        let heads = context.fields.spread(
            &["num_attention_heads_per_layer"],
            context.layers,
            1,
            MOST_WIDE,
        )?;
        Ok(Self::Gqa {
            full,
            local,
            heads,
            kv_heads: kv_heads.filter(|spread| matches!(spread, Spread::Each(_))),
            shared: shared(context)?,
            indexed: indexer::of_gqa(context)?,
        })
    }

    fn layer(&self, layer: usize, span: Span) -> Attention {
        match self {
            Self::Mla(layers) => layers.get(layer).cloned().unwrap_or(Attention::None),
            Self::Gqa {
                full,
                local,
                heads,
                kv_heads,
                shared,
                indexed,
            } => {
                let mut own = if span.is_full() { full } else { local }.clone();
                own.span = span;
                if let Some(heads) = heads {
                    own.heads = heads.at(layer);
                }
                if let Some(kv_heads) = kv_heads {
                    own.kv_heads = kv_heads.at(layer);
                }
                own.shares_kv = shared.get(layer).copied().unwrap_or(false);
                own.indexer = indexed.get(layer).copied().flatten();
                Attention::Gqa(own)
            }
        }
    }
}

/// Key-value heads of all layers.
fn kv_spread(context: &Context<'_, '_>) -> Result<Option<Spread>, ImportError> {
    let fields = context.attention();
    let multi_query = fields.flag("multi_query")?;
    let new_style = fields.flag("new_decoder_architecture")?;
    let grouped = fields.flag("multi_query_attention")?;
    // Falcon and GPT-BigCode: one for all heads, whatever num_kv_heads says in old Falcons.
    if multi_query == Some(true) && new_style != Some(true) {
        fields.size(keys::KV_HEADS, 1, MOST_WIDE)?;
        return Ok(Some(Spread::One(1)));
    }
    let stated = fields.spread(keys::KV_HEADS, context.layers, 1, MOST_WIDE)?;
    // ChatGLM states groups even where its switch is off.
    Ok(stated.filter(|_| grouped != Some(false)))
}

/// The attention all layers have unless something else is said.
fn gqa(context: &Context<'_, '_>, kv_heads: Option<&Spread>) -> Result<Gqa, ImportError> {
    let facts = &context.family.facts;
    let fields = context.attention();
    let heads = heads(context)?;
    let head_dim = head_dim(context, heads)?;
    let kv_heads = match kv_heads {
        Some(spread) => spread.most(),
        None => missing_kv_heads(context, heads)?,
    };
    if !heads.is_multiple_of(kv_heads) {
        return Err(ImportError::Contradiction {
            first: format!("num_attention_heads ({heads})"),
            second: format!("num_key_value_heads ({kv_heads})"),
            why: "each key-value head serves equally many query heads",
        });
    }
    let (qkv_bias, out_bias) = biases(context)?;
    let (qk_norm, qk_norm_whole) = norms(context)?;
    let value = fields.size(keys::VALUE, 1, MOST_WIDE)?;
    Ok(Gqa {
        heads,
        kv_heads,
        head_dim,
        v_dim: value.filter(|width| *width != head_dim),
        q_rank: fields.whole("share_q_dim", 1, MOST_WIDE)?,
        qk_norm,
        qk_norm_whole,
        qkv_bias,
        out_bias,
        sinks: facts.sinks,
        gate: gate(context)?,
        ..Gqa::default()
    })
}

/// Query heads.
pub(super) fn heads(context: &Context<'_, '_>) -> Result<u64, ImportError> {
    for fields in [context.attention(), context.fields] {
        if let Some(heads) = fields.size(keys::HEADS, 1, MOST_WIDE)? {
            return Ok(heads);
        }
    }
    match context.class_default("num_attention_heads") {
        Some(heads) => Ok(heads),
        None => super::context::need(context.fields, keys::HEADS, MOST_WIDE),
    }
}

fn missing_kv_heads(context: &Context<'_, '_>, heads: u64) -> Result<u64, ImportError> {
    if let Some(kv_heads) = context.class_default("num_key_value_heads") {
        return Ok(kv_heads);
    }
    let old = context.fields.has("n_head") || context.fields.has("n_heads");
    if context.family.facts.mha || old || context.attention().flag("multi_query")? == Some(false) {
        context.note("num_key_value_heads is missing: one per query head (MHA)");
        return Ok(heads);
    }
    Err(context.fields.missing(
        "num_key_value_heads",
        "the size of the KV cache depends on it",
    ))
}

fn head_dim(context: &Context<'_, '_>, heads: u64) -> Result<u64, ImportError> {
    let fields = context.attention();
    let hidden = context.hidden;
    let stated = fields.size(keys::HEAD_DIM, 1, MOST_WIDE)?;
    // Grouped attention of Qwen2-like files never states it, 0 stands for nothing.
    match (stated, context.family.facts.head_dim) {
        (Some(width), _) => Ok(width),
        (None, HeadDim::Is(width)) => {
            context.note(format!(
                "head_dim is missing: {width}, the default of {}'s class",
                context.family.name
            ));
            Ok(width)
        }
        (None, _) if !hidden.is_multiple_of(heads) => Err(ImportError::HeadWidth { hidden, heads }),
        (None, HeadDim::State) => Err(context.fields.missing(
            "head_dim",
            "this family's heads are not hidden_size / num_attention_heads wide",
        )),
        (None, HeadDim::Divide) => Ok(hidden / heads),
    }
}

/// Biases of the projections: (Q, K and V; output).
fn biases(context: &Context<'_, '_>) -> Result<(bool, bool), ImportError> {
    let facts = &context.family.facts;
    let fields = context.attention();
    let stated = first_flag(
        fields,
        &["attention_bias", "qkv_bias", "use_qkv_bias", "add_qkv_bias"],
    )?;
    let all = first_flag(
        fields,
        &["use_bias", "bias", "add_bias_linear", "enable_bias"],
    )?;
    let qkv = stated.or(all).unwrap_or(facts.qkv_bias);
    let own = first_flag(fields, &["attention_out_bias", "use_o_bias"])?;
    let out = own.unwrap_or(match facts.out_bias {
        OutBias::Always => all.unwrap_or(true),
        OutBias::Never => false,
        // Of all linears, or of attention's. A flag for Q, K and V alone says nothing.
        OutBias::Follows => all.unwrap_or(fields.flag("attention_bias")?.unwrap_or(false)),
    });
    // MPT says it the other way round.
    let none = context.fields.flag("no_bias")? == Some(true);
    Ok((qkv && !none, out && !none))
}

/// Norms on queries and keys: (there, over all heads).
fn norms(context: &Context<'_, '_>) -> Result<(bool, bool), ImportError> {
    let fields = context.attention();
    let facts = context.family.facts.qk_norm;
    let there = first_flag(fields, &["use_qk_norm", "qk_norm", "qk_layernorm", "qk_ln"])?;
    // Llama 4's norms have no parameters.
    if context.family.is(&["llama4"]) {
        return Ok((false, false));
    }
    let there = there.unwrap_or(facts != QkNorm::None);
    let whole = match fields.text("qk_norm_type")? {
        Some(kind) => kind == "per_layer",
        None => facts == QkNorm::Whole || context.family.is(&["cohere", "stablelm"]),
    };
    Ok((there, there && whole))
}

fn gate(context: &Context<'_, '_>) -> Result<Gate, ImportError> {
    let fields = context.fields;
    let full = first_flag(
        fields,
        &[
            "attn_output_gate",
            "attention_output_gate",
            "use_output_gate",
        ],
    )?;
    if let Some(full) = full {
        return Ok(if full { Gate::Full } else { Gate::None });
    }
    if fields.flag("use_head_wise_attn_gate")? == Some(true) {
        return Ok(Gate::Head);
    }
    fields.value("gating_types");
    Ok(match fields.value("gating") {
        Some(Value::Bool(false)) => Gate::None,
        Some(Value::String(kind)) if kind.contains("head") => Gate::Head,
        Some(Value::String(kind)) if kind == "none" => Gate::None,
        _ => context.family.facts.gate,
    })
}

/// The first of some flags that is stated.
pub(super) fn first_flag(fields: &Fields<'_>, keys: &[&str]) -> Result<Option<bool>, ImportError> {
    let mut first = None;
    for key in keys {
        let stated = fields.flag(key)?;
        first = first.or(stated);
    }
    Ok(first)
}

/// The shapes of layers that see everything and of layers that see a window.
fn halves(context: &Context<'_, '_>, base: Gqa, kinds: &[Kind]) -> Result<(Gqa, Gqa), ImportError> {
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
fn shared(context: &Context<'_, '_>) -> Result<Vec<bool>, ImportError> {
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
