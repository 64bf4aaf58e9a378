//! Reading and writing files without ever holding the window up: everything that touches a disk or
//! waits for the system's file dialog runs on a named thread and reports over a channel.

use crate::model::{Checkpoint, Imported, KeepError, Model, Models, keep_preset};
use crate::project::{self, Project};
use crate::report::{Figure, Table, write_figure};
use crate::workload::{Trace, TraceFile, read_trace};
use eframe::egui;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// End of a project's file name.
pub const EXTENSION: &str = "frontier.ron";
/// Ends of the files a plot is written to.
const PLOT_ENDS: [&str; 3] = ["png", "svg", "csv"];
/// A system dialog that "was cancelled" faster than anybody can was never shown: rfd reports a
/// missing portal like a press of Cancel.
const NEVER_SHOWN: Duration = Duration::from_millis(250);

/// What a path is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A project to open.
    Open,
    /// Where to save the project.
    Save,
    /// A model's `config.json`.
    Model,
    /// Where to write a plot (its name without ending).
    Export,
    /// A trace of requests.
    Trace,
    /// A folder with a profile of one's own, as prices of runs.
    Profile,
    /// A folder of measured tables to hold against the calibrations.
    Compare,
    /// A folder of measured tables to fit.
    Calibrate,
    /// A file of measured deployments to predict.
    Rows,
}

impl Purpose {
    /// Heading of the dialog.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Open => "Open a project",
            Self::Save => "Save the project",
            Self::Model => "Import a model's config.json",
            Self::Export => "Export the plot",
            Self::Trace => "Choose a trace",
            Self::Profile => "Choose a profile",
            Self::Compare => "Compare with measured tables",
            Self::Calibrate => "Calibrate from measured tables",
            Self::Rows => "Validate with measured rows",
        }
    }

    /// What to type.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Open => "Type a path, such as ~/clusters/moe.frontier.ron",
            Self::Save => "Type a path; .frontier.ron is added if it has no ending",
            Self::Model => "Type the path of a Hugging Face config.json",
            Self::Export => "Type a path without ending; .png, .svg and .csv are written",
            Self::Trace => "Type the path of a CSV file",
            Self::Rows => "Type the path of a CSV file with a row for each benchmark run",
            Self::Profile | Self::Compare | Self::Calibrate => {
                "Type the path of a folder of kernel tables: <operator>/<gpu>.csv or .csv.gz"
            }
        }
    }

    /// Files that writing to the path replaces.
    #[must_use]
    pub fn written(self, path: &Path) -> Vec<PathBuf> {
        match self {
            Self::Save => vec![with_extension(path)],
            Self::Export => {
                let bare = bare(path).into_os_string();
                let with = |end: &&str| {
                    let mut name = bare.clone();
                    name.push(".");
                    name.push(end);
                    PathBuf::from(name)
                };
                PLOT_ENDS.iter().map(with).collect()
            }
            Self::Open
            | Self::Model
            | Self::Trace
            | Self::Profile
            | Self::Compare
            | Self::Calibrate
            | Self::Rows => Vec::new(),
        }
    }

    /// Word on the button.
    #[must_use]
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Open => "Open",
            Self::Save => "Save",
            Self::Model => "Import",
            Self::Export => "Export",
            Self::Trace | Self::Profile => "Choose",
            Self::Compare => "Compare",
            Self::Calibrate => "Calibrate",
            Self::Rows => "Validate",
        }
    }

    /// Whether the file must exist already.
    #[must_use]
    pub const fn reads(self) -> bool {
        matches!(self, Self::Open | Self::Model | Self::Trace | Self::Rows) || self.is_folder()
    }

    /// Whether a folder is wanted, not a file.
    #[must_use]
    pub const fn is_folder(self) -> bool {
        matches!(self, Self::Profile | Self::Compare | Self::Calibrate)
    }
}

/// Something to do with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileTask {
    /// Ask the system's dialog for a path.
    Ask(Purpose),
    /// Ask for a path in a text field.
    Type(Purpose),
    /// The path is known.
    Chosen(Purpose, PathBuf),
}

