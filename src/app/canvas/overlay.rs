//! What floats over the drawing while the pointer works: marquee, rubber line, ghosts, port
//! handles, the reason a link is refused, what the tool in hand does.

use super::gesture::Gesture;
use super::hit::{HANDLE, Hit, handles};
use super::pen::{Detail, Pen};
use super::{CanvasState, CanvasView, paint_card, paint_wire, part_name, part_shape, tip};
use crate::app::tool::{Part, Tool};
use eframe::egui::{
    self, Align2, CornerRadius, DragAndDrop, FontId, Pos2, Rect, Response, Stroke, StrokeKind,
    pos2, vec2,
};

impl CanvasState {
    pub(super) fn overlay(
        &self,
        pen: &Pen<'_>,
        ui: &egui::Ui,
        view: &CanvasView<'_>,
        pointer: Option<Pos2>,
        response: &Response,
    ) {
        let theme = view.theme;
        self.paint_handles(pen, view);
        let latest = ui.input(|i| i.pointer.latest_pos());
        match (&self.gesture, latest) {
            (Some(Gesture::Marquee { from, .. }), Some(pos)) => {
                let area = Rect::from_two_pos(pen.pos(*from), pos);
                pen.painter.rect(
                    area,
                    CornerRadius::ZERO,
                    theme.accent.gamma_multiply(0.10),
                    Stroke::new(1.0, theme.accent),
                    StrokeKind::Inside,
                );
            }
            (Some(gesture @ Gesture::Link { .. }), Some(pos)) => {
                self.paint_link(pen, view, gesture, pos)
            }
            _ => {}
        }
        let dragged = response.dnd_hover_payload::<Part>();
        let part = dragged.as_deref().or(self.armed.as_ref());
        if let (Some(part), Some(pos)) = (part, pointer) {
            let middle = self.camera.to_world(pen.canvas, pos);
            if let Some(shape) = part_shape(part, middle, view.catalog) {
                paint_card::ghost(pen, shape.rect, &part_name(part, view.catalog));
            }
        }
        if let Some((reason, _)) = &self.refusal
            && let Some(pos) = pointer
        {
            self.note(pen, pos, reason, theme.error);
        }
        if self.scene.cards.is_empty() && dragged.is_none() {
            let middle = pen.canvas.center();
            let say = |y: f32, text: &str, size: f32, color| {
                pen.painter.text(
                    middle + vec2(0.0, y),
                    Align2::CENTER_CENTER,
                    text,
                    FontId::proportional(size),
                    color,
                );
            };
            say(-14.0, "Drag a node onto the canvas", 18.0, theme.text);
            say(
                12.0,
                "then paint roles on its GPUs and watch the curve move",
                13.0,
                theme.text_muted,
            );
        }
        self.hint(pen, view);
        // While painting or linking, the drawing itself says what happens.
        let idle = matches!(view.tool, Tool::Select | Tool::Hand)
            && self.gesture.is_none()
            && self.armed.is_none()
            && self.quiet.is_none()
            && !DragAndDrop::has_any_payload(ui.ctx());
        if idle
            && !egui::Popup::is_any_open(ui.ctx())
            && pointer.is_some()
            && !ui.input(|i| i.pointer.any_down())
        {
            tip::show(ui, view, &self.scene, self.hover, self.hover_since);
        }
    }

    fn paint_handles(&self, pen: &Pen<'_>, view: &CanvasView<'_>) {
        let shows = view.tool == Tool::Select && self.gesture.is_none() && self.armed.is_none();
        if !shows || pen.detail != Detail::Near {
            return;
        }
        let Some(card) = self
            .hover
            .card()
            .and_then(|card| self.scene.cards.get(card))
        else {
            return;
        };
        for handle in handles(card) {
            let at = pen.pos(handle);
            pen.painter.circle(
                at,
                HANDLE - 1.5,
                pen.theme.card,
                Stroke::new(1.5, pen.theme.accent),
            );
        }
    }

