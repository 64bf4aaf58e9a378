//! What one engine demands beside the arithmetic.

use super::{Degree, Rule};
use crate::plan::engine::EngineKind;

pub(super) const RULES: &[Rule] = &[
    Rule {
        degree: Degree::Ep,
        engines: &[EngineKind::Vllm],
        broken: |case| {
            let layout = case.layout;
            let ranks = layout.tp.saturating_mul(layout.dp);
            (case.facts.is_moe() && layout.ep != 1 && layout.ep != ranks).then(|| {
                format!(
                    "EP {}: vLLM deals experts over all {ranks} ranks of TP × DP or none",
                    layout.ep
                )
            })
        },
        source: "vLLM 0.11 enable_expert_parallel, fused_moe/config.py",
    },
    Rule {
        degree: Degree::Tp,
        engines: &[EngineKind::TensorRtLlm],
        broken: |case| {
            let layout = case.layout;
            (case.facts.is_moe() && layout.dp > 1 && layout.tp > 1).then(|| {
                format!(
                    "TP {} with DP {}: TensorRT-LLM's attention DP leaves attention whole on every rank",
                    layout.tp, layout.dp
                )
            })
        },
        source: "TensorRT-LLM 1.0 enable_attention_dp",
    },
];
