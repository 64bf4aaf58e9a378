//! Cards: nodes with their GPUs, stacks of nodes, switches, loose parts.

use super::card::{Grid, HEADER, Inside, PAD};
use super::pen::{Detail, Pen, blend};
use super::scene::{ABSENT, Card, CardKind, IDLE, Scene, layout_words};
use super::{Gauge, badge::Badge};
use crate::app::icons;
use crate::plan::Role;
use eframe::egui::text::{LayoutJob, TextFormat};
use eframe::egui::{Align2, Color32, CornerRadius, Pos2, Rect, Shape, Stroke, Vec2, pos2, vec2};
use std::collections::BTreeSet;

/// Title and body sizes, world points.
const TITLE: f32 = 13.5;
const BODY: f32 = 11.0;
/// A tile on screen must be this wide to be worth a number, and this wide for a letter too.
const NUMBER_ROOM: f32 = 15.0;
const LETTER_ROOM: f32 = 30.0;
/// A stack's tile must be this wide to show single GPUs.
pub const CELL_ROOM: f32 = 24.0;

/// How a card looks besides what it is.
#[derive(Debug, Clone, Default)]
pub struct Look {
    pub selected: bool,
    pub hovered: bool,
    /// While a link is drawn: whether it may end here.
    pub legal: Option<bool>,
    pub badge: Option<Badge>,
    /// Selected GPUs, instance and slot.
    pub gpus: BTreeSet<(u32, u32)>,
    /// GPUs under the brush.
    pub painted: BTreeSet<(u32, u32)>,
    /// What the brush makes of them.
    pub brush: Option<Role>,
    /// Hovered GPU, or first of the hovered tile.
    pub hovered_gpu: Option<(u32, u32)>,
}

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

/// Paints one card.
pub fn card(pen: &Pen<'_>, scene: &Scene, card: &Card, look: &Look, gauges: &[Gauge]) {
    let rect = pen.rect(card.shape.rect);
    frame(pen, card, rect, look);
    if pen.detail == Detail::Far {
        far(pen, scene, card, rect);
    } else {
        header(pen, card, rect);
        match card.shape.inside {
            Inside::Gpus(grid) => gpus(pen, scene, card, grid, look, gauges),
            Inside::Instances { grid, .. } => instances(pen, scene, card, grid, look),
            Inside::Plain => plain(pen, scene, card, rect, look),
        }
        if pen.detail == Detail::Near {
            nics(pen, card);
            footer(pen, scene, card);
        }
    }
    outline(pen, card, rect, look);
    if let Some(badge) = &look.badge {
        badge.paint(pen, badge_at(rect));
    }
}

/// Middle of a card's badge.
pub fn badge_at(card: Rect) -> Pos2 {
    card.right_top() + vec2(-2.0, 2.0)
}

fn frame(pen: &Pen<'_>, card: &Card, rect: Rect, look: &Look) {
    let theme = pen.theme;
    let radius = pen.radius(9.0);
    let line = Stroke::new(1.0, theme.line);
    if pen.detail > Detail::Far {
        // A soft edge of shadow lifts the card off the dots.
        let shade = if theme.dark { 70 } else { 18 };
        pen.painter.add(
            eframe::egui::epaint::RectShape::filled(
                rect.translate(vec2(0.0, pen.len(2.0))).expand(pen.len(1.0)),
                radius,
                Color32::from_black_alpha(shade),
            )
            .with_blur_width(pen.len(8.0)),
        );
    }
    if card.count > 1 {
        for depth in [2.0, 1.0f32] {
            let plate = rect.translate(Vec2::splat(pen.len(4.0 * depth)));
            pen.frame(
                plate,
                radius,
                blend(theme.card, theme.canvas, 0.35 * depth),
                line,
            );
        }
    }
    let fill = if look.hovered && !look.selected {
        blend(theme.card, theme.card_hover, 0.6)
    } else {
        theme.card
    };
    pen.frame(rect, radius, fill, line);
}

