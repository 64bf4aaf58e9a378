//! A pool: its role, layout, formats, engine and memory.

use super::design::layout_text;
use super::model::{heads_and_layers, precision_ui};
use super::{Inspected, engine, findings_ui, memory, title_ui};
use crate::app::command::Actions;
use crate::app::theme::space;
use crate::app::totals::{pool_gpu, pool_gpus};
use crate::app::widgets::{Rows, choice, hint, section, text_field};
use crate::plan::{Change, Layout, Place, Pool, Repair, Role};
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

/// Divisors of `n` up to `most`, and `now` even if it is none.
fn divisors(n: u64, most: u64, now: u32) -> Vec<u32> {
    let mut all: Vec<u32> = (1..=most.min(n).min(4096))
        .filter(|d| n.is_multiple_of(*d))
        .filter_map(|d| u32::try_from(d).ok())
        .collect();
    if !all.contains(&now) {
        all.push(now);
        all.sort_unstable();
    }
    all
}

fn layout_ui(ui: &mut Ui, view: &Inspected<'_>, pool: &Pool, gpus: u64, actions: &mut Actions) {
    let layout = pool.layout;
    let (heads, layers) = heads_and_layers(view.model());
    let moe = view.model().and_then(|m| m.moe());
    let gpus = gpus.max(1);
    let left = |used: u32| (gpus / u64::from(used.max(1))).max(1);
    let tp_choices = divisors(heads, left(layout.pp * layout.dp), layout.tp);
    let pp_choices = divisors(left(layout.tp * layout.dp), u64::from(layers), layout.pp);
    let dp_choices = divisors(left(layout.tp * layout.pp), u64::MAX, layout.dp);
    let mut fields = vec![
        (
            "TP",
            "Tensor parallelism: ranks that split each layer; divides the attention heads",
            layout.tp,
            tp_choices,
        ),
        (
            "PP",
            "Pipeline parallelism: stages of consecutive layers",
            layout.pp,
            pp_choices,
        ),
        (
            "DP",
            "Attention data parallelism: lanes with their own requests and KV",
            layout.dp,
            dp_choices,
        ),
    ];
    if let Some(moe) = moe {
        let ranks = u64::from(layout.tp) * u64::from(layout.dp);
        let mut choices = divisors(ranks, ranks, layout.ep);
        choices.retain(|ep| moe.experts.is_multiple_of(u64::from(*ep)) || *ep == layout.ep);
        fields.push((
            "EP",
            "Expert parallelism: ranks the experts are dealt to; divides TP × DP",
            layout.ep,
            choices,
        ));
    }
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = space::S;
        let width = (ui.available_width() - 3.0 * space::S) / 4.0;
        for (name, help, now, choices) in fields {
            ui.vertical(|ui| {
                ui.set_width(width);
                ui.spacing_mut().item_spacing.y = 2.0;
                let label = ui
                    .label(RichText::new(name).small().color(view.theme.text_muted))
                    .on_hover_text(help);
                let (chosen, response) =
                    choice(ui, (pool.id.as_str(), name), &now, &choices, u32::to_string);
                response.labelled_by(label.id);
                if let Some(n) = chosen {
                    let next = with(layout, name, n);
                    edit(view, pool, actions, format!("{name} {n}"), move |p| {
                        p.layout = next
                    });
                }
            });
        }
    });
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

/// The layout with one number changed; EP follows where the old one no longer divides.
fn with(mut layout: Layout, name: &str, n: u32) -> Layout {
    let all = layout.ep == layout.tp * layout.dp;
    match name {
        "TP" => layout.tp = n,
        "PP" => layout.pp = n,
        "DP" => layout.dp = n,
        _ => {
            layout.ep = n;
            return layout;
        }
    }
    let ranks = layout.tp * layout.dp;
    if layout.ep > 1 && all {
        layout.ep = ranks;
    } else if !ranks.is_multiple_of(layout.ep.max(1)) {
        layout.ep = 1;
    }
    layout
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expert_parallelism_follows_the_ranks() {
        let layout = Layout {
            tp: 2,
            pp: 1,
            dp: 4,
            ep: 8,
            ..Layout::SINGLE
        };
        assert_eq!(with(layout, "DP", 2).ep, 4);
        let partial = Layout { ep: 4, ..layout };
        assert_eq!(with(partial, "DP", 2).ep, 4, "still divides 2 × 2");
        assert_eq!(with(partial, "TP", 1).ep, 4);
        assert_eq!(
            with(
                Layout {
                    ep: 8,
                    tp: 4,
                    dp: 4,
                    pp: 1,
                    ..Layout::SINGLE
                },
                "TP",
                1
            )
            .ep,
            1
        );
        assert_eq!(
            divisors(64, 8, 6),
            [1, 2, 4, 6, 8],
            "an illegal value stays in sight"
        );
    }
}
