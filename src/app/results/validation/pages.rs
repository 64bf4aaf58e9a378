//! Views of the page: errors of each class, parity plots, refused rows.

use super::figures::{FIRST_CLOUD, Latency, parity_figure};
use super::sheet::{Cell, Sheet};
use super::{ValidationView, empty_ui};
use crate::app::command::{Action, Actions, ValidationTask};
use crate::app::results::calibration::figures::{count_text, error_text};
use crate::app::results::figure::{Points, legend_ui, points_ui};
use crate::app::results::numbers::{Head, Tone};
use crate::app::results::plot::short;
use crate::app::style;
use crate::app::theme::Theme;
use crate::app::validating::Checked;
use crate::validation::{Predicted, Scores};
use eframe::egui::{Label, RichText, Ui, vec2};

/// Gap between plots.
const GAP: f32 = 14.0;
/// Bars of errors are full at this share.
pub(super) const FULL: f64 = 0.4;
/// From here on an error stands out.
pub(super) const LARGE: f64 = 0.2;

pub(super) fn head(words: &str, unit: &str, width: f32) -> Head {
    (words.to_owned(), unit.to_owned(), width)
}

/// Columns of errors.
pub(super) fn score_heads() -> Vec<Head> {
    vec![
        head("Rows", "", 36.0),
        head("TPOT", "median", 52.0),
        head("TPOT", "in 10 %", 44.0),
        head("TPOT", "in 20 %", 44.0),
        head("TPOT", "bias", 46.0),
        head("TTFT", "median", 52.0),
        head("TTFT", "in 10 %", 44.0),
        head("TTFT", "in 20 %", 44.0),
        head("TTFT", "bias", 46.0),
    ]
}

pub(super) fn signed(share: f64) -> String {
    let sign = if share > 0.0 { "+" } else { "" };
    format!("{sign}{}", error_text(share))
}

pub(super) fn score_cells(scores: &Scores) -> Vec<Cell> {
    let mut cells = vec![Cell::plain(count_text(scores.tpot.rows))];
    for errors in [&scores.tpot, &scores.ttft] {
        let share = |share: f64| Cell::plain(format!("{:.0} %", share * 100.0));
        let tone = if errors.median_ape > LARGE {
            Tone::Warning
        } else {
            Tone::Plain
        };
        let median = Cell::plain(error_text(errors.median_ape));
        cells.push(median.toned(tone).with_bar(errors.median_ape / FULL));
        cells.push(share(errors.within_10));
        cells.push(share(errors.within_20));
        cells.push(Cell::plain(signed(errors.bias)).toned(Tone::Muted));
    }
    cells
}

/// Errors of each class, and whose rows and prices they are of.
pub(super) fn overview_ui(ui: &mut Ui, theme: &Theme, checked: &Checked) {
    let own = &checked.found.outcome;
    let file = checked.found.rows.file_name().unwrap_or_default();
    let words = format!(
        "{} of {} usable rows of {} predicted by {} prices, {} refused",
        count_text(own.predicted_rows()),
        count_text(own.usable_rows()),
        file.to_string_lossy(),
        checked.prices,
        count_text(own.refused.len())
    );
    let text = RichText::new(words).small().color(theme.text_muted);
    ui.add(Label::new(text).truncate())
        .on_hover_text(checked.found.rows.display().to_string());
    if checked.headlines.is_empty() {
        empty_ui(
            ui,
            theme,
            "Nothing was predicted",
            "Refused says why, row by row.",
        );
        return;
    }
    let mut heads = vec![head("Deployments", "", 150.0)];
    heads.extend(score_heads());
    let sheet = Sheet {
        salt: "headlines",
        heads: &heads,
        names: 1,
        rows: checked.headlines.len(),
        choosable: false,
    };
    sheet.ui(ui, theme, None, |index| {
        let own = &checked.headlines[index];
        let mut cells = vec![Cell::name(own.name())];
        cells.extend(score_cells(&own.scores));
        (cells, false)
    });
}

