//! Plots that stand still: their ranges are ours, a drag or a wheel over one does not move it.

use crate::app::theme::{Theme, text};
use eframe::egui::{AsIdSalt, FontId};
use egui_plot::{AxisHints, Plot};

/// A plot without anything to move it by, with our grid.
pub(super) fn still<'a>(theme: &Theme, id: impl AsIdSalt) -> Plot<'a> {
    Plot::new(id)
        .allow_drag(false)
        .allow_zoom(false)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .allow_axis_zoom_drag(false)
        .allow_double_click_reset(false)
        .show_background(false)
        .show_crosshair(false)
        .label_formatter(|_| None)
        .grid_color(theme.line.gamma_multiply(0.6))
        .grid_spacing(8.0..=9.0)
}

/// An axis in our type.
pub(super) fn axis<'a>(theme: &Theme, hints: AxisHints<'a>) -> AxisHints<'a> {
    hints
        .tick_label_color(theme.text_muted)
        .tick_label_font(FontId::proportional(text::SMALL))
}
