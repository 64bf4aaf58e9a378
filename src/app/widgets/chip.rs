//! Dots, markers and pills: colour with a second sign beside it.

use crate::app::style;
use crate::app::theme::{Theme, space};
use crate::report::Marker;
use eframe::egui::{
    self, Color32, CornerRadius, Frame, Margin, Pos2, Response, RichText, Sense, Shape, Stroke, Ui,
    vec2,
};

/// A dot of a role's or a design's colour.
pub fn dot(ui: &mut Ui, color: Color32) -> Response {
    let (rect, response) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
    ui.painter().circle_filled(rect.center(), 5.0, color);
    response
}

/// A series' marker, as its curve has it; hollow: saturated.
pub fn marker(
    kind: Marker,
    at: Pos2,
    radius: f32,
    color: Color32,
    hollow: Option<Color32>,
) -> Shape {
    let fill = hollow.unwrap_or(color);
    let stroke = if hollow.is_some() {
        Stroke::new(1.5, color)
    } else {
        Stroke::NONE
    };
    let polygon = |points: &[(f32, f32)]| {
        let points = points
            .iter()
            .map(|(x, y)| at + radius * vec2(*x, *y))
            .collect();
        Shape::convex_polygon(points, fill, stroke)
    };
    match kind {
        Marker::None => Shape::Noop,
        Marker::Circle => Shape::Vec(vec![
            Shape::circle_filled(at, radius, fill),
            Shape::circle_stroke(at, radius, stroke),
        ]),
        Marker::Square => polygon(&[(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)]),
        Marker::Triangle => polygon(&[(0.0, -1.1), (1.05, 0.8), (-1.05, 0.8)]),
        Marker::Diamond | Marker::Star => {
            polygon(&[(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)])
        }
    }
}

/// Words on a tinted ground, of a colour that also has words.
pub fn pill(ui: &mut Ui, words: &str, color: Color32) -> Response {
    Frame::new()
        .fill(color.gamma_multiply(0.14))
        .corner_radius(CornerRadius::same(10))
        .inner_margin(Margin::symmetric(8, 2))
        .show(ui, |ui| {
            ui.label(
                RichText::new(words)
                    .small()
                    .family(style::medium())
                    .color(color),
            );
        })
        .response
}

/// A large number over what it is.
pub fn key_value(ui: &mut Ui, theme: &Theme, value: &str, what: &str) {
    ui.vertical(|ui| {
        ui.spacing_mut().item_spacing = egui::vec2(space::XS, 0.0);
        ui.label(
            RichText::new(value)
                .font(egui::FontId::new(16.0, style::semibold()))
                .color(theme.text),
        );
        ui.label(RichText::new(what).small().color(theme.text_muted));
    });
}
