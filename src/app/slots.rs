//! The canvas and the palette in the window: what they are shown, and what becomes of their
//! answers.

use super::canvas::{CanvasOutput, CanvasState, CanvasView};
use super::command::{Action, Actions};
use super::edit::Edit;
use super::edits;
use super::inspector::Inspected;
use super::palette::{PaletteOutput, PaletteState, PaletteView, palette_ui};
use super::selection::{Item, Selection};
use super::tool::{Part, Tool};
use crate::catalog::Catalog;
use crate::cluster::{GpuAddress, GroupId, LinkId};
use crate::plan::Design;
use eframe::egui::Ui;
use std::collections::BTreeSet;
use std::sync::Arc;

/// View state of both.
#[derive(Default)]
pub struct Slots {
    canvas: CanvasState,
    palette: PaletteState,
    /// A part to draw in the middle of the view.
    add: Option<Part>,
}

impl Slots {
    /// Shows the whole drawing.
    pub fn fit(&mut self) {
        self.canvas.fit();
    }

    /// Draws the palette.
    pub fn palette(
        &mut self,
        ui: &mut Ui,
        view: &Inspected<'_>,
        tool: Tool,
        actions: &mut Actions,
    ) {
        let shown = PaletteView {
            catalog: view.catalog,
            design: view.design,
            tool,
            theme: view.theme,
        };
        let PaletteOutput { add, arm, tool } = palette_ui(ui, &mut self.palette, &shown);
        if let Some(part) = arm {
            self.canvas.arm(part);
        }
        if let Some(tool) = tool {
            actions.push(Action::Tool(tool));
        }
        self.add = add;
    }

    /// Draws the canvas; its zoom.
    pub fn canvas(
        &mut self,
        ui: &mut Ui,
        view: &Inspected<'_>,
        catalog: &Arc<Catalog>,
        revision: u64,
        tool: Tool,
        actions: &mut Actions,
    ) -> f32 {
        let shown = CanvasView {
            design: view.design,
            revision,
            catalog,
            findings: view.outcome.map_or(&[], |o| &o.findings),
            selection: view.selection,
            tool,
            theme: view.theme,
            memory: view.outcome.map_or(&[], |o| &o.memory),
        };
        let area = ui.available_rect_before_wrap();
        let mut output = self.canvas.ui(ui, &shown);
        if let Some(part) = self.add.take() {
            self.canvas.add_at_center(area, &part, &shown, &mut output);
        }
        let CanvasOutput {
            edits,
            selection,
            tool,
            zoom,
            ..
        } = output;
        for edit in edits {
            actions.edit(edit);
        }
        if let Some(selection) = selection {
            actions.push(Action::Select(selection));
        }
        if let Some(tool) = tool {
            actions.push(Action::Tool(tool));
        }
        zoom
    }
}

/// Deletes what is selected: groups and links go, pools are dissolved, GPUs become idle.
#[must_use]
pub fn delete_edit(design: &Design, selection: &Selection) -> Option<Edit> {
    if selection.is_empty() {
        return None;
    }
    let items = &selection.items;
    let mut groups: BTreeSet<GroupId> = BTreeSet::new();
    let mut links: BTreeSet<LinkId> = BTreeSet::new();
    let mut gpus: BTreeSet<GpuAddress> = BTreeSet::new();
    let mut pools = BTreeSet::new();
    for item in items.iter().cloned() {
        match item {
            Item::Group(id) => drop(groups.insert(id)),
            Item::Link(id) => drop(links.insert(id)),
            Item::Gpu(address) => drop(gpus.insert(address)),
            Item::Pool(id) => drop(pools.insert(id)),
        }
    }
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
