//! One setting of an engine in a row: its own name, a field, and a mark where it is not the default.

use super::super::{Inspected, pool::edit};
use crate::app::command::Actions;
use crate::app::widgets::{
    Rows, choice, count_field, number_field, sentence, text_field, typed_field,
};
use crate::plan::{Engine, Pool, Setting};
use crate::units::Seconds;
use eframe::egui::{Response, Ui};
use std::ops::RangeInclusive;

/// Letters of a label that fits the narrow column.
const SHORT: usize = 14;

/// Draws rows of a pool's engine.
pub(super) struct Line<'a> {
    pub(super) view: &'a Inspected<'a>,
    pub(super) pool: &'a Pool,
    /// What the engine starts with; none: not known of these GPUs.
    pub(super) defaults: Option<&'a Engine>,
}

impl Line<'_> {
    pub(super) const fn engine(&self) -> &Engine {
        &self.pool.engine
    }

    /// A name for a field's state.
    pub(super) fn key(&self, setting: Setting) -> String {
        format!("{}/{setting:?}", self.pool.id)
    }

    /// The engine's own name of a setting; where it has none, words like those of other rows.
    fn label(&self, setting: Setting) -> String {
        let word = self.engine().word(setting);
        if word.contains('_') {
            word.to_owned()
        } else {
            sentence(word)
        }
    }

    /// What the setting is, and where it is not the default, what that is.
    fn help(&self, setting: Setting) -> (String, bool) {
        let engine = self.engine();
        let word = engine.word(setting);
        let help = if setting == Setting::MemoryFraction {
            engine.kind.fraction_means()
        } else {
            setting.help()
        };
        let value = engine.value(setting);
        let default = self.defaults.map(|own| own.value(setting));
        match default.filter(|default| *default != value) {
            Some(default) => (
                format!(
                    "{word}\n{help}\n{} {} starts with {default}",
                    engine.kind.name(),
                    engine.version
                ),
                true,
            ),
            None => (format!("{word}\n{help}"), false),
        }
    }

    /// A row with any field.
    pub(super) fn row<R>(
        &self,
        ui: &mut Ui,
        setting: Setting,
        add: impl FnOnce(&mut Ui) -> (R, Response),
    ) -> R {
        let (help, differs) = self.help(setting);
        let label = self.label(setting);
        let theme = self.view.theme;
        let long_values = matches!(
            setting,
            Setting::FirstToken
                | Setting::KvTransfer
                | Setting::ExpertExchange
                | Setting::Scheduler
                | Setting::GraphMode
                | Setting::Draft
        );
        match (long_values, label.len() <= SHORT) {
            (false, _) => Rows::wide(theme)
                .marked(differs)
                .field(ui, &label, &help, add),
            // A short label leaves room for long words.
            (true, true) => Rows::new(theme)
                .marked(differs)
                .field(ui, &label, &help, add),
            (true, false) => {
                ui.scope(|ui| {
                    Rows::new(theme)
                        .marked(differs)
                        .stacked(ui, &label, &help, add)
                })
                .inner
            }
        }
    }

    /// A change that is a step of its own.
    pub(super) fn edit(
        &self,
        actions: &mut Actions,
        setting: Setting,
        value: &str,
        set: impl FnOnce(&mut Engine) + 'static,
    ) {
        let label = format!("{} {value}", self.engine().word(setting));
        edit(self.view, self.pool, actions, label, move |pool| {
            set(&mut pool.engine);
        });
    }

    /// A number being scrubbed: one step however far it goes.
    pub(super) fn scrub(
        &self,
        actions: &mut Actions,
        setting: Setting,
        set: impl FnOnce(&mut Engine) + 'static,
    ) {
        let id = self.pool.id.clone();
        let label = format!("Change {}", self.engine().word(setting));
        let key = Some(self.key(setting));
        self.view.edit(actions, label, key, move |design| {
            if let Some(pool) = design.pool_mut(&id) {
                set(&mut pool.engine);
            }
        });
    }

    pub(super) fn count(
        &self,
        ui: &mut Ui,
        actions: &mut Actions,
        setting: Setting,
        now: u32,
        range: RangeInclusive<u32>,
        set: fn(&mut Engine, u32),
    ) {
        let wide = u64::from(*range.start())..=u64::from(*range.end());
        let changed = self.row(ui, setting, |ui| count_field(ui, u64::from(now), wide));
        if let Some(n) = changed.and_then(|n| u32::try_from(n).ok()) {
            self.scrub(actions, setting, move |engine| set(engine, n));
        }
    }

    pub(super) fn number(
        &self,
        ui: &mut Ui,
        actions: &mut Actions,
        setting: Setting,
        now: f64,
        range: RangeInclusive<f64>,
        set: fn(&mut Engine, f64),
    ) {
        let speed = (range.end() - range.start()) / 200.0;
        let changed = self.row(ui, setting, |ui| number_field(ui, now, range, speed, ""));
        if let Some(value) = changed {
            self.scrub(actions, setting, move |engine| set(engine, value));
        }
    }

    /// A value as text. One that can't be read changes nothing: the field shows what holds.
    pub(super) fn text(&self, ui: &mut Ui, actions: &mut Actions, setting: Setting) {
        let typed = self.row(ui, setting, |ui| {
            let now = self.engine().value(setting);
            let typed = text_field(ui, self.view.theme, &self.key(setting), &now);
            (typed.value, typed.response)
        });
        let Some(text) = typed else { return };
        let mut next = self.engine().clone();
        let word = next.word(setting);
        if next.set(word, &text).is_ok() {
            self.edit(actions, setting, &next.value(setting), move |engine| {
                *engine = next;
            });
        }
    }

    /// A checkbox, as the engine's own name means it.
    pub(super) fn flag(
        &self,
        ui: &mut Ui,
        actions: &mut Actions,
        setting: Setting,
        now: bool,
        set: fn(&mut Engine, bool),
    ) {
        let inverted = self.engine().kind.inverts(setting);
        let shown = now != inverted;
        let changed = self.row(ui, setting, |ui| {
            let mut on = shown;
            let words = if on { "on" } else { "off" };
            let response = ui.checkbox(&mut on, words);
            ((on != shown).then_some(on), response)
        });
        if let Some(on) = changed {
            let words = if on { "on" } else { "off" };
            self.edit(actions, setting, words, move |engine| {
                set(engine, on != inverted);
            });
        }
    }

    pub(super) fn pick<T: Copy + PartialEq + 'static>(
        &self,
        ui: &mut Ui,
        actions: &mut Actions,
        setting: Setting,
        (now, all): (T, &[T]),
        name: impl Fn(T) -> &'static str,
        set: fn(&mut Engine, T),
    ) {
        let chosen = self.row(ui, setting, |ui| {
            choice(ui, self.key(setting), &now, all, |value| {
                name(*value).to_owned()
            })
        });
        if let Some(value) = chosen {
            self.edit(actions, setting, name(value), move |engine| {
                set(engine, value);
            });
        }
    }

    pub(super) fn time(
        &self,
        ui: &mut Ui,
        actions: &mut Actions,
        setting: Setting,
        now: Seconds,
        set: fn(&mut Engine, Seconds),
    ) {
        let typed = self.row(ui, setting, |ui| {
            let typed = typed_field::<Seconds>(ui, self.view.theme, &self.key(setting), now);
            (typed.value, typed.response)
        });
        if let Some(time) = typed {
            self.edit(actions, setting, &time.to_string(), move |engine| {
                set(engine, time);
            });
        }
    }
}
