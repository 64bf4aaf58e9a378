//! Several things are selected: how many of each sort, and what can be done with all of them.

use super::{Inspected, jump_ui, title_ui};
use crate::app::command::{Actions, UiCommand};
use crate::app::selection::Item;
use crate::app::theme::space;
use crate::app::totals::Totals;
use crate::app::widgets::{Rows, section};
use crate::cluster::Cluster;
use crate::plan::PoolId;
use eframe::egui::{RichText, Ui};
use std::collections::BTreeSet;

pub(super) fn many_ui(ui: &mut Ui, view: &Inspected<'_>, actions: &mut Actions) {
    let theme = view.theme;
    let rows = Rows::new(theme);
    let items = &view.selection.items;
    title_ui(
        ui,
        theme,
        None,
        &format!("{} things", items.len()),
        "selected",
    );
    let count = |test: fn(&Item) -> bool| items.iter().filter(|i| test(i)).count();
    for (words, n) in [
        ("Groups", count(|i| matches!(i, Item::Group(_)))),
        ("GPUs", count(|i| matches!(i, Item::Gpu(_)))),
        ("Links", count(|i| matches!(i, Item::Link(_)))),
        ("Pools", count(|i| matches!(i, Item::Pool(_)))),
    ] {
        if n > 0 {
            rows.fact(ui, words, n.to_string());
        }
    }
    let groups = items.iter().filter_map(|item| match item {
        Item::Group(id) => view.design.cluster.group(id).cloned(),
        _ => None,
    });
    let part = Cluster {
        groups: groups.collect(),
        links: Vec::new(),
    };
    if !part.groups.is_empty() {
        let totals = Totals::of(&part, view.catalog);
        section(ui, theme, "Together");
        rows.fact(ui, "GPUs", totals.gpus.to_string());
        rows.fact(ui, "Rent", totals.price_text());
        rows.fact(ui, "Power", totals.power_text());
    }
    let pools: BTreeSet<&PoolId> = items
        .iter()
        .filter_map(|item| match item {
            Item::Gpu(address) => view.design.pool_of(address).map(|p| &p.id),
            Item::Pool(id) => Some(id),
            _ => None,
        })
        .collect();
    if !pools.is_empty() {
        section(ui, theme, "Pools");
        for pool in pools.into_iter().filter_map(|id| view.design.pool(id)) {
            let words = format!("{} · {}", pool.name, pool.role.name());
            jump_ui(ui, theme, &words, Item::Pool(pool.id.clone()), actions);
        }
    }
    ui.add_space(space::S);
    if ui
        .button(RichText::new("Delete").color(theme.error))
        .clicked()
    {
        actions.command(UiCommand::DeleteSelection);
    }
}
