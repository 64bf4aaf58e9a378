//! The canvas: the drawing of the design in view, and everything the pointer does on it.
//!
//! One response for the whole area, an own camera, and painting in screen space: text is crisp at
//! every zoom and hits are asked of the model. The canvas never changes the document; it hands
//! out edits, a selection, a tool.

mod access;
mod badge;
mod camera;
mod card;
mod gesture;
mod hit;
mod input;
mod looks;
mod menu;
mod overlay;
mod paint_card;
mod paint_tiles;
mod paint_wire;
mod pen;
mod press;
mod scene;
mod tip;
mod toolbar;
mod wire;

pub use camera::Camera;

use super::edit::Edit;
use super::edits;
use super::selection::{Item, Selection};
use super::theme::Theme;
use super::tool::{Part, Tool};
use crate::catalog::Catalog;
use crate::cluster::{GroupId, GroupKind, LinkKind, Position};
use crate::plan::{Design, DesignId, Finding, MemoryBudget, PoolId, Role};
use badge::Badges;
use card::Shape;
use eframe::egui::{self, Pos2, Rect, Sense, Vec2, pos2};
use gesture::{Gesture, snap};
use hit::Hit;
use paint_card::Look;
use pen::{Detail, Pen};
use scene::Scene;
use std::sync::Arc;
use wire::WireKind;

/// How full a pool's GPUs are, shares of their memory.
#[derive(Debug, Clone, PartialEq)]
struct Gauge {
    pool: PoolId,
    /// Weights, buffers, the engine's reserve.
    taken: f32,
    /// KV blocks.
    kv: f32,
    /// More is needed than there is.
    over: bool,
}

impl Gauge {
    fn of(pool: &PoolId, memory: &MemoryBudget) -> Self {
        let capacity = memory.capacity.as_f64().max(1.0);
        let taken: f64 = memory.terms.iter().map(|term| term.bytes.as_f64()).sum();
        #[expect(clippy::cast_possible_truncation, reason = "shares of one")]
        let share = |bytes: f64| (bytes / capacity).clamp(0.0, 1.0) as f32;
        Self {
            pool: pool.clone(),
            taken: share(taken),
            kv: share(memory.kv.as_f64()),
            over: memory.shortfall.is_some(),
        }
    }
}

/// What the canvas shows.
pub struct CanvasView<'a> {
    /// The design in view.
    pub design: &'a Design,
    /// Changes whenever the design does; what the canvas has laid out is kept as long as it doesn't.
    pub revision: u64,
    /// The catalog.
    pub catalog: &'a Arc<Catalog>,
    /// What is wrong with the design.
    pub findings: &'a [Finding],
    /// What is selected.
    pub selection: &'a Selection,
    /// What the pointer does.
    pub tool: Tool,
    /// Colours.
    pub theme: &'a Theme,
    /// Memory of the pools' GPUs; pools left out show no gauge.
    pub memory: &'a [(PoolId, MemoryBudget)],
}

/// What happened on the canvas this frame.
#[derive(Default)]
pub struct CanvasOutput {
    /// Changes to make, in order.
    pub edits: Vec<Edit>,
    /// The selection, if it changed.
    pub selection: Option<Selection>,
    /// The tool, if it changed.
    pub tool: Option<Tool>,
    /// Points on screen per point of the drawing.
    pub zoom: f32,
    /// Where the pointer is in the drawing.
    pub pointer: Option<Position>,
}

/// View state of the canvas: nothing of it is in the document.
#[derive(Default)]
pub struct CanvasState {
    /// The view.
    pub camera: Camera,
    scene: Arc<Scene>,
    shown: Option<(DesignId, u64)>,
    /// Show this as soon as the canvas's size is known.
    wanted: Option<Wanted>,
    /// The user has chosen a view; until then all is shown, also when the window changes.
    touched: bool,
    size: Vec2,
    gesture: Option<Gesture>,
    gestures: u64,
    armed: Option<Part>,
    hover: Hit,
    hover_since: f64,
    /// Where the button was let go: no tooltip covers what was just done there.
    quiet: Option<Pos2>,
    refusal: Option<(String, f64)>,
    last_link: Option<LinkKind>,
    /// A menu was open or a field had the keys when the last frame ended.
    keys_elsewhere: bool,
    last_role: Option<Option<Role>>,
    /// What the context menu was opened on.
    menu: Hit,
}

