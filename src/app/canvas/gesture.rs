//! What the pointer is in the middle of: panning, moving, a marquee, a link, a brush stroke.
//!
//! Gestures read the document and hand out edits; a stroke of the brush is one edit at its end,
//! a move a series of edits with one merge key, so each is one undo step.

use super::hit::{Hit, edge_towards, hit};
use super::pen::SNAP;
use super::scene::{ABSENT, Scene};
use super::wire::WireKind;
use super::{CanvasOutput, CanvasView};
use crate::app::edit::Edit;
use crate::app::edits::{self, LinkProposal};
use crate::app::selection::{Item, Selection};
use crate::cluster::{GpuAddress, GroupId, LinkKind, Position};
use crate::plan::{PoolId, Role};
use eframe::egui::{Modifiers, Pos2, Rect, Vec2};
use std::collections::BTreeSet;

/// Step of a brush stroke between two pointer events, points on screen.
const STROKE_STEP: f32 = 4.0;

/// A gesture under way.
#[derive(Debug, Clone)]
pub enum Gesture {
    Pan,
    Move {
        /// World point it was grabbed at.
        from: Pos2,
        /// Where the groups were; the grabbed one first.
        starts: Vec<(GroupId, Position)>,
        key: String,
        /// Distance already handed out.
        done: Vec2,
    },
    Marquee {
        from: Pos2,
        /// What was selected before and stays.
        base: Selection,
    },
    Link {
        from: GroupId,
        kind: LinkKind,
        /// Screen point of the press: a click there keeps the line on the pointer.
        press: Pos2,
        /// Cards it may end at.
        legal: Vec<bool>,
    },
    Brush {
        role: Option<Role>,
        gpus: BTreeSet<GpuAddress>,
        /// Last world point.
        last: Pos2,
    },
}

/// Rounds to the grid.
pub fn snap(x: f32) -> f32 {
    (x / SNAP).round() * SNAP
}

/// `H800 node 1`, or `3 things`.
fn names(view: &CanvasView<'_>, groups: &BTreeSet<GroupId>) -> String {
    match groups.first().filter(|_| groups.len() == 1) {
        Some(id) => view
            .design
            .cluster
            .group(id)
            .map_or_else(|| id.to_string(), |g| g.name.clone()),
        None => format!("{} things", groups.len()),
    }
}

/// Groups of a selection: the selected ones and those of selected GPUs are not the same; a drag
/// and a deletion take only whole groups.
pub fn selected_groups(selection: &Selection) -> BTreeSet<GroupId> {
    selection
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Group(id) => Some(id.clone()),
            _ => None,
        })
        .collect()
}

/// The items a click on something stands for.
pub fn items_of(scene: &Scene, hit: Hit) -> Vec<Item> {
    match hit {
        Hit::Empty | Hit::Handle { .. } => Vec::new(),
        Hit::Card(card) => vec![Item::Group(scene.cards[card].id.clone())],
        Hit::Gpu {
            card,
            instance,
            slot,
        } => vec![Item::Gpu(scene.cards[card].address(instance, slot))],
        Hit::Cell { card, cell } => {
            let card = &scene.cards[card];
            card.addresses(card.cell_instances(cell))
                .into_iter()
                .map(Item::Gpu)
                .collect()
        }
        Hit::Wire(wire) => match &scene.wires[wire].kind {
            WireKind::Link(id) => vec![Item::Link(id.clone())],
            WireKind::Feed => Vec::new(),
        },
    }
}

/// The selection after a click.
pub fn click(scene: &Scene, selection: &Selection, hit: Hit, modifiers: Modifiers) -> Selection {
    let items = items_of(scene, hit);
    if !(modifiers.shift || modifiers.command || modifiers.ctrl) {
        return Selection {
            items: items.into_iter().collect(),
        };
    }
    let mut after = selection.clone();
    let all_in = !items.is_empty() && items.iter().all(|item| after.has(item));
    for item in items {
        if all_in || !after.has(&item) {
            after.toggle(item);
        }
    }
    after
}

