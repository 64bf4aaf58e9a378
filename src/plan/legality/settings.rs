//! An engine's budgets, memory and number formats; its numbers' bounds.

use crate::catalog::{Dtype, Gpu};
use crate::plan::compile::Demand;
use crate::plan::engine::{Engine, Scheduler, Setting};
use crate::plan::finding::{Change, Finding, Place};
use crate::plan::pool::{Pool, Role};

/// A number of an engine, and what it may be.
struct Bound {
    setting: Setting,
    of: fn(&Engine) -> f64,
    least: f64,
    most: f64,
}

const fn bound(setting: Setting, of: fn(&Engine) -> f64, least: f64, most: f64) -> Bound {
    Bound {
        setting,
        of,
        least,
        most,
    }
}

/// Most tokens of a step.
const MAX_TOKENS: f64 = 4_194_304.0;
/// Most sequences of a scheduler.
const MAX_SEQUENCES: f64 = 1e6;
/// Longest host time accepted, seconds; engines take milliseconds.
const MAX_HOST_S: f64 = 10.0;

/// Beyond these a number is a typing error, or would stall a run: with a watermark of all blocks
/// nothing is ever admitted.
const BOUNDS: [Bound; 22] = [
    bound(Setting::BlockSize, |e| e.block_size.into(), 1.0, 4096.0),
    bound(
        Setting::MaxSequences,
        |e| e.max_num_seqs.into(),
        1.0,
        MAX_SEQUENCES,
    ),
    bound(
        Setting::TokenBudget,
        |e| e.max_num_batched_tokens.into(),
        1.0,
        MAX_TOKENS,
    ),
    bound(
        Setting::LongPrefill,
        |e| e.scheduling.long_prefill_token_threshold.into(),
        0.0,
        MAX_TOKENS,
    ),
    bound(
        Setting::PartialPrefills,
        |e| e.scheduling.max_num_partial_prefills.into(),
        0.0,
        MAX_SEQUENCES,
    ),
    bound(Setting::Watermark, |e| e.scheduling.watermark, 0.0, 0.99),
    bound(
        Setting::MaxPrefillTokens,
        |e| e.scheduling.max_prefill_tokens.into(),
        0.0,
        MAX_TOKENS,
    ),
    bound(
        Setting::Conservativeness,
        |e| e.scheduling.conservativeness,
        0.0,
        100.0,
    ),
    bound(
        Setting::BatchWait,
        |e| e.scheduling.batch_wait_iters.into(),
        0.0,
        1e6,
    ),
    bound(
        Setting::BatchWaitRatio,
        |e| e.scheduling.batch_wait_ratio,
        0.0,
        1.0,
    ),
    bound(
        Setting::GraphSize,
        |e| e.graphs.max_size.into(),
        0.0,
        65_536.0,
    ),
    bound(
        Setting::StepTime,
        |e| e.host_step_time.get(),
        0.0,
        MAX_HOST_S,
    ),
    bound(
        Setting::SequenceTime,
        |e| e.host.per_sequence.get(),
        0.0,
        MAX_HOST_S,
    ),
    bound(
        Setting::RequestTime,
        |e| e.host.request.get(),
        0.0,
        MAX_HOST_S,
    ),
    bound(
        Setting::OutputTime,
        |e| e.host.output.get(),
        0.0,
        MAX_HOST_S,
    ),
    bound(
        Setting::StreamInterval,
        |e| e.host.stream_interval.into(),
        1.0,
        65_536.0,
    ),
    bound(
        Setting::LaunchTime,
        |e| e.host.launch.get(),
        0.0,
        MAX_HOST_S,
    ),
    bound(
        Setting::NetworkTime,
        |e| e.host.network.get(),
        0.0,
        MAX_HOST_S,
    ),
    bound(Setting::LaunchGap, |e| e.host.gap.get(), 0.0, MAX_HOST_S),
    bound(Setting::Sustained, |e| e.sustained, 0.0, 10.0),
    bound(
        Setting::ReceiveInterval,
        |e| e.scheduling.recv_interval.into(),
        0.0,
        1e6,
    ),
    // Above 0: no memory is no engine.
    bound(
        Setting::MemoryFraction,
        |e| e.gpu_memory_utilization,
        f64::MIN_POSITIVE,
        1.0,
    ),
];

/// Numbers out of bounds.
fn bounds(pool: &Pool, findings: &mut Vec<Finding>) {
    let engine = &pool.engine;
    for own in &BOUNDS {
        let value = (own.of)(engine);
        if (own.least..=own.most).contains(&value) {
            continue;
        }
        let least = if own.least > 0.0 && own.least < 1.0 {
            "above 0".to_owned()
        } else {
            format!("from {}", own.least)
        };
        findings.push(Finding::error(
            Place::Pool(pool.id.clone()),
            format!(
                "{} is {}: it must be {least} to {}",
                engine.word(own.setting),
                engine.value(own.setting),
                own.most
            ),
        ));
    }
}

/// Checks a pool's budgets, memory and blocks, and every number's bounds.
pub(in crate::plan) fn engine(pool: &Pool, demand: Demand, findings: &mut Vec<Finding>) {
    let engine = &pool.engine;
    let place = || Place::Pool(pool.id.clone());
    let word = |setting| engine.word(setting);
    let (budget, sequences) = (word(Setting::TokenBudget), word(Setting::MaxSequences));
    bounds(pool, findings);
    if engine.num_gpu_blocks == Some(0) {
        findings.push(Finding::error(
            place(),
            format!(
                "{} is 0: measured blocks must be 1 or more",
                word(Setting::Blocks)
            ),
        ));
    }
    let tokens = f64::from(engine.max_num_batched_tokens);
    if !(1.0..=MAX_TOKENS).contains(&tokens) || !engine.scheduling.scheduler.has_budget() {
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
    // Where nobody is preempted, nothing but prompts is computed at once; a decode pool has none.
    let evicts = engine.scheduling.scheduler != Scheduler::GuaranteedNoEvict;
    let longest = match (evicts, pool.role) {
        (true, _) => demand.longest_context,
        (false, Role::Decode) => 0,
        (false, _) => demand.longest_prompt,
    };
    if !engine.enable_chunked_prefill && u64::from(engine.max_num_batched_tokens) < longest {
        let mut finding = Finding::error(
            place(),
            format!(
                "without chunked prefill {budget} ({}) must hold the longest prompt{} ({longest}{})",
                engine.max_num_batched_tokens,
                if evicts { " and answer" } else { "" },
                if evicts {
                    ", which a preempted request computes again"
                } else {
                    ""
                },
            ),
        );
        if let Ok(tokens) = u32::try_from(longest) {
            finding = finding.with_repair(
                format!("Budget {longest}"),
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
