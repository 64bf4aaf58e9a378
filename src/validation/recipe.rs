//! What a table of measured rows does not say: the server's settings, and how the client sends.
//!
//! One file, `presets/validation/recipes.ron`: rules in order, each with what it applies to and what
//! it sets under the engine's own words; where several apply, the later one wins. Values are texts and
//! may be worked out from the row (`concurrency`, `max(256,concurrency)`, `isl+osl+256`).

use super::row::{Condition, Deployment};
use crate::catalog::{Dtype, Gpu, PresetFile, preset_files};
use crate::plan::{Engine, EngineKind, ExpertExchange, Layout, Overheads};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use thiserror::Error;

/// Why recipes can't be had or applied.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RecipeError {
    /// The file can't be read.
    #[error("{origin}: {message}")]
    File {
        /// Which file.
        origin: String,
        /// Why.
        message: String,
    },
    /// A rule sets something to what it can't be.
    #[error("recipe “{rule}”: {message}")]
    Rule {
        /// The rule's source.
        rule: String,
        /// Why.
        message: String,
    },
}

/// How a campaign's client sends.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Whose; empty: of campaigns that have none of their own.
    pub campaign: String,
    /// Lengths are drawn evenly from these shares of the nominal ones.
    pub lengths: (f64, f64),
    /// Requests of a run, times those in flight.
    pub requests_per_slot: f64,
    /// Where this is said.
    pub source: String,
}

/// A rule of the table.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Rule {
    campaign: String,
    engine: String,
    models: Vec<String>,
    gpus: Vec<String>,
    precisions: Vec<String>,
    /// `agg` or `disagg`.
    modes: Vec<String>,
    /// `prefill` or `decode`.
    roles: Vec<String>,
    /// Versions that begin so; `""` is a row without one.
    versions: Vec<String>,
    /// Images that contain so.
    images: Vec<String>,
    isl: Vec<u32>,
    osl: Vec<u32>,
    concurrency: Option<Span>,
    /// Ranks of attention's tensor parallelism; of a disaggregated worker all its ranks.
    tp: Vec<u32>,
    /// Attention lanes of a replica.
    attention_dp: Option<Span>,
    /// On which days; a row without a date is of none.
    measured: Option<Days>,
    set: BTreeMap<String, String>,
    source: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Span {
    min: u32,
    max: u32,
}

impl Default for Span {
    fn default() -> Self {
        Self {
            min: 0,
            max: u32::MAX,
        }
    }
}

/// From one day to another, both included (`2026-02-01`).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Days {
    from: String,
    to: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    clients: Vec<Client>,
    rules: Vec<Rule>,
}

/// The table.
#[derive(Debug, Clone)]
pub struct Recipes {
    clients: Vec<Client>,
    rules: Vec<Rule>,
    /// Settings put over all rules, by engine.
    over: Vec<Over>,
    /// Overheads in place of ours; empty: ours.
    overheads: Vec<Overheads>,
}

/// A setting put over all rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Over {
    /// Of which engine.
    pub engine: EngineKind,
    /// From which version on; empty: all.
    pub since: String,
    /// The engine's own name of it.
    pub name: String,
    /// Its value.
    pub text: String,
}

/// Which half of a deployment is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    Both,
    Prefill,
    Decode,
}

/// How a condition was served, by the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Served {
    /// How a replica is really spread.
    pub layout: Layout,
    /// The engine with all its settings.
    pub engine: Engine,
    /// Format of linear and expert weights.
    pub weights: Dtype,
    /// Format of their inputs.
    pub activations: Dtype,
    /// Format of the KV cache.
    pub kv: Dtype,
    /// Format of attention's projections, where the checkpoint keeps one of its own.
    pub attention: Option<Dtype>,
    /// Settings in the table's words, and where each is said.
    pub settings: BTreeMap<String, (String, String)>,
}

