//! How tokens reach their experts: choices an engine does not have, that do nothing in a layout, or
//! that cost something else.

use super::{Case, Rule};
use crate::plan::engine::{EngineKind, ExpertExchange, GraphMode, Setting, low_latency_tokens};
use crate::plan::finding::Severity;

/// The engine's own first choice.
fn own_first(case: &Case<'_>) -> Option<(&'static str, String)> {
    let kind = case.engine.kind;
    let all = [ExpertExchange::Automatic, ExpertExchange::AllGather];
    let own = all.into_iter().find(|own| own.known_to(kind))?;
    Some(("Use its default", own.name(kind).to_owned()))
}

/// Most tokens of a step of decodes on one rank.
fn decodes(case: &Case<'_>) -> u32 {
    let drafted = case
        .engine
        .speculation
        .as_ref()
        .map_or(0, |own| own.verified);
    let of_lane = case.engine.max_num_seqs.saturating_mul(1 + drafted);
    of_lane.div_ceil(case.layout.tp.max(1))
}

impl Case<'_> {
    fn exchange(&self) -> ExpertExchange {
        self.engine.expert_exchange
    }

    fn chosen(&self) -> &'static str {
        self.exchange().name(self.engine.kind)
    }

    /// Kernels that send tokens straight to their experts' ranks.
    fn sends(&self) -> bool {
        !matches!(
            self.exchange(),
            ExpertExchange::AllGather | ExpertExchange::Automatic | ExpertExchange::Broadcast
        )
    }
}

/// Sources: as `plan/engine/exchange.rs`; SGLang 0.5 `server_args.py` (`deepep` sets EP to all ranks).
pub(super) const RULES: [Rule; 6] = [
    Rule {
        severity: Severity::Warning,
        setting: Setting::ExpertExchange,
        called: None,
        wrong: |case| {
            let kind = case.engine.kind;
            (case.is_moe && !case.exchange().known_to(kind)).then(|| {
                format!(
                    "{}, which {} does not have: for study",
                    case.chosen(),
                    kind.name()
                )
            })
        },
        mend: own_first,
    },
    Rule {
        severity: Severity::Warning,
        setting: Setting::ExpertExchange,
        called: None,
        wrong: |case| {
            let (kind, layout) = (case.engine.kind, case.layout);
            let does = match kind {
                _ if !case.is_moe || !case.sends() => return None,
                EngineKind::Vllm if layout.dp > 1 && layout.ep == 1 => {
                    "without expert parallelism (EP 1) tokens of all lanes are gathered"
                }
                EngineKind::TensorRtLlm if layout.dp > 1 && layout.moe_tp() > 1 => {
                    "experts divided by MoE-TP can't be sent to, tokens of all lanes are gathered"
                }
                EngineKind::Vllm | EngineKind::TensorRtLlm if layout.dp == 1 => {
                    "one lane (DP 1) has all tokens on every rank, their results are summed"
                }
                _ => return None,
            };
            Some(format!("{}, without effect: {does}", case.chosen()))
        },
        mend: own_first,
    },
    Rule {
        severity: Severity::Error,
        setting: Setting::ExpertExchange,
        called: None,
        wrong: |case| {
            let layout = case.layout;
            let ranks = layout.tp.saturating_mul(layout.dp);
            let sglang = case.engine.kind == EngineKind::Sglang;
            (case.is_moe && sglang && case.sends() && layout.ep != ranks).then(|| {
                format!(
                    "{}, which deals experts out over all {ranks} ranks of TP × DP, but EP is {}",
                    case.chosen(),
                    layout.ep
                )
            })
        },
        mend: own_first,
    },
    Rule {
        severity: Severity::Hint,
        setting: Setting::ExpertExchange,
        called: None,
        wrong: |case| {
            let [_, low_latency] = case.engine.deepep_modes(case.layout);
            let most = low_latency_tokens(case.engine.kind)?;
            let sequences = decodes(case);
            let sglang = case.engine.kind == EngineKind::Sglang;
            (case.is_moe && sglang && low_latency && sequences > most).then(|| {
                format!(
                    "{}, whose low-latency mode takes {most} tokens of a rank by default (SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK), but {} allows steps of {sequences}",
                    case.chosen(),
                    case.word(Setting::MaxSequences)
                )
            })
        },
        mend: |_| None,
    },
    Rule {
        severity: Severity::Warning,
        setting: Setting::ExpertExchange,
        called: None,
        wrong: |case| {
            let low = case.exchange() == ExpertExchange::DeepepLowLatency;
            let [_, used] = case.engine.deepep_modes(case.layout);
            let most = low_latency_tokens(case.engine.kind)?;
            let tokens = case
                .engine
                .max_num_batched_tokens
                .div_ceil(case.layout.tp.max(1));
            if !(case.is_moe && low && used && case.prefills && tokens > most) {
                return None;
            }
            let does = if case.engine.kind == EngineKind::Vllm {
                "goes through it in pieces of"
            } else {
                "can't be longer than"
            };
            Some(format!(
                "{}, made for decodes: a prompt's chunk of {tokens} tokens of a rank {does} {most}",
                case.chosen()
            ))
        },
        mend: |case| {
            let kind = case.engine.kind;
            let own = if kind == EngineKind::Sglang {
                ExpertExchange::Deepep
            } else {
                ExpertExchange::AllGather
            };
            Some(("Use one for prompts", own.name(kind).to_owned()))
        },
    },
    Rule {
        severity: Severity::Hint,
        setting: Setting::GraphMode,
        called: Some("Capturing CUDA graphs"),
        wrong: |case| {
            let why = case.engine.no_graphs(case.layout)?;
            let graphs = case.engine.graphs.mode != GraphMode::None;
            (case.is_moe && graphs).then(|| {
                format!(
                    "on, but {} has none with {why}: it runs without",
                    case.called()
                )
            })
        },
        mend: |_| Some(("Capture none", GraphMode::None.name().to_owned())),
    },
];
