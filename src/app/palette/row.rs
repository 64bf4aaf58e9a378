//! A row of the palette: a card to drag, click or double-click.

use super::PaletteOutput;
use crate::app::theme::{RADIUS, Theme, text};
use crate::app::tool::Part;
use eframe::egui::text::{LayoutJob, TextFormat, TextWrapping};
use eframe::egui::{
    self, Align2, Color32, CornerRadius, DragAndDrop, FontId, Painter, Rect, Response,
    Role as Access, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2,
};

/// Height of a row.
const ROW: f32 = 28.0;

/// What a click, a double click, Enter or a drag on a part's row asks for.
pub fn part(
    response: &Response,
    part: Part,
    name: &str,
    theme: &Theme,
    output: &mut PaletteOutput,
) {
    response.dnd_set_drag_payload(part.clone());
    ghost(response, name, theme);
    let by_key = response.clicked() && !response.clicked_by(egui::PointerButton::Primary);
    if response.double_clicked() || by_key {
        output.add = Some(part);
    } else if response.clicked() {
        output.arm = Some(part);
    }
}

/// The part's name on the pointer until the canvas shows its outline.
pub fn ghost(response: &Response, name: &str, theme: &Theme) {
    let ctx = &response.ctx;
    if !response.dragged() || !DragAndDrop::has_payload_of_type::<Part>(ctx) {
        return;
    }
    let Some(pos) = ctx.input(|i| i.pointer.latest_pos()) else {
        return;
    };
    if !response.rect.x_range().expand(24.0).contains(pos.x) {
        return;
    }
    let layer = egui::LayerId::new(egui::Order::Tooltip, response.id.with("ghost"));
    let painter = ctx.layer_painter(layer);
    let galley = painter.layout_no_wrap(name.to_owned(), FontId::proportional(12.0), theme.accent);
    let rect = Rect::from_min_size(pos + vec2(14.0, 10.0), galley.size() + vec2(16.0, 8.0));
    painter.rect(
        rect,
        CornerRadius::same(6),
        theme.card,
        Stroke::new(1.0, theme.accent),
        StrokeKind::Inside,
    );
    painter.galley(rect.min + vec2(8.0, 4.0), galley, theme.accent);
}

/// A row that is never lit.
pub fn row(
    ui: &mut Ui,
    theme: &Theme,
    name: &str,
    detail: &str,
    icon: impl Fn(&Painter, Rect, Color32),
) -> Response {
    row_marked(ui, theme, name, detail, None, icon)
}

/// A row; `mark` lights it while its tool is in hand.
pub fn row_marked(
    ui: &mut Ui,
    theme: &Theme,
    name: &str,
    detail: &str,
    mark: Option<Color32>,
    icon: impl Fn(&Painter, Rect, Color32),
) -> Response {
    let (rect, response) =
        ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::click_and_drag());
    response.widget_info(|| WidgetInfo::selected(Access::Button, true, mark.is_some(), name));
    if !ui.is_rect_visible(rect) {
        return response;
    }
    let lit = response.hovered() || response.dragged();
    let (fill, edge) = match mark {
        Some(color) => (
            theme.card.lerp_to_gamma(color, 0.16),
            Stroke::new(1.5, color),
        ),
        None if response.has_focus() => (theme.card_hover, Stroke::new(1.5, theme.accent)),
        None => (
            if lit { theme.card_hover } else { theme.card },
            Stroke::new(1.0, theme.line),
        ),
    };
    let painter = ui.painter();
    painter.rect(
        rect,
        CornerRadius::same(RADIUS),
        fill,
        edge,
        StrokeKind::Inside,
    );
    let glyph = Rect::from_center_size(pos2(rect.left() + 19.0, rect.center().y), vec2(17.0, 17.0));
    icon(painter, glyph, theme.text_muted);
    let galley = painter.layout_no_wrap(
        detail.to_owned(),
        FontId::proportional(text::SMALL),
        theme.text_muted,
    );
    let detail_left = rect.right() - 10.0 - galley.size().x;
    painter.galley(
        pos2(detail_left, rect.center().y - galley.size().y / 2.0),
        galley,
        theme.text_muted,
    );
    let left = rect.left() + 35.0;
    let mut job = LayoutJob::single_section(
        name.to_owned(),
        TextFormat::simple(FontId::proportional(text::BODY), theme.text),
    );
    job.wrap = TextWrapping {
        max_width: (detail_left - left - 6.0).max(16.0),
        max_rows: 1,
        break_anywhere: true,
        overflow_character: Some('…'),
    };
    let galley = painter.layout_job(job);
    let place = Align2::LEFT_CENTER.anchor_size(pos2(left, rect.center().y), galley.size());
    painter.galley(place.min, galley, theme.text);
    response
}
