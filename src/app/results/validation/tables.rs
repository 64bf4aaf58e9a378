//! The tables of the page that are sorted and chosen from: groups, conditions.

use super::figures::Latency;
use super::pages::{FULL, LARGE, head, score_cells, score_heads, signed};
use super::sheet::{Cell, Clicked, Sheet, Sort};
use super::{Page, ValidationView};
use crate::app::command::{Action, Actions, ValidationTask};
use crate::app::results::calibration::figures::counted;
use crate::app::results::numbers::Tone;
use crate::app::results::plot::short;
use crate::app::theme::{Theme, space};
use crate::app::validating::Checked;
use crate::validation::{By, Errors, Predicted, Scores};
use eframe::egui::{self, Button, ComboBox, Label, RichText, Ui, WidgetInfo};

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
pub(super) const ROW_TPOT_ERROR: usize = 8;

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
        head("Engine", "version", 82.0),
        head("GPU", "", 60.0),
        head("Model", "", 86.0),
        head("Weights", "", 44.0),
        head("Layout", "", 50.0),
        head("Prompt", "answer", 80.0),
        head("In flight", "", 44.0),
        head("TPOT", "measured", 50.0),
        head("TPOT", "off by", 46.0),
        head("TTFT", "measured", 50.0),
        head("TTFT", "off by", 46.0),
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
        let [measured, predicted] = latency.of(own).map(|s| short(s * 1e3));
        cells.push(Cell {
            hover: format!("Measured {measured} ms, predicted {predicted} ms"),
            ..Cell::plain(measured)
        });
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
            0 => latency.of(own)[0],
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
        7 | 8 => by(Latency::Tpot, column - 7),
        _ => by(Latency::Ttft, column - 9),
    }
}