    fn paint_link(&self, pen: &Pen<'_>, view: &CanvasView<'_>, gesture: &Gesture, pos: Pos2) {
        let point = self.camera.to_world(pen.canvas, pos);
        let Some(start) = gesture.link_start(&self.scene, point) else {
            return;
        };
        let (color, words) = match gesture.proposal(view, &self.scene, self.hover) {
            Some(Ok(link)) => {
                let rate = crate::app::edits::wire_rate(link.rate);
                (
                    pen.theme.good,
                    Some(format!("{} × {rate} {}", link.count, link.kind.name())),
                )
            }
            Some(Err(reason)) => (pen.theme.error, Some(reason)),
            None => (pen.theme.accent, None),
        };
        paint_wire::rubber(pen, pen.pos(start), pos, color);
        if let Some(words) = words {
            self.note(pen, pos, &words, color);
        }
    }

    /// A sentence beside the pointer, kept on the canvas.
    fn note(&self, pen: &Pen<'_>, pointer: Pos2, text: &str, color: egui::Color32) {
        let galley = pen
            .painter
            .layout(text.to_owned(), FontId::proportional(12.0), color, 300.0);
        let size = galley.size() + vec2(20.0, 12.0);
        let mut min = pointer + vec2(16.0, 16.0);
        min.x = min
            .x
            .min(pen.canvas.right() - size.x - 8.0)
            .max(pen.canvas.left() + 8.0);
        if min.y + size.y > pen.canvas.bottom() - 8.0 {
            min.y = pointer.y - size.y - 10.0;
        }
        let rect = Rect::from_min_size(min, size);
        pen.frame(
            rect,
            CornerRadius::same(6),
            pen.theme.card,
            Stroke::new(1.0, color),
        );
        pen.painter
            .galley(rect.min + vec2(10.0, 6.0), galley, color);
    }

    /// What the tool in hand does and how to put it away.
    fn hint(&self, pen: &Pen<'_>, view: &CanvasView<'_>) {
        let (words, color) = match (&self.armed, view.tool) {
            (Some(part), _) => (
                format!(
                    "Click to place {}  ·  Esc to stop",
                    part_name(part, view.catalog)
                ),
                pen.theme.accent,
            ),
            (None, Tool::Brush(role)) => {
                let role_name = role.map_or("idle", crate::plan::Role::name);
                (
                    format!(
                        "Painting {role_name}: sweep over GPUs, or click a card’s title  ·  Esc to stop"
                    ),
                    pen.theme.role(role),
                )
            }
            (None, Tool::Link(kind)) => (
                format!(
                    "{} link: drag from one card to another  ·  Esc to stop",
                    kind.name()
                ),
                pen.theme.accent,
            ),
            (None, Tool::Select | Tool::Hand) => return,
        };
        let font = FontId::proportional(12.0);
        let galley = pen.painter.layout_no_wrap(words, font, pen.theme.text);
        let dot = 14.0;
        let size = galley.size() + vec2(28.0 + dot, 12.0);
        let middle = pos2(
            pen.canvas.center().x,
            pen.canvas.top() + 12.0 + size.y / 2.0,
        );
        let rect = Rect::from_center_size(middle, size);
        pen.frame(
            rect,
            CornerRadius::same(14),
            pen.theme.card,
            Stroke::new(1.0, color),
        );
        let left = rect.left() + 14.0;
        pen.painter
            .circle_filled(pos2(left + 4.0, middle.y), 4.5, color);
        pen.painter.galley(
            pos2(left + dot, middle.y - galley.size().y / 2.0),
            galley,
            pen.theme.text,
        );
    }

    /// Whether a card is under the pointer.
    #[must_use]
    pub fn is_over_card(&self) -> bool {
        !matches!(self.hover, Hit::Empty | Hit::Wire(_))
    }
}
