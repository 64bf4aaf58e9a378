//! Small glyphs drawn by the painter: hardware and tools, in one colour, sharp at any size.

use eframe::egui::{
    Color32, CornerRadius, Painter, Pos2, Rect, Shape, Stroke, StrokeKind, Vec2, pos2, vec2,
};

fn stroke(rect: Rect, color: Color32) -> Stroke {
    Stroke::new((rect.width() / 13.0).clamp(1.0, 2.5), color)
}

/// A point of the icon's square, 0 to 1.
fn at(rect: Rect, x: f32, y: f32) -> Pos2 {
    rect.min + vec2(rect.width() * x, rect.height() * y)
}

fn part(rect: Rect, x0: f32, y0: f32, x1: f32, y1: f32) -> Rect {
    Rect::from_min_max(at(rect, x0, y0), at(rect, x1, y1))
}

fn boxed(painter: &Painter, rect: Rect, color: Color32) {
    painter.rect_stroke(
        rect,
        CornerRadius::same(2),
        stroke(rect.expand(3.0), color),
        StrokeKind::Inside,
    );
}

/// A GPU: a chip with legs.
pub fn gpu(painter: &Painter, rect: Rect, color: Color32) {
    boxed(painter, part(rect, 0.2, 0.2, 0.8, 0.8), color);
    painter.rect_filled(part(rect, 0.4, 0.4, 0.6, 0.6), CornerRadius::ZERO, color);
    let line = stroke(rect, color);
    for t in [0.36, 0.64] {
        for (a, b) in [
            ((t, 0.04), (t, 0.2)),
            ((t, 0.8), (t, 0.96)),
            ((0.04, t), (0.2, t)),
            ((0.8, t), (0.96, t)),
        ] {
            painter.line_segment([at(rect, a.0, a.1), at(rect, b.0, b.1)], line);
        }
    }
}

/// A node: a chassis with GPUs in it.
pub fn node(painter: &Painter, rect: Rect, color: Color32) {
    boxed(painter, part(rect, 0.02, 0.12, 0.98, 0.88), color);
    for row in [0.28, 0.54] {
        for column in [0.15, 0.34, 0.53, 0.72] {
            painter.rect_filled(
                part(rect, column, row, column + 0.13, row + 0.18),
                CornerRadius::ZERO,
                color,
            );
        }
    }
}

/// A rack: trays above each other.
pub fn rack(painter: &Painter, rect: Rect, color: Color32) {
    boxed(painter, part(rect, 0.14, 0.02, 0.86, 0.98), color);
    for row in [0.16, 0.36, 0.56, 0.76] {
        painter.rect_filled(
            part(rect, 0.28, row, 0.72, row + 0.1),
            CornerRadius::ZERO,
            color,
        );
    }
}

/// A switch: a flat box with ports.
pub fn switch(painter: &Painter, rect: Rect, color: Color32) {
    boxed(painter, part(rect, 0.0, 0.28, 1.0, 0.74), color);
    for column in [0.16, 0.33, 0.5, 0.67] {
        painter.rect_filled(
            part(rect, column, 0.44, column + 0.09, 0.58),
            CornerRadius::ZERO,
            color,
        );
    }
}

/// A link: two ends and a line.
pub fn link(painter: &Painter, rect: Rect, color: Color32) {
    let line = stroke(rect, color);
    let (a, b) = (at(rect, 0.18, 0.8), at(rect, 0.82, 0.2));
    let radius = rect.width() * 0.14;
    let along = (b - a).normalized() * radius;
    painter.line_segment([a + along, b - along], line);
    painter.circle_stroke(a, radius, line);
    painter.circle_stroke(b, radius, line);
}

/// A brush.
pub fn brush(painter: &Painter, rect: Rect, color: Color32) {
    let line = stroke(rect, color);
    painter.line_segment(
        [at(rect, 0.92, 0.08), at(rect, 0.5, 0.5)],
        Stroke::new(line.width * 1.6, color),
    );
    let tip = vec![
        at(rect, 0.38, 0.44),
        at(rect, 0.58, 0.62),
        at(rect, 0.4, 0.86),
        at(rect, 0.08, 0.92),
        at(rect, 0.18, 0.62),
    ];
    painter.add(Shape::convex_polygon(tip, color, Stroke::NONE));
}

/// An arrow pointer.
pub fn pointer(painter: &Painter, rect: Rect, color: Color32) {
    let tip = at(rect, 0.24, 0.06);
    let left = at(rect, 0.24, 0.8);
    let notch = at(rect, 0.42, 0.62);
    let right = at(rect, 0.76, 0.6);
    painter.add(Shape::convex_polygon(
        vec![tip, notch, left],
        color,
        Stroke::NONE,
    ));
    painter.add(Shape::convex_polygon(
        vec![tip, right, notch],
        color,
        Stroke::NONE,
    ));
    painter.line_segment(
        [at(rect, 0.46, 0.58), at(rect, 0.62, 0.92)],
        Stroke::new(rect.width() * 0.13, color),
    );
}

/// Four arrows: moving the view.
pub fn hand(painter: &Painter, rect: Rect, color: Color32) {
    let line = stroke(rect, color);
    let middle = rect.center();
    let reach = rect.width() * 0.46;
    let head = rect.width() * 0.14;
    for along in [Vec2::X, -Vec2::X, Vec2::Y, -Vec2::Y] {
        let tip = middle + along * reach;
        let side = vec2(-along.y, along.x) * head;
        painter.line_segment([middle, tip], line);
        painter.line_segment([tip, tip - along * head + side], line);
        painter.line_segment([tip, tip - along * head - side], line);
    }
}

/// A frame with corners: everything in view.
pub fn fit(painter: &Painter, rect: Rect, color: Color32) {
    let line = stroke(rect, color);
    for (x, y) in [(0.08, 0.08), (0.92, 0.08), (0.92, 0.92), (0.08, 0.92)] {
        let corner = at(rect, x, y);
        let inward = |t: f32| if t < 0.5 { 0.24 } else { -0.24 };
        painter.line_segment([corner, corner + vec2(rect.width() * inward(x), 0.0)], line);
        painter.line_segment(
            [corner, corner + vec2(0.0, rect.height() * inward(y))],
            line,
        );
    }
    painter.rect_filled(
        part(rect, 0.34, 0.38, 0.66, 0.62),
        CornerRadius::ZERO,
        color,
    );
}

/// A magnifier's sign, plus or minus.
pub fn sign(painter: &Painter, rect: Rect, color: Color32, plus: bool) {
    let line = Stroke::new(stroke(rect, color).width * 1.2, color);
    let y = rect.center().y;
    painter.line_segment(
        [
            pos2(at(rect, 0.18, 0.0).x, y),
            pos2(at(rect, 0.82, 0.0).x, y),
        ],
        line,
    );
    if plus {
        let x = rect.center().x;
        painter.line_segment(
            [
                pos2(x, at(rect, 0.0, 0.18).y),
                pos2(x, at(rect, 0.0, 0.82).y),
            ],
            line,
        );
    }
}

/// A magnifying glass.
pub fn search(painter: &Painter, rect: Rect, color: Color32) {
    let line = stroke(rect, color);
    painter.circle_stroke(at(rect, 0.42, 0.42), rect.width() * 0.3, line);
    painter.line_segment([at(rect, 0.64, 0.64), at(rect, 0.94, 0.94)], line);
}
