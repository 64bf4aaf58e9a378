//! A drawn group: its name, type, number, place, and the datasheet of what is in it.

use super::{Inspected, findings_ui, jump_ui, title_ui};
use crate::app::command::{Actions, UiCommand};
use crate::app::edits;
use crate::app::selection::Item;
use crate::app::theme::{Theme, space};
use crate::app::widgets::{
    Rows, choice, count_field, number_field, section, text_field, typed_field,
};
use crate::catalog::{Catalog, Dtype, Gpu, NodeTypeId, ScaleUpKind, Source, SwitchTypeId};
use crate::cluster::{DomainKind, Group, GroupKind, MAX_INSTANCES};
use crate::plan::Place;
use crate::units::ByteRate;
use eframe::egui::{CollapsingHeader, Label, RichText, Ui};

pub(super) fn group_ui(ui: &mut Ui, view: &Inspected<'_>, group: &Group, actions: &mut Actions) {
    let theme = view.theme;
    let rows = Rows::new(theme);
    let what = kind_name(&group.kind, view.catalog);
    let times = if group.count == 1 {
        String::new()
    } else {
        format!("{} × ", group.count)
    };
    title_ui(ui, theme, None, &group.name, &format!("{times}{what}"));

    let name = rows.field(ui, "Name", "", |ui| {
        let typed = text_field(ui, theme, &format!("{}/name", group.id), &group.name);
        (typed.value, typed.response)
    });
    if let Some(name) = name {
        edit(
            view,
            group,
            actions,
            format!("Name it {name}"),
            None,
            move |g| g.name = name,
        );
    }
    kind_field(ui, view, group, &rows, actions);
    let count = rows.field(
        ui,
        "Count",
        "How many of them; numbering never changes",
        |ui| count_field(ui, u64::from(group.count), 1..=u64::from(MAX_INSTANCES)),
    );
    if let Some(count) = count.and_then(|n| u32::try_from(n).ok()) {
        let label = format!("{count} × {}", group.name);
        edit(view, group, actions, label, Some("count"), move |g| {
            g.count = count
        });
    }
    for (axis, now) in [("X", group.position.x), ("Y", group.position.y)] {
        let moved = rows.field(ui, axis, "Where it is drawn", |ui| {
            number_field(ui, f64::from(now), -1e6..=1e6, 1.0, "")
        });
        if let Some(to) = moved {
            #[expect(clippy::cast_possible_truncation, reason = "a place on the canvas")]
            let to = to as f32;
            let label = format!("Move {}", group.name);
            edit(view, group, actions, label, Some(axis), move |g| {
                if axis == "X" {
                    g.position.x = to;
                } else {
                    g.position.y = to;
                }
            });
        }
    }
    let pools = view.design.pools.iter();
    let here: Vec<_> = pools
        .filter(|p| p.gpus.iter().any(|range| range.group == group.id))
        .collect();
    if !here.is_empty() {
        section(ui, theme, "Pools on it");
        for pool in here {
            let role = pool.role.name();
            let words = if pool.name.starts_with(role) {
                pool.name.clone()
            } else {
                format!("{} · {role}", pool.name)
            };
            jump_ui(ui, theme, &words, Item::Pool(pool.id.clone()), actions);
        }
    }
    findings_ui(
        ui,
        view,
        |place| *place == Place::Group(group.id.clone()),
        actions,
    );
    facts_ui(ui, theme, &group.kind, view.catalog);
    ui.add_space(space::S);
    if ui
        .button(RichText::new("Delete").color(theme.error))
        .clicked()
    {
        actions.command(UiCommand::DeleteSelection);
    }
}

fn edit(
    view: &Inspected<'_>,
    group: &Group,
    actions: &mut Actions,
    label: impl Into<String>,
    key: Option<&str>,
    change: impl FnOnce(&mut Group) + 'static,
) {
    let id = group.id.clone();
    let key = key.map(|key| format!("{id}/{key}"));
    view.edit(actions, label, key, move |design| {
        if let Some(group) = design.cluster.group_mut(&id) {
            change(group);
        }
    });
}

