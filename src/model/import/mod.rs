//! Import of a model's shape from Hugging Face `config.json`.
//!
//! Such files come from dozens of families with keys of their own, and from the internet. So:
//! a file is bounded and parsed strictly; a key that would change the answer is never guessed
//! silently (its absence is an error that names it, or, where a class has a default, listed among
//! [`Imported::assumptions`]); and a key that nobody here understands is listed in
//! [`Imported::unused_keys`], and among the assumptions too where its name says that it describes
//! experts, windows or the like.
//!
//! How a file becomes layers: `keys` has the spellings of each quantity, `families` what a class
//! takes for granted, `pattern` and `sparse` say which layer is of which kind, `attention`, `mla`,
//! `compressed`, `recurrent`, `ffn` and `moe` what each kind is; `blocks` and `nas` read files that
//! describe whole blocks instead.

mod attention;
mod blocks;
mod compressed;
mod context;
mod error;
mod extras;
mod facts;
mod families;
mod family;
mod ffn;
mod fields;
mod indexer;
mod json;
mod keys;
mod known;
mod mla;
mod moe;
mod nas;
mod overrides;
mod pattern;
mod quantization;
mod recurrent;
mod refuse;
mod required;
mod sparse;
mod towers;
mod variants;
mod windows;
mod zamba;

pub use error::ImportError;

use super::{LayerRun, Model, Precision};
use crate::catalog::ModelId;
use context::Context;
use fields::Fields;

/// A model read from a `config.json`, and what the reader of it should know.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The shape.
    pub model: Model,
    /// Formats of a quantised checkpoint, where the file states them and they are simple.
    pub precision_hint: Option<Precision>,
    /// What was taken for granted, and what the file describes that is not part of the model.
    pub assumptions: Vec<String>,
    /// Keys nobody here understands, sorted; with their path in nested files.
    pub unused_keys: Vec<String>,
}

/// Sections in which multimodal files describe their language model.
const NESTED: [&str; 3] = ["text_config", "language_config", "llm_config"];

/// Reads a `config.json`. `file_name` names the model where the file itself doesn't.
///
/// # Errors
/// The file is not a JSON object, is too large, states something impossible, lacks a key that
/// decides the answer, or describes no decoder language model.
pub fn import_config(text: &str, file_name: &str) -> Result<Imported, ImportError> {
    import_checkpoint(text, None, file_name)
}

/// The same with the text of the `hf_quant_config.json` beside it, where there is one: NVIDIA's
/// exporter says there how the checkpoint is quantised.
///
/// # Errors
/// As [`import_config`]; of either file.
pub fn import_checkpoint(
    text: &str,
    quantization: Option<&str>,
    file_name: &str,
) -> Result<Imported, ImportError> {
    let root = json::parse(text)?;
    let top = Fields::new(&root, "");
    let beside = quantization
        .map(|text| json::parse(text).map_err(ImportError::in_quantization))
        .transpose()?;
    let beside = beside
        .as_ref()
        .map(|map| Fields::new(map, "hf_quant_config.json: "));
    // Models that listen and speak: the part that thinks.
    let thinker = top.section("thinker_config")?;
    let outer = thinker.as_ref().unwrap_or(&top);
    let nested = NESTED
        .iter()
        .filter(|key| !outer.has("hidden_size") || outer.is_object(key))
        .find_map(|key| outer.section(key).transpose())
        .transpose()?;
    let mut notes = Vec::new();
    let fields = nested.as_ref().unwrap_or(outer);
    if !fields.place().is_empty() {
        notes.push(format!(
            "only the language model ({}) is served here; towers for images or sound stand beside it",
            fields.place()
        ));
    }
    refuse::encoders(&top)?;
    refuse::encoders(fields)?;
    let context = Context::read(outer, fields, notes)?;
    required::check(&context)?;
    let mut model = read_model(&top, &context, file_name)?;
    context.pass_switches_off();
    let sections: Vec<Vec<String>> = [&context.attention, &context.ffn]
        .into_iter()
        .flatten()
        .map(Fields::unused)
        .collect();
    let mut notes = context.into_notes();
    towers::read(&mut model, outer, &mut notes)?;
    let precision_hint =
        quantization::apply(&mut model, &top, fields, beside.as_ref(), &mut notes)?;
    let mut unused_keys = sections.concat();
    let mut outermost_first = vec![&top];
    outermost_first.extend(thinker.as_ref());
    outermost_first.extend(nested.as_ref());
    for (depth, object) in outermost_first.iter().enumerate() {
        for inner in outermost_first.iter().skip(depth + 1) {
            object.leave_to(inner);
        }
        unused_keys.extend(object.unused());
        refuse::suspicious(object, &mut notes);
    }
    if precision_hint.is_none() && (is_fp32(&top) || is_fp32(fields)) {
        notes.push(
            "the checkpoint is stored in FP32: engines serve it in BF16, and so its weights are counted"
                .to_owned(),
        );
    }
    unused_keys.sort();
    model
        .check()
        .map_err(|error| ImportError::Shape(error.to_string()))?;
    Ok(Imported {
        model,
        precision_hint,
        assumptions: notes,
        unused_keys,
    })
}

