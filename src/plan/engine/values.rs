//! Settings as text under an engine's own names: for the command line, and to say what differs from
//! an engine's defaults.

use super::{
    AttentionBackend, Draft, Engine, EngineKind, ExpertExchange, FirstToken, GraphMode, KvTransfer,
    MoeBackend, QueueOrder, Scheduler, Setting, Speculation, Tier, TierKind,
};
use crate::catalog::ModelId;
use crate::units::Seconds;
use std::fmt::Display;
use std::str::FromStr;
use thiserror::Error;

/// A setting that is not as the engine starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Which.
    pub setting: Setting,
    /// The engine's own name of it.
    pub word: &'static str,
    /// Its value.
    pub value: String,
    /// The engine's default.
    pub default: String,
}

/// Why a setting can't be set.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingError {
    /// No engine's word.
    #[error("“{name}” is no setting of {engine}: it has {known}")]
    Unknown {
        /// What was asked.
        name: String,
        /// Of which engine.
        engine: &'static str,
        /// What there is.
        known: String,
    },
    /// A value it can't have.
    #[error("{name}={text}: expected {expected}")]
    Wrong {
        /// The setting.
        name: String,
        /// What was given.
        text: String,
        /// What would be right.
        expected: String,
    },
}

/// What a value should be, where text was none.
type Expected = String;

/// Longest text of a setting looked at.
const MAX_TEXT: usize = 4096;

