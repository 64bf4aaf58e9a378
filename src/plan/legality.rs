//! The rules of a layout: what must divide what, and what an engine refuses. Each finding lists
//! the legal values and offers the nearest as a repair.
//!
//! Sources: vLLM's parallel layers (heads and inner widths divide by TP; KV heads divide by TP or
//! TP by KV heads, then copied), its scheduler configuration (token budget ≥ sequences; without
//! chunked prefill the budget must hold the longest sequence), `cases.md` T15 and T17.

mod running;
#[cfg(test)]
mod tests;

pub(super) use running::not_run;

use super::finding::{Change, Finding, Place};
use super::pool::{Layout, Pool};
use crate::catalog::{Dtype, Gpu};
use crate::model::{Attention, Ffn, Gqa, Model, Recurrent};

/// Largest parallel degree accepted; beyond it a number is a typing error.
pub(super) const MAX_DEGREE: u32 = 4096;
/// Longest host time of a step accepted, seconds; engines take milliseconds.
const MAX_HOST_S: f64 = 10.0;

/// Whether TP divides what it must in every layer.
pub(super) fn tp_is_legal(model: &Model, tp: u32) -> bool {
    let tp = u64::from(tp);
    tp > 0
        && model.layers.iter().all(|run| {
            let gqa_divides = |gqa: &Gqa| {
                gqa.heads.is_multiple_of(tp)
                    && (gqa.kv_heads.is_multiple_of(tp) || tp.is_multiple_of(gqa.kv_heads))
            };
            let attention = match &run.attention {
                Attention::Gqa(gqa) => gqa_divides(gqa),
                Attention::Parallel {
                    attention,
                    recurrent,
                } => gqa_divides(attention) && recurrent_divides(recurrent, tp),
                Attention::Recurrent(own) => recurrent_divides(own, tp),
                Attention::Compressed(own) => {
                    own.heads.is_multiple_of(tp) && own.out_groups.is_multiple_of(tp)
                }
                Attention::Mla(mla) => mla.heads.is_multiple_of(tp),
                Attention::Matrix | Attention::None => true,
            };
            let ffn = match &run.ffn {
                Ffn::Dense { intermediate, .. } => intermediate.is_multiple_of(tp),
                Ffn::Moe(moe) => moe.shared_intermediate.is_multiple_of(tp),
                Ffn::Matrix | Ffn::None => true,
            };
            attention && ffn
        })
}

/// Whether TP divides a recurrence: its heads, and a DeltaNet's key heads too (vLLM's
/// `qwen3_next.py` divides both); a short convolution's channels.
fn recurrent_divides(recurrent: &Recurrent, tp: u64) -> bool {
    match recurrent {
        Recurrent::DeltaNet(delta) => {
            delta.value_heads.is_multiple_of(tp) && delta.key_heads.is_multiple_of(tp)
        }
        Recurrent::ShortConv { width, .. } => width.is_multiple_of(tp),
        Recurrent::RgLru { width, blocks, .. } => {
            width.is_multiple_of(tp) && blocks.is_multiple_of(tp)
        }
        // Nothing is known of its inside.
        Recurrent::Other { .. } => true,
        Recurrent::Lightning { .. } | Recurrent::Mamba2(_) | Recurrent::Mamba1(_) => {
            recurrent.heads().is_multiple_of(tp)
        }
    }
}

/// Legal tensor-parallel degrees up to `most`.
#[must_use]
pub(super) fn legal_tps(model: &Model, most: u32) -> Vec<u32> {
    (1..=most.min(MAX_DEGREE))
        .filter(|tp| tp_is_legal(model, *tp))
        .collect()
}

