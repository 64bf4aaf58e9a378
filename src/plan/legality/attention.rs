//! Heads, and what else of a token mixer is divided by TP.
//!
//! An indexer's projections are copied to every rank (vLLM's `ReplicatedLinear`), so it divides
//! nothing.

use super::{Degree, Rule};

const PARALLEL: &str = "vLLM, SGLang and TensorRT-LLM divide heads evenly";

pub(super) const RULES: &[Rule] = &[
    Rule {
        degree: Degree::Tp,
        engines: &[],
        broken: |case| {
            let tp = u64::from(case.layout.tp);
            let (heads, what) = case
                .facts
                .heads
                .iter()
                .find(|(heads, _)| !heads.is_multiple_of(tp))?;
            Some(format!("TP {tp} does not divide {heads} {what}"))
        },
        source: PARALLEL,
    },
    Rule {
        degree: Degree::Tp,
        engines: &[],
        broken: |case| {
            let tp = u64::from(case.layout.tp);
            let kv = case
                .facts
                .kv_heads
                .iter()
                .find(|kv| !kv.is_multiple_of(tp) && !tp.is_multiple_of((**kv).max(1)))?;
            Some(format!(
                "TP {tp} neither divides {kv} KV heads nor is a multiple of them"
            ))
        },
        source: "KV heads are divided, or copied: QKVParallelLinear",
    },
    Rule {
        degree: Degree::Tp,
        engines: &[],
        broken: |case| {
            let tp = u64::from(case.layout.tp);
            let groups = case
                .facts
                .groups
                .iter()
                .find(|groups| **groups > 1 && !groups.is_multiple_of(tp))?;
            Some(format!("TP {tp} does not divide {groups} Mamba groups"))
        },
        source: "vLLM mamba_mixer2.py: groups are divided, a single one is copied",
    },
];
