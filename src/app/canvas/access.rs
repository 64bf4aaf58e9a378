//! Names for what is painted: every visible group, GPU and link as a node for screen readers and
//! for tests, at its place on screen. They only sense hovering, so the canvas keeps all input.

use super::camera::Camera;
use super::card::Inside;
use super::pen::Detail;
use super::scene::{ABSENT, Scene};
use super::wire::WireKind;
use eframe::egui::{self, Id, Rect, Role, Sense, Vec2, WidgetInfo};

/// GPUs of a smaller size on screen have no name of their own.
const GPU_ROOM: f32 = 14.0;
/// Most names per frame.
const MOST: usize = 3000;

/// Registers what is visible.
pub fn register(ui: &egui::Ui, canvas: Rect, camera: Camera, scene: &Scene) {
    let mut left = MOST;
    let mut name = |rect: Rect, id: Id, label: String| {
        let seen = rect.intersect(canvas);
        if left > 0 && seen.is_positive() {
            left -= 1;
            let response = ui.interact(seen, id, Sense::hover());
            response.widget_info(|| WidgetInfo::labeled(Role::GraphicsObject, true, &label));
        }
    };
    let base = ui.scope_id().with("canvas");
    let view = camera.view(canvas);
    for card in scene
        .cards
        .iter()
        .filter(|card| card.shape.rect.intersects(view))
    {
        let rect = camera.rect(canvas, card.shape.rect);
        // The title stands for the group: its middle is where a click selects the group.
        let title = Rect::from_min_size(
            rect.min,
            Vec2::new(rect.width(), (38.0 * camera.zoom).min(rect.height())),
        );
        name(
            title,
            base.with(("group", card.id.as_str())),
            format!("{} {}", card.noun, card.id),
        );
        if Detail::at(camera.zoom) == Detail::Far {
            continue;
        }
        match card.shape.inside {
            Inside::Gpus(grid) if grid.tile.x * camera.zoom >= GPU_ROOM => {
                for slot in (0..grid.count).filter(|slot| card.gpu(0, *slot) != ABSENT) {
                    let tile = camera.rect(canvas, grid.tile(slot));
                    let id = base.with(("gpu", card.id.as_str(), slot));
                    name(tile, id, format!("GPU {}", card.address(0, slot)));
                }
            }
            Inside::Instances { grid, .. } => {
                for cell in 0..grid.count {
                    let tile = camera.rect(canvas, grid.tile(cell));
                    let id = base.with(("instance", card.id.as_str(), cell));
                    let first = card.cell_instances(cell).start;
                    name(tile, id, format!("{} {}/{first}", card.noun, card.id));
                }
            }
            _ => {}
        }
    }
    for wire in &scene.wires {
        let WireKind::Link(id) = &wire.kind else {
            continue;
        };
        let Some(middle) = wire
            .label_at
            .or_else(|| wire.points.get(wire.points.len() / 2).copied())
        else {
            continue;
        };
        let rect = Rect::from_center_size(camera.to_screen(canvas, middle), Vec2::new(40.0, 14.0));
        name(rect, base.with(("link", id.as_str())), format!("link {id}"));
    }
}
