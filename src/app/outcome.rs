//! What simulations have said so far, design by design, and which designs must be simulated again.
//!
//! A design is simulated again when something that decides its results has changed; moving a node
//! on the canvas or renaming a tab is not such a thing. Old points stay, dimmed, until new ones
//! have come.

use crate::jobs::{CurveMessage, CurvePoint, DesignSnapshot};
use crate::plan::{Design, DesignId, Finding, MemoryBudget, PoolId, Severity};
use crate::project::Project;
use crate::report::load_value;
use crate::study::Stage;
use crate::validation::Validated;
use crate::workload::Workload;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What decides a design's results.
#[derive(Debug, Clone, PartialEq)]
struct Input {
    design: Design,
    workload: Workload,
    loads: Vec<f64>,
    points: u32,
}

impl Input {
    fn of(design: &Design, project: &Project) -> Self {
        let mut design = design.clone();
        design.name.clear();
        for group in &mut design.cluster.groups {
            group.position = crate::cluster::Position::default();
            for over in group.overrides.values_mut() {
                over.position = None;
            }
        }
        Self {
            design,
            workload: project.workload.clone(),
            loads: project.curve.loads.clone(),
            points: project.curve.points,
        }
    }
}

/// Which points of a design are on show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// Of the design as it is, final.
    Fine,
    /// Of the design as it is, from short runs; better ones are coming.
    Coarse,
    /// Of the design as it was before an edit.
    Stale,
}

/// What is known of one design.
#[derive(Default)]
pub struct DesignOutcome {
    input: Option<Input>,
    /// What was found when it was planned.
    pub findings: Vec<Finding>,
    /// Memory of each pool's fullest GPU.
    pub memory: Vec<(PoolId, MemoryBudget)>,
    /// Whether it could be simulated; none: not planned yet.
    pub runnable: Option<bool>,
    /// What predictions of its kind are known to be off by.
    pub validated: Option<Arc<Validated>>,
    /// Why a run failed.
    pub failure: Option<String>,
    stale: Vec<CurvePoint>,
    coarse: Vec<CurvePoint>,
    fine: Vec<CurvePoint>,
    complete: bool,
}

impl DesignOutcome {
    /// Points to show, and how fresh they are: fine ones once they reach as far as the coarse,
    /// else coarse ones once there are two, else those from before the edit.
    #[must_use]
    pub fn shown(&self) -> (&[CurvePoint], Freshness) {
        let end = |points: &[CurvePoint]| points.last().map_or(0.0, |p| load_value(p.load));
        let fine_reaches =
            self.fine.len() >= self.coarse.len().max(2) && end(&self.fine) >= end(&self.coarse);
        if self.complete || fine_reaches {
            (&self.fine, Freshness::Fine)
        } else if self.coarse.len() >= 2 || (self.stale.is_empty() && !self.coarse.is_empty()) {
            (&self.coarse, Freshness::Coarse)
        } else {
            (&self.stale, Freshness::Stale)
        }
    }

    /// The first error found, or why its run failed.
    #[must_use]
    pub fn trouble(&self) -> Option<&str> {
        let error = self.findings.iter().find(|f| f.severity == Severity::Error);
        error.map(|f| f.cause.as_str()).or(self.failure.as_deref())
    }
}

/// How the last run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunNote {
    /// All points were simulated.
    Done {
        /// How many.
        points: u32,
        /// In how long.
        took: Duration,
    },
    /// It was stopped.
    Cancelled,
}

/// All designs.
#[derive(Default)]
pub struct Outcome {
    by_design: BTreeMap<DesignId, DesignOutcome>,
    /// Number of the job whose messages count.
    job: Option<u64>,
    /// Designs of that job.
    running: Vec<DesignId>,
    points: u32,
    /// How the last run ended; none: never, or still running.
    pub note: Option<RunNote>,
}

impl Outcome {
    /// What is known of a design.
    #[must_use]
    pub fn design(&self, id: &DesignId) -> Option<&DesignOutcome> {
        self.by_design.get(id)
    }

    /// Findings of a design; empty before it was planned.
    #[must_use]
    pub fn findings(&self, id: &DesignId) -> &[Finding] {
        self.by_design.get(id).map_or(&[], |d| &d.findings)
    }

    /// Designs to simulate for the document as it is, the one in view first; none: nothing that
    /// decides results has changed since the last job. Forgets designs that are gone.
    pub fn plan_job(&mut self, project: &Project, shown: &DesignId) -> Vec<DesignSnapshot> {
        self.by_design
            .retain(|id, _| project.designs.iter().any(|d| &d.id == id));
        let mut changed = false;
        for design in &project.designs {
            let input = Input::of(design, project);
            let outcome = self.by_design.entry(design.id.clone()).or_default();
            if outcome.input.as_ref() != Some(&input) {
                outcome.input = Some(input);
                let (points, _) = outcome.shown();
                outcome.stale = points.to_vec();
                outcome.coarse.clear();
                outcome.fine.clear();
                outcome.complete = false;
                changed = true;
            }
        }
        if !changed {
            return Vec::new();
        }
        let mut designs: Vec<DesignSnapshot> = project
            .designs
            .iter()
            .filter(|d| self.by_design.get(&d.id).is_some_and(|o| !o.complete))
            .map(|d| DesignSnapshot {
                id: d.id.clone(),
                design: Arc::new(d.clone()),
            })
            .collect();
        designs.sort_by_key(|d| &d.id != shown);
        designs
    }

