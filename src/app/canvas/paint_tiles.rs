//! The tiles of a card: GPUs of a node, instances of a stack, coloured by role. A letter says the
//! role once more, for eyes that don't tell the colours apart.

use super::Gauge;
use super::card::Grid;
use super::paint_card::Look;
use super::pen::{Detail, Pen, blend};
use super::scene::{ABSENT, Card, Scene};
use crate::plan::Role;
use eframe::egui::{Align2, Color32, CornerRadius, Rect, Stroke, pos2, vec2};

/// A tile on screen must be this wide to be worth a number, and this wide for a letter too.
const NUMBER_ROOM: f32 = 15.0;
const LETTER_ROOM: f32 = 30.0;
/// A stack's tile must be this wide to show single GPUs.
pub const CELL_ROOM: f32 = 24.0;

/// The letter that tells roles apart without colour.
pub const fn role_letter(role: Role) -> &'static str {
    match role {
        Role::Prefill => "P",
        Role::Decode => "D",
        Role::Attention => "A",
        Role::Ffn => "F",
        Role::Colocated => "C",
    }
}

/// A role's tint as the ground of a tile, and its edge.
fn tile_colors(pen: &Pen<'_>, role: Option<Role>) -> (Color32, Color32) {
    let theme = pen.theme;
    match role {
        Some(role) => {
            let color = theme.role(Some(role));
            let strength = if theme.dark { 0.30 } else { 0.20 };
            (blend(theme.card, color, strength), color)
        }
        None => (
            blend(
                theme.card,
                theme.role(None),
                if theme.dark { 0.10 } else { 0.09 },
            ),
            blend(theme.line, theme.role(None), 0.45),
        ),
    }
}

/// The role a GPU shows: its pool's, or the brush's while it is being painted.
pub fn shown_role(
    scene: &Scene,
    card: &Card,
    look: &Look,
    instance: u32,
    slot: u32,
) -> Option<Option<Role>> {
    match card.gpu(instance, slot) {
        ABSENT => None,
        _ if look.painted.contains(&(instance, slot)) => Some(look.brush),
        pool => Some(scene.role(pool)),
    }
}

/// Paints the GPUs of a single node and the box of their domain.
pub fn gpus(pen: &Pen<'_>, scene: &Scene, card: &Card, grid: Grid, look: &Look, gauges: &[Gauge]) {
    let theme = pen.theme;
    if let Some(domain) = card.shape.domain {
        let domain = pen.rect(domain);
        let ground = blend(
            theme.card,
            theme.canvas,
            if theme.dark { 0.45 } else { 0.7 },
        );
        pen.frame(
            domain,
            pen.radius(7.0),
            ground,
            Stroke::new(1.0, theme.line),
        );
        if pen.detail == Detail::Near {
            let at = domain.left_top() + vec2(pen.len(8.0), pen.len(10.5));
            pen.text(
                at,
                Align2::LEFT_CENTER,
                &card.domain,
                10.0,
                theme.text_muted,
                domain.width() - pen.len(16.0),
            );
        }
    }
    for slot in 0..grid.count {
        let tile = pen.rect(grid.tile(slot));
        if !pen.painter.clip_rect().intersects(tile) {
            continue;
        }
        let Some(role) = shown_role(scene, card, look, 0, slot) else {
            continue;
        };
        let gauge = scene
            .pool(card.gpu(0, slot))
            .and_then(|pool| gauges.iter().find(|gauge| gauge.pool == pool.id));
        gpu_tile(pen, tile, &slot.to_string(), role, gauge);
        tile_marks(
            pen,
            tile,
            look.gpus.contains(&(0, slot)),
            look.hovered_gpu == Some((0, slot)),
        );
    }
}

fn gpu_tile(pen: &Pen<'_>, tile: Rect, label: &str, role: Option<Role>, gauge: Option<&Gauge>) {
    let (ground, edge) = tile_colors(pen, role);
    if pen.detail != Detail::Near {
        pen.painter.rect_filled(
            tile,
            CornerRadius::ZERO,
            if role.is_some() { edge } else { ground },
        );
        return;
    }
    pen.frame(tile, pen.radius(4.0), ground, Stroke::new(1.0, edge));
    if tile.width() < NUMBER_ROOM {
        return;
    }
    let ink = if role.is_some() {
        blend(edge, pen.theme.text, 0.35)
    } else {
        pen.theme.text_muted
    };
    let small = tile.height() < pen.len(30.0);
    let size = if small { 9.5 } else { 11.0 };
    let inset = pen.len(if small { 4.0 } else { 6.0 });
    let shows_gauge = gauge.is_some() && !small;
    let middle = if shows_gauge {
        tile.top() + tile.height() * 0.36
    } else {
        tile.center().y
    };
    let lettered = role.filter(|_| tile.width() >= LETTER_ROOM);
    if lettered.is_some() || !small {
        pen.text(
            pos2(tile.left() + inset, middle),
            Align2::LEFT_CENTER,
            label,
            size,
            ink,
            tile.width() / 2.0,
        );
    } else {
        pen.text(
            pos2(tile.center().x, middle),
            Align2::CENTER_CENTER,
            label,
            size,
            ink,
            tile.width(),
        );
    }
    if let Some(role) = lettered {
        let at = pos2(tile.right() - inset, middle);
        pen.text(
            at,
            Align2::RIGHT_CENTER,
            role_letter(role),
            size,
            ink,
            tile.width() / 2.0,
        );
    }
    if let (Some(gauge), true) = (gauge, shows_gauge) {
        let bar = Rect::from_min_max(
            pos2(tile.left() + inset, tile.bottom() - pen.len(11.0)),
            pos2(tile.right() - inset, tile.bottom() - pen.len(7.0)),
        );
        let share = |x: f32| {
            if x.is_finite() {
                x.clamp(0.0, 1.0)
            } else {
                0.0
            }
        };
        let (weights, kv) = (share(gauge.taken), share(gauge.kv));
        let part = |from: f32, to: f32, color: Color32| {
            let x = |t: f32| bar.left() + bar.width() * t.min(1.0);
            pen.painter.rect_filled(
                Rect::from_min_max(pos2(x(from), bar.top()), pos2(x(to), bar.bottom())),
                CornerRadius::ZERO,
                color,
            );
        };
        part(0.0, 1.0, blend(ground, pen.theme.text, 0.12));
        let ink = if gauge.over {
            pen.theme.error
        } else {
            pen.theme.text_muted
        };
        part(0.0, weights, ink);
        part(weights, weights + kv, edge);
    }
}