impl Engine {
    /// The engine's own name of a setting.
    #[must_use]
    pub fn word(&self, setting: Setting) -> &'static str {
        self.kind.word(setting)
    }

    /// A setting's value as text, as the engine's own name of it means it.
    #[must_use]
    pub fn value(&self, setting: Setting) -> String {
        let flag = |on: bool| self.flag(setting, on);
        let drafts = |text: fn(&Speculation) -> String| {
            self.speculation
                .as_ref()
                .map_or_else(|| NO_DRAFTS.to_owned(), text)
        };
        let own = &self.scheduling;
        match setting {
            Setting::TokenBudget => self.max_num_batched_tokens.to_string(),
            Setting::MaxSequences => self.max_num_seqs.to_string(),
            Setting::BlockSize => self.block_size.to_string(),
            Setting::MemoryFraction => self.gpu_memory_utilization.to_string(),
            Setting::ChunkedPrefill => flag(self.enable_chunked_prefill),
            Setting::Blocks => self
                .num_gpu_blocks
                .map_or_else(|| FROM_MEMORY.to_owned(), |blocks| blocks.to_string()),
            Setting::StageLayers if self.stage_layers.is_empty() => EVEN.to_owned(),
            Setting::StageLayers => list_text(&self.stage_layers),
            Setting::FirstToken => first_token(self.first_token).to_owned(),
            Setting::KvTransfer => self.kv_transfer.name().to_owned(),
            Setting::ExpertExchange => self.expert_exchange.name(self.kind).to_owned(),
            Setting::Scheduler => own.scheduler.name().to_owned(),
            Setting::Order => own.order.name().to_owned(),
            Setting::LongPrefill => own.long_prefill_token_threshold.to_string(),
            Setting::PartialPrefills => own.max_num_partial_prefills.to_string(),
            Setting::Watermark => own.watermark.to_string(),
            Setting::MixedChunk => flag(own.mixed_chunk),
            Setting::MaxPrefillTokens => own.max_prefill_tokens.to_string(),
            Setting::Conservativeness => own.conservativeness.to_string(),
            Setting::BatchWait => own.batch_wait_iters.to_string(),
            Setting::BatchWaitRatio => own.batch_wait_ratio.to_string(),
            Setting::ReceiveInterval => own.recv_interval.to_string(),
            Setting::PrefixCaching => flag(self.caching.prefix),
            Setting::Tiers => tiers_text(&self.caching.tiers),
            Setting::GraphMode => self.graphs.mode.name().to_owned(),
            Setting::GraphSize => self.graphs.max_size.to_string(),
            Setting::GraphPadding => flag(self.graphs.padding),
            Setting::Draft => self
                .speculation
                .as_ref()
                .map_or_else(|| OFF.to_owned(), |own| draft_text(&own.draft)),
            Setting::DraftSteps => drafts(|own| own.steps.to_string()),
            Setting::Verified => drafts(|own| own.verified.to_string()),
            Setting::Acceptance => drafts(|own| list_text(&own.acceptance)),
            Setting::Overlap => flag(self.host.overlap),
            Setting::StepTime => self.host_step_time.to_string(),
            Setting::SequenceTime => self.host.per_sequence.to_string(),
            Setting::RequestTime => self.host.request.to_string(),
            Setting::OutputTime => self.host.output.to_string(),
            Setting::StreamInterval => self.host.stream_interval.to_string(),
            Setting::LaunchTime => self.host.launch.to_string(),
            Setting::NetworkTime => self.host.network.to_string(),
            Setting::LaunchGap => self.host.gap.to_string(),
            Setting::Sustained => self.sustained.to_string(),
            Setting::MoeBackend => self.kernels.moe.name().to_owned(),
            Setting::AttentionBackend => self.kernels.attention.name().to_owned(),
        }
    }

    /// Settings that are not as in `defaults`, in the order shown.
    #[must_use]
    pub fn differences(&self, defaults: &Self) -> Vec<Difference> {
        Setting::all()
            .map(|setting| Difference {
                setting,
                word: self.word(setting),
                value: self.value(setting),
                default: defaults.value(setting),
            })
            .filter(|found| found.value != found.default && found.default != NO_DRAFTS)
            .collect()
    }

    /// Sets a setting by the engine's own name, or vLLM's.
    ///
    /// # Errors
    /// There is no such name, or the value can't be read. Whether the value is one the engine takes,
    /// the checks of the plan say.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), SettingError> {
        let Some((setting, inverted)) = self.kind.setting(name) else {
            return Err(SettingError::Unknown {
                name: shortened(name),
                engine: self.kind.name(),
                known: known(self.kind),
            });
        };
        let text = text.trim();
        let done = if text.len() > MAX_TEXT {
            Err(format!("at most {MAX_TEXT} characters"))
        } else {
            self.put(setting, inverted, text)
        };
        done.map_err(|expected| SettingError::Wrong {
            name: self.word(setting).to_owned(),
            text: shortened(text),
            expected,
        })
    }

    /// The text of an on or off, as the engine's own name means it.
    pub(in crate::plan) fn flag(&self, setting: Setting, on: bool) -> String {
        (on != self.kind.inverts(setting)).to_string()
    }

    fn put(&mut self, setting: Setting, inverted: bool, text: &str) -> Result<(), Expected> {
        let flag = || flag(text).map(|on| on != inverted);
        let own = &mut self.scheduling;
        match setting {
            Setting::TokenBudget => self.max_num_batched_tokens = count(text)?,
            Setting::MaxSequences => self.max_num_seqs = count(text)?,
            Setting::BlockSize => self.block_size = count(text)?,
            Setting::MemoryFraction => self.gpu_memory_utilization = real(text)?,
            Setting::ChunkedPrefill => self.enable_chunked_prefill = flag()?,
            Setting::Blocks if text == FROM_MEMORY => self.num_gpu_blocks = None,
            Setting::Blocks => self.num_gpu_blocks = Some(count(text)?),
            Setting::StageLayers if plain(text) == EVEN => self.stage_layers.clear(),
            Setting::StageLayers => {
                let list = text.split(',').map(|own| count(own.trim()));
                self.stage_layers = list.collect::<Result<_, _>>()?;
            }
            Setting::FirstToken => {
                let all = [FirstToken::DecodeAdmission, FirstToken::PrefillEnd];
                self.first_token = one_of(text, &all, |own| first_token(*own))?;
            }
            Setting::KvTransfer => {
                self.kv_transfer = one_of(text, &KvTransfer::ALL, |own| own.name())?;
            }
            Setting::ExpertExchange => self.expert_exchange = exchange(text, self.kind)?,
            Setting::Scheduler => {
                own.scheduler = one_of(text, &Scheduler::ALL, |own| own.name())?;
            }
            Setting::Order => own.order = one_of(text, &QueueOrder::ALL, |own| own.name())?,
            Setting::LongPrefill => own.long_prefill_token_threshold = count(text)?,
            Setting::PartialPrefills => own.max_num_partial_prefills = count(text)?,
            Setting::Watermark => own.watermark = real(text)?,
            Setting::MixedChunk => own.mixed_chunk = flag()?,
            Setting::MaxPrefillTokens => own.max_prefill_tokens = count(text)?,
            Setting::Conservativeness => own.conservativeness = real(text)?,
            Setting::BatchWait => own.batch_wait_iters = count(text)?,
            Setting::BatchWaitRatio => own.batch_wait_ratio = real(text)?,
            Setting::ReceiveInterval => own.recv_interval = count(text)?,
            Setting::PrefixCaching => self.caching.prefix = flag()?,
            Setting::Tiers => self.caching.tiers = tiers(text)?,
            Setting::GraphMode => {
                self.graphs.mode = one_of(text, &GraphMode::ALL, |own| own.name())?;
            }
            Setting::GraphSize => self.graphs.max_size = count(text)?,
            Setting::GraphPadding => self.graphs.padding = flag()?,
            Setting::Draft => self.draft(text)?,
            Setting::DraftSteps => {
                let steps = count(text)?;
                let own = self.drafting()?;
                // A chain stays one.
                if own.verified == own.steps {
                    own.verified = steps;
                }
                own.steps = steps;
            }
            Setting::Verified => self.drafting()?.verified = count(text)?,
            Setting::Acceptance => {
                let list: Result<Vec<f64>, Expected> = text.split(',').map(real).collect();
                self.drafting()?.acceptance = list?;
            }
            Setting::Overlap => self.host.overlap = flag()?,
            Setting::StepTime => self.host_step_time = time(text)?,
            Setting::SequenceTime => self.host.per_sequence = time(text)?,
            Setting::RequestTime => self.host.request = time(text)?,
            Setting::OutputTime => self.host.output = time(text)?,
            Setting::StreamInterval => self.host.stream_interval = count(text)?,
            Setting::LaunchTime => self.host.launch = time(text)?,
            Setting::NetworkTime => self.host.network = time(text)?,
            Setting::LaunchGap => self.host.gap = time(text)?,
            Setting::Sustained => self.sustained = real(text)?,
            Setting::MoeBackend => {
                self.kernels.moe = one_of(text, &MoeBackend::ALL, |own| own.name())?;
            }
            Setting::AttentionBackend => {
                self.kernels.attention = one_of(text, &AttentionBackend::ALL, |own| own.name())?;
            }
        }
        Ok(())
    }

    fn drafting(&mut self) -> Result<&mut Speculation, Expected> {
        let word = self.kind.word(Setting::Draft);
        self.speculation
            .as_mut()
            .ok_or_else(|| format!("{word} before it: nothing drafts"))
    }

    fn draft(&mut self, text: &str) -> Result<(), Expected> {
        if plain(text) == OFF {
            self.speculation = None;
            return Ok(());
        }
        let draft = read_draft(text)?;
        match &mut self.speculation {
            Some(own) => own.draft = draft,
            None => self.speculation = Some(Speculation::start(draft)),
        }
        Ok(())
    }
}

