//! `moe`, `wideep_*moe`: the routed experts of one rank, with the activation quantised inside.

use super::super::routing::{Given, Law, Routing};
use super::{Entry, Line};
use crate::cost::calibrated::{Attributes, Load, Moe, MoeFormat, Shape};

pub(super) fn format_of(precision: &str) -> Result<MoeFormat, String> {
    Ok(match precision {
        "bfloat16" => MoeFormat::Bf16,
        "fp8" => MoeFormat::Fp8,
        "fp8_block" => MoeFormat::Fp8Block,
        "nvfp4" => MoeFormat::Nvfp4,
        "int4_wo" => MoeFormat::W4a16,
        "w4a16_mxfp4" => MoeFormat::Mxfp4,
        "w4a8_mxfp4_mxfp8" => MoeFormat::Mxfp4Fp8,
        other => return Err(format!("unknown moe_dtype {other:?}")),
    })
}

/// A count, whole and not absurd.
pub(super) fn count(line: &Line<'_>, column: &str) -> Result<usize, String> {
    let value = line.positive(column)?;
    if value > 1e9 || value.fract() != 0.0 {
        return Err(format!("{column} is not a count"));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked"
    )]
    Ok(value as usize)
}

/// What the collector gave the kernel, by engine, version and kernel.
fn given(line: &Line<'_>, hidden: f64, experts: usize, ranks: usize, skewed: bool) -> Given {
    let (engine, kernel) = (line.text("engine"), line.text("kernel_source"));
    let old = matches!(line.text("backend_version"), "0.5.9" | "0.5.10");
    // One rank of one needs no ids of others.
    if engine == "sglang" && old && ranks > 1 {
        return match (kernel.contains("marlin"), kernel.contains("triton")) {
            (true, _) => Given::Clamped,
            (false, true) if skewed => Given::Spread,
            _ => Given::Own,
        };
    }
    // TensorRT-LLM's low-latency kernels are run with DeepSeek's router, whatever the model; SGLang
    // 0.5.14 runs every model with its own, and DeepSeek-V3's is the one with groups.
    let deepseek = engine == "sglang" && !old && hidden == 7168.0 && experts == 256;
    if experts.is_multiple_of(8) && (deepseek || kernel.contains("min_latency")) {
        return Given::Grouped;
    }
    Given::All
}

pub(super) fn read(line: &Line<'_>) -> Result<Entry, String> {
    let kernel = line.text("kernel_source");
    let experts = Experts::of(line)?;
    // vLLM 0.19's MXFP4 layer keeps all experts whatever ranks it is told of.
    let ranks = if kernel == "vllm_mxfp4_moe" {
        1
    } else {
        experts.ranks
    };
    let law = Law::parse(line.text("distribution"))?;
    let skewed = law != Law::Balanced;
    let routing = Routing {
        law,
        given: given(line, experts.hidden, experts.experts, ranks, skewed),
        tokens: count(line, "num_tokens")?,
        choices: experts.choices,
        experts: experts.experts,
        slots: None,
        ranks,
    };
    let precision = line.text("moe_dtype").to_owned();
    experts.entry(line, &routing, precision, false)
}

/// `wideep_context_moe`: experts between the two halves of a DeepEP exchange in prefill, outside a
/// CUDA graph; `num_tokens` are those of all ranks.
pub(super) fn dispatched_context(line: &Line<'_>) -> Result<Entry, String> {
    let experts = Experts::of(line)?;
    let tokens = count(line, "num_tokens")?;
    let law = Law::parse(line.text("distribution"))?;
    let precision = format!("{} dispatched prefill", line.text("moe_dtype"));
    if law == Law::Uniform {
        // Experts are filled one after another with 128 tokens each while there are so few.
        let (local, all) = (
            experts.experts / experts.ranks.max(1),
            tokens * experts.choices,
        );
        let copies = all / experts.ranks.max(1);
        let visited = copies.div_ceil(128).clamp(1, local.max(1));
        let each = real(copies) / real(visited);
        let load = Load::of_counts(
            real(tokens / experts.ranks.max(1)),
            real(experts.choices),
            std::iter::repeat_n(each, visited),
        );
        return experts.with(line, load, local, precision, true);
    }
    let routing = experts.routing(law, tokens, None);
    experts.entry(line, &routing, precision, true)
}

