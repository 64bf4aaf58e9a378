//! A table whose rows can be chosen and whose columns can be sorted by, with small bars in cells.
//! Only rows in view are worked out.

use crate::app::results::numbers::{Head, Tone};
use crate::app::style;
use crate::app::theme::Theme;
use eframe::egui::{
    self, Align, Color32, Label, Layout, RichText, ScrollArea, Sense, Ui, WidgetInfo, pos2,
};
use egui_extras::{Column, TableBuilder};

const ROW: f32 = 21.0;

/// A cell.
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) tone: Tone,
    /// Length of a bar behind the words, 0 to 1.
    pub(super) bar: Option<f32>,
    pub(super) hover: String,
}

impl Cell {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tone: Tone::Plain,
            bar: None,
            hover: String::new(),
        }
    }

    /// Names are cut where there is no room: hovering says all.
    pub(super) fn name(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            hover: text.clone(),
            ..Self::plain(text)
        }
    }

    pub(super) fn toned(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }

    pub(super) fn with_bar(mut self, share: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "a share of a cell")]
        let share = share.clamp(0.0, 1.0) as f32;
        self.bar = Some(share);
        self
    }
}

/// What a table is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sort {
    pub(super) column: usize,
    pub(super) descending: bool,
}

/// What was clicked.
pub(super) enum Clicked {
    Row(usize),
    Twice(usize),
}

/// A table to draw.
pub(super) struct Sheet<'a> {
    pub(super) salt: &'a str,
    pub(super) heads: &'a [Head],
    /// The first columns are words and stand at the left.
    pub(super) names: usize,
    pub(super) rows: usize,
    /// Whether rows can be chosen.
    pub(super) choosable: bool,
}

impl Sheet<'_> {
    /// Draws it: cells of a row by its place, and whether it is the chosen one.
    pub(super) fn ui(
        &self,
        ui: &mut Ui,
        theme: &Theme,
        sort: Option<&mut Sort>,
        row: impl Fn(usize) -> (Vec<Cell>, bool),
    ) -> Option<Clicked> {
        let mut clicked = None;
        let mut sorted = sort.as_deref().copied();
        ScrollArea::horizontal()
            .id_salt(self.salt)
            .auto_shrink([false, false])
            .show(ui, |ui| {
                ui.spacing_mut().item_spacing = egui::vec2(6.0, 1.0);
                let least: f32 = self.heads.iter().map(|(_, _, width)| width + 6.0).sum();
                let spare = (ui.available_width() - 10.0 - least).max(0.0);
                #[expect(clippy::cast_precision_loss, reason = "a dozen columns")]
                let share = (spare / self.heads.len().max(1) as f32).min(36.0);
                let mut table = TableBuilder::new(ui)
                    .id_salt(self.salt)
                    .striped(true)
                    .min_scrolled_height(0.0)
                    .cell_layout(Layout::right_to_left(Align::Center))
                    .auto_shrink([false, false]);
                if self.choosable {
                    table = table.sense(Sense::click());
                }
                for (_, _, width) in self.heads {
                    table = table.column(Column::exact(width + share).clip(true));
                }
                table
                    .header(32.0, |mut header| {
                        for (at, head) in self.heads.iter().enumerate() {
                            header.col(|ui| head_ui(ui, theme, head, at, self.names, &mut sorted));
                        }
                    })
                    .body(|body| {
                        body.rows(ROW, self.rows, |mut drawn| {
                            let index = drawn.index();
                            let (cells, chosen) = row(index);
                            drawn.set_selected(chosen);
                            for (at, cell) in cells.iter().enumerate() {
                                drawn.col(|ui| cell_ui(ui, theme, cell, at < self.names));
                            }
                            if self.choosable {
                                let response = drawn.response();
                                if response.double_clicked() {
                                    clicked = Some(Clicked::Twice(index));
                                } else if response.clicked() {
                                    clicked = Some(Clicked::Row(index));
                                }
                                response.on_hover_cursor(egui::CursorIcon::PointingHand);
                            }
                        });
                    });
            });
        if let (Some(sort), Some(sorted)) = (sort, sorted) {
            *sort = sorted;
        }
        clicked
    }
}

/// A heading; a click sorts by it, another turns the order around.
fn head_ui(
    ui: &mut Ui,
    theme: &Theme,
    (words, unit, _): &Head,
    at: usize,
    names: usize,
    sorted: &mut Option<Sort>,
) {
    let left = at < names;
    let layout = Layout::top_down(if left { Align::Min } else { Align::Max });
    let on = sorted.filter(|own| own.column == at);
    let response = ui
        .with_layout(layout, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            let mark = match on {
                Some(own) if own.descending => " ▼",
                Some(_) => " ▲",
                None => "",
            };
            let mut text = RichText::new(format!("{words}{mark}"))
                .small()
                .family(style::medium());
            if on.is_some() {
                text = text.color(theme.accent);
            }
            ui.add(Label::new(text).truncate().sense(Sense::hover()));
            let unit = RichText::new(unit).small().color(theme.text_muted);
            ui.add(Label::new(unit).truncate().sense(Sense::hover()));
        })
        .response;
    let Some(sort) = sorted else { return };
    let response = ui.interact(response.rect, ui.scope_id().with("sort"), Sense::click());
    let spoken = format!("Sort by {words} {unit}");
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, spoken.trim_end()));
    if response.clicked() {
        *sort = match on {
            Some(own) => Sort {
                descending: !own.descending,
                ..own
            },
            None => Sort {
                column: at,
                descending: !left,
            },
        };
    }
    response.on_hover_cursor(egui::CursorIcon::PointingHand);
}

fn cell_ui(ui: &mut Ui, theme: &Theme, cell: &Cell, left: bool) {
    if let Some(share) = cell.bar {
        let room = ui.max_rect();
        let mut bar = room.shrink2(egui::vec2(0.0, 4.0));
        bar.min = pos2(room.right() - room.width() * share, bar.min.y);
        ui.painter()
            .rect_filled(bar, 2.0, bar_color(theme, cell.tone));
    }
    let words = RichText::new(&cell.text);
    let words = match cell.tone {
        Tone::Plain => words.color(theme.text),
        Tone::Best => words.color(theme.accent).family(style::semibold()),
        Tone::Muted => words.color(theme.text_muted),
        Tone::Warning => words.color(theme.warning).family(style::medium()),
    };
    let add = |ui: &mut Ui| ui.add(Label::new(words).truncate().sense(Sense::hover()));
    let response = if left {
        ui.with_layout(Layout::left_to_right(Align::Center), add)
            .inner
    } else {
        add(ui)
    };
    if !cell.hover.is_empty() {
        response.on_hover_text(&cell.hover);
    }
}

fn bar_color(theme: &Theme, tone: Tone) -> Color32 {
    match tone {
        Tone::Warning => theme.warning.gamma_multiply(0.22),
        _ => theme.accent.gamma_multiply(0.18),
    }
}
