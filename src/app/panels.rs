//! Sizes of the panels around the canvas: a share of the window, until the user drags an edge.

use eframe::egui::containers::panel::PanelState;
use eframe::egui::{Ui, Vec2};

/// Sizes nearer than this are the same.
const SAME: f32 = 1.5;

/// A panel's size, points, and how the user's size is told from ours.
#[derive(Debug, Clone, Copy, Default)]
pub struct PanelSize {
    /// What was asked for.
    asked: Option<f32>,
    /// What it then was, margins and all.
    got: Option<f32>,
}

impl PanelSize {
    /// The size to ask for. A panel keeps the size it once had; where that is ours and the window
    /// has changed, it is forgotten.
    pub fn ask(&mut self, ui: &Ui, panel: &'static str, along: fn(Vec2) -> f32, size: f32) -> f32 {
        let id = ui.scope_id().with(panel);
        let now = PanelState::load(ui.ctx(), id).map(|state| along(state.size()));
        if self.got.is_none() {
            self.got = now;
        }
        let changed = self.asked.is_none_or(|asked| (asked - size).abs() > SAME);
        if changed {
            let ours = match (self.got, now) {
                (Some(got), Some(now)) => (got - now).abs() <= SAME,
                _ => true,
            };
            if ours {
                ui.ctx().data_mut(|data| data.remove::<PanelState>(id));
                self.asked = Some(size);
                self.got = None;
            }
        }
        size
    }
}

/// The panels whose edges can be dragged.
#[derive(Debug, Clone, Copy, Default)]
pub struct PanelSizes {
    /// Left.
    pub palette: PanelSize,
    /// Right.
    pub inspector: PanelSize,
    /// Below the canvas.
    pub results: PanelSize,
}