/// `wideep_generation_moe`: the same in decode.
pub(super) fn dispatched_generation(line: &Line<'_>) -> Result<Entry, String> {
    let experts = Experts::of(line)?;
    let law = match Law::parse(line.text("distribution"))? {
        Law::Uniform => Law::Balanced,
        law => law,
    };
    let routing = experts.routing(law, count(line, "num_tokens")?, None);
    let precision = format!("{} dispatched decode", line.text("moe_dtype"));
    experts.entry(line, &routing, precision, false)
}

/// `wideep_moe`: TensorRT-LLM's experts of a wide expert-parallel rank, with more slots than
/// experts where a load balancer (`_eplb`) spreads them.
pub(super) fn wide(line: &Line<'_>) -> Result<Entry, String> {
    let experts = Experts::of(line)?;
    let word = line.text("distribution");
    let (word, slots) = match word.strip_suffix("_eplb") {
        Some(word) => (word, Some(count(line, "num_slots")?)),
        None => (word, None),
    };
    let routing = experts.routing(Law::parse(word)?, count(line, "num_tokens")?, slots);
    let precision = format!("{} dispatched", line.text("moe_dtype"));
    experts.entry(line, &routing, precision, false)
}

/// The columns that say which experts.
struct Experts {
    hidden: f64,
    /// Inner width on a rank.
    intermediate: f64,
    choices: usize,
    experts: usize,
    ranks: usize,
    gated: bool,
    format: MoeFormat,
}

impl Experts {
    fn of(line: &Line<'_>) -> Result<Self, String> {
        let (hidden, choices) = (line.positive("hidden_size")?, count(line, "topk")?);
        Ok(Self {
            hidden,
            intermediate: line.positive("inter_size")? / line.positive("moe_tp_size")?,
            choices,
            experts: count(line, "num_experts")?,
            ranks: count(line, "moe_ep_size")?,
            // Nemotron's experts (22 choices, or 2688 wide) have no gate; not every kernel's name
            // says so.
            gated: !line.text("kernel_source").ends_with("nongated")
                && choices != 22
                && hidden != 2688.0,
            format: format_of(line.text("moe_dtype"))?,
        })
    }

    /// Routing of tokens that were dispatched to the rank.
    fn routing(&self, law: Law, tokens: usize, slots: Option<usize>) -> Routing {
        Routing {
            law,
            given: Given::Own,
            tokens,
            choices: self.choices,
            experts: self.experts,
            slots,
            ranks: self.ranks,
        }
    }

    fn entry(
        self,
        line: &Line<'_>,
        routing: &Routing,
        precision: String,
        eager: bool,
    ) -> Result<Entry, String> {
        let load = routing.load()?;
        let local = routing.slots.unwrap_or(routing.experts) / routing.ranks;
        self.with(line, load, local, precision, eager)
    }

    fn with(
        self,
        line: &Line<'_>,
        load: Load,
        local: usize,
        precision: String,
        eager: bool,
    ) -> Result<Entry, String> {
        let format = self.format;
        let shape = Moe {
            load,
            hidden: self.hidden,
            intermediate: self.intermediate,
            local: real(local),
            experts: real(self.experts),
            gated: self.gated,
            format,
            resident: true,
            eager,
        };
        Ok(Entry {
            shape: Shape::Moe(shape),
            seconds: line.milliseconds("latency_ms")?,
            precision,
            attributes: Attributes {
                quantises: !matches!(
                    format,
                    MoeFormat::Bf16 | MoeFormat::W4a16 | MoeFormat::Mxfp4
                ),
                host: 0.0,
                hot_l2: true,
            },
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "bounded counts")]
const fn real(count: usize) -> f64 {
    count as f64
}
