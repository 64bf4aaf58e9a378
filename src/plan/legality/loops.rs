//! How an engine's loop is set: pairs the engine does not have, settings that contradict each other
//! or have no effect, and what the engine turns off by itself.

mod exchange;

use crate::model::{Attention, Model};
use crate::plan::engine::{Engine, EngineKind, GraphMode, QueueOrder, Scheduler, Setting, Tier};
use crate::plan::finding::{Change, Finding, Place, Severity};
use crate::plan::memory::{MemoryBudget, is_partition};
use crate::plan::pool::{Layout, Pool, Role};
use crate::units::{ByteRate, Bytes};

/// Most KV tiers.
const MAX_TIERS: usize = 8;
/// Longest latency of a tier, seconds.
const MAX_LATENCY_S: f64 = 10.0;

/// A setting another contradicts.
struct Rule {
    severity: Severity,
    /// The setting blamed.
    setting: Setting,
    /// What it is called where the engine's own name would say the opposite; else that name.
    called: Option<&'static str>,
    /// What is wrong, after “is”; none: nothing.
    wrong: fn(&Case<'_>) -> Option<String>,
    /// The button, and the value that mends it; none: no one value does.
    mend: fn(&Case<'_>) -> Option<(&'static str, String)>,
}

/// What a rule looks at.
struct Case<'a> {
    engine: &'a Engine,
    layout: Layout,
    has_states: bool,
    layers: u32,
    is_moe: bool,
    /// The pool serves prompts.
    prefills: bool,
}

impl Case<'_> {
    fn word(&self, setting: Setting) -> &'static str {
        self.engine.word(setting)
    }

    fn scheduler(&self) -> Scheduler {
        self.engine.scheduling.scheduler
    }

    fn turned(&self, setting: Setting, on: bool) -> String {
        self.engine.flag(setting, on)
    }

    fn called(&self) -> String {
        format!("{} {}", self.engine.kind.name(), self.engine.version)
    }
}

