//! Wires: lines as thick as they have links, their labels, and dashed arrows for KV.

use super::badge::Badge;
use super::pen::{Detail, Pen, blend};
use super::wire::{Wire, WireKind};
use crate::plan::Role;
use eframe::egui::{Color32, FontId, Pos2, Shape, Stroke, Vec2};

/// How a wire looks besides what it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct WireLook {
    pub selected: bool,
    pub hovered: bool,
}

/// Paints the line.
pub fn line(pen: &Pen<'_>, wire: &Wire, look: WireLook, badge: Option<&Badge>) {
    let theme = pen.theme;
    let points: Vec<Pos2> = if pen.detail == Detail::Far {
        [wire.points.first(), wire.points.last()]
            .into_iter()
            .flatten()
            .map(|p| pen.pos(*p))
            .collect()
    } else {
        wire.points.iter().map(|p| pen.pos(*p)).collect()
    };
    match &wire.kind {
        WireKind::Link(_) => {
            #[expect(clippy::cast_precision_loss, reason = "at most 1024")]
            let thickness = 1.2 + (wire.count.max(1) as f32).log2() * 0.45;
            let width = pen.len(thickness).clamp(1.0, 7.0);
            let color = match (look.selected, badge) {
                (true, _) => theme.accent,
                (false, Some(badge)) => badge.color(pen),
                (false, None) if look.hovered => blend(theme.link, theme.text, 0.45),
                (false, None) => theme.link,
            };
            if look.selected {
                let halo = Stroke::new(width + 6.0, theme.accent.gamma_multiply(0.22));
                pen.painter.add(Shape::line(points.clone(), halo));
            }
            let width = if look.hovered || look.selected {
                width + 1.0
            } else {
                width
            };
            pen.painter
                .add(Shape::line(points, Stroke::new(width, color)));
        }
        WireKind::Feed => {
            let color = feed_color(pen);
            let width = pen.len(1.5).clamp(1.0, 3.0);
            let (dash, gap) = (pen.len(6.0).max(3.0), pen.len(4.0).max(2.0));
            pen.painter.extend(Shape::dashed_line(
                &points,
                Stroke::new(width, color),
                dash,
                gap,
            ));
            arrow(pen, &points, color);
        }
    }
}

/// Paints the label; above cards and lines.
pub fn label(pen: &Pen<'_>, wire: &Wire, look: WireLook, badge: Option<&Badge>) {
    if pen.detail != Detail::Near && !look.selected && !look.hovered {
        return;
    }
    let Some(middle) = label_middle(wire, look) else {
        return;
    };
    let theme = pen.theme;
    let font = pen.font(11.0).unwrap_or_else(|| FontId::proportional(10.0));
    let (ink, edge) = match &wire.kind {
        WireKind::Feed => (feed_color(pen), feed_color(pen)),
        WireKind::Link(_) if look.selected => (theme.accent, theme.accent),
        WireKind::Link(_) => (
            theme.text,
            badge.map_or(theme.line, |badge| badge.color(pen)),
        ),
    };
    let pill = pen.pill(pen.pos(middle), &wire.label, font, ink, edge);
    if let Some(badge) = badge {
        badge.paint(pen, pill.right_center() + Vec2::new(10.0, 0.0));
    }
}

/// A label without a free place shows only when asked for.
fn label_middle(wire: &Wire, look: WireLook) -> Option<Pos2> {
    let asked = look.selected || look.hovered;
    wire.label_at.or_else(|| {
        wire.points
            .get(wire.points.len() / 2)
            .copied()
            .filter(|_| asked)
    })
}

fn feed_color(pen: &Pen<'_>) -> Color32 {
    blend(
        pen.theme.role(Some(Role::Prefill)),
        pen.theme.text_muted,
        0.35,
    )
}

fn arrow(pen: &Pen<'_>, points: &[Pos2], color: Color32) {
    let [.., before, tip] = points else { return };
    let along = (*tip - *before).normalized();
    if !along.is_finite() {
        return;
    }
    let size = pen.len(7.0).clamp(4.0, 12.0);
    let side = Vec2::new(-along.y, along.x) * size * 0.5;
    let back = *tip - along * size;
    pen.painter.add(Shape::convex_polygon(
        vec![*tip, back + side, back - side],
        color,
        Stroke::NONE,
    ));
}

/// The line that follows the pointer while a link is drawn.
pub fn rubber(pen: &Pen<'_>, from: Pos2, to: Pos2, color: Color32) {
    let points = [from, to];
    pen.painter.extend(Shape::dashed_line(
        &points,
        Stroke::new(2.0, color),
        7.0,
        4.0,
    ));
    pen.painter.circle_filled(from, 4.0, color);
    pen.painter.circle_filled(to, 3.0, color);
}
