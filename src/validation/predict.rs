//! Simulates conditions as their clients measured them: closed loop, all requests of a slot at once
//! to begin with, means over the whole run.

use super::deployment::{DeploymentError, Drawn, design_of, workload_of};
use super::kind::Kind;
use super::read::{Refused, Rows};
use super::recipe::Recipes;
use super::row::{Condition, Measured};
use super::setting::Setting;
use crate::catalog::Catalog;
use crate::cost::Fidelity;
use crate::model::Models;
use crate::plan::{Compiled, Demand, Severity, compile};
use crate::sim::{Control, Scenario, SimError, Summary, run_as_client};
use crate::workload::Load;
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// What it takes to predict.
#[derive(Clone)]
pub struct Predictor {
    /// Hardware.
    pub catalog: Arc<Catalog>,
    /// Models.
    pub models: Arc<Models>,
    /// Settings a table does not say.
    pub recipes: Arc<Recipes>,
    /// Whose prices.
    pub fidelity: Arc<dyn Fidelity>,
}

/// Why a condition could not be predicted.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Unpredicted {
    /// It can't be drawn.
    #[error(transparent)]
    Deployment(#[from] DeploymentError),
    /// The plan's rules say it can't run.
    #[error("it can't run: {0}")]
    CannotRun(String),
    /// The simulation failed.
    #[error(transparent)]
    Simulation(#[from] SimError),
    /// Nothing was measured in it.
    #[error("no request got two tokens")]
    Nothing,
}

/// What a simulation says of a condition.
#[derive(Debug, Clone)]
pub struct Prediction {
    /// Mean time to first token, s.
    pub ttft: f64,
    /// Mean time per output token, s.
    pub tpot: f64,
    /// All it says.
    pub summary: Summary,
    /// Version of the (decoding) engine it was taken as.
    pub version: String,
    /// What kind of deployment it is.
    pub kind: Kind,
    /// What it was simulated with that its row does not say.
    pub settings: Vec<Setting>,
}

/// A condition, measured and predicted.
#[derive(Debug, Clone)]
pub struct Predicted {
    /// What was measured.
    pub measured: Measured,
    /// What a simulation says.
    pub prediction: Prediction,
}

impl Predictor {
    /// The design of a condition, and its settings.
    ///
    /// # Errors
    /// See [`design_of`].
    pub fn draw(&self, condition: &Condition) -> Result<Drawn, DeploymentError> {
        design_of(condition, &self.recipes, &self.catalog, &self.models)
    }

    /// Simulates a condition.
    ///
    /// # Errors
    /// It can't be drawn, can't run, or its simulation fails.
    pub fn predict(
        &self,
        condition: &Condition,
        cancel: &AtomicBool,
    ) -> Result<Prediction, Unpredicted> {
        let Drawn { design, settings } = self.draw(condition)?;
        let version = design
            .pools
            .last()
            .map(|pool| pool.engine.version.clone())
            .unwrap_or_default();
        let workload = workload_of(condition, &self.recipes);
        let demand = Demand {
            longest_context: workload.longest_context(),
            longest_prompt: workload.longest_prompt(),
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
        let kind = Kind::of(&plan).ok_or(Unpredicted::Nothing)?;
        let scenario = Scenario {
            plan,
            workload,
            trace: None,
            load: Load::Concurrency(condition.concurrency),
            fidelity: Arc::clone(&self.fidelity),
        };
        let summary = run_as_client(&scenario, Control { cancel })?;
        if summary.tpot_s.count == 0 || summary.ttft_s.count == 0 {
            return Err(Unpredicted::Nothing);
        }
        Ok(Prediction {
            ttft: summary.ttft_s.mean,
            tpot: summary.tpot_s.mean,
            summary,
            version,
            kind,
            settings,
        })
    }

    /// Simulates all conditions on all cores, in their order; the refused with their reasons.
    /// `done` is told of each.
    ///
    /// # Errors
    /// None: what can't be predicted is refused. Cancelled, what is left is not listed.
    #[must_use]
    pub fn predict_all(
        &self,
        rows: &Rows,
        done: &(dyn Fn() + Sync),
        cancel: &AtomicBool,
    ) -> (Vec<Predicted>, Vec<Refused>) {
        let each: Vec<Result<Predicted, Refused>> = rows
            .measured
            .par_iter()
            .filter(|_| !cancel.load(Ordering::Relaxed))
            .map(|measured| {
                let found = self.predict(&measured.condition, cancel);
                done();
                match found {
                    Ok(prediction) => Ok(Predicted {
                        measured: measured.clone(),
                        prediction,
                    }),
                    Err(why) => Err(Refused {
                        id: measured.ids.join(" "),
                        line: measured.line,
                        why: why.to_string(),
                        usable: true,
                    }),
                }
            })
            .collect();
        let (mut predicted, mut refused) = (Vec::new(), rows.refused.clone());
        for one in each {
            match one {
                Ok(own) => predicted.push(own),
                Err(own) => refused.push(own),
            }
        }
        refused.sort_by_key(|own| own.line);
        (predicted, refused)
    }
}
