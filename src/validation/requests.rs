//! Replays runs that were measured request by request: each request arrives when it did and is as long
//! as it was. What the engine decides is simulated, and the times are compared one by one.

use super::deployment::design_of;
use super::predict::{Predictor, Unpredicted};
use super::recipe::Over;
use super::row::{Condition, Deployment, Sharding};
use super::runs::{MeasuredRequest, RequestRun, RequestRuns, RunRefused};
use super::score::Errors;
use crate::cost::Fidelity;
use crate::plan::{Compiled, Demand, EngineKind, Plan, Severity, compile};
use crate::sim::{Control, Latency, Scenario, Summary, run_each_as_client};
use crate::units::Tokens;
use crate::workload::{Arrivals, Length, Load, Trace, TraceRequest, Workload};
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What recipes call all such runs: their times are the engine's own, no server stands before it.
const CAMPAIGN: &str = "requests";

/// One latency of a run: the means over its requests, and the errors of each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compared {
    /// Mean measured, s.
    pub measured: f64,
    /// Mean predicted, s.
    pub predicted: f64,
    /// By request.
    pub each: Errors,
}

impl Compared {
    fn of(pairs: &[(f64, f64)]) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a count of requests")]
        let count = pairs.len().max(1) as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
        Self {
            measured: mean(|pair| pair.0),
            predicted: mean(|pair| pair.1),
            each: Errors::of(pairs.iter().copied()),
        }
    }

    /// Predicted over measured mean, less one.
    #[must_use]
    pub fn error(&self) -> f64 {
        if self.measured > 0.0 {
            self.predicted / self.measured - 1.0
        } else {
            0.0
        }
    }
}

/// A run, measured and simulated.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// What was measured.
    pub run: RequestRun,
    /// What a simulation says of each request, in their order.
    pub predicted: Vec<Latency>,
    /// Time to first token.
    pub ttft: Compared,
    /// Time per output token after it.
    pub tpot: Compared,
    /// From being queued to the last token.
    pub e2e: Compared,
    /// All a simulation says.
    pub summary: Summary,
}

impl RequestRun {
    /// The run as a measured condition, for recipes and the drawing.
    #[must_use]
    pub fn condition(&self) -> Condition {
        Condition {
            engine: EngineKind::Vllm,
            version: self.version.clone(),
            image: String::new(),
            model_path: self.model.clone(),
            model: self.model.clone(),
            system: self.gpu.clone(),
            precision: "bf16".to_owned(),
            gemm: String::new(),
            deployment: Deployment::Colocated(Sharding {
                tp: self.tp,
                pp: 1,
                dp: self.dp,
                moe_tp: self.tp,
                ep: 1,
            }),
            // Only recipes that are worked out from a row's load ask for these.
            isl: 1,
            osl: 1,
            concurrency: 1,
            campaign: CAMPAIGN.to_owned(),
            date: String::new(),
            group: format!("{} {}", self.gpu, self.model),
        }
    }

    /// What its line says, and what follows from it: vLLM captures graphs up to twice the most
    /// sequences and 512 tokens (`config/vllm.py`).
    fn settings(&self) -> Vec<(String, String)> {
        let mut settings = self.settings.clone();
        let of = |name: &str| self.settings.iter().find(|(own, _)| own == name);
        let captured = "max_cudagraph_capture_size";
        let most = of("max_num_seqs").and_then(|(_, text)| text.parse::<u32>().ok());
        if let (Some(most), None) = (most, of(captured)) {
            settings.push((
                captured.to_owned(),
                most.saturating_mul(2).min(512).to_string(),
            ));
        }
        settings
    }

    fn trace(&self) -> Trace {
        let one = |own: &MeasuredRequest| TraceRequest {
            arrival_s: own.arrival,
            input: own.input,
            output: own.output,
        };
        Trace {
            requests: self.requests.iter().map(one).collect(),
            name: format!("{} {}", self.gpu, self.model),
            ..Trace::default()
        }
    }
}

