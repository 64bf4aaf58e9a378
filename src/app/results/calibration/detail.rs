//! The tables behind a cell of the map, and the numbers of one of them.

use super::coverage::{Cover, Coverage, engine_words, standing_in};
use super::figures::{count_text, counted, error_text};
use super::{CalibrationView, Shown};
use crate::app::style;
use crate::app::theme::{RADIUS, Theme, space};
use crate::app::widgets::{hint, sentence};
use crate::cost::calibrated::{Family, Match, Parameter, Surface};
use eframe::egui::{
    self, Align, Button, Grid, Label, Layout, RichText, ScrollArea, Sense, Stroke, StrokeKind, Ui,
    UiBuilder,
};
use std::sync::Arc;

pub(super) fn detail_ui(
    ui: &mut Ui,
    theme: &Theme,
    view: &mut CalibrationView,
    map: &Coverage,
    shown: &Shown<'_>,
) {
    let Some(cell) = view.cell.clone() else {
        return;
    };
    let Some((column, cover)) = map.at(&cell) else {
        view.cell = None;
        return;
    };
    let (_, engine) = engine_words(&cell.engine);
    ui.horizontal(|ui| {
        let title = format!(
            "{} · {} · {engine}",
            sentence(cell.family.title()),
            column.gpu_name
        );
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let close = ui.add(Button::new("×").frame(false)).on_hover_text("Close");
            close.widget_info(|| {
                egui::WidgetInfo::labeled(egui::Role::Button, true, "Close the list of tables")
            });
            if close.clicked() {
                view.cell = None;
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                let title = RichText::new(title).family(style::semibold());
                ui.add(Label::new(title).truncate());
            });
        });
    });
    let calibrations = &shown.calibrating.calibrations;
    let tables: Vec<(&Arc<Surface>, Match)> = match cover {
        Cover::None => {
            hint(
                ui,
                theme,
                "Nothing near was measured: the roofline prices these operators. Measure them and calibrate from your tables.",
            );
            return;
        }
        Cover::Own { .. } => calibrations
            .surfaces()
            .iter()
            .filter(|own| {
                own.id.gpu == cell.gpu
                    && own.id.family == cell.family
                    && own.id.engine == cell.engine
            })
            .map(|own| (own, Match::Exact))
            .collect(),
        Cover::StandIn { .. } => {
            hint(
                ui,
                theme,
                "Not measured here. What stands in, one table for each precision:",
            );
            let catalog = shown.inspected.catalog;
            standing_in(calibrations, catalog, cell.family, &cell.gpu, &cell.engine)
        }
    };
    ScrollArea::vertical()
        .id_salt("tables")
        .auto_shrink([false, false])
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = space::XS;
            ui.set_width(ui.available_width() - space::S);
            for (surface, near) in tables {
                let on = view.table.as_ref() == Some(&surface.id);
                if row_ui(ui, theme, surface, near, on) {
                    view.table = if on { None } else { Some(surface.id.clone()) };
                }
                if on {
                    numbers_ui(ui, theme, surface);
                }
            }
        });
}

/// A table in two lines; whether it was clicked.
fn row_ui(ui: &mut Ui, theme: &Theme, surface: &Surface, near: Match, on: bool) -> bool {
    let id = &surface.id;
    let mut words = vec![id.version.as_str(), &id.precision, &id.kernel];
    words.retain(|word| !word.is_empty());
    let mut title = words.join(" · ");
    if near != Match::Exact {
        let (_, engine) = engine_words(&id.engine);
        title = format!("{} {engine} {title}", id.gpu);
    }
    let row = ui.scope_builder(UiBuilder::new().id_salt(id).sense(Sense::click()), |ui| {
        egui::Frame::new()
            .fill(if on { theme.accent_soft } else { theme.canvas })
            .corner_radius(egui::CornerRadius::same(RADIUS))
            .inner_margin(egui::Margin::symmetric(8, 5))
            .show(ui, |ui| {
                ui.set_width(ui.available_width());
                ui.spacing_mut().item_spacing.y = 1.0;
                let name = RichText::new(&title).family(style::medium());
                ui.add(Label::new(name.color(theme.text)).truncate());
                let errors = &surface.held_out;
                let numbers = format!(
                    "{} · median {} · p95 {} · bias {} · {} numbers",
                    counted(errors.rows, "row"),
                    error_text(errors.median),
                    error_text(errors.p95),
                    error_text(errors.bias),
                    count_text(surface.parameters.len() + surface.forest.nodes()),
                );
                hint(ui, theme, numbers);
            });
    });
    let response = row.response.on_hover_cursor(egui::CursorIcon::PointingHand);
    if response.hovered() {
        let stroke = Stroke::new(1.0, theme.text_muted);
        ui.painter()
            .rect_stroke(response.rect, RADIUS, stroke, StrokeKind::Inside);
    }
    let spoken = format!("Table {title}");
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Button, true, on, &spoken));
    response.clicked()
}

/// Physical parameters with their units, what the trees add, and what the times contain.
fn numbers_ui(ui: &mut Ui, theme: &Theme, surface: &Surface) {
    let family: Family = surface.id.family;
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing.y = 2.0;
        ui.spacing_mut().interact_size.y = 16.0;
        Grid::new(("parameters", &surface.id))
            .num_columns(3)
            .spacing(egui::vec2(space::S, 2.0))
            .show(ui, |ui| {
                for (own, value) in family.parameters().iter().zip(&surface.parameters) {
                    let (name, unit) = named(own);
                    let range = format!(
                        "Plausible from {} to {} {unit}",
                        plain(own.low),
                        plain(own.high)
                    );
                    ui.label(RichText::new(name).small().color(theme.text))
                        .on_hover_text(range);
                    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                        let words = format!("{} {unit}", plain(*value));
                        ui.label(
                            RichText::new(words.trim_end())
                                .small()
                                .family(style::medium()),
                        );
                    });
                    let about = RichText::new(own.about).small().color(theme.text_muted);
                    ui.add(Label::new(about).truncate())
                        .on_hover_text(own.about);
                    ui.end_row();
                }
            });
        let nodes = surface.forest.nodes();
        let trees = if nodes == 0 {
            "No trees: the physics alone.".to_owned()
        } else {
            format!("Kernel choice: {} numbers in trees.", count_text(nodes))
        };
        hint(ui, theme, trees);
        let held = &surface.attributes;
        let mut contains = Vec::new();
        if held.quantises {
            contains.push("quantising the activations".to_owned());
        }
        if held.host > 0.0 {
            contains.push(format!(
                "{} µs of host time per call",
                plain(held.host * 1e6)
            ));
        }
        if held.hot_l2 {
            contains.push("a hot L2 cache".to_owned());
        }
        if !contains.is_empty() {
            hint(ui, theme, format!("Times contain {}.", contains.join(", ")));
        }
        ui.add_space(space::XS);
    });
}

/// A parameter's name without its unit, and the unit.
fn named(own: &Parameter) -> (String, &'static str) {
    let units = [
        ("_us", "µs"),
        ("_ns", "ns"),
        ("_ms", "ms"),
        ("_gbs", "GB/s"),
    ];
    let found = units
        .iter()
        .find_map(|(end, unit)| own.name.strip_suffix(end).map(|name| (name, *unit)));
    let (name, unit) = found.unwrap_or((own.name, ""));
    (sentence(&name.replace('_', " ")), unit)
}

/// Three digits that matter.
fn plain(value: f64) -> String {
    let size = value.abs();
    if size >= 100.0 || size == 0.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else if size >= 0.095 {
        format!("{value:.2}")
    } else {
        format!("{value:.4}")
    }
}
