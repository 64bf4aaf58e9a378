//! The import sheet: what was understood of a dropped `config.json`, before it is served or kept.

use super::dialogs::primary;
use super::edits::published_precision;
use super::style;
use super::theme::{RADIUS, Theme, space, text};
use super::widgets::{Rows, key_value, layers_legend_ui, layers_ui};
use crate::catalog::{Dtype, ModelId};
use crate::model::{
    Amount, Imported, Model, Precision, Quantization, grouped, kv_bytes_per_token, parameters,
    state_bytes_per_sequence, weight_bytes,
};
use eframe::egui::{
    self, Align, CornerRadius, Frame, Id, Label, Layout, Margin, Modal, RichText, ScrollArea,
    TextEdit, Ui, vec2,
};
use std::path::PathBuf;

/// A `config.json` that was read, waiting for what to do with it.
pub struct ImportSheet {
    /// The file.
    path: PathBuf,
    /// What it says, or why it can't be imported.
    read: Result<Box<Imported>, String>,
    /// The model's name, as the user has it.
    name: String,
    /// The preset that is there already, or why it could not be kept.
    keeping: Option<Result<ModelId, String>>,
    /// Where it was kept.
    kept: Option<PathBuf>,
}

/// What the sheet's buttons ask for.
pub enum SheetAnswer {
    /// It stays.
    None,
    /// It goes.
    Closed,
    /// Serve the model in the design in view; in these formats, where the checkpoint has its own.
    Serve(Box<Model>, Option<Precision>),
    /// Keep it as a preset, in place of one of that name if that was asked for.
    Keep(Box<Model>, bool),
    /// Choose another file.
    Another,
}

impl ImportSheet {
    /// Of what was read.
    #[must_use]
    pub fn new(path: PathBuf, read: Result<Box<Imported>, String>) -> Self {
        let name = read
            .as_ref()
            .map_or_else(|_| String::new(), |own| own.model.name.clone());
        Self {
            path,
            read,
            name,
            keeping: None,
            kept: None,
        }
    }

    /// It was kept.
    pub fn kept(&mut self, path: PathBuf) {
        self.keeping = None;
        self.kept = Some(path);
    }

    /// There is a preset of that name.
    pub fn exists(&mut self, id: ModelId) {
        self.keeping = Some(Ok(id));
    }

    /// It could not be kept.
    pub fn not_kept(&mut self, why: String) {
        self.keeping = Some(Err(why));
    }

    /// The model as it would be served: named by the user, with what was taken for granted.
    fn model(&self, imported: &Imported) -> Model {
        let mut model = imported.with_assumptions();
        let name = self.name.trim();
        if !name.is_empty() && name != model.name {
            model.name = name.to_owned();
            model.id = ModelId::from_label(name);
        }
        model
    }

    /// The formats of the checkpoint, where it has its own.
    fn precision(imported: &Imported) -> Option<Precision> {
        imported
            .precision_hint
            .or_else(|| published_precision(&imported.model))
    }

    /// Draws it over the window. `design` is the one in view, as its tab has it.
    pub fn ui(&mut self, ctx: &egui::Context, theme: &Theme, design: &str) -> SheetAnswer {
        let screen = ctx.content_rect();
        let width = 600.0_f32.min(screen.width() - 64.0);
        let height = (screen.height() - 64.0).max(200.0);
        let mut answer = SheetAnswer::None;
        let frame = Frame::popup(&ctx.global_style()).inner_margin(Margin::same(20));
        let modal = Modal::new(Id::unique("import"))
            .frame(frame)
            .show(ctx, |ui| {
                ui.set_width(width);
                answer = if self.read.is_ok() {
                    self.success_ui(ui, theme, design, height)
                } else {
                    self.error_ui(ui, theme)
                };
            });
        if matches!(answer, SheetAnswer::None) && modal.should_close() {
            return SheetAnswer::Closed;
        }
        answer
    }

    fn path_ui(&self, ui: &mut Ui, theme: &Theme) {
        let path = self.path.display().to_string();
        ui.add(Label::new(RichText::new(path).small().color(theme.text_muted)).truncate());
    }