/// A kind's name for people.
pub(super) fn kind_name(kind: &GroupKind, catalog: &Catalog) -> String {
    match kind {
        GroupKind::Node(id) => catalog
            .node(id)
            .map_or_else(|| id.to_string(), |n| n.name.clone()),
        GroupKind::Gpu(id) => catalog
            .gpu(id)
            .map_or_else(|| id.to_string(), |g| g.name.clone()),
        GroupKind::Nic(id) => catalog
            .nic(id)
            .map_or_else(|| id.to_string(), |n| n.name.clone()),
        GroupKind::Switch(id) => catalog
            .switch(id)
            .map_or_else(|| id.to_string(), |s| s.name.clone()),
        GroupKind::Domain { kind, .. } => domain_name(*kind),
        GroupKind::Ocs { .. } => "Optical circuit switch".to_owned(),
    }
}

fn domain_name(kind: DomainKind) -> String {
    match kind {
        DomainKind::NvSwitch => "NVSwitch domain".to_owned(),
        DomainKind::FullMesh => "Full mesh".to_owned(),
        DomainKind::Ring => "Ring".to_owned(),
        DomainKind::Torus => "Torus".to_owned(),
        DomainKind::KHopRing { hops } => format!("{hops}-hop ring"),
    }
}

fn kind_field(
    ui: &mut Ui,
    view: &Inspected<'_>,
    group: &Group,
    rows: &Rows<'_>,
    actions: &mut Actions,
) {
    let catalog = view.catalog;
    let others: Vec<GroupKind> = match &group.kind {
        GroupKind::Node(_) => catalog
            .nodes()
            .map(|n| GroupKind::Node(NodeTypeId::clone(&n.id)))
            .collect(),
        GroupKind::Gpu(_) => catalog
            .gpus()
            .map(|g| GroupKind::Gpu(g.id.clone()))
            .collect(),
        GroupKind::Nic(_) => catalog
            .nics()
            .map(|n| GroupKind::Nic(n.id.clone()))
            .collect(),
        GroupKind::Switch(_) => catalog
            .switches()
            .map(|s| GroupKind::Switch(SwitchTypeId::clone(&s.id)))
            .collect(),
        GroupKind::Domain { .. } | GroupKind::Ocs { .. } => {
            return rate_field(ui, view, group, rows, actions);
        }
    };
    let chosen = rows.field(ui, "Type", "Numbers come from the catalog", |ui| {
        choice(ui, (group.id.as_str(), "kind"), &group.kind, &others, |k| {
            kind_name(k, catalog)
        })
    });
    if let Some(kind) = chosen {
        let label = format!("Make it {}", kind_name(&kind, catalog));
        edit(view, group, actions, label, None, move |g| g.kind = kind);
    }
}

/// Rate of a domain's member or an optical switch's port.
fn rate_field(
    ui: &mut Ui,
    view: &Inspected<'_>,
    group: &Group,
    rows: &Rows<'_>,
    actions: &mut Actions,
) {
    let (GroupKind::Domain { rate, .. } | GroupKind::Ocs { rate, .. }) = &group.kind else {
        return;
    };
    let salt = format!("{}/rate", group.id);
    let typed = rows.field(ui, "Rate", "Of one member or port, one direction", |ui| {
        let typed = typed_field::<ByteRate>(ui, view.theme, &salt, *rate);
        (typed.value, typed.response)
    });
    if let Some(new) = typed {
        edit(
            view,
            group,
            actions,
            format!("Rate {new}"),
            None,
            move |g| {
                if let GroupKind::Domain { rate, .. } | GroupKind::Ocs { rate, .. } = &mut g.kind {
                    *rate = new;
                }
            },
        );
    }
}

