//! Cards: nodes with their GPUs, stacks of nodes, switches, loose parts.

use super::card::{HEADER, Inside, PAD};
use super::paint_tiles::{gpus, instances, mix_bar, role_letter, shown_role};
use super::pen::{Detail, Pen, blend};
use super::scene::{Card, CardKind, IDLE, Scene, layout_words};
use super::{Gauge, badge::Badge};
use crate::app::icons;
use crate::plan::Role;
use eframe::egui::text::{LayoutJob, TextFormat};
use eframe::egui::{Align2, Color32, CornerRadius, Pos2, Rect, Shape, Stroke, Vec2, pos2, vec2};
use std::collections::BTreeSet;

/// Title and body sizes, world points.
const TITLE: f32 = 13.5;
const BODY: f32 = 11.0;
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
        let at = if matches!(card.shape.inside, Inside::Plain) {
            pos2(left, rect.center().y)
        } else {
            pos2(left, rect.top() + pen.len(HEADER / 2.0))
        };
        if card.count > 1 {
            // The count is told apart from the name, and stays where the name is cut.
            let count = format!("×{}", card.count);
            let galley = pen
                .painter
                .layout_no_wrap(count, font.clone(), theme.text_muted);
            let place = Align2::RIGHT_CENTER.anchor_size(pos2(right, at.y), galley.size());
            right = place.left() - 4.0;
            pen.painter.galley(place.min, galley, theme.text_muted);
        }
        pen.text_font(
            at,
            Align2::LEFT_CENTER,
            &card.name,
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
                theme.role_ink(Some(role)),
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
            pen.theme.role_ink(*role)
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