    fn error_ui(&self, ui: &mut Ui, theme: &Theme) -> SheetAnswer {
        let mut answer = SheetAnswer::None;
        title_ui(ui, "This file can't be imported");
        self.path_ui(ui, theme);
        ui.add_space(space::S);
        let cause = match &self.read {
            Err(cause) => said(cause),
            Ok(_) => String::new(),
        };
        box_ui(ui, theme, theme.error, |ui| {
            ScrollArea::vertical().max_height(220.0).show(ui, |ui| {
                let words = RichText::new(cause).color(theme.text);
                ui.add(Label::new(words).wrap().selectable(true));
            });
        });
        ui.add_space(space::XS);
        let words = "Your design is as it was. Mend the file and drop it again, or choose another.";
        ui.add(Label::new(RichText::new(words).color(theme.text_muted)).wrap());
        buttons(ui, |ui| {
            if ui.add(primary(theme, "OK")).clicked() {
                answer = SheetAnswer::Closed;
            }
            if ui.button("Another file…").clicked() {
                answer = SheetAnswer::Another;
            }
        });
        answer
    }

    fn success_ui(&mut self, ui: &mut Ui, theme: &Theme, design: &str, height: f32) -> SheetAnswer {
        let mut answer = SheetAnswer::None;
        title_ui(ui, "Import a model");
        self.path_ui(ui, theme);
        ui.add_space(space::S);
        let name = &mut self.name;
        let renamed = Rows::new(theme).field(ui, "Name", "", |ui| {
            let field = TextEdit::singleline(name)
                .char_limit(80)
                .desired_width(f32::INFINITY)
                .margin(Margin::symmetric(8, 5));
            let field = ui.add(field);
            (field.changed(), field)
        });
        if renamed {
            // Another name is another file.
            (self.keeping, self.kept) = (None, None);
        }
        ui.add_space(space::XS);
        let Ok(imported) = &self.read else {
            return SheetAnswer::Closed;
        };
        ScrollArea::vertical()
            .max_height((height - 250.0).max(80.0))
            .show(ui, |ui| understood_ui(ui, theme, imported, design));
        self.keeping_ui(ui, theme);
        let replaces = matches!(self.keeping, Some(Ok(_)));
        let named = !self.name.trim().is_empty();
        buttons(ui, |ui| {
            let serve = format!("Serve it in {}", shortened(design));
            if ui.add_enabled(named, primary(theme, &serve)).clicked() {
                answer =
                    SheetAnswer::Serve(Box::new(self.model(imported)), Self::precision(imported));
            }
            let keep = if replaces {
                RichText::new("Replace preset").color(theme.error)
            } else {
                RichText::new("Keep as preset")
            };
            let keep = ui
                .add_enabled(named && self.kept.is_none(), egui::Button::new(keep))
                .on_hover_text("Write it into your presets folder: every project can serve it");
            if keep.clicked() {
                answer = SheetAnswer::Keep(Box::new(self.model(imported)), replaces);
            }
            if ui.button("Cancel").clicked() {
                answer = SheetAnswer::Closed;
            }
        });
        answer
    }

    fn keeping_ui(&self, ui: &mut Ui, theme: &Theme) {
        let (words, color) = match (&self.kept, &self.keeping) {
            (Some(path), _) => (format!("Kept as {}", path.display()), theme.good),
            (None, Some(Ok(id))) => (
                format!("“{id}” is a preset already: replace it, or give the model another name"),
                theme.warning,
            ),
            (None, Some(Err(why))) => (said(why), theme.error),
            (None, None) => return,
        };
        ui.add_space(space::XS);
        ui.add(Label::new(RichText::new(words).color(color)).wrap());
    }
}

