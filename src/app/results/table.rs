//! The curves as numbers.

use super::plot::short;
use super::{ResultsView, Shown, empty_ui, provenance_ui, what_to_do};
use crate::app::theme::Theme;
use crate::app::widgets::dot;
use crate::app::{starter, style};
use crate::jobs::CurvePoint;
use crate::report::{LoadKind, Statistic, load_value};
use crate::sim::Stats;
use eframe::egui::{self, Align, Layout, RichText, ScrollArea, Ui};
use egui_extras::{Column, TableBuilder};

const ROW: f32 = 22.0;
/// Height of the line below.
const FOOTER: f32 = 22.0;

pub(super) fn table_ui(ui: &mut Ui, view: &ResultsView, shown: &Shown<'_>) {
    let theme = shown.theme();
    let rows: Vec<(usize, &str, &CurvePoint)> = shown
        .lines
        .iter()
        .flat_map(|l| {
            l.points
                .iter()
                .map(|p| (l.index, l.design.name.as_str(), p))
        })
        .collect();
    if rows.is_empty() {
        let (title, words) = what_to_do(shown);
        empty_ui(ui, theme, &title, &words);
        return;
    }
    let statistic = view.statistic(shown.project());
    let heads = heads(shown, statistic);
    let size = egui::vec2(ui.available_width(), ui.available_height() - FOOTER);
    ui.allocate_ui(size, |ui| {
        ui.set_min_size(size);
        ScrollArea::horizontal()
            .auto_shrink([false, false])
            .show(ui, |ui| {
                rows_ui(ui, theme, &heads, &rows, statistic);
            });
    });
    provenance_ui(ui, shown);
}

fn rows_ui(
    ui: &mut Ui,
    theme: &Theme,
    heads: &[(&'static str, String)],
    rows: &[(usize, &str, &CurvePoint)],
    statistic: Statistic,
) {
    ui.spacing_mut().item_spacing.x = 4.0;
    let room = ui.available_width() - 8.0;
    let name_width = 96.0;
    let last_width = 58.0;
    let rest = heads.len().saturating_sub(2).max(1);
    #[expect(clippy::cast_precision_loss, reason = "a dozen columns")]
    let width = ((room - name_width - last_width - 8.0) / rest as f32 - 4.0).max(45.0);
    let mut table = TableBuilder::new(ui)
        .striped(true)
        .cell_layout(Layout::right_to_left(Align::Center))
        .auto_shrink([false, false])
        .column(Column::exact(name_width).clip(true));
    for _ in 0..rest {
        table = table.column(Column::exact(width));
    }
    table = table.column(Column::exact(last_width));
    table
        .header(34.0, |mut header| {
            for (i, (words, unit)) in heads.iter().enumerate() {
                header.col(|ui| {
                    let layout = if i == 0 {
                        Layout::top_down(Align::Min)
                    } else {
                        Layout::top_down(Align::Max)
                    };
                    ui.with_layout(layout, |ui| {
                        ui.spacing_mut().item_spacing.y = 0.0;
                        ui.label(RichText::new(*words).small().family(style::medium()));
                        ui.label(RichText::new(unit).small().color(theme.text_muted));
                    });
                });
            }
        })
        .body(|body| {
            body.rows(ROW, rows.len(), |mut row| {
                let (index, name, point) = rows[row.index()];
                row.col(|ui| {
                    ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                        dot(ui, style::design_color(theme, index));
                        let words = format!("{} {name}", starter::letter(index));
                        ui.add(egui::Label::new(words).truncate());
                    });
                });
                for cell in cells(point, statistic) {
                    row.col(|ui| {
                        ui.label(cell);
                    });
                }
                row.col(|ui| saturated_ui(ui, theme, point.summary.saturated));
            });
        });
}

/// What the load is called over a narrow column.
const fn load_head(load: LoadKind) -> &'static str {
    match load {
        LoadKind::Rate => "Rate",
        LoadKind::Concurrency => "In flight",
        LoadKind::TraceSpeed => "Speed",
    }
}

/// Two lines over each column: what it is, and of what or in what unit.
fn heads(shown: &Shown<'_>, statistic: Statistic) -> Vec<(&'static str, String)> {
    let load = shown.load_kind();
    let mut heads = vec![
        ("Design", String::new()),
        (load_head(load), load.unit().to_owned()),
    ];
    for latency in ["TTFT", "TPOT"] {
        heads.push((latency, "p50 ms".to_owned()));
        heads.push((latency, format!("{} ms", second(statistic).name())));
    }
    let plain = [
        ("Served", "1/s"),
        ("Output", "tokens/s"),
        ("Per GPU", "tokens/s"),
        ("Done", ""),
        ("Failed", ""),
        ("In flight", "at end"),
        ("Saturated", ""),
    ];
    heads.extend(plain.map(|(what, unit)| (what, unit.to_owned())));
    heads
}

/// The number beside the median: the one asked for.
fn second(statistic: Statistic) -> Statistic {
    if statistic == Statistic::P50 {
        Statistic::P95
    } else {
        statistic
    }
}

fn cells(point: &CurvePoint, statistic: Statistic) -> Vec<String> {
    let summary = &point.summary;
    let second = second(statistic);
    let ms = |stats: &Stats, statistic: Statistic| {
        if stats.count == 0 {
            "–".to_owned()
        } else {
            short(statistic.of(stats) * 1e3)
        }
    };
    vec![
        short(load_value(point.load)),
        ms(&summary.ttft_s, Statistic::P50),
        ms(&summary.ttft_s, second),
        ms(&summary.tpot_s, Statistic::P50),
        ms(&summary.tpot_s, second),
        short(summary.requests_per_s),
        short(summary.output_tokens_per_s),
        short(summary.output_tokens_per_s_per_gpu),
        summary.requests.completed.to_string(),
        summary.requests.failed.to_string(),
        summary.requests.in_flight.to_string(),
    ]
}

fn saturated_ui(ui: &mut Ui, theme: &Theme, saturated: bool) {
    if saturated {
        ui.label(
            RichText::new("yes")
                .color(theme.warning)
                .family(style::medium()),
        );
    } else {
        ui.label(RichText::new("no").color(theme.text_muted));
    }
}
