//! What fills the fullest GPU of every pool, all designs below each other.

use super::{Shown, empty_ui, what_to_do};
use crate::app::command::{Action, Actions};
use crate::app::inspector::{bar_ui, legend_ui};
use crate::app::selection::{Item, Selection};
use crate::app::theme::{Theme, space};
use crate::app::widgets::dot;
use crate::app::{starter, style};
use crate::plan::{Design, MemoryBudget, Pool};
use eframe::egui::{self, Button, RichText, ScrollArea, Ui};

/// Width of a pool's bar, and between two.
const WIDTH: f32 = 300.0;
const GAP: f32 = 28.0;

pub(super) fn memory_ui(ui: &mut Ui, shown: &Shown<'_>, actions: &mut Actions) {
    let theme = shown.theme();
    let none = |l: &super::Line<'_>| l.outcome.is_none_or(|o| o.memory.is_empty());
    if shown.lines.iter().all(none) {
        let (title, words) = what_to_do(shown);
        empty_ui(ui, theme, &title, &words);
        return;
    }
    ScrollArea::vertical()
        .auto_shrink([false, false])
        .show(ui, |ui| {
            let room = ui.available_width() - space::L;
            let columns = (2..=6_u8)
                .take_while(|n| f32::from(*n) * (WIDTH + GAP) - GAP <= room)
                .last()
                .map_or(1, usize::from);
            let width = WIDTH.min(room);
            for line in &shown.lines {
                let Some(outcome) = line.outcome.filter(|o| !o.memory.is_empty()) else {
                    continue;
                };
                ui.label(
                    RichText::new(format!(
                        "{} {}",
                        starter::letter(line.index),
                        line.design.name
                    ))
                    .family(style::semibold())
                    .color(style::design_color(theme, line.index)),
                );
                let pools: Vec<(&Pool, &MemoryBudget)> = outcome
                    .memory
                    .iter()
                    .filter_map(|(id, budget)| Some((line.design.pool(id)?, budget)))
                    .collect();
                for row in pools.chunks(columns) {
                    ui.horizontal_top(|ui| {
                        for (pool, budget) in row {
                            ui.allocate_ui(egui::vec2(width, 10.0), |ui| {
                                ui.vertical(|ui| {
                                    ui.set_width(width);
                                    pool_ui(ui, theme, line.design, pool, budget, actions);
                                });
                            });
                            ui.add_space(GAP - ui.spacing().item_spacing.x);
                        }
                    });
                }
                ui.add_space(space::M);
            }
        });
}

fn pool_ui(
    ui: &mut Ui,
    theme: &Theme,
    design: &Design,
    pool: &Pool,
    budget: &MemoryBudget,
    actions: &mut Actions,
) {
    ui.spacing_mut().item_spacing.y = space::XS;
    ui.horizontal(|ui| {
        ui.spacing_mut().interact_size.y = 18.0;
        dot(ui, theme.role(Some(pool.role)));
        let name = RichText::new(&pool.name).family(style::medium());
        if ui.add(Button::new(name).frame(false)).clicked() {
            actions.push(Action::Show(design.id.clone()));
            actions.push(Action::Select(Selection::one(Item::Pool(pool.id.clone()))));
        }
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let capacity = format!("{:.1} GiB", budget.capacity.gib());
            ui.label(RichText::new(capacity).small().color(theme.text_muted));
        });
    });
    bar_ui(ui, theme, pool.role, budget, 18.0);
    legend_ui(ui, theme, pool.role, budget);
}
