//! The one place that executes what was queued.

use super::command::{Action, UiCommand};
use super::dialogs::{After, Answer, Dialog};
use super::edit::Edit;
use super::edits::{published_precision, serve};
use super::files::{EXTENSION, FileTask, Purpose, with_extension};
use super::import::SheetAnswer;
use super::results::ResultsTab;
use super::selection::Selection;
use super::toasts::Tone;
use super::{App, starter};
use crate::jobs::FidelityChoice;
use crate::model::{Checkpoint, KeepError, Model, Models, Precision};
use crate::plan::{DesignId, ModelRef};
use crate::project::Project;
use eframe::egui;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl App {
    /// Executes all that is queued.
    pub(super) fn execute(&mut self, ctx: &egui::Context) {
        let mut changed = false;
        for action in self.actions.take() {
            match action {
                Action::Command(command) => self.command(command, ctx),
                Action::Edit(edit) => {
                    self.history.apply(edit);
                }
                Action::Select(selection) => self.view.selection = selection,
                Action::Show(design) => self.show(design),
                Action::Remove(design) => self.remove_design(&design),
                Action::Tool(tool) => self.view.tool = tool,
                Action::Results(tab) => self.view.results.tab = tab,
                Action::OpenPath(path) => self.leave_document(After::Open(path), ctx),
                Action::Example(name) => self.leave_document(After::Example(name), ctx),
                Action::Prices(choice) => self.choose_prices(choice),
                Action::Calibration(task) => self.calibration_task(task),
                Action::File(task) => self.file_task(task),
                Action::Import(checkpoint) => self.files.import_model(checkpoint),
            }
            changed = true;
        }
        if changed {
            self.settle_view();
            // What was queued while drawing is seen in the next frame.
            ctx.request_repaint();
        }
        self.set_title(ctx);
    }

    fn command(&mut self, command: UiCommand, ctx: &egui::Context) {
        match command {
            UiCommand::New => self.leave_document(After::New, ctx),
            UiCommand::Open => self.leave_document(After::AskOpen, ctx),
            UiCommand::Save => self.save(),
            UiCommand::SaveAs => self.ask(Purpose::Save),
            UiCommand::ImportModel => self.ask(Purpose::Model),
            UiCommand::ExportPlot => self.ask(Purpose::Export),
            UiCommand::Quit => ctx.send_viewport_cmd(egui::ViewportCommand::Close),
            UiCommand::Undo => {
                if let Some(label) = self.history.undo() {
                    self.toasts.step(format!("Undone: {label}"));
                }
            }
            UiCommand::Redo => {
                if let Some(label) = self.history.redo() {
                    self.toasts.step(format!("Redone: {label}"));
                }
            }
            UiCommand::SelectAll => self.view.selection = self.select_all(),
            UiCommand::DeleteSelection => {
                if let Some(edit) = super::slots::delete_edit(self.design(), &self.view.selection) {
                    self.history.apply(edit);
                    self.view.selection = Selection::default();
                }
            }
            UiCommand::AddDesign => {
                let design = starter::empty_design(&self.project().designs);
                self.add_design("Add a design", design);
            }
            UiCommand::DuplicateDesign => {
                let design = starter::copy_of(self.design(), &self.project().designs);
                self.add_design("Duplicate a design", design);
            }
            UiCommand::DeleteDesign => self.remove_design(&self.view.design.clone()),
            UiCommand::Run => self.simulate_again(),
            UiCommand::Cancel => {
                if self.runner.is_busy() {
                    self.runner.cancel();
                    self.outcome.cancelled();
                }
            }
            UiCommand::ZoomToFit => self.slots.fit(),
            UiCommand::ThemeLight => ctx.set_theme(egui::ThemePreference::Light),
            UiCommand::ThemeDark => ctx.set_theme(egui::ThemePreference::Dark),
            UiCommand::ThemeSystem => ctx.set_theme(egui::ThemePreference::System),
            UiCommand::ToolSelect
            | UiCommand::ToolHand
            | UiCommand::ToolLink
            | UiCommand::ToolBrush => {
                if let Some(tool) = command.tool() {
                    self.view.tool = tool;
                }
            }
        }
    }

    fn select_all(&self) -> Selection {
        use super::selection::Item;
        let cluster = &self.design().cluster;
        let groups = cluster.groups.iter().map(|g| Item::Group(g.id.clone()));
        let links = cluster.links.iter().map(|l| Item::Link(l.id.clone()));
        Selection {
            items: groups.chain(links).collect(),
        }
    }

    fn show(&mut self, design: DesignId) {
        if self.view.design != design {
            self.view.design = design;
            self.view.selection = Selection::default();
            self.slots.fit();
        }
    }

    fn add_design(&mut self, label: &str, design: crate::plan::Design) {
        let id = design.id.clone();
        // At the end: the others keep their letters, colours and markers.
        self.history.apply(Edit::project(label, move |project| {
            project.designs.push(design);
        }));
        self.show(id);
    }

    fn remove_design(&mut self, id: &DesignId) {
        let designs = &self.project().designs;
        let Some(index) = designs.iter().position(|d| &d.id == id) else {
            return;
        };
        if designs.len() == 1 {
            self.toasts
                .push(Tone::Warning, "A project has at least one design");
            return;
        }
        let name = designs[index].name.clone();
        let neighbour = designs[if index == 0 { 1 } else { index - 1 }].id.clone();
        let gone = id.clone();
        self.history
            .apply(Edit::project(format!("Delete {name}"), move |project| {
                project.designs.retain(|d| d.id != gone);
            }));
        if self.view.design == *id {
            self.show(neighbour);
        }
        let undo = ctx_shortcut(UiCommand::Undo);
        self.toasts.push(
            Tone::Done,
            format!("Deleted {name} · {undo} brings it back"),
        );
    }

    /// Leaves the document, asking first if changes would be lost.
    fn leave_document(&mut self, after: After, ctx: &egui::Context) {
        if self.history.is_dirty() {
            self.dialog = Some(Dialog::Unsaved { after });
        } else {
            self.go_on(after, ctx);
        }
    }

    fn go_on(&mut self, after: After, ctx: &egui::Context) {
        match after {
            After::Close => {
                self.closing = true;
                ctx.send_viewport_cmd(egui::ViewportCommand::Close);
            }
            After::New => self.replace(None, starter::empty_project()),
            After::AskOpen => self.ask(Purpose::Open),
            After::Open(path) => self.files.open(path),
            After::Example(name) => match crate::project::example(&name) {
                Ok(project) => self.replace(None, project),
                Err(error) => self.toasts.push(Tone::Warning, error.to_string()),
            },
        }
    }

    fn replace(&mut self, path: Option<PathBuf>, project: Project) {
        self.runner.cancel();
        self.history.replace(starter::whole(project));
        self.path = path;
        self.view.selection = Selection::default();
        self.slots.fit();
        self.outcome = super::Outcome::default();
        self.planned = None;
        self.trace = super::TraceState::None;
        self.view.results.reset();
        self.settle_view();
    }

    /// What a dialog was answered.
    pub(super) fn answered(&mut self, answer: Answer, ctx: &egui::Context) {
        match answer {
            Answer::None => return,
            Answer::Closed => self.after_save = None,
            Answer::SaveThen(after) => {
                self.dialog = None;
                self.save();
                self.after_save = Some(after);
                return;
            }
            Answer::DiscardThen(after) => {
                self.dialog = None;
                self.go_on(after, ctx);
                return;
            }
        }
        self.dialog = None;
    }

    fn save(&mut self) {
        match &self.path {
            Some(path) => self
                .files
                .save(path.clone(), Arc::clone(self.history.project())),
            None => self.ask(Purpose::Save),
        }
    }

    fn ask(&mut self, purpose: Purpose) {
        if purpose == Purpose::Export && self.export_data().is_none() {
            let words = if self.view.results.tab == ResultsTab::Calibration {
                "There is no plot to export yet: compare with measured tables first"
            } else {
                "There is no curve to export yet: simulate a design first"
            };
            self.toasts.push(Tone::Warning, words);
            return;
        }
        let folder = self.path.as_deref().and_then(Path::parent);
        self.files.ask(
            purpose,
            folder.map(Path::to_owned),
            &self.suggested_name(purpose),
        );
        self.dialog = Some(Dialog::Waiting { purpose });
    }

    fn suggested_name(&self, purpose: Purpose) -> String {
        let name = crate::catalog::slug(&self.project().name);
        match purpose {
            Purpose::Save => format!("{name}.{EXTENSION}"),
            Purpose::Export => match self.view.results.tab {
                ResultsTab::Cost => format!("{name}-cost"),
                ResultsTab::Calibration => self.view.results.calibration.export_name().to_owned(),
                _ => format!("{name}-curve"),
            },
            Purpose::Open
            | Purpose::Model
            | Purpose::Trace
            | Purpose::Profile
            | Purpose::Compare
            | Purpose::Calibrate => String::new(),
        }
    }

    fn file_task(&mut self, task: FileTask) {
        match task {
            FileTask::Ask(purpose) => self.ask(purpose),
            FileTask::Type(purpose) => {
                let folder = self
                    .path
                    .as_deref()
                    .and_then(Path::parent)
                    .map(Path::to_owned)
                    .or_else(|| std::env::current_dir().ok())
                    .unwrap_or_default();
                let text = folder.join(self.suggested_name(purpose));
                self.dialog = Some(Dialog::path(purpose, text.to_string_lossy().into_owned()));
            }
            FileTask::Chosen(purpose, path) => match purpose {
                Purpose::Open => self.files.open(path),
                Purpose::Save => self
                    .files
                    .save(with_extension(&path), Arc::clone(self.history.project())),
                Purpose::Model => self.files.import_model(Checkpoint::of(path)),
                Purpose::Export => {
                    if let Some((figure, table)) = self.export_data() {
                        self.files.export(path, figure, table);
                    }
                }
                Purpose::Profile => self.choose_prices(FidelityChoice::Measured(path)),
                Purpose::Compare => self.compare_with(path),
                Purpose::Calibrate => self.calibrate_from(path),
                Purpose::Trace => {
                    let path = path.to_string_lossy().into_owned();
                    self.history
                        .apply(Edit::project("Choose a trace", move |project| {
                            project.workload.trace = Some(crate::workload::TraceFile {
                                path,
                                options: crate::workload::TraceOptions::default(),
                            });
                            // One that was dropped is to be replayed, whatever came before.
                            project.workload.arrivals = crate::workload::Arrivals::Trace;
                        }));
                }
            },
        }
    }

    pub(super) fn opened(&mut self, path: PathBuf, read: Result<Box<Project>, String>) {
        match read {
            Ok(project) => {
                self.recent.note(&path);
                self.replace(Some(path), *project);
            }
            Err(cause) => self.fail("Can't open the project", path, cause, Purpose::Open),
        }
    }

    pub(super) fn saved(
        &mut self,
        path: PathBuf,
        project: &Arc<Project>,
        written: Result<(), String>,
    ) {
        match written {
            Ok(()) => {
                self.history.mark_saved(project);
                self.recent.note(&path);
                let name = path
                    .file_name()
                    .unwrap_or(path.as_os_str())
                    .to_string_lossy();
                self.toasts.push(Tone::Done, format!("Saved {name}"));
                self.path = Some(path);
                if let Some(after) = self.after_save.take() {
                    let ctx = self.files.ctx().clone();
                    self.go_on(after, &ctx);
                }
            }
            Err(cause) => {
                self.after_save = None;
                self.fail("Can't save the project", path, cause, Purpose::Save);
            }
        }
    }

    /// What the import sheet was answered.
    pub(super) fn import_answered(&mut self, answer: SheetAnswer) {
        match answer {
            SheetAnswer::None => {}
            SheetAnswer::Closed => self.import = None,
            SheetAnswer::Another => {
                self.import = None;
                self.ask(Purpose::Model);
            }
            SheetAnswer::Serve(model, precision) => {
                self.import = None;
                self.serve(model, precision);
            }
            SheetAnswer::Keep(model, replace) => match (&self.presets_home, &mut self.import) {
                // One of ours would be put in the shade by a file of its name.
                (Some(_), Some(sheet))
                    if !replace && self.presets.models.get(&model.id).is_some() =>
                {
                    sheet.exists(model.id.clone());
                }
                (Some(folder), _) => self.files.keep_model(folder.clone(), model, replace),
                (None, Some(sheet)) => {
                    sheet.not_kept(
                        "there is no folder for your presets: set FRONTIER_PRESETS".to_owned(),
                    );
                }
                (None, None) => {}
            },
        }
    }

    /// Serves a model in the design in view: one step, its pools in the checkpoint's formats.
    fn serve(&mut self, model: Box<Model>, precision: Option<Precision>) {
        let name = model.name.clone();
        let before = self
            .design()
            .model
            .find(&self.presets.models)
            .and_then(published_precision);
        let edit = Edit::design(
            format!("Serve {name}"),
            self.view.design.clone(),
            move |design| serve(design, ModelRef::Inline(model), precision, before),
        );
        if self.history.apply(edit) {
            self.toasts.push(Tone::Done, format!("Serving {name}"));
        } else {
            self.toasts
                .push(Tone::Done, format!("{name} is served already"));
        }
    }

    /// A model was kept as a preset, or not.
    pub(super) fn kept(&mut self, kept: Result<(PathBuf, Arc<Models>), KeepError>) {
        match kept {
            Ok((path, models)) => {
                self.presets.models = models;
                // A preset that is served may say something else now.
                self.simulate_again();
                if let Some(sheet) = &mut self.import {
                    sheet.kept(path);
                } else {
                    self.toasts
                        .push(Tone::Done, format!("Kept as {}", path.display()));
                }
            }
            Err(error) => match (&mut self.import, error) {
                (Some(sheet), KeepError::Exists { id, .. }) => sheet.exists(id),
                (Some(sheet), error) => sheet.not_kept(error.to_string()),
                (None, error) => self.toasts.push(Tone::Warning, error.to_string()),
            },
        }
    }

    pub(super) fn exported(&mut self, path: PathBuf, written: Result<Vec<PathBuf>, String>) {
        match written {
            Ok(files) => {
                let name = |path: &Path| {
                    let name = path.file_name().unwrap_or(path.as_os_str());
                    name.to_string_lossy().into_owned()
                };
                let names: Vec<String> = files.iter().map(|path| name(path)).collect();
                self.toasts
                    .push(Tone::Done, format!("Wrote {}", names.join(", ")));
            }
            Err(cause) => self.fail("Can't write the plot", path, cause, Purpose::Export),
        }
    }

    pub(super) fn fail(&mut self, title: &str, path: PathBuf, cause: String, purpose: Purpose) {
        self.dialog = Some(Dialog::Error {
            title: title.to_owned(),
            path,
            cause,
            purpose: Some(purpose),
        });
    }

    fn set_title(&mut self, ctx: &egui::Context) {
        let mark = if self.history.is_dirty() { "• " } else { "" };
        let title = format!("{mark}{} – Frontier Designer", self.document_name());
        if title != self.title {
            ctx.send_viewport_cmd(egui::ViewportCommand::Title(title.clone()));
            self.title = title;
        }
    }
}

/// A command's keys in words, `Ctrl+Z`.
fn ctx_shortcut(command: UiCommand) -> String {
    let mac = cfg!(target_os = "macos");
    command
        .shortcut()
        .map(|keys| keys.format(&egui::ModifierNames::NAMES, mac))
        .unwrap_or_default()
}
