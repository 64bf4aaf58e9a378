//! The model picker, and what the model is.

use super::Inspected;
use crate::app::command::{Actions, UiCommand};
use crate::app::edits::{published_precision, serve};
use crate::app::style;
use crate::app::theme::{Theme, space};
use crate::app::widgets::{Rows, hint, section};
use crate::catalog::Dtype;
use crate::model::{Amount, Attention, Model, Span, kv_bytes_per_token, parameters};
use crate::plan::ModelRef;
use eframe::egui::{self, AtomExt as _, Button, ComboBox, RichText, ScrollArea, TextEdit, Ui};

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

/// What the picker remembers while it is open.
#[derive(Clone, Default)]
struct Search {
    text: String,
    /// The last pass it was drawn in: a gap means that it was closed meanwhile.
    pass: u64,
}

fn picker_ui(ui: &mut Ui, view: &Inspected<'_>, actions: &mut Actions) {
    let id = ui.make_persistent_id("model-search");
    let pass = ui.ctx().cumulative_pass_nr();
    let known = ui.data(|d| d.get_temp::<Search>(id));
    let open = known.filter(|search| pass.saturating_sub(search.pass) <= 2);
    let just_opened = open.is_none();
    let mut wanted = open.unwrap_or_default().text;
    let field = ui.add(
        TextEdit::singleline(&mut wanted)
            .hint_text("Find a model")
            .desired_width(f32::INFINITY)
            .margin(egui::Margin::symmetric(8, 5)),
    );
    let enter = field.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
    if !field.has_focus() && !field.lost_focus() && ui.input(|i| !i.pointer.any_down()) {
        field.request_focus();
    }
    ui.add_space(space::XS);
    let words: Vec<String> = wanted.split_whitespace().map(str::to_lowercase).collect();
    let found: Vec<&Model> = view
        .models
        .iter()
        .filter(|model| {
            let text = model.name.to_lowercase();
            words.iter().all(|word| text.contains(word))
        })
        .collect();
    let current = view.model().map(|m| &m.id);
    let mut chosen = found
        .first()
        .copied()
        .filter(|_| enter && !words.is_empty());
    ScrollArea::vertical().max_height(280.0).show(ui, |ui| {
        for model in &found {
            let own = current == Some(&model.id);
            let row = row_ui(ui, view.theme, model, own);
            if own && just_opened {
                row.scroll_to_me(Some(egui::Align::Center));
            }
            if row.clicked() {
                chosen = Some(model);
            }
        }
        if found.is_empty() {
            hint(
                ui,
                view.theme,
                "No model of that name. Import its config.json.",
            );
        }
    });
    if let Some(model) = chosen {
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
    ui.separator();
    if import_button(ui, view.theme) {
        actions.command(UiCommand::ImportModel);
        ui.close();
    }
    ui.data_mut(|d| d.insert_temp(id, Search { text: wanted, pass }));
}

/// A model: its name, and in columns its parameters and those a token visits.
fn row_ui(ui: &mut Ui, theme: &Theme, model: &Model, on: bool) -> egui::Response {
    /// Widths of the columns.
    const FIRST: f32 = 48.0;
    const LAST: f32 = 78.0;
    let parameters = parameters(model);
    let (total, active) = (parameters.total(), parameters.active());
    let visited = if active == total {
        String::new()
    } else {
        format!("{} active", count(active))
    };
    // Room for the columns, which are drawn below: text in a button can't end where it should.
    let columns = RichText::new("").atom_size(egui::vec2(LAST + FIRST, 14.0));
    let words = (RichText::new(&model.name), egui::Atom::grow(), columns);
    let size = egui::vec2(ui.available_width(), 0.0);
    let row = ui.add(Button::selectable(on, words).min_size(size));
    row.widget_info(|| {
        let words = format!("{}, {}", model.name, size_text(model));
        egui::WidgetInfo::selected(egui::Role::Button, true, on, words)
    });
    let right = row.rect.right() - ui.spacing().button_padding.x;
    let font = egui::TextStyle::Small.resolve(ui.style());
    for (words, end) in [(count(total), right - LAST), (visited, right)] {
        ui.painter().text(
            egui::pos2(end, row.rect.center().y),
            egui::Align2::RIGHT_CENTER,
            words,
            font.clone(),
            theme.text_muted,
        );
    }
    row
}

fn import_button(ui: &mut Ui, theme: &Theme) -> bool {
    let words = RichText::new("Import config.json…").color(theme.accent);
    // As far in as the rows above.
    ui.horizontal(|ui| {
        ui.add_space(ui.spacing().button_padding.x);
        ui.add(Button::new(words).frame(false)).clicked()
    })
    .inner
}

/// Parameters, and those a token visits: `235 B · 22.2 B active`.
fn size_text(model: &Model) -> String {
    let parameters = parameters(model);
    let (total, active) = (parameters.total(), parameters.active());
    if active == total {
        count(total)
    } else {
        format!("{} · {} active", count(total), count(active))
    }
}

fn count(parameters: u64) -> String {
    Amount::Parameters(parameters).short()
}

/// Kinds of attention, with the layers of each where there are several:
/// `36 gated DeltaNet + 12 GQA`.
fn attention_text(model: &Model) -> String {
    /// Most kinds named.
    const MOST: usize = 3;
    let mut kinds: Vec<(String, u64)> = Vec::new();
    for run in &model.layers {
        let window = match &run.attention {
            Attention::Gqa(gqa) => match gqa.span {
                Span::Full => "",
                Span::Window(_) => " in a window",
                Span::Chunk(_) => " in chunks",
            },
            _ => "",
        };
        let kind = format!("{}{window}", run.attention.kind());
        let layers = u64::from(run.count);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, so_far)) => *so_far = so_far.saturating_add(layers),
            None => kinds.push((kind, layers)),
        }
    }
    if let [(kind, _)] = kinds.as_slice() {
        return kind.clone();
    }
    let mut named: Vec<String> = kinds
        .iter()
        .take(MOST)
        .map(|(kind, layers)| format!("{layers} {kind}"))
        .collect();
    if kinds.len() > MOST {
        named.push("others".to_owned());
    }
    named.join(" + ")
}

fn summary(model: &Model) -> String {
    let attention = attention_text(model);
    let experts = model
        .moe()
        .map(|moe| format!(" · {} of {} experts", moe.top_k, moe.experts))
        .unwrap_or_default();
    let kv = kv_bytes_per_token(model, Dtype::Bf16).get();
    let kv = if kv == 0 {
        "no KV cache, states only".to_owned()
    } else {
        format!("KV {}/token in BF16", Amount::Bytes(kv).short())
    };
    format!(
        "{} · {} layers · {attention}{experts} · {kv}",
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
