//! Sections that state one format for all linears, with exceptions: by `quant_method`.

use super::super::ImportError;
use super::super::fields::{Fields, whole};
use super::names::Names;
use super::scheme::{Context, Format, Scheme};
use super::{compressed_tensors, modelopt, quark};
use crate::catalog::Dtype;
use serde_json::Value;

/// Most weights that share a scale.
pub(super) const MOST_GROUP: u64 = 1 << 20;

/// The exporters' words for what is left as it was.
const EXCEPTIONS: [&str; 7] = [
    "modules_to_not_convert",
    "ignored_layers",
    "ignore",
    "exclude_modules",
    "llm_int8_skip_modules",
    "skip_modules",
    "exclude",
];

/// A text of the file cut to what can be shown.
pub(super) fn short(text: &str) -> String {
    text.chars()
        .filter(|letter| !letter.is_control())
        .take(40)
        .collect()
}

/// Reads a `quantization_config`; none, and a note: nothing known.
pub(super) fn read(
    section: &Fields<'_>,
    at: &mut Context<'_>,
) -> Result<Option<Scheme>, ImportError> {
    let method = section.text("quant_method")?.unwrap_or_default();
    let format = match method {
        "compressed-tensors" | "compressed_tensors" => {
            return compressed_tensors::read(section, at);
        }
        "quark" => return quark::read(section, at),
        "mxfp4" => return mxfp4(section, at),
        name if name.starts_with("modelopt") => return modelopt::read(section, at),
        "fp8" | "fbgemm_fp8" | "mxfp8" => Some(fp8(section, method == "mxfp8")?),
        "awq" => integer(section, "zero_point", true, at)?,
        "gptq" | "gptqmodel" | "auto-round" | "auto_round" | "intel/auto-round" => {
            integer_or_float(section, at)?
        }
        "bitsandbytes" => bitsandbytes(section)?,
        "eetq" | "experts_int8" => Some(Format::new(Dtype::Int8, Dtype::Bf16)),
        "fp_quant" => match section.text("forward_dtype")? {
            Some("mxfp4") => Some(Format::new(Dtype::Mxfp4, Dtype::Mxfp4)),
            Some("nvfp4") => Some(Format::new(Dtype::Fp4, Dtype::Fp4)),
            _ => None,
        },
        "hqq" => hqq(section)?,
        "torchao" => torchao(section)?,
        "quanto" => match section.text("weights")? {
            Some("float8") => Some(Format::new(Dtype::Fp8, Dtype::Bf16)),
            Some("int8") => Some(Format::new(Dtype::Int8, Dtype::Bf16)),
            Some("int4") => Some(Format::new(Dtype::Int4, Dtype::Bf16)),
            _ => None,
        },
        // MLX states bits and group alone: a BF16 scale and a BF16 bias per group.
        "" if section.has("bits") && section.has("group_size") => {
            let group = section.whole("group_size", 1, MOST_GROUP)?.unwrap_or(64);
            dtype_of_bits(section.whole("bits", 1, 64)?)
                .map(|dtype| Format::new(dtype, Dtype::Bf16).scaled(32, group))
        }
        _ => None,
    };
    let Some(format) = format else {
        if section.value("group_size") == Some(&Value::from(0)) {
            say_unknown(section, &format!("{method}, group_size 0"), at);
        } else {
            say_unknown(section, method, at);
        }
        return Ok(None);
    };
    let mut scheme = Scheme::new(Some(format));
    scheme.kv = kv(section)?;
    // GPTQ alone says so by a flag; others keep the head as it was.
    scheme.default_head = section.value("lm_head") == Some(&Value::Bool(true));
    exceptions(&mut scheme, section, at)?;
    per_module(&mut scheme, section, format, at)?;
    Ok(Some(scheme))
}

/// Says that the user has to choose.
pub(super) fn say_unknown(section: &Fields<'_>, what: &str, at: &mut Context<'_>) {
    at.notes.push(format!(
        "{} ({}) is in no format known here: choose the precision yourself; BF16 until then",
        if section.place().is_empty() {
            "quantization_config"
        } else {
            section.place()
        },
        short(what)
    ));
}

