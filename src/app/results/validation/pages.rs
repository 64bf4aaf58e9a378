//! The views of the page: errors of each class, parity plots, groups, conditions, refused rows.

use super::figures::{FIRST_CLOUD, Latency, parity_figure};
use super::sheet::{Cell, Clicked, Sheet, Sort};
use super::{Page, ValidationView, empty_ui};
use crate::app::command::{Action, Actions, ValidationTask};
use crate::app::results::calibration::figures::{count_text, counted, error_text};
use crate::app::results::figure::{Points, legend_ui, points_ui};
use crate::app::results::numbers::{Head, Tone};
use crate::app::results::plot::short;
use crate::app::style;
use crate::app::theme::{Theme, space};
use crate::app::validating::Checked;
use crate::validation::{By, Errors, Predicted, Scores};
use eframe::egui::{self, Button, ComboBox, Label, RichText, Ui, WidgetInfo, vec2};

/// Gap between plots.
const GAP: f32 = 14.0;
/// Bars of errors are full at this share.
const FULL: f64 = 0.4;
/// From here on an error stands out.
const LARGE: f64 = 0.2;

fn head(words: &str, unit: &str, width: f32) -> Head {
    (words.to_owned(), unit.to_owned(), width)
}

/// Columns of errors.
fn score_heads() -> Vec<Head> {
    vec![
        head("Rows", "", 40.0),
        head("TPOT", "median", 56.0),
        head("TPOT", "in 10 %", 50.0),
        head("TPOT", "in 20 %", 50.0),
        head("TPOT", "bias", 50.0),
        head("TTFT", "median", 56.0),
        head("TTFT", "in 10 %", 50.0),
        head("TTFT", "in 20 %", 50.0),
        head("TTFT", "bias", 50.0),
    ]
}

fn signed(share: f64) -> String {
    let sign = if share > 0.0 { "+" } else { "" };
    format!("{sign}{}", error_text(share))
}

fn score_cells(scores: &Scores) -> Vec<Cell> {
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

/// A number of a column of errors, to sort by.
fn score_key(scores: &Scores, column: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a count of rows")]
    let rows = scores.tpot.rows as f64;
    let pick = |errors: &Errors, column| match column {
        0 => errors.median_ape,
        1 => errors.within_10,
        2 => errors.within_20,
        _ => errors.bias,
    };
    match column {
        0 => rows,
        1..=4 => pick(&scores.tpot, column - 1),
        _ => pick(&scores.ttft, column - 5),
    }
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

/// The column of TPOT's median error of a group.
pub(super) const GROUP_TPOT: usize = 2;

/// Errors by a grouping; a click lists the conditions of a group.
pub(super) fn groups_ui(ui: &mut Ui, theme: &Theme, view: &mut ValidationView, checked: &Checked) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = space::S;
        ui.label(RichText::new("Group by").color(theme.text_muted));
        let list = ComboBox::from_id_salt("grouping")
            .width(110.0)
            .selected_text(view.by.name())
            .show_ui(ui, |ui| {
                for by in By::ALL {
                    ui.selectable_value(&mut view.by, by, by.name());
                }
            });
        list.response
            .widget_info(|| WidgetInfo::labeled(egui::Role::ComboBox, true, "Group by"));
        let words = "Click a group to list its conditions";
        ui.label(RichText::new(words).small().color(theme.text_muted));
    });
    let groups = checked.groups(view.by);
    let mut order: Vec<usize> = (0..groups.len()).collect();
    let Sort { column, descending } = view.group_sort;
    // By name they are in no order of numbers: `4 to 15` before `16 to 63` needs the first number.
    let number = |name: &str| -> u64 {
        let digits: String = name.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    };
    order.sort_by(|a, b| {
        let (a, b) = (&groups[*a], &groups[*b]);
        let ordering = match column.checked_sub(1) {
            None => (number(&a.name), &a.name).cmp(&(number(&b.name), &b.name)),
            Some(column) => score_key(&a.scores, column).total_cmp(&score_key(&b.scores, column)),
        };
        if descending {
            ordering.reverse()
        } else {
            ordering
        }
    });
    let mut heads = vec![head(view.by.name(), "", 210.0)];
    heads.extend(score_heads());
    let sheet = Sheet {
        salt: "groups",
        heads: &heads,
        names: 1,
        rows: groups.len(),
        choosable: true,
    };
    let clicked = sheet.ui(ui, theme, Some(&mut view.group_sort), |index| {
        let own = &groups[order[index]];
        let mut cells = vec![Cell::name(&own.name)];
        cells.extend(score_cells(&own.scores));
        (cells, false)
    });
    if let Some(Clicked::Row(index) | Clicked::Twice(index)) = clicked {
        view.only = Some((view.by, groups[order[index]].name.clone()));
        view.page = Page::Rows;
    }
}

/// The column of TPOT's error of a condition.
pub(super) const ROW_TPOT_ERROR: usize = 9;

