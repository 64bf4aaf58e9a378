//! Small notices that come, stay a few seconds and go.

use super::style;
use super::theme::{RADIUS, Theme, space};
use eframe::egui::{
    self, Align2, Area, CornerRadius, Frame, Id, Margin, Order, RichText, Stroke, Vec2,
};
use std::time::Duration;

/// Longest list shown; older ones give way.
const MOST: usize = 4;

/// What a notice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Something was done.
    Done,
    /// Something needs attention.
    Warning,
}

struct Toast {
    text: String,
    tone: Tone,
    /// A step through the history: the next one takes its place.
    step: bool,
    /// Seconds of `input.time` at which it goes; none: not shown yet.
    until: Option<f64>,
}

/// The notices.
#[derive(Default)]
pub struct Toasts {
    list: Vec<Toast>,
}

impl Toasts {
    /// Shows a notice.
    pub fn push(&mut self, tone: Tone, text: impl Into<String>) {
        self.add(tone, text.into(), false);
    }

    /// Says what was undone or redone, in place of the step before.
    pub fn step(&mut self, text: impl Into<String>) {
        self.list.retain(|toast| !toast.step);
        self.add(Tone::Done, text.into(), true);
    }

    fn add(&mut self, tone: Tone, text: String, step: bool) {
        self.list.push(Toast {
            text,
            tone,
            step,
            until: None,
        });
        if self.list.len() > MOST {
            self.list.remove(0);
        }
    }

    /// The texts on show.
    #[cfg(test)]
    pub fn texts(&self) -> Vec<&str> {
        self.list.iter().map(|t| t.text.as_str()).collect()
    }

    /// Draws them over the lower middle of the window.
    pub fn ui(&mut self, ctx: &egui::Context, theme: &Theme, bottom: f32) {
        let now = ctx.input(|i| i.time);
        for toast in &mut self.list {
            // Long enough to read: two seconds and twelve characters a second.
            let seconds = 2.5 + toast.text.len() as f64 / 12.0;
            toast.until.get_or_insert(now + seconds);
        }
        self.list
            .retain(|t| t.until.is_none_or(|until| until > now));
        let Some(next) = self.list.iter().filter_map(|t| t.until).reduce(f64::min) else {
            return;
        };
        ctx.request_repaint_after(Duration::from_secs_f64((next - now).max(0.05)));
        Area::new(Id::unique("toasts"))
            .order(Order::Tooltip)
            .interactable(false)
            .anchor(Align2::CENTER_BOTTOM, Vec2::new(0.0, -bottom))
            .show(ctx, |ui| {
                ui.spacing_mut().item_spacing.y = space::XS;
                for toast in &self.list {
                    let edge = match toast.tone {
                        Tone::Done => theme.good,
                        Tone::Warning => theme.warning,
                    };
                    Frame::new()
                        .fill(theme.card)
                        .stroke(Stroke::new(1.0, edge))
                        .corner_radius(CornerRadius::same(RADIUS))
                        .shadow(ui.visuals().popup_shadow)
                        .inner_margin(Margin::symmetric(12, 7))
                        .show(ui, |ui| {
                            let words = RichText::new(&toast.text).family(style::medium());
                            ui.add(egui::Label::new(words).extend());
                        });
                }
            });
    }
}
