//! compressed-tensors (llm-compressor, vLLM): groups of modules, each with formats of weights and
//! inputs. As vLLM reads it: `ignore` first, then groups that name a module, then groups that name
//! its class.

use super::super::ImportError;
use super::super::fields::Fields;
use super::methods::{MOST_GROUP, block, exceptions, kv, say_unknown, short};
use super::names::Names;
use super::scheme::{Context, Format, Scheme};
use crate::catalog::Dtype;
use serde_json::Value;

/// Most groups read.
const MOST_GROUPS: usize = 256;

/// Reads the groups; none, and a note: nothing known in them.
pub(super) fn read(
    section: &Fields<'_>,
    at: &mut Context<'_>,
) -> Result<Option<Scheme>, ImportError> {
    let mut scheme = Scheme::new(None);
    scheme.kv = kv(section)?;
    exceptions(&mut scheme, section, at)?;
    let Some(groups) = section.section("config_groups")? else {
        say_unknown(section, "without config_groups", at);
        return Ok(None);
    };
    let names = groups.keys();
    if names.len() > MOST_GROUPS {
        return Err(ImportError::OutOfRange {
            path: section.path("config_groups"),
            found: format!("{} groups", names.len()),
            least: 0,
            most: 256,
        });
    }
    let (mut known, mut said, mut all) = (false, false, None);
    for name in names {
        // A word in place of a group: a preset's name of llm-compressor.
        if !matches!(groups.value(name), Some(Value::Object(_))) {
            at.notes.push(format!(
                "{} is not spelled out: read as if it named nothing",
                groups.path(&short(name))
            ));
            continue;
        }
        let Some(group) = groups.section(name)? else {
            continue;
        };
        let Some(weights) = group.section("weights")? else {
            at.notes.push(format!(
                "{} states no weights: read as if it named nothing",
                groups.path(&short(name))
            ));
            continue;
        };
        let format = match weight(&weights, at)? {
            Some(weights) => Some(Format {
                activations: inputs(&group)?,
                ..weights
            }),
            None => {
                say_unknown(&weights, "its bits, type and group", at);
                said = true;
                None
            }
        };
        known |= format.is_some();
        let mut named = Names::default();
        let path = group.path("targets");
        let mut class = !group.has("targets");
        for target in group.list("targets")?.unwrap_or_default() {
            match target.as_str() {
                Some(word) if is_class(word) => class = true,
                _ => named.extend(std::slice::from_ref(target), &path)?,
            }
        }
        scheme.rule(named, format, &path, at)?;
        if class && all.is_none() {
            all = Some(format);
        }
    }
    if !known {
        if !said {
            say_unknown(section, "config_groups without a group of weights", at);
        }
        return Ok(None);
    }
    scheme.default = all.flatten();
    // The head is a linear like others, unless it is ignored.
    scheme.default_head = true;
    Ok(Some(scheme))
}

/// `Linear`, or an engine's class of linears.
fn is_class(target: &str) -> bool {
    !target.contains(['.', ':', '*']) && (target.ends_with("Linear") || target.ends_with("MoE"))
}

/// The weights' format.
fn weight(section: &Fields<'_>, at: &Context<'_>) -> Result<Option<Format>, ImportError> {
    let bits = section.whole("num_bits", 1, 64)?;
    let group = match section.value("group_size").and_then(Value::as_i64) {
        Some(negative) if negative < 0 => None,
        _ => section
            .whole("group_size", 0, MOST_GROUP)?
            .filter(|group| *group > 0),
    };
    // Groups of nothing: vLLM and compressed-tensors refuse them.
    let grouped_by = matches!(section.text("strategy")?, Some("group" | "tensor_group"));
    if group.is_none() && (grouped_by || section.value("group_size") == Some(&Value::from(0))) {
        return Ok(None);
    }
    let exponents = matches!(
        section.text("scale_dtype")?,
        Some("torch.uint8" | "torch.float8_e8m0fnu" | "uint8")
    );
    let square = block(section, "block_structure")?;
    let symmetric = section.flag("symmetric")?.unwrap_or(true);
    let of = |dtype| Format::new(dtype, Dtype::Bf16);
    let grouped = |dtype: Dtype, per: u64| {
        let zero = if symmetric { 0 } else { dtype.bits() };
        of(dtype).scaled(16 + zero, per)
    };
    Ok(match (section.text("type")?, bits, group) {
        (Some("float"), Some(8), Some(32)) if exponents => Some(of(Dtype::Fp8).scaled(8, 32)),
        // Scales of blocks have the model's own format, 16 bits.
        (Some("float"), Some(8), _) => Some(match square {
            Some((rows, columns)) => Format {
                block: (rows == columns).then_some(rows),
                ..of(Dtype::Fp8).scaled(16, rows.saturating_mul(columns))
            },
            None => of(Dtype::Fp8),
        }),
        (Some("float"), Some(4), Some(16)) => Some(of(Dtype::Fp4)),
        (Some("float"), Some(4), Some(32)) => Some(of(Dtype::Mxfp4)),
        (Some("int") | None, Some(8), None) => Some(of(Dtype::Int8)),
        (Some("int") | None, Some(8), Some(group)) => Some(grouped(Dtype::Int8, group)),
        (Some("int") | None, Some(4), group) => {
            Some(grouped(Dtype::Int4, group.unwrap_or(at.hidden)))
        }
        _ => None,
    })
}

/// The inputs' format: BF16 where they are not quantised.
fn inputs(group: &Fields<'_>) -> Result<Dtype, ImportError> {
    let Some(section) = group.section("input_activations")? else {
        return Ok(Dtype::Bf16);
    };
    let bits = section.whole("num_bits", 1, 64)?;
    let size = match section.value("group_size").and_then(Value::as_i64) {
        Some(negative) if negative < 0 => None,
        _ => section.whole("group_size", 0, MOST_GROUP)?,
    };
    Ok(match (section.text("type")?, bits, size) {
        (Some("float"), Some(8), _) => Dtype::Fp8,
        (Some("float"), Some(4), Some(32)) => Dtype::Mxfp4,
        (Some("float"), Some(4), _) => Dtype::Fp4,
        (Some("int") | None, Some(8), _) => Dtype::Int8,
        _ => Dtype::Bf16,
    })
}