/// Condition by condition; a click shows its settings, two open it.
pub(super) fn rows_ui(
    ui: &mut Ui,
    theme: &Theme,
    view: &mut ValidationView,
    checked: &Checked,
    actions: &mut Actions,
) {
    let all = checked.predicted();
    let mut order: Vec<usize> = (0..all.len()).filter(|at| view.lists(&all[*at])).collect();
    only_ui(ui, theme, view, order.len());
    let Sort { column, descending } = view.row_sort;
    order.sort_by(|a, b| {
        let ordering = row_order(&all[*a], &all[*b], column);
        if descending {
            ordering.reverse()
        } else {
            ordering
        }
    });
    let heads = [
        head("Engine", "version", 96.0),
        head("GPU", "", 66.0),
        head("Model", "", 110.0),
        head("Weights", "", 50.0),
        head("Layout", "", 84.0),
        head("Prompt", "answer", 76.0),
        head("In flight", "", 50.0),
        head("TPOT", "measured", 56.0),
        head("TPOT", "predicted", 56.0),
        head("TPOT", "off by", 52.0),
        head("TTFT", "measured", 56.0),
        head("TTFT", "predicted", 56.0),
        head("TTFT", "off by", 52.0),
    ];
    let sheet = Sheet {
        salt: "conditions",
        heads: &heads,
        names: 5,
        rows: order.len(),
        choosable: true,
    };
    let chosen = view.chosen;
    let clicked = sheet.ui(ui, theme, Some(&mut view.row_sort), |index| {
        let at = order[index];
        (row_cells(&all[at]), chosen == Some(at))
    });
    match clicked {
        Some(Clicked::Row(index)) => view.chosen = Some(order[index]),
        Some(Clicked::Twice(index)) => {
            actions.push(Action::Validation(ValidationTask::AskOpen(order[index])));
        }
        None => {}
    }
}

/// Which conditions are listed, and all of them again.
fn only_ui(ui: &mut Ui, theme: &Theme, view: &mut ValidationView, count: usize) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = space::S;
        let muted = |words: String| RichText::new(words).small().color(theme.text_muted);
        if let Some((by, name)) = view.only.clone() {
            let text = format!("{} {name}  ×", by.name());
            let text = RichText::new(text).small().color(theme.accent);
            let button = Button::new(text).fill(theme.accent_soft).small();
            let response = ui.add(button).on_hover_text("List all conditions");
            response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, "List all"));
            if response.clicked() {
                view.only = None;
            }
        }
        let words = format!(
            "{} · click one for its settings, twice to open it as a design",
            counted(count, "condition")
        );
        ui.add(Label::new(muted(words)).truncate());
    });
}

fn layout_words(own: &Predicted) -> String {
    let s = own.measured.condition.sharding();
    let mut words = format!("TP{}", s.tp);
    for (name, degree) in [("PP", s.pp), ("DP", s.dp), ("EP", s.ep)] {
        if degree > 1 {
            words.push_str(&format!(" {name}{degree}"));
        }
    }
    if !own.measured.condition.deployment.is_colocated() {
        words.push_str(" apart");
    }
    words
}

fn row_cells(own: &Predicted) -> Vec<Cell> {
    let c = &own.measured.condition;
    let engine = format!("{} {}", c.engine.name(), c.version);
    let mut cells = vec![
        Cell {
            hover: own.measured.ids.join("\n"),
            ..Cell::plain(engine.trim_end())
        },
        Cell::name(&c.system),
        Cell::name(&c.model),
        Cell::name(&c.precision),
        Cell::name(layout_words(own)),
        Cell::plain(format!("{} × {}", c.isl, c.osl)),
        Cell::plain(c.concurrency.to_string()),
    ];
    for latency in Latency::ALL {
        cells.extend(latency.of(own).map(|s| Cell::plain(short(s * 1e3))));
        let error = latency.error(own);
        let tone = if error.abs() > LARGE {
            Tone::Warning
        } else {
            Tone::Plain
        };
        let cell = Cell::plain(signed(error)).toned(tone);
        cells.push(cell.with_bar(error.abs() / FULL));
    }
    cells
}

fn row_order(a: &Predicted, b: &Predicted, column: usize) -> std::cmp::Ordering {
    let (x, y) = (&a.measured.condition, &b.measured.condition);
    let by = |latency: Latency, column: usize| {
        let value = |own: &Predicted| match column {
            0 | 1 => latency.of(own)[column],
            _ => latency.error(own).abs(),
        };
        value(a).total_cmp(&value(b))
    };
    match column {
        0 => (x.engine, &x.version).cmp(&(y.engine, &y.version)),
        1 => x.system.cmp(&y.system),
        2 => x.model.cmp(&y.model),
        3 => x.precision.cmp(&y.precision),
        4 => x.deployment.cmp(&y.deployment),
        5 => (x.isl, x.osl).cmp(&(y.isl, y.osl)),
        6 => x.concurrency.cmp(&y.concurrency),
        7..=9 => by(Latency::Tpot, column - 7),
        _ => by(Latency::Ttft, column - 10),
    }
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
