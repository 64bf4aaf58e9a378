//! What the points of a curve stand for, drawn: where the truth likely is.

use super::plot::{Curve, position, strength};
use eframe::egui::{Painter, Pos2, Shape, Stroke, vec2};
use egui_plot::{PlotPoint, PlotTransform};

/// Where the truth is around a curve: shaded, and near saturation a bar in place of the point.
pub(super) fn draw_band(painter: &Painter, to_screen: &PlotTransform, curve: &Curve<'_>) {
    let frame = *to_screen.frame();
    let painter = painter.with_clip_rect(frame.intersect(painter.clip_rect()));
    let color = curve.color.gamma_multiply(strength(curve.freshness));
    // An open end leaves through the top.
    let place = |x: f64, y: f64| match position(to_screen, [x, y]) {
        Some(at) => Pos2::new(at.x, at.y.max(frame.top())),
        None => Pos2::new(
            to_screen.position_from_point(&PlotPoint::new(x, 0.0)).x,
            frame.top(),
        ),
    };
    let ends: Vec<Option<[Pos2; 2]>> = curve
        .points
        .iter()
        .zip(&curve.bands)
        .map(|(point, band)| {
            band.map(|band| [place(point[0], band.low), place(point[0], band.high)])
        })
        .collect();
    for pair in ends.windows(2) {
        if let [Some([a_low, a_high]), Some([b_low, b_high])] = pair {
            painter.add(Shape::convex_polygon(
                vec![*a_low, *b_low, *b_high, *a_high],
                color.gamma_multiply(0.13),
                Stroke::NONE,
            ));
        }
    }
    for (band, ends) in curve.bands.iter().zip(&ends) {
        if let (Some(band), Some([low, high])) = (band, ends)
            && band.near_saturation
        {
            painter.line_segment([*low, *high], Stroke::new(2.2, color.gamma_multiply(0.6)));
            for end in [low, high] {
                let cap = [*end - vec2(4.0, 0.0), *end + vec2(4.0, 0.0)];
                painter.line_segment(cap, Stroke::new(2.2, color.gamma_multiply(0.6)));
            }
        }
    }
}
