//! Reading what a command works on: project, catalog, models, trace, options.

use super::trace_options::trace_options;
use super::{Failure, InputArgs};
use crate::catalog::{Catalog, user_presets_dir};
use crate::cost::Fidelity;
use crate::jobs::FidelityChoice;
use crate::model::Models;
use crate::plan::{Compiled, Design, Severity, compile};
use crate::project::{Project, load, resolve};
use crate::study::Ask;
use crate::workload::{Arrivals, Load, Trace, WorkloadError, read_trace};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A project with everything it names.
pub(super) struct Input {
    pub(super) project: Project,
    pub(super) catalog: Arc<Catalog>,
    pub(super) models: Models,
    pub(super) ask: Ask,
}

impl Input {
    /// Reads it, options applied.
    pub(super) fn read(args: &InputArgs) -> Result<Self, Failure> {
        let mut project = load(&args.file).map_err(|e| Failure::usage(&e))?;
        if let Some(requests) = args.requests {
            project.workload.requests = requests;
        }
        if let Some(seed) = args.seed {
            project.workload.seed = seed;
        }
        super::engines::set(&mut project, args.design.as_deref(), &args.settings)?;
        let trace = match &args.trace {
            Some(path) => {
                let options = args.columns.as_deref().map(trace_options).transpose()?;
                project.workload.arrivals = Arrivals::Trace;
                // All of it, unless a number is asked for.
                project.workload.requests = args.requests.unwrap_or(0);
                Some(
                    read_trace(path, &options.unwrap_or_default())
                        .map_err(|e| Failure::usage(&e))?,
                )
            }
            None => of_project(&project, &args.file)?,
        };
        if let Some(trace) = &trace {
            complain!("note: the trace has {}", trace.about());
        }
        for warning in trace.iter().flat_map(|trace| &trace.warnings) {
            complain!("note: {warning}");
        }
        Self::of(project, trace.map(Arc::new), &args.fidelity.choice()?)
    }

    /// Of a project in memory.
    pub(super) fn of(
        project: Project,
        trace: Option<Arc<Trace>>,
        fidelity: &FidelityChoice,
    ) -> Result<Self, Failure> {
        let user = user_presets_dir();
        let catalog = Catalog::load(user.as_deref()).map_err(|e| Failure::usage(&e))?;
        let catalog = Arc::new(catalog);
        let models = Models::load(user.as_deref()).map_err(|e| Failure::usage(&e))?;
        let ask = Ask {
            workload: project.workload.clone(),
            trace,
            fidelity: prices(fidelity, &catalog, user.as_deref())?,
        };
        Ok(Self {
            project,
            catalog,
            models,
            ask,
        })
    }

    /// The designs a command works on: the named one, or all.
    pub(super) fn designs(&self, named: Option<&str>) -> Result<Vec<&Design>, Failure> {
        let designs = &self.project.designs;
        let chosen: Vec<&Design> = match named {
            None => designs.iter().collect(),
            Some(name) => designs
                .iter()
                .filter(|design| design.id.as_str() == name || design.name == name)
                .collect(),
        };
        if chosen.is_empty() {
            let known: Vec<&str> = designs.iter().map(|design| design.id.as_str()).collect();
            return Err(Failure::Usage(match named {
                Some(name) => format!(
                    "there is no design “{name}” in the project: it has {}",
                    known.join(", ")
                ),
                None => "the project has no designs".to_owned(),
            }));
        }
        Ok(chosen)
    }

    /// Checks what is asked, under any load that goes with its arrivals.
    pub(super) fn check_workload(&self) -> Result<(), WorkloadError> {
        let load = match self.ask.workload.arrivals {
            Arrivals::Open { .. } => Load::Rate(1.0),
            Arrivals::Closed => Load::Concurrency(1),
            Arrivals::Trace => Load::TraceSpeed(1.0),
        };
        self.ask.workload.check(load, self.ask.trace.as_ref())
    }

    /// Plans a design.
    pub(super) fn compile(&self, design: &Design) -> Compiled {
        compile(design, &self.catalog, &self.models, self.ask.demand())
    }
}

fn of_project(project: &Project, file: &Path) -> Result<Option<Trace>, Failure> {
    match (&project.workload.arrivals, &project.workload.trace) {
        (Arrivals::Trace, Some(trace)) => read_trace(&resolve(file, &trace.path), &trace.options)
            .map(Some)
            .map_err(|e| Failure::usage(&e)),
        _ => Ok(None),
    }
}

/// Why a design can't run, one finding a line.
pub(super) fn cannot_run(design: &Design, compiled: &Compiled) -> Failure {
    let causes: Vec<String> = compiled
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .map(super::print::finding)
        .collect();
    Failure::CannotRun(format!(
        "design “{}” can't run:\n{}",
        super::print::plain(&design.name),
        causes.join("\n")
    ))
}

/// The prices asked for; fitting a profile says how far it is.
pub(super) fn prices(
    choice: &FidelityChoice,
    catalog: &Arc<Catalog>,
    user_dir: Option<&Path>,
) -> Result<Arc<dyn Fidelity>, Failure> {
    let progress = |done: usize, total: usize| complain!("profile: {done} of {total} tables");
    choice
        .load(catalog, user_dir, &progress, &AtomicBool::new(false))
        .map_err(|error| Failure::usage(&error))
}