/// Words of values that are none.
const FROM_MEMORY: &str = "from memory";
const OFF: &str = "off";
const EVEN: &str = "even";
const NONE: &str = "none";
/// A setting of drafts where nothing drafts: who does is the difference.
const NO_DRAFTS: &str = "-";

/// `first_token`'s values.
const fn first_token(own: FirstToken) -> &'static str {
    match own {
        FirstToken::DecodeAdmission => "decode admission",
        FirstToken::PrefillEnd => "end of prefill",
    }
}

/// A way of exchanging by an engine's name of it, or else by vLLM's: `deepep_low_latency`.
fn exchange(text: &str, kind: EngineKind) -> Result<ExpertExchange, Expected> {
    let asked = plain(text);
    let named = |kind: EngineKind| {
        let mut all = ExpertExchange::ALL.into_iter();
        all.find(|own| plain(own.name(kind)) == asked)
    };
    // vLLM renamed the two-sided one in 0.19.
    let renamed =
        (asked == "flashinfer nvlink two sided").then_some(ExpertExchange::NvlinkTwoSided);
    named(kind)
        .or_else(|| named(EngineKind::Vllm))
        .or(renamed)
        .ok_or_else(|| {
            let names: Vec<&str> = ExpertExchange::of(kind).map(|own| own.name(kind)).collect();
            format!("one of {}", names.join(", "))
        })
}

