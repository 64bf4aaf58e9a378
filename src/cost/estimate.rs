//! A quick estimate of how many requests per second a plan serves, for placing the points of a
//! load curve. No queueing: full decode batches, prefill paid in full.

use super::afd::SplitPricer;
use super::operator::Fidelity;
use super::reach::reaches;
use super::step::{Chunk, Femtos, LaneShape, StepPricer};
use crate::plan::{Phases, Plan, PlannedService, Speculation};
use std::sync::Arc;

/// What a plan is estimated to serve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Capacity {
    /// Requests per second.
    pub rate: f64,
    /// Requests in flight with every decode batch full.
    pub concurrency: f64,
    /// Seconds from a request's arrival to its end with every decode batch full.
    pub e2e: f64,
}

/// Prices of a service's steps.
enum Pacer {
    Whole(Box<StepPricer>),
    Split(Box<SplitPricer>),
}

impl Pacer {
    fn of(plan: &Plan, service: &PlannedService, fidelity: &Arc<dyn Fidelity>) -> Self {
        match SplitPricer::new(plan, service, fidelity) {
            Some(split) => Self::Split(Box::new(split)),
            None => Self::Whole(Box::new(StepPricer::new(
                &plan.topology,
                &plan.model,
                &plan.pools[service.pool],
                fidelity,
            ))),
        }
    }

    /// What a full pipeline takes for a step: its slowest stage.
    fn took(&mut self, lanes: &[LaneShape<'_>], overlap: bool) -> Femtos {
        match self {
            Self::Whole(own) => (0..own.stage_count())
                .map(|stage| own.stage(stage, lanes).took(overlap))
                .max()
                .unwrap_or(1),
            Self::Split(own) => own.step(lanes).took(overlap),
        }
    }
}

/// Estimates a plan under requests of `input` prompt and `output` answer tokens.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "an estimate; values are clamped to small positive numbers"
)]
pub fn estimate_capacity(
    plan: &Plan,
    fidelity: &Arc<dyn Fidelity>,
    input: f64,
    output: f64,
) -> Capacity {
    let (mut both, mut prefill, mut decode) = (0.0, 0.0, 0.0);
    let (mut both_slots, mut decode_slots, mut e2e) = (0.0, 0.0, 0.0_f64);
    for service in &plan.services {
        let pool = &plan.pools[service.pool];
        let lanes: usize = plan
            .shares(service, 0)
            .map(|(pool, _)| plan.pools[pool].layout.dp as usize)
            .sum();
        let schedulers = (plan.copies(service) * lanes) as f64;
        let mut pricer = Pacer::of(plan, service, fidelity);
        let context = input + 0.5 * output;
        let fits = pool.memory.sequences(input + output).max(1.0);
        let speculation = pool.engine.speculation.as_ref();
        let drafts = speculation.map_or(0, |own| own.verified);
        let batch = fits
            .min(f64::from(pool.engine.max_num_seqs))
            .clamp(1.0, 4096.0);
        // The slowest stage sets the pace of a full pipeline.
        let overlap = pool.engine.host.overlap;
        let mut pace = |shape: LaneShape<'_>| {
            let shapes = vec![shape; lanes];
            pricer.took(&shapes, overlap) as f64 * 1e-15
        };
        // Prompts in chunks of the budget, as many as it takes.
        let budget = f64::from(pool.engine.max_num_batched_tokens);
        let per_step = input.min(budget).max(1.0);
        let prompts = (budget / per_step).floor().max(1.0);
        let chunk = Chunk {
            tokens: per_step as u32,
            context: (0.5 * (input - per_step)).max(0.0) as u32,
        };
        let chunks = vec![chunk; (prompts as usize).min(64)];
        let full = pace(LaneShape {
            chunks: &chunks,
            sampled: chunks.len() as u32,
            ..LaneShape::default()
        });
        let prompt = full / chunks.len() as f64 * (input / per_step).max(1.0);
        // A token of the answer sees on average so many of its context.
        let (prompt_tokens, answer_tokens) = (input as u64, output.max(1.0) as u64);
        let reached: Vec<u64> = reaches(&plan.model)
            .into_iter()
            .map(|reach| {
                let seen = reach.pairs(answer_tokens, prompt_tokens) / answer_tokens as f64;
                (batch * seen) as u64
            })
            .collect();
        let step = pace(LaneShape {
            drafted: batch as u32 * drafts,
            decodes: batch as u32,
            context: (batch * context) as u64,
            reached: &reached,
            chunks: &[],
            sampled: batch as u32 * (1 + drafts),
        });
        let tokens = speculation.map_or(1.0, Speculation::tokens_per_step);
        let answer = (output - 1.0).max(0.0) * step / batch / tokens;
        e2e = e2e.max(match service.phases {
            // Decodes wait for the prompts they share steps with.
            Phases::Both => prompt + (prompt + answer) * batch,
            Phases::Prefill => prompt,
            Phases::Decode => answer * batch,
        });
        match service.phases {
            Phases::Both => {
                both += schedulers / (prompt + answer);
                both_slots += schedulers * batch;
            }
            Phases::Prefill => prefill += schedulers / prompt,
            Phases::Decode => {
                decode += if answer > 0.0 {
                    schedulers / answer
                } else {
                    f64::MAX
                };
                decode_slots += schedulers * batch;
            }
        }
    }
    let split = if prefill > 0.0 && decode > 0.0 {
        prefill.min(decode)
    } else {
        0.0
    };
    Capacity {
        rate: both + split,
        e2e,
        concurrency: (both_slots + if split > 0.0 { decode_slots } else { 0.0 }).max(1.0),
    }
}