/// Settings that are facts of a launch but nothing this program models.
const NOTED: [&str; 17] = [
    "num_postprocess_workers",
    "tokenizer_workers",
    "allreduce",
    "max_model_len",
    "num_continuous_decode_steps",
    "attention_dp_balance",
    "adp_timeout_iters",
    "adp_batching_wait_iters",
    "piecewise_prefill_graph",
    "kv_reservation",
    "memory_kind",
    "mixed_batches",
    "moe_combine",
    "fused",
    "single_batch_overlap",
    "request_rate",
    "label_trust",
];

impl Recipes {
    /// Ours, or a user's in their place.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn load(user_dir: Option<&Path>) -> Result<Self, RecipeError> {
        let files = preset_files("validation", user_dir).map_err(|error| RecipeError::File {
            origin: "presets/validation".to_owned(),
            message: error.to_string(),
        })?;
        let mut all = Self {
            clients: Vec::new(),
            rules: Vec::new(),
            over: Vec::new(),
            overheads: Vec::new(),
        };
        for file in files.iter().filter(|file| file.name != super::known::FILE) {
            let own = read(file)?;
            all.clients.extend(own.clients);
            all.rules.extend(own.rules);
        }
        Ok(all)
    }

    /// The same with a setting of an engine put over all rules, under the engine's own name of it.
    #[must_use]
    pub fn with(mut self, over: Over) -> Self {
        self.over.push(over);
        self
    }

    /// The same with these overheads in place of ours.
    #[must_use]
    pub fn with_overheads(mut self, overheads: Vec<Overheads>) -> Self {
        self.overheads = overheads;
        self
    }

    /// How a campaign sends.
    #[must_use]
    pub fn client(&self, campaign: &str) -> Client {
        let find = |name: &str| self.clients.iter().find(|own| own.campaign == name);
        find(campaign)
            .or_else(|| find(""))
            .cloned()
            .unwrap_or(Client {
                campaign: String::new(),
                lengths: (1.0, 1.0),
                requests_per_slot: 10.0,
                source: String::new(),
            })
    }

    /// How a half of a condition was served on such GPUs, spread as its columns say.
    ///
    /// # Errors
    /// A rule sets something to what it can't be.
    pub(super) fn served(
        &self,
        condition: &Condition,
        half: Half,
        gpu: &Gpu,
        layout: Layout,
    ) -> Result<Served, RecipeError> {
        let mut settings: BTreeMap<String, (String, String)> = BTreeMap::new();
        let rules = self.rules.iter();
        for rule in rules.filter(|rule| rule.applies(condition, half, layout)) {
            for (name, text) in &rule.set {
                settings.insert(name.clone(), (text.clone(), rule.source.clone()));
            }
        }
        let text = |name: &str| settings.get(name).map(|(text, _)| text.as_str());
        let layout = relabelled(
            spread(
                layout,
                text("data_parallel_size"),
                text("enable_expert_parallel"),
            ),
            text("actual_attention_dp"),
            text("actual_expert_parallel"),
        );
        let version = text("version")
            .or_else(|| (!condition.version.is_empty()).then_some(condition.version.as_str()))
            .unwrap_or_else(|| condition.engine.default_version());
        let mut engine = Engine::defaults_of(condition.engine, version, gpu, layout);
        if let Some(own) = Overheads::of(&engine, &self.overheads) {
            own.put(&mut engine);
        }
        let mut served = Served {
            engine,
            layout,
            weights: Dtype::Bf16,
            activations: Dtype::Bf16,
            kv: Dtype::Bf16,
            attention: None,
            settings: BTreeMap::new(),
        };
        // Others may be worked out from the most sequences.
        let first = settings.get_key_value("max_num_seqs");
        for (name, (text, source)) in first.into_iter().chain(&settings) {
            served
                .put(name, text, condition)
                .map_err(|message| RecipeError::Rule {
                    rule: source.clone(),
                    message,
                })?;
        }
        for own in &self.over {
            let since = own.since.is_empty() || served.engine.is_since(&own.since);
            if own.engine != condition.engine || !since {
                continue;
            }
            let put = served.engine.set(&own.name, &own.text);
            put.map_err(|error| RecipeError::Rule {
                rule: "given".to_owned(),
                message: error.to_string(),
            })?;
        }
        // A step can't hold more.
        let engine = &mut served.engine;
        if engine.scheduling.scheduler.has_budget() {
            engine.max_num_seqs = engine.max_num_seqs.min(engine.max_num_batched_tokens);
        }
        served.settings = settings;
        Ok(served)
    }
}