/// Adds the modules left as they were.
pub(super) fn exceptions(
    scheme: &mut Scheme,
    section: &Fields<'_>,
    at: &mut Context<'_>,
) -> Result<(), ImportError> {
    for key in EXCEPTIONS {
        let mut names = Names::default();
        names.extend(section.list(key)?.unwrap_or_default(), &section.path(key))?;
        scheme.rule(names, None, &section.path(key), at)?;
    }
    Ok(())
}

/// GPTQModel's `dynamic` (`-:` leaves a module as it was) and auto-round's `extra_config` state
/// bits module by module.
fn per_module(
    scheme: &mut Scheme,
    section: &Fields<'_>,
    format: Format,
    at: &mut Context<'_>,
) -> Result<(), ImportError> {
    for key in ["dynamic", "extra_config"] {
        let Some(modules) = section.section(key)? else {
            continue;
        };
        let (mut wide, mut eight) = (Names::default(), Names::default());
        for name in modules.keys() {
            let path = modules.path(&short(name));
            if let Some(pattern) = name.strip_prefix("-:") {
                wide.add(&format!("re:{pattern}"), &path)?;
                continue;
            }
            let plain = match name.strip_prefix("+:") {
                Some(pattern) => format!("re:{pattern}"),
                None => name.to_owned(),
            };
            let bits = match modules.section(name)? {
                Some(own) => own.whole("bits", 1, 64)?,
                None => None,
            };
            match bits {
                Some(8) => eight.add(&plain, &path)?,
                Some(bits) if bits >= 16 => wide.add(&plain, &path)?,
                _ => {}
            }
        }
        scheme.rule(wide, None, &modules.path(""), at)?;
        let eight_bits = Format::new(Dtype::Int8, format.activations);
        scheme.rule(eight, Some(eight_bits), &modules.path(""), at)?;
    }
    Ok(())
}

/// DeepSeek-V4 states its experts' format beside the section: `fp4` is MXFP4 (E2M1, an 8-bit
/// exponent per 32). NVIDIA's versions of it exclude the other linears from conversion, which
/// leaves them in the FP8 they were released in.
pub(super) fn expert_dtype(
    scheme: &mut Scheme,
    section: &Fields<'_>,
    word: &str,
    at: &mut Context<'_>,
) -> Result<(), ImportError> {
    if section.has("quant_algo") {
        let released = Format::new(Dtype::Fp8, Dtype::Fp8).scaled(8, 128 * 128);
        scheme.released = Some(Format {
            block: Some(128),
            ..released
        });
        at.notes.push(
            "expert_dtype says the model was released in FP8: linears that the quantisation leaves as they were are counted in FP8"
                .to_owned(),
        );
    }
    match word {
        "fp4" => {
            let inputs = scheme.default.map_or(Dtype::Fp8, |own| own.activations);
            let format = Format::new(Dtype::Mxfp4, inputs);
            scheme.rule(Names::of(&["experts"]), Some(format), "expert_dtype", at)
        }
        "fp8" => {
            let format = Format::new(Dtype::Fp8, Dtype::Fp8);
            scheme.rule(Names::of(&["experts"]), Some(format), "expert_dtype", at)
        }
        _ => {
            at.notes.push(format!(
                "expert_dtype “{}” is not known here: the experts are counted like other linears",
                short(word)
            ));
            Ok(())
        }
    }
}

/// `kv_cache_quant_algo` (one word), `kv_cache_scheme` or Quark's `kv_cache_quant_config`.
pub(super) fn kv(section: &Fields<'_>) -> Result<Dtype, ImportError> {
    if let Some(word) = section.text("kv_cache_quant_algo")? {
        return Ok(match word {
            "FP8" => Dtype::Fp8,
            "INT8" => Dtype::Int8,
            "NVFP4" => Dtype::Fp4,
            _ => Dtype::Bf16,
        });
    }
    let Some(scheme) = section.section("kv_cache_scheme")? else {
        return Ok(Dtype::Bf16);
    };
    let bits = scheme.whole("num_bits", 1, 64)?;
    Ok(match (bits, scheme.text("type")?) {
        (Some(8), Some("float")) => Dtype::Fp8,
        (Some(8), Some("int")) => Dtype::Int8,
        (Some(4), Some("float")) => Dtype::Fp4,
        _ => Dtype::Bf16,
    })
}

