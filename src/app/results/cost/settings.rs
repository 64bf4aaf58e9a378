//! What is compared: models, GPUs with their prices, contexts, formats.

use super::{Answer, Asked, CostView, FORMATS, tokens};
use crate::app::results::Shown;
use crate::app::style;
use crate::app::theme::Theme;
use crate::app::widgets::{choice, hint, number_field, text_field, typed_field};
use crate::catalog::Dtype;
use crate::study::theory::{Convention, MAX_CONTEXT, MAX_CONTEXTS, short_name};
use crate::units::Seconds;
use eframe::egui::{
    self, Button, Label, Popup, PopupCloseBehavior, RichText, ScrollArea, Sense, Ui, vec2,
};

pub(super) fn settings_ui(
    ui: &mut Ui,
    view: &mut CostView,
    shown: &Shown<'_>,
    answer: Option<&Answer>,
) {
    let theme = shown.theme();
    ScrollArea::vertical()
        .id_salt("cost settings")
        .auto_shrink([false, false])
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 5.0;
            // The bar lies over what is in the area; leave it room.
            ui.set_width(ui.available_width() - 8.0);
            prices_ui(ui, view, shown, answer);
            models_ui(ui, view, shown);
            heading(ui, theme, "Contexts", None);
            contexts_ui(ui, view, theme);
            terms_ui(ui, view, theme);
            if view.asked != Asked::default() && ui.button("Reset all").clicked() {
                view.asked = Asked::default();
                view.context_error = None;
            }
        });
}

/// A heading with a choice at its right end; true: it was pressed.
fn heading(ui: &mut Ui, theme: &Theme, words: &str, more: Option<&str>) -> Option<egui::Response> {
    ui.horizontal(|ui| {
        ui.set_min_height(22.0);
        ui.label(
            RichText::new(words)
                .family(style::semibold())
                .color(theme.text),
        );
        let more = more?;
        let layout = egui::Layout::right_to_left(egui::Align::Center);
        let button = Button::new(RichText::new(more).color(theme.accent)).frame(false);
        Some(ui.with_layout(layout, |ui| ui.add(button)).inner)
    })
    .inner
}

/// Each GPU with its price, as a field.
fn prices_ui(ui: &mut Ui, view: &mut CostView, shown: &Shown<'_>, answer: Option<&Answer>) {
    let theme = shown.theme();
    let catalog = shown.inspected.catalog;
    if let Some(more) = heading(ui, theme, "GPUs, $/h", Some("Choose GPUs…")) {
        Popup::menu(&more)
            .close_behavior(PopupCloseBehavior::CloseOnClickOutside)
            .show(|ui| {
                many(ui, |ui| {
                    for gpu in catalog.gpus() {
                        let mut on = view.asked.gpus.contains(&gpu.id);
                        if ui.checkbox(&mut on, short_name(gpu, catalog)).changed() {
                            toggle(&mut view.asked.gpus, &gpu.id, on);
                        }
                    }
                });
            });
    }
    let Some(answer) = answer else {
        return;
    };
    for hardware in &answer.table.hardware {
        ui.horizontal_top(|ui| {
            let name = vec2(ui.available_width() - 92.0, 26.0);
            let layout = egui::Layout::left_to_right(egui::Align::Center);
            let label = ui
                .allocate_ui_with_layout(name, layout, |ui| {
                    ui.set_min_size(name);
                    let words = RichText::new(&hardware.name).color(theme.text);
                    ui.add(Label::new(words).truncate().sense(Sense::hover()))
                })
                .inner;
            let label = match catalog.gpu(&hardware.gpu) {
                Some(gpu) => label.on_hover_text(format!(
                    "{}: {} in {} ({})",
                    gpu.name, gpu.price.per_hour, gpu.price.date, gpu.price.cite
                )),
                None => label,
            };
            let salt = format!("price {}", hardware.gpu);
            let field = typed_field(ui, theme, &salt, hardware.price);
            field.response.labelled_by(label.id);
            if let Some(price) = field.value {
                view.asked.prices.insert(hardware.gpu.clone(), price);
            }
        });
    }
    if !view.asked.prices.is_empty() && ui.button("Catalog’s prices").clicked() {
        view.asked.prices.clear();
    }
}

fn models_ui(ui: &mut Ui, view: &mut CostView, shown: &Shown<'_>) {
    let theme = shown.theme();
    if let Some(more) = heading(ui, theme, "Models", Some("Choose models…")) {
        Popup::menu(&more)
            .close_behavior(PopupCloseBehavior::CloseOnClickOutside)
            .show(|ui| {
                many(ui, |ui| {
                    for model in shown.inspected.models.iter() {
                        let mut on = view.asked.models.contains(&model.id);
                        if ui.checkbox(&mut on, &model.name).changed() {
                            toggle(&mut view.asked.models, &model.id, on);
                        }
                    }
                });
            });
    }
    let own = shown.inspected.model().map(|model| &model.name);
    let words = own.map_or_else(
        || "The design’s model is not in the library".to_owned(),
        |name| format!("{name} is the design’s own"),
    );
    hint(ui, theme, words);
}