/// The pool a GPU under a point is in.
pub fn pool_at(scene: &Scene, hit: Hit) -> Option<PoolId> {
    let Hit::Gpu {
        card,
        instance,
        slot,
    } = hit
    else {
        return None;
    };
    scene
        .pool(scene.cards[card].gpu(instance, slot))
        .map(|pool| pool.id.clone())
}

impl Gesture {
    /// Grabs the groups at a hit, selecting them first if they aren't.
    pub fn start_move(
        scene: &Scene,
        view: &CanvasView<'_>,
        at: Hit,
        from: Pos2,
        number: u64,
        output: &mut CanvasOutput,
    ) -> Option<Self> {
        let grabbed = scene.cards[at.card()?].id.clone();
        let mut groups = selected_groups(view.selection);
        if !groups.contains(&grabbed) {
            groups = BTreeSet::from([grabbed.clone()]);
            output.selection = Some(Selection::one(Item::Group(grabbed.clone())));
        }
        let position = |id: &GroupId| view.design.cluster.group(id).map(|group| group.position);
        let mut starts = vec![(grabbed.clone(), position(&grabbed)?)];
        starts.extend(
            groups
                .into_iter()
                .filter(|id| *id != grabbed)
                .filter_map(|id| position(&id).map(|at| (id, at))),
        );
        Some(Self::Move {
            from,
            starts,
            key: format!("canvas-move-{number}"),
            done: Vec2::ZERO,
        })
    }

    /// Starts a link at a card.
    pub fn start_link(
        scene: &Scene,
        view: &CanvasView<'_>,
        card: usize,
        kind: LinkKind,
        press: Pos2,
    ) -> Self {
        let from = scene.cards[card].id.clone();
        let legal = scene
            .cards
            .iter()
            .map(|to| edits::can_connect(view.design, &from, &to.id, kind, view.catalog).is_ok())
            .collect();
        Self::Link {
            from,
            kind,
            press,
            legal,
        }
    }

    /// Starts a stroke; on a card's title it takes the whole card.
    pub fn start_brush(scene: &Scene, at: Hit, role: Option<Role>, point: Pos2) -> Self {
        let gpus = match at {
            Hit::Card(card) => scene.cards[card].addresses(0..scene.cards[card].count),
            _ => touched(scene, at),
        };
        Self::Brush {
            role,
            gpus,
            last: point,
        }
    }

