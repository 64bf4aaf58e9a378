//! `quantization_config`: in which formats a checkpoint is kept, where that is simple enough for
//! one [`Precision`]. What is not simple becomes a note, never a guess.

use super::ImportError;
use super::fields::Fields;
use crate::catalog::Dtype;
use crate::model::Precision;

/// Modules that are kept wide anyway: naming them as exceptions changes nothing.
const WIDE_ANYWAY: [&str; 8] = [
    "lm_head",
    "embed",
    "norm",
    "router",
    "gate",
    "vision",
    "visual",
    "projector",
];

/// Reads the section from wherever the file has it.
pub(super) fn hint<'a>(
    top: &Fields<'a>,
    fields: &Fields<'a>,
    notes: &mut Vec<String>,
) -> Result<Option<Precision>, ImportError> {
    let section = match top.section("quantization_config")? {
        Some(section) => Some(section),
        None => fields.section("quantization_config")?,
    };
    let Some(section) = section else {
        return Ok(None);
    };
    let method = section.text("quant_method")?.unwrap_or_default();
    let found = match method {
        "fp8" | "fbgemm_fp8" => Some((Dtype::Fp8, Dtype::Fp8)),
        "compressed-tensors" => compressed_tensors(&section)?,
        "modelopt" | "modelopt_fp4" | "modelopt_fp8" => modelopt(&section)?,
        "bitsandbytes" => {
            (section.flag("load_in_8bit")? == Some(true)).then_some((Dtype::Int8, Dtype::Bf16))
        }
        "gptq" | "awq" => {
            (section.whole("bits", 1, 64)? == Some(8)).then_some((Dtype::Int8, Dtype::Bf16))
        }
        _ => None,
    };
    let Some((weights, activations)) = found else {
        notes.push(format!(
            "quantization_config ({}) is not one of the simple formats: choose the precision yourself; BF16 until then",
            method.chars().take(40).collect::<String>()
        ));
        return Ok(None);
    };
    note_exceptions(&section, weights, notes)?;
    let kv = if kv_is_fp8(&section)? {
        Dtype::Fp8
    } else {
        Dtype::Bf16
    };
    Ok(Some(Precision {
        weights,
        activations,
        kv,
    }))
}

type Formats = Option<(Dtype, Dtype)>;

/// One group of linears, all alike, in a format with a name here.
fn compressed_tensors(section: &Fields<'_>) -> Result<Formats, ImportError> {
    let Some(serde_json::Value::Object(groups)) = section.value("config_groups") else {
        return Ok(None);
    };
    let path = format!("{}.", section.path("config_groups"));
    let all = Fields::new(groups, &path);
    let mut formats = Vec::new();
    let mut keys: Vec<&String> = groups.keys().collect();
    keys.sort();
    for key in keys {
        let Some(group) = all.section(key)? else {
            continue;
        };
        let weights = tensor(&group, "weights")?;
        // Not quantised on the way in: multiplied wide.
        let inputs = if group.has("input_activations") {
            tensor(&group, "input_activations")?
        } else {
            Some(Dtype::Bf16)
        };
        formats.push(weights.zip(inputs));
    }
    formats.dedup();
    Ok(match formats.as_slice() {
        [one] => *one,
        _ => None,
    })
}

/// The format of one kind of tensor of a group.
fn tensor(group: &Fields<'_>, key: &str) -> Result<Option<Dtype>, ImportError> {
    let Some(section) = group.section(key)? else {
        return Ok(None);
    };
    let bits = section.whole("num_bits", 1, 64)?;
    let kind = section.text("type")?;
    let block = section.whole("group_size", 0, 1 << 20)?;
    Ok(match (kind, bits, block) {
        (Some("float"), Some(8), _) => Some(Dtype::Fp8),
        (Some("int"), Some(8), _) => Some(Dtype::Int8),
        // NVFP4's block; other 4-bit floats have other scales.
        (Some("float"), Some(4), Some(16)) => Some(Dtype::Fp4),
        _ => None,
    })
}

/// NVIDIA's exporter states one word for all linears.
fn modelopt(section: &Fields<'_>) -> Result<Formats, ImportError> {
    if !section.has("quant_algo") && section.has("config_groups") {
        return compressed_tensors(section);
    }
    Ok(match section.text("quant_algo")? {
        Some("NVFP4") => Some((Dtype::Fp4, Dtype::Fp4)),
        Some("FP8") => Some((Dtype::Fp8, Dtype::Fp8)),
        _ => None,
    })
}

fn kv_is_fp8(section: &Fields<'_>) -> Result<bool, ImportError> {
    if let Some(word) = section.text("kv_cache_quant_algo")? {
        return Ok(word == "FP8");
    }
    let Some(scheme) = section.section("kv_cache_scheme")? else {
        return Ok(false);
    };
    Ok(scheme.whole("num_bits", 1, 64)? == Some(8) && scheme.text("type")? == Some("float"))
}

/// Says so where the file keeps further linears wide, which one [`Precision`] can't express.
fn note_exceptions(
    section: &Fields<'_>,
    weights: Dtype,
    notes: &mut Vec<String>,
) -> Result<(), ImportError> {
    for key in [
        "ignore",
        "ignored_layers",
        "modules_to_not_convert",
        "exclude_modules",
    ] {
        let exceptions = section.list(key)?.unwrap_or_default();
        let first = exceptions
            .iter()
            .filter_map(|item| item.as_str())
            .find(|name| {
                !WIDE_ANYWAY.iter().any(|part| name.contains(part)) || name.contains("gate_proj")
            });
        if let Some(name) = first {
            notes.push(format!(
                "{} keeps further linears unquantised (“{}” and others): all are counted in {} here",
                section.path(key),
                name.chars().take(60).collect::<String>(),
                weights.name()
            ));
        }
    }
    Ok(())
}
