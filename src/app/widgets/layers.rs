//! The layer stack as a small picture: a cell per layer. Upwards how far its attention reaches,
//! downwards its FFN, each in the colour of the role that runs it; height tells the kinds apart
//! where colour can't be seen.

use crate::app::style;
use crate::app::theme::{Theme, space};
use crate::model::{Attention, Ffn, LayerRun, Model, Span, attention_words, ffn_words, grouped};
use crate::plan::Role;
use eframe::egui::{self, Color32, Label, Rect, RichText, Sense, Ui, pos2, vec2};

/// Heights of the two halves, and between them.
const UP: f32 = 22.0;
const DOWN: f32 = 14.0;
const GAP: f32 = 1.0;
/// Between rows of cells.
const BETWEEN: f32 = 6.0;
/// Widths of a cell.
const NARROW: f32 = 4.0;
const WIDE: f32 = 14.0;
/// Most cells drawn; a model may have a thousand layers, a broken one more.
const MOST: usize = 1000;

/// What a half of a cell looks like: its height as a share, and how much of the colour it has.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Look {
    height: f32,
    strength: f32,
}

const fn look(height: f32, strength: f32) -> Look {
    Look { height, strength }
}

/// The whole context is a full bar, a part of it a lower one, a state of fixed size a stub.
fn attention_look(attention: &Attention) -> Look {
    const FULL: Look = look(1.0, 1.0);
    match attention {
        Attention::Gqa(gqa) if gqa.indexer.is_some() => look(0.75, 0.85),
        Attention::Gqa(gqa) => match gqa.span {
            Span::Full => FULL,
            Span::Window(_) | Span::Chunk(_) => look(0.5, 0.6),
        },
        Attention::Mla(mla) if mla.indexer.is_some() => look(0.75, 0.85),
        Attention::Mla(_) | Attention::Parallel { .. } => FULL,
        Attention::Compressed(own) if own.ratio == 0 => look(0.5, 0.6),
        Attention::Compressed(own) if own.indexer.is_some() => look(0.75, 0.85),
        Attention::Compressed(_) => look(0.6, 0.7),
        Attention::Recurrent(_) => look(0.25, 0.45),
        Attention::Matrix => look(0.12, 0.3),
        Attention::None => look(0.0, 0.0),
    }
}

fn ffn_look(ffn: &Ffn) -> Look {
    match ffn {
        Ffn::Moe(_) => look(1.0, 1.0),
        Ffn::Dense { .. } => look(0.5, 0.6),
        Ffn::Matrix => look(0.2, 0.3),
        Ffn::None => look(0.0, 0.0),
    }
}

