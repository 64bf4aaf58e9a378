//! What fills the fullest GPU of every pool, all designs below each other.

use super::{Shown, empty_ui, what_to_do};
use crate::app::command::{Action, Actions};
use crate::app::inspector::{bar_ui, legend_ui};
use crate::app::selection::{Item, Selection};
use crate::app::theme::space;
use crate::app::{starter, style};
use eframe::egui::{self, Button, RichText, ScrollArea, Ui};

pub(super) fn memory_ui(ui: &mut Ui, shown: &Shown<'_>, actions: &mut Actions) {
    let theme = shown.theme();
    let none = |l: &super::Line<'_>| l.outcome.is_none_or(|o| o.memory.is_empty());
    if shown.lines.iter().all(none) {
        let (title, words) = what_to_do(shown);
        empty_ui(ui, theme, &title, &words);
        return;
    }
    ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
        let width = 300.0_f32.min(ui.available_width() - space::L);
        for line in &shown.lines {
            let Some(outcome) = line.outcome.filter(|o| !o.memory.is_empty()) else {
                continue;
            };
            ui.label(
                RichText::new(format!("{} {}", starter::letter(line.index), line.design.name))
                    .family(style::semibold())
                    .color(style::design_color(theme, line.index)),
            );
            ui.horizontal_wrapped(|ui| {
                ui.spacing_mut().item_spacing = egui::vec2(28.0, space::M);
                for (id, budget) in &outcome.memory {
                    let Some(pool) = line.design.pool(id) else { continue };
                    ui.allocate_ui(egui::vec2(width, 10.0), |ui| {
                        ui.vertical(|ui| {
                            ui.set_width(width);
                            ui.spacing_mut().item_spacing.y = space::XS;
                            ui.horizontal(|ui| {
                                crate::app::widgets::dot(ui, theme.role(Some(pool.role)));
                                let name = RichText::new(&pool.name).family(style::medium());
                                if ui.add(Button::new(name).frame(false)).clicked() {
                                    actions.push(Action::Show(line.design.id.clone()));
                                    actions.push(Action::Select(Selection::one(Item::Pool(id.clone()))));
                                }
                                ui.with_layout(
                                    egui::Layout::right_to_left(egui::Align::Center),
                                    |ui| {
                                        ui.label(
                                            RichText::new(format!("{:.1} GiB", budget.capacity.gib()))
                                                .small()
                                                .color(theme.text_muted),
                                        );
                                    },
                                );
                            });
                            bar_ui(ui, theme, pool.role, budget, 18.0);
                            legend_ui(ui, theme, pool.role, budget);
                        });
                    });
                }
            });
            ui.add_space(space::M);
        }
    });
}
