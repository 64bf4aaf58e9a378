//! The map itself: operators as rows, engines under their GPUs as columns, a number and a colour in
//! every cell. Headings stay while the cells scroll.

use super::CalibrationView;
use super::coverage::{Cell, Column, Cover, Coverage, engine_words};
use super::figures::{counted, error_text};
use crate::app::style;
use crate::app::theme::{Theme, space, text};
use crate::app::widgets::{hint, sentence};
use crate::cost::calibrated::Family;
use crate::report::palette::{self, Tone};

use eframe::egui::{
    self, Align2, Color32, FontId, Painter, Pos2, Rect, RichText, ScrollArea, Sense, Stroke,
    StrokeKind, Ui, WidgetInfo, pos2, vec2,
};

const CELL: egui::Vec2 = vec2(34.0, 22.0);
/// Between GPUs.
const GAP: f32 = 10.0;
const HEAD: f32 = 34.0;
/// Least width of a GPU's name.
const NAME: f32 = 72.0;

pub(super) fn grid_ui(ui: &mut Ui, theme: &Theme, view: &mut CalibrationView, map: &Coverage) {
    legend_ui(ui, theme, view, map);
    let label = label_width(ui, map);
    let xs = columns_at(&map.columns);
    let width = label + xs.last().map_or(0.0, |x| x + CELL.x);
    #[expect(clippy::cast_precision_loss, reason = "some dozens")]
    let height = HEAD + map.rows.len() as f32 * CELL.y;
    ScrollArea::both()
        .id_salt("coverage")
        .auto_shrink([false, false])
        .show_viewport(ui, |ui, viewport| {
            let (area, _) = ui.allocate_exact_size(vec2(width + 4.0, height + 4.0), Sense::hover());
            let origin = area.min;
            let seen = Rect::from_min_size(origin + viewport.min.to_vec2(), viewport.size());
            cells_ui(ui, theme, view, map, origin, label, &xs, seen);
            heads(ui.painter(), theme, map, origin, label, &xs, seen);
        });
}

/// Where columns start, from the end of the labels.
fn columns_at(columns: &[Column]) -> Vec<f32> {
    let mut xs = Vec::with_capacity(columns.len());
    let mut x = 0.0_f32;
    let mut group_at = 0.0_f32;
    for (index, column) in columns.iter().enumerate() {
        let new = index == 0 || columns[index - 1].gpu != column.gpu;
        if new && index > 0 {
            // A GPU of one engine is as wide as its name.
            x = x.max(group_at + NAME) + GAP;
        }
        if new {
            group_at = x;
        }
        xs.push(x);
        x += CELL.x;
    }
    xs
}

fn label_width(ui: &Ui, map: &Coverage) -> f32 {
    let font = egui::TextStyle::Body.resolve(ui.style());
    let width = |family: &Family| {
        let words = sentence(family.title());
        let galley = ui
            .painter()
            .layout_no_wrap(words, font.clone(), Color32::WHITE);
        galley.size().x
    };
    let widest = map
        .rows
        .iter()
        .map(|(family, _)| width(family))
        .fold(60.0, f32::max);
    widest + space::M
}

#[expect(clippy::too_many_arguments, reason = "where things are")]
fn cells_ui(
    ui: &mut Ui,
    theme: &Theme,
    view: &mut CalibrationView,
    map: &Coverage,
    origin: Pos2,
    label: f32,
    xs: &[f32],
    seen: Rect,
) {
    let painter = ui.painter().with_clip_rect(
        Rect::from_min_max(seen.min + vec2(label, HEAD), seen.max).intersect(ui.clip_rect()),
    );
    let mut y = origin.y + HEAD;
    for (family, covers) in &map.rows {
        for ((column, cover), x) in map.columns.iter().zip(covers).zip(xs) {
            let rect = Rect::from_min_size(pos2(origin.x + label + x, y), CELL).shrink(1.0);
            if !seen.intersects(rect) {
                continue;
            }
            let cell = Cell {
                family: *family,
                gpu: column.gpu.clone(),
                engine: column.engine.clone(),
            };
            let on = view.cell.as_ref() == Some(&cell);
            let id = ui
                .scope_id()
                .with((family.word(), &column.gpu, &column.engine));
            let hit = rect.intersect(painter.clip_rect());
            let response = ui.interact(hit, id, Sense::click());
            paint(&painter, theme, rect, cover, on, response.hovered());
            let spoken = spoken(*family, column, cover);
            response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, &spoken));
            if response.clicked() {
                view.cell = if on { None } else { Some(cell) };
                view.table = None;
            }
            response.on_hover_ui(|ui| tip_ui(ui, theme, *family, column, cover));
        }
        y += CELL.y;
    }
}

