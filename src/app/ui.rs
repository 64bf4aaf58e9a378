//! The part of a frame that draws: panels around the canvas, dialogs over them.

use super::command::Action;
use super::inspector::{Inspected, inspector_ui};
use super::results::{Shown, results_ui};
use super::theme::Theme;
use super::{App, TraceState, style};
use eframe::egui::{self, CentralPanel, Frame, Margin, Panel, Ui};
use std::sync::Arc;

impl eframe::App for App {
    fn logic(&mut self, ctx: &egui::Context, _frame: &mut eframe::Frame) {
        self.before_ui(ctx);
    }

    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        let ctx = ui.ctx().clone();
        let theme = style::theme_of(&ctx);
        self.panels_ui(ui, &theme);
        self.dialog_ui(&ctx, &theme);
        self.import_ui(&ctx, &theme);
        super::drop::hover_ui(&ctx, &theme);
        self.toasts.ui(&ctx, &theme, 44.0);
        self.execute(&ctx);
    }

    fn on_exit(&mut self, _gl: Option<&eframe::glow::Context>) {
        self.runner.cancel();
        self.calibrating.cancel();
        self.validating.cancel();
    }

    fn clear_color(&self, visuals: &egui::Visuals) -> [f32; 4] {
        visuals.panel_fill.to_normalized_gamma_f32()
    }
}

impl App {
    fn panels_ui(&mut self, ui: &mut Ui, theme: &Theme) {
        let frame = |fill: egui::Color32, x: i8, y: i8| {
            Frame::new()
                .fill(fill)
                .inner_margin(Margin::symmetric(x, y))
        };
        Panel::top("top")
            .exact_size(44.0)
            .frame(frame(theme.panel, 10, 0))
            .show(ui, |ui| self.topbar_ui(ui, theme));

        // Panels read snapshots, so that they can queue what changes the document.
        let project = Arc::clone(self.history.project());
        let selection = self.view.selection.clone();
        let presets = self.presets.clone();
        let index = self.design_index();
        let design = &project.designs[index];
        let mut results = self.view.results.clone();
        let mut slots = std::mem::take(&mut self.slots);
        let mut actions = std::mem::take(&mut self.actions);
        let inspected = Inspected {
            project: &project,
            design,
            index,
            catalog: &presets.catalog,
            models: &presets.models,
            outcome: self.outcome.design(&design.id),
            selection: &selection,
            theme,
            trace_note: self.trace_note(),
            trace: trace_read(&self.trace),
        };
        let progress = self.runner.progress();
        let shown = Shown::new(
            &inspected,
            &self.outcome,
            (&self.calibrating, &self.validating),
            progress,
        );
        let mut queue: Vec<Action> = Vec::new();
        Panel::bottom("status")
            .exact_size(26.0)
            .frame(frame(theme.panel, 14, 0))
            .show(ui, |ui| self.status_ui(ui, theme, &shown, &mut queue));
        let width = ui.available_width();
        let sizes = &mut self.panels;
        let palette = (width * 0.14).clamp(230.0, 280.0);
        let inspector = (width * 0.2).clamp(316.0, 420.0);
        let palette = sizes.palette.ask(ui, "palette", |size| size.x, palette);
        let inspector = sizes
            .inspector
            .ask(ui, "inspector", |size| size.x, inspector);
        Panel::left("palette")
            .default_size(palette)
            .size_range(160.0..=(width * 0.3).max(161.0))
            .resizable(true)
            .frame(frame(theme.panel, 10, 8))
            .show(ui, |ui| {
                slots.palette(ui, &inspected, self.view.tool, &mut actions);
            });
        Panel::right("inspector")
            .default_size(inspector)
            .size_range(270.0..=(width * 0.45).max(271.0))
            .resizable(true)
            .frame(frame(theme.panel, 14, 10))
            .show(ui, |ui| inspector_ui(ui, &inspected, &mut actions));
        let height = ui.available_height();
        let results_height = (height * 0.42).clamp(300.0, 640.0);
        let results_height = self
            .panels
            .results
            .ask(ui, "results", |size| size.y, results_height);
        Panel::bottom("results")
            .default_size(results_height)
            .size_range(120.0..=(height - 120.0).max(300.0))
            .resizable(true)
            .frame(frame(theme.panel, 14, 6))
            .show(ui, |ui| results_ui(ui, &mut results, &shown, &mut actions));
        let (revision, tool) = (self.history.revision(), self.view.tool);
        let zoom = CentralPanel::default()
            .frame(Frame::new().fill(theme.canvas))
            .show(ui, |ui| {
                slots.canvas(
                    ui,
                    &inspected,
                    &presets.catalog,
                    revision,
                    tool,
                    &mut actions,
                )
            })
            .inner;

        drop(shown);
        for action in queue {
            actions.push(action);
        }
        self.actions = actions;
        self.slots = slots;
        self.view.zoom = zoom;
        self.view.results = results;
    }

