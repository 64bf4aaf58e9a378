//! How pools serve together: what attention and FFN halves send each other, and who takes requests.

use super::Inspected;
use crate::app::command::Actions;
use crate::app::widgets::{Rows, choice, section};
use crate::catalog::Dtype;
use crate::plan::{Pool, Role, Rule, Service, ServiceId, Split};
use eframe::egui::Ui;

/// The split a pool is half of, if it is.
pub(super) fn split_ui(ui: &mut Ui, view: &Inspected<'_>, pool: &Pool, actions: &mut Actions) {
    if !matches!(pool.role, Role::Attention | Role::Ffn) {
        return;
    }
    let own = view
        .design
        .services
        .iter()
        .find_map(|service| match service {
            Service::Afd { id, split, .. } if service.uses(&pool.id) => Some((id, *split)),
            _ => None,
        });
    let Some((id, split)) = own else {
        return;
    };
    section(ui, view.theme, "Attention/FFN split");
    let rows = Rows::new(view.theme);
    let counts: Vec<u32> = (1..=Split::MOST_MICRO_BATCHES).collect();
    let help =
        "Parts a step is dealt into: one is attended while others are at the FFN or on their way";
    let micro_batches = rows.field(ui, "Micro-batches", help, |ui| {
        choice(
            ui,
            format!("{id}/micro"),
            &split.micro_batches,
            &counts,
            ToString::to_string,
        )
    });
    if let Some(count) = micro_batches {
        edit(
            view,
            id,
            actions,
            format!("{count} micro-batches"),
            move |s| {
                s.micro_batches = count;
            },
        );
    }
    let formats = [Dtype::Fp8, Dtype::Bf16];
    let dispatch = rows.field(
        ui,
        "To the FFN",
        "Format of activations sent to the FFN",
        |ui| {
            choice(ui, format!("{id}/out"), &split.dispatch, &formats, |own| {
                own.name().to_owned()
            })
        },
    );
    if let Some(format) = dispatch {
        let label = format!("Send {} to the FFN", format.name());
        edit(view, id, actions, label, move |s| s.dispatch = format);
    }
    let combine = rows.field(
        ui,
        "Back",
        "Format of results sent back to attention",
        |ui| {
            choice(ui, format!("{id}/back"), &split.combine, &formats, |own| {
                own.name().to_owned()
            })
        },
    );
    if let Some(format) = combine {
        let label = format!("Send {} back", format.name());
        edit(view, id, actions, label, move |s| s.combine = format);
    }
    let help = "Which groups of FFN ranks a token goes to: all (Step-3), or those of its experts";
    let broadcast = rows.field(ui, "A token goes to", help, |ui| {
        choice(
            ui,
            format!("{id}/fan"),
            &split.broadcast,
            &[true, false],
            |all| if *all { "all groups" } else { "its experts" }.to_owned(),
        )
    });
    if let Some(all) = broadcast {
        edit(view, id, actions, "Where tokens go", move |s| {
            s.broadcast = all;
        });
    }
}

/// Who takes new and prefilled requests, where there is a choice.
pub(super) fn routing_ui(ui: &mut Ui, view: &Inspected<'_>, actions: &mut Actions) {
    if view.design.pools.is_empty() {
        return;
    }
    section(ui, view.theme, "Routing");
    let rows = Rows::new(view.theme);
    let now = view.design.routing;
    let of = |rule: &Rule| rule.name().to_owned();
    let help = "Which replica or lane takes a new request";
    let entry = rows.field(ui, "New requests", help, |ui| {
        choice(ui, "routing/entry", &now.entry, &Rule::ALL, of)
    });
    if let Some(rule) = entry {
        let label = format!("New requests: {}", rule.name());
        view.edit(actions, label, None, move |design| {
            design.routing.entry = rule;
        });
    }
    let feeds = view
        .design
        .pools
        .iter()
        .any(|own| own.role == Role::Prefill);
    if !feeds {
        return;
    }
    let help = "Which decode lane a prefilled request goes to";
    let handover = rows.field(ui, "Prefilled ones", help, |ui| {
        choice(ui, "routing/handover", &now.handover, &Rule::ALL, of)
    });
    if let Some(rule) = handover {
        let label = format!("Prefilled requests: {}", rule.name());
        view.edit(actions, label, None, move |design| {
            design.routing.handover = rule;
        });
    }
}

fn edit(
    view: &Inspected<'_>,
    id: &ServiceId,
    actions: &mut Actions,
    label: impl Into<String>,
    change: impl FnOnce(&mut Split) + 'static,
) {
    let id = id.clone();
    view.edit(actions, label, None, move |design| {
        for service in &mut design.services {
            if let Service::Afd { id: own, split, .. } = service
                && *own == id
            {
                change(split);
                return;
            }
        }
    });
}
