//! Pointer, wheel, keys, drag and drop, context menu: what each means with each tool.

use super::gesture::{self, Gesture};
use super::hit::{Hit, hit};
use super::pen::{Detail, SNAP};
use super::{CanvasOutput, CanvasState, CanvasView};
use crate::app::selection::Selection;
use crate::app::tool::Tool;
use eframe::egui::{
    self, CursorIcon, Event, EventFilter, Key, Modifiers, MouseWheelSource, MouseWheelUnit,
    PointerButton, Pos2, Rect, Response, Vec2,
};

/// Zoom of one notch of a wheel.
const NOTCH: f32 = 1.15;
/// Points of a line of wheel movement.
const LINE: f32 = 48.0;

/// Where the pointer was last, also if it left the window in this frame.
fn last_pointer(input: &egui::InputState) -> Option<Pos2> {
    input.pointer.latest_pos().or_else(|| {
        input.events.iter().rev().find_map(|event| match event {
            Event::PointerMoved(pos) | Event::PointerButton { pos, .. } => Some(*pos),
            _ => None,
        })
    })
}

impl CanvasState {
    /// Wheel, trackpad, pinch, middle button, Space, Hand.
    pub(super) fn navigate(
        &mut self,
        ui: &egui::Ui,
        response: &Response,
        canvas: Rect,
        pointer: Option<Pos2>,
        view: &CanvasView<'_>,
    ) {
        if let Some(pointer) = pointer {
            let (pan, notches, pinch) = ui.input(|i| {
                let (mut pan, mut notches) = (Vec2::ZERO, 0.0);
                for event in &i.events {
                    let Event::MouseWheel {
                        unit,
                        delta,
                        source,
                        modifiers,
                        ..
                    } = event
                    else {
                        continue;
                    };
                    if modifiers.ctrl || modifiers.command {
                        continue;
                    }
                    // A wheel zooms, fingers on a trackpad pan. Where the platform doesn't say
                    // which it was, fingers move by points and wheels by lines.
                    let by_lines = *unit != MouseWheelUnit::Point;
                    let wheel = match source {
                        MouseWheelSource::Wheel => true,
                        MouseWheelSource::Unknown => by_lines,
                        _ => false,
                    };
                    let points = if by_lines { *delta * LINE } else { *delta };
                    match (wheel, modifiers.shift) {
                        (false, _) => pan += points,
                        (true, true) => pan.x += points.x + points.y,
                        (true, false) => notches += points.y / LINE,
                    }
                }
                (pan, notches, i.zoom_delta())
            });
            self.camera.pan(pan);
            self.touched |= pan != Vec2::ZERO;
            let factor = NOTCH.powf(notches.clamp(-20.0, 20.0)) * pinch;
            if (factor - 1.0).abs() > 1e-4 {
                self.touched = true;
                self.camera.zoom_at(canvas, pointer, factor);
            }
        }
        let space = ui.input(|i| i.key_down(Key::Space)) && !ui.ctx().text_edit_focused();
        let hand = view.tool == Tool::Hand || space;
        let panning = response.dragged_by(PointerButton::Middle)
            || response.dragged_by(PointerButton::Primary)
                && (hand || matches!(self.gesture, Some(Gesture::Pan)));
        if panning {
            self.touched = true;
            self.camera.pan(response.drag_delta());
        }
        if hand && response.drag_started_by(PointerButton::Primary) {
            self.gesture = Some(Gesture::Pan);
        }
        if pointer.is_some() && (hand || panning) {
            ui.set_cursor_icon(if panning {
                CursorIcon::Grabbing
            } else {
                CursorIcon::Grab
            });
        }
    }

    pub(super) fn keys(
        &mut self,
        ui: &egui::Ui,
        response: &Response,
        view: &CanvasView<'_>,
        output: &mut CanvasOutput,
    ) {
        let ctx = ui.ctx();
        // Panels are drawn before the canvas: a menu or a field that Escape has just closed no longer
        // looks open here, but the key was for it.
        let theirs = egui::Popup::is_any_open(ctx) || ctx.text_edit_focused();
        let escape_is_ours = !std::mem::replace(&mut self.keys_elsewhere, theirs);
        if response.has_focus() {
            // Arrows move things here, not the focus.
            let filter = EventFilter {
                horizontal_arrows: true,
                vertical_arrows: true,
                escape: true,
                ..EventFilter::default()
            };
            ctx.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
        } else if ctx.memory(|memory| memory.focused().is_some()) {
            return;
        }
        if egui::Popup::is_any_open(ctx) {
            return;
        }
        let pressed =
            |modifiers: Modifiers, key: Key| ui.input_mut(|i| i.consume_key(modifiers, key));
        if escape_is_ours && ui.input(|i| i.key_pressed(Key::Escape)) {
            self.escape(view, output);
        }
        let delete =
            pressed(Modifiers::NONE, Key::Delete) || pressed(Modifiers::NONE, Key::Backspace);
        if let (true, Some(edit)) = (delete, gesture::delete(view)) {
            output.edits.push(edit);
            output.selection = Some(Selection::default());
        }
        if pressed(Modifiers::SHIFT, Key::F) {
            self.zoom_to(view.selection);
        } else if pressed(Modifiers::NONE, Key::F) {
            self.fit();
        }
        if pressed(Modifiers::COMMAND, Key::Num0) {
            self.zoom_actual();
        }
        let arrows = [
            (Key::ArrowLeft, -Vec2::X),
            (Key::ArrowRight, Vec2::X),
            (Key::ArrowUp, -Vec2::Y),
            (Key::ArrowDown, Vec2::Y),
        ];
        for (key, way) in arrows {
            let steps = if pressed(Modifiers::SHIFT, key) {
                10.0
            } else if pressed(Modifiers::NONE, key) {
                1.0
            } else {
                continue;
            };
            output
                .edits
                .extend(gesture::nudge(view, way * SNAP * steps));
        }
    }