fn list(values: &[u32]) -> String {
    let words: Vec<String> = values.iter().map(ToString::to_string).collect();
    match words.split_last() {
        None => "none".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// Why TP is illegal, in one sentence's first half.
fn tp_cause(model: &Model, tp: u32) -> String {
    let t = u64::from(tp);
    for run in &model.layers {
        match &run.attention {
            Attention::Gqa(gqa) if !gqa.heads.is_multiple_of(t) => {
                return format!("TP {tp} does not divide {} heads", gqa.heads);
            }
            Attention::Gqa(gqa)
                if !gqa.kv_heads.is_multiple_of(t) && !t.is_multiple_of(gqa.kv_heads) =>
            {
                return format!(
                    "TP {tp} neither divides {} KV heads nor is a multiple of them",
                    gqa.kv_heads
                );
            }
            Attention::Mla(mla) if !mla.heads.is_multiple_of(t) => {
                return format!("TP {tp} does not divide {} heads", mla.heads);
            }
            Attention::Recurrent(own) | Attention::Parallel { recurrent: own, .. }
                if !recurrent_divides(own, t) =>
            {
                return format!(
                    "TP {tp} does not divide the {} layers' heads or channels",
                    own.kind()
                );
            }
            _ => {}
        }
        match &run.ffn {
            Ffn::Dense { intermediate, .. } if !intermediate.is_multiple_of(t) => {
                return format!("TP {tp} does not divide the FFN width {intermediate}");
            }
            Ffn::Moe(moe) if !moe.shared_intermediate.is_multiple_of(t) => {
                return format!(
                    "TP {tp} does not divide the shared expert's width {}",
                    moe.shared_intermediate
                );
            }
            _ => {}
        }
    }
    format!("TP {tp} is not legal")
}

/// Checks a pool's layout against the model. `gpus` is how many GPUs the pool has.
pub(super) fn layout(model: &Model, pool: &Pool, gpus: u32, findings: &mut Vec<Finding>) {
    let layout = pool.layout;
    let place = || Place::Pool(pool.id.clone());
    let degrees = [
        ("TP", layout.tp),
        ("PP", layout.pp),
        ("DP", layout.dp),
        ("EP", layout.ep),
    ];
    for (name, degree) in degrees {
        if !(1..=MAX_DEGREE).contains(&degree) {
            findings.push(
                Finding::error(
                    place(),
                    format!("{name} is {degree}: it must be from 1 to {MAX_DEGREE}"),
                )
                .with_repair(
                    "Use one GPU",
                    Change::Layout(pool.id.clone(), Layout::SINGLE),
                ),
            );
            return;
        }
    }
    if !tp_is_legal(model, layout.tp) {
        let legal = legal_tps(model, gpus.max(8));
        let nearest = legal
            .iter()
            .copied()
            .filter(|tp| *tp <= layout.tp)
            .max()
            .unwrap_or(1);
        let mut finding = Finding::error(
            place(),
            format!(
                "{}: {} {}",
                tp_cause(model, layout.tp),
                list(&legal),
                if legal.len() == 1 { "does" } else { "do" }
            ),
        );
        // EP deals experts to the ranks of TP × DP, so it follows when TP shrinks.
        let mut mended = Layout {
            tp: nearest,
            ..layout
        };
        if model.moe().is_some() && !(nearest * layout.dp).is_multiple_of(layout.ep) {
            mended.ep = nearest * layout.dp;
        }
        finding = finding.with_repair(
            format!("Use TP {nearest}"),
            Change::Layout(pool.id.clone(), mended),
        );
        findings.push(finding);
    }
    experts(model, pool, findings);
    let layers = model.layer_count();
    if layout.pp > layers {
        findings.push(
            Finding::error(
                place(),
                format!("PP {} is more than the model's {layers} layers", layout.pp),
            )
            .with_repair(
                "Use PP 1",
                Change::Layout(pool.id.clone(), Layout { pp: 1, ..layout }),
            ),
        );
    }
    for run in &model.layers {
        if let Attention::Gqa(gqa) = &run.attention
            && u64::from(layout.tp) > gqa.kv_heads
            && u64::from(layout.tp).is_multiple_of(gqa.kv_heads)
        {
            findings.push(Finding::hint(
                place(),
                format!(
                    "TP {} over {} KV heads: each KV head is stored {} times",
                    layout.tp,
                    gqa.kv_heads,
                    u64::from(layout.tp) / gqa.kv_heads
                ),
            ));
            break;
        }
        if matches!(run.attention, Attention::Mla(_)) && layout.tp > 1 {
            findings.push(Finding::hint(
                place(),
                format!(
                    "MLA keeps one latent for all heads: with TP {} each rank stores all of it; DP-attention would not",
                    layout.tp
                ),
            ));
            break;
        }
    }
}

fn experts(model: &Model, pool: &Pool, findings: &mut Vec<Finding>) {
    let layout = pool.layout;
    let place = || Place::Pool(pool.id.clone());
    let set_ep = |ep| Change::Layout(pool.id.clone(), Layout { ep, ..layout });
    let Some(moe) = model.moe() else {
        if layout.ep > 1 {
            findings.push(
                Finding::error(
                    place(),
                    format!("EP {} deals out experts, but the model is dense", layout.ep),
                )
                .with_repair("Use EP 1", set_ep(1)),
            );
        }
        return;
    };
    let ranks = layout.tp * layout.dp;
    let legal: Vec<u32> = (1..=ranks)
        .filter(|ep| {
            ranks.is_multiple_of(*ep)
                && moe.experts.is_multiple_of(u64::from(*ep))
                && moe.intermediate.is_multiple_of(u64::from(ranks / ep))
        })
        .collect();
    if legal.contains(&layout.ep) {
        return;
    }
    let cause = if !ranks.is_multiple_of(layout.ep) {
        format!(
            "EP {} does not divide the {ranks} ranks of TP {} × DP {}",
            layout.ep, layout.tp, layout.dp
        )
    } else if !moe.experts.is_multiple_of(u64::from(layout.ep)) {
        format!("EP {} does not divide {} experts", layout.ep, moe.experts)
    } else {
        format!(
            "MoE-TP {} does not divide the expert width {}",
            ranks / layout.ep,
            moe.intermediate
        )
    };
    let mut finding = Finding::error(
        place(),
        format!(
            "{cause}: EP {} {}",
            list(&legal),
            if legal.len() == 1 { "does" } else { "do" }
        ),
    );
    if let Some(best) = legal.last() {
        finding = finding.with_repair(format!("Use EP {best}"), set_ep(*best));
    }
    findings.push(finding);
}

/// Checks a pool's engine settings.
pub(super) fn engine(pool: &Pool, longest_context: u64, findings: &mut Vec<Finding>) {
    let engine = &pool.engine;
    let place = || Place::Pool(pool.id.clone());
    let mut refuse = |cause: String| findings.push(Finding::error(place(), cause));
    if !(1..=4096).contains(&engine.block_size) {
        refuse(format!(
            "block_size is {}: it must be from 1 to 4096 tokens",
            engine.block_size
        ));
    }
    if !(engine.gpu_memory_utilization > 0.0 && engine.gpu_memory_utilization <= 1.0) {
        refuse(format!(
            "gpu_memory_utilization is {}: it must be above 0 and at most 1",
            engine.gpu_memory_utilization
        ));
    }
    if !(1..=1_000_000).contains(&engine.max_num_seqs) {
        refuse(format!(
            "max_num_seqs is {}: it must be from 1 to 1000000",
            engine.max_num_seqs
        ));
    }
    if engine.host_step_time.get() > MAX_HOST_S {
        refuse(format!(
            "host_step_time is {} s: it must be at most {MAX_HOST_S} s",
            engine.host_step_time.get()
        ));
    }
    if engine.num_gpu_blocks == Some(0) {
        refuse("num_gpu_blocks is 0: measured blocks must be 1 or more".to_owned());
    }
    if !(1..=4_194_304).contains(&engine.max_num_batched_tokens) {
        refuse(format!(
            "max_num_batched_tokens is {}: it must be from 1 to 4194304",
            engine.max_num_batched_tokens
        ));
        return;
    }
    if engine.max_num_batched_tokens < engine.max_num_seqs {
        findings.push(
            Finding::error(
                place(),
                format!(
                    "max_num_batched_tokens ({}) is below max_num_seqs ({}): a step could not hold one token of each",
                    engine.max_num_batched_tokens, engine.max_num_seqs
                ),
            )
            .with_repair(
                format!("Budget {}", engine.max_num_seqs),
                Change::TokenBudget(pool.id.clone(), engine.max_num_seqs),
            ),
        );
    }
    if !engine.enable_chunked_prefill && u64::from(engine.max_num_batched_tokens) < longest_context
    {
        let mut finding = Finding::error(
            place(),
            format!(
                "without chunked prefill max_num_batched_tokens ({}) must hold the longest prompt and answer ({longest_context}), which a preempted request computes again",
                engine.max_num_batched_tokens
            ),
        );
        if let Ok(tokens) = u32::try_from(longest_context) {
            finding = finding.with_repair(
                format!("Budget {longest_context}"),
                Change::TokenBudget(pool.id.clone(), tokens),
            );
        }
        findings.push(finding);
    }
}

/// Warns of number formats the GPU has no unit for.
pub(super) fn precision(pool: &Pool, gpu: &Gpu, findings: &mut Vec<Finding>) {
    let gemm = pool.precision.gemm();
    if gemm != Dtype::Bf16 && !gpu.peaks.has(gemm) {
        findings.push(Finding::warning(
            Place::Pool(pool.id.clone()),
            format!(
                "{} does not multiply {}: weights are read at that size, multiplied wider",
                gpu.name,
                gemm.name()
            ),
        ));
    }
    if matches!(pool.precision.kv, Dtype::Fp4 | Dtype::Fp32) {
        findings.push(Finding::error(
            Place::Pool(pool.id.clone()),
            format!(
                "the KV cache can't be {}: BF16, FP8 and INT8 can",
                pool.precision.kv.name()
            ),
        ));
    }
}
