//! One step of a split, job by job: who works on which micro-batch of which layer, and where they wait.

use crate::app::style;
use crate::app::theme::{Theme, space};
use crate::cost::{FEMTOS_PER_NANO, Femtos, Resource, StepGantt};
use crate::plan::Role;
use crate::sim::SplitTime;
use eframe::egui::{
    Align2, Color32, CornerRadius, FontId, Rect, RichText, Sense, Stroke, StrokeKind, Ui, pos2,
    vec2,
};

/// Height of a resource's line, and of the time axis.
const LINE: f32 = 24.0;
const AXIS: f32 = 18.0;
/// Width of the names.
const NAMES: f32 = 88.0;
/// Layers shown: bars of a whole step would be thinner than a pixel.
const LAYERS: u32 = 4;

pub(super) fn step_ui(ui: &mut Ui, theme: &Theme, own: &SplitTime) {
    ui.label(RichText::new("A step, attention and FFN apart").family(style::semibold()));
    let Some(gantt) = StepGantt::of(&own.step).filter(|gantt| !gantt.spans.is_empty()) else {
        ui.label(RichText::new("No step of decodes alone at this load.").color(theme.text_muted));
        return;
    };
    let layers = gantt.spans.last().map_or(0, |span| span.layer + 1);
    // The middle of the model: the pipeline is full there, and the ends' layers are often of another kind.
    let first = layers.saturating_sub(LAYERS) / 2;
    let last = (first + LAYERS).min(layers);
    let shown = gantt
        .spans
        .iter()
        .filter(|span| (first..last).contains(&span.layer));
    let begin = shown.clone().map(|span| span.start).min().unwrap_or(0);
    let end = shown.clone().map(|span| span.end).max().unwrap_or(1);
    ui.label(
        RichText::new(format!(
            "{} micro-batches · layers {} to {last} of {layers} · a step takes {} · attention GPUs wait {:.0} %, FFN GPUs {:.0} % of it",
            own.micro_batches,
            first + 1,
            time(gantt.took),
            own.attention_bubble * 100.0,
            own.ffn_bubble * 100.0
        ))
        .small()
        .color(theme.text_muted),
    );
    ui.add_space(space::XS);
    let height = 4.0 * LINE + AXIS;
    let width = ui.available_width().clamp(320.0, 1200.0);
    let (rect, response) = ui.allocate_exact_size(vec2(width, height), Sense::hover());
    let plot = Rect::from_min_max(pos2(rect.left() + NAMES, rect.top()), rect.right_bottom());
    let at = |moment: Femtos| {
        let share = ratio(moment.saturating_sub(begin), end - begin);
        plot.left() + share * plot.width()
    };
    let painter = ui.painter_at(rect);
    let font = FontId::proportional(11.0);
    for (index, resource) in Resource::ALL.into_iter().enumerate() {
        let top = rect.top() + line_of(index);
        painter.text(
            pos2(rect.left(), top + LINE / 2.0),
            Align2::LEFT_CENTER,
            name(resource),
            font.clone(),
            theme.text_muted,
        );
        let row = Rect::from_min_max(
            pos2(plot.left(), top + 2.0),
            pos2(plot.right(), top + LINE - 2.0),
        );
        painter.rect_filled(row, CornerRadius::same(2), theme.card);
    }
    let pointer = response.hover_pos();
    let mut hovered = None;
    for span in shown {
        let top = rect.top() + line_of(span.resource as usize);
        let bar = Rect::from_min_max(
            pos2(at(span.start), top + 3.0),
            pos2(at(span.end).max(at(span.start) + 1.0), top + LINE - 3.0),
        );
        let color = color(theme, span.resource, span.micro);
        painter.rect(
            bar,
            CornerRadius::same(2),
            color,
            Stroke::new(0.5_f32, theme.panel),
            StrokeKind::Inside,
        );
        if bar.width() > 22.0 {
            painter.text(
                bar.center(),
                Align2::CENTER_CENTER,
                format!("{}", span.micro + 1),
                font.clone(),
                theme.on_accent,
            );
        }
        if pointer.is_some_and(|pointer| bar.contains(pointer)) {
            hovered = Some(*span);
        }
    }
    let axis = rect.top() + 4.0 * LINE;
    for (x, align, moment) in [
        (plot.left(), Align2::LEFT_TOP, begin),
        (
            plot.center().x,
            Align2::CENTER_TOP,
            begin + (end - begin) / 2,
        ),
        (plot.right(), Align2::RIGHT_TOP, end),
    ] {
        let text = time(moment);
        painter.text(
            pos2(x, axis + 3.0),
            align,
            text,
            font.clone(),
            theme.text_muted,
        );
    }
    if let Some(span) = hovered {
        response.on_hover_text(format!(
            "{}: micro-batch {} of layer {}, {}",
            name(span.resource),
            span.micro + 1,
            span.layer + 1,
            time(span.end - span.start)
        ));
    }
}

#[expect(clippy::cast_precision_loss, reason = "a place on the screen")]
fn line_of(index: usize) -> f32 {
    index as f32 * LINE
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a place on the screen"
)]
fn ratio(part: Femtos, whole: Femtos) -> f32 {
    (part as f64 / whole.max(1) as f64) as f32
}

const fn name(resource: Resource) -> &'static str {
    match resource {
        Resource::Attention => "Attention",
        Resource::Dispatch => "To the FFN",
        Resource::Ffn => "FFN",
        Resource::Combine => "Back",
    }
}

/// The role's colour, the lighter the later the micro-batch; ways paler than work.
fn color(theme: &Theme, resource: Resource, micro: u32) -> Color32 {
    let base = match resource {
        Resource::Attention => theme.role(Some(Role::Attention)),
        Resource::Ffn => theme.role(Some(Role::Ffn)),
        Resource::Dispatch | Resource::Combine => theme.link,
    };
    let pale = 0.13 * f32::from(u8::try_from(micro).unwrap_or(3));
    base.lerp_to_gamma(theme.panel, pale)
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn time(femtos: Femtos) -> String {
    let us = femtos as f64 / FEMTOS_PER_NANO as f64 * 1e-3;
    if us < 1000.0 {
        format!("{us:.0} µs")
    } else {
        format!("{:.2} ms", us * 1e-3)
    }
}
