//! The linear layers of a model, each a GEMM of the sharded width, and what is done to rows between
//! them: norms, rotation, activation, residual.

use super::{Timed, eager, seconds};
use crate::calibrate::tables::csv::Line;
use crate::cost::calibrated::{Call, Gemm, GemmFormat, Rowwise, Shape};

/// Models whose heads are not the hidden size's share of each.
const OTHER_HEADS: [&str; 3] = ["qwen3", "phi-tiny", "step2"];

pub(super) fn read(line: &Line<'_>, out: &mut Vec<Timed>) -> Result<(), String> {
    // FP8 weights with BF16 activations, or plain BF16/FP16.
    let quantised = line.text("quant_signature").contains("fp8");
    let (format, precision) = if quantised {
        (GemmFormat::W8a16, "fp8_wo")
    } else {
        (GemmFormat::Bf16, "bfloat16")
    };
    let tokens = line.positive("num_tokens")?;
    let tp = line.positive("num_tensor_parallel_workers")?;
    let (heads, kv_heads) = (line.positive("n_head")?, line.positive("n_kv_head")?);
    let (hidden, wide) = (line.positive("n_embd")?, line.positive("n_expanded_embd")?);
    let gates = if line.text("use_gated_mlp").eq_ignore_ascii_case("true") {
        2.0
    } else {
        1.0
    };
    let call = Call {
        quantises: false,
        eager: eager(line),
        // One layer's weights again and again.
        repeated: true,
    };
    let mut add = |operator: &str, k: f64, n: f64, bf16: bool| -> Result<(), String> {
        if let Some(seconds) = seconds(line, operator)? {
            let (format, precision) = if bf16 {
                (GemmFormat::Bf16, "bfloat16")
            } else {
                (format, precision)
            };
            let shape = Shape::Gemm(Gemm {
                m: tokens,
                n,
                k,
                format,
                call,
            });
            out.push(Timed {
                shape,
                seconds,
                precision,
                kernel: String::new(),
            });
        }
        Ok(())
    };
    // The profile does not say how wide heads are: such attention projections cannot be told.
    let model = line.text("model").to_ascii_lowercase();
    let told = !OTHER_HEADS.iter().any(|own| model.contains(own));
    let head = hidden / heads;
    let kv = (kv_heads / tp).max(1.0);
    if told {
        add(
            "attn_pre_proj",
            hidden,
            (heads / tp + 2.0 * kv) * head,
            false,
        )?;
        add("attn_post_proj", hidden / tp, hidden, false)?;
    }
    add("mlp_up_proj", hidden, gates * wide / tp, false)?;
    add("mlp_down_proj", wide / tp, hidden, false)?;
    if let Ok(vocab) = line.positive("vocab_size") {
        add("lm_head_linear", hidden, vocab / tp, true)?;
    }
    let mut row = |operator: &str, kernel: &str, width: f64, bytes: f64| -> Result<(), String> {
        if let Some(seconds) = seconds(line, operator)? {
            let shape = Shape::Rowwise(Rowwise {
                rows: tokens,
                width,
                bytes,
                eager: eager(line),
            });
            out.push(Timed {
                shape,
                seconds,
                precision: "bfloat16",
                kernel: kernel.to_owned(),
            });
        }
        Ok(())
    };
    row("input_layernorm", "norm", hidden, 4.0)?;
    row("post_attention_layernorm", "norm", hidden, 4.0)?;
    row("add", "residual", hidden, 6.0)?;
    row("mlp_act", "activation", wide / tp, 2.0 + 2.0 * gates)?;
    if told {
        row("attn_rope", "rope", (heads / tp + kv) * head, 4.0)?;
    }
    Ok(())
}
