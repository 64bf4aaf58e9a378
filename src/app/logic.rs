//! The part of a frame that draws nothing: news of threads, keys, dropped files, what to simulate.

use super::command::{Action, UiCommand};
use super::dialogs::{After, Dialog};
use super::files::{FileNews, FileTask};
use super::import::ImportSheet;
use super::{App, TraceState};
use crate::jobs::CurveJob;
use crate::workload::Arrivals;
use eframe::egui;
use std::sync::Arc;

impl App {
    pub(super) fn before_ui(&mut self, ctx: &egui::Context) {
        for message in self.runner.poll() {
            self.outcome.receive(message);
        }
        for news in self.files.poll() {
            self.take_news(news);
        }
        self.take_calibration_news();
        self.take_validation_news();
        if self.dialog.is_none() {
            if self.import.is_none() {
                for command in UiCommand::pressed(ctx) {
                    self.actions.command(command);
                }
            }
            self.take_dropped_files(ctx);
        }
        self.guard_close(ctx);
        self.execute(ctx);
        // A drag or a key press is over: the next edit is another step.
        if !ctx.input(|i| i.pointer.any_down()) {
            self.history.end_gesture();
        }
        self.load_trace();
        self.simulate();
    }

    /// Starts a job if something that decides results has changed since the last one.
    fn simulate(&mut self) {
        let revision = self.history.revision();
        if self.planned == Some(revision) {
            return;
        }
        let project = Arc::clone(self.history.project());
        let trace = match (&project.workload.arrivals, &self.trace) {
            (Arrivals::Trace, TraceState::Loading(_)) => return,
            (Arrivals::Trace, TraceState::Loaded(_, trace)) => Some(Arc::clone(trace)),
            _ => None,
        };
        self.planned = Some(revision);
        let designs = self.outcome.plan_job(&project, &self.view.design);
        if designs.is_empty() {
            return;
        }
        // Not the document's revision: simulating the same again must not take in the rest of what
        // the first run said.
        self.job += 1;
        self.outcome.started(self.job, &designs);
        self.runner.start(CurveJob {
            revision: self.job,
            designs,
            workload: project.workload.clone(),
            trace,
            study: project.curve.clone(),
            fidelity: Arc::clone(&self.calibrating.fidelity),
            known: Arc::clone(&self.validating.known),
            catalog: Arc::clone(&self.presets.catalog),
            models: Arc::clone(&self.presets.models),
        });
    }

    /// Simulates everything again.
    pub(super) fn simulate_again(&mut self) {
        self.outcome.invalidate();
        self.planned = None;
        if let TraceState::Failed(..) | TraceState::Loaded(..) = self.trace {
            self.trace = TraceState::None;
        }
    }

    /// Keeps the loaded trace in step with the document.
    fn load_trace(&mut self) {
        let workload = &self.history.project().workload;
        let wanted = match (workload.arrivals, &workload.trace) {
            (Arrivals::Trace, Some(file)) => file,
            _ => return,
        };
        let have = match &self.trace {
            TraceState::None => None,
            TraceState::Loading(file)
            | TraceState::Loaded(file, _)
            | TraceState::Failed(file, _) => Some(file),
        };
        if have == Some(wanted) {
            return;
        }
        self.files.read_trace(wanted.clone(), self.path.clone());
        self.trace = TraceState::Loading(wanted.clone());
    }

    /// Keeps the window open while changes are not saved.
    fn guard_close(&mut self, ctx: &egui::Context) {
        let wants = ctx.input(|i| i.viewport().close_requested());
        if !wants || self.closing {
            return;
        }
        if self.history.is_dirty() {
            ctx.send_viewport_cmd(egui::ViewportCommand::CancelClose);
            self.dialog = Some(Dialog::Unsaved {
                after: After::Close,
            });
        }
    }

    fn take_news(&mut self, news: FileNews) {
        match news {
            FileNews::Picked(purpose, picked) => {
                // The user may have turned to typing meanwhile; then the answer is nobody's.
                if self.dialog == Some(Dialog::Waiting { purpose }) {
                    self.dialog = None;
                    if let Some(path) = picked {
                        self.actions
                            .push(Action::File(FileTask::Chosen(purpose, path)));
                    }
                }
            }
            FileNews::NoDialog(purpose) => {
                if self.dialog == Some(Dialog::Waiting { purpose }) {
                    self.dialog = None;
                    self.actions.push(Action::File(FileTask::Type(purpose)));
                }
            }
            FileNews::Opened(path, read) => self.opened(path, read),
            FileNews::Saved(path, project, written) => self.saved(path, &project, written),
            FileNews::Model(path, read) => self.import = Some(ImportSheet::new(path, read)),
            FileNews::Kept(kept) => self.kept(kept),
            FileNews::Exported(path, written) => self.exported(path, written),
            FileNews::Trace(file, read) => {
                if matches!(&self.trace, TraceState::Loading(wanted) if *wanted == file) {
                    self.trace = match read {
                        Ok(trace) => TraceState::Loaded(file, trace),
                        Err(cause) => TraceState::Failed(file, cause),
                    };
                    self.outcome.invalidate();
                    self.planned = None;
                }
            }
        }
    }
}
