//! The right panel: everything about what is selected, or about the design if nothing is.

mod design;
mod engine;
mod gpu;
mod group;
mod link;
mod many;
mod memory;
mod model;
mod pool;
mod serving;
mod workload;

pub use memory::{bar_ui, kv_length, legend_ui};

use super::command::{Action, Actions};
use super::edit::Edit;
use super::outcome::DesignOutcome;
use super::selection::{Item, Selection};
use super::style;
use super::theme::{Theme, space, text};
use super::widgets::{finding_card, section};
use crate::catalog::Catalog;
use crate::model::{Model, Models};
use crate::plan::{Design, Place};
use crate::project::Project;
use crate::workload::Trace;
use eframe::egui::{self, RichText, ScrollArea, Ui};

/// What the inspector reads.
pub struct Inspected<'a> {
    /// The document.
    pub project: &'a Project,
    /// The design in view.
    pub design: &'a Design,
    /// Its place among the tabs.
    pub index: usize,
    /// Hardware.
    pub catalog: &'a Catalog,
    /// Models.
    pub models: &'a Models,
    /// What is known of the design.
    pub outcome: Option<&'a DesignOutcome>,
    /// What is selected.
    pub selection: &'a Selection,
    /// Colours.
    pub theme: &'a Theme,
    /// Why the trace can't be read, or that it is being read.
    pub trace_note: Option<String>,
    /// The trace, once it is read.
    pub trace: Option<&'a Trace>,
}

impl Inspected<'_> {
    /// The shape of the design's model; none: a preset the library lacks.
    #[must_use]
    pub fn model(&self) -> Option<&Model> {
        self.design.model.find(self.models)
    }

    fn edit(
        &self,
        actions: &mut Actions,
        label: impl Into<String>,
        key: Option<String>,
        change: impl FnOnce(&mut Design) + 'static,
    ) {
        let edit = Edit::design(label, self.design.id.clone(), change);
        actions.edit(match key {
            Some(key) => edit.merged(format!("{}/{key}", self.design.id)),
            None => edit,
        });
    }
}

/// Draws the panel.
pub fn inspector_ui(ui: &mut Ui, view: &Inspected<'_>, actions: &mut Actions) {
    ScrollArea::vertical()
        .auto_shrink([false, false])
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 6.0;
            let mut items = view.selection.items.iter();
            match (items.next(), items.next()) {
                (None, _) => design::design_ui(ui, view, actions),
                (Some(item), None) => one_ui(ui, view, item, actions),
                (Some(_), Some(_)) => many::many_ui(ui, view, actions),
            }
            ui.add_space(space::L);
        });
}

fn one_ui(ui: &mut Ui, view: &Inspected<'_>, item: &Item, actions: &mut Actions) {
    match item {
        Item::Pool(id) => match view.design.pool(id) {
            Some(pool) => pool::pool_ui(ui, view, pool, actions),
            None => design::design_ui(ui, view, actions),
        },
        Item::Group(id) => match view.design.cluster.group(id) {
            Some(group) => group::group_ui(ui, view, group, actions),
            None => design::design_ui(ui, view, actions),
        },
        Item::Link(id) => match view.design.cluster.link(id) {
            Some(link) => link::link_ui(ui, view, link, actions),
            None => design::design_ui(ui, view, actions),
        },
        Item::Gpu(address) => gpu::gpu_ui(ui, view, address, actions),
    }
}

/// The panel's heading: a coloured dot, the name, and what it is.
fn title_ui(ui: &mut Ui, theme: &Theme, color: Option<egui::Color32>, name: &str, what: &str) {
    ui.horizontal(|ui| {
        if let Some(color) = color {
            super::widgets::dot(ui, color);
        }
        ui.add(
            egui::Label::new(
                RichText::new(name)
                    .font(style::heading(text::TITLE - 1.0))
                    .color(theme.text),
            )
            .truncate(),
        );
    });
    if !what.is_empty() {
        ui.add(egui::Label::new(RichText::new(what).color(theme.text_muted)).wrap());
    }
    ui.add_space(2.0);
}

/// The findings `keep` keeps, with their repairs.
fn findings_ui(
    ui: &mut Ui,
    view: &Inspected<'_>,
    keep: impl Fn(&Place) -> bool,
    actions: &mut Actions,
) {
    let all = view.outcome.map_or(&[][..], |outcome| &outcome.findings);
    let mut found = all.iter().filter(|f| keep(&f.place)).peekable();
    if found.peek().is_none() {
        return;
    }
    section(ui, view.theme, "Findings");
    for finding in found {
        if let Some(repair) = finding_card(ui, view.theme, finding, None) {
            view.edit(actions, repair.label.clone(), None, move |design| {
                repair.apply(design);
            });
        }
    }
}

/// A button that turns to another thing.
fn jump_ui(ui: &mut Ui, theme: &Theme, words: &str, to: Item, actions: &mut Actions) {
    let button = egui::Button::new(RichText::new(words).color(theme.accent))
        .frame(false)
        .truncate();
    if ui.add(button).clicked() {
        actions.push(Action::Select(Selection::one(to)));
    }
}