    fn dialog_ui(&mut self, ctx: &egui::Context, theme: &Theme) {
        let Some(mut dialog) = self.dialog.take() else {
            return;
        };
        let name = self.document_name();
        let answer = dialog.ui(ctx, theme, &name, &mut self.actions);
        self.dialog = Some(dialog);
        self.answered(answer, ctx);
    }

    fn import_ui(&mut self, ctx: &egui::Context, theme: &Theme) {
        let Some(mut sheet) = self.import.take_if(|_| self.dialog.is_none()) else {
            return;
        };
        let letter = super::starter::letter(self.design_index());
        let design = format!("{letter} {}", self.design().name);
        let answer = sheet.ui(ctx, theme, &design);
        self.import = Some(sheet);
        self.import_answered(answer);
    }

    fn trace_note(&self) -> Option<String> {
        match &self.trace {
            TraceState::Loading(_) => Some("Reading the trace…".to_owned()),
            TraceState::Failed(_, cause) => Some(cause.clone()),
            TraceState::None | TraceState::Loaded(..) => None,
        }
    }

    /// What is in view as a figure and a table, the curves unless it is the cost, the calibration or the
    /// validation page; none: nothing was simulated or compared.
    pub(super) fn export_data(&self) -> Option<(crate::report::Figure, crate::report::Table)> {
        use crate::report::{CurveLook, CurveSeries, LoadKind, curve_figure, load_value};
        if self.view.results.tab == super::results::ResultsTab::Cost {
            return self.view.results.cost.export();
        }
        if self.view.results.tab == super::results::ResultsTab::Calibration {
            return self.view.results.calibration.export(&self.calibrating);
        }
        if self.view.results.tab == super::results::ResultsTab::Validation {
            return self.view.results.validation.export(&self.validating);
        }
        let project = self.history.project();
        let series: Vec<CurveSeries> = project
            .designs
            .iter()
            .enumerate()
            .map(|(index, design)| {
                let points = self
                    .outcome
                    .design(&design.id)
                    .map_or(&[][..], |o| o.shown().0);
                CurveSeries {
                    name: format!("{} {}", super::starter::letter(index), design.name),
                    points: points
                        .iter()
                        .map(|p| (load_value(p.load), Arc::clone(&p.summary)))
                        .collect(),
                }
            })
            .collect();
        if series.iter().all(|s| s.points.is_empty()) {
            return None;
        }
        let look = CurveLook {
            title: project.name.clone(),
            subtitle: String::new(),
            load: LoadKind::of(project.workload.arrivals),
            statistic: self.view.results.statistic(project),
            slo: Some(project.slo),
            remarks: project
                .designs
                .iter()
                .filter_map(|design| self.outcome.design(&design.id)?.validated.as_ref())
                .map(|own| own.words())
                .collect(),
        };
        curve_figure(&series, &look).ok()
    }
}

fn trace_read(state: &TraceState) -> Option<&crate::workload::Trace> {
    match state {
        TraceState::Loaded(_, trace) => Some(trace),
        TraceState::None | TraceState::Loading(_) | TraceState::Failed(..) => None,
    }
}
