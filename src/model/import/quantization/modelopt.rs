//! NVIDIA Model Optimizer: one word for all linears (`quant_algo`), or one per module
//! (`MIXED_PRECISION` with `quantized_layers`), less `exclude_modules`. The same keys stand in
//! `quantization_config` and in `hf_quant_config.json`.

use super::super::ImportError;
use super::super::fields::Fields;
use super::compressed_tensors;
use super::methods::{MOST_GROUP, exceptions, kv, say_unknown, short};
use super::names::Names;
use super::scheme::{Context, Format, Scheme};
use crate::catalog::Dtype;

/// Reads the section; none, and a note: nothing known.
pub(super) fn read(
    section: &Fields<'_>,
    at: &mut Context<'_>,
) -> Result<Option<Scheme>, ImportError> {
    let word = section.text("quant_algo")?;
    let per_module = section.section("quantized_layers")?;
    let mixed = matches!(word, Some("MIXED_PRECISION") | None);
    if mixed && per_module.is_none() && section.has("config_groups") {
        let mut scheme = compressed_tensors::read(section, at)?;
        if let Some(scheme) = &mut scheme {
            // The exporter leaves the head unless it names it.
            scheme.default_head = false;
        }
        return Ok(scheme);
    }
    let size = section.whole("group_size", 1, MOST_GROUP)?;
    let all = match word {
        Some(word) if !mixed => {
            let format = algorithm(word, size);
            if format.is_none() {
                say_unknown(section, word, at);
                return Ok(None);
            }
            format
        }
        _ => None,
    };
    let mut scheme = Scheme::new(all);
    scheme.kv = kv(section)?;
    exceptions(&mut scheme, section, at)?;
    match per_module {
        Some(modules) => layers(&mut scheme, &modules, size, at)?,
        None if mixed => {
            say_unknown(section, word.unwrap_or("no quant_algo"), at);
            return Ok(None);
        }
        None => {}
    }
    Ok(Some(scheme))
}

/// `quantized_layers`: modules of equal format in one rule.
fn layers(
    scheme: &mut Scheme,
    modules: &Fields<'_>,
    size: Option<u64>,
    at: &mut Context<'_>,
) -> Result<(), ImportError> {
    let mut rules: Vec<(Format, Names)> = Vec::new();
    let mut unknown = None;
    for name in modules.keys() {
        let path = modules.path(&short(name));
        let Some(own) = modules.section(name)? else {
            continue;
        };
        let Some(word) = own.text("quant_algo")? else {
            continue;
        };
        let size = own.whole("group_size", 1, MOST_GROUP)?.or(size);
        let Some(format) = algorithm(word, size) else {
            unknown = Some(word);
            continue;
        };
        let index = match rules.iter().position(|(other, _)| *other == format) {
            Some(index) => index,
            None => {
                rules.push((format, Names::default()));
                rules.len() - 1
            }
        };
        if let Some((_, names)) = rules.get_mut(index) {
            names.add(name, &path)?;
        }
    }
    for (format, names) in rules {
        scheme.rule(names, Some(format), modules.place(), at)?;
    }
    if let Some(word) = unknown {
        at.notes.push(format!(
            "{} has modules in a format not known here ({}): counted in BF16",
            modules.place(),
            short(word)
        ));
    }
    Ok(())
}

/// `quant_algo`'s words (ModelOpt's `QUANTIZATION_*` constants and vLLM's `modelopt` reader). FP8
/// in blocks has an FP32 scale per 128 × 128 and is multiplied in FP8 for all its name says
/// "weight only"; AWQ's groups have 16-bit scales and are symmetric.
fn algorithm(word: &str, size: Option<u64>) -> Option<Format> {
    let group = size.unwrap_or(128);
    Some(match word {
        "FP8" | "FP8_PER_CHANNEL_PER_TOKEN" => Format::new(Dtype::Fp8, Dtype::Fp8),
        "FP8_PB_WO" | "FP8_PB_REAL" => Format {
            block: Some(128),
            ..Format::new(Dtype::Fp8, Dtype::Fp8).scaled(32, 128 * 128)
        },
        "MXFP8" => Format::new(Dtype::Fp8, Dtype::Fp8).scaled(8, 32),
        "NVFP4" | "NVFP4_AWQ" | "NVFP4_SVDQUANT" => Format::new(Dtype::Fp4, Dtype::Fp4),
        "W4A16_NVFP4" | "NVFP4_W4A16" => Format::new(Dtype::Fp4, Dtype::Bf16),
        "W4A8_NVFP4_FP8" => Format::new(Dtype::Fp4, Dtype::Fp8),
        "MXFP4" => Format::new(Dtype::Mxfp4, Dtype::Mxfp4),
        "W4A8_MXFP4_FP8" => Format::new(Dtype::Mxfp4, Dtype::Fp8),
        "W4A16_MXFP4" => Format::new(Dtype::Mxfp4, Dtype::Bf16),
        "W4A16_AWQ" | "W4A16" | "INT4_AWQ" => {
            Format::new(Dtype::Int4, Dtype::Bf16).scaled(16, group)
        }
        "W4A8_AWQ" => Format::new(Dtype::Int4, Dtype::Fp8).scaled(16, group),
        "W8A16" => Format::new(Dtype::Int8, Dtype::Bf16),
        "INT8_SQ" | "W8A8_SQ_PER_CHANNEL" | "W8A8_SQ_PER_CHANNEL_PER_TOKEN_PLUGIN" => {
            Format::new(Dtype::Int8, Dtype::Int8)
        }
        _ => return None,
    })
}