/// What a thread reports.
pub enum FileNews {
    /// The system's dialog was closed; none: cancelled.
    Picked(Purpose, Option<PathBuf>),
    /// The system's dialog could not be shown.
    NoDialog(Purpose),
    /// A project was read.
    Opened(PathBuf, Result<Box<Project>, String>),
    /// A project was written.
    Saved(PathBuf, Arc<Project>, Result<(), String>),
    /// A model was read.
    Model(PathBuf, Result<Box<Imported>, String>),
    /// A model was kept as a preset, or is there already; with all models as they are now.
    Kept(Result<(PathBuf, Arc<Models>), KeepError>),
    /// A plot was written, into these files.
    Exported(PathBuf, Result<Vec<PathBuf>, String>),
    /// A trace was read.
    Trace(TraceFile, Result<Arc<Trace>, String>),
}

/// The threads.
pub struct Files {
    sender: Sender<FileNews>,
    receiver: Receiver<FileNews>,
    ctx: egui::Context,
    /// The system's dialogs are used.
    dialogs: bool,
}

impl Files {
    /// Wakes the given window when there is news.
    #[must_use]
    pub fn new(ctx: egui::Context) -> Self {
        let (sender, receiver) = channel();
        Self {
            sender,
            receiver,
            ctx,
            dialogs: true,
        }
    }

    /// Paths are typed, as on a system without file dialogs.
    pub const fn without_dialogs(&mut self) {
        self.dialogs = false;
    }

    /// The window that is woken.
    #[must_use]
    pub const fn ctx(&self) -> &egui::Context {
        &self.ctx
    }

    /// What has happened since last asked.
    pub fn poll(&mut self) -> Vec<FileNews> {
        self.receiver.try_iter().collect()
    }

    /// Shows the system's dialog.
    pub fn ask(&self, purpose: Purpose, start: Option<PathBuf>, name: &str) {
        if !self.dialogs {
            return self.work("file-dialog", move || FileNews::NoDialog(purpose));
        }
        let dialog = dialog(purpose, start, name);
        self.work("file-dialog", move || {
            let asked = Instant::now();
            let picked = if purpose.is_folder() {
                dialog.pick_folder()
            } else if purpose.reads() {
                dialog.pick_file()
            } else {
                dialog.save_file()
            };
            if picked.is_none() && asked.elapsed() < NEVER_SHOWN {
                FileNews::NoDialog(purpose)
            } else {
                FileNews::Picked(purpose, picked)
            }
        });
    }

    /// Reads a project.
    pub fn open(&self, path: PathBuf) {
        self.work("open-project", move || {
            let read = project::load(&path)
                .map(Box::new)
                .map_err(|error| error.to_string());
            FileNews::Opened(path, read)
        });
    }

    /// Writes a project.
    pub fn save(&self, path: PathBuf, project: Arc<Project>) {
        self.work("save-project", move || {
            let written = project::save(&path, &project).map_err(|error| error.to_string());
            FileNews::Saved(path, project, written)
        });
    }

    /// Reads a model.
    pub fn import_model(&self, checkpoint: Checkpoint) {
        self.work("import-model", move || {
            let read = checkpoint
                .import()
                .map(Box::new)
                .map_err(|error| error.to_string());
            FileNews::Model(checkpoint.config, read)
        });
    }

    /// Keeps a model in a folder of presets, and reads the models again.
    pub fn keep_model(&self, folder: PathBuf, model: Box<Model>, replace: bool) {
        self.work("keep-model", move || {
            let kept = keep_preset(&folder, &model, replace).and_then(|path| {
                Models::load(Some(&folder))
                    .map(|models| (path, Arc::new(models)))
                    .map_err(|error| KeepError::Unreadable(error.to_string()))
            });
            FileNews::Kept(kept)
        });
    }

