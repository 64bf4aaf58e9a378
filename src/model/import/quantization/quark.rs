//! AMD Quark: a format for all (`global_quant_config`), for modules by name
//! (`layer_quant_config`), and `exclude`.

use super::super::ImportError;
use super::super::fields::Fields;
use super::methods::{MOST_GROUP, exceptions, kv, say_unknown};
use super::names::Names;
use super::scheme::{Context, Format, Scheme};
use crate::catalog::Dtype;
use serde_json::Value;

/// Reads the section; none, and a note: nothing known.
pub(super) fn read(
    section: &Fields<'_>,
    at: &mut Context<'_>,
) -> Result<Option<Scheme>, ImportError> {
    let all = match section.section("global_quant_config")? {
        Some(own) => format(&own)?,
        None => None,
    };
    let modules = section.section("layer_quant_config")?;
    let named = modules.as_ref().map_or(0, |own| own.keys().len());
    if all.is_none() && named == 0 {
        say_unknown(section, "quark", at);
        return Ok(None);
    }
    let mut scheme = Scheme::new(all);
    scheme.kv = cache(section)?;
    scheme.default_head = true;
    exceptions(&mut scheme, section, at)?;
    if let Some(modules) = modules {
        let mut rules: Vec<(Option<Format>, Names)> = Vec::new();
        for name in modules.keys() {
            let Some(own) = modules.section(name)? else {
                continue;
            };
            let format = format(&own)?;
            if format.is_none() && own.has("weight") {
                say_unknown(&own, "its dtype", at);
            }
            if !rules.iter().any(|(other, _)| *other == format) {
                rules.push((format, Names::default()));
            }
            if let Some((_, names)) = rules.iter_mut().find(|(other, _)| *other == format) {
                names.add(name, modules.place())?;
            }
        }
        for (format, names) in rules {
            scheme.rule(names, format, modules.place(), at)?;
        }
    }
    Ok(Some(scheme))
}

fn format(own: &Fields<'_>) -> Result<Option<Format>, ImportError> {
    let Some(weights) = tensor(own, "weight")? else {
        return Ok(None);
    };
    let inputs = tensor(own, "input_tensors")?.map_or(Dtype::Bf16, |inputs| inputs.weights);
    Ok(Some(Format {
        activations: inputs,
        ..weights
    }))
}

/// One kind of tensor; of several steps of quantisation the last is what is stored.
fn tensor(own: &Fields<'_>, key: &str) -> Result<Option<Format>, ImportError> {
    let steps;
    let section = match own.value(key) {
        Some(Value::Array(list)) => match list.last() {
            Some(Value::Object(last)) => {
                steps = Fields::new(last, &format!("{}.", own.path(key)));
                steps
            }
            _ => return Ok(None),
        },
        _ => match own.section(key)? {
            Some(section) => section,
            None => return Ok(None),
        },
    };
    let group = match section.value("group_size").and_then(Value::as_i64) {
        Some(negative) if negative < 0 => None,
        _ => section
            .whole("group_size", 0, MOST_GROUP)?
            .filter(|group| *group > 0),
    };
    let of = |dtype| Format::new(dtype, Dtype::Bf16);
    Ok(match (section.text("dtype")?, group) {
        (Some("fp8_e4m3" | "fp8_e5m2"), Some(32)) => Some(of(Dtype::Fp8).scaled(8, 32)),
        (Some("fp8_e4m3" | "fp8_e5m2"), _) => Some(of(Dtype::Fp8)),
        (Some("fp4" | "mxfp4"), Some(32) | None) => Some(of(Dtype::Mxfp4)),
        (Some("fp4"), Some(16)) => Some(of(Dtype::Fp4)),
        (Some("int8"), None) => Some(of(Dtype::Int8)),
        (Some("int8"), Some(group)) => Some(of(Dtype::Int8).scaled(16, group)),
        (Some("int4"), Some(group)) => Some(of(Dtype::Int4).scaled(16, group)),
        (Some("uint4"), Some(group)) => Some(of(Dtype::Int4).scaled(20, group)),
        _ => None,
    })
}

fn cache(section: &Fields<'_>) -> Result<Dtype, ImportError> {
    let Some(config) = section.section("kv_cache_quant_config")? else {
        return kv(section);
    };
    for key in config.keys() {
        let Some(own) = config.section(key)? else {
            continue;
        };
        if let Some(format) = tensor(&own, "output_tensors")? {
            return Ok(format.weights);
        }
    }
    Ok(Dtype::Bf16)
}
