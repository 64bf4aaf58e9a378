//! What a table of measured rows does not say: the server's settings, and how the client sends.
//!
//! One file, `presets/validation/recipes.ron`: rules in order, each with what it applies to and what
//! it sets under the engine's own words; where several apply, the later one wins. Values are texts and
//! may be worked out from the row (`concurrency`, `max(256,concurrency)`, `isl+osl+256`).

use super::row::{Condition, Deployment};
use crate::catalog::{Dtype, Gpu, PresetFile, preset_files};
use crate::plan::{Engine, EngineKind, Layout};
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
    /// Attention lanes of a replica.
    dp: Option<Span>,
    /// Ranks of attention tensor parallelism.
    tp: Option<Span>,
    /// Ranks the experts are dealt to.
    ep: Option<Span>,
    /// Measured on that day or later (`2026-02`).
    since: String,
    /// Measured before that day.
    until: String,
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
    /// What of it the table does not know and the engine's defaults do not say either.
    pub sources: Vec<String>,
}

/// Settings that are facts of a launch but nothing this program models.
const NOTED: [&str; 12] = [
    "scheduler_recv_interval",
    "stream_interval",
    "num_postprocess_workers",
    "tokenizer_workers",
    "allreduce",
    "attention_backend",
    "moe_backend",
    "max_model_len",
    "num_continuous_decode_steps",
    "batching_wait_iters",
    "timeout_iters",
    "attention_dp_balance",
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
        };
        for file in files {
            let own = read(&file)?;
            all.clients.extend(own.clients);
            all.rules.extend(own.rules);
        }
        Ok(all)
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

    /// How a half of a condition was served on such GPUs in such a layout.
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
        let rules = || {
            self.rules
                .iter()
                .filter(|rule| rule.applies(condition, half, layout))
        };
        let version = rules()
            .filter_map(|rule| rule.set.get("version"))
            .next_back()
            .cloned()
            .or_else(|| (!condition.version.is_empty()).then(|| condition.version.clone()))
            .unwrap_or_else(|| condition.engine.default_version().to_owned());
        let mut served = Served {
            engine: Engine::defaults_of(condition.engine, &version, gpu, layout),
            weights: Dtype::Bf16,
            activations: Dtype::Bf16,
            kv: Dtype::Bf16,
            attention: None,
            sources: Vec::new(),
        };
        for rule in rules() {
            for (name, text) in &rule.set {
                served
                    .put(name, text, condition)
                    .map_err(|message| RecipeError::Rule {
                        rule: rule.source.clone(),
                        message,
                    })?;
            }
            if !rule.source.is_empty() {
                served.sources.push(rule.source.clone());
            }
        }
        Ok(served)
    }
}

impl Served {
    fn put(&mut self, name: &str, text: &str, condition: &Condition) -> Result<(), String> {
        match name {
            "version" => {}
            "weights" => self.weights = dtype(text)?,
            "activations" => self.activations = dtype(text)?,
            "kv" => self.kv = dtype(text)?,
            "attention" => self.attention = Some(dtype(text)?),
            _ if NOTED.contains(&name) => {}
            _ => {
                let value = worked_out(text, condition).unwrap_or_else(|| text.to_owned());
                self.engine
                    .set(name, &value)
                    .map_err(|error| error.to_string())?;
            }
        }
        Ok(())
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
            && within(self.dp, layout.dp)
            && within(self.tp, layout.tp)
            && within(self.ep, layout.ep)
            && (self.since.is_empty() || condition.date.as_str() >= self.since.as_str())
            && (self.until.is_empty()
                || (!condition.date.is_empty() && condition.date.as_str() < self.until.as_str()))
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

/// A count worked out from the row: numbers and the row's words, added (`+`), multiplied (`*`), the
/// larger (`max(a,b)`) or smaller (`min(a,b)`) of two; none: it is no such text.
fn worked_out(text: &str, condition: &Condition) -> Option<String> {
    // A plain number or word stays as it is.
    if !text.chars().any(|c| matches!(c, '+' | '*' | '(')) && !WORDS.contains(&text.trim()) {
        return None;
    }
    sum(text.trim(), condition).map(|count| count.to_string())
}

const WORDS: [&str; 3] = ["concurrency", "isl", "osl"];

fn sum(text: &str, condition: &Condition) -> Option<u64> {
    let mut all = 0_u64;
    for part in split(text, '+') {
        let mut product = 1_u64;
        for factor in split(part, '*') {
            product = product.saturating_mul(factor_of(factor.trim(), condition)?);
        }
        all = all.saturating_add(product);
    }
    Some(all)
}

fn factor_of(text: &str, condition: &Condition) -> Option<u64> {
    let inner = |name: &str| {
        text.strip_prefix(name)?
            .strip_prefix('(')?
            .strip_suffix(')')
    };
    let pair = |text: &str| {
        let parts = split(text, ',');
        match parts[..] {
            [a, b] => Some((sum(a.trim(), condition)?, sum(b.trim(), condition)?)),
            _ => None,
        }
    };
    if let Some(both) = inner("max") {
        return pair(both).map(|(a, b)| a.max(b));
    }
    if let Some(both) = inner("min") {
        return pair(both).map(|(a, b)| a.min(b));
    }
    match text {
        "concurrency" => Some(u64::from(condition.concurrency)),
        "isl" => Some(u64::from(condition.isl)),
        "osl" => Some(u64::from(condition.osl)),
        _ => text.parse().ok(),
    }
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
        for (text, count) in [
            ("concurrency", Some("64")),
            ("isl+osl+256", Some("2304")),
            ("max(256,concurrency)", Some("256")),
            ("min(2*concurrency,100)", Some("100")),
            ("8192", None),
            ("true", None),
            ("full and piecewise", None),
        ] {
            assert_eq!(worked_out(text, &own).as_deref(), count, "{text}");
        }
        assert_eq!(sum("max(1,2,3)", &own), None);
        assert_eq!(sum("nonsense+1", &own), None);
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
                let mut served = Served {
                    engine: Engine::tensorrt_llm(),
                    weights: Dtype::Bf16,
                    activations: Dtype::Bf16,
                    kv: Dtype::Bf16,
                    attention: None,
                    sources: Vec::new(),
                };
                served.engine.kind = engine;
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
}