    /// Follows the pointer to a world point.
    pub fn follow(
        &mut self,
        scene: &Scene,
        view: &CanvasView<'_>,
        zoom: f32,
        point: Pos2,
        free: bool,
        output: &mut CanvasOutput,
    ) {
        match self {
            Self::Move {
                from,
                starts,
                key,
                done,
            } => {
                let mut by = point - *from;
                if let (false, Some((_, start))) = (free, starts.first()) {
                    by = Vec2::new(
                        snap(start.x + by.x) - start.x,
                        snap(start.y + by.y) - start.y,
                    );
                }
                by = (by * 10.0).round() / 10.0;
                if by != *done {
                    *done = by;
                    output.edits.push(place(view, starts, by, key));
                }
            }
            Self::Marquee { from, base } => {
                let area = Rect::from_two_pos(*from, point);
                // Rightwards takes what is enclosed, leftwards also what is touched.
                let enclosing = point.x >= from.x;
                let mut selection = base.clone();
                for card in &scene.cards {
                    let rect = card.shape.rect;
                    if if enclosing {
                        area.contains_rect(rect)
                    } else {
                        area.intersects(rect)
                    } {
                        selection.items.insert(Item::Group(card.id.clone()));
                    }
                }
                if selection != *view.selection {
                    output.selection = Some(selection);
                }
            }
            Self::Brush { gpus, last, .. } => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "bounded, and float casts saturate"
                )]
                let steps = ((point - *last).length() * zoom / STROKE_STEP)
                    .ceil()
                    .clamp(1.0, 500.0) as u16;
                for step in 1..=steps {
                    let t = f32::from(step) / f32::from(steps);
                    gpus.extend(touched(scene, hit(scene, zoom, last.lerp(point, t), None)));
                }
                *last = point;
            }
            Self::Pan | Self::Link { .. } => {}
        }
    }

    /// The bundle a link under way would make where the pointer is, or why there is none.
    pub fn proposal(
        &self,
        view: &CanvasView<'_>,
        scene: &Scene,
        at: Hit,
    ) -> Option<Result<LinkProposal, String>> {
        let Self::Link { from, kind, .. } = self else {
            return None;
        };
        let to = &scene.cards[at.card()?].id;
        (to != from).then(|| edits::can_connect(view.design, from, to, *kind, view.catalog))
    }

    /// Undoes what it has done so far.
    pub fn cancel(&self, view: &CanvasView<'_>, output: &mut CanvasOutput) {
        match self {
            Self::Move {
                starts, key, done, ..
            } if *done != Vec2::ZERO => {
                output.edits.push(place(view, starts, Vec2::ZERO, key));
            }
            Self::Marquee { base, .. } => output.selection = Some(base.clone()),
            _ => {}
        }
    }

    /// Where a link under way starts, towards a world point.
    pub fn link_start(&self, scene: &Scene, towards: Pos2) -> Option<Pos2> {
        match self {
            Self::Link { from, .. } => scene.card(from).map(|card| edge_towards(card, towards)),
            _ => None,
        }
    }
}

fn place(view: &CanvasView<'_>, starts: &[(GroupId, Position)], by: Vec2, key: &str) -> Edit {
    let places: Vec<(GroupId, Position)> = starts
        .iter()
        .map(|(id, start)| {
            let position = Position {
                x: start.x + by.x,
                y: start.y + by.y,
            };
            (id.clone(), position)
        })
        .collect();
    let groups = starts.iter().map(|(id, _)| id.clone()).collect();
    Edit::design(
        format!("Move {}", names(view, &groups)),
        view.design.id.clone(),
        move |design| {
            edits::place_groups(design, &places);
        },
    )
    .merged(key)
}

/// The GPUs a brush paints at a point; a card's empty ground is none.
fn touched(scene: &Scene, at: Hit) -> BTreeSet<GpuAddress> {
    match at {
        Hit::Gpu {
            card,
            instance,
            slot,
        } if scene.cards[card].gpu(instance, slot) != ABSENT => {
            BTreeSet::from([scene.cards[card].address(instance, slot)])
        }
        Hit::Cell { card, cell } => {
            let card = &scene.cards[card];
            card.addresses(card.cell_instances(cell))
        }
        _ => BTreeSet::new(),
    }
}

/// The edit of a brush stroke; none if it changes nothing.
pub fn stroke(
    view: &CanvasView<'_>,
    scene: &Scene,
    role: Option<Role>,
    gpus: BTreeSet<GpuAddress>,
) -> Option<Edit> {
    let target = target_pool(view, role);
    let changes = gpus.iter().any(|gpu| {
        let number = scene
            .card(&gpu.group)
            .map(|card| card.gpu(gpu.instance, gpu.slot));
        let pool = number.and_then(|number| scene.pool(number));
        match (&target, pool) {
            (Some(target), Some(pool)) => pool.id != *target,
            _ => pool.map(|pool| pool.role) != role,
        }
    });
    if !changes {
        return None;
    }
    let what = if gpus.len() == 1 {
        "1 GPU".to_owned()
    } else {
        format!("{} GPUs", gpus.len())
    };
    let label = match role {
        Some(role) => format!("Paint {what} {}", role.name().to_lowercase()),
        None => format!("Make {what} idle"),
    };
    let catalog = std::sync::Arc::clone(view.catalog);
    Some(Edit::design(label, view.design.id.clone(), move |design| {
        edits::paint(design, &gpus, role, target.as_ref(), &catalog);
    }))
}