fn facts_ui(ui: &mut Ui, theme: &Theme, kind: &GroupKind, catalog: &Catalog) {
    let rows = Rows::new(theme);
    match kind {
        GroupKind::Node(id) => {
            let Some(node) = catalog.node(id) else { return };
            if let Some(gpu) = catalog.gpu(&node.gpu) {
                section(ui, theme, &format!("{} × {}", node.gpus, gpu.name));
                gpu_facts_ui(ui, theme, gpu);
            }
            if let Some(nic) = catalog.nic(&node.nic) {
                section(ui, theme, &format!("{} × {}", node.nics, nic.name));
                rows.fact(ui, "Rate", edits::wire_rate(nic.rate));
                rows.fact(ui, "Latency", nic.latency.to_string());
                sources_ui(ui, theme, "nic", &nic.sources);
            }
            section(ui, theme, "Node");
            rows.fact(ui, "Host power", node.host_power.to_string());
            sources_ui(ui, theme, "node", &node.sources);
        }
        GroupKind::Gpu(id) => {
            if let Some(gpu) = catalog.gpu(id) {
                section(ui, theme, &gpu.name);
                gpu_facts_ui(ui, theme, gpu);
            }
        }
        GroupKind::Nic(id) => {
            if let Some(nic) = catalog.nic(id) {
                section(ui, theme, &nic.name);
                rows.fact(ui, "Rate", edits::wire_rate(nic.rate));
                rows.fact(ui, "Latency", nic.latency.to_string());
                sources_ui(ui, theme, "nic", &nic.sources);
            }
        }
        GroupKind::Switch(id) => {
            if let Some(switch) = catalog.switch(id) {
                section(ui, theme, &switch.name);
                rows.fact(
                    ui,
                    "Ports",
                    format!("{} × {}", switch.ports, edits::wire_rate(switch.port_rate)),
                );
                rows.fact(ui, "Latency", switch.latency.to_string());
                rows.fact(ui, "Power", switch.power.to_string());
                sources_ui(ui, theme, "switch", &switch.sources);
            }
        }
        GroupKind::Domain { .. } => {}
        GroupKind::Ocs { ports, .. } => rows.fact(ui, "Ports", ports.to_string()),
    }
}

/// A GPU's datasheet.
pub(super) fn gpu_facts_ui(ui: &mut Ui, theme: &Theme, gpu: &Gpu) {
    let rows = Rows::new(theme);
    rows.fact(
        ui,
        "Memory",
        format!("{:.1} GiB at {}", gpu.memory.gib(), gpu.bandwidth),
    );
    let peaks: Vec<String> = [Dtype::Bf16, Dtype::Fp8, Dtype::Int8, Dtype::Fp4]
        .into_iter()
        .filter(|d| gpu.peaks.has(*d))
        .map(|d| format!("{} {}", d.name(), gpu.peaks.of(d)))
        .collect();
    rows.fact(ui, "Dense peak", peaks.join("\n"));
    let wiring = match gpu.scale_up_kind {
        ScaleUpKind::Switched => "switched",
        ScaleUpKind::FullMesh => "full mesh",
        ScaleUpKind::Pcie => "over PCIe",
    };
    rows.fact(ui, "Scale-up", format!("{}, {wiring}", gpu.scale_up));
    rows.fact(ui, "PCIe", gpu.pcie.to_string());
    rows.fact(ui, "Power", gpu.power.to_string());
    rows.fact(
        ui,
        "Price",
        format!("${:.2}/h ({})", gpu.price.per_hour.get(), gpu.price.date),
    );
    sources_ui(ui, theme, "gpu", &gpu.sources);
}

fn sources_ui(ui: &mut Ui, theme: &Theme, salt: &str, sources: &[Source]) {
    if sources.is_empty() {
        return;
    }
    CollapsingHeader::new(RichText::new("Sources").small().color(theme.text_muted))
        .id_salt(("sources", salt))
        .show(ui, |ui| {
            for source in sources {
                let note = if source.note.is_empty() {
                    String::new()
                } else {
                    format!(" {}", source.note)
                };
                let words = format!("{}: {}.{note}", source.covers, source.cite);
                ui.add(
                    Label::new(RichText::new(words).small().color(theme.text_muted))
                        .wrap()
                        .selectable(true),
                );
            }
        });
}
