//! What follows from the design's model, with the working shown: parameters, bytes, FLOPs, KV.

use super::{Shown, empty_ui};
use crate::app::style;
use crate::app::theme::{Theme, space};
use crate::app::widgets::{hint, layers_legend_ui, layers_ui};
use crate::catalog::Dtype;
use crate::model::{ExplainAt, Model, Precision, Row, Section, explain, grouped, own_precision};
use eframe::egui::{
    self, Button, CollapsingHeader, ComboBox, DragValue, Label, RichText, ScrollArea, Slider, Ui,
    vec2,
};
use std::sync::Arc;

/// Formats to look at.
const WEIGHTS: [Dtype; 6] = [
    Dtype::Bf16,
    Dtype::Fp8,
    Dtype::Int8,
    Dtype::Fp4,
    Dtype::Mxfp4,
    Dtype::Int4,
];
const KV: [Dtype; 3] = [Dtype::Bf16, Dtype::Fp8, Dtype::Int8];
/// Widest a column of sections gets before there are two.
const COLUMN: f32 = 620.0;
/// Most rows of a section on show; a searched architecture has one per layer.
const MOST_ROWS: usize = 60;

/// What the tab remembers; none: as the design's first pool has it.
#[derive(Debug, Clone, Default)]
pub struct ModelView {
    context: Option<u64>,
    weights: Option<Dtype>,
    kv: Option<Dtype>,
    tp: Option<u64>,
    ep: Option<u64>,
    explained: Option<Arc<Explained>>,
}

/// Sections and what they are of.
#[derive(Debug)]
struct Explained {
    model: Model,
    precision: Precision,
    at: ExplainAt,
    sections: Vec<Section>,
}

impl ModelView {
    /// The sections; worked out anew only if something they are of has changed.
    fn sections(&mut self, model: &Model, precision: Precision, at: ExplainAt) -> Arc<Explained> {
        let known = self
            .explained
            .as_ref()
            .filter(|own| own.precision == precision && own.at == at && own.model == *model);
        if let Some(known) = known {
            return Arc::clone(known);
        }
        let fresh = Arc::new(Explained {
            sections: explain(model, precision, &at),
            model: model.clone(),
            precision,
            at,
        });
        self.explained = Some(Arc::clone(&fresh));
        fresh
    }
}

pub(super) fn model_ui(ui: &mut Ui, view: &mut ModelView, shown: &Shown<'_>) {
    let theme = shown.theme();
    let Some(model) = shown.inspected.model() else {
        empty_ui(
            ui,
            theme,
            "This model is not known here",
            "Choose another in the panel at the right, or import its config.json.",
        );
        return;
    };
    let pool = shown.inspected.design.pools.first();
    let own = pool.map_or_else(|| own_precision(model), |pool| pool.precision);
    let layout = pool.map(|pool| pool.layout);
    let mut precision = Precision {
        weights: view.weights.unwrap_or(own.weights),
        kv: view.kv.unwrap_or(own.kv),
        ..own
    };
    let of_pool = ExplainAt {
        block_size: pool.map_or(16, |pool| u64::from(pool.engine.block_size)),
        ..ExplainAt::whole(model.max_context.min(32_768))
    };
    let mut at = match (layout, view.tp, view.ep) {
        (Some(layout), None, None) => ExplainAt {
            tp: u64::from(layout.tp),
            ep: u64::from(layout.ep),
            moe_tp: u64::from(layout.moe_tp()),
            ..of_pool
        },
        (layout, tp, ep) => of_pool.ranks(
            tp.unwrap_or_else(|| layout.map_or(1, |own| u64::from(own.tp))),
            ep.unwrap_or_else(|| layout.map_or(1, |own| u64::from(own.ep))),
        ),
    };
    at.context = view.context.unwrap_or(at.context);
    let copy = controls_ui(ui, theme, view, model, &mut precision, &mut at);
    let explained = view.sections(model, precision, at);
    if copy {
        let texts: Vec<String> = explained.sections.iter().map(Section::to_tabbed).collect();
        ui.ctx()
            .copy_text(format!("{}\n\n{}", model.name, texts.join("\n")));
    }
    ui.add_space(2.0);
    ScrollArea::vertical()
        .id_salt("model")
        .auto_shrink([false, false])
        .show(ui, |ui| {
            ui.set_width(ui.available_width() - space::M);
            head_ui(ui, theme, model);
            let columns = if ui.available_width() >= 2.0 * COLUMN {
                2
            } else {
                1
            };
            if columns == 1 {
                for section in &explained.sections {
                    section_ui(ui, theme, section);
                }
            } else {
                let split = halves(&explained.sections);
                ui.spacing_mut().item_spacing.x = 28.0;
                ui.columns(2, |uis| {
                    for (index, section) in explained.sections.iter().enumerate() {
                        section_ui(&mut uis[usize::from(index >= split)], theme, section);
                    }
                });
            }
            ui.add_space(space::L);
        });
}