    /// Ends what is under way; else goes back to Select; else selects nothing.
    fn escape(&mut self, view: &CanvasView<'_>, output: &mut CanvasOutput) {
        self.refusal = None;
        if let Some(gesture) = self.gesture.take() {
            gesture.cancel(view, output);
        } else if self.armed.take().is_some() {
        } else if view.tool != Tool::Select {
            output.tool = Some(Tool::Select);
        } else if !view.selection.is_empty() {
            output.selection = Some(Selection::default());
        }
    }

    /// Hovering, presses, drags, clicks.
    pub(super) fn point(
        &mut self,
        ui: &egui::Ui,
        response: &Response,
        canvas: Rect,
        pointer: Option<Pos2>,
        view: &CanvasView<'_>,
        output: &mut CanvasOutput,
    ) {
        self.look_under(ui, canvas, pointer, view);
        let now = ui.input(|i| i.time);
        if self.refusal.as_ref().is_some_and(|(_, until)| *until < now) {
            self.refusal = None;
        }
        match view.tool {
            Tool::Link(kind) => self.last_link = Some(kind),
            Tool::Brush(role) => self.last_role = Some(role),
            Tool::Select | Tool::Hand => {}
        }
        let (pressed, down, origin, latest, modifiers) = ui.input(|i| {
            (
                i.pointer.button_pressed(PointerButton::Primary),
                i.pointer.button_down(PointerButton::Primary),
                i.pointer.press_origin(),
                last_pointer(i),
                i.modifiers,
            )
        });
        let pressed = pressed && pointer.is_some() && response.contains_pointer();
        if pressed {
            response.request_focus();
        }
        let space = ui.input(|i| i.key_down(Key::Space)) || view.tool == Tool::Hand;
        if !space && self.armed.is_none() {
            if let (true, Some(pos)) = (pressed, pointer) {
                self.press(canvas, pos, view, output);
            }
            if let (true, None, Some(pos)) = (
                response.drag_started_by(PointerButton::Primary),
                &self.gesture,
                origin,
            ) {
                self.drag(canvas, pos, modifiers, view, output);
            }
        }
        if let (Some(gesture), Some(pos)) = (&mut self.gesture, latest) {
            let point = self.camera.to_world(canvas, pos);
            gesture.follow(
                &self.scene,
                view,
                self.camera.zoom,
                point,
                modifiers.alt,
                output,
            );
        }
        if pressed && !down {
            // Pressed and released between two frames: the release is the next one's.
            ui.ctx().request_repaint();
        }
        let released = !down && !pressed;
        if released && self.gesture.is_some() && !self.link_waits() {
            self.release(ui, canvas, latest, view, output);
        }
        if !space && response.clicked_by(PointerButton::Primary) && pointer.is_some() {
            self.click(ui, canvas, pointer, modifiers, response, view, output);
        }
        if response.secondary_clicked() {
            self.menu = self.hover;
            let items = gesture::items_of(&self.scene, self.hover);
            if !items.is_empty() && !items.iter().all(|item| view.selection.has(item)) {
                output.selection = Some(gesture::click(
                    &self.scene,
                    view.selection,
                    self.hover,
                    Modifiers::NONE,
                ));
            }
        }
    }

    fn look_under(
        &mut self,
        ui: &egui::Ui,
        canvas: Rect,
        pointer: Option<Pos2>,
        view: &CanvasView<'_>,
    ) {
        let linking = matches!(self.gesture, Some(Gesture::Link { .. }));
        let shows_handles = view.tool == Tool::Select
            && self.gesture.is_none()
            && self.armed.is_none()
            && Detail::at(self.camera.zoom) == Detail::Near;
        let handles_of = self.hover.card().filter(|_| shows_handles);
        let under = pointer.map_or(Hit::Empty, |pos| {
            let point = self.camera.to_world(canvas, pos);
            hit(&self.scene, self.camera.zoom, point, handles_of)
        });
        if under != self.hover {
            self.hover = under;
            self.hover_since = ui.input(|i| i.time);
        }
        if pointer.is_none()
            || self.gesture.is_some() && !linking
            || ui.input(|i| i.key_down(Key::Space))
        {
            return;
        }
        match (view.tool, under) {
            (Tool::Link(_), _) | (_, Hit::Handle { .. }) => {
                ui.set_cursor_icon(CursorIcon::Crosshair)
            }
            (Tool::Brush(_), _) => ui.set_cursor_icon(CursorIcon::Cell),
            (Tool::Select, Hit::Wire(_)) => ui.set_cursor_icon(CursorIcon::PointingHand),
            _ => {}
        }
    }
}
