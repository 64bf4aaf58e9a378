//! Attention and experts of served models: `prefill_chunk, kv_prefill, n_decode, kv_decode`, and
//! `tokens, activated_experts`.
//!
//! A step of one prompt's chunk or of equal decodes is one kernel's shape. Where a chunk and decodes
//! share a step the profile has one time for both, so such lines are refused.

use super::Widths;
use crate::calibrate::tables::csv::Line;
use crate::cost::calibrated::{
    AttentionFormat, ContextAttention, Decode, Load, Moe, MoeFormat, Packing, Shape,
};

pub(super) fn attention(line: &Line<'_>, own: &Widths) -> Result<(Shape, &'static str), String> {
    let tp = line.positive("tp")?;
    let (heads, kv_heads) = (own.heads / tp, (own.kv_heads / tp).max(1.0));
    let (tokens, sequences) = (line.number("prefill_chunk")?, line.number("n_decode")?);
    if tokens > 0.0 && sequences > 0.0 {
        return Err("a chunk of a prompt and decodes in one step".to_owned());
    }
    if sequences > 0.0 {
        let entries = sequences * line.positive("kv_decode")?;
        let shape = Decode {
            sequences,
            entries,
            heads,
            kv_heads,
            qk_dim: own.head,
            v_dim: own.head,
            window: 0.0,
            past_window: 0.0,
            context: entries,
            kv_bytes: 2.0,
            packing: Packing::Groups,
            // The profiler runs one layer again and again.
            hot: true,
            eager: false,
        };
        return Ok((Shape::Decode(shape), "bfloat16"));
    }
    let shape = ContextAttention {
        batch: 1.0,
        tokens: line.positive("prefill_chunk")?,
        prior: line.number("kv_prefill")?,
        heads,
        kv_heads,
        head_dim: own.head,
        window: f64::INFINITY,
        format: AttentionFormat {
            fp8: false,
            fp8_cache: false,
        },
        eager: false,
    };
    Ok((Shape::ContextAttention(shape), "bfloat16 kv bfloat16"))
}

/// Choices fall evenly on the experts that have any.
pub(super) fn experts(line: &Line<'_>, own: &Widths) -> Result<(Shape, &'static str), String> {
    let routed = own
        .experts
        .as_ref()
        .ok_or_else(|| "a model without experts".to_owned())?;
    let (tokens, visited) = (
        line.positive("tokens")?,
        line.positive("activated_experts")?,
    );
    if visited > routed.count {
        return Err("more experts than the model has".to_owned());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "1 … the model's experts"
    )]
    let counts = std::iter::repeat_n(tokens * routed.choices / visited, visited as usize);
    let shape = Moe {
        load: Load::of_counts(tokens, routed.choices, counts),
        hidden: own.hidden,
        intermediate: routed.wide / line.positive("tp")?,
        local: routed.count,
        experts: routed.count,
        gated: true,
        format: MoeFormat::Bf16,
        // Eight experts that fit in L2 take a third of sixteen's time, which do not.
        resident: true,
        eager: false,
    };
    Ok((Shape::Moe(shape), "layer"))
}
