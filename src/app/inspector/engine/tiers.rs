//! KV tiers below HBM: a list, nearest first.

use super::super::pool::edit;
use super::line::Line;
use crate::app::command::Actions;
use crate::app::theme::space;
use crate::app::widgets::{hint, typed_field};
use crate::plan::{Engine, Setting, Tier, TierKind};
use crate::units::{ByteRate, Bytes, Seconds};
use eframe::egui::{RichText, Ui};
use std::fmt::Display;
use std::str::FromStr;

pub(super) fn tiers_ui(ui: &mut Ui, line: &Line<'_>, actions: &mut Actions) {
    let tiers = &line.engine().caching.tiers;
    for (index, tier) in tiers.iter().enumerate() {
        tier_ui(ui, line, index, tier, actions);
    }
    let (added, _) = line.row(ui, Setting::Tiers, |ui| {
        let mut added = None;
        let shown = ui.menu_button("Add a tier", |ui| {
            for kind in TierKind::ALL {
                if ui.button(name(kind)).clicked() {
                    added = Some(kind);
                    ui.close();
                }
            }
        });
        ((added, ()), shown.response)
    });
    if let Some(kind) = added {
        let label = format!("Add KV tier {}", name(kind));
        edit(line.view, line.pool, actions, label, move |pool| {
            pool.engine.caching.tiers.push(Tier::start(kind));
        });
    }
    if !tiers.is_empty() {
        hint(
            ui,
            line.view.theme,
            "Of one scheduler: all its GPUs together. A new tier's numbers are to start from.",
        );
    }
}

/// A tier's name for people.
const fn name(kind: TierKind) -> &'static str {
    match kind {
        TierKind::Host => "Host memory",
        TierKind::Ssd => "SSD",
        TierKind::Remote => "Remote pool",
    }
}

/// Its name and four fields in two rows.
fn tier_ui(ui: &mut Ui, line: &Line<'_>, index: usize, tier: &Tier, actions: &mut Actions) {
    let theme = line.view.theme;
    ui.horizontal(|ui| {
        let title = format!("{} · {}", index + 1, name(tier.kind));
        ui.label(RichText::new(title).color(theme.text));
        let remove = ui
            .small_button("Remove")
            .on_hover_text(format!("Remove tier {}", index + 1));
        if remove.clicked() {
            let label = format!("Remove KV tier {}", name(tier.kind));
            edit(line.view, line.pool, actions, label, move |pool| {
                let tiers = &mut pool.engine.caching.tiers;
                if index < tiers.len() {
                    tiers.remove(index);
                }
            });
        }
    });
    let width = (ui.available_width() - space::S) / 2.0;
    let cell = Cell { line, index, width };
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = space::S;
        cell.field::<Bytes>(ui, "Capacity", tier.capacity, actions, |t, v| {
            t.capacity = v;
        });
        cell.field::<Seconds>(ui, "Latency", tier.latency, actions, |t, v| {
            t.latency = v;
        });
    });
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = space::S;
        cell.field::<ByteRate>(ui, "Read", tier.read, actions, |t, v| t.read = v);
        cell.field::<ByteRate>(ui, "Write", tier.write, actions, |t, v| t.write = v);
    });
}

/// A small field under its name.
struct Cell<'a> {
    line: &'a Line<'a>,
    index: usize,
    width: f32,
}

impl Cell<'_> {
    fn field<T>(
        &self,
        ui: &mut Ui,
        what: &'static str,
        now: T,
        actions: &mut Actions,
        set: fn(&mut Tier, T),
    ) where
        T: FromStr<Err: Display> + Display + PartialEq + Copy + 'static,
    {
        let (line, index) = (self.line, self.index);
        let theme = line.view.theme;
        ui.vertical(|ui| {
            ui.set_width(self.width);
            ui.spacing_mut().item_spacing.y = 2.0;
            let label = ui.label(RichText::new(what).small().color(theme.text_muted));
            let salt = format!("{}/{index}/{what}", line.key(Setting::Tiers));
            let typed = typed_field::<T>(ui, theme, &salt, now);
            typed.response.labelled_by(label.id);
            if let Some(value) = typed.value {
                let words = format!("Tier {}: {} {value}", index + 1, what.to_lowercase());
                edit(line.view, line.pool, actions, words, move |pool| {
                    let engine: &mut Engine = &mut pool.engine;
                    if let Some(tier) = engine.caching.tiers.get_mut(index) {
                        set(tier, value);
                    }
                });
            }
        });
    }
}
