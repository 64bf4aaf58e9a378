//! The window. Draws the document and the results, queues what the user asks for, and executes it
//! in one place.
//!
//! A frame goes: [`logic`] takes in news of threads and keys, executes what was queued; [`ui`] draws
//! and queues; the queue is executed before the frame ends. Widgets never change the document: they
//! queue an [`edit::Edit`], which [`history`] applies, and an edit that decides results starts a
//! simulation in the background.

mod calibrating;
pub mod canvas;
pub mod command;
pub mod dialogs;
mod drop;
pub mod edit;
pub mod edits;
pub mod files;
mod handle;
pub mod history;
pub mod icons;
pub mod import;
mod inspector;
mod logic;
pub mod outcome;
pub mod palette;
mod panels;
pub mod preflight;
mod recent;
pub mod results;
pub mod selection;
mod slots;
mod starter;
mod status;
mod style;
mod tabs;
pub mod theme;
mod toasts;
pub mod tool;
mod topbar;
mod totals;
mod ui;
mod validating;
mod widgets;

pub use preflight::{Backend, NoDisplay, preflight};

use crate::catalog::{Catalog, CatalogError};
use crate::jobs::{CurvePoint, CurveRunner, Waker};
use crate::model::{ModelError, Models};
use crate::plan::{Design, DesignId};
use crate::project::{Example, Project, examples};
use crate::workload::{Trace, TraceFile};
use calibrating::Calibrating;
use command::Actions;
use dialogs::{After, Dialog};
use eframe::egui;
use files::Files;
use history::History;
use import::ImportSheet;
use outcome::{Freshness, Outcome};
use recent::Recent;
use results::ResultsView;
use selection::Selection;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use toasts::Toasts;
use tool::Tool;
use validating::Validating;

/// How often new results may repaint the window.
const WAKE: Duration = Duration::from_millis(33);

/// What the window starts with.
#[derive(Default)]
pub struct AppOptions {
    /// The document, and the file it came from (none: an example or a new one).
    pub project: Option<(Option<PathBuf>, Project)>,
    /// Folder with the user's own presets.
    pub user_presets: Option<PathBuf>,
    /// Folder models are kept in as presets; none: they can't be kept.
    pub presets_home: Option<PathBuf>,
    /// Folder for the recent files; none: nothing is remembered.
    pub state_dir: Option<PathBuf>,
}