/// Names of operators and of GPUs and engines, over the cells that scrolled under them.
fn heads(
    painter: &Painter,
    theme: &Theme,
    map: &Coverage,
    origin: Pos2,
    label: f32,
    xs: &[f32],
    seen: Rect,
) {
    let body = FontId::proportional(text::BODY);
    let small = FontId::proportional(text::SMALL);
    let medium = FontId::new(text::SMALL, style::medium());
    let left = Rect::from_min_max(
        pos2(seen.left(), seen.top() + HEAD),
        pos2(seen.left() + label, seen.bottom()),
    );
    painter.rect_filled(left, 0.0, theme.panel);
    let names = painter.with_clip_rect(left.intersect(painter.clip_rect()));
    let mut y = origin.y + HEAD;
    for (family, covers) in &map.rows {
        let any = covers.iter().any(|own| *own != Cover::None);
        let ink = if any { theme.text } else { theme.text_muted };
        let at = pos2(seen.left(), y + CELL.y / 2.0);
        names.text(
            at,
            Align2::LEFT_CENTER,
            sentence(family.title()),
            body.clone(),
            ink,
        );
        y += CELL.y;
    }
    let top = Rect::from_min_max(seen.min, pos2(seen.right(), seen.top() + HEAD));
    painter.rect_filled(top, 0.0, theme.panel);
    let over = Rect::from_min_max(pos2(seen.left() + label, top.top()), top.max);
    let columns = painter.with_clip_rect(over.intersect(painter.clip_rect()));
    for (index, (column, x)) in map.columns.iter().zip(xs).enumerate() {
        let x = origin.x + label + x;
        if index == 0 || map.columns[index - 1].gpu != column.gpu {
            let own = map.columns[index..]
                .iter()
                .take_while(|own| own.gpu == column.gpu);
            #[expect(clippy::cast_precision_loss, reason = "a few")]
            let width = (own.count() as f32 * CELL.x).max(NAME);
            let galley = fitted(&columns, &column.gpu_name, &medium, theme.text, width);
            let at = pos2(x + 1.0, top.top() + 9.0 - galley.size().y / 2.0);
            columns.galley(at, galley, theme.text);
        }
        let at = pos2(x + CELL.x / 2.0, top.top() + 25.0);
        let (short, _) = engine_words(&column.engine);
        columns.text(
            at,
            Align2::CENTER_CENTER,
            short,
            small.clone(),
            theme.text_muted,
        );
    }
}

/// One line, cut with an ellipsis where it is wider.
fn fitted(
    painter: &Painter,
    words: &str,
    font: &FontId,
    ink: Color32,
    width: f32,
) -> std::sync::Arc<egui::Galley> {
    let mut job = egui::text::LayoutJob::simple_singleline(words.to_owned(), font.clone(), ink);
    job.wrap = egui::text::TextWrapping::truncate_at_width(width);
    painter.layout_job(job)
}

fn tone(theme: &Theme, tone: Tone) -> Color32 {
    style::color(if theme.dark {
        tone.on_dark
    } else {
        tone.on_light
    })
}

/// The colour of an error.
fn error_color(theme: &Theme, error: f64) -> Color32 {
    let class = palette::ERROR_SCALE.iter().find(|(upto, _)| error <= *upto);
    class.map_or(theme.line, |(_, own)| tone(theme, *own))
}

