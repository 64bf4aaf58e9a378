//! Where the canvas and the palette are put in: one function each.

use super::App;
use super::command::{Action, Actions};
use super::edit::Edit;
use super::edits;
use super::inspector::Inspected;
use super::selection::{Item, Selection};
use super::tool::Tool;
use super::widgets::{dot, section};
use crate::cluster::{GpuAddress, GroupId, LinkId};
use crate::plan::{Design, Role};
use eframe::egui::{self, Sense, Ui};
use std::collections::BTreeSet;

/// The canvas' own state.
#[derive(Default)]
pub struct Canvas;

/// Draws the palette.
pub fn palette_slot(ui: &mut Ui, view: &Inspected<'_>, tool: Tool, actions: &mut Actions) {
    section(ui, view.theme, "Roles");
    let roles = Role::ALL.into_iter().map(Some).chain([None]);
    for role in roles {
        ui.horizontal(|ui| {
            dot(ui, view.theme.role(role));
            let on = tool == Tool::Brush(role);
            if ui
                .selectable_label(on, role.map_or("Idle", Role::name))
                .clicked()
            {
                actions.push(Action::Tool(Tool::Brush(role)));
            }
        });
    }
}

/// Draws the canvas.
pub fn canvas_slot(ui: &mut Ui, _canvas: &mut Canvas, view: &Inspected<'_>, actions: &mut Actions) {
    ui.painter()
        .rect_filled(ui.max_rect(), 0.0, view.theme.canvas);
    for group in &view.design.cluster.groups {
        let at = ui.max_rect().min + egui::vec2(group.position.x, group.position.y);
        let rect = egui::Rect::from_min_size(at, egui::vec2(180.0, 60.0));
        let response = ui.interact(rect, ui.scope_id().with(&group.id), Sense::click());
        ui.painter().rect_filled(rect, 6.0, view.theme.card);
        ui.painter().text(
            rect.center(),
            egui::Align2::CENTER_CENTER,
            &group.name,
            egui::FontId::proportional(13.0),
            view.theme.text,
        );
        if response.clicked() {
            actions.push(Action::Select(Selection::one(Item::Group(
                group.id.clone(),
            ))));
        }
    }
}

/// Deletes what is selected: groups and links go, pools are dissolved, GPUs become idle.
#[must_use]
pub fn delete_edit(design: &Design, selection: &Selection) -> Option<Edit> {
    if selection.is_empty() {
        return None;
    }
    let items = &selection.items;
    let groups: BTreeSet<GroupId> = items.iter().filter_map(group_of).collect();
    let links: BTreeSet<LinkId> = items
        .iter()
        .filter_map(|item| match item {
            Item::Link(id) => Some(id.clone()),
            _ => None,
        })
        .collect();
    let gpus: BTreeSet<GpuAddress> = items
        .iter()
        .filter_map(|item| match item {
            Item::Gpu(address) => Some(address.clone()),
            _ => None,
        })
        .collect();
    let pools: BTreeSet<_> = items
        .iter()
        .filter_map(|item| match item {
            Item::Pool(id) => Some(id.clone()),
            _ => None,
        })
        .collect();
    let label = match items.len() {
        1 => "Delete".to_owned(),
        n => format!("Delete {n} things"),
    };
    Some(Edit::design(label, design.id.clone(), move |design| {
        edits::remove_links(design, &links);
        edits::remove_groups(design, &groups);
        edits::idle(design, &gpus);
        design.pools.retain(|pool| !pools.contains(&pool.id));
    }))
}

fn group_of(item: &Item) -> Option<GroupId> {
    match item {
        Item::Group(id) => Some(id.clone()),
        _ => None,
    }
}

impl App {
    /// The canvas' zoom, for the status bar.
    pub(super) fn zoom_text(&self) -> String {
        format!("{:.0} %", self.view.zoom * 100.0)
    }
}