/// Why the window could not be opened.
#[derive(Debug, Error)]
pub enum AppError {
    /// There is no display.
    #[error(transparent)]
    NoDisplay(#[from] NoDisplay),
    /// A preset of the hardware is broken.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A preset of a model is broken.
    #[error(transparent)]
    Models(#[from] ModelError),
    /// The window system refused.
    #[error("the window could not be opened: {0}")]
    Window(String),
}

/// The hardware and models designs are made of.
#[derive(Clone)]
pub struct Presets {
    /// Hardware.
    pub catalog: Arc<Catalog>,
    /// Models.
    pub models: Arc<Models>,
}

/// What is in view: nothing of it is saved or undone.
struct View {
    design: DesignId,
    selection: Selection,
    tool: Tool,
    results: ResultsView,
    /// Name of the tab being renamed.
    renaming: Option<(DesignId, String)>,
    zoom: f32,
}

/// The document's trace, as far as it is loaded.
#[derive(Default)]
enum TraceState {
    #[default]
    None,
    Loading(TraceFile),
    Loaded(TraceFile, Arc<Trace>),
    Failed(TraceFile, String),
}

/// The program's window.
pub struct App {
    presets: Presets,
    history: History,
    path: Option<PathBuf>,
    view: View,
    runner: CurveRunner,
    outcome: Outcome,
    /// Whose prices runs take, and work on calibrations.
    calibrating: Calibrating,
    /// Predictions of measured rows.
    validating: Validating,
    /// Number of the last job.
    job: u64,
    /// Revision for which it was last decided what to simulate.
    planned: Option<u64>,
    trace: TraceState,
    files: Files,
    recent: Recent,
    examples: Vec<Example>,
    dialog: Option<Dialog>,
    /// A model that was read, waiting for what to do with it.
    import: Option<ImportSheet>,
    presets_home: Option<PathBuf>,
    /// What to do once the document is saved.
    after_save: Option<After>,
    /// The window may close.
    closing: bool,
    toasts: Toasts,
    actions: Actions,
    slots: slots::Slots,
    panels: panels::PanelSizes,
    title: String,
}

impl App {
    /// With the given document and presets.
    #[must_use]
    pub fn new(ctx: &egui::Context, options: AppOptions, presets: Presets) -> Self {
        style::apply(ctx);
        let (path, project) = match options.project {
            Some((path, project)) => (path, project),
            None => (None, starter::empty_project()),
        };
        let wake = ctx.clone();
        let mut recent = Recent::load(options.state_dir.as_deref());
        if let Some(path) = &path {
            recent.note(path);
        }
        let waker: Waker = Arc::new(move || wake.request_repaint_after(WAKE));
        let (validating, unknown) = Validating::new(&waker, options.user_presets.clone());
        let (calibrating, refusal) = Calibrating::new(
            &waker,
            &presets.catalog,
            options.user_presets,
            options.presets_home.as_deref(),
        );
        let mut app = Self {
            presets,
            calibrating,
            validating,
            view: View {
                design: starter::fresh_design_id(&[]),
                selection: Selection::default(),
                tool: Tool::default(),
                results: ResultsView::default(),
                renaming: None,
                zoom: 1.0,
            },
            history: History::new(starter::whole(project)),
            path,
            runner: CurveRunner::new(waker),
            outcome: Outcome::default(),
            job: 0,
            planned: None,
            trace: TraceState::None,
            files: Files::new(ctx.clone()),
            recent,
            examples: examples(),
            dialog: None,
            import: None,
            presets_home: options.presets_home,
            after_save: None,
            closing: false,
            toasts: Toasts::default(),
            actions: Actions::default(),
            slots: slots::Slots::default(),
            panels: panels::PanelSizes::default(),
            title: String::new(),
        };
        if let Some(why) = refusal {
            app.toasts.push(
                toasts::Tone::Warning,
                format!("Calibrations can't be read, prices are the roofline's: {why}"),
            );
        }
        if let Some(why) = unknown {
            app.toasts.push(
                toasts::Tone::Warning,
                format!("What predictions are off by is not known: {why}"),
            );
        }
        app.settle_view();
        app
    }

    /// A window for tests: embedded presets, nothing remembered, paths typed.
    ///
    /// # Errors
    /// An embedded preset is broken.
    pub fn for_test(ctx: &egui::Context, project: Project) -> Result<Self, AppError> {
        Self::for_test_with(
            ctx,
            AppOptions {
                project: Some((None, project)),
                ..AppOptions::default()
            },
        )
    }

    /// The same with folders of its own.
    ///
    /// # Errors
    /// A preset is broken.
    pub fn for_test_with(ctx: &egui::Context, options: AppOptions) -> Result<Self, AppError> {
        let presets = load_presets(options.user_presets.as_deref())?;
        let mut app = Self::new(ctx, options, presets);
        app.files.without_dialogs();
        Ok(app)
    }

    /// The document.
    #[must_use]
    pub fn project(&self) -> &Project {
        self.history.project()
    }

    /// The design in view.
    #[must_use]
    pub fn design(&self) -> &Design {
        let project = self.history.project();
        &project.designs[self.design_index()]
    }

    /// What is selected.
    #[must_use]
    pub const fn selection(&self) -> &Selection {
        &self.view.selection
    }

    /// The curve of the design in view, once it is computed of the document as it is.
    #[must_use]
    pub fn curve(&self) -> Option<&[CurvePoint]> {
        let current = self.planned == Some(self.history.revision()) && !self.runner.is_busy();
        let (points, freshness) = self.outcome.design(&self.view.design)?.shown();
        (current && freshness == Freshness::Fine && !points.is_empty()).then_some(points)
    }

    /// The cost page's table, once the page was opened.
    #[must_use]
    pub fn cost_table(&self) -> Option<&crate::study::theory::CostTable> {
        self.view.results.cost.table()
    }

    /// The name of the fidelity runs are priced by.
    #[must_use]
    pub const fn fidelity(&self) -> &'static str {
        self.calibrating.choice.name()
    }

    /// Its place among the tabs.
    fn design_index(&self) -> usize {
        let designs = &self.history.project().designs;
        designs
            .iter()
            .position(|d| d.id == self.view.design)
            .unwrap_or(0)
    }

    /// After a change of the document: the design in view is one that exists.
    fn settle_view(&mut self) {
        let designs = &self.history.project().designs;
        if !designs.iter().any(|d| d.id == self.view.design)
            && let Some(first) = designs.first()
        {
            self.view.design = first.id.clone();
            self.view.selection = Selection::default();
            self.slots.fit();
        }
    }

    /// The document's name for people.
    fn document_name(&self) -> String {
        let file = self.path.as_ref().and_then(|path| path.file_name());
        file.map_or_else(
            || self.project().name.clone(),
            |name| name.to_string_lossy().into_owned(),
        )
    }
}

fn load_presets(user_dir: Option<&std::path::Path>) -> Result<Presets, AppError> {
    Ok(Presets {
        catalog: Arc::new(Catalog::load(user_dir)?),
        models: Arc::new(Models::load(user_dir)?),
    })
}

/// Opens the window and returns when it is closed.
///
/// # Errors
/// There is no display, a preset is broken, or the window system refuses.
pub fn run(options: AppOptions) -> Result<(), AppError> {
    let backend = preflight()?;
    let presets = load_presets(options.user_presets.as_deref())?;
    let native = eframe::NativeOptions {
        renderer: eframe::Renderer::Glow,
        viewport: egui::ViewportBuilder::default()
            .with_title("Frontier Designer")
            .with_app_id("frontier-designer")
            .with_inner_size([1280.0, 800.0])
            .with_min_inner_size([720.0, 480.0])
            .with_drag_and_drop(true),
        event_loop_builder: event_loop_hook(backend),
        ..eframe::NativeOptions::default()
    };
    eframe::run_native(
        "frontier-designer",
        native,
        Box::new(move |cc| Ok(Box::new(App::new(&cc.egui_ctx, options, presets)))),
    )
    .map_err(|error| AppError::Window(error.to_string()))
}

/// Chooses X11 even where a stale `WAYLAND_DISPLAY` would lead winit astray.
#[cfg(target_os = "linux")]
fn event_loop_hook(backend: Backend) -> Option<eframe::EventLoopBuilderHook> {
    use winit::platform::x11::EventLoopBuilderExtX11 as _;
    (backend == Backend::X11).then(|| -> eframe::EventLoopBuilderHook {
        Box::new(|builder| {
            builder.with_x11();
        })
    })
}

#[cfg(not(target_os = "linux"))]
fn event_loop_hook(_backend: Backend) -> Option<eframe::EventLoopBuilderHook> {
    None
}

#[cfg(test)]
mod tests;