    /// Everything must be simulated again.
    pub fn invalidate(&mut self) {
        for outcome in self.by_design.values_mut() {
            outcome.input = None;
        }
    }

    /// A job was started.
    pub fn started(&mut self, job: u64, designs: &[DesignSnapshot]) {
        self.job = Some(job);
        self.running = designs.iter().map(|d| d.id.clone()).collect();
        self.points = 0;
        self.note = None;
        for id in &self.running {
            if let Some(outcome) = self.by_design.get_mut(id) {
                outcome.failure = None;
            }
        }
    }

    /// The job was cancelled: its messages no longer count, what is done stays, and the next job
    /// takes its designs up again.
    pub fn cancelled(&mut self) {
        self.running.clear();
        self.job = None;
        self.note = Some(RunNote::Cancelled);
    }

    /// Takes a message in; those of an older job are dropped.
    pub fn receive(&mut self, message: CurveMessage) {
        match message {
            CurveMessage::Planned {
                revision,
                design,
                findings,
                memory,
                runnable,
                validated,
            } => {
                if let Some(outcome) = self.of_job(revision, &design) {
                    outcome.findings = findings;
                    outcome.memory = memory;
                    outcome.runnable = Some(runnable);
                    outcome.validated = validated;
                    if !runnable {
                        outcome.stale.clear();
                        outcome.complete = true;
                    }
                }
            }
            CurveMessage::Point {
                revision,
                design,
                stage,
                point,
            } => {
                if let Some(outcome) = self.of_job(revision, &design) {
                    let points = match stage {
                        Stage::Coarse => &mut outcome.coarse,
                        Stage::Fine => &mut outcome.fine,
                    };
                    insert(points, point);
                    if stage == Stage::Fine {
                        self.points += 1;
                    }
                }
            }
            CurveMessage::Failed {
                revision,
                design,
                message,
            } => {
                if let Some(outcome) = self.of_job(revision, &design) {
                    outcome.failure = Some(message);
                }
            }
            CurveMessage::Finished {
                revision,
                stage,
                took,
            } => {
                if self.job == Some(revision) && stage == Stage::Fine {
                    for id in std::mem::take(&mut self.running) {
                        if let Some(outcome) = self.by_design.get_mut(&id) {
                            outcome.complete = true;
                            outcome.stale.clear();
                        }
                    }
                    self.note = Some(RunNote::Done {
                        points: self.points,
                        took,
                    });
                }
            }
        }
    }

    fn of_job(&mut self, revision: u64, design: &DesignId) -> Option<&mut DesignOutcome> {
        (self.job == Some(revision))
            .then(|| self.by_design.get_mut(design))
            .flatten()
    }
}

/// Keeps points in order of load; a second one of the same load replaces the first.
fn insert(points: &mut Vec<CurvePoint>, point: CurvePoint) {
    let load = load_value(point.load);
    let at = points.partition_point(|p| load_value(p.load) < load);
    match points.get_mut(at) {
        Some(same) if load_value(same.load).total_cmp(&load).is_eq() => *same = point,
        _ => points.insert(at, point),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::edit::Edit;
    use crate::app::history::History;
    use crate::app::starter;

    fn planned(outcome: &mut Outcome, history: &History) -> usize {
        let project = history.project();
        let designs = outcome.plan_job(project, &project.designs[0].id);
        if !designs.is_empty() {
            outcome.started(history.revision(), &designs);
        }
        designs.len()
    }

    fn finish(outcome: &mut Outcome, revision: u64) {
        outcome.receive(CurveMessage::Finished {
            revision,
            stage: Stage::Fine,
            took: Duration::from_millis(5),
        });
    }

    #[test]
    fn only_what_decides_results_starts_a_job() {
        let mut project = starter::empty_project();
        project
            .designs
            .push(starter::copy_of(&project.designs[0], &project.designs));
        let mut history = History::new(project);
        let mut outcome = Outcome::default();
        assert_eq!(planned(&mut outcome, &history), 2);
        finish(&mut outcome, history.revision());
        assert_eq!(planned(&mut outcome, &history), 0);

        history.apply(Edit::project("Rename", |p| {
            p.designs[0].name = "x".to_owned()
        }));
        assert_eq!(planned(&mut outcome, &history), 0, "a name decides nothing");
        history.apply(Edit::project("Model", |p| {
            p.designs[1].model =
                crate::plan::ModelRef::Preset(crate::catalog::ModelId::from_label("other"));
        }));
        assert_eq!(
            planned(&mut outcome, &history),
            1,
            "only the design that changed"
        );
        history.apply(Edit::project("Seed", |p| p.workload.seed = 99));
        assert_eq!(
            planned(&mut outcome, &history),
            2,
            "the workload decides all"
        );
    }

    #[test]
    fn messages_of_an_older_job_are_dropped() {
        let mut history = History::new(starter::empty_project());
        let mut outcome = Outcome::default();
        planned(&mut outcome, &history);
        let old = history.revision();
        history.apply(Edit::project("Seed", |p| p.workload.seed = 99));
        planned(&mut outcome, &history);
        finish(&mut outcome, old);
        assert!(outcome.note.is_none());
        finish(&mut outcome, history.revision());
        assert!(matches!(outcome.note, Some(RunNote::Done { .. })));
    }
}
