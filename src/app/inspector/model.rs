//! The model picker, and what the model is.

use super::Inspected;
use crate::app::command::{Actions, UiCommand};
use crate::app::edits::{published_precision, serve};
use crate::app::style;
use crate::app::theme::{Theme, space};
use crate::app::widgets::{Rows, hint, section};
use crate::catalog::Dtype;
use crate::model::{Model, kv_bytes_per_token, parameters};
use crate::plan::ModelRef;
use eframe::egui::{self, Button, ComboBox, RichText, ScrollArea, TextEdit, Ui};

pub(super) fn model_ui(ui: &mut Ui, view: &Inspected<'_>, actions: &mut Actions) {
    let theme = view.theme;
    section(ui, theme, "Model");
    let name = match (&view.design.model, view.model()) {
        (_, Some(model)) => model.name.clone(),
        (ModelRef::Preset(id), None) => format!("{id} (unknown)"),
        (ModelRef::Inline(model), None) => model.name.clone(),
    };
    ComboBox::from_id_salt("model")
        .width(ui.available_width())
        .height(380.0)
        .close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside)
        .selected_text(RichText::new(name).family(style::medium()))
        .show_ui(ui, |ui| picker_ui(ui, view, actions))
        .response
        .widget_info(|| egui::WidgetInfo::labeled(egui::Role::ComboBox, true, "Model"));
    if let Some(model) = view.model() {
        hint(ui, theme, summary(model)).on_hover_text(&model.source);
    }
}

fn picker_ui(ui: &mut Ui, view: &Inspected<'_>, actions: &mut Actions) {
    let id = ui.make_persistent_id("model-search");
    let mut wanted = ui.data(|d| d.get_temp::<String>(id)).unwrap_or_default();
    let field = ui.add(
        TextEdit::singleline(&mut wanted)
            .hint_text("Find a model")
            .desired_width(f32::INFINITY)
            .margin(egui::Margin::symmetric(8, 5)),
    );
    if !field.has_focus() && !field.lost_focus() && ui.input(|i| !i.pointer.any_down()) {
        field.request_focus();
    }
    ui.add_space(space::XS);
    let words: Vec<String> = wanted.split_whitespace().map(str::to_lowercase).collect();
    let current = view.model().map(|m| &m.id);
    ScrollArea::vertical().max_height(280.0).show(ui, |ui| {
        let mut any = false;
        for model in view.models.iter() {
            let text = model.name.to_lowercase();
            if !words.iter().all(|word| text.contains(word)) {
                continue;
            }
            any = true;
            let row = Button::selectable(
                current == Some(&model.id),
                (
                    RichText::new(&model.name),
                    egui::Atom::grow(),
                    RichText::new(size_text(model))
                        .small()
                        .color(view.theme.text_muted),
                ),
            )
            .min_size(egui::vec2(ui.available_width(), 0.0));
            if ui.add(row).clicked() {
                let next = ModelRef::Preset(model.id.clone());
                let own = published_precision(model);
                let before = view.model().and_then(published_precision);
                view.edit(
                    actions,
                    format!("Serve {}", model.name),
                    None,
                    move |design| serve(design, next, own, before),
                );
                ui.close();
            }
        }
        if !any {
            hint(
                ui,
                view.theme,
                "No model of that name. Import its config.json.",
            );
        }
    });
    ui.separator();
    if import_button(ui, view.theme) {
        actions.command(UiCommand::ImportModel);
        ui.close();
    }
    ui.data_mut(|d| d.insert_temp(id, wanted));
}

fn import_button(ui: &mut Ui, theme: &Theme) -> bool {
    let words = RichText::new("Import config.json…").color(theme.accent);
    ui.add(Button::new(words).frame(false)).clicked()
}

/// Parameters in billions: `235B`, of which active `22B`.
fn size_text(model: &Model) -> String {
    let parameters = parameters(model);
    let (total, active) = (parameters.total(), parameters.active());
    if active == total {
        billions(total)
    } else {
        format!("{} · {} active", billions(total), billions(active))
    }
}

fn billions(n: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "only shown")]
    let n = n as f64 / 1e9;
    if n < 100.0 {
        format!("{n:.1}B")
    } else {
        format!("{n:.0}B")
    }
}

fn summary(model: &Model) -> String {
    let attention = model.layers.first().map_or("", |run| run.attention.kind());
    let experts = model
        .moe()
        .map(|moe| format!(" · {} of {} experts", moe.top_k, moe.experts))
        .unwrap_or_default();
    let kv = kv_bytes_per_token(model, Dtype::Bf16);
    #[expect(clippy::cast_precision_loss, reason = "only shown")]
    let kib = kv.get() as f64 / 1024.0;
    format!(
        "{} · {} layers · {attention}{experts} · KV {kib:.0} KiB/token in BF16",
        size_text(model),
        model.layer_count()
    )
}

/// Formats weights, activations and KV can have.
pub(super) fn precision_ui(
    ui: &mut Ui,
    view: &Inspected<'_>,
    pool: &crate::plan::Pool,
    actions: &mut Actions,
) {
    const PLACES: [(&str, &str); 3] = [
        (
            "Weights",
            "Linear and expert weights; embedding, LM head and router stay BF16",
        ),
        (
            "Activations",
            "Inputs of the GEMMs; the wider of weights and activations sets their rate",
        ),
        ("KV cache", "Keys and values kept for every token"),
    ];
    let rows = Rows::new(view.theme);
    let now = [
        pool.precision.weights,
        pool.precision.activations,
        pool.precision.kv,
    ];
    for (place, (words, help)) in PLACES.into_iter().enumerate() {
        use Dtype::{Bf16, Fp4, Fp8, Int4, Int8, Mxfp4};
        let formats: &[Dtype] = match place {
            0 => &[Bf16, Fp8, Int8, Fp4, Mxfp4, Int4],
            // INT4 weights are dequantised: no GPU here takes INT4 inputs.
            1 => &[Bf16, Fp8, Int8, Fp4, Mxfp4],
            _ => &[Bf16, Fp8, Int8],
        };
        let chosen = rows.field(ui, words, help, |ui| {
            crate::app::widgets::choice(
                ui,
                (pool.id.as_str(), "precision", place),
                &now[place],
                formats,
                |d| d.name().to_owned(),
            )
        });
        if let Some(dtype) = chosen {
            let id = pool.id.clone();
            view.edit(
                actions,
                format!("{words} in {}", dtype.name()),
                None,
                move |design| {
                    if let Some(pool) = design.pool_mut(&id) {
                        let formats = &mut pool.precision;
                        match place {
                            0 => formats.weights = dtype,
                            1 => formats.activations = dtype,
                            _ => formats.kv = dtype,
                        }
                    }
                },
            );
        }
    }
}
