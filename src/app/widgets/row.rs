//! Rows of a panel: a label on the left, a field on the right; headings between them.

use crate::app::style;
use crate::app::theme::{Theme, space, text};
use eframe::egui::{self, Label, Response, RichText, Ui};

/// A heading of a part of a panel.
pub fn section(ui: &mut Ui, theme: &Theme, words: &str) {
    ui.add_space(space::S);
    let (rect, _) =
        ui.allocate_exact_size(egui::vec2(ui.available_width(), 1.0), egui::Sense::hover());
    ui.painter().hline(
        rect.x_range(),
        rect.center().y,
        egui::Stroke::new(1.0, theme.line),
    );
    ui.add_space(2.0);
    ui.label(
        RichText::new(words)
            .font(egui::FontId::new(text::BODY, style::semibold()))
            .color(theme.text),
    );
}

/// A remark in small type.
pub fn hint(ui: &mut Ui, theme: &Theme, words: impl Into<String>) -> Response {
    ui.add(Label::new(RichText::new(words).small().color(theme.text_muted)).wrap())
}

/// Draws rows.
pub struct Rows<'a> {
    theme: &'a Theme,
    label_width: f32,
    marked: bool,
}

/// Letters of a label the wide column has no room for.
const LONG: usize = 24;
/// The same beside a mark.
const LONG_MARKED: usize = 22;
/// Radius of a mark, and its distance from the end of the label.
const MARK: (f32, f32) = (2.5, 7.0);

impl<'a> Rows<'a> {
    /// Rows whose labels are words.
    #[must_use]
    pub const fn new(theme: &'a Theme) -> Self {
        Self {
            theme,
            label_width: 112.0,
            marked: false,
        }
    }

    /// Rows whose labels are an engine's long names.
    #[must_use]
    pub const fn wide(theme: &'a Theme) -> Self {
        Self {
            theme,
            label_width: 168.0,
            marked: false,
        }
    }

    /// The same with a mark beside each label, or without: a value that is not the usual one.
    #[must_use]
    pub const fn marked(&self, marked: bool) -> Self {
        Self {
            theme: self.theme,
            label_width: self.label_width,
            marked,
        }
    }

    /// A label and what `add` draws beside it.
    pub fn field<R>(
        &self,
        ui: &mut Ui,
        words: &str,
        help: &str,
        add: impl FnOnce(&mut Ui) -> (R, Response),
    ) -> R {
        ui.horizontal_top(|ui| {
            let height = ui.spacing().interact_size.y;
            let label = self.label(ui, words, height);
            let label = if help.is_empty() {
                label
            } else {
                label.on_hover_text(help)
            };
            let (result, response) = add(ui);
            response.labelled_by(label.id);
            result
        })
        .inner
    }

    /// A label, and below it what `add` draws over the whole width: for long names of long values.
    pub fn stacked<R>(
        &self,
        ui: &mut Ui,
        words: &str,
        help: &str,
        add: impl FnOnce(&mut Ui) -> (R, Response),
    ) -> R {
        let wide = Self {
            theme: self.theme,
            label_width: ui.available_width(),
            marked: self.marked,
        };
        ui.spacing_mut().item_spacing.y = 2.0;
        let label = wide.label(ui, words, 17.0).on_hover_text(help);
        let (result, response) = add(ui);
        response.labelled_by(label.id);
        result
    }

    /// A label and a fact that can't be edited.
    pub fn fact(&self, ui: &mut Ui, words: &str, value: impl Into<String>) {
        ui.scope(|ui| {
            ui.spacing_mut().interact_size.y = 17.0;
            ui.horizontal_top(|ui| {
                self.label(ui, words, 17.0);
                let value = RichText::new(value).color(self.theme.text);
                ui.add(Label::new(value).wrap());
            });
        });
    }

    fn label(&self, ui: &mut Ui, words: &str, height: f32) -> Response {
        let size = egui::vec2(self.label_width, height);
        let layout = egui::Layout::left_to_right(egui::Align::Center);
        let drawn = ui.allocate_ui_with_layout(size, layout, |ui| {
            ui.set_min_size(size);
            let (color, most) = if self.marked {
                (self.theme.text, LONG_MARKED)
            } else {
                (self.theme.text_muted, LONG)
            };
            // A long name in smaller letters rather than cut.
            let is_long = words.len() > most;
            let mut words = RichText::new(words).color(color);
            if is_long {
                words = words.small();
            }
            ui.scope(|ui| {
                if self.marked {
                    ui.set_max_width(size.x - 2.0 * MARK.1);
                }
                ui.add(Label::new(words).truncate().sense(egui::Sense::hover()))
            })
            .inner
        });
        if self.marked {
            let rect = drawn.response.rect;
            let center = egui::pos2(rect.left() + size.x - MARK.1, rect.center().y);
            ui.painter()
                .circle_filled(center, MARK.0, self.theme.accent);
        }
        drawn.inner
    }
}
