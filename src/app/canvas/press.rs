//! Presses, drags, releases and clicks of the primary button, by tool.

use super::gesture::{self, Gesture};
use super::hit::{Hit, hit};
use super::{CanvasOutput, CanvasState, CanvasView};
use crate::app::edit::Edit;
use crate::app::edits;
use crate::app::selection::{Item, Selection};
use crate::app::tool::Tool;
use eframe::egui::{self, Modifiers, Pos2, Rect, Response};

/// How long a refused link's reason stays, seconds.
const REFUSAL: f64 = 3.0;
/// A release this near to the press is a click, points.
const CLICK: f32 = 6.0;

impl CanvasState {
    /// A link whose first end was clicked, not dragged, waits for the second click.
    pub(super) fn link_waits(&self) -> bool {
        matches!(&self.gesture, Some(Gesture::Link { press, .. }) if press.x.is_nan())
    }

    pub(super) fn press(
        &mut self,
        canvas: Rect,
        pos: Pos2,
        view: &CanvasView<'_>,
        output: &mut CanvasOutput,
    ) {
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

    pub(super) fn drag(
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

    pub(super) fn release(
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

    pub(super) fn finish_link(
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
    pub(super) fn click(
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
}