/// A view to go to.
#[derive(Debug, Clone)]
enum Wanted {
    All,
    Items(Vec<GroupId>),
    Actual,
    Zoom(f32),
}

impl CanvasState {
    /// Shows the whole drawing.
    pub fn fit(&mut self) {
        self.wanted = Some(Wanted::All);
    }

    /// Shows these things.
    pub fn zoom_to(&mut self, selection: &Selection) {
        let groups: Vec<GroupId> = selection
            .items
            .iter()
            .flat_map(|item| self.groups_of(item))
            .collect();
        if !groups.is_empty() {
            self.touched = true;
            self.wanted = Some(Wanted::Items(groups));
        }
    }

    /// Zooms to 100 %.
    pub fn zoom_actual(&mut self) {
        self.touched = true;
        self.wanted = Some(Wanted::Actual);
    }

    /// Zooms in or out around the middle.
    pub fn zoom_by(&mut self, factor: f32) {
        self.touched = true;
        self.wanted = Some(Wanted::Zoom(factor));
    }

    /// The next click on the canvas puts this part there.
    pub fn arm(&mut self, part: Part) {
        self.armed = Some(part);
    }

    /// The edit that deletes what is selected.
    #[must_use]
    pub fn delete(view: &CanvasView<'_>) -> Option<Edit> {
        gesture::delete(view)
    }

    /// The edit that copies the selected groups, and the selection of the copies.
    #[must_use]
    pub fn duplicate(view: &CanvasView<'_>) -> Option<(Edit, Selection)> {
        gesture::duplicate(view)
    }

    /// Everything drawn, selected.
    #[must_use]
    pub fn select_all(view: &CanvasView<'_>) -> Selection {
        let groups = view
            .design
            .cluster
            .groups
            .iter()
            .map(|g| Item::Group(g.id.clone()));
        let links = view
            .design
            .cluster
            .links
            .iter()
            .map(|l| Item::Link(l.id.clone()));
        Selection {
            items: groups.chain(links).collect(),
        }
    }

    /// Draws a part in the middle of the view, where nothing is drawn yet.
    pub fn add_at_center(
        &mut self,
        canvas: Rect,
        part: &Part,
        view: &CanvasView<'_>,
        output: &mut CanvasOutput,
    ) {
        self.armed = None;
        let mut middle = self.camera.view(canvas).center();
        for _ in 0..64 {
            let Some(shape) = part_shape(part, middle, view.catalog) else {
                break;
            };
            let free = !self
                .scene
                .cards
                .iter()
                .any(|card| card.shape.rect.expand(8.0).intersects(shape.rect));
            if free {
                break;
            }
            middle += Vec2::splat(4.0 * pen::SNAP);
        }
        self.drop_part(part, middle, view, output);
    }

