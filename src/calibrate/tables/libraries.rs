//! Kernels of libraries timed alone, as InferSim keeps them: one file per kernel, named by it, with
//! `gpu, shape, dtype, latency_us` and the share of peak it makes (`mfu`). A shape's numbers are
//! `heads-kv_heads-head_dim`, of latent attention `heads-latent-rope` in decode and
//! `heads-nope-rope` in prefill. Grouped products give the two halves of a layer's experts apart,
//! without what moves tokens about.
//!
//! FlashAttention 3, FlashMLA and DeepGEMM on H800 and H20. No engine is named, so these tables are
//! of none.

use super::aic::gpu_of;
use super::csv::{Line, header, lines};
use super::walk::words;
use super::{Found, Row, TablesError};
use crate::catalog::Catalog;
use crate::cost::calibrated::{
    AttentionFormat, Attributes, ContextAttention, Decode, Load, MlaContext, MlaDecode, MlaWidths,
    Moe, MoeFormat, Packing, Shape, TableId,
};
use std::path::Path;

/// A line's shape, seconds and number formats.
type Timed = Result<(Shape, f64, String), String>;

/// How to read one kernel's file.
struct Source {
    /// The file's name.
    file: &'static str,
    /// Whose kernel.
    kernel: &'static str,
    read: fn(&Line<'_>) -> Timed,
}

const SOURCES: [Source; 6] = [
    Source {
        file: "mha_prefill",
        kernel: "flash_attention_3",
        read: prefill,
    },
    Source {
        file: "mla_prefill",
        kernel: "flash_attention_3",
        read: latent_prefill,
    },
    Source {
        file: "mha_decode",
        kernel: "flash_attention_3",
        read: decode,
    },
    Source {
        file: "mla_decode",
        kernel: "flash_mla",
        read: latent_decode,
    },
    Source {
        file: "grouped_gemm_prefill",
        kernel: "deep_gemm contiguous",
        read: grouped_prefill,
    },
    Source {
        file: "grouped_gemm_decode",
        kernel: "deep_gemm masked",
        read: grouped_decode,
    },
];

/// Takes in a file, if it is of this layout.
pub(super) fn read(
    dir: &Path,
    path: &Path,
    catalog: &Catalog,
    found: &mut Found,
) -> Result<bool, TablesError> {
    let columns = header(path)?;
    let has = |name: &str| columns.iter().any(|column| column == name);
    let known = words(dir, path)
        .iter()
        .find_map(|word| SOURCES.iter().find(|own| own.file == *word));
    let (Some(source), true) = (known, has("mfu") || has("up_mfu")) else {
        return Ok(false);
    };
    let place = path.strip_prefix(dir).unwrap_or(path).display().to_string();
    lines(path, |line, number| {
        let read = gpu_of(line.text("gpu"), catalog).and_then(|gpu| {
            let (shape, seconds, precision) = (source.read)(line)?;
            let id = TableId {
                gpu,
                family: shape.family(),
                engine: String::new(),
                version: String::new(),
                precision,
                kernel: source.kernel.to_owned(),
            };
            Ok((id, Row { shape, seconds }))
        });
        match read {
            Ok((id, row)) => found.add(id.family.word(), id, Attributes::default(), row),
            Err(why) => found.refuse(&place, number, why),
        }
    })?;
    Ok(true)
}

/// The three numbers of a shape.
fn numbers(line: &Line<'_>) -> Result<[f64; 3], String> {
    let text = line.text("shape");
    let parts: Vec<f64> = text
        .split('-')
        .filter_map(|part| part.parse().ok())
        .filter(|own: &f64| (1.0..=1e6).contains(own))
        .collect();
    parts
        .try_into()
        .map_err(|_| format!("{text:?} is not three sizes"))
}

/// Bytes of an element of the cache, and the formats' words as prefill and as decode tables have
/// them.
fn formats(line: &Line<'_>, cache: &str) -> Result<(f64, &'static str, &'static str), String> {
    match (line.text("dtype"), cache) {
        ("bf16", "bf16") => Ok((2.0, "bfloat16 kv bfloat16", "bfloat16")),
        ("bf16", "fp8") => Ok((1.0, "bfloat16 kv fp8", "bfloat16 kv fp8")),
        ("", _) => Err("dtype is missing".to_owned()),
        (own, cache) => Err(format!("unknown dtypes {own:?} and {cache:?}")),
    }
}

const BF16: AttentionFormat = AttentionFormat {
    fp8: false,
    fp8_cache: false,
};

fn prefill(line: &Line<'_>) -> Timed {
    let [heads, kv_heads, head_dim] = numbers(line)?;
    let (_, words, _) = formats(line, line.text("dtype"))?;
    let shape = ContextAttention {
        batch: 1.0,
        tokens: line.positive("seq_len")?,
        prior: 0.0,
        heads,
        kv_heads,
        head_dim,
        window: f64::INFINITY,
        format: BF16,
        eager: false,
    };
    let seconds = line.milliseconds("latency_ms")?;
    Ok((Shape::ContextAttention(shape), seconds, words.to_owned()))
}

fn latent_prefill(line: &Line<'_>) -> Timed {
    let [heads, nope, rope] = numbers(line)?;
    let (_, words, _) = formats(line, line.text("dtype"))?;
    let shape = MlaContext {
        batch: 1.0,
        tokens: line.positive("seq_len")?,
        prior: 0.0,
        heads,
        widths: MlaWidths {
            nope,
            rope,
            ..MlaWidths::DEEPSEEK_V3
        },
        format: BF16,
    };
    let seconds = line.milliseconds("latency_ms")?;
    Ok((Shape::ContextMla(shape), seconds, words.to_owned()))
}

fn decode(line: &Line<'_>) -> Timed {
    let [heads, kv_heads, dim] = numbers(line)?;
    let (kv_bytes, _, words) = formats(line, line.text("kv_dtype"))?;
    let sequences = line.positive("batch_size")?;
    let entries = sequences * line.positive("kv_len")?;
    let shape = Decode {
        sequences,
        entries,
        heads,
        kv_heads,
        qk_dim: dim,
        v_dim: dim,
        window: 0.0,
        past_window: 0.0,
        context: entries,
        kv_bytes,
        packing: Packing::Groups,
        hot: false,
        eager: false,
    };
    let seconds = line.milliseconds("latency_ms")?;
    Ok((Shape::Decode(shape), seconds, words.to_owned()))
}

fn latent_decode(line: &Line<'_>) -> Timed {
    let [heads, latent, rope] = numbers(line)?;
    let (kv_bytes, _, words) = formats(line, line.text("kv_dtype"))?;
    let sequences = line.positive("batch_size")?;
    let shape = MlaDecode {
        sequences,
        entries: sequences * line.positive("kv_len")?,
        heads,
        widths: MlaWidths {
            latent,
            rope,
            ..MlaWidths::DEEPSEEK_V3
        },
        kv_bytes,
        hot: false,
        eager: false,
        tensor_memory: true,
    };
    let seconds = line.milliseconds("latency_ms")?;
    Ok((Shape::GenerationMla(shape), seconds, words.to_owned()))
}

fn grouped_prefill(line: &Line<'_>) -> Timed {
    grouped(line, "seq_len_per_gpu")
}

fn grouped_decode(line: &Line<'_>) -> Timed {
    grouped(line, "batch_size_per_gpu")
}

/// Every expert of the rank has as many rows.
fn grouped(line: &Line<'_>, tokens: &str) -> Timed {
    let local = line.positive("num_local_experts")?;
    let experts = line.positive("num_experts")?;
    if local > experts || experts > 4096.0 {
        return Err("more local experts than there are, or more than 4096".to_owned());
    }
    let each = line.positive("tokens_per_expert")?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "1 … 4096"
    )]
    let counts = std::iter::repeat_n(each, local as usize);
    let shape = Moe {
        load: Load::of_counts(line.positive(tokens)?, line.positive("topk")?, counts),
        hidden: line.positive("hidden_size")?,
        intermediate: line.positive("intermediate_size")?,
        local,
        experts,
        gated: true,
        format: MoeFormat::Fp8Block,
        resident: false,
        eager: false,
    };
    let seconds = (line.positive("up_proj_us")? + line.positive("down_proj_us")?) * 1e-6;
    Ok((Shape::Moe(shape), seconds, "fp8_block".to_owned()))
}
