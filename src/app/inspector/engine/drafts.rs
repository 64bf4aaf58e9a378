//! Speculative decoding: who drafts, how many tokens, and how likely they are accepted.

use super::line::Line;
use crate::app::command::Actions;
use crate::app::widgets::{choice, hint};
use crate::model::{Model, parameters};
use crate::plan::{Draft, Engine, Setting, Speculation};
use eframe::egui::Ui;

pub(super) fn drafts_ui(ui: &mut Ui, line: &Line<'_>, actions: &mut Actions) {
    draft_ui(ui, line, actions);
    let Some(own) = &line.engine().speculation else {
        return;
    };
    line.count(
        ui,
        actions,
        Setting::DraftSteps,
        own.steps,
        1..=16,
        |e, n| {
            change(e, |own| {
                // A chain stays one; a tree has at least as many as it is deep.
                own.verified = if own.verified == own.steps {
                    n
                } else {
                    own.verified.max(n)
                };
                own.steps = n;
            });
        },
    );
    line.count(
        ui,
        actions,
        Setting::Verified,
        own.verified,
        own.steps..=256,
        |e, n| change(e, |own| own.verified = n),
    );
    line.text(ui, actions, Setting::Acceptance);
    hint(
        ui,
        line.view.theme,
        "Acceptance by depth, apart by commas: an assumption until you measure it.",
    );
}

fn change(engine: &mut Engine, set: impl FnOnce(&mut Speculation)) {
    if let Some(own) = &mut engine.speculation {
        set(own);
    }
}

/// Who drafts: nobody, the prompt, the model's own layers, or a model of the same vocabulary.
fn draft_ui(ui: &mut Ui, line: &Line<'_>, actions: &mut Actions) {
    let now = line.engine().speculation.as_ref().map(|own| &own.draft);
    let layers = match now {
        Some(Draft::Mtp { layers }) => *layers,
        _ => 1,
    };
    let mut all = vec![None, Some(Draft::Ngram), Some(Draft::Mtp { layers })];
    if let Some(target) = line.view.model() {
        let weight = |model: &Model| parameters(model).total();
        let smaller = line
            .view
            .models
            .iter()
            .filter(|model| model.vocab == target.vocab && weight(model) < weight(target));
        all.extend(smaller.map(|model| {
            Some(Draft::Model {
                model: model.id.clone(),
            })
        }));
    }
    let now = now.cloned();
    if !all.contains(&now) {
        all.push(now.clone());
    }
    let chosen = line.row(ui, Setting::Draft, |ui| {
        choice(ui, line.key(Setting::Draft), &now, &all, |own| {
            name(own.as_ref())
        })
    });
    if let Some(draft) = chosen {
        let words = name(draft.as_ref());
        line.edit(actions, Setting::Draft, &words, move |engine| {
            engine.speculation = draft.map(Speculation::start);
        });
    }
}

pub(super) fn name(draft: Option<&Draft>) -> String {
    match draft {
        None => "off".to_owned(),
        Some(Draft::Ngram) => "n-gram".to_owned(),
        Some(Draft::Mtp { layers: 1 }) => "MTP or EAGLE".to_owned(),
        Some(Draft::Mtp { layers }) => format!("MTP or EAGLE, {layers} layers"),
        Some(Draft::Model { model }) => model.to_string(),
    }
}
