//! What comes to the canvas from elsewhere: parts dragged in from the palette, and what the
//! secondary button offers.

use super::gesture::{self, Gesture};
use super::hit::hit;
use super::{CanvasOutput, CanvasState, CanvasView};
use crate::app::selection::{Item, Selection};
use crate::app::tool::{Part, Tool};
use crate::plan::Role;
use eframe::egui::{self, Pos2, Rect, Response};

impl CanvasState {
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
                        let text = egui::RichText::new(words).color(view.theme.role_ink(role));
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
