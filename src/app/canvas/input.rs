//! Pointer, wheel, keys, drag and drop, context menu: what each means with each tool.

use super::gesture::{self, Gesture};
use super::hit::{Hit, hit};
use super::pen::SNAP;
use super::{CanvasOutput, CanvasState, CanvasView};
use crate::app::edit::Edit;
use crate::app::edits;
use crate::app::selection::{Item, Selection};
use crate::app::tool::{Part, Tool};
use crate::plan::Role;
use eframe::egui::{
    self, CursorIcon, Event, EventFilter, Key, Modifiers, MouseWheelSource, MouseWheelUnit,
    PointerButton, Pos2, Rect, Response, Vec2,
};

/// Zoom of one notch of a wheel.
const NOTCH: f32 = 1.15;
/// Points of a line of wheel movement.
const LINE: f32 = 48.0;
/// How long a refused link's reason stays, seconds.
const REFUSAL: f64 = 3.0;
/// A release this near to the press is a click, points.
const CLICK: f32 = 6.0;

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
        if ui.input(|i| i.key_pressed(Key::Escape)) {
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
        let shows_handles =
            view.tool == Tool::Select && self.gesture.is_none() && self.armed.is_none();
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

    /// A link whose first end was clicked, not dragged, waits for the second click.
    fn link_waits(&self) -> bool {
        matches!(&self.gesture, Some(Gesture::Link { press, .. }) if press.x.is_nan())
    }

    fn press(&mut self, canvas: Rect, pos: Pos2, view: &CanvasView<'_>, output: &mut CanvasOutput) {
        if self.link_waits() {
            self.finish_link(canvas, Some(pos), view, output);
            return;
        }
        let point = self.camera.to_world(canvas, pos);
        match (view.tool, self.hover) {
            (Tool::Brush(role), under) => {
                self.gesture = Some(Gesture::start_brush(&self.scene, under, role, point));
            }
            (Tool::Link(kind), under) => {
                if let Some(card) = under.card() {
                    self.gesture = Some(Gesture::start_link(&self.scene, view, card, kind, pos));
                }
            }
            (Tool::Select, Hit::Handle { card }) => {
                let kind = self
                    .last_link
                    .unwrap_or(crate::cluster::LinkKind::Infiniband);
                self.gesture = Some(Gesture::start_link(&self.scene, view, card, kind, pos));
            }
            (Tool::Select | Tool::Hand, _) => {}
        }
    }

    fn drag(
        &mut self,
        canvas: Rect,
        origin: Pos2,
        modifiers: Modifiers,
        view: &CanvasView<'_>,
        output: &mut CanvasOutput,
    ) {
        if view.tool != Tool::Select || !canvas.contains(origin) {
            return;
        }
        let from = self.camera.to_world(canvas, origin);
        let under = hit(&self.scene, self.camera.zoom, from, None);
        self.gestures += 1;
        self.gesture = if under.card().is_some() {
            Gesture::start_move(&self.scene, view, under, from, self.gestures, output)
        } else {
            let keep = modifiers.shift || modifiers.command || modifiers.ctrl;
            let base = if keep {
                view.selection.clone()
            } else {
                Selection::default()
            };
            Some(Gesture::Marquee { from, base })
        };
    }

    fn release(
        &mut self,
        ui: &egui::Ui,
        canvas: Rect,
        latest: Option<Pos2>,
        view: &CanvasView<'_>,
        output: &mut CanvasOutput,
    ) {
        match self.gesture.take() {
            Some(Gesture::Brush { role, gpus, .. }) => {
                output
                    .edits
                    .extend(gesture::stroke(view, &self.scene, role, gpus));
            }
            Some(Gesture::Link {
                from,
                kind,
                press,
                legal,
            }) => {
                let stayed = latest.is_some_and(|pos| pos.distance(press) < CLICK);
                let press = if stayed {
                    Pos2::new(f32::NAN, f32::NAN)
                } else {
                    press
                };
                self.gesture = Some(Gesture::Link {
                    from,
                    kind,
                    press,
                    legal,
                });
                if !stayed {
                    self.finish_link(canvas, latest, view, output);
                }
                if let Some((_, until)) = &mut self.refusal {
                    *until = ui.input(|i| i.time) + REFUSAL;
                    ui.ctx().request_repaint_after_secs(3.1);
                }
            }
            Some(Gesture::Pan | Gesture::Move { .. } | Gesture::Marquee { .. }) | None => {}
        }
    }

    fn finish_link(
        &mut self,
        canvas: Rect,
        latest: Option<Pos2>,
        view: &CanvasView<'_>,
        output: &mut CanvasOutput,
    ) {
        let Some(gesture) = self.gesture.take() else {
            return;
        };
        let Some(pos) = latest else { return };
        let point = self.camera.to_world(canvas, pos);
        let under = hit(&self.scene, self.camera.zoom, point, None);
        match gesture.proposal(view, &self.scene, under) {
            Some(Ok(link)) => {
                let id = edits::fresh_link(&view.design.cluster);
                let label = format!("Link {} × {}", link.count, link.kind.name());
                output
                    .edits
                    .push(Edit::design(label, view.design.id.clone(), move |design| {
                        edits::connect(design, &link);
                    }));
                output.selection = Some(Selection::one(Item::Link(id)));
            }
            Some(Err(reason)) => self.refusal = Some((reason, f64::INFINITY)),
            None => {}
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one place where a click's circumstances meet"
    )]
    fn click(
        &mut self,
        ui: &egui::Ui,
        canvas: Rect,
        pointer: Option<Pos2>,
        modifiers: Modifiers,
        response: &Response,
        view: &CanvasView<'_>,
        output: &mut CanvasOutput,
    ) {
        let Some(pos) = pointer else { return };
        if let Some(part) = self.armed.clone() {
            let middle = self.camera.to_world(canvas, pos);
            self.drop_part(&part, middle, view, output);
            // Shift keeps placing.
            if !modifiers.shift {
                self.armed = None;
            }
            ui.ctx().request_repaint();
            return;
        }
        if view.tool != Tool::Select
            || self.gesture.is_some()
            || matches!(self.hover, Hit::Handle { .. })
        {
            return;
        }
        let selection = match gesture::pool_at(&self.scene, self.hover) {
            Some(pool) if response.double_clicked() => Selection::one(Item::Pool(pool)),
            _ => gesture::click(&self.scene, view.selection, self.hover, modifiers),
        };
        if selection != *view.selection {
            output.selection = Some(selection);
        }
    }

    /// A part dragged in from the palette.
    pub(super) fn drag_in(
        &mut self,
        response: &Response,
        canvas: Rect,
        view: &CanvasView<'_>,
        output: &mut CanvasOutput,
    ) {
        let Some(part) = response.dnd_release_payload::<Part>() else {
            return;
        };
        let Some(pos) = response.ctx.input(|i| i.pointer.latest_pos()) else {
            return;
        };
        let point = self.camera.to_world(canvas, pos);
        self.armed = None;
        if let Part::Link(kind) = *part {
            // Dropped on a thing the link starts there and follows the pointer.
            output.tool = Some(Tool::Link(kind));
            if let Some(card) = hit(&self.scene, self.camera.zoom, point, None).card() {
                let waiting = Pos2::new(f32::NAN, f32::NAN);
                self.gesture = Some(Gesture::start_link(&self.scene, view, card, kind, waiting));
            }
        } else {
            self.drop_part(&part, point, view, output);
            response.request_focus();
        }
    }

    /// What the secondary button offers.
    pub(super) fn menu(
        &mut self,
        response: &Response,
        canvas: Rect,
        view: &CanvasView<'_>,
        output: &mut CanvasOutput,
    ) {
        response.context_menu(|ui| {
            ui.set_min_width(200.0);
            ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Extend);
            let gpus: std::collections::BTreeSet<_> = view
                .selection
                .items
                .iter()
                .flat_map(|item| match item {
                    Item::Gpu(gpu) => std::collections::BTreeSet::from([gpu.clone()]),
                    Item::Group(id) => self
                        .scene
                        .card(id)
                        .map(|card| card.addresses(0..card.count))
                        .unwrap_or_default(),
                    Item::Link(_) | Item::Pool(_) => std::collections::BTreeSet::default(),
                })
                .collect();
            if !gpus.is_empty() {
                ui.menu_button("Role", |ui| {
                    for role in Role::ALL.map(Some).into_iter().chain([None]) {
                        let words = role.map_or("Idle", Role::name);
                        let text = egui::RichText::new(words).color(view.theme.role(role));
                        if ui.button(text).clicked() {
                            output.edits.extend(gesture::stroke(
                                view,
                                &self.scene,
                                role,
                                gpus.clone(),
                            ));
                            ui.close();
                        }
                    }
                });
            }
            if let Some(pool) = gesture::pool_at(&self.scene, self.menu)
                && ui.button("Select its pool").clicked()
            {
                output.selection = Some(Selection::one(Item::Pool(pool)));
                ui.close();
            }
            if !gesture::selected_groups(view.selection).is_empty()
                && ui
                    .add(egui::Button::new("Duplicate").shortcut_text("Ctrl+D"))
                    .clicked()
            {
                if let Some((edit, selection)) = gesture::duplicate(view) {
                    output.edits.push(edit);
                    output.selection = Some(selection);
                }
                ui.close();
            }
            if !view.selection.is_empty() {
                let words = if view
                    .selection
                    .items
                    .iter()
                    .all(|item| matches!(item, Item::Gpu(_)))
                {
                    "Make idle"
                } else {
                    "Delete"
                };
                if ui
                    .add(egui::Button::new(words).shortcut_text("Del"))
                    .clicked()
                {
                    output.edits.extend(gesture::delete(view));
                    output.selection = Some(Selection::default());
                    ui.close();
                }
                if ui
                    .add(egui::Button::new("Zoom to selection").shortcut_text("Shift+F"))
                    .clicked()
                {
                    self.zoom_to(view.selection);
                    ui.close();
                }
                ui.separator();
            }
            if ui.button("Select all").clicked() {
                output.selection = Some(Self::select_all(view));
                ui.close();
            }
            if ui
                .add(egui::Button::new("Fit all").shortcut_text("F"))
                .clicked()
            {
                self.fit();
                ui.close();
            }
            if ui
                .add(egui::Button::new("100 %").shortcut_text("Ctrl+0"))
                .clicked()
            {
                self.camera
                    .zoom_at(canvas, canvas.center(), 1.0 / self.camera.zoom);
                ui.close();
            }
        });
    }
}
