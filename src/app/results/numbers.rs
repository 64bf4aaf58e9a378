//! A table of numbers whose cells tell how they were worked out.

use crate::app::style;
use crate::app::theme::Theme;
use eframe::egui::{self, Align, Label, Layout, RichText, ScrollArea, Sense, Ui, WidgetInfo};
use egui_extras::{Column, TableBuilder};

const ROW: f32 = 21.0;

/// How a cell looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    /// The best of its kind.
    Best,
    Muted,
    Warning,
}

/// A cell.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) text: String,
    /// What a screen reader says where the number alone means nothing.
    pub(super) spoken: String,
    /// How it was worked out.
    pub(super) working: String,
    pub(super) tone: Tone,
}

impl Entry {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            spoken: String::new(),
            working: String::new(),
            tone: Tone::Plain,
        }
    }

    pub(super) fn toned(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }
}

/// A column: its heading, its unit or what it is of, its least width.
pub(super) type Head = (String, String, f32);

/// Draws it; the first `names` columns are words and stand at the left.
pub(super) fn numbers_ui(
    ui: &mut Ui,
    theme: &Theme,
    salt: &str,
    heads: &[Head],
    rows: &[Vec<Entry>],
    names: usize,
) {
    ScrollArea::horizontal()
        .id_salt(salt)
        .auto_shrink([false, false])
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing = egui::vec2(6.0, 1.0);
            let least: f32 = heads.iter().map(|(_, _, width)| width + 6.0).sum();
            let spare = (ui.available_width() - 10.0 - least).max(0.0);
            #[expect(clippy::cast_precision_loss, reason = "a dozen columns")]
            let share = (spare / heads.len().max(1) as f32).min(36.0);
            let mut table = TableBuilder::new(ui)
                .id_salt(salt)
                .striped(true)
                // As low as the panel is: a table is no reason to make it higher.
                .min_scrolled_height(0.0)
                .cell_layout(Layout::right_to_left(Align::Center))
                .auto_shrink([false, false]);
            for (_, _, width) in heads {
                table = table.column(Column::exact(width + share).clip(true));
            }
            table
                .header(32.0, |mut header| {
                    for (at, (words, unit, _)) in heads.iter().enumerate() {
                        header.col(|ui| head_ui(ui, theme, words, unit, at < names));
                    }
                })
                .body(|body| {
                    body.rows(ROW, rows.len(), |mut row| {
                        let cells = &rows[row.index()];
                        for (at, cell) in cells.iter().enumerate() {
                            row.col(|ui| cell_ui(ui, theme, cell, at < names));
                        }
                    });
                });
        });
}

fn head_ui(ui: &mut Ui, theme: &Theme, words: &str, unit: &str, left: bool) {
    let layout = Layout::top_down(if left { Align::Min } else { Align::Max });
    ui.with_layout(layout, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        let words = RichText::new(words).small().family(style::medium());
        ui.add(Label::new(words).truncate());
        let unit = RichText::new(unit).small().color(theme.text_muted);
        ui.add(Label::new(unit).truncate());
    });
}

fn cell_ui(ui: &mut Ui, theme: &Theme, cell: &Entry, left: bool) {
    let words = RichText::new(&cell.text);
    let words = match cell.tone {
        Tone::Plain => words.color(theme.text),
        Tone::Best => words.color(theme.accent).family(style::semibold()),
        Tone::Muted => words.color(theme.text_muted),
        Tone::Warning => words.color(theme.warning).family(style::medium()),
    };
    let add = |ui: &mut Ui| ui.add(Label::new(words).truncate().sense(Sense::hover()));
    let response = if left {
        let layout = Layout::left_to_right(Align::Center);
        ui.with_layout(layout, add).inner
    } else {
        add(ui)
    };
    if !cell.spoken.is_empty() {
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Label, true, &cell.spoken));
    }
    if !cell.working.is_empty() {
        response.on_hover_text(&cell.working);
    }
}