/// Draws it, as wide as there is room.
pub fn layers_ui(ui: &mut Ui, theme: &Theme, model: &Model) {
    let layers: Vec<&LayerRun> = model
        .layers
        .iter()
        .flat_map(|run| std::iter::repeat_n(run, run.count as usize))
        .take(MOST)
        .collect();
    if layers.is_empty() {
        return;
    }
    let room = ui.available_width().max(WIDE);
    #[expect(clippy::cast_precision_loss, reason = "at most a thousand")]
    let width = (room / layers.len() as f32).clamp(NARROW, WIDE).floor();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of cells"
    )]
    let per_row = ((room / width) as usize).max(1);
    let rows = layers.len().div_ceil(per_row);
    let row_height = UP + GAP + DOWN + BETWEEN;
    #[expect(clippy::cast_precision_loss, reason = "a few rows")]
    let size = vec2(room, rows as f32 * row_height - BETWEEN);
    let (whole, response) = ui.allocate_exact_size(size, Sense::hover());
    response.widget_info(|| {
        egui::WidgetInfo::labeled(
            egui::Role::Image,
            true,
            format!("{} layers", model.layer_count()),
        )
    });
    #[expect(clippy::cast_precision_loss, reason = "at most a thousand")]
    let cell = |index: usize| {
        let (row, column) = (index / per_row, index % per_row);
        let at = whole.min + vec2(column as f32 * width, row as f32 * row_height);
        Rect::from_min_size(at, vec2(width, UP + GAP + DOWN))
    };
    let under = response
        .hover_pos()
        .and_then(|pointer| (0..layers.len()).find(|index| cell(*index).contains(pointer)));
    let (up, down) = (
        theme.role(Some(Role::Attention)),
        theme.role(Some(Role::Ffn)),
    );
    let painter = ui.painter();
    for (index, run) in layers.iter().enumerate() {
        let rect = cell(index);
        if !ui.is_rect_visible(rect) {
            continue;
        }
        if under == Some(index) {
            painter.rect_filled(rect, 0.0, theme.accent_soft);
        }
        let inner = rect.shrink2(vec2(if width > 5.0 { 1.0 } else { 0.5 }, 0.0));
        let line = rect.top() + UP;
        let bar = |look: Look, color: Color32, upwards: bool| {
            let color = theme.panel.lerp_to_gamma(color, look.strength);
            let (top, bottom) = if upwards {
                (line - look.height * UP, line)
            } else {
                (line + GAP, line + GAP + look.height * DOWN)
            };
            let bar = Rect::from_min_max(pos2(inner.left(), top), pos2(inner.right(), bottom));
            painter.rect_filled(bar, 0.0, color);
        };
        bar(attention_look(&run.attention), up, true);
        bar(ffn_look(&run.ffn), down, false);
    }
    if let Some(index) = under {
        let run = layers[index];
        response.on_hover_ui_at_pointer(|ui| {
            ui.set_max_width(340.0);
            let title = format!("Layer {} of {}", index + 1, model.layer_count());
            ui.label(RichText::new(title).family(style::medium()));
            ui.add(Label::new(attention_words(&run.attention)).wrap());
            ui.add(Label::new(ffn_words(&run.ffn)).wrap());
        });
    }
}

/// Kinds of layers with their counts, each with the bar it has in the picture.
pub fn layers_legend_ui(ui: &mut Ui, theme: &Theme, model: &Model) {
    /// Most kinds listed: a searched architecture has one per layer.
    const MOST_KINDS: usize = 6;
    let mut kinds: Vec<(String, Look, bool, u64)> = Vec::new();
    let mut count = |words: String, look: Look, up: bool, layers: u32| {
        let layers = u64::from(layers);
        match kinds.iter_mut().find(|(known, ..)| *known == words) {
            Some((.., so_far)) => *so_far = so_far.saturating_add(layers),
            None => kinds.push((words, look, up, layers)),
        }
    };
    for run in &model.layers {
        count(
            attention_words(&run.attention),
            attention_look(&run.attention),
            true,
            run.count,
        );
        count(ffn_words(&run.ffn), ffn_look(&run.ffn), false, run.count);
    }
    ui.spacing_mut().interact_size.y = 16.0;
    for up in [true, false] {
        let own: Vec<_> = kinds
            .iter()
            .filter(|(_, _, is_up, _)| *is_up == up)
            .collect();
        for (words, look, _, layers) in own.iter().take(MOST_KINDS) {
            ui.horizontal_top(|ui| {
                ui.spacing_mut().item_spacing.x = space::S;
                let (rect, _) = ui.allocate_exact_size(vec2(8.0, 14.0), Sense::hover());
                let role = if up { Role::Attention } else { Role::Ffn };
                let color = theme
                    .panel
                    .lerp_to_gamma(theme.role(Some(role)), look.strength);
                let height = (look.height * rect.height()).max(1.0);
                let bar = if up {
                    Rect::from_min_max(pos2(rect.left(), rect.bottom() - height), rect.max)
                } else {
                    Rect::from_min_size(rect.min, vec2(rect.width(), height))
                };
                ui.painter().rect_filled(bar, 0.0, color);
                let number = format!("{} ×", grouped(*layers));
                let number = RichText::new(number).family(style::medium());
                let right = egui::Layout::right_to_left(egui::Align::Center);
                ui.allocate_ui_with_layout(vec2(36.0, 16.0), right, |ui| {
                    ui.set_min_width(36.0);
                    ui.label(number);
                });
                ui.add(Label::new(words.as_str()).wrap());
            });
        }
        if own.len() > MOST_KINDS {
            let more = format!("and {} kinds more", own.len() - MOST_KINDS);
            ui.label(RichText::new(more).small().color(theme.text_muted));
        }
    }
}
