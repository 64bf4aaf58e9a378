//! The canvas under the hand: real pointer events, things found by their names.

use super::testing::{catalog, design};
use super::*;
use crate::app::palette::{PaletteState, PaletteView, palette_ui};
use crate::cluster::GpuAddress;
use crate::plan::Severity;
use eframe::egui::{Event, Key, Modifiers, MouseWheelUnit, TouchPhase, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;

/// The least window that has a canvas and a palette.
struct Desk {
    design: Design,
    revision: u64,
    catalog: Arc<Catalog>,
    canvas: CanvasState,
    palette: PaletteState,
    selection: Selection,
    tool: Tool,
    theme: Theme,
    findings: Vec<Finding>,
    /// Where the canvas is.
    at: Rect,
    /// Label and merge key of every edit made.
    edits: Vec<(String, Option<String>)>,
}

impl Desk {
    fn ui(&mut self, ui: &mut egui::Ui) {
        let mut asked = crate::app::palette::PaletteOutput::default();
        egui::Panel::left("palette")
            .exact_size(230.0)
            .show(ui, |ui| {
                let view = PaletteView {
                    catalog: &self.catalog,
                    design: &self.design,
                    tool: self.tool,
                    theme: &self.theme,
                };
                asked = palette_ui(ui, &mut self.palette, &view);
            });
        if let Some(part) = asked.arm {
            self.canvas.arm(part);
        }
        let mut output = CanvasOutput::default();
        egui::CentralPanel::default()
            .frame(egui::Frame::new())
            .show(ui, |ui| {
                let view = CanvasView {
                    design: &self.design,
                    revision: self.revision,
                    catalog: &self.catalog,
                    findings: &self.findings,
                    selection: &self.selection,
                    tool: self.tool,
                    theme: &self.theme,
                    memory: &[],
                };
                let canvas = ui.available_rect_before_wrap();
                self.at = canvas;
                output = self.canvas.ui(ui, &view);
                if let Some(part) = &asked.add {
                    self.canvas.add_at_center(canvas, part, &view, &mut output);
                }
            });
        self.tool = output.tool.or(asked.tool).unwrap_or(self.tool);
        if let Some(selection) = output.selection {
            self.selection = selection;
        }
        for edit in output.edits {
            self.edits
                .push((edit.label.clone(), edit.merge.clone().map(|key| key.0)));
            let mut project = project(self.design.clone());
            edit.apply(&mut project);
            self.design = project.designs.remove(0);
            self.revision += 1;
            ui.ctx().request_repaint();
        }
    }
}

/// A project around one design, as edits change projects.
fn project(design: Design) -> crate::project::Project {
    let mut project = crate::project::example(crate::project::FIRST_EXAMPLE).unwrap();
    project.designs = vec![design];
    project
}

fn desk(design: Design) -> Harness<'static, Desk> {
    let desk = Desk {
        design,
        revision: 0,
        catalog: catalog(),
        canvas: CanvasState::default(),
        palette: PaletteState::default(),
        selection: Selection::default(),
        tool: Tool::Select,
        theme: Theme::light(),
        findings: Vec::new(),
        at: Rect::NOTHING,
        edits: Vec::new(),
    };
    let mut harness = Harness::builder()
        .with_size(vec2(1200.0, 800.0))
        .with_max_steps(60)
        .with_step_dt(1.0 / 60.0)
        .build_ui_state(|ui, desk: &mut Desk| desk.ui(ui), desk);
    harness.run();
    harness
}

fn place(harness: &Harness<'_, Desk>, label: &str) -> Pos2 {
    harness.get_by_label(label).rect().center()
}

fn drag(harness: &mut Harness<'_, Desk>, from: Pos2, to: Pos2) {
    harness.hover_at(from);
    harness.drag_at(from);
    harness.run();
    for step in 1..=8u8 {
        harness.hover_at(from.lerp(to, f32::from(step) / 8.0));
        harness.step();
    }
    harness.event(Event::PointerButton {
        pos: to,
        button: egui::PointerButton::Primary,
        pressed: false,
        modifiers: Modifiers::NONE,
    });
    harness.run();
}