fn known(kind: EngineKind) -> String {
    let words: Vec<String> = Setting::all()
        .map(|setting| kind.word(setting).replace(' ', "_"))
        .collect();
    words.join(", ")
}

/// Enough of a text to know it again.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 60;
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    text.chars().take(SHOWN).chain(['…']).collect()
}

fn plain(text: &str) -> String {
    text.trim().to_lowercase().replace(['-', '_'], " ")
}

fn flag(text: &str) -> Result<bool, Expected> {
    match plain(text).as_str() {
        "true" | "on" | "yes" | "1" => Ok(true),
        "false" | "off" | "no" | "0" => Ok(false),
        _ => Err("true or false".to_owned()),
    }
}

fn count<T: FromStr>(text: &str) -> Result<T, Expected> {
    text.parse().map_err(|_| "a whole number".to_owned())
}

fn real(text: &str) -> Result<f64, Expected> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err("a number".to_owned()),
    }
}

fn time(text: &str) -> Result<Seconds, Expected> {
    quantity(text)
}

fn quantity<T: FromStr<Err: Display>>(text: &str) -> Result<T, Expected> {
    text.trim()
        .parse()
        .map_err(|error: T::Err| error.to_string())
}

/// A value by its name; an enum's name in vLLM (`FULL_DECODE_ONLY`) is one of ours in capitals.
fn one_of<T: Copy>(
    text: &str,
    all: &[T],
    name: impl Fn(&T) -> &'static str,
) -> Result<T, Expected> {
    let asked = plain(text);
    all.iter()
        .find(|value| plain(name(value)) == asked)
        .copied()
        .ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(name).collect();
            format!("one of {}", names.join(", "))
        })
}

fn draft_text(draft: &Draft) -> String {
    match draft {
        Draft::Ngram => "ngram".to_owned(),
        Draft::Model { model } => model.to_string(),
        Draft::Mtp { layers } => format!("mtp {layers}"),
    }
}

fn read_draft(text: &str) -> Result<Draft, Expected> {
    let asked = plain(text);
    if asked == "ngram" {
        return Ok(Draft::Ngram);
    }
    if let Some(layers) = asked.strip_prefix("mtp") {
        let layers = layers.trim();
        return if layers.is_empty() {
            Ok(Draft::Mtp { layers: 1 })
        } else {
            count(layers).map(|layers| Draft::Mtp { layers })
        };
    }
    ModelId::new(text)
        .map(|model| Draft::Model { model })
        .map_err(|_| "off, ngram, mtp LAYERS or the id of a model".to_owned())
}

fn list_text(list: &[impl Display]) -> String {
    let parts: Vec<String> = list.iter().map(ToString::to_string).collect();
    parts.join(",")
}

fn tiers_text(tiers: &[Tier]) -> String {
    if tiers.is_empty() {
        return NONE.to_owned();
    }
    let parts: Vec<String> = tiers
        .iter()
        .map(|tier| {
            format!(
                "{},{},{},{},{}",
                tier.kind.name(),
                tier.capacity,
                tier.read,
                tier.write,
                tier.latency
            )
        })
        .collect();
    parts.join(";")
}

/// `host,256 GiB,50 GB/s,50 GB/s,10 µs;ssd,…`, or `none`.
fn tiers(text: &str) -> Result<Vec<Tier>, Expected> {
    if plain(text) == NONE {
        return Ok(Vec::new());
    }
    text.split(';').map(tier).collect()
}

fn tier(text: &str) -> Result<Tier, Expected> {
    let parts: Vec<&str> = text.split(',').collect();
    let [kind, capacity, read, write, latency] = parts[..] else {
        return Err(
            "none, or tiers apart by “;”, each as host,256 GiB,50 GB/s,50 GB/s,10 us: kind, capacity, read, write, latency"
                .to_owned(),
        );
    };
    Ok(Tier {
        kind: one_of(kind, &TierKind::ALL, |own| own.name())?,
        capacity: quantity(capacity)?,
        read: quantity(read)?,
        write: quantity(write)?,
        latency: quantity(latency)?,
    })
}

#[cfg(test)]
mod tests;
