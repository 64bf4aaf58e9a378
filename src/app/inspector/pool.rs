//! A pool: its role, layout, formats, engine and memory.

use super::design::layout_text;
use super::model::precision_ui;
use super::{Inspected, engine, findings_ui, memory, serving, title_ui};
use crate::app::command::Actions;
use crate::app::theme::space;
use crate::app::totals::{pool_gpu, pool_gpus};
use crate::app::widgets::{Rows, choice, hint, section, text_field};
use crate::model::Model;
use crate::plan::{Change, Degree, Place, Pool, Repair, Role, layout_with, legal_values};
use eframe::egui::{RichText, Ui};

pub(super) fn pool_ui(ui: &mut Ui, view: &Inspected<'_>, pool: &Pool, actions: &mut Actions) {
    let theme = view.theme;
    let rows = Rows::new(theme);
    let gpu = pool_gpu(pool, &view.design.cluster, view.catalog);
    let count = pool_gpus(pool);
    let kind = gpu.map_or_else(|| "GPUs".to_owned(), |g| g.name.clone());
    title_ui(
        ui,
        theme,
        Some(theme.role(Some(pool.role))),
        &pool.name,
        &format!("Pool · {count} × {kind}"),
    );
    let key = |what: &str| format!("{}/{what}", pool.id);

    let name = rows.field(ui, "Name", "", |ui| {
        let typed = text_field(ui, theme, &key("name"), &pool.name);
        (typed.value, typed.response)
    });
    if let Some(name) = name {
        edit(
            view,
            pool,
            actions,
            format!("Name the pool {name}"),
            move |p| p.name = name,
        );
    }
    let role = rows.field(ui, "Role", "What its GPUs do", |ui| {
        choice(ui, key("role"), &pool.role, &Role::ALL, |r| {
            r.name().to_owned()
        })
    });
    if let Some(role) = role {
        let label = format!("Role {}", role.name());
        edit(view, pool, actions, label, move |p| p.role = role);
    }

    section(ui, theme, "Layout");
    layout_ui(ui, view, pool, count, actions);
    section(ui, theme, "Precision");
    precision_ui(ui, view, pool, actions);
    serving::split_ui(ui, view, pool, actions);
    memory_ui(ui, view, pool);
    findings_ui(
        ui,
        view,
        |place| *place == Place::Pool(pool.id.clone()),
        actions,
    );
    engine::engine_ui(ui, view, pool, actions);

    ui.add_space(space::S);
    let remove = ui
        .button(RichText::new("Remove pool").color(theme.error))
        .on_hover_text("Its GPUs become idle");
    if remove.clicked() {
        let repair = Repair {
            label: format!("Remove {}", pool.name),
            change: Change::RemovePool(pool.id.clone()),
        };
        view.edit(actions, repair.label.clone(), None, move |design| {
            repair.apply(design)
        });
    }
}

/// An edit of one pool, a step of its own.
pub(super) fn edit(
    view: &Inspected<'_>,
    pool: &Pool,
    actions: &mut Actions,
    label: impl Into<String>,
    change: impl FnOnce(&mut Pool) + 'static,
) {
    let id = pool.id.clone();
    view.edit(actions, label, None, move |design| {
        if let Some(pool) = design.pool_mut(&id) {
            change(pool);
        }
    });
}

fn memory_ui(ui: &mut Ui, view: &Inspected<'_>, pool: &Pool) {
    let budget = view
        .outcome
        .and_then(|o| o.memory.iter().find(|(id, _)| *id == pool.id));
    if let Some((_, budget)) = budget {
        section(ui, view.theme, "Memory of its fullest GPU");
        memory::bar_ui(ui, view.theme, pool.role, budget, 16.0);
        memory::legend_ui(ui, view.theme, pool.role, budget);
    }
}

/// What a degree is, for people.
const fn help(degree: Degree) -> &'static str {
    match degree {
        Degree::Tp => "Tensor parallelism: ranks that split each layer",
        Degree::Pp => "Pipeline parallelism: stages of consecutive layers",
        Degree::Dp => "Attention data parallelism: lanes with their own requests and KV",
        Degree::Ep => "Expert parallelism: ranks the experts are dealt to; divides TP × DP",
        Degree::Cp => "Context parallelism: ranks that split the tokens of a long prompt",
        Degree::Redundant => {
            "Copies of experts beside the model's own, dealt out with them to balance load (EPLB)"
        }
    }
}

/// What a picker offers: the legal values, and the present one even if it is not.
fn offered(model: Option<&Model>, pool: &Pool, degree: Degree, gpus: u64) -> Vec<u32> {
    let now = degree.of(pool.layout);
    let most = u32::try_from(gpus).unwrap_or(u32::MAX);
    let mut values = match model {
        Some(model) => legal_values(model, pool, degree, most),
        None => (0..=6).map(|power| 1 << power).collect(),
    };
    if !values.contains(&now) {
        values.push(now);
        values.sort_unstable();
    }
    values
}

/// A short name over a narrow field.
const fn short(degree: Degree) -> &'static str {
    match degree {
        Degree::Redundant => "Redundant",
        other => other.name(),
    }
}

fn layout_ui(ui: &mut Ui, view: &Inspected<'_>, pool: &Pool, gpus: u64, actions: &mut Actions) {
    let layout = pool.layout;
    let moe = view.model().is_some_and(|model| model.moe().is_some());
    let gpus = gpus.max(1);
    let shown = |degree: &Degree| match degree {
        Degree::Ep => moe || layout.ep > 1,
        Degree::Redundant => moe || layout.redundant_experts > 0,
        _ => true,
    };
    let fields: Vec<(Degree, Vec<u32>)> = Degree::ALL
        .into_iter()
        .filter(shown)
        .map(|degree| (degree, offered(view.model(), pool, degree, gpus)))
        .collect();
    for row in fields.chunks(ACROSS) {
        degrees_ui(ui, view, pool, row, actions);
    }
    let replica = u64::from(layout.gpus());
    let (replicas, idle) = (gpus / replica.max(1), gpus % replica.max(1));
    let copies = if replicas == 1 { "replica" } else { "replicas" };
    let rest = if idle > 0 {
        format!(" · {idle} GPUs left over")
    } else {
        String::new()
    };
    hint(
        ui,
        view.theme,
        format!(
            "{replicas} {copies} of {replica} GPUs: {}{rest}",
            layout_text(layout, view.model())
        ),
    );
}

/// Pickers in one row.
const ACROSS: usize = 3;

fn degrees_ui(
    ui: &mut Ui,
    view: &Inspected<'_>,
    pool: &Pool,
    fields: &[(Degree, Vec<u32>)],
    actions: &mut Actions,
) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = space::S;
        let width = (ui.available_width() - 2.0 * space::S) / 3.0;
        for (degree, choices) in fields {
            let name = short(*degree);
            ui.vertical(|ui| {
                ui.set_width(width);
                ui.spacing_mut().item_spacing.y = 2.0;
                let label = ui
                    .label(RichText::new(name).small().color(view.theme.text_muted))
                    .on_hover_text(help(*degree));
                let now = degree.of(pool.layout);
                let (chosen, response) =
                    choice(ui, (pool.id.as_str(), name), &now, choices, u32::to_string);
                response.labelled_by(label.id);
                if let Some(n) = chosen {
                    let next = view.model().map_or_else(
                        || degree.set(pool.layout, n),
                        |model| layout_with(model, pool, *degree, n),
                    );
                    edit(view, pool, actions, format!("{name} {n}"), move |p| {
                        p.layout = next
                    });
                }
            });
        }
    });
}
