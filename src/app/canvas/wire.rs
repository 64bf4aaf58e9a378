//! Wires: link bundles and KV feeds as smooth lines from card edge to card edge. Ends that share
//! a side of a card are spread along it in the order of where they go, so lines don't cross there.

use super::card::Shape;
use super::scene::Card;
use crate::cluster::LinkId;
use eframe::egui::{Pos2, Rect, Vec2, pos2, vec2};
use std::collections::BTreeMap;

/// Points a line is cut into.
const SAMPLES: u16 = 40;
/// Between ends on a side, where there is room.
const SPREAD: f32 = 34.0;
/// Least room kept to a card's corners.
const CORNER: f32 = 24.0;
/// Beyond this many pairs of wires and cards, wires no longer look for a way around cards.
const MOST_DETOURS: usize = 40_000;
/// Width of a label's letter and height of its pill, world points, for keeping labels apart.
const LETTER: f32 = 6.1;
const PILL: f32 = 20.0;

/// What a wire stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireKind {
    Link(LinkId),
    /// KV from prefill to decode.
    Feed,
}

/// One line of the drawing.
#[derive(Debug, Clone)]
pub struct Wire {
    pub kind: WireKind,
    /// Cards it joins.
    pub a: usize,
    pub b: usize,
    pub label: String,
    /// Parallel links.
    pub count: u32,
    /// The line, world points.
    pub points: Vec<Pos2>,
    /// Middle of the label; none where no place is free.
    pub label_at: Option<Pos2>,
    /// All of it.
    pub bounds: Rect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Left,
    Right,
    Top,
    Bottom,
}

impl Wire {
    pub fn new(kind: WireKind, a: usize, b: usize, label: String, count: u32) -> Self {
        Self {
            kind,
            a,
            b,
            label,
            count,
            points: Vec::new(),
            label_at: None,
            bounds: Rect::NOTHING,
        }
    }

    /// The line and its label.
    pub fn extent(&self) -> Rect {
        let label = self.label_at.map_or(Rect::NOTHING, |middle| {
            Rect::from_center_size(middle, label_size(&self.label))
        });
        self.bounds.union(label)
    }

    /// Distance from a point to the line.
    pub fn distance(&self, point: Pos2) -> f32 {
        self.points
            .windows(2)
            .map(|pair| {
                let along = pair[1] - pair[0];
                let length = along.length_sq().max(1e-6);
                let t = ((point - pair[0]).dot(along) / length).clamp(0.0, 1.0);
                (pair[0] + along * t).distance(point)
            })
            .fold(f32::INFINITY, f32::min)
    }
}

/// The sides of two cards that face each other.
fn sides(a: Rect, b: Rect) -> (Side, Side) {
    let gap_x = (b.left() - a.right()).max(a.left() - b.right());
    let gap_y = (b.top() - a.bottom()).max(a.top() - b.bottom());
    // Fabrics are drawn in rows: prefer to leave downwards unless the other card is far aside.
    if gap_y >= 20.0 && gap_x < gap_y * 4.0 || gap_y > gap_x {
        if b.center().y >= a.center().y {
            (Side::Bottom, Side::Top)
        } else {
            (Side::Top, Side::Bottom)
        }
    } else if b.center().x >= a.center().x {
        (Side::Right, Side::Left)
    } else {
        (Side::Left, Side::Right)
    }
}

