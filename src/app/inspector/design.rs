//! Nothing is selected: the design as a whole, the workload and the limits.

use super::{Inspected, findings_ui, model, serving, title_ui, workload};
use crate::app::command::{Action, Actions, UiCommand};
use crate::app::selection::{Item, Selection};
use crate::app::theme::{RADIUS, Theme, space};
use crate::app::totals::{Totals, pool_gpu, pool_gpus};
use crate::app::widgets::{Rows, dot, hint, key_value, section, text_field};
use crate::app::{starter, style};
use crate::model::Model;
use crate::plan::{Layout, Place, Pool};
use eframe::egui::{self, CornerRadius, Frame, Label, Margin, RichText, Sense, Stroke, Ui};

pub(super) fn design_ui(ui: &mut Ui, view: &Inspected<'_>, actions: &mut Actions) {
    let theme = view.theme;
    let rows = Rows::new(theme);
    let color = style::design_color(theme, view.index);
    let letter = starter::letter(view.index);
    title_ui(ui, theme, Some(color), &format!("Design {letter}"), "");
    totals_ui(ui, view);
    let name = rows.field(ui, "Name", "", |ui| {
        let typed = text_field(
            ui,
            theme,
            &format!("{}/name", view.design.id),
            &view.design.name,
        );
        (typed.value, typed.response)
    });
    if let Some(name) = name {
        view.edit(
            actions,
            format!("Name the design {name}"),
            None,
            move |design| {
                design.name = name;
            },
        );
    }
    model::model_ui(ui, view, actions);
    section(ui, theme, "Pools");
    if view.design.pools.is_empty() {
        hint(
            ui,
            theme,
            "No GPU has a role yet. Choose a role on the left and paint it on GPUs.",
        );
    }
    for pool in &view.design.pools {
        pool_row(ui, view, pool, actions);
    }
    serving::routing_ui(ui, view, actions);
    workload::workload_ui(ui, view, actions);
    findings_ui(
        ui,
        view,
        |place| {
            matches!(
                place,
                Place::Design | Place::Model | Place::Workload | Place::Service(_)
            )
        },
        actions,
    );
    ui.add_space(space::S);
    ui.horizontal(|ui| {
        if ui
            .button("Duplicate")
            .on_hover_text(UiCommand::DuplicateDesign.tooltip())
            .clicked()
        {
            actions.command(UiCommand::DuplicateDesign);
        }
        if view.project.designs.len() > 1
            && ui
                .button(RichText::new("Delete").color(theme.error))
                .on_hover_text(UiCommand::DeleteDesign.tooltip())
                .clicked()
        {
            actions.command(UiCommand::DeleteDesign);
        }
    });
}

fn totals_ui(ui: &mut Ui, view: &Inspected<'_>) {
    let totals = Totals::of(&view.design.cluster, view.catalog);
    ui.add_space(2.0);
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 22.0;
        key_value(ui, view.theme, &totals.gpus.to_string(), "GPUs");
        key_value(ui, view.theme, &totals.price_text(), "rent");
        key_value(ui, view.theme, &totals.power_text(), "power");
    });
    ui.add_space(2.0);
}

/// `TP 4 · DP 2`: only what is not 1.
pub(super) fn layout_text(layout: Layout, model: Option<&Model>) -> String {
    let moe = model.is_none_or(|m| m.moe().is_some());
    let parts: Vec<String> = [
        ("TP", layout.tp),
        ("PP", layout.pp),
        ("DP", layout.dp),
        ("EP", if moe { layout.ep } else { 1 }),
        ("CP", layout.cp),
    ]
    .into_iter()
    .filter(|(name, n)| *n > 1 || *name == "TP")
    .map(|(name, n)| format!("{name} {n}"))
    .collect();
    parts.join(" · ")
}

fn pool_row(ui: &mut Ui, view: &Inspected<'_>, pool: &Pool, actions: &mut Actions) {
    let theme = view.theme;
    let count = pool_gpus(pool);
    let gpu = pool_gpu(pool, &view.design.cluster, view.catalog);
    let what = gpu.map_or_else(|| "GPUs".to_owned(), |g| g.name.clone());
    let sense = egui::UiBuilder::new().sense(Sense::click());
    let row = ui.scope_builder(sense, |ui| {
        let hovered = ui.response().hovered();
        row_frame(theme, hovered).show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.spacing_mut().item_spacing.y = 1.0;
            ui.horizontal(|ui| {
                dot(ui, theme.role(Some(pool.role)));
                ui.add(Label::new(RichText::new(&pool.name).family(style::medium())).truncate());
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    // Most pools are called what they do; once is enough.
                    if pool.name.starts_with(pool.role.name()) {
                        return;
                    }
                    ui.label(
                        RichText::new(pool.role.name()).color(theme.role_ink(Some(pool.role))),
                    );
                });
            });
            let layout = layout_text(pool.layout, view.model());
            ui.add(
                Label::new(
                    RichText::new(format!("{count} × {what} · {layout}"))
                        .small()
                        .color(theme.text_muted),
                )
                .wrap(),
            );
        });
    });
    let response = row.response;
    response.widget_info(|| {
        egui::WidgetInfo::labeled(egui::Role::Button, true, format!("Pool {}", pool.name))
    });
    if response.clicked() {
        actions.push(Action::Select(Selection::one(Item::Pool(pool.id.clone()))));
    }
}

fn row_frame(theme: &Theme, hovered: bool) -> Frame {
    Frame::new()
        .fill(if hovered {
            theme.card_hover
        } else {
            theme.card
        })
        .stroke(Stroke::new(1.0, theme.line))
        .corner_radius(CornerRadius::same(RADIUS))
        .inner_margin(Margin::symmetric(10, 7))
}