    /// Writes a figure and its numbers; `path` without ending names all files.
    pub fn export(&self, path: PathBuf, figure: Figure, table: Table) {
        self.work("export-plot", move || {
            let written = export(&path, &figure, &table);
            FileNews::Exported(path, written)
        });
    }

    /// Reads a trace; a relative path starts where the document is.
    pub fn read_trace(&self, file: TraceFile, document: Option<PathBuf>) {
        self.work("read-trace", move || {
            let path = match &document {
                Some(document) => project::resolve(document, &file.path),
                None => PathBuf::from(&file.path),
            };
            let read = read_trace(&path, &file.options)
                .map(Arc::new)
                .map_err(|error| error.to_string());
            FileNews::Trace(file, read)
        });
    }

    fn work(&self, name: &str, job: impl FnOnce() -> FileNews + Send + 'static) {
        let (sender, ctx) = (self.sender.clone(), self.ctx.clone());
        let work = move || {
            // The window may be gone by now; then nobody is left to tell.
            if sender.send(job()).is_ok() {
                ctx.request_repaint();
            }
        };
        let started = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(work);
        // Without a thread the job was dropped; the next attempt will say so again.
        drop(started);
    }
}

fn dialog(purpose: Purpose, start: Option<PathBuf>, name: &str) -> rfd::FileDialog {
    let mut dialog = rfd::FileDialog::new().set_title(purpose.title());
    dialog = match purpose {
        Purpose::Open => dialog.add_filter("Projects (*.frontier.ron)", &["ron"]),
        Purpose::Save => dialog
            .add_filter("Projects (*.frontier.ron)", &["ron"])
            .set_file_name(name),
        Purpose::Model => dialog.add_filter("Model configuration", &["json"]),
        Purpose::Export => dialog.set_file_name(name),
        Purpose::Trace => dialog.add_filter("Traces (*.csv, *.jsonl)", &["csv", "jsonl"]),
        Purpose::Rows => dialog.add_filter("Measured rows (*.csv)", &["csv"]),
        Purpose::Profile | Purpose::Compare | Purpose::Calibrate => dialog,
    };
    match start {
        Some(folder) => dialog.set_directory(folder),
        None => dialog,
    }
}

/// The path with the ending every project has.
#[must_use]
pub fn with_extension(path: &Path) -> PathBuf {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
    match name {
        Some(name) if !name.ends_with(".ron") => path.with_file_name(format!("{name}.{EXTENSION}")),
        _ => path.to_owned(),
    }
}

/// A typed path: quotes of a copied one removed, `~` replaced by the home folder.
#[must_use]
pub fn typed_path(text: &str) -> PathBuf {
    let text = text.trim().trim_matches(['"', '\'']);
    let text = text.strip_prefix("file://").unwrap_or(text);
    if let Some(rest) = text.strip_prefix("~/")
        && let Some(home) = std::env::var_os("HOME")
    {
        return PathBuf::from(home).join(rest);
    }
    PathBuf::from(text)
}

/// A plot's path without the ending of one of its files.
fn bare(path: &Path) -> PathBuf {
    match path.extension() {
        Some(end) if PLOT_ENDS.iter().any(|e| end == *e) => path.with_extension(""),
        _ => path.to_owned(),
    }
}

fn export(path: &Path, figure: &Figure, table: &Table) -> Result<Vec<PathBuf>, String> {
    let bare = bare(path);
    let stem = bare
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .ok_or("name a file, such as “curve”")?;
    let folder = match bare.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    write_figure(&folder, &stem, figure, table)
        .map(|written| vec![written.png, written.svg, written.csv])
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_get_the_ending_once() {
        assert_eq!(
            with_extension(Path::new("/a/b")),
            Path::new("/a/b.frontier.ron")
        );
        assert_eq!(
            with_extension(Path::new("/a/b.frontier.ron")),
            Path::new("/a/b.frontier.ron")
        );
        assert_eq!(typed_path(" \"/a b/c\" "), Path::new("/a b/c"));
        assert_eq!(typed_path("file:///a/b"), Path::new("/a/b"));
    }
}
