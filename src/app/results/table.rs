//! The curves as numbers.

use super::{ResultsView, Shown, empty_ui, what_to_do};
use super::plot::short;
use crate::app::theme::Theme;
use crate::app::widgets::dot;
use crate::app::{starter, style};
use crate::jobs::CurvePoint;
use crate::sim::Stats;
use crate::study::{Statistic, load_value};
use eframe::egui::{self, Align, Layout, RichText, Ui};
use egui_extras::{Column, TableBuilder};

const ROW: f32 = 22.0;

pub(super) fn table_ui(ui: &mut Ui, view: &ResultsView, shown: &Shown<'_>) {
    let theme = shown.theme();
    let rows: Vec<(usize, &str, &CurvePoint)> = shown
        .lines
        .iter()
        .flat_map(|l| l.points.iter().map(|p| (l.index, l.design.name.as_str(), p)))
        .collect();
    if rows.is_empty() {
        let (title, words) = what_to_do(shown);
        empty_ui(ui, theme, &title, &words);
        return;
    }
    let statistic = view.statistic(shown.project());
    let heads = heads(shown, statistic);
    let mut table = TableBuilder::new(ui)
        .striped(true)
        .cell_layout(Layout::right_to_left(Align::Center))
        .auto_shrink([false, false])
        .column(Column::initial(190.0).at_least(110.0).clip(true));
    for _ in 1..heads.len() {
        table = table.column(Column::remainder().at_least(64.0));
    }
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
                        ui.label(RichText::new(words).small().family(style::medium()));
                        ui.label(RichText::new(*unit).small().color(theme.text_muted));
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
                        ui.label(RichText::new(cell));
                    });
                }
                row.col(|ui| saturated_ui(ui, theme, point.summary.saturated));
            });
        });
}

fn heads(shown: &Shown<'_>, statistic: Statistic) -> Vec<(String, &'static str)> {
    let mut heads = vec![
        ("Design".to_owned(), ""),
        (shown.load_kind().name().to_owned(), shown.load_kind().unit()),
    ];
    // The median, and the number asked for beside it.
    let second = if statistic == Statistic::P50 {
        Statistic::P95
    } else {
        statistic
    };
    for latency in ["TTFT", "TPOT"] {
        heads.push((format!("{latency} p50"), "ms"));
        heads.push((format!("{latency} {}", second.name()), "ms"));
    }
    heads.extend([
        ("Requests".to_owned(), "1/s"),
        ("Output".to_owned(), "tokens/s"),
        ("Output".to_owned(), "tokens/s/GPU"),
        ("Completed".to_owned(), ""),
        ("Failed".to_owned(), ""),
        ("In flight".to_owned(), ""),
        ("Saturated".to_owned(), ""),
    ]);
    heads
}

fn cells(point: &CurvePoint, statistic: Statistic) -> Vec<String> {
    let summary = &point.summary;
    let second = if statistic == Statistic::P50 {
        Statistic::P95
    } else {
        statistic
    };
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
        ui.label(RichText::new("yes").color(theme.warning).family(style::medium()));
    } else {
        ui.label(RichText::new("no").color(theme.text_muted));
    }
}