/// What was understood, what was assumed, what was not used.
fn understood_ui(ui: &mut Ui, theme: &Theme, imported: &Imported, design: &str) {
    ui.set_width(ui.available_width() - space::S);
    let model = &imported.model;
    let all = parameters(model);
    let precision = ImportSheet::precision(imported);
    let formats = precision.unwrap_or(Precision::BF16);
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = space::L + space::S;
        key_value(
            ui,
            theme,
            &Amount::Parameters(all.total()).short(),
            "parameters",
        );
        if all.active() != all.total() {
            let active = Amount::Parameters(all.active()).short();
            key_value(ui, theme, &active, "active");
        }
        let weights = weight_bytes(model, formats).get();
        key_value(
            ui,
            theme,
            &Amount::Bytes(weights).short(),
            &format!("weights, {}", formats.weights.name()),
        );
        let kv = kv_bytes_per_token(model, Dtype::Bf16).get();
        if kv == 0 {
            let state = state_bytes_per_sequence(&model.layers, 1).get();
            key_value(ui, theme, &Amount::Bytes(state).short(), "state a sequence");
        } else {
            key_value(ui, theme, &Amount::Bytes(kv).short(), "KV a token, BF16");
        }
        key_value(ui, theme, &grouped(model.max_context), "longest context");
    });
    ui.add_space(space::S);
    layers_ui(ui, theme, model);
    ui.add_space(2.0);
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing.y = 2.0;
        layers_legend_ui(ui, theme, model);
    });
    ui.add_space(space::S);
    let rows = Rows::new(theme);
    let quantized = match (precision, model.quantization) {
        (Some(own), quantization) => format!(
            "{}; serving it sets the pools of {design} to it",
            precision_words(own, quantization)
        ),
        (None, _) => "BF16: the file states no quantisation".to_owned(),
    };
    rows.fact(ui, "Precision", quantized);
    ui.add_space(space::XS);
    if imported.assumptions.is_empty() {
        rows.fact(ui, "Assumed", "nothing");
    } else {
        box_ui(ui, theme, theme.warning, |ui| {
            ui.label(
                RichText::new("Taken for granted")
                    .family(style::medium())
                    .color(theme.warning),
            );
            list_ui(ui, theme, &imported.assumptions);
        });
    }
    if !imported.unused_keys.is_empty() {
        ui.add_space(space::XS);
        let keys = imported.unused_keys.join(", ");
        ui.label(
            RichText::new(format!("Keys not used: {}", imported.unused_keys.len()))
                .family(style::medium()),
        );
        let words = RichText::new(keys).small().color(theme.text_muted);
        ui.add(Label::new(words).wrap().selectable(true));
    }
}

/// `FP8 weights and activations, a scale per 128 × 128`.
fn precision_words(own: Precision, quantization: Option<Quantization>) -> String {
    let formats = if own.weights == own.activations {
        format!("{} weights and activations", own.weights.name())
    } else {
        format!(
            "{} weights, {} activations",
            own.weights.name(),
            own.activations.name()
        )
    };
    let scale = match quantization.and_then(|own| Some((own.scale?, own.block))) {
        Some((_, Some(block))) => format!(", a scale per {block} × {block}"),
        Some((scale, None)) => format!(", a scale per {} weights", grouped(scale.per)),
        None => String::new(),
    };
    format!("{formats}{scale}")
}

/// A name that fits a button.
fn shortened(name: &str) -> String {
    const MOST: usize = 28;
    if name.chars().count() <= MOST {
        return name.to_owned();
    }
    let start: String = name.chars().take(MOST - 1).collect();
    format!("{}…", start.trim_end())
}

/// A sentence; one that starts with a key keeps it as it is written in the file.
fn said(text: &str) -> String {
    let first = text.split([' ', ':']).next().unwrap_or(text);
    if first.contains(['_', '.', '/', '[']) {
        text.to_owned()
    } else {
        super::widgets::sentence(text)
    }
}

/// Sentences as a list.
pub(super) fn list_ui(ui: &mut Ui, theme: &Theme, items: &[String]) {
    for item in items {
        ui.horizontal_top(|ui| {
            ui.spacing_mut().interact_size.y = 14.0;
            ui.spacing_mut().item_spacing.x = space::S;
            ui.label(RichText::new("•").color(theme.text_muted));
            let words = RichText::new(said(item)).color(theme.text);
            ui.add(Label::new(words).wrap().selectable(true));
        });
    }
}

fn title_ui(ui: &mut Ui, title: &str) {
    ui.label(RichText::new(title).font(style::heading(text::TITLE - 1.0)));
}

/// A box with a coloured edge, as findings have.
fn box_ui(ui: &mut Ui, theme: &Theme, color: egui::Color32, add: impl FnOnce(&mut Ui)) {
    let shown = Frame::new()
        .fill(theme.canvas)
        .corner_radius(CornerRadius::same(RADIUS))
        .inner_margin(Margin {
            left: 14,
            right: 10,
            top: 8,
            bottom: 8,
        })
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.spacing_mut().item_spacing.y = space::XS;
            add(ui);
        });
    let rect = shown.response.rect;
    let edge = egui::Rect::from_min_max(rect.min, egui::pos2(rect.left() + 4.0, rect.bottom()));
    let round = CornerRadius {
        nw: RADIUS,
        sw: RADIUS,
        ne: 0,
        se: 0,
    };
    ui.painter().rect_filled(edge, round, color);
}

/// Buttons at the right edge, the one that goes on last.
fn buttons(ui: &mut Ui, add: impl FnOnce(&mut Ui)) {
    ui.add_space(space::M);
    let size = vec2(ui.available_width(), ui.spacing().interact_size.y);
    ui.allocate_ui_with_layout(size, Layout::right_to_left(Align::Center), add);
}