/// The layout with vLLM's own settings of it: lanes of as many ranks each, and experts dealt to all.
fn spread(layout: Layout, dp: Option<&str>, experts: Option<&str>) -> Layout {
    let mut own = layout;
    if let Some(dp) = dp.and_then(|text| text.parse().ok()).filter(|dp| *dp > 0) {
        own.dp = dp;
    }
    if experts == Some("true") {
        own.ep = own.tp.saturating_mul(own.dp);
    }
    own
}

/// The layout as it really was, where a launch script decided otherwise than the columns say.
fn relabelled(layout: Layout, dp: Option<&str>, ep: Option<&str>) -> Layout {
    let ranks = layout.tp.saturating_mul(layout.dp);
    let divides = |count: &u32| *count > 0 && ranks.is_multiple_of(*count);
    let mut own = layout;
    if let Some(dp) = dp.and_then(|text| text.parse().ok()).filter(divides) {
        own.dp = dp;
        own.tp = ranks / dp;
    }
    match ep {
        Some("tp" | "ranks") => own.ep = ranks,
        Some(text) => own.ep = text.parse().ok().filter(divides).unwrap_or(layout.ep),
        None => {}
    }
    own
}

impl Served {
    fn put(&mut self, name: &str, text: &str, condition: &Condition) -> Result<(), String> {
        match name {
            "version"
            | "actual_attention_dp"
            | "actual_expert_parallel"
            | "data_parallel_size"
            | "enable_expert_parallel" => {}
            "weights" => self.weights = dtype(text)?,
            "activations" => self.activations = dtype(text)?,
            "kv" => self.kv = dtype(text)?,
            "attention" => self.attention = Some(dtype(text)?),
            "eplb_redundant" => {
                self.layout.redundant_experts = text
                    .parse()
                    .map_err(|_| format!("“{text}” is no number of redundant experts"))?;
            }
            "all2all" => {
                let sglang = self.engine.kind == EngineKind::Sglang;
                self.engine.expert_exchange = match text {
                    "none" => return Ok(()),
                    "deepep" if sglang => ExpertExchange::Deepep,
                    "deepep" => ExpertExchange::DeepepNormal,
                    "deepep_normal" => ExpertExchange::DeepepNormal,
                    "deepep_low_latency" | "deepep_low_latency_nvfp4" => {
                        ExpertExchange::DeepepLowLatency
                    }
                    "nvlink_two_sided" | "mnnvl_throughput" => ExpertExchange::NvlinkTwoSided,
                    _ => return Err(format!("“{text}” is no exchange of experts' tokens")),
                };
                // SGLang deals experts out over all ranks then, whatever is set.
                if sglang {
                    self.layout.ep = self.layout.tp.saturating_mul(self.layout.dp);
                }
            }
            _ if NOTED.contains(&name) => {}
            _ => {
                let value = self
                    .worked_out(text, condition)
                    .map(|count| self.of_a_lane(name, count).to_string());
                self.engine
                    .set(name, value.as_deref().unwrap_or(text))
                    .map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }

    /// SGLang's chunk and most requests are of a worker, ours of a lane.
    fn of_a_lane(&self, name: &str, count: u64) -> u64 {
        let of_worker = ["max_num_batched_tokens", "max_num_seqs"];
        if self.engine.kind == EngineKind::Sglang && of_worker.contains(&name) {
            count / u64::from(self.layout.dp).max(1)
        } else {
            count
        }
        .max(1)
    }

    /// A count worked out from the row: numbers and the row's words, added (`+`), multiplied (`*`),
    /// divided (`/`), the larger (`max(a,b)`) or smaller (`min(a,b)`) of two; none: it is no such
    /// text.
    pub(super) fn worked_out(&self, text: &str, condition: &Condition) -> Option<u64> {
        sum(text.trim(), &|word| {
            Some(u64::from(match word {
                "concurrency" => condition.concurrency,
                "isl" => condition.isl,
                "osl" => condition.osl,
                "tp" => self.layout.tp.saturating_mul(self.layout.dp),
                "max_num_seqs" => self.engine.max_num_seqs,
                _ => return None,
            }))
        })
    }
}

impl Rule {
    fn applies(&self, condition: &Condition, half: Half, layout: Layout) -> bool {
        let engine = match condition.engine {
            EngineKind::Vllm => "vllm",
            EngineKind::Sglang => "sglang",
            EngineKind::TensorRtLlm => "trtllm",
        };
        let mode = match condition.deployment {
            Deployment::Colocated(_) => "agg",
            Deployment::Disaggregated { .. } => "disagg",
        };
        let role = match half {
            Half::Both => "both",
            Half::Prefill => "prefill",
            Half::Decode => "decode",
        };
        let named =
            |list: &[String], name: &str| list.is_empty() || list.iter().any(|own| own == name);
        let begins = |list: &[String], text: &str| {
            list.is_empty()
                || list
                    .iter()
                    .any(|own| own == text || (!own.is_empty() && text.starts_with(own.as_str())))
        };
        let counted = |list: &[u32], count: u32| list.is_empty() || list.contains(&count);
        let within = |span: Option<Span>, count: u32| {
            span.is_none_or(|span| (span.min..=span.max).contains(&count))
        };
        let ranks = match condition.deployment {
            Deployment::Colocated(_) => layout.tp,
            Deployment::Disaggregated { .. } => layout.tp.saturating_mul(layout.dp),
        };
        let on = |days: &Days| {
            let day = condition.date.as_str();
            !day.is_empty() && (days.from.as_str()..=days.to.as_str()).contains(&day)
        };
        (self.campaign.is_empty() || self.campaign == condition.campaign)
            && (self.engine.is_empty() || self.engine == engine)
            && (named(&self.models, &condition.model)
                || self.models.contains(&condition.model_path))
            && named(&self.gpus, &condition.system)
            && named(&self.precisions, &condition.precision)
            && named(&self.modes, mode)
            && named(&self.roles, role)
            && begins(&self.versions, &condition.version)
            && (self.images.is_empty()
                || self
                    .images
                    .iter()
                    .any(|own| condition.image.contains(own.as_str())))
            && counted(&self.isl, condition.isl)
            && counted(&self.osl, condition.osl)
            && within(self.concurrency, condition.concurrency)
            && counted(&self.tp, ranks)
            && within(self.attention_dp, layout.dp)
            && self.measured.as_ref().is_none_or(on)
    }
}

fn read(file: &PresetFile) -> Result<File, RecipeError> {
    ron::Options::default()
        .with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME)
        .from_str(&file.text)
        .map_err(|error| RecipeError::File {
            origin: file.origin.to_string(),
            message: error.to_string(),
        })
}

fn dtype(text: &str) -> Result<Dtype, String> {
    ron::from_str(text)
        .map_err(|_| format!("“{text}” is no number format: bf16, fp8, fp4, mxfp4, int8, int4"))
}

/// The value of a word of a row.
type Word<'a> = &'a dyn Fn(&str) -> Option<u64>;

fn sum(text: &str, word: Word<'_>) -> Option<u64> {
    let mut all = 0_u64;
    for part in split(text, '+') {
        let mut product = 1_u64;
        for factor in split(part, '*') {
            let mut parts = split(factor, '/').into_iter();
            let mut quotient = single(parts.next()?.trim(), word)?;
            for divisor in parts {
                quotient /= single(divisor.trim(), word)?.max(1);
            }
            product = product.saturating_mul(quotient);
        }
        all = all.saturating_add(product);
    }
    Some(all)
}

fn single(text: &str, word: Word<'_>) -> Option<u64> {
    let pair = |name: &str| {
        let inside = text.strip_prefix(name)?.strip_prefix('(')?;
        let parts = split(inside.strip_suffix(')')?, ',');
        match parts[..] {
            [a, b] => Some((sum(a.trim(), word)?, sum(b.trim(), word)?)),
            _ => None,
        }
    };
    if let Some((a, b)) = pair("max") {
        return Some(a.max(b));
    }
    if let Some((a, b)) = pair("min") {
        return Some(a.min(b));
    }
    if let Some(inside) = text
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
    {
        return sum(inside.trim(), word);
    }
    word(text).or_else(|| text.parse().ok())
}

/// Parts between separators that are in no brackets.
fn split(text: &str, separator: char) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0_i32, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if c == separator && depth == 0 => {
                parts.push(&text[from..at]);
                from = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::super::tests::condition;
    use super::*;

    #[test]
    fn counts_are_worked_out_from_the_row() {
        let own = condition();
        let served = served(EngineKind::Vllm);
        for (text, count) in [
            ("concurrency", Some(64)),
            ("isl+osl+256", Some(2304)),
            ("max(256,concurrency)", Some(256)),
            ("min(2*concurrency,100)", Some(100)),
            ("concurrency/4", Some(16)),
            ("(isl+63)/64*64", Some(1024)),
            ("8192", Some(8192)),
            ("true", None),
            ("full and piecewise", None),
            ("max(1,2,3)", None),
            ("nonsense+1", None),
        ] {
            assert_eq!(served.worked_out(text, &own), count, "{text}");
        }
    }

    fn served(kind: EngineKind) -> Served {
        Served {
            engine: Engine {
                kind,
                ..Engine::tensorrt_llm()
            },
            layout: Layout::SINGLE,
            weights: Dtype::Bf16,
            activations: Dtype::Bf16,
            kv: Dtype::Bf16,
            attention: None,
            settings: BTreeMap::new(),
        }
    }

    #[test]
    fn our_table_is_read_and_sets_what_engines_have() {
        let recipes = Recipes::load(None).unwrap();
        assert!(!recipes.rules.is_empty());
        for rule in &recipes.rules {
            assert!(!rule.source.is_empty(), "every rule says where it is from");
            let kinds = match rule.engine.as_str() {
                "vllm" => vec![EngineKind::Vllm],
                "sglang" => vec![EngineKind::Sglang],
                "trtllm" => vec![EngineKind::TensorRtLlm],
                "" => EngineKind::ALL.to_vec(),
                other => panic!("no engine is called {other}"),
            };
            for engine in kinds {
                let own = Condition {
                    engine,
                    ..condition()
                };
                let mut served = served(engine);
                for (name, text) in &rule.set {
                    served
                        .put(name, text, &own)
                        .unwrap_or_else(|error| panic!("{}: {error}", rule.source));
                }
            }
        }
        let client = recipes.client("inferencex");
        assert!(client.lengths.0 < client.lengths.1);
        assert_eq!(recipes.client("nobody's").lengths, (1.0, 1.0));
    }

    #[test]
    fn layouts_are_what_the_script_made_of_them() {
        let layout = Layout {
            tp: 4,
            dp: 2,
            ..Layout::SINGLE
        };
        let seen = |dp, ep| {
            let own = relabelled(layout, dp, ep);
            (own.tp, own.dp, own.ep)
        };
        assert_eq!(seen(None, None), (4, 2, 1));
        assert_eq!(seen(Some("1"), Some("ranks")), (8, 1, 8));
        assert_eq!(seen(None, Some("4")), (4, 2, 4));
        assert_eq!(seen(Some("3"), Some("5")), (4, 2, 1));
    }
}