fn group(id: &str) -> Item {
    Item::Group(GroupId::new(id).unwrap())
}

#[test]
fn things_are_found_where_they_are_seen() {
    let mut harness = desk(design());
    harness.get_by_label("node h800-1").click();
    harness.run();
    assert_eq!(harness.state().selection, Selection::one(group("h800-1")));
    harness.get_by_label("GPU h20-1/0/3").click();
    harness.run();
    let gpu = GpuAddress {
        group: GroupId::new("h20-1").unwrap(),
        instance: 0,
        slot: 3,
    };
    assert_eq!(harness.state().selection, Selection::one(Item::Gpu(gpu)));
    harness
        .get_by_label("GPU h20-1/0/4")
        .click_modifiers(Modifiers::SHIFT);
    harness.run();
    assert_eq!(harness.state().selection.items.len(), 2);
    harness.get_by_label("link link-1").click();
    harness.run();
    let link = Item::Link(crate::cluster::LinkId::new("link-1").unwrap());
    assert_eq!(harness.state().selection, Selection::one(link));
}

#[test]
fn dragging_a_card_is_one_step_on_the_grid() {
    let mut harness = desk(design());
    let from = place(&harness, "node h800-1");
    let zoom = harness.state().canvas.camera.zoom;
    drag(&mut harness, from, from + vec2(0.0, 51.0) * zoom);
    let state = harness.state();
    let at = state.design.cluster.groups[0].position;
    assert_eq!((at.x, at.y), (0.0, 48.0));
    assert_eq!(state.selection, Selection::one(group("h800-1")));
    let keys: std::collections::BTreeSet<_> =
        state.edits.iter().map(|(_, key)| key.clone()).collect();
    assert!(keys.len() == 1 && !keys.contains(&None), "{keys:?}");
    assert_eq!(state.edits[0].0, "Move H800 node 1");
    // Another drag is another step.
    let from = place(&harness, "node h800-1");
    drag(&mut harness, from, from + vec2(0.0, -51.0) * zoom);
    let keys: std::collections::BTreeSet<_> = harness
        .state()
        .edits
        .iter()
        .map(|(_, key)| key.clone())
        .collect();
    assert_eq!(keys.len(), 2);
}

#[test]
fn escape_puts_a_dragged_card_back() {
    let mut harness = desk(design());
    let from = place(&harness, "node h800-1");
    harness.hover_at(from);
    harness.drag_at(from);
    harness.run();
    harness.hover_at(from + vec2(60.0, 60.0));
    harness.run();
    assert!(harness.state().design.cluster.groups[0].position.x > 0.0);
    harness.key_press(Key::Escape);
    harness.run();
    assert_eq!(
        harness.state().design.cluster.groups[0].position,
        Position::default()
    );
}

#[test]
fn a_stroke_of_the_brush_is_one_edit() {
    let mut harness = desk(design());
    harness.state_mut().tool = Tool::Brush(Some(Role::Decode));
    harness.run();
    let (from, to) = (
        place(&harness, "GPU h800-1/0/0"),
        place(&harness, "GPU h800-1/0/2"),
    );
    drag(&mut harness, from, to);
    let state = harness.state();
    assert_eq!(state.edits.len(), 1);
    assert_eq!(state.edits[0].0, "Paint 3 GPUs decode");
    let pool = state
        .design
        .pools
        .iter()
        .find(|pool| pool.name == "Decode H800")
        .unwrap();
    assert_eq!(pool.gpus[0].to_string(), "h800-1/0/0-2");
    // A click on the title takes the node; what has the role already makes no edit.
    harness.get_by_label("node h800-1").click();
    harness.run();
    assert_eq!(harness.state().edits.len(), 2);
    harness.get_by_label("node h800-1").click();
    harness.run();
    assert_eq!(harness.state().edits.len(), 2);
    harness.key_press(Key::Escape);
    harness.run();
    assert_eq!(harness.state().tool, Tool::Select);
}