/// The rules. Sources: vLLM 0.11 `engine/arg_utils.py`, `config/vllm.py`,
/// `model_executor/models/config.py`; SGLang 0.5 `srt/server_args.py`,
/// `managers/schedule_policy.py`, `model_executor/model_runner.py`; TensorRT-LLM 1.0
/// `_torch/pyexecutor/mamba_cache_manager.py`.
const RULES: [Rule; 13] = [
    Rule {
        severity: Severity::Warning,
        setting: Setting::Scheduler,
        called: None,
        wrong: |case| {
            let own = case.engine.kind.schedulers();
            (!own.contains(&case.scheduler())).then(|| {
                format!(
                    "{}, which {} does not have: for study",
                    case.scheduler().name(),
                    case.engine.kind.name()
                )
            })
        },
        mend: |case| {
            let own = case.engine.kind.schedulers().first()?;
            Some(("Use its own", own.name().to_owned()))
        },
    },
    Rule {
        severity: Severity::Warning,
        setting: Setting::Order,
        called: None,
        wrong: |case| {
            let lpm = case.engine.scheduling.order == QueueOrder::LongestPrefix;
            (lpm && case.scheduler() != Scheduler::Sglang).then(|| {
                format!(
                    "lpm, which only SGLang's loop knows: {} waits first come, first served",
                    case.scheduler().name()
                )
            })
        },
        mend: |_| Some(("Use fcfs", QueueOrder::Fcfs.name().to_owned())),
    },
    Rule {
        severity: Severity::Warning,
        setting: Setting::Order,
        called: None,
        wrong: |case| {
            let lpm = case.engine.scheduling.order == QueueOrder::LongestPrefix;
            (lpm && case.scheduler() == Scheduler::Sglang && !case.engine.caching.prefix).then(
                || {
                    "lpm, but no prefix is cached: requests wait first come, first served"
                        .to_owned()
                },
            )
        },
        mend: |_| Some(("Use fcfs", QueueOrder::Fcfs.name().to_owned())),
    },
    Rule {
        severity: Severity::Warning,
        setting: Setting::PartialPrefills,
        called: None,
        wrong: |case| {
            let most = case.engine.scheduling.max_num_partial_prefills;
            (case.engine.kind == EngineKind::Vllm && most > 1).then(|| {
                format!("{most}: vLLM V1 refuses to start with more than its default 1: for study")
            })
        },
        mend: |_| Some(("Use 0", "0".to_owned())),
    },
    Rule {
        severity: Severity::Warning,
        setting: Setting::MixedChunk,
        called: None,
        wrong: |case| {
            let on = case.engine.scheduling.mixed_chunk;
            if on && case.scheduler() != Scheduler::Sglang {
                return Some(format!(
                    "on, without effect: only SGLang's loop has steps of prompts alone, not {}",
                    case.scheduler().name()
                ));
            }
            (on && !case.engine.enable_chunked_prefill)
                .then(|| "on, without effect: prompts are not cut into chunks".to_owned())
        },
        mend: |case| Some(("Turn it off", case.turned(Setting::MixedChunk, false))),
    },
    Rule {
        severity: Severity::Error,
        setting: Setting::GraphSize,
        called: None,
        wrong: |case| {
            let graphs = case.engine.graphs;
            (graphs.mode != GraphMode::None && graphs.max_size == 0)
                .then(|| "0, so that no batch runs as a CUDA graph".to_owned())
        },
        mend: |case| {
            let engine = case.engine;
            let reached = engine.max_num_seqs.min(engine.max_num_batched_tokens);
            Some(("Capture batches", reached.clamp(1, 512).to_string()))
        },
    },
    Rule {
        severity: Severity::Hint,
        setting: Setting::GraphSize,
        called: None,
        wrong: |case| {
            let engine = case.engine;
            let (size, budget) = (engine.graphs.max_size, engine.max_num_batched_tokens);
            let graphs = engine.graphs.mode != GraphMode::None && case.scheduler().has_budget();
            (graphs && size > budget).then(|| {
                format!(
                    "{size}, more than a step can have ({} {budget}): graphs above it are never used",
                    case.word(Setting::TokenBudget)
                )
            })
        },
        mend: |case| {
            let budget = case.engine.max_num_batched_tokens;
            Some(("Use the budget", budget.to_string()))
        },
    },
    Rule {
        severity: Severity::Warning,
        setting: Setting::GraphPadding,
        called: Some("CUDA graph padding"),
        wrong: |case| {
            let vllm = case.engine.kind == EngineKind::Vllm;
            (vllm && !case.engine.graphs.padding).then(|| {
                "off, which vLLM does not have: it pads every batch to a captured size".to_owned()
            })
        },
        mend: |case| Some(("Turn it on", case.turned(Setting::GraphPadding, true))),
    },
    Rule {
        severity: Severity::Error,
        setting: Setting::StageLayers,
        called: None,
        wrong: |case| {
            let given = &case.engine.stage_layers;
            let (pp, layers) = (case.layout.pp, case.layers);
            if given.is_empty() || is_partition(given, layers, pp) {
                return None;
            }
            let sum: u64 = given.iter().map(|own| u64::from(*own)).sum();
            Some(format!(
                "{} stages of {sum} layers: it must give each of {pp} stages (PP) one layer at least, {layers} in all",
                given.len()
            ))
        },
        mend: |_| Some(("Use equal shares", "even".to_owned())),
    },
    Rule {
        severity: Severity::Error,
        setting: Setting::PrefixCaching,
        called: Some("Prefix caching"),
        wrong: |case| {
            let engine = case.engine;
            let refuses = engine.kind == EngineKind::TensorRtLlm;
            (engine.caching.prefix && case.has_states && refuses).then(|| {
                format!(
                    "on, but {} does not start so with recurrent layers: their states are not kept by block",
                    case.called()
                )
            })
        },
        mend: |case| Some(("Turn it off", case.turned(Setting::PrefixCaching, false))),
    },
    Rule {
        severity: Severity::Hint,
        setting: Setting::PrefixCaching,
        called: Some("Prefix caching"),
        wrong: |case| {
            let engine = case.engine;
            let turns_off = engine.kind != EngineKind::TensorRtLlm;
            (engine.caching.prefix && case.has_states && turns_off).then(|| {
                format!(
                    "on, but {} caches no prefixes of models with recurrent layers: it runs without",
                    case.called()
                )
            })
        },
        mend: |case| Some(("Turn it off", case.turned(Setting::PrefixCaching, false))),
    },
    Rule {
        severity: Severity::Warning,
        setting: Setting::Tiers,
        called: Some("A KV tier"),
        wrong: |case| {
            let own = &case.engine.caching;
            (!own.tiers.is_empty() && !own.prefix).then(|| {
                format!(
                    "drawn, without effect: it keeps prefixes, and none are cached ({} is {})",
                    case.word(Setting::PrefixCaching),
                    case.turned(Setting::PrefixCaching, false)
                )
            })
        },
        mend: |_| Some(("Remove them", "none".to_owned())),
    },
    Rule {
        severity: Severity::Hint,
        setting: Setting::Overlap,
        called: Some("Overlap of host and device"),
        wrong: |case| {
            let why = case.engine.no_overlap(case.layout)?;
            case.engine.host.overlap.then(|| {
                format!(
                    "on, but {} has none with {why}: it runs without",
                    case.called()
                )
            })
        },
        mend: |case| Some(("Turn it off", case.turned(Setting::Overlap, false))),
    },
];