/// Whether a file says that its checkpoint is stored in FP32.
fn is_fp32(fields: &Fields<'_>) -> bool {
    ["torch_dtype", "dtype"]
        .iter()
        .any(|key| fields.holds(key, |value| value == "float32"))
}

fn read_model(
    top: &Fields<'_>,
    context: &Context<'_, '_>,
    file_name: &str,
) -> Result<Model, ImportError> {
    let layers = folded(overrides::apply(context, layers(context)?)?);
    let name = model_name(top, file_name, &context.family)?;
    Ok(Model {
        id: ModelId::from_label(&name),
        name,
        hidden: context.hidden,
        vocab: context.vocab,
        tied_embeddings: context.family.tied,
        max_context: context.max_context,
        norm: context.family.facts.norm,
        extras: extras::read(context, &layers)?,
        mtp: extras::mtp(context, &layers)?,
        layers,
        quantization: None,
        source: format!("imported from {}", shortened(file_name)),
        assumptions: Vec::new(),
    })
}

/// The layers, one by one.
fn layers(context: &Context<'_, '_>) -> Result<Vec<LayerRun>, ImportError> {
    if let Some(blocks) = blocks::read(context)? {
        return Ok(blocks);
    }
    let mixers = attention::read(context)?;
    let ffns = ffn::read(context)?;
    mixers
        .into_iter()
        .zip(ffns)
        .map(|(attention, ffn)| {
            let mut run = LayerRun::new(1, attention, ffn);
            run.norms = extras::norms(context, &run)?;
            Ok(run)
        })
        .collect()
}

/// Equal neighbours as one run.
fn folded(layers: Vec<LayerRun>) -> Vec<LayerRun> {
    let mut runs: Vec<LayerRun> = Vec::new();
    for layer in layers {
        match runs.last_mut() {
            Some(run)
                if run.attention == layer.attention
                    && run.ffn == layer.ffn
                    && run.norms == layer.norms
                    && run.reused == layer.reused =>
            {
                run.count += layer.count;
            }
            _ => runs.push(layer),
        }
    }
    runs
}

/// The repository's name, else the file's, else the family's.
fn model_name(
    top: &Fields<'_>,
    file_name: &str,
    family: &family::Family,
) -> Result<String, ImportError> {
    let last = |path: &str| {
        let path = path.trim_end_matches(['/', '\\']);
        path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned()
    };
    let own = top.text("_name_or_path")?.map(last).unwrap_or_default();
    let file = last(file_name);
    let file = file.strip_suffix(".json").unwrap_or(&file);
    let file = file.strip_suffix("_config").unwrap_or(file);
    // Downloads are often called `organisation--model`.
    let file = file.rsplit("--").next().unwrap_or(file);
    let name = [own.as_str(), file, family.name.as_str()]
        .into_iter()
        .find(|name| name.chars().any(char::is_alphanumeric) && *name != "config")
        .unwrap_or("imported model");
    Ok(shortened(name))
}

/// Cut to a length that can be shown.
fn shortened(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}

#[cfg(test)]
pub(crate) mod tests;