/// Where the second column starts: the halves are about equally long.
fn halves(sections: &[Section]) -> usize {
    let length = |section: &Section| section.all_rows().count() + section.notes.len() + 2;
    let all: usize = sections.iter().map(length).sum();
    let mut so_far = 0;
    sections
        .iter()
        .position(|section| {
            so_far += length(section);
            2 * so_far >= all
        })
        .map_or(sections.len(), |index| index + 1)
}

/// Context, formats and ranks in one line; true: all of it is to be copied.
fn controls_ui(
    ui: &mut Ui,
    theme: &Theme,
    view: &mut ModelView,
    model: &Model,
    precision: &mut Precision,
    at: &mut ExplainAt,
) -> bool {
    let most = model.max_context.max(1);
    let mut copy = false;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(space::XS, space::XS);
        let label =
            |ui: &mut Ui, words: &str| ui.label(RichText::new(words).color(theme.text_muted)).id;
        let gap = |ui: &mut Ui| ui.add_space(space::M);
        let context = label(ui, "Context");
        ui.add_space(space::XS);
        let before = at.context;
        ui.scope(|ui| {
            ui.spacing_mut().slider_width = 130.0;
            ui.spacing_mut().interact_size.y = 20.0;
            let visuals = ui.visuals_mut();
            // A rail in the colour of cards can't be seen on a panel.
            visuals.widgets.inactive.bg_fill = theme.line;
            visuals.widgets.inactive.fg_stroke.color = theme.text_muted;
            visuals.selection.bg_fill = theme.accent;
            let slider = Slider::new(&mut at.context, 1..=most)
                .logarithmic(true)
                .trailing_fill(true)
                .show_value(false);
            ui.add(slider).labelled_by(context);
        });
        let field = DragValue::new(&mut at.context)
            .range(0..=1_u64 << 30)
            .speed(pace(most))
            .update_while_editing(false)
            .custom_formatter(|n, _| {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a count of tokens"
                )]
                let n = n.max(0.0) as u64;
                grouped(n)
            })
            .custom_parser(|text| text.replace([',', ' '], "").parse().ok());
        ui.add(field).labelled_by(context);
        if at.context != before {
            view.context = Some(at.context);
        }
        gap(ui);
        let pick = |ui: &mut Ui, words: &str, now: &mut Dtype, all: &[Dtype]| {
            let id = label(ui, words);
            let mut chosen = None;
            ComboBox::from_id_salt(("model-tab", words))
                .width(72.0)
                .selected_text(now.name())
                .show_ui(ui, |ui| {
                    for dtype in all {
                        if ui.selectable_label(dtype == now, dtype.name()).clicked() {
                            chosen = Some(*dtype);
                        }
                    }
                })
                .response
                .labelled_by(id);
            if let Some(dtype) = chosen {
                *now = dtype;
            }
            chosen
        };
        if let Some(dtype) = pick(ui, "Weights", &mut precision.weights, &WEIGHTS) {
            view.weights = Some(dtype);
        }
        gap(ui);
        if let Some(dtype) = pick(ui, "KV", &mut precision.kv, &KV) {
            view.kv = Some(dtype);
        }
        gap(ui);
        let degree = |ui: &mut Ui, words: &str, now: u64| {
            let id = label(ui, words);
            let mut degree = now;
            let field = DragValue::new(&mut degree)
                .range(1..=1024)
                .speed(0.1)
                .update_while_editing(false);
            ui.add(field).labelled_by(id);
            (degree != now).then_some(degree)
        };
        let tp = degree(ui, "TP", at.tp);
        let ep = degree(ui, "EP", at.ep);
        if tp.is_some() || ep.is_some() {
            *at = at.ranks(tp.unwrap_or(at.tp), ep.unwrap_or(at.ep));
            (view.tp, view.ep) = (Some(at.tp), Some(at.ep));
        }
        gap(ui);
        let link = |words: &str| Button::new(RichText::new(words).color(theme.accent)).frame(false);
        let changed = view.context.is_some()
            || view.weights.is_some()
            || view.kv.is_some()
            || view.tp.is_some();
        if changed
            && ui
                .add(link("As designed"))
                .on_hover_text("Formats and ranks of the design's first pool")
                .clicked()
        {
            *view = ModelView {
                explained: view.explained.take(),
                ..ModelView::default()
            };
        }
        copy = ui
            .add(link("Copy"))
            .on_hover_text("Copy all rows, as a spreadsheet takes them")
            .clicked();
    });
    copy
}

