//! Layers of served models, one time a line: `gpu, model, tp, layer, tokens, time_us`, as
//! LLMServingSim's profiler takes them from vLLM's steps (GPU time of the layer's kernels inside a
//! running model, so nothing is hot in L2 that serving would not have there). `sequences` stands for
//! `tokens` where a layer sees one row of each (LM head). Attention and experts have files of their
//! own ([`attention`]).

mod attention;

use super::aic::gpu_of;
use super::csv::{Line, header, lines};
use super::{Found, Row, TablesError};
use crate::catalog::Catalog;
use crate::cost::calibrated::{
    Attributes, Call, Family, Gemm, GemmFormat, Rowwise, Shape, TableId,
};
use std::path::Path;

/// Which vLLM the profiles are of, as the profiler's project says.
const ENGINE: (&str, &str) = ("vllm", "0.19.0");

/// Widths of a profiled model.
struct Widths {
    name: &'static str,
    hidden: f64,
    heads: f64,
    kv_heads: f64,
    head: f64,
    /// Of a dense MLP; none where experts are its MLP.
    wide: Option<f64>,
    experts: Option<Routed>,
    vocabulary: f64,
}

/// Routed experts of a model.
struct Routed {
    count: f64,
    choices: f64,
    wide: f64,
}

// The profiles name a model and not its sizes: from its config.json.
const MODELS: [Widths; 3] = [
    Widths {
        name: "Llama-3.1-8B",
        hidden: 4096.0,
        heads: 32.0,
        kv_heads: 8.0,
        head: 128.0,
        wide: Some(14336.0),
        experts: None,
        vocabulary: 128_256.0,
    },
    Widths {
        name: "Qwen3-32B",
        hidden: 5120.0,
        heads: 64.0,
        kv_heads: 8.0,
        head: 128.0,
        wide: Some(25600.0),
        experts: None,
        vocabulary: 151_936.0,
    },
    Widths {
        name: "Qwen3-30B-A3B",
        hidden: 2048.0,
        heads: 32.0,
        kv_heads: 4.0,
        head: 128.0,
        wide: None,
        experts: Some(Routed {
            count: 128.0,
            choices: 8.0,
            wide: 768.0,
        }),
        vocabulary: 151_936.0,
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
    let read = if !(has("time_us") && has("tp") && has("model")) {
        return Ok(false);
    } else if has("prefill_chunk") && has("n_decode") {
        attention::attention
    } else if has("activated_experts") {
        attention::experts
    } else if has("layer") && (has("tokens") || has("sequences")) {
        layer
    } else {
        return Ok(false);
    };
    let place = path.strip_prefix(dir).unwrap_or(path).display().to_string();
    lines(path, |line, number| {
        let row = gpu_of(line.text("gpu"), catalog).and_then(|gpu| {
            let model = line.text("model");
            let own = MODELS
                .iter()
                .find(|own| model.contains(own.name))
                .ok_or_else(|| format!("unknown model {model:?}"))?;
            let (shape, word) = read(line, own)?;
            let seconds = line.positive("time_us")? * 1e-6;
            Ok((gpu, Row { shape, seconds }, word))
        });
        match row {
            Ok((gpu, row, word)) => {
                let family = row.shape.family();
                // Attention's word is its formats; all else is BF16 and its word the kernel.
                let formats = matches!(family, Family::Decode | Family::ContextAttention);
                let id = TableId {
                    gpu,
                    family,
                    engine: ENGINE.0.to_owned(),
                    version: ENGINE.1.to_owned(),
                    precision: if formats { word } else { "bfloat16" }.to_owned(),
                    kernel: if formats { "layer" } else { word }.to_owned(),
                };
                found.add(id.family.word(), id, Attributes::default(), row);
            }
            Err(why) => found.refuse(&place, number, why),
        }
    })?;
    Ok(true)
}

/// A line's shape and the name its kernel goes by.
fn layer(line: &Line<'_>, own: &Widths) -> Result<(Shape, &'static str), String> {
    let tp = line.positive("tp")?;
    let rows = if line.has("tokens") {
        line.positive("tokens")?
    } else {
        line.positive("sequences")?
    };
    let (heads, kv_heads) = (own.heads / tp, (own.kv_heads / tp).max(1.0));
    let product = |k: f64, n: f64| {
        let call = Call::default();
        let shape = Gemm {
            m: rows,
            n,
            k,
            format: GemmFormat::Bf16,
            call,
        };
        Ok((Shape::Gemm(shape), "layer"))
    };
    let row = |name: &'static str, width: f64, bytes: f64| {
        let shape = Rowwise {
            rows,
            width,
            bytes,
            eager: false,
        };
        Ok((Shape::Rowwise(shape), name))
    };
    let dense = || {
        own.wide
            .map(|wide| wide / tp)
            .ok_or_else(|| "an MLP of experts".to_owned())
    };
    match line.text("layer") {
        "qkv_proj" => product(own.hidden, (heads + 2.0 * kv_heads) * own.head),
        "o_proj" => product(heads * own.head, own.hidden),
        "gate_up_proj" => product(own.hidden, 2.0 * dense()?),
        "down_proj" => product(dense()?, own.hidden),
        "lm_head" => product(own.hidden, own.vocabulary / tp),
        // With the residual: two in, two out.
        "layernorm" | "final_layernorm" => row("norm and residual", own.hidden, 8.0),
        "qk_norm" => {
            let shape = Rowwise {
                rows: rows * (heads + kv_heads),
                width: own.head,
                bytes: 4.0,
                eager: false,
            };
            Ok((Shape::Rowwise(shape), "norm of heads"))
        }
        "rotary_emb" => row("rope", (heads + kv_heads) * own.head, 4.0),
        "act_fn" => row("activation", dense()?, 6.0),
        "sampler" => row("sampling", own.vocabulary, 4.0),
        "embedding" => row("embedding", own.hidden, 4.0),
        other => Err(format!("unknown layer {other:?}")),
    }
}
