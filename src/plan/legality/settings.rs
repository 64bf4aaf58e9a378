//! An engine's settings and number formats.

use crate::catalog::{Dtype, Gpu};
use crate::plan::engine::Setting;
use crate::plan::finding::{Change, Finding, Place};
use crate::plan::pool::Pool;

/// Longest host time of a step accepted, seconds; engines take milliseconds.
const MAX_HOST_S: f64 = 10.0;

/// Checks a pool's engine settings.
pub(in crate::plan) fn engine(pool: &Pool, longest_context: u64, findings: &mut Vec<Finding>) {
    let engine = &pool.engine;
    let place = || Place::Pool(pool.id.clone());
    let word = |setting| engine.word(setting);
    let (budget, sequences) = (word(Setting::TokenBudget), word(Setting::MaxSequences));
    let mut refuse = |cause: String| findings.push(Finding::error(place(), cause));
    if !(1..=4096).contains(&engine.block_size) {
        refuse(format!(
            "{} is {}: it must be from 1 to 4096 tokens",
            word(Setting::BlockSize),
            engine.block_size
        ));
    }
    if !(engine.gpu_memory_utilization > 0.0 && engine.gpu_memory_utilization <= 1.0) {
        refuse(format!(
            "{} is {}: it must be above 0 and at most 1",
            word(Setting::MemoryFraction),
            engine.gpu_memory_utilization
        ));
    }
    if !(1..=1_000_000).contains(&engine.max_num_seqs) {
        refuse(format!(
            "{sequences} is {}: it must be from 1 to 1000000",
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
        refuse(format!(
            "{} is 0: measured blocks must be 1 or more",
            word(Setting::Blocks)
        ));
    }
    if !(1..=4_194_304).contains(&engine.max_num_batched_tokens) {
        refuse(format!(
            "{budget} is {}: it must be from 1 to 4194304",
            engine.max_num_batched_tokens
        ));
        return;
    }
    if engine.max_num_batched_tokens < engine.max_num_seqs {
        findings.push(
            Finding::error(
                place(),
                format!(
                    "{budget} ({}) is below {sequences} ({}): a step could not hold one token of each",
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
                "without chunked prefill {budget} ({}) must hold the longest prompt and answer ({longest_context}), which a preempted request computes again",
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
pub(in crate::plan) fn precision(pool: &Pool, gpu: &Gpu, findings: &mut Vec<Finding>) {
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