/// Whether some layers keep a state instead of a cache.
fn has_states(model: &Model) -> bool {
    model.layers.iter().any(|run| {
        matches!(
            run.attention,
            Attention::Recurrent(_) | Attention::Parallel { .. }
        )
    })
}

/// The engine as it runs: less what it turns off by itself.
pub(in crate::plan) fn effective(model: &Model, pool: &Pool) -> Engine {
    let mut engine = pool.engine.clone();
    if has_states(model) {
        engine.caching.prefix = false;
    }
    if engine.no_overlap(pool.layout).is_some() {
        engine.host.overlap = false;
    }
    if model.moe().is_some() && engine.no_graphs(pool.layout).is_some() {
        engine.graphs.mode = GraphMode::None;
    }
    engine
}

/// Checks how a pool's loop is set.
pub(in crate::plan) fn loops(model: &Model, pool: &Pool, findings: &mut Vec<Finding>) {
    let case = Case {
        engine: &pool.engine,
        layout: pool.layout,
        has_states: has_states(model),
        layers: model.layer_count(),
        is_moe: model.moe().is_some(),
        prefills: pool.role != Role::Decode,
    };
    for rule in RULES.iter().chain(&exchange::RULES) {
        let Some(wrong) = (rule.wrong)(&case) else {
            continue;
        };
        let mut finding = Finding {
            severity: rule.severity,
            ..Finding::error(
                Place::Pool(pool.id.clone()),
                format!(
                    "{} is {wrong}",
                    rule.called.unwrap_or_else(|| case.word(rule.setting))
                ),
            )
        };
        if let Some((label, text)) = (rule.mend)(&case) {
            let change = Change::Setting(pool.id.clone(), rule.setting, text);
            finding = finding.with_repair(label, change);
        }
        findings.push(finding);
    }
    tiers(pool, findings);
}

/// Checks the KV tiers, each.
fn tiers(pool: &Pool, findings: &mut Vec<Finding>) {
    let tiers = &pool.engine.caching.tiers;
    let mut refuse =
        |cause: String| findings.push(Finding::error(Place::Pool(pool.id.clone()), cause));
    if tiers.len() > MAX_TIERS {
        refuse(format!(
            "{} KV tiers: at most {MAX_TIERS} can be",
            tiers.len()
        ));
        return;
    }
    for (index, tier) in tiers.iter().enumerate() {
        if let Some(what) = wrong_tier(tier) {
            refuse(format!(
                "KV tier {} ({}): {what}",
                index + 1,
                tier.kind.name()
            ));
        }
    }
}

fn wrong_tier(tier: &Tier) -> Option<String> {
    if tier.capacity == Bytes::ZERO {
        return Some("it holds nothing: give it a capacity, or remove it".to_owned());
    }
    for (way, rate) in [("read", tier.read), ("written", tier.write)] {
        if rate == ByteRate::ZERO {
            return Some(format!(
                "it is {way} at 0 B/s: give it a rate, or remove it"
            ));
        }
    }
    (tier.latency.get() > MAX_LATENCY_S)
        .then(|| format!("its latency is {}: at most {MAX_LATENCY_S} s", tier.latency))
}

/// Checks what a loop keeps free or reserves against the memory there is.
pub(in crate::plan) fn reserved(
    pool: &Pool,
    memory: &MemoryBudget,
    longest_context: u64,
    findings: &mut Vec<Finding>,
) {
    let engine = &pool.engine;
    let place = || Place::Pool(pool.id.clone());
    let share = engine.scheduling.watermark;
    #[expect(
        clippy::cast_precision_loss,
        reason = "token counts stay far below 2^53"
    )]
    let usable = memory.kv_tokens as f64 * (1.0 - share);
    #[expect(
        clippy::cast_precision_loss,
        reason = "token counts stay far below 2^53"
    )]
    let longest = longest_context as f64;
    if share > 0.0 && usable < longest && memory.kv_tokens >= longest_context {
        findings.push(
            Finding::error(
                place(),
                format!(
                    "{} {share} leaves {usable:.0} of {} tokens of KV to a request, but one of the workload needs {longest_context}",
                    engine.word(Setting::Watermark),
                    memory.kv_tokens
                ),
            )
            .with_repair(
                "Keep nothing free",
                Change::Setting(pool.id.clone(), Setting::Watermark, "0".to_owned()),
            ),
        );
    }
    let at_once = memory.kv_tokens / longest_context.max(1);
    let reserves = engine.scheduling.scheduler == Scheduler::Orca;
    if reserves && at_once > 0 && at_once < u64::from(engine.max_num_seqs) {
        findings.push(Finding::hint(
            place(),
            format!(
                "Orca reserves the longest prompt and answer ({longest_context} tokens) for each request: about {at_once} fit at once"
            ),
        ));
    }
}

#[cfg(test)]
mod tests;
