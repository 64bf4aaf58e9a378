//! What is under a point: asked of the model, never of widgets.

use super::card::{Inside, PAD};
use super::paint_tiles::{CELL_ROOM, cell_grid};
use super::pen::Detail;
use super::scene::{ABSENT, Card, Scene};
use super::wire::{WireKind, label_size};
use eframe::egui::{Pos2, Rect, pos2};

/// Radius of a port handle, points on screen.
pub const HANDLE: f32 = 6.0;
/// How near to a line counts as on it, points on screen.
const NEAR_LINE: f32 = 6.0;
/// A stack's GPU can be hit on its own from this size on screen.
const GPU_ROOM: f32 = 15.0;

/// What is under a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hit {
    /// Nothing.
    #[default]
    Empty,
    /// A card, none of its tiles.
    Card(usize),
    /// A GPU.
    Gpu {
        card: usize,
        instance: u32,
        slot: u32,
    },
    /// A tile of a stack.
    Cell { card: usize, cell: u32 },
    /// A port handle.
    Handle { card: usize },
    /// A wire.
    Wire(usize),
}

impl Hit {
    /// The card it belongs to.
    pub const fn card(self) -> Option<usize> {
        match self {
            Self::Card(card)
            | Self::Gpu { card, .. }
            | Self::Cell { card, .. }
            | Self::Handle { card } => Some(card),
            Self::Empty | Self::Wire(_) => None,
        }
    }
}

/// Where a card's port handles are, world points.
pub fn handles(card: &Card) -> [Pos2; 4] {
    let rect = card.shape.rect;
    [
        rect.left_center(),
        rect.right_center(),
        rect.center_top(),
        rect.center_bottom(),
    ]
}

/// What is under a world point. `handles_of`: the card whose handles are shown.
pub fn hit(scene: &Scene, zoom: f32, point: Pos2, handles_of: Option<usize>) -> Hit {
    if let Some(card) = handles_of
        && let Some(shown) = scene.cards.get(card)
        && handles(shown)
            .iter()
            .any(|handle| handle.distance(point) * zoom <= HANDLE + 3.0)
    {
        return Hit::Handle { card };
    }
    if let Some((number, card)) = scene
        .cards
        .iter()
        .enumerate()
        .rev()
        .find(|(_, card)| card.shape.rect.contains(point))
    {
        return inside(number, card, zoom, point);
    }
    let near = NEAR_LINE / zoom;
    scene
        .wires
        .iter()
        .enumerate()
        .filter(|(_, wire)| matches!(wire.kind, WireKind::Link(_)))
        .filter(|(_, wire)| wire.bounds.expand(near.max(12.0)).contains(point))
        .filter_map(|(number, wire)| {
            let on_label = wire.label_at.is_some_and(|middle| {
                Detail::at(zoom) == Detail::Near
                    && Rect::from_center_size(middle, label_size(&wire.label)).contains(point)
            });
            let distance = if on_label { 0.0 } else { wire.distance(point) };
            (distance <= near).then_some((distance, number))
        })
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map_or(Hit::Empty, |(_, number)| Hit::Wire(number))
}

fn inside(number: usize, card: &Card, zoom: f32, point: Pos2) -> Hit {
    let whole = Hit::Card(number);
    if Detail::at(zoom) == Detail::Far {
        return whole;
    }
    match card.shape.inside {
        Inside::Gpus(grid) => match grid.at(point) {
            Some(slot) if card.gpu(0, slot) != ABSENT => Hit::Gpu {
                card: number,
                instance: 0,
                slot,
            },
            _ => whole,
        },
        Inside::Instances { grid, .. } => {
            let Some(cell) = grid.at(point) else {
                return whole;
            };
            let tile = Hit::Cell { card: number, cell };
            let instances = card.cell_instances(cell);
            if instances.len() != 1 || grid.tile.x * zoom < CELL_ROOM {
                return tile;
            }
            match cell_grid(grid, cell, card.stride) {
                Some(slots) if slots.tile.x * zoom >= GPU_ROOM => match slots.at(point) {
                    Some(slot) if card.gpu(instances.start, slot) != ABSENT => Hit::Gpu {
                        card: number,
                        instance: instances.start,
                        slot,
                    },
                    _ => tile,
                },
                _ => tile,
            }
        }
        Inside::Plain if card.stride == 1 && card.count == 1 => {
            // A loose GPU is its card: its lower half is the GPU, its title the group.
            if point.y > card.shape.footer.top() && point.x > card.shape.rect.left() + PAD {
                Hit::Gpu {
                    card: number,
                    instance: 0,
                    slot: 0,
                }
            } else {
                whole
            }
        }
        Inside::Plain => whole,
    }
}

/// The nearest point of a card's edge, for a line that starts there.
pub fn edge_towards(card: &Card, point: Pos2) -> Pos2 {
    let rect = card.shape.rect;
    handles(card)
        .into_iter()
        .min_by(|a, b| a.distance_sq(point).total_cmp(&b.distance_sq(point)))
        .unwrap_or_else(|| pos2(rect.right(), rect.center().y))
}