fn outline(pen: &Pen<'_>, card: &Card, rect: Rect, look: &Look) {
    let theme = pen.theme;
    let radius = pen.radius(9.0);
    let ring = |color: Color32, width: f32, out: f32| {
        let mut ring = rect.expand(out);
        if card.count > 1 {
            ring.max += Vec2::splat(pen.len(8.0));
        }
        pen.painter.rect_stroke(
            ring,
            radius,
            Stroke::new(width, color),
            eframe::egui::StrokeKind::Outside,
        );
    };
    if look.selected {
        ring(theme.accent, 2.0, 0.0);
    }
    match look.legal {
        Some(true) => ring(theme.good, 2.0, 0.0),
        Some(false) => {
            pen.painter
                .rect_filled(rect, radius, theme.canvas.gamma_multiply(0.6));
        }
        None => {}
    }
}

fn header(pen: &Pen<'_>, card: &Card, rect: Rect) {
    let theme = pen.theme;
    let left = rect.left() + pen.len(PAD);
    let mut right = rect.right() - pen.len(PAD);
    if pen.detail == Detail::Middle {
        // Names keep a readable size; what doesn't fit is cut.
        let font =
            eframe::egui::FontId::proportional(if pen.camera.zoom > 0.34 { 10.0 } else { 8.5 });
        let title = if card.count > 1 {
            format!("{} ×{}", card.name, card.count)
        } else {
            card.name.clone()
        };
        let at = if matches!(card.shape.inside, Inside::Plain) {
            pos2(left, rect.center().y)
        } else {
            pos2(left, rect.top() + pen.len(HEADER / 2.0))
        };
        pen.text_font(
            at,
            Align2::LEFT_CENTER,
            &title,
            font,
            theme.text,
            right - left,
        );
        return;
    }
    let plain = matches!(card.shape.inside, Inside::Plain);
    if card.count > 1
        && let Some(font) = pen.font(BODY)
    {
        let text = format!("× {}", card.count);
        let galley = pen.painter.layout_no_wrap(text, font, theme.text);
        let size = galley.size() + vec2(pen.len(12.0), pen.len(3.0));
        let pill = Align2::RIGHT_CENTER.anchor_size(pos2(right, rect.top() + pen.len(17.0)), size);
        pen.frame(
            pill,
            pen.radius(9.0),
            theme.card_hover,
            Stroke::new(1.0, theme.line),
        );
        pen.painter
            .galley(pill.center() - galley.size() / 2.0, galley, theme.text);
        right = pill.left() - pen.len(6.0);
    }
    let mut text_left = left;
    if plain {
        let icon = Rect::from_center_size(
            pos2(left + pen.len(8.0), rect.top() + pen.len(18.0)),
            Vec2::splat(pen.len(16.0)),
        );
        match card.kind {
            CardKind::Switch => icons::switch(&pen.painter, icon, theme.text_muted),
            _ => icons::gpu(&pen.painter, icon, theme.text_muted),
        }
        text_left = icon.right() + pen.len(7.0);
    }
    let title_at = pos2(
        text_left,
        rect.top() + pen.len(if plain { 18.0 } else { 17.0 }),
    );
    if let Some(font) = pen.font(TITLE) {
        let font = eframe::egui::FontId::new(font.size, pen.strong.clone());
        pen.text_font(
            title_at,
            Align2::LEFT_CENTER,
            &card.name,
            font,
            theme.text,
            right - text_left,
        );
    }
    if !plain {
        let at = pos2(left, rect.top() + pen.len(33.0));
        let width = rect.right() - pen.len(PAD) - left;
        pen.text(
            at,
            Align2::LEFT_CENTER,
            &card.detail,
            BODY,
            theme.text_muted,
            width,
        );
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
fn shown_role(
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

fn gpus(pen: &Pen<'_>, scene: &Scene, card: &Card, grid: Grid, look: &Look, gauges: &[Gauge]) {
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
        let (weights, kv) = (share(gauge.weights), share(gauge.kv));
        let part = |from: f32, to: f32, color: Color32| {
            let x = |t: f32| bar.left() + bar.width() * t.min(1.0);
            pen.painter.rect_filled(
                Rect::from_min_max(pos2(x(from), bar.top()), pos2(x(to), bar.bottom())),
                CornerRadius::ZERO,
                color,
            );
        };
        part(0.0, 1.0, blend(ground, pen.theme.text, 0.12));
        part(0.0, weights, pen.theme.text_muted);
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

fn instances(pen: &Pen<'_>, scene: &Scene, card: &Card, grid: Grid, look: &Look) {
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
fn mix_bar(pen: &Pen<'_>, rect: Rect, mix: &[(Option<Role>, u32)]) {
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

fn plain(pen: &Pen<'_>, scene: &Scene, card: &Card, rect: Rect, look: &Look) {
    if pen.detail != Detail::Near {
        return;
    }
    let theme = pen.theme;
    let at = pos2(rect.left() + pen.len(PAD), rect.bottom() - pen.len(16.0));
    let width = rect.width() - pen.len(2.0 * PAD);
    if card.kind == CardKind::Switch && card.ports > 0 {
        let used = card.ports_used.min(card.ports);
        let text = format!("{used} of {} ports", card.ports);
        let text = if card.ports_used > card.ports {
            format!("{} of {} ports!", card.ports_used, card.ports)
        } else {
            text
        };
        let ink = if card.ports_used > card.ports {
            theme.error
        } else {
            theme.text_muted
        };
        let place = pen.text(at, Align2::LEFT_CENTER, &text, BODY, ink, width);
        let bar = Rect::from_min_max(
            pos2(place.right() + pen.len(8.0), at.y - pen.len(2.0)),
            pos2(rect.right() - pen.len(PAD), at.y + pen.len(2.0)),
        );
        if bar.width() > 8.0 {
            #[expect(clippy::cast_precision_loss, reason = "far below 2^24")]
            let share = used as f32 / card.ports as f32;
            let radius = pen.radius(2.0);
            pen.painter
                .rect_filled(bar, radius, blend(theme.card, theme.text_muted, 0.22));
            let full = Rect::from_min_size(bar.min, vec2(bar.width() * share, bar.height()));
            pen.painter.rect_filled(full, radius, theme.link);
        }
    } else {
        pen.text(
            at,
            Align2::LEFT_CENTER,
            &card.detail,
            BODY,
            theme.text_muted,
            width - pen.len(44.0),
        );
        if card.stride > 0
            && let Some(Some(role)) = shown_role(scene, card, look, 0, 0)
        {
            let at = pos2(rect.right() - pen.len(PAD), at.y);
            pen.text(
                at,
                Align2::RIGHT_CENTER,
                role.name(),
                BODY,
                theme.role(Some(role)),
                pen.len(70.0),
            );
        }
    }
}

fn nics(pen: &Pen<'_>, card: &Card) {
    let theme = pen.theme;
    let rects = card.shape.nic_rects(card.ports);
    if let ([bar], true) = (rects.as_slice(), card.ports > 1) {
        // Very many NICs are one bar, filled as far as they are linked.
        let bar = pen.rect(*bar);
        #[expect(clippy::cast_precision_loss, reason = "far below 2^24")]
        let share = card.ports_used.min(card.ports) as f32 / card.ports as f32;
        pen.painter.rect_filled(
            bar,
            pen.radius(3.0),
            blend(theme.card, theme.text_muted, 0.15),
        );
        let full = Rect::from_min_size(bar.min, vec2(bar.width() * share, bar.height()));
        pen.painter.rect_filled(full, pen.radius(3.0), theme.link);
        return;
    }
    for (nic, rect) in (0u32..).zip(rects) {
        let used = nic < card.ports_used;
        let fill = if used {
            theme.link
        } else {
            blend(theme.card, theme.canvas, 0.6)
        };
        pen.frame(
            pen.rect(rect),
            pen.radius(2.0),
            fill,
            Stroke::new(1.0, if used { theme.link } else { theme.line }),
        );
    }
}

fn footer(pen: &Pen<'_>, scene: &Scene, card: &Card) {
    if matches!(card.shape.inside, Inside::Plain) {
        return;
    }
    let footer = pen.rect(card.shape.footer);
    let y = footer.center().y;
    let left = footer.left() + pen.len(PAD);
    let right = footer.right() - pen.len(PAD);
    let network = if card.network.is_empty() {
        "no network"
    } else {
        &card.network
    };
    let place = pen.text(
        pos2(left, y),
        Align2::LEFT_CENTER,
        network,
        BODY,
        pen.theme.text_muted,
        (right - left) * 0.5,
    );
    let Some(font) = pen.font(BODY) else { return };
    let mut job = LayoutJob::default();
    let mut say = |text: &str, color: Color32| {
        job.append(text, 0.0, TextFormat::simple(font.clone(), color));
    };
    let words = role_words(scene, card);
    for (number, (text, role)) in words.iter().enumerate() {
        if number > 0 {
            say("   ", pen.theme.text_muted);
        }
        let color = if role.is_some() {
            pen.theme.role(*role)
        } else {
            pen.theme.text_muted
        };
        say(text, color);
    }
    pen.job(
        pos2(right, y),
        Align2::RIGHT_CENTER,
        job,
        right - place.right() - pen.len(10.0),
    );
}

/// What a card's GPUs do: `Prefill · TP 4 × 2`; shorter where several pools share it.
pub fn role_words(scene: &Scene, card: &Card) -> Vec<(String, Option<Role>)> {
    let alone = card.mix.len() == 1;
    card.mix
        .iter()
        .map(|(pool, gpus)| match scene.pool(*pool) {
            None => {
                let words = if alone {
                    "idle".to_owned()
                } else {
                    format!("{gpus} idle")
                };
                (words, None)
            }
            Some(pool) => {
                let layout = layout_words(pool.layout);
                let replicas = gpus / pool.layout.gpus().max(1);
                let words = match (alone, replicas) {
                    (true, 0) => format!("{} · {layout}, part", pool.role.name()),
                    (true, n) => format!("{} · {layout} × {n}", pool.role.name()),
                    (false, 0) => format!("{} {gpus}", pool.role.name()),
                    (false, n) => format!("{} {layout} × {n}", pool.role.name()),
                };
                (words, Some(pool.role))
            }
        })
        .collect()
}

fn far(pen: &Pen<'_>, scene: &Scene, card: &Card, rect: Rect) {
    let inner = rect.shrink((rect.height() * 0.12).min(4.0));
    if card.gpus.is_empty() {
        pen.painter
            .rect_filled(inner, CornerRadius::same(1), pen.theme.link);
        return;
    }
    let mix: Vec<(Option<Role>, u32)> = card
        .mix
        .iter()
        .map(|(pool, n)| {
            (
                if *pool == IDLE {
                    None
                } else {
                    scene.role(*pool)
                },
                *n,
            )
        })
        .collect();
    mix_bar(pen, inner, &mix);
    let mut label = if card.count > 1 {
        format!("{} × {}", card.count, card.stride)
    } else {
        card.stride.to_string()
    };
    if let [(Some(role), _)] = mix.as_slice() {
        label = format!("{} {label}", role_letter(*role));
    }
    let font = eframe::egui::FontId::proportional(9.0);
    let galley = pen.painter.layout_no_wrap(label, font, pen.theme.text);
    let pill = Rect::from_center_size(rect.center(), galley.size() + vec2(6.0, 1.0));
    if rect.shrink(1.0).contains_rect(pill) {
        pen.painter.rect_filled(
            pill,
            CornerRadius::same(3),
            pen.theme.card.gamma_multiply(0.9),
        );
        pen.painter
            .galley(pill.center() - galley.size() / 2.0, galley, pen.theme.text);
    }
}

/// The outline of a thing about to be dropped.
pub fn ghost(pen: &Pen<'_>, world: Rect, name: &str) {
    let rect = pen.rect(world);
    let theme = pen.theme;
    pen.painter
        .rect_filled(rect, pen.radius(9.0), theme.accent.gamma_multiply(0.10));
    let corners = [
        rect.left_top(),
        rect.right_top(),
        rect.right_bottom(),
        rect.left_bottom(),
        rect.left_top(),
    ];
    pen.painter.extend(Shape::dashed_line(
        &corners,
        Stroke::new(1.5, theme.accent),
        6.0,
        4.0,
    ));
    pen.text(
        rect.center(),
        Align2::CENTER_CENTER,
        name,
        TITLE,
        theme.accent,
        rect.width() - 12.0,
    );
}