    /// Paints the canvas into all the room there is and reacts to the pointer and keys.
    pub fn ui(&mut self, ui: &mut egui::Ui, view: &CanvasView<'_>) -> CanvasOutput {
        let canvas = ui.available_rect_before_wrap();
        let response = ui.allocate_rect(canvas, Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, "Canvas"));
        let mut output = CanvasOutput::default();
        self.refresh(view);
        self.go(canvas);
        let bars = toolbar::Bars::at(canvas);
        let pointer = ui
            .input(|i| i.pointer.latest_pos())
            .filter(|_| response.contains_pointer())
            .filter(|pos| !bars.contains(*pos));
        self.navigate(ui, &response, canvas, pointer, view);
        self.keys(ui, &response, view, &mut output);
        self.point(ui, &response, canvas, pointer, view, &mut output);
        self.drag_in(&response, canvas, view, &mut output);
        if ui.input(|i| i.pointer.any_released()) {
            self.quiet = pointer;
        } else if self.quiet.is_some_and(|at| !near(at, pointer)) {
            self.quiet = None;
        }
        self.paint(ui, canvas, view, pointer, &response);
        self.menu(&response, canvas, view, &mut output);
        access::register(ui, canvas, self.camera, &self.scene);
        toolbar::ui(ui, &bars, self, view, &mut output);
        // From the first change on, the view is the user's.
        self.touched |= !output.edits.is_empty();
        output.zoom = self.camera.zoom;
        output.pointer = pointer.map(|pos| {
            let world = self.camera.to_world(canvas, pos);
            Position {
                x: world.x,
                y: world.y,
            }
        });
        output
    }

    fn groups_of(&self, item: &Item) -> Vec<GroupId> {
        match item {
            Item::Group(id) => vec![id.clone()],
            Item::Gpu(gpu) => vec![gpu.group.clone()],
            Item::Link(id) => self
                .scene
                .wires
                .iter()
                .filter(|wire| wire.kind == WireKind::Link(id.clone()))
                .flat_map(|wire| [wire.a, wire.b])
                .map(|card| self.scene.cards[card].id.clone())
                .collect(),
            Item::Pool(id) => {
                let pool = self.scene.pools.iter().position(|pool| pool.id == *id);
                let has = |card: &&scene::Card| {
                    card.mix.iter().any(|(n, _)| Some(usize::from(*n)) == pool)
                };
                self.scene
                    .cards
                    .iter()
                    .filter(has)
                    .map(|card| card.id.clone())
                    .collect()
            }
        }
    }

    /// Lays the design out anew if it changed.
    fn refresh(&mut self, view: &CanvasView<'_>) {
        let key = (view.design.id.clone(), view.revision);
        if self.shown.as_ref() != Some(&key) {
            self.scene = Arc::new(Scene::build(view.design, view.catalog));
            // Numbers of cards may have changed; what is under the pointer is asked again.
            self.hover = Hit::Empty;
            self.menu = Hit::Empty;
            if let Some(Gesture::Link {
                from, kind, press, ..
            }) = self.gesture.clone()
            {
                self.gesture = self
                    .scene
                    .index
                    .get(&from)
                    .map(|card| Gesture::start_link(&self.scene, view, *card, kind, press));
            }
            self.shown = Some(key);
        }
    }

    fn go(&mut self, canvas: Rect) {
        if canvas.width() < 16.0 || canvas.height() < 16.0 {
            return;
        }
        if !self.touched && self.size != canvas.size() && self.scene.bounds.is_some() {
            self.size = canvas.size();
            self.wanted.get_or_insert(Wanted::All);
        }
        let bounds = match self.wanted.take() {
            None => return,
            Some(Wanted::All) => self.scene.bounds,
            Some(Wanted::Items(groups)) => groups
                .iter()
                .filter_map(|id| self.scene.card(id))
                .map(|card| card.shape.rect)
                .reduce(Rect::union),
            Some(Wanted::Actual) => {
                let factor = 1.0 / self.camera.zoom;
                self.camera.zoom_at(canvas, canvas.center(), factor);
                None
            }
            Some(Wanted::Zoom(factor)) => {
                self.camera.zoom_at(canvas, canvas.center(), factor);
                None
            }
        };
        if let Some(bounds) = bounds {
            self.camera.fit(canvas, bounds);
        }
    }

    /// Puts a part with its middle at a world point and selects it.
    fn drop_part(
        &mut self,
        part: &Part,
        middle: Pos2,
        view: &CanvasView<'_>,
        output: &mut CanvasOutput,
    ) {
        let kind = match part {
            Part::Node(id) => GroupKind::Node(id.clone()),
            Part::Switch(id) => GroupKind::Switch(id.clone()),
            Part::Link(kind) => {
                output.tool = Some(Tool::Link(*kind));
                return;
            }
        };
        let Some(shape) = part_shape(part, middle, view.catalog) else {
            return;
        };
        let position = Position {
            x: shape.rect.left(),
            y: shape.rect.top(),
        };
        let (id, name) = edits::fresh_group(&view.design.cluster, &kind, view.catalog);
        let catalog = Arc::clone(view.catalog);
        output.edits.push(Edit::design(
            format!("Add {name}"),
            view.design.id.clone(),
            move |design| {
                edits::add_group(design, kind, position, &catalog);
            },
        ));
        output.selection = Some(Selection::one(Item::Group(id)));
    }

    fn paint(
        &self,
        ui: &egui::Ui,
        canvas: Rect,
        view: &CanvasView<'_>,
        pointer: Option<Pos2>,
        response: &egui::Response,
    ) {
        let painter = ui.painter_at(canvas);
        let pen = Pen {
            strong: pen::strong(&painter),
            painter,
            canvas,
            camera: self.camera,
            theme: view.theme,
            detail: Detail::at(self.camera.zoom),
        };
        pen.painter.rect_filled(canvas, 0.0, view.theme.canvas);
        pen.grid();
        let badges = Badges::of(view.design, &self.scene, view.findings);
        let seen = self.camera.view(canvas);
        let wires: Vec<_> = self
            .scene
            .wires
            .iter()
            .enumerate()
            .filter(|(_, wire)| wire.bounds.expand(20.0).intersects(seen))
            .map(|(number, wire)| {
                let (selected, badge) = match &wire.kind {
                    WireKind::Link(id) => (
                        view.selection.has(&Item::Link(id.clone())),
                        badges.links.get(id),
                    ),
                    WireKind::Feed => (false, None),
                };
                let look = paint_wire::WireLook {
                    selected,
                    hovered: self.hover == Hit::Wire(number) && self.gesture.is_none(),
                };
                (wire, look, badge)
            })
            .collect();
        for (wire, look, badge) in &wires {
            paint_wire::line(&pen, wire, *look, *badge);
        }
        let looks = self.looks(view, &badges);
        let gauges: Vec<Gauge> = view
            .memory
            .iter()
            .map(|(pool, memory)| Gauge::of(pool, memory))
            .collect();
        let plain = Look::default();
        for (number, card) in self.scene.cards.iter().enumerate() {
            if card.shape.rect.expand(24.0).intersects(seen) {
                let look = looks.get(&number).unwrap_or(&plain);
                paint_card::card(&pen, &self.scene, card, look, &gauges);
            }
        }
        for (wire, look, badge) in &wires {
            paint_wire::label(&pen, wire, *look, *badge);
        }
        self.overlay(&pen, ui, view, pointer, response);
    }
}

/// Whether the pointer rests where it was.
fn near(at: Pos2, pointer: Option<Pos2>) -> bool {
    pointer.is_some_and(|now| now.distance(at) < 4.0)
}

/// The card a part would be, its middle at a world point and its corner on the grid.
fn part_shape(part: &Part, middle: Pos2, catalog: &Catalog) -> Option<Shape> {
    let at = |at: Pos2| match part {
        Part::Node(id) => catalog
            .node(id)
            .map(|node| Shape::node(at, node.gpus, node.nics)),
        Part::Switch(_) => Some(Shape::plain(at)),
        Part::Link(_) => None,
    };
    let corner = middle - at(Pos2::ZERO)?.rect.size() / 2.0;
    at(pos2(snap(corner.x), snap(corner.y)))
}

/// What a part is called.
fn part_name(part: &Part, catalog: &Catalog) -> String {
    match part {
        Part::Node(id) => catalog
            .node(id)
            .map_or_else(|| id.to_string(), |node| node.name.clone()),
        Part::Switch(id) => catalog
            .switch(id)
            .map_or_else(|| id.to_string(), |switch| switch.name.clone()),
        Part::Link(kind) => format!("{} link", kind.name()),
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