/// A trace's workload: it says all of it.
fn workload() -> Workload {
    Workload {
        arrivals: Arrivals::Trace,
        input: Length::Fixed(Tokens::new(1)),
        output: Length::Fixed(Tokens::new(1)),
        requests: 0,
        seed: 1,
        trace: None,
        sessions: None,
        hidden: None,
        priorities: Vec::new(),
    }
}

impl Predictor {
    /// Replays one run.
    ///
    /// # Errors
    /// It can't be drawn, can't run, or its simulation fails.
    pub fn replay(&self, run: &RequestRun, cancel: &AtomicBool) -> Result<Replayed, Unpredicted> {
        let recipes =
            run.settings()
                .into_iter()
                .fold((*self.recipes).clone(), |recipes, (name, text)| {
                    recipes.with(Over {
                        engine: EngineKind::Vllm,
                        since: String::new(),
                        name,
                        text,
                    })
                });
        let design = design_of(&run.condition(), &recipes, &self.catalog, &self.models)?;
        let longest = |of: fn(&MeasuredRequest) -> u64| run.requests.iter().map(of).max();
        let demand = Demand {
            longest_context: longest(|own| own.input + own.output).unwrap_or(0),
            longest_prompt: longest(|own| own.input).unwrap_or(0),
        };
        let Compiled { plan, findings, .. } = compile(&design, &self.catalog, &self.models, demand);
        let Some(plan) = plan else {
            let causes: Vec<&str> = findings
                .iter()
                .filter(|finding| finding.severity == Severity::Error)
                .map(|finding| finding.cause.as_str())
                .collect();
            return Err(Unpredicted::CannotRun(causes.join("; ")));
        };
        replay(run, plan, Arc::clone(&self.fidelity), cancel)
    }

    /// Replays all runs on all cores, in their order; the refused with their reasons.
    #[must_use]
    pub fn replay_all(
        &self,
        runs: &RequestRuns,
        cancel: &AtomicBool,
    ) -> (Vec<Replayed>, Vec<RunRefused>) {
        let each: Vec<Result<Replayed, RunRefused>> = runs
            .runs
            .par_iter()
            .map(|run| {
                self.replay(run, cancel).map_err(|why| RunRefused {
                    line: run.line,
                    name: format!("{} {}", run.gpu, run.model),
                    why: why.to_string(),
                })
            })
            .collect();
        let (mut replayed, mut refused) = (Vec::new(), runs.refused.clone());
        for one in each {
            match one {
                Ok(own) => replayed.push(own),
                Err(own) => refused.push(own),
            }
        }
        refused.sort_by_key(|own| own.line);
        (replayed, refused)
    }
}

fn replay(
    run: &RequestRun,
    plan: Arc<Plan>,
    fidelity: Arc<dyn Fidelity>,
    cancel: &AtomicBool,
) -> Result<Replayed, Unpredicted> {
    let scenario = Scenario {
        plan,
        workload: workload(),
        trace: Some(Arc::new(run.trace())),
        load: Load::TraceSpeed(1.0),
        fidelity,
    };
    let (summary, predicted) = run_each_as_client(&scenario, Control { cancel })?;
    if predicted.len() != run.requests.len() {
        return Err(Unpredicted::CannotRun(format!(
            "only {} of {} requests were served",
            predicted.len(),
            run.requests.len()
        )));
    }
    let pairs = || run.requests.iter().zip(&predicted);
    let ttft: Vec<_> = pairs().map(|(own, ours)| (own.ttft, ours.ttft)).collect();
    let e2e: Vec<_> = pairs().map(|(own, ours)| (own.e2e, ours.e2e)).collect();
    let tpot: Vec<_> = pairs()
        .filter_map(|(own, ours)| Some((own.tpot?, ours.tpot()?)))
        .collect();
    Ok(Replayed {
        ttft: Compared::of(&ttft),
        tpot: Compared::of(&tpot),
        e2e: Compared::of(&e2e),
        run: run.clone(),
        predicted,
        summary,
    })
}