/// Black or white, whichever is read better on a ground.
fn ink_on(ground: Color32) -> Color32 {
    // Relative luminance (WCAG 2): black and white contrast equally at 0.18.
    let part = |x: u8| {
        let x = f32::from(x) / 255.0;
        if x <= 0.04045 {
            x / 12.92
        } else {
            ((x + 0.055) / 1.055).powf(2.4)
        }
    };
    let light = 0.2126 * part(ground.r()) + 0.7152 * part(ground.g()) + 0.0722 * part(ground.b());
    if light > 0.18 {
        Color32::from_gray(0x0a)
    } else {
        Color32::WHITE
    }
}

fn paint(painter: &Painter, theme: &Theme, rect: Rect, cover: &Cover, on: bool, hovered: bool) {
    let font = FontId::new(10.5, style::medium());
    let number = |share: f64| {
        let percent = share * 100.0;
        if percent < 9.95 {
            format!("{percent:.1}")
        } else {
            format!("{percent:.0}")
        }
    };
    match cover {
        Cover::None => {
            painter.circle_filled(rect.center(), 1.5, theme.line);
        }
        Cover::Own { median, .. } => {
            let ground = error_color(theme, *median);
            painter.rect_filled(rect, 3.0, ground);
            painter.text(
                rect.center(),
                Align2::CENTER_CENTER,
                number(*median),
                font,
                ink_on(ground),
            );
        }
        Cover::StandIn { .. } => {
            let color = cover
                .median()
                .map_or(theme.link, |error| error_color(theme, error));
            hatch(painter, rect, color);
            if let Some(median) = cover.median() {
                let ground = Rect::from_center_size(rect.center(), vec2(20.0, 13.0));
                painter.rect_filled(ground, 3.0, theme.panel);
                painter.text(
                    rect.center(),
                    Align2::CENTER_CENTER,
                    number(median),
                    font,
                    theme.text,
                );
            }
        }
    }
    if on || hovered {
        let stroke = if on {
            Stroke::new(2.0, theme.accent)
        } else {
            Stroke::new(1.0, theme.text_muted)
        };
        painter.rect_stroke(rect, 3.0, stroke, StrokeKind::Outside);
    }
}

/// Slanted lines in a frame.
fn hatch(painter: &Painter, rect: Rect, color: Color32) {
    let inside = painter.with_clip_rect(rect.intersect(painter.clip_rect()));
    let stroke = Stroke::new(1.4, color);
    let mut x = rect.left() - rect.height();
    while x < rect.right() {
        inside.line_segment(
            [pos2(x, rect.bottom()), pos2(x + rect.height(), rect.top())],
            stroke,
        );
        x += 5.0;
    }
    painter.rect_stroke(rect, 3.0, Stroke::new(1.0, color), StrokeKind::Inside);
}

/// What colours and signs mean, and how much there is.
fn legend_ui(ui: &mut Ui, theme: &Theme, view: &mut CalibrationView, map: &Coverage) {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(4.0, 2.0);
        let small = |words: String| RichText::new(words).small().color(theme.text_muted);
        ui.label(small("Median error".to_owned())).on_hover_text(format!(
            "Of each table on shapes its fit had not seen. {} of {}.",
            counted(map.tables, "table"),
            counted(map.gpus, "GPU")
        ));
        ui.add_space(2.0);
        for (upto, own) in palette::ERROR_SCALE {
            swatch(ui, |painter, rect| {
                painter.rect_filled(rect, 3.0, tone(theme, own));
            });
            ui.label(small(if upto.is_finite() {
                format!("to {:.0} %", upto * 100.0)
            } else {
                "more".to_owned()
            }));
            ui.add_space(2.0);
        }
        swatch(ui, |painter, rect| hatch(painter, rect, theme.link));
        ui.label(small("stands in".to_owned())).on_hover_text(
            "Nothing was measured: another engine on the GPU, or a relative GPU scaled by the physics, prices it. The number is what that cost where it could be measured.",
        );
        ui.add_space(2.0);
        swatch(ui, |painter, rect| {
            painter.circle_filled(rect.center(), 1.5, theme.link);
        });
        ui.label(small("roofline".to_owned()))
            .on_hover_text("Nothing near was measured: the roofline prices it");
        ui.add_space(space::M);
        let mut all = view.all_gpus;
        let words = small("relatives too".to_owned());
        if ui.checkbox(&mut all, words).on_hover_text("GPUs without measurements of their own").changed() {
            view.all_gpus = all;
        }
    });
}