/// Tokens a pixel of scrubbing is worth.
#[expect(clippy::cast_precision_loss, reason = "only a pace")]
fn pace(most: u64) -> f64 {
    (most as f64 / 500.0).max(1.0)
}

/// The layer stack, where the shape comes from, and what was taken for granted of it.
fn head_ui(ui: &mut Ui, theme: &Theme, model: &Model) {
    layers_ui(ui, theme, model);
    ui.add_space(space::XS);
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing.y = 2.0;
        layers_legend_ui(ui, theme, model);
        if !model.source.is_empty() {
            hint(ui, theme, model.source.as_str());
        }
    });
    if !model.assumptions.is_empty() {
        ui.add_space(space::XS);
        ui.label(
            RichText::new("Taken for granted when it was imported")
                .family(style::medium())
                .color(theme.warning),
        );
        crate::app::import::list_ui(ui, theme, &model.assumptions);
    }
    ui.add_space(space::S);
}

fn section_ui(ui: &mut Ui, theme: &Theme, section: &Section) {
    let total = section
        .total
        .as_ref()
        .map(|row| format!("   {}", row.value.short()))
        .unwrap_or_default();
    let mut title = egui::text::LayoutJob::default();
    let part = |words: &str, family, color| {
        (
            words.to_owned(),
            egui::TextFormat::simple(egui::FontId::new(13.0, family), color),
        )
    };
    for (words, format) in [
        part(&section.title, style::semibold(), theme.text),
        part(&total, style::medium(), theme.text_muted),
    ] {
        title.append(&words, 0.0, format);
    }
    // A title that names the context keeps its state while the context is dragged.
    let key: String = section
        .title
        .chars()
        .filter(|c| !c.is_ascii_digit() && *c != ',')
        .collect();
    CollapsingHeader::new(title)
        .id_salt(key)
        .default_open(true)
        .show_unindented(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 3.0;
            for row in section.rows.iter().take(MOST_ROWS) {
                row_ui(ui, theme, row, false);
            }
            if let Some(more) = section.rows.len().checked_sub(MOST_ROWS).filter(|n| *n > 0) {
                hint(
                    ui,
                    theme,
                    format!("and {more} rows more, which Copy has too"),
                );
            }
            if let Some(total) = &section.total {
                let (rect, _) =
                    ui.allocate_exact_size(vec2(ui.available_width(), 1.0), egui::Sense::hover());
                ui.painter()
                    .hline(rect.x_range(), rect.center().y, (1.0, theme.line));
                row_ui(ui, theme, total, true);
            }
            for row in &section.beside {
                row_ui(ui, theme, row, false);
            }
            for note in &section.notes {
                hint(ui, theme, note.as_str());
            }
            ui.add_space(space::XS);
        });
}

/// Name, working and value side by side; the value at the right edge.
fn row_ui(ui: &mut Ui, theme: &Theme, row: &Row, total: bool) {
    let width = ui.available_width();
    let value = 160.0_f32.min(width * 0.3);
    let name = (width * 0.3).clamp(120.0, 220.0);
    let work = (width - value - name - 2.0 * space::M).max(60.0);
    let cell = |ui: &mut Ui, width: f32, text: RichText, right: bool| {
        let layout = if right {
            egui::Layout::top_down(egui::Align::Max)
        } else {
            egui::Layout::top_down(egui::Align::Min)
        };
        ui.allocate_ui_with_layout(vec2(width, 0.0), layout, |ui| {
            ui.set_width(width);
            ui.add(Label::new(text).wrap().selectable(true));
        });
    };
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = space::M;
        ui.spacing_mut().interact_size.y = 16.0;
        let what = RichText::new(&row.what).color(theme.text);
        let amount = RichText::new(row.value.to_string()).color(theme.text);
        let working = RichText::new(&row.formula).color(theme.text_muted);
        let strong = |text: RichText| {
            if total {
                text.family(style::semibold())
            } else {
                text
            }
        };
        cell(ui, name, strong(what), false);
        cell(ui, work, working, false);
        cell(ui, value, strong(amount), true);
    });
}