fn tile_marks(pen: &Pen<'_>, tile: Rect, selected: bool, hovered: bool) {
    let (color, width) = match (selected, hovered) {
        (true, _) => (pen.theme.accent, 2.0),
        (false, true) => (pen.theme.text_muted, 1.5),
        (false, false) => return,
    };
    pen.painter.rect_stroke(
        tile,
        pen.radius(4.0),
        Stroke::new(width, color),
        eframe::egui::StrokeKind::Outside,
    );
}

/// Paints a stack: per instance its GPUs, or stripes by role where there is no room.
pub fn instances(pen: &Pen<'_>, scene: &Scene, card: &Card, grid: Grid, look: &Look) {
    for cell in 0..grid.count {
        let rect = pen.rect(grid.tile(cell));
        if !pen.painter.clip_rect().intersects(rect) {
            continue;
        }
        let instances = card.cell_instances(cell);
        let single = instances.len() == 1;
        let first = instances.start;
        let slots = cell_grid(grid, cell, card.stride);
        if let (true, Some(slots), true) = (single, slots, rect.width() >= CELL_ROOM) {
            let (ground, _) = tile_colors(pen, None);
            pen.frame(
                rect,
                pen.radius(4.0),
                ground,
                Stroke::new(1.0, pen.theme.line),
            );
            for slot in 0..card.stride {
                let Some(role) = shown_role(scene, card, look, first, slot) else {
                    continue;
                };
                let tile = pen.rect(slots.tile(slot));
                if tile.width() >= NUMBER_ROOM {
                    gpu_tile(pen, tile, &slot.to_string(), role, None);
                } else {
                    let color = match role {
                        Some(role) => pen.theme.role(Some(role)),
                        None => blend(pen.theme.card, pen.theme.role(None), 0.35),
                    };
                    pen.painter.rect_filled(tile, CornerRadius::same(1), color);
                }
                let hovered =
                    tile.width() >= NUMBER_ROOM && look.hovered_gpu == Some((first, slot));
                tile_marks(pen, tile, look.gpus.contains(&(first, slot)), hovered);
            }
        } else {
            let painted = instances.clone().any(|i| look.painted.contains(&(i, 0)));
            if painted {
                mix_bar(pen, rect, &[(look.brush, 1)]);
            } else {
                mix_bar(pen, rect, &cell_mix(scene, card, instances.clone()));
            }
            if instances.clone().all(|i| look.gpus.contains(&(i, 0))) {
                tile_marks(pen, rect, true, false);
            }
        }
        if look
            .hovered_gpu
            .is_some_and(|(instance, _)| instances.contains(&instance))
        {
            tile_marks(pen, rect, false, true);
        }
    }
}

/// Where the GPUs of an instance lie in its tile of a stack; none if they are too many.
pub fn cell_grid(grid: Grid, cell: u32, gpus: u32) -> Option<Grid> {
    if gpus == 0 || gpus > 16 {
        return None;
    }
    let columns = if gpus <= 4 { gpus } else { gpus.div_ceil(2) };
    let rect = grid.tile(cell).shrink(3.0);
    let rows = gpus.div_ceil(columns);
    #[expect(clippy::cast_precision_loss, reason = "at most sixteen")]
    let (c, r) = (columns as f32, rows as f32);
    let gap = 1.5;
    Some(Grid {
        origin: rect.min,
        columns,
        count: gpus,
        tile: vec2(
            (rect.width() - gap * (c - 1.0)) / c,
            (rect.height() - gap * (r - 1.0)) / r,
        ),
        gap,
    })
}

fn cell_mix(
    scene: &Scene,
    card: &Card,
    instances: std::ops::Range<u32>,
) -> Vec<(Option<Role>, u32)> {
    let mut mix: Vec<(Option<Role>, u32)> = Vec::new();
    for pool in instances.flat_map(|instance| card.instance(instance)) {
        let role = scene.role(*pool);
        match mix.iter_mut().find(|(other, _)| *other == role) {
            Some((_, n)) => *n += 1,
            None if *pool == ABSENT => {}
            None => mix.push((role, 1)),
        }
    }
    mix
}

/// A tile in stripes as wide as each role's share.
pub fn mix_bar(pen: &Pen<'_>, rect: Rect, mix: &[(Option<Role>, u32)]) {
    let all: u32 = mix.iter().map(|(_, n)| n).sum();
    let mut x = rect.left();
    for (role, n) in mix {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^24")]
        let width = rect.width() * *n as f32 / all.max(1) as f32;
        let color = match role {
            Some(role) => pen.theme.role(Some(*role)),
            None => blend(pen.theme.card, pen.theme.role(None), 0.35),
        };
        let stripe = Rect::from_min_size(pos2(x, rect.top()), vec2(width, rect.height()));
        pen.painter.rect_filled(stripe, CornerRadius::ZERO, color);
        x += width;
    }
}