/// A long list.
fn many(ui: &mut Ui, add: impl FnOnce(&mut Ui)) {
    ui.set_min_width(220.0);
    ScrollArea::vertical().max_height(360.0).show(ui, add);
}

fn toggle<T: Clone + PartialEq>(list: &mut Vec<T>, item: &T, on: bool) {
    list.retain(|known| known != item);
    if on {
        list.push(item.clone());
    }
}

fn contexts_ui(ui: &mut Ui, view: &mut CostView, theme: &Theme) {
    let now: Vec<String> = view.asked.contexts.iter().map(|c| tokens(*c)).collect();
    let field = text_field(ui, theme, "contexts", &now.join(", "));
    field
        .response
        .on_hover_text("Tokens, separated by commas: 8K, 32K, 100000");
    if let Some(text) = field.value {
        match contexts(&text) {
            Ok(contexts) => {
                view.asked.contexts = contexts;
                view.context_error = None;
            }
            Err(cause) => view.context_error = Some(cause),
        }
    }
    if let Some(cause) = &view.context_error {
        ui.add(Label::new(RichText::new(cause).small().color(theme.error)).wrap());
    }
}

/// `8K, 32K, 100000`.
fn contexts(text: &str) -> Result<Vec<u64>, String> {
    let mut contexts: Vec<u64> = Vec::new();
    for word in text.split(',').map(str::trim).filter(|w| !w.is_empty()) {
        let tokens: crate::units::Tokens = word
            .parse()
            .map_err(|_| format!("“{word}” is no number of tokens: write 8192 or 8K"))?;
        let context = tokens.get();
        if !(1..=MAX_CONTEXT).contains(&context) {
            return Err(format!("a context is from 1 to {MAX_CONTEXT} tokens"));
        }
        if !contexts.contains(&context) {
            contexts.push(context);
        }
    }
    contexts.sort_unstable();
    if contexts.is_empty() || contexts.len() > MAX_CONTEXTS {
        return Err(format!("give 1 to {MAX_CONTEXTS} contexts"));
    }
    Ok(contexts)
}

fn terms_ui(ui: &mut Ui, view: &mut CostView, theme: &Theme) {
    let name = |dtype: &Dtype| dtype.name().to_owned();
    let asked = &mut view.asked;
    row(ui, theme, "KV", "Format of the KV cache", |ui| {
        let (value, response) = choice(ui, "kv format", &asked.terms.kv, &FORMATS, name);
        asked.terms.kv = value.unwrap_or(asked.terms.kv);
        response
    });
    let help = "Format of weights and GEMMs; a GPU without it multiplies in the next wider one";
    row(ui, theme, "GEMMs", help, |ui| {
        let (value, response) = choice(ui, "gemm format", &asked.terms.gemm, &FORMATS, name);
        asked.terms.gemm = value.unwrap_or(asked.terms.gemm);
        response
    });
    let help = "As Step-3’s tables: MLA values as wide as its keys, no routers, no LM head. \
                As executed: values are the latent, routers and LM head count as attention’s";
    row(ui, theme, "Count", help, |ui| {
        let name = |convention: &Convention| {
            match convention {
                Convention::Step3 => "as Step-3",
                Convention::Executed => "as executed",
            }
            .to_owned()
        };
        let now = asked.terms.convention;
        let (value, response) = choice(ui, "convention", &now, &Convention::ALL, name);
        asked.terms.convention = value.unwrap_or(now);
        response
    });
    row(
        ui,
        theme,
        "TPOT",
        "Time per output token to hold, ms",
        |ui| {
            let now = asked.pipeline.tpot.get() * 1e3;
            let (value, response) = number_field(ui, now, 1.0..=10_000.0, 0.5, " ms");
            if let Some(ms) = value {
                asked.pipeline.tpot = Seconds::from_ms(ms);
            }
            response
        },
    );
}

fn row(
    ui: &mut Ui,
    theme: &Theme,
    words: &str,
    help: &str,
    add: impl FnOnce(&mut Ui) -> egui::Response,
) {
    ui.horizontal_top(|ui| {
        let size = vec2(62.0, ui.spacing().interact_size.y);
        let layout = egui::Layout::left_to_right(egui::Align::Center);
        let label = ui.allocate_ui_with_layout(size, layout, |ui| {
            ui.set_min_size(size);
            let words = RichText::new(words).color(theme.text_muted);
            ui.add(Label::new(words).sense(Sense::hover()))
        });
        let label = label.inner.on_hover_text(help);
        add(ui).labelled_by(label.id);
    });
}

#[cfg(test)]
mod tests {
    use super::contexts;

    #[test]
    fn contexts_are_read_as_people_write_them() {
        assert_eq!(contexts("32K, 8192,8K").as_deref(), Ok(&[8192, 32_768][..]));
        for wrong in ["", "0", "-1", "8X", "1e99", "8K; 9K"] {
            assert!(contexts(wrong).is_err(), "{wrong}");
        }
    }
}