/// Both parity plots; a click chooses a condition.
pub(super) fn parity_ui(
    ui: &mut Ui,
    theme: &Theme,
    view: &mut ValidationView,
    checked: &Checked,
    actions: &mut Actions,
) {
    let figures = Latency::ALL.map(|latency| parity_figure(latency, &checked.clouds));
    let [Some(tpot), Some(ttft)] = figures else {
        empty_ui(
            ui,
            theme,
            "Nothing was predicted",
            "Refused says why, row by row.",
        );
        return;
    };
    legend_ui(ui, theme, &tpot);
    let room = ui.available_size();
    let width = (room.x - GAP) / 2.0;
    let at = |series: usize, point: usize| {
        let cloud = checked.clouds.get(series.checked_sub(FIRST_CLOUD)?)?;
        cloud.of.get(point).copied()
    };
    let chosen = view.chosen.and_then(|index| {
        let mut clouds = checked.clouds.iter().enumerate();
        clouds.find_map(|(series, cloud)| {
            let point = cloud.of.iter().position(|own| *own == index)?;
            Some((FIRST_CLOUD + series, point))
        })
    });
    let tip = |ui: &mut Ui, series: usize, point: usize| {
        if let Some(own) = at(series, point).and_then(|index| checked.predicted().get(index)) {
            tip_ui(ui, theme, own);
        }
    };
    let points = Points {
        marked: chosen,
        tip: &tip,
    };
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = GAP;
        for figure in [&tpot, &ttft] {
            let pointed = points_ui(ui, theme, figure, 0, vec2(width, room.y), Some(&points));
            let Some(pointed) = pointed else { continue };
            let Some(index) = at(pointed.series, pointed.point) else {
                continue;
            };
            if pointed.twice {
                actions.push(Action::Validation(ValidationTask::AskOpen(index)));
            } else if pointed.clicked {
                view.chosen = Some(index);
            }
        }
    });
}

/// A condition under the pointer.
fn tip_ui(ui: &mut Ui, theme: &Theme, own: &Predicted) {
    let c = &own.measured.condition;
    ui.spacing_mut().item_spacing.y = 2.0;
    let words = format!("{} {} · {}", c.engine.name(), c.version, c.model);
    ui.label(RichText::new(words).family(style::medium()));
    let s = c.sharding();
    for words in [
        format!(
            "{} · {} · TP {} DP {} EP {}",
            c.system, c.precision, s.tp, s.dp, s.ep
        ),
        format!("{} in, {} out, {} in flight", c.isl, c.osl, c.concurrency),
    ] {
        ui.label(RichText::new(words).small().color(theme.text_muted));
    }
    for latency in Latency::ALL {
        let [measured, predicted] = latency.of(own).map(|s| short(s * 1e3));
        let error = signed(latency.error(own));
        let words = format!("{} {measured} → {predicted} ms, {error}", latency.name());
        ui.label(RichText::new(words).small());
    }
    let id = own.measured.ids.first().map_or("", String::as_str);
    ui.label(RichText::new(id).small().color(theme.text_muted));
}

/// Rows that were not predicted: by reason how many, then each.
pub(super) fn refused_ui(ui: &mut Ui, theme: &Theme, checked: &Checked) {
    let refused = &checked.found.outcome.refused;
    if refused.is_empty() {
        empty_ui(
            ui,
            theme,
            "No row was refused",
            "Every row of the file was predicted.",
        );
        return;
    }
    let usable = refused.iter().filter(|own| own.usable).count();
    let words = format!(
        "{} {} nothing new or nothing true by its own marks, {} could have been predicted",
        count_text(refused.len() - usable),
        if refused.len() - usable == 1 {
            "says"
        } else {
            "say"
        },
        count_text(usable)
    );
    let text = RichText::new(words).small().color(theme.text_muted);
    ui.add(Label::new(text).truncate());
    let mut order: Vec<usize> = (0..refused.len()).collect();
    order.sort_by_key(|at| !refused[*at].usable);
    let heads = [
        head("Line", "", 44.0),
        head("Row", "", 230.0),
        head("Why", "", 330.0),
    ];
    let sheet = Sheet {
        salt: "refused rows",
        heads: &heads,
        names: 3,
        rows: refused.len(),
        choosable: false,
    };
    sheet.ui(ui, theme, None, |index| {
        let own = &refused[order[index]];
        let tone = if own.usable {
            Tone::Warning
        } else {
            Tone::Muted
        };
        let cells = vec![
            Cell::plain(own.line.to_string()),
            Cell::name(&own.id),
            Cell::name(&own.why).toned(tone),
        ];
        (cells, false)
    });
}
