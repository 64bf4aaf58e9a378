//! Attention of one kind of batch: prefill of one chunk, or decode of equal contexts. Mixed and
//! ragged batches are refused: the profile gives one time for all of them.

use super::{Timed, eager, seconds};
use crate::calibrate::tables::csv::Line;
use crate::cost::calibrated::{AttentionFormat, ContextAttention, Decode, Packing, Shape};

pub(super) fn read(line: &Line<'_>, out: &mut Vec<Timed>) -> Result<(), String> {
    let mixed = ["is_mixed_batch", "is_true_mixed_batch"]
        .iter()
        .any(|column| line.text(column).eq_ignore_ascii_case("true"));
    let batch = line.positive("batch_size")?;
    let prefill = line.text("is_prefill").eq_ignore_ascii_case("true");
    let tokens = line.number("prefill_chunk_size")?;
    if mixed || (prefill && (batch > 1.0 || tokens == 0.0)) {
        return Err("a batch of several prompts or of prompts and decodes".to_owned());
    }
    let uneven = line
        .text("seq_len_variance")
        .parse()
        .is_ok_and(|own: f64| own > 0.0);
    if uneven {
        return Err("contexts of different lengths".to_owned());
    }
    let tp = line.positive("num_tensor_parallel_workers")?;
    let (all, kv) = (line.positive("n_q_head")?, line.positive("n_kv_head")?);
    let head_dim = line.positive("n_embd")? / all;
    let (heads, kv_heads) = (all / tp, (kv / tp).max(1.0));
    let context = line.number("kv_cache_size")?;
    let kernel = line
        .text("attention_backend")
        .trim_start_matches("AttentionBackend.")
        .to_owned();
    if prefill {
        if let Some(seconds) = seconds(line, "attn_prefill")? {
            let shape = Shape::ContextAttention(ContextAttention {
                batch,
                tokens,
                prior: context,
                heads,
                kv_heads,
                head_dim,
                window: f64::INFINITY,
                format: AttentionFormat {
                    fp8: false,
                    fp8_cache: false,
                },
                eager: eager(line),
            });
            out.push(Timed {
                shape,
                seconds,
                precision: "bfloat16 kv bfloat16",
                kernel,
            });
        }
    } else if let Some(seconds) = seconds(line, "attn_decode")? {
        let shape = Shape::Decode(Decode {
            sequences: batch,
            entries: batch * (context + 1.0),
            heads,
            kv_heads,
            qk_dim: head_dim,
            v_dim: head_dim,
            window: 0.0,
            past_window: 0.0,
            context: batch * (context + 1.0),
            kv_bytes: 2.0,
            packing: Packing::Groups,
            hot: true,
            eager: eager(line),
        });
        out.push(Timed {
            shape,
            seconds,
            precision: "bfloat16",
            kernel,
        });
    }
    Ok(())
}