/// The sides a wire leaves and arrives at so that it runs behind the fewest other cards; those
/// that face each other if they do as well as any.
fn clear_sides(cards: &[Card], wire: &Wire) -> (Side, Side) {
    let (ra, rb) = (cards[wire.a].shape.rect, cards[wire.b].shape.rect);
    let usual = sides(ra, rb);
    let (right, below) = (
        rb.center().x >= ra.center().x,
        rb.center().y >= ra.center().y,
    );
    let across = if right {
        (Side::Right, Side::Left)
    } else {
        (Side::Left, Side::Right)
    };
    let along = if below {
        (Side::Bottom, Side::Top)
    } else {
        (Side::Top, Side::Bottom)
    };
    let mut tries = vec![usual];
    if rb.left() > ra.right() + CORNER || ra.left() > rb.right() + CORNER {
        tries.extend([across, (across.0, along.1), (along.0, across.1)]);
    }
    if rb.top() > ra.bottom() + CORNER || ra.top() > rb.bottom() + CORNER {
        tries.push(along);
    }
    tries.extend([(Side::Top, Side::Top), (Side::Bottom, Side::Bottom)]);
    let crossed = |(sa, sb): (Side, Side)| {
        let line = curve(
            anchor(&cards[wire.a].shape, sa, 0.0),
            normal(sa),
            anchor(&cards[wire.b].shape, sb, 0.0),
            normal(sb),
            false,
        );
        let bounds = Rect::from_points(&line);
        cards
            .iter()
            .enumerate()
            .filter(|(number, _)| *number != wire.a && *number != wire.b)
            .map(|(_, card)| card.shape.rect.expand(6.0))
            .filter(|rect| {
                rect.intersects(bounds) && line.iter().any(|point| rect.contains(*point))
            })
            .count()
    };
    tries
        .iter()
        .copied()
        .min_by_key(|pair| crossed(*pair))
        .unwrap_or(usual)
}

fn normal(side: Side) -> Vec2 {
    match side {
        Side::Left => vec2(-1.0, 0.0),
        Side::Right => vec2(1.0, 0.0),
        Side::Top => vec2(0.0, -1.0),
        Side::Bottom => vec2(0.0, 1.0),
    }
}

/// The point of a side at a distance from its middle.
fn anchor(shape: &Shape, side: Side, along: f32) -> Pos2 {
    let rect = shape.rect;
    match side {
        Side::Left => pos2(rect.left(), rect.center().y + along),
        Side::Right => pos2(rect.right(), rect.center().y + along),
        Side::Top => pos2(rect.center().x + along, rect.top()),
        Side::Bottom => pos2(rect.center().x + along, rect.bottom()),
    }
}

/// One end of a wire on a side of a card.
struct EndAt {
    /// Sort key: where the wire goes.
    towards: f32,
    wire: usize,
    is_b: bool,
}

/// Gives every wire its line and label.
pub fn route(cards: &[Card], wires: &mut [Wire]) {
    let mut on_side: BTreeMap<(usize, Side), Vec<EndAt>> = BTreeMap::new();
    let mut facing = Vec::with_capacity(wires.len());
    let detours = cards.len().saturating_mul(wires.len()) <= MOST_DETOURS;
    for (number, wire) in wires.iter().enumerate() {
        let (ra, rb) = (cards[wire.a].shape.rect, cards[wire.b].shape.rect);
        let (sa, sb) = if wire.a == wire.b {
            (Side::Right, Side::Bottom)
        } else if detours {
            clear_sides(cards, wire)
        } else {
            sides(ra, rb)
        };
        facing.push((sa, sb));
        for (card, side, other, is_b) in [(wire.a, sa, rb, false), (wire.b, sb, ra, true)] {
            let towards = match side {
                Side::Left | Side::Right => other.center().y,
                Side::Top | Side::Bottom => other.center().x,
            };
            on_side.entry((card, side)).or_default().push(EndAt {
                towards,
                wire: number,
                is_b,
            });
        }
    }
    let mut offsets = vec![(0.0f32, 0.0f32); wires.len()];
    for ((card, side), mut ends) in on_side {
        // Feeds above links that go the same way.
        ends.sort_by(|x, y| {
            let feed = |end: &EndAt| wires[end.wire].kind != WireKind::Feed;
            x.towards
                .total_cmp(&y.towards)
                .then(feed(x).cmp(&feed(y)))
                .then(x.wire.cmp(&y.wire))
        });
        let rect = cards[card].shape.rect;
        let length = match side {
            Side::Left | Side::Right => rect.height(),
            Side::Top | Side::Bottom => rect.width(),
        };
        #[expect(clippy::cast_precision_loss, reason = "few wires end at a side")]
        let last = (ends.len() - 1) as f32;
        let step = if last > 0.0 {
            SPREAD.min((length - 2.0 * CORNER).max(0.0) / last)
        } else {
            0.0
        };
        for (place, end) in ends.iter().enumerate() {
            #[expect(clippy::cast_precision_loss, reason = "few wires end at a side")]
            let along = (place as f32 - last / 2.0) * step;
            if end.is_b {
                offsets[end.wire].1 = along;
            } else {
                offsets[end.wire].0 = along;
            }
        }
    }
    for (number, wire) in wires.iter_mut().enumerate() {
        let ((sa, sb), (oa, ob)) = (facing[number], offsets[number]);
        let (from, to) = (
            anchor(&cards[wire.a].shape, sa, oa),
            anchor(&cards[wire.b].shape, sb, ob),
        );
        wire.points = curve(from, normal(sa), to, normal(sb), wire.a == wire.b);
        wire.bounds = Rect::from_points(&wire.points);
    }
    place_labels(cards, wires);
}