/// FP8 with a scale per tensor or row, or per block of rows × columns: FP32 (DeepSeek-V3's
/// `weight_scale_inv`), or 8-bit exponents where `scale_fmt` is `ue8m0` or a block is 1 × 32
/// (MXFP8).
fn fp8(section: &Fields<'_>, mx: bool) -> Result<Format, ImportError> {
    let plain = Format::new(Dtype::Fp8, Dtype::Fp8);
    let exponents = section.text("scale_fmt")? == Some("ue8m0");
    let Some((rows, columns)) = block(section, "weight_block_size")? else {
        return Ok(if mx { plain.scaled(8, 32) } else { plain });
    };
    let small = rows == 1 && columns == 32;
    let bits = if mx || exponents || small { 8 } else { 32 };
    Ok(Format {
        block: (rows == columns).then_some(rows),
        ..plain.scaled(bits, rows.saturating_mul(columns))
    })
}

/// Rows and columns of a block.
pub(super) fn block(section: &Fields<'_>, key: &str) -> Result<Option<(u64, u64)>, ImportError> {
    let Some(list) = section.list(key)? else {
        return Ok(None);
    };
    let path = section.path(key);
    match list {
        [rows, columns] => Ok(Some((
            whole(rows, &path, 1, 1 << 14)?,
            whole(columns, &path, 1, 1 << 14)?,
        ))),
        _ => Err(ImportError::Wrong {
            path,
            found: format!("a list of {}", list.len()),
            expected: "rows and columns of a block",
        }),
    }
}

/// gpt-oss: the routed experts alone are MXFP4 (vLLM's and transformers' `mxfp4` convert nothing
/// else); inputs stay BF16.
fn mxfp4(section: &Fields<'_>, at: &mut Context<'_>) -> Result<Option<Scheme>, ImportError> {
    let mut scheme = Scheme::new(None);
    exceptions(&mut scheme, section, at)?;
    let format = Format::new(Dtype::Mxfp4, Dtype::Bf16);
    let path = section.path("quant_method");
    scheme.rule(Names::of(&["experts"]), Some(format), &path, at)?;
    scheme.kv = kv(section)?;
    Ok(Some(scheme))
}

fn dtype_of_bits(bits: Option<u64>) -> Option<Dtype> {
    match bits {
        Some(4) => Some(Dtype::Int4),
        Some(8) => Some(Dtype::Int8),
        _ => None,
    }
}

/// `group_size`; −1: one scale per output channel; missing: 128; none: groups of nothing.
fn group(section: &Fields<'_>, at: &Context<'_>) -> Result<Option<u64>, ImportError> {
    match section.value("group_size").and_then(Value::as_i64) {
        Some(negative) if negative < 0 => Ok(Some(at.hidden)),
        _ => Ok(
            Some(section.whole("group_size", 0, MOST_GROUP)?.unwrap_or(128))
                .filter(|group| *group > 0),
        ),
    }
}

/// Integers in groups: a 16-bit scale each, and a zero point as wide as a weight unless they are
/// symmetric. `asymmetric` is the section's key for that.
fn integer(
    section: &Fields<'_>,
    asymmetric: &str,
    by_default: bool,
    at: &Context<'_>,
) -> Result<Option<Format>, ImportError> {
    let bits = match section.whole("bits", 1, 64)? {
        Some(bits) => Some(bits),
        None => section.whole("w_bit", 1, 64)?,
    };
    let Some(group) = group(section, at)? else {
        return Ok(None);
    };
    let zero = section.flag(asymmetric)?.unwrap_or(by_default);
    Ok(dtype_of_bits(bits).map(|dtype| {
        let zero = if zero { dtype.bits() } else { 0 };
        Format::new(dtype, Dtype::Bf16).scaled(16 + zero, group)
    }))
}

