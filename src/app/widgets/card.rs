//! A finding as a card: how bad, where, why, and a button that mends it.

use super::pill;
use crate::app::style;
use crate::app::theme::{RADIUS, Theme, space};
use crate::plan::{Finding, Repair, Severity};
use eframe::egui::{
    self, Align, Button, Color32, CornerRadius, Frame, Label, Layout, Margin, RichText, Stroke, Ui,
};

/// The colour of a severity.
const fn severity_color(theme: &Theme, severity: Severity) -> Color32 {
    match severity {
        Severity::Error => theme.error,
        Severity::Warning => theme.warning,
        Severity::Hint => theme.text_muted,
    }
}

/// Its word: colour is never the only sign.
const fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "Error",
        Severity::Warning => "Warning",
        Severity::Hint => "Hint",
    }
}

/// The cause as a sentence: errors of other parts start small.
pub fn sentence(cause: &str) -> String {
    let mut chars = cause.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

/// Draws a finding; `place` names where it is, if that is not clear from around it. The repair that
/// was asked for.
pub fn finding_card(
    ui: &mut Ui,
    theme: &Theme,
    finding: &Finding,
    place: Option<&str>,
) -> Option<Repair> {
    let color = severity_color(theme, finding.severity);
    let word = severity_word(finding.severity);
    let mut asked = None;
    let frame = Frame::new()
        .fill(theme.canvas)
        .stroke(Stroke::new(1.0, theme.line))
        .corner_radius(CornerRadius::same(RADIUS))
        .inner_margin(Margin {
            left: 12,
            right: 10,
            top: 8,
            bottom: 8,
        });
    let shown = frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.spacing_mut().item_spacing.y = space::XS;
        ui.horizontal(|ui| {
            pill(ui, word, color);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if let Some(repair) = &finding.repair {
                    let words = RichText::new(&repair.label)
                        .color(theme.accent)
                        .family(style::medium());
                    if ui.add(Button::new(words)).clicked() {
                        asked = Some(repair.clone());
                    }
                }
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    if let Some(place) = place {
                        let place = RichText::new(place)
                            .family(style::medium())
                            .color(theme.text);
                        ui.add(Label::new(place).truncate());
                    }
                });
            });
        });
        let cause = RichText::new(sentence(&finding.cause)).color(theme.text);
        ui.add(Label::new(cause).wrap());
        if !finding.further.is_empty() {
            ui.horizontal_wrapped(|ui| {
                ui.spacing_mut().interact_size.y = 22.0;
                ui.spacing_mut().button_padding = egui::vec2(space::S, 3.0);
                ui.label(RichText::new("or").small().color(theme.text_muted));
                for repair in &finding.further {
                    let words = RichText::new(&repair.label).small().color(theme.accent);
                    if ui.add(Button::new(words)).clicked() {
                        asked = Some(repair.clone());
                    }
                }
            });
        }
    });
    let rect = shown.response.rect;
    let edge = egui::Rect::from_min_max(rect.min, egui::pos2(rect.left() + 4.0, rect.bottom()));
    ui.painter().rect_filled(
        edge,
        CornerRadius {
            nw: RADIUS,
            sw: RADIUS,
            ne: 0,
            se: 0,
        },
        color,
    );
    asked
}
