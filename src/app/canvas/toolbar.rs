//! The two bars that float over the canvas: tools at the left, zoom at the right.

use super::{CanvasOutput, CanvasState, CanvasView};
use crate::app::icons;
use crate::app::tool::Tool;
use crate::cluster::LinkKind;
use crate::plan::Role;
use eframe::egui::{
    self, Color32, CornerRadius, FontId, Painter, Pos2, Rect, Role as Access, Sense, Stroke,
    StrokeKind, Vec2, WidgetInfo, pos2, vec2,
};

const BUTTON: f32 = 30.0;
const INSET: f32 = 4.0;
const MARGIN: f32 = 12.0;
const ZOOM_WIDTH: f32 = 54.0;

/// Paints an icon into a square.
type Glyph = fn(&Painter, Rect, Color32);

/// Where the bars are.
pub struct Bars {
    tools: Rect,
    zoom: Rect,
}

impl Bars {
    /// The bars of a canvas.
    pub fn at(canvas: Rect) -> Self {
        let height = BUTTON + 2.0 * INSET;
        let tools = Rect::from_min_size(
            pos2(canvas.left() + MARGIN, canvas.bottom() - MARGIN - height),
            vec2(4.0 * BUTTON + 2.0 * INSET + 6.0, height),
        );
        let width = 3.0 * BUTTON + ZOOM_WIDTH + 2.0 * INSET;
        let zoom = Rect::from_min_size(
            pos2(
                canvas.right() - MARGIN - width,
                canvas.bottom() - MARGIN - height,
            ),
            vec2(width, height),
        );
        Self { tools, zoom }
    }

    /// Whether a point is on a bar.
    pub fn contains(&self, point: Pos2) -> bool {
        self.tools.contains(point) || self.zoom.contains(point)
    }
}

/// Shows both.
pub fn ui(
    ui: &egui::Ui,
    bars: &Bars,
    state: &mut CanvasState,
    view: &CanvasView<'_>,
    output: &mut CanvasOutput,
) {
    let theme = view.theme;
    for bar in [bars.tools, bars.zoom] {
        let shade = Color32::from_black_alpha(if theme.dark { 80 } else { 22 });
        ui.painter().add(
            egui::epaint::RectShape::filled(
                bar.translate(vec2(0.0, 2.0)),
                CornerRadius::same(10),
                shade,
            )
            .with_blur_width(8.0),
        );
        ui.painter().rect(
            bar,
            CornerRadius::same(10),
            theme.card,
            Stroke::new(1.0, theme.line),
            StrokeKind::Inside,
        );
    }
    let link = Tool::Link(state.last_link.unwrap_or(LinkKind::Infiniband));
    let role = state.last_role.unwrap_or(Some(Role::Prefill));
    let brush = Tool::Brush(role);
    let is_brush = matches!(view.tool, Tool::Brush(_));
    let tools: [(&str, &str, Tool, bool, Glyph); 4] = [
        (
            "Select tool",
            "Select and move",
            Tool::Select,
            view.tool == Tool::Select,
            icons::pointer,
        ),
        (
            "Hand tool",
            "Move the view (or hold Space, or the middle button)",
            Tool::Hand,
            view.tool == Tool::Hand,
            icons::hand,
        ),
        (
            "Link tool",
            "Draw a link from one card to another",
            link,
            matches!(view.tool, Tool::Link(_)),
            icons::link,
        ),
        (
            "Brush tool",
            "Paint a role on GPUs",
            brush,
            is_brush,
            icons::brush,
        ),
    ];
    let mut at = bars.tools.min + Vec2::splat(INSET);
    for (label, about, tool, active, icon) in tools {
        let rect = Rect::from_min_size(at, Vec2::splat(BUTTON));
        let tint = (label == "Brush tool" && active).then(|| theme.role(role));
        if button(
            ui,
            rect,
            label,
            about,
            active,
            view,
            |painter, rect, color| icon(painter, rect, tint.unwrap_or(color)),
        ) {
            output.tool = Some(if active { Tool::Select } else { tool });
            state.armed = None;
        }
        at.x += BUTTON + 2.0;
    }
    let mut at = bars.zoom.min + Vec2::splat(INSET);
    let mut place = |width: f32| {
        let rect = Rect::from_min_size(at, vec2(width, BUTTON));
        at.x += width;
        rect
    };
    if button(
        ui,
        place(BUTTON),
        "Zoom out",
        "Zoom out",
        false,
        view,
        |p, r, c| icons::sign(p, r, c, false),
    ) {
        state.zoom_by(1.0 / 1.25);
    }
    let percent = format!("{:.0} %", state.camera.zoom * 100.0);
    let zoomed = button(
        ui,
        place(ZOOM_WIDTH),
        "Zoom to 100 %",
        "Zoom to 100 % (Ctrl+0)",
        false,
        view,
        |p, r, c| {
            p.text(
                r.center(),
                egui::Align2::CENTER_CENTER,
                &percent,
                FontId::proportional(12.0),
                c,
            );
        },
    );
    if zoomed {
        state.zoom_actual();
    }
    if button(
        ui,
        place(BUTTON),
        "Zoom in",
        "Zoom in",
        false,
        view,
        |p, r, c| icons::sign(p, r, c, true),
    ) {
        state.zoom_by(1.25);
    }
    if button(
        ui,
        place(BUTTON),
        "Fit all",
        "Show everything (F)",
        false,
        view,
        icons::fit,
    ) {
        state.fit();
    }
}

fn button(
    ui: &egui::Ui,
    rect: Rect,
    label: &str,
    about: &str,
    active: bool,
    view: &CanvasView<'_>,
    draw: impl FnOnce(&Painter, Rect, Color32),
) -> bool {
    let theme = view.theme;
    let response = ui.interact(
        rect,
        ui.scope_id().with(("canvas-bar", label)),
        Sense::click(),
    );
    response.widget_info(|| WidgetInfo::selected(Access::Button, true, active, label));
    let ground = if active {
        theme.accent_soft
    } else if response.hovered() {
        theme.card_hover
    } else {
        Color32::TRANSPARENT
    };
    ui.painter()
        .rect_filled(rect.shrink(1.0), CornerRadius::same(7), ground);
    if response.has_focus() {
        ui.painter().rect_stroke(
            rect.shrink(1.0),
            CornerRadius::same(7),
            Stroke::new(1.5, theme.accent),
            StrokeKind::Inside,
        );
    }
    let ink = if active { theme.accent } else { theme.text };
    draw(
        ui.painter(),
        Rect::from_center_size(rect.center(), Vec2::splat(15.0)),
        ink,
    );
    response.on_hover_text(about).clicked()
}
