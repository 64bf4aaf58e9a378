//! A link bundle: how many, how fast, of what, and how the ends meet.

use super::{Inspected, findings_ui, jump_ui, title_ui};
use crate::app::command::{Actions, UiCommand};
use crate::app::edits;
use crate::app::selection::Item;
use crate::app::theme::space;
use crate::app::widgets::{Rows, choice, count_field, hint, section, typed_field};
use crate::cluster::{Instances, LinkBundle, LinkKind, MAX_PARALLEL, Port, Wiring};
use crate::plan::Place;
use crate::units::{ByteRate, Seconds};
use eframe::egui::{RichText, Ui};

pub(super) fn link_ui(ui: &mut Ui, view: &Inspected<'_>, link: &LinkBundle, actions: &mut Actions) {
    let theme = view.theme;
    let rows = Rows::new(theme);
    let (a, b) = (port_name(view, &link.a), port_name(view, &link.b));
    title_ui(
        ui,
        theme,
        None,
        &format!("{} × {}", link.count, edits::wire_rate(link.rate)),
        &format!("{} link, {a} to {b}", link.kind.name()),
    );
    let kind = rows.field(ui, "Kind", "What it is made of", |ui| {
        choice(
            ui,
            (link.id.as_str(), "kind"),
            &link.kind,
            &LinkKind::ALL,
            |k| k.name().to_owned(),
        )
    });
    if let Some(kind) = kind {
        edit(
            view,
            link,
            actions,
            format!("Make it {}", kind.name()),
            None,
            move |l| l.kind = kind,
        );
    }
    let count = rows.field(ui, "Count", "Parallel links (see wiring)", |ui| {
        count_field(ui, u64::from(link.count), 1..=u64::from(MAX_PARALLEL))
    });
    if let Some(count) = count.and_then(|n| u32::try_from(n).ok()) {
        edit(
            view,
            link,
            actions,
            format!("{count} links"),
            Some("count"),
            move |l| l.count = count,
        );
    }
    let rate = rows.field(
        ui,
        "Rate",
        "Of one link, one direction: 400 Gb/s, 50 GB/s, 400G",
        |ui| {
            let typed = typed_field::<ByteRate>(ui, theme, &format!("{}/rate", link.id), link.rate);
            (typed.value, typed.response)
        },
    );
    if let Some(rate) = rate {
        edit(
            view,
            link,
            actions,
            format!("Rate {rate}"),
            None,
            move |l| l.rate = rate,
        );
    }
    let latency = rows.field(
        ui,
        "Latency",
        "Of one link, software included: 2 us",
        |ui| {
            let typed =
                typed_field::<Seconds>(ui, theme, &format!("{}/latency", link.id), link.latency);
            (typed.value, typed.response)
        },
    );
    if let Some(latency) = latency {
        edit(
            view,
            link,
            actions,
            format!("Latency {latency}"),
            None,
            move |l| l.latency = latency,
        );
    }
    let wiring = rows.field(
        ui,
        "Wiring",
        "How the instances of the two ends meet",
        |ui| {
            choice(
                ui,
                (link.id.as_str(), "wiring"),
                &link.wiring,
                &[Wiring::All, Wiring::Pairwise, Wiring::Rails],
                |w| wiring_name(*w).to_owned(),
            )
        },
    );
    if let Some(wiring) = wiring {
        let label = format!("Wire {}", wiring_name(wiring));
        edit(view, link, actions, label, None, move |l| l.wiring = wiring);
    }
    hint(ui, theme, wiring_text(link.wiring));
    section(ui, theme, "Ends");
    for port in [&link.a, &link.b] {
        let words = port_name(view, port);
        jump_ui(ui, theme, &words, Item::Group(port.group.clone()), actions);
    }
    findings_ui(
        ui,
        view,
        |place| *place == Place::Link(link.id.clone()),
        actions,
    );
    ui.add_space(space::S);
    if ui
        .button(RichText::new("Delete").color(theme.error))
        .clicked()
    {
        actions.command(UiCommand::DeleteSelection);
    }
}

const fn wiring_name(wiring: Wiring) -> &'static str {
    match wiring {
        Wiring::All => "all to all",
        Wiring::Pairwise => "pairwise",
        Wiring::Rails => "rails",
    }
}

const fn wiring_text(wiring: Wiring) -> &'static str {
    match wiring {
        Wiring::All => "Each instance of one end to each of the other, so many links a pair",
        Wiring::Pairwise => "Instance i to instance i, so many links a pair",
        Wiring::Rails => "NIC k of each instance to instance k mod n of the other end",
    }
}

fn port_name(view: &Inspected<'_>, port: &Port) -> String {
    let group = view.design.cluster.group(&port.group);
    match (group, port.instances) {
        (Some(group), Instances::Each) if group.count > 1 => {
            format!("{} (each of {})", group.name, group.count)
        }
        (Some(group), Instances::Each) => group.name.clone(),
        (Some(group), Instances::One(n)) => group.instance_name(n),
        (None, _) => format!("{} (gone)", port.group),
    }
}

fn edit(
    view: &Inspected<'_>,
    link: &LinkBundle,
    actions: &mut Actions,
    label: impl Into<String>,
    key: Option<&str>,
    change: impl FnOnce(&mut LinkBundle) + 'static,
) {
    let id = link.id.clone();
    let key = key.map(|key| format!("{id}/{key}"));
    view.edit(actions, label, key, move |design| {
        if let Some(link) = design.cluster.links.iter_mut().find(|l| l.id == id) {
            change(link);
        }
    });
}