fn curve(from: Pos2, leave: Vec2, to: Pos2, arrive: Vec2, is_loop: bool) -> Vec<Pos2> {
    let reach = if is_loop {
        70.0
    } else {
        let apart = (to - from).dot(leave).abs();
        let aside = if leave == arrive {
            (to - from).length() * 0.25
        } else {
            0.0
        };
        (apart * 0.5).max(aside).clamp(12.0, 240.0)
    };
    let (c1, c2) = (from + leave * reach, to + arrive * reach);
    (0..=SAMPLES)
        .map(|i| {
            let t = f32::from(i) / f32::from(SAMPLES);
            let u = 1.0 - t;
            let sum = from.to_vec2() * (u * u * u)
                + c1.to_vec2() * (3.0 * u * u * t)
                + c2.to_vec2() * (3.0 * u * t * t)
                + to.to_vec2() * (t * t * t);
            sum.to_pos2()
        })
        .collect()
}

/// Labels go where they cover neither a card nor another label: the middle first, on one line,
/// else on two.
fn place_labels(cards: &[Card], wires: &mut [Wire]) {
    const TRIES: [usize; 9] = [20, 17, 23, 14, 26, 11, 29, 8, 32];
    let mut taken: Vec<Rect> = Vec::new();
    for wire in wires.iter_mut() {
        let forms = [Some(wire.label.clone()), two_lines(&wire.label)];
        let found = forms.into_iter().flatten().find_map(|label| {
            let size = label_size(&label);
            TRIES.iter().find_map(|sample| {
                let middle = *wire.points.get(*sample)?;
                let pill = Rect::from_center_size(middle, size).expand(2.0);
                let free = !cards.iter().any(|card| card.shape.rect.intersects(pill))
                    && !taken.iter().any(|other| other.intersects(pill));
                free.then(|| (label.clone(), middle))
            })
        });
        if let Some((label, middle)) = found {
            taken.push(Rect::from_center_size(middle, label_size(&label)));
            wire.label = label;
            wire.label_at = Some(middle);
        }
    }
}

/// About how large a label's pill is, world points.
pub fn label_size(label: &str) -> Vec2 {
    let (letters, lines) = label.lines().fold((0, 0u8), |(letters, lines), line| {
        (line.chars().count().max(letters), lines + 1)
    });
    #[expect(clippy::cast_precision_loss, reason = "labels are short")]
    let width = letters as f32 * LETTER + 18.0;
    vec2(width, 6.0 + f32::from(lines) * (PILL - 6.0))
}

/// The label broken at its middle space, if it has several.
fn two_lines(label: &str) -> Option<String> {
    let middle = label.len() / 2;
    let spaces = label.match_indices(' ').map(|(at, _)| at);
    let cut = spaces.min_by_key(|at| at.abs_diff(middle))?;
    let (first, second) = (label.get(..cut)?, label.get(cut + 1..)?);
    (label.len() > 8).then(|| format!("{first}\n{second}"))
}