fn swatch(ui: &mut Ui, paint: impl FnOnce(&Painter, Rect)) {
    let (rect, _) = ui.allocate_exact_size(vec2(18.0, 14.0), Sense::hover());
    paint(ui.painter(), rect);
}

/// What a screen reader says of a cell.
fn spoken(family: Family, column: &Column, cover: &Cover) -> String {
    let (_, engine) = engine_words(&column.engine);
    let place = format!(
        "{} on {} with {engine}",
        sentence(family.title()),
        column.gpu_name
    );
    match cover {
        Cover::None => format!("{place}: roofline"),
        Cover::Own { median, .. } => format!("{place}: median error {}", error_text(*median)),
        Cover::StandIn { near, .. } => format!("{place}: {} stands in", near.name()),
    }
}

fn tip_ui(ui: &mut Ui, theme: &Theme, family: Family, column: &Column, cover: &Cover) {
    ui.set_max_width(320.0);
    ui.spacing_mut().item_spacing.y = 2.0;
    let (_, engine) = engine_words(&column.engine);
    let title = format!(
        "{} · {} · {engine}",
        sentence(family.title()),
        column.gpu_name
    );
    ui.label(RichText::new(title).family(style::medium()));
    match cover {
        Cover::None => {
            hint(
                ui,
                theme,
                "Nothing near was measured: the roofline prices it.",
            );
        }
        Cover::Own {
            tables,
            rows,
            median,
            p95,
            versions,
            precisions,
        } => {
            ui.label(format!(
                "Median error {}, p95 {}",
                error_text(*median),
                error_text(*p95)
            ));
            hint(
                ui,
                theme,
                format!("{}, {}", counted(*tables, "table"), counted(*rows, "row")),
            );
            hint(ui, theme, format!("Versions {}", listed(versions)));
            hint(ui, theme, format!("Precisions {}", listed(precisions)));
        }
        Cover::StandIn {
            near,
            gpu,
            engine,
            errors,
        } => {
            let (_, engine) = engine_words(engine);
            ui.label(format!(
                "Not measured: {} stands in ({gpu}, {engine})",
                near.name()
            ));
            let words = match errors {
                Some(errors) => format!(
                    "Standing in so was off by {} in the median, p95 {}",
                    error_text(errors.median),
                    error_text(errors.p95)
                ),
                None => "How far off that is was not measured".to_owned(),
            };
            hint(ui, theme, words);
        }
    }
}

/// A few words of a list.
fn listed(words: &[String]) -> String {
    const SHOWN: usize = 6;
    let mut out = words
        .iter()
        .take(SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if words.len() > SHOWN {
        out.push_str(&format!(" and {} more", words.len() - SHOWN));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_on_every_colour_of_the_scale() {
        let luminance = |color: Color32| {
            let part = |x: u8| {
                let x = f64::from(x) / 255.0;
                if x <= 0.04045 {
                    x / 12.92
                } else {
                    libm::pow((x + 0.055) / 1.055, 2.4)
                }
            };
            0.2126 * part(color.r()) + 0.7152 * part(color.g()) + 0.0722 * part(color.b())
        };
        for theme in [Theme::light(), Theme::dark()] {
            for (_, own) in palette::ERROR_SCALE {
                let ground = tone(&theme, own);
                let (a, b) = (luminance(ground), luminance(ink_on(ground)));
                let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
                assert!(contrast >= 4.5, "{ground:?}: {contrast}");
            }
        }
    }

    #[test]
    fn a_gpu_of_one_engine_leaves_room_for_its_name() {
        let column = |gpu: &str, engine: &str| Column {
            gpu: crate::catalog::GpuId::from_label(gpu),
            gpu_name: gpu.to_owned(),
            engine: engine.to_owned(),
        };
        let xs = columns_at(&[column("a", "x"), column("b", "x"), column("b", "y")]);
        assert!(xs[1] - xs[0] >= NAME && xs[2] - xs[1] >= CELL.x);
    }
}
