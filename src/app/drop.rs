//! Files dragged onto the window: what they would do is said while they hover, and done when they
//! are let go.

use super::App;
use super::command::Action;
use super::files::{FileTask, Purpose};
use super::style;
use super::theme::{RADIUS, Theme};
use super::toasts::Tone;
use crate::model::Checkpoint;
use eframe::egui::{
    self, Align2, Area, CornerRadius, Frame, Id, Margin, Order, RichText, Stroke, Vec2,
};
use std::path::{Path, PathBuf};

fn is_json(path: &Path) -> bool {
    path.extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("json"))
}

fn is_trace(path: &Path) -> bool {
    let ends = ["csv", "jsonl"];
    path.extension()
        .is_some_and(|end| ends.iter().any(|own| end.eq_ignore_ascii_case(own)))
}

impl App {
    /// Takes in what was dropped: a model's files together, a trace to replay, a project alone.
    pub(super) fn take_dropped_files(&mut self, ctx: &egui::Context) {
        let paths = ctx.input(|i| {
            let files = i.raw.dropped_files.iter();
            files.map(|f| f.path().to_owned()).collect::<Vec<_>>()
        });
        let (configs, others): (Vec<PathBuf>, Vec<PathBuf>) =
            paths.into_iter().partition(|path| is_json(path));
        if let Some(checkpoint) = Checkpoint::among(&configs) {
            let used = 1 + usize::from(checkpoint.quant.is_some());
            if configs.len() > used {
                self.toasts.push(
                    Tone::Warning,
                    "One model at a time: only the first of these files is imported",
                );
            }
            self.actions.push(Action::Import(checkpoint));
        }
        // One project is open at a time, and one trace is replayed.
        let (traces, others): (Vec<PathBuf>, Vec<PathBuf>) =
            others.into_iter().partition(|path| is_trace(path));
        if let Some(path) = others.into_iter().next() {
            self.actions.push(Action::OpenPath(path));
        } else if let Some(path) = traces.into_iter().next() {
            self.actions
                .push(Action::File(FileTask::Chosen(Purpose::Trace, path)));
        }
    }
}

/// Says what letting go would do.
pub(super) fn hover_ui(ctx: &egui::Context, theme: &Theme) {
    let words = ctx.input(|i| {
        let hovered = &i.raw.hovered_files;
        let first = hovered.first()?;
        let json = hovered
            .iter()
            .any(|file| file.path.as_deref().is_some_and(is_json));
        Some(match &first.path {
            _ if json => "Drop it to look at the model",
            Some(path) if is_trace(path) => "Drop it to replay the trace",
            Some(_) => "Drop it to open the project",
            None => "Drop a config.json or a project",
        })
    });
    let Some(words) = words else { return };
    let screen = ctx.content_rect();
    ctx.layer_painter(egui::LayerId::new(Order::Foreground, Id::unique("drop")))
        .rect_stroke(
            screen.shrink(3.0),
            CornerRadius::same(RADIUS),
            Stroke::new(3.0, theme.accent),
            egui::StrokeKind::Inside,
        );
    Area::new(Id::unique("drop-words"))
        .order(Order::Tooltip)
        .interactable(false)
        .anchor(Align2::CENTER_CENTER, Vec2::ZERO)
        .show(ctx, |ui| {
            Frame::popup(ui.style())
                .inner_margin(Margin::symmetric(20, 14))
                .show(ui, |ui| {
                    ui.label(
                        RichText::new(words)
                            .font(style::heading(15.0))
                            .color(theme.text),
                    );
                });
        });
}
