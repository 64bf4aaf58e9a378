//! A finding as a card: how bad, where, why, and a button that mends it.

use super::pill;
use crate::app::style;
use crate::app::theme::{RADIUS, Theme, space};
use crate::plan::{Finding, Severity};
use eframe::egui::{self, Color32, CornerRadius, Frame, Label, Margin, RichText, Stroke, Ui};

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
fn sentence(cause: &str) -> String {
    let mut chars = cause.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

/// What was done with a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardAnswer {
    /// Nothing.
    None,
    /// It was clicked.
    Show,
    /// Its repair was asked for.
    Repair,
}

/// Draws a finding; `place` names where it is, if that is not clear from around it.
pub fn finding_card(
    ui: &mut Ui,
    theme: &Theme,
    finding: &Finding,
    place: Option<&str>,
) -> CardAnswer {
    let color = severity_color(theme, finding.severity);
    let word = severity_word(finding.severity);
    let mut answer = CardAnswer::None;
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
            if let Some(place) = place {
                ui.add(
                    Label::new(
                        RichText::new(place)
                            .family(style::medium())
                            .color(theme.text),
                    )
                    .truncate(),
                );
            }
        });
        ui.add(Label::new(RichText::new(sentence(&finding.cause)).color(theme.text)).wrap());
        if let Some(repair) = &finding.repair
            && ui
                .add(egui::Button::new(
                    RichText::new(&repair.label)
                        .color(theme.accent)
                        .family(style::medium()),
                ))
                .clicked()
        {
            answer = CardAnswer::Repair;
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
    answer
}