#[test]
fn a_link_is_drawn_from_card_to_card_or_refused() {
    let mut harness = desk(design());
    harness.state_mut().tool = Tool::Link(LinkKind::Infiniband);
    harness.run();
    let (idle, leaf, full) = (
        place(&harness, "node h20-2"),
        place(&harness, "switch leaf-1"),
        place(&harness, "node h800-1"),
    );
    drag(&mut harness, idle, leaf);
    assert_eq!(harness.state().design.cluster.links.len(), 3);
    assert_eq!(harness.state().edits[0].0, "Link 8 × InfiniBand");
    drag(&mut harness, full, leaf);
    assert_eq!(harness.state().design.cluster.links.len(), 3);
    let reason = harness.state().canvas.refusal.clone().unwrap().0;
    assert!(reason.contains("8 NICs"), "{reason}");
}

#[test]
fn a_link_can_be_clicked_from_end_to_end() {
    let mut harness = desk(design());
    harness.state_mut().tool = Tool::Link(LinkKind::Roce);
    harness.run();
    for end in ["node h20-2", "switch leaf-1"] {
        harness.get_by_label(end).click();
        harness.run();
    }
    assert_eq!(harness.state().design.cluster.links.len(), 3);
    assert_eq!(harness.state().design.cluster.links[2].kind, LinkKind::Roce);
}

#[test]
fn a_handle_of_a_card_starts_a_link() {
    let mut harness = desk(design());
    let node = harness.state().canvas.scene.cards[3].clone();
    let (camera, leaf) = (
        harness.state().canvas.camera,
        place(&harness, "switch leaf-1"),
    );
    harness.get_by_label("node h20-2").hover();
    harness.run();
    let handle = camera.to_screen(harness.state().at, hit::handles(&node)[1]);
    drag(&mut harness, handle - vec2(2.0, 0.0), leaf);
    assert_eq!(harness.state().design.cluster.links.len(), 3);
}

#[test]
fn a_part_is_dragged_in_from_the_palette() {
    let mut harness = desk(design());
    let (from, to) = (place(&harness, "HGX H800"), pos2(1000.0, 600.0));
    drag(&mut harness, from, to);
    let state = harness.state();
    assert_eq!(state.edits, [("Add H800 node 2".to_owned(), None)]);
    let added = state.design.cluster.groups.last().unwrap();
    assert_eq!(added.position.x % pen::SNAP, 0.0);
    assert_eq!(state.selection, Selection::one(group("h800-2")));
    let card = place(&harness, "node h800-2");
    assert!((card.x - to.x).abs() < 8.0, "{card:?}");
}

#[test]
fn a_part_is_placed_by_a_click_or_added_by_a_double_click() {
    let mut harness = desk(Design {
        cluster: crate::cluster::Cluster::default(),
        pools: Vec::new(),
        ..design()
    });
    harness.get_by_label("HGX H20").click();
    harness.run();
    harness.hover_at(pos2(800.0, 300.0));
    harness.run();
    for pressed in [true, false] {
        harness.event(Event::PointerButton {
            pos: pos2(800.0, 300.0),
            button: egui::PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        });
    }
    harness.run();
    assert_eq!(harness.state().design.cluster.groups.len(), 1);
    // Long enough that this isn't a third click.
    harness.run_steps(60);
    for _ in 0..2 {
        harness.get_by_label("HGX H20").click();
        harness.step();
    }
    harness.run();
    assert_eq!(harness.state().design.cluster.groups.len(), 2);
    let cards = &harness.state().canvas.scene.cards;
    assert!(!cards[0].shape.rect.intersects(cards[1].shape.rect));
}