/// The one selected pool, if it has the brush's role: painting then goes there.
fn target_pool(view: &CanvasView<'_>, role: Option<Role>) -> Option<PoolId> {
    let mut pools = view.selection.items.iter().filter_map(|item| match item {
        Item::Pool(id) => Some(id),
        _ => None,
    });
    let (only, None) = (pools.next()?, pools.next()) else {
        return None;
    };
    view.design
        .pool(only)
        .filter(|pool| Some(pool.role) == role)
        .map(|pool| pool.id.clone())
}

/// Deletes what is selected: groups and links go, GPUs become idle, pools are dissolved.
pub fn delete(view: &CanvasView<'_>) -> Option<Edit> {
    let groups = selected_groups(view.selection);
    let (mut links, mut gpus, mut pools) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for item in &view.selection.items {
        match item {
            Item::Link(id) => {
                links.insert(id.clone());
            }
            Item::Gpu(gpu) if !groups.contains(&gpu.group) => {
                gpus.insert(gpu.clone());
            }
            Item::Pool(id) => {
                pools.insert(id.clone());
            }
            Item::Group(_) | Item::Gpu(_) => {}
        }
    }
    let label = match (groups.len(), links.len(), gpus.len(), pools.len()) {
        (0, 0, 0, 0) => return None,
        (_, 0, 0, 0) => format!("Delete {}", names(view, &groups)),
        (0, 1, 0, 0) => "Delete link".to_owned(),
        (0, n, 0, 0) => format!("Delete {n} links"),
        (0, 0, 1, 0) => "Make 1 GPU idle".to_owned(),
        (0, 0, n, 0) => format!("Make {n} GPUs idle"),
        (0, 0, 0, 1) => "Dissolve pool".to_owned(),
        _ => format!("Delete {} things", view.selection.items.len()),
    };
    Some(Edit::design(label, view.design.id.clone(), move |design| {
        edits::remove_links(design, &links);
        edits::remove_groups(design, &groups);
        edits::idle(design, &gpus);
        design.pools.retain(|pool| !pools.contains(&pool.id));
    }))
}

/// Moves the selected groups by some grid steps.
pub fn nudge(view: &CanvasView<'_>, by: Vec2) -> Option<Edit> {
    let groups = selected_groups(view.selection);
    if groups.is_empty() || by == Vec2::ZERO {
        return None;
    }
    let label = format!("Move {}", names(view, &groups));
    // Presses in a row are one step as long as the same things are selected.
    let key = format!(
        "canvas-nudge-{}",
        groups
            .iter()
            .map(GroupId::as_str)
            .collect::<Vec<_>>()
            .join(",")
    );
    Some(
        Edit::design(label, view.design.id.clone(), move |design| {
            edits::move_groups(design, &groups, by.x, by.y);
        })
        .merged(key),
    )
}

/// Copies the selected groups; returns the edit and the copies' selection.
pub fn duplicate(view: &CanvasView<'_>) -> Option<(Edit, Selection)> {
    const AWAY: f32 = 4.0 * SNAP;
    let groups = selected_groups(view.selection);
    if groups.is_empty() {
        return None;
    }
    // Ids follow from the drawing alone: a rehearsal tells what the copies will be called.
    let mut rehearsal = view.design.clone();
    let copies = edits::duplicate_groups(&mut rehearsal, &groups, AWAY, AWAY, view.catalog);
    let label = format!("Duplicate {}", names(view, &groups));
    let catalog = std::sync::Arc::clone(view.catalog);
    let edit = Edit::design(label, view.design.id.clone(), move |design| {
        edits::duplicate_groups(design, &groups, AWAY, AWAY, &catalog);
    });
    let selection = Selection {
        items: copies.into_iter().map(Item::Group).collect(),
    };
    Some((edit, selection))
}