/// GPTQ and auto-round: `sym` is the default; auto-round also writes 4-bit floats.
fn integer_or_float(section: &Fields<'_>, at: &Context<'_>) -> Result<Option<Format>, ImportError> {
    let inputs = section.whole("act_bits", 1, 64)?.unwrap_or(16);
    match section.text("data_type")? {
        None | Some("int") => {}
        Some(kind) => {
            let dtype = match kind {
                _ if kind.starts_with("nv_fp") => Dtype::Fp4,
                _ if kind.starts_with("mx_fp") => Dtype::Mxfp4,
                _ => return Ok(None),
            };
            let same = section.whole("bits", 1, 64)? == Some(4);
            let inputs = if inputs == 4 { dtype } else { Dtype::Bf16 };
            return Ok(same.then_some(Format::new(dtype, inputs)));
        }
    }
    let symmetric = section.flag("sym")?.unwrap_or(true);
    integer(section, "", !symmetric, at)
}

/// NF4 and FP4 in blocks of 64 with an FP32 scale, or, quantised twice, an 8-bit one and an FP32
/// one per 256 of those, 8.125 bits per block (QLoRA, arXiv 2305.14314 §3); LLM.int8() with a scale per row. Either is
/// multiplied in BF16 here: LLM.int8()'s outliers are, and its kernels are no faster.
fn bitsandbytes(section: &Fields<'_>) -> Result<Option<Format>, ImportError> {
    let set = |key: &str, other: &str| -> Result<bool, ImportError> {
        Ok(section.flag(key)? == Some(true) || section.flag(other)? == Some(true))
    };
    if set("load_in_8bit", "_load_in_8bit")? {
        return Ok(Some(Format::new(Dtype::Int8, Dtype::Bf16)));
    }
    if !set("load_in_4bit", "_load_in_4bit")? {
        return Ok(None);
    }
    let four = Format::new(Dtype::Int4, Dtype::Bf16);
    Ok(Some(
        if section.flag("bnb_4bit_use_double_quant")? == Some(true) {
            four.scaled(65, 512)
        } else {
            four.scaled(32, 64)
        },
    ))
}

/// HQQ: a 16-bit scale and a 16-bit zero point per group.
fn hqq(section: &Fields<'_>) -> Result<Option<Format>, ImportError> {
    let Some(config) = section.section("quant_config")? else {
        return Ok(None);
    };
    let Some(weights) = config.section("weight_quant_params")? else {
        return Ok(None);
    };
    let bits = weights.whole("nbits", 1, 64)?;
    let group = weights.whole("group_size", 1, MOST_GROUP)?.unwrap_or(64);
    Ok(dtype_of_bits(bits).map(|dtype| Format::new(dtype, Dtype::Bf16).scaled(32, group)))
}

/// torchao names its configuration's class, or has a word for it.
fn torchao(section: &Fields<'_>) -> Result<Option<Format>, ImportError> {
    let (word, group) = match section.value("quant_type") {
        Some(Value::String(word)) => (word.as_str(), None),
        Some(Value::Object(_)) => {
            let Some(kind) = section.section("quant_type")? else {
                return Ok(None);
            };
            let own = match kind.section("default")? {
                Some(own) => own,
                None => kind,
            };
            let group = match own.section("_data")? {
                Some(data) => data.whole("group_size", 1, MOST_GROUP)?,
                None => None,
            };
            (own.text("_type")?.unwrap_or_default(), group)
        }
        _ => return Ok(None),
    };
    let word: String = word
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric())
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    Ok(match word.strip_suffix("config").unwrap_or(&word) {
        // Scale and zero point in 16 bits each.
        "int4weightonly" => {
            Some(Format::new(Dtype::Int4, Dtype::Bf16).scaled(32, group.unwrap_or(128)))
        }
        "int8weightonly" => Some(Format::new(Dtype::Int8, Dtype::Bf16)),
        "int8dynamicactivationint8weight" => Some(Format::new(Dtype::Int8, Dtype::Int8)),
        "float8weightonly" => Some(Format::new(Dtype::Fp8, Dtype::Bf16)),
        "float8dynamicactivationfloat8weight" => Some(Format::new(Dtype::Fp8, Dtype::Fp8)),
        _ => None,
    })
}