#[test]
fn a_marquee_takes_what_it_encloses_and_delete_removes_it() {
    let mut harness = desk(design());
    let low = place(&harness, "node h20-2");
    let corner = pos2(harness.state().at.left() + 4.0, low.y - 40.0);
    drag(&mut harness, corner, pos2(1100.0, 740.0));
    assert_eq!(harness.state().selection, Selection::one(group("h20-2")));
    harness.key_press(Key::Delete);
    harness.run();
    assert!(harness.query_by_label("node h20-2").is_none());
    assert_eq!(harness.state().edits.last().unwrap().0, "Delete H20 node 2");
    assert!(harness.state().selection.is_empty());
}

#[test]
fn arrows_nudge_what_is_selected() {
    let mut harness = desk(design());
    harness.get_by_label("node h20-2").click();
    harness.run();
    harness.key_press(Key::ArrowRight);
    harness.key_press_modifiers(Modifiers::SHIFT, Key::ArrowDown);
    harness.run();
    let at = harness.state().design.cluster.groups[3].position;
    assert_eq!((at.x, at.y), (8.0, 500.0));
}

#[test]
fn the_wheel_zooms_and_the_middle_button_pans() {
    let mut harness = desk(design());
    let pointer = pos2(700.0, 400.0);
    let before = harness.state().canvas.camera;
    harness.hover_at(pointer);
    harness.event(Event::MouseWheel {
        unit: MouseWheelUnit::Line,
        delta: vec2(0.0, 2.0),
        modifiers: Modifiers::NONE,
        phase: TouchPhase::Move,
        source: egui::MouseWheelSource::Unknown,
    });
    harness.run();
    let zoomed = harness.state().canvas.camera;
    assert!(zoomed.zoom > before.zoom * 1.2);
    let middle = |pos, pressed| Event::PointerButton {
        pos,
        button: egui::PointerButton::Middle,
        pressed,
        modifiers: Modifiers::NONE,
    };
    harness.event(middle(pointer, true));
    harness.run();
    harness.hover_at(pointer + vec2(90.0, -30.0));
    harness.run();
    harness.event(middle(pointer + vec2(90.0, -30.0), false));
    harness.run();
    let moved = (zoomed.origin - harness.state().canvas.camera.origin) * zoomed.zoom;
    assert!((moved - vec2(90.0, -30.0)).length() < 0.1, "{moved:?}");
    let edits = harness.state().edits.len();
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Num0);
    harness.run();
    assert!((harness.state().canvas.camera.zoom - 1.0).abs() < 1e-4);
    harness.key_press(Key::F);
    harness.run();
    assert_eq!(harness.state().canvas.camera, before);
    assert_eq!(harness.state().edits.len(), edits);
}

#[test]
fn findings_badge_the_card_of_their_pool() {
    let design = design();
    let scene = Scene::build(&design, &catalog());
    let place = crate::plan::Place::Pool(design.pools[1].id.clone());
    let findings = [
        Finding::hint(place.clone(), "worth knowing".to_owned()),
        Finding::error(place, "can’t run".to_owned()),
    ];
    let badges = Badges::of(&design, &scene, &findings);
    let badge = &badges.groups[&GroupId::new("h20-1").unwrap()];
    assert_eq!((badge.severity, badge.causes.len()), (Severity::Error, 2));
}

#[test]
fn the_palette_finds_by_gpu_and_counts_roles() {
    let mut harness = desk(design());
    harness.state_mut().palette.search = "h20".to_owned();
    harness.run();
    assert!(harness.query_by_label("HGX H800").is_none());
    harness.get_by_label("HGX H20");
    harness.state_mut().palette.search = "decode".to_owned();
    harness.run();
    harness.get_by_label("Decode").click();
    harness.run();
    assert_eq!(harness.state().tool, Tool::Brush(Some(Role::Decode)));
}
