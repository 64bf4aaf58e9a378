//! One GPU: where it sits, what it does, its datasheet.

use super::group::gpu_facts_ui;
use super::{Inspected, jump_ui, title_ui};
use crate::app::command::Actions;
use crate::app::selection::Item;
use crate::app::totals::gpu_of;
use crate::app::widgets::{Rows, hint, section};
use crate::cluster::GpuAddress;
use eframe::egui::Ui;

pub(super) fn gpu_ui(
    ui: &mut Ui,
    view: &Inspected<'_>,
    address: &GpuAddress,
    actions: &mut Actions,
) {
    let theme = view.theme;
    let rows = Rows::new(theme);
    let group = view.design.cluster.group(&address.group);
    let pool = view.design.pool_of(address);
    let gpu = group.and_then(|g| gpu_of(g, address.instance, view.catalog));
    title_ui(
        ui,
        theme,
        Some(theme.role(pool.map(|p| p.role))),
        &format!("GPU {}", address.slot),
        gpu.map_or("of an unknown type", |g| g.name.as_str()),
    );
    rows.fact(ui, "Address", address.to_string());
    section(ui, theme, "Pool");
    match pool {
        Some(pool) => {
            let words = format!("{} · {}", pool.name, pool.role.name());
            jump_ui(ui, theme, &words, Item::Pool(pool.id.clone()), actions);
        }
        None => {
            hint(
                ui,
                theme,
                "Idle: it is in no pool. Paint a role on it with the brush.",
            );
        }
    }
    if let Some(group) = group {
        section(ui, theme, "Where");
        let words = group.instance_name(address.instance);
        jump_ui(ui, theme, &words, Item::Group(group.id.clone()), actions);
    }
    if let Some(gpu) = gpu {
        section(ui, theme, &gpu.name);
        gpu_facts_ui(ui, theme, gpu);
    }
}
