//! The views that hold predictions against measurements: worst tables, parity, error by size,
//! refused rows, and a new fit beside what there was.

use super::figures::{count_text, counted, error_text};
use super::{CalibrationView, Page, Source, choice_ui};
use crate::app::calibrating::{Calibrating, Compared, Fit};
use crate::app::command::{Action, Actions, CalibrationTask};
use crate::app::dialogs::primary;
use crate::app::results::figure::{legend_ui, panel_ui};
use crate::app::results::numbers::{Entry, Head, Tone, numbers_ui};
use crate::app::results::{Shown, empty_ui};
use crate::app::style;
use crate::app::theme::{Theme, space};
use crate::app::widgets::sentence;
use crate::calibrate::{Comparison, TableErrors};
use crate::cost::calibrated::{Errors, Match, TableId};
use eframe::egui::{self, Align, Label, Layout, RichText, Ui, vec2};

/// Most tables listed.
const LISTED: usize = 100;
/// Gap between plots.
const GAP: f32 = 14.0;

fn head(words: &str, unit: &str, width: f32) -> Head {
    (words.to_owned(), unit.to_owned(), width)
}

/// The columns that name a table.
fn id_heads() -> Vec<Head> {
    vec![
        head("Operator", "", 108.0),
        head("GPU", "", 84.0),
        head("Engine", "version", 92.0),
        head("Precision", "kernel", 112.0),
    ]
}

fn id_entries(id: &TableId) -> Vec<Entry> {
    let joined = |a: &str, b: &str| format!("{a} {b}").trim_end().to_owned();
    let mut entries = vec![
        Entry::plain(sentence(id.family.title())),
        Entry::plain(id.gpu.to_string()),
        Entry::plain(joined(&id.engine, &id.version)),
        Entry::plain(joined(&id.precision, &id.kernel)),
    ];
    // Names are cut where there is no room.
    for entry in &mut entries {
        entry.working.clone_from(&entry.text);
    }
    entries
}

/// An error, in the tone of the bars calibrations are held to.
fn error_entry(share: f64, floor: f64) -> Entry {
    let tone = if share > floor {
        Tone::Warning
    } else {
        Tone::Plain
    };
    Entry::plain(error_text(share)).toned(tone)
}

/// The floors of median and p95 error.
const MEDIAN_FLOOR: f64 = 0.06;
const P95_FLOOR: f64 = 0.25;

fn error_entries(errors: &Errors) -> Vec<Entry> {
    vec![
        Entry::plain(count_text(errors.rows)),
        error_entry(errors.median, MEDIAN_FLOOR),
        Entry::plain(error_text(errors.p90)),
        error_entry(errors.p95, P95_FLOOR),
        Entry::plain(error_text(errors.bias)),
    ]
}

fn error_heads() -> Vec<Head> {
    vec![
        head("Rows", "", 44.0),
        head("Median", "error", 46.0),
        head("p90", "error", 40.0),
        head("p95", "error", 40.0),
        head("Bias", "median", 44.0),
    ]
}

/// Tables by their error, the worst first: of what was measured, else of the calibrations' own
/// hold-out.
pub(super) fn worst_ui(ui: &mut Ui, view: &mut CalibrationView, shown: &Shown<'_>) {
    let theme = shown.theme();
    let own = shown.calibrating;
    let mut heads = id_heads();
    heads.extend(error_heads());
    if view.compared(own).is_some() {
        source_ui(ui, view, own, theme);
        let Some(compared) = view.compared(own) else {
            return;
        };
        heads.push(head("Predicted", "by", 118.0));
        let missing = compared
            .comparison
            .tables
            .iter()
            .filter(|own| own.near.is_none());
        let rows: Vec<Vec<Entry>> = compared
            .comparison
            .worst()
            .into_iter()
            .take(LISTED)
            .map(|own| {
                let mut row = id_entries(&own.id);
                row.extend(error_entries(&own.errors));
                row.push(near_entry(own.near));
                row
            })
            .chain(missing.map(|own| {
                let mut row = id_entries(&own.id);
                row.push(Entry::plain(count_text(own.rows)));
                row.extend((0..4).map(|_| Entry::plain("–").toned(Tone::Muted)));
                row.push(near_entry(own.near));
                row
            }))
            .collect();
        numbers_ui(ui, theme, "worst measured", &heads, &rows, 4);
        return;
    }
    let mut surfaces: Vec<_> = own.calibrations.surfaces().iter().collect();
    if surfaces.is_empty() {
        empty_ui(
            ui,
            theme,
            "No calibrations",
            "Compare with measured tables or calibrate from them to see the worst ones here.",
        );
        return;
    }
    surfaces.sort_by(|a, b| {
        let by_error = b.held_out.median.total_cmp(&a.held_out.median);
        by_error.then_with(|| a.id.cmp(&b.id))
    });
    let all = surfaces.len();
    let words = format!(
        "The calibrations’ own hold-out, {} of {} tables. Compare with measured tables to see yours.",
        all.min(LISTED),
        count_text(all)
    );
    ui.label(RichText::new(words).small().color(theme.text_muted));
    let rows: Vec<Vec<Entry>> = surfaces
        .into_iter()
        .take(LISTED)
        .map(|own| {
            let mut row = id_entries(&own.id);
            row.extend(error_entries(&own.held_out));
            row
        })
        .collect();
    numbers_ui(ui, theme, "worst held out", &heads, &rows, 4);
}

fn near_entry(near: Option<Match>) -> Entry {
    match near {
        Some(Match::Exact) => Entry::plain(Match::Exact.name()),
        Some(near) => Entry::plain(near.name()).toned(Tone::Muted),
        None => Entry::plain("nothing").toned(Tone::Warning),
    }
}

/// Whose predictions of which tables are shown, and how good they are in all.
fn source_ui(ui: &mut Ui, view: &mut CalibrationView, own: &Calibrating, theme: &Theme) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing = vec2(1.0, 2.0);
        let there = [
            (Source::Compared, "In use", own.compared.is_some()),
            (Source::Before, "Before", own.fit.is_some()),
            (Source::After, "After", own.fit.is_some()),
        ];
        if own.fit.is_some() {
            for (source, words, _) in there.into_iter().filter(|(_, _, there)| *there) {
                if choice_ui(ui, theme, words, view.source == source) {
                    view.source = source;
                }
            }
            ui.add_space(space::S);
        }
        if let Some(compared) = view.compared(own) {
            let words = format!("{} · {}", summed(&compared.comparison), place(compared));
            let text = RichText::new(words).small().color(theme.text_muted);
            ui.add(Label::new(text).truncate())
                .on_hover_text(compared.dir.display().to_string());
        }
    });
}

/// The folder's name.
fn place(compared: &Compared) -> String {
    let name = compared.dir.file_name().unwrap_or(compared.dir.as_os_str());
    name.to_string_lossy().into_owned()
}

fn summed(comparison: &Comparison) -> String {
    let all = &comparison.overall;
    format!(
        "{} of {}: median error {}, p95 {}, bias {}",
        counted(all.rows, "row"),
        counted(comparison.tables.len(), "table"),
        error_text(all.median),
        error_text(all.p95),
        error_text(all.bias)
    )
}

/// Parity or error by size.
pub(super) fn plot_ui(ui: &mut Ui, view: &mut CalibrationView, shown: &Shown<'_>) {
    let theme = shown.theme();
    let own = shown.calibrating;
    if view.compared(own).is_none() {
        let what = match view.page {
            Page::BySize => "Error by size needs measurements",
            _ => "Parity needs measurements",
        };
        empty_ui(
            ui,
            theme,
            what,
            "Calibrations carry parameters and errors, no rows. Compare with measured tables: a folder of kernel tables as <operator>/<gpu>.csv.",
        );
        return;
    }
    source_ui(ui, view, own, theme);
    let figure = view
        .compared(own)
        .and_then(|compared| view.figure(compared));
    let Some(figure) = figure else {
        empty_ui(
            ui,
            theme,
            "Nothing was predicted",
            "No calibration is near enough to any of these tables. Calibrate from them to have one.",
        );
        return;
    };
    legend_ui(ui, theme, figure);
    let room = ui.available_size();
    #[expect(clippy::cast_precision_loss, reason = "one or two")]
    let count = figure.panels.len() as f32;
    let widest = if figure.panels.len() == 1 {
        // As high as wide, so that the lines of equal error stand at 45°; twice that is still read well.
        (2.0 * room.y).max(320.0)
    } else {
        f32::INFINITY
    };
    let width = ((room.x + GAP) / count - GAP).min(widest);
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = GAP;
        for index in 0..figure.panels.len() {
            panel_ui(ui, theme, figure, index, vec2(width, room.y));
        }
    });
}

/// Rows that were not taken.
pub(super) fn refused_ui(ui: &mut Ui, view: &mut CalibrationView, shown: &Shown<'_>) {
    let theme = shown.theme();
    let Some(compared) = view.compared(shown.calibrating) else {
        return;
    };
    let mut refused: Vec<_> = compared.comparison.refused.iter().collect();
    if refused.is_empty() {
        empty_ui(
            ui,
            theme,
            "No row was refused",
            "Every row of the tables was read.",
        );
        return;
    }
    refused.sort_by_key(|own| std::cmp::Reverse(own.rows));
    let heads = [
        head("File", "", 210.0),
        head("Why", "", 360.0),
        head("Rows", "", 56.0),
        head("First", "line", 56.0),
    ];
    let rows: Vec<Vec<Entry>> = refused
        .into_iter()
        .take(LISTED)
        .map(|own| {
            let cut = |words: &str| Entry {
                working: words.to_owned(),
                ..Entry::plain(words)
            };
            vec![
                cut(&own.file),
                cut(&own.why),
                Entry::plain(count_text(own.rows)),
                Entry::plain(own.line.to_string()),
            ]
        })
        .collect();
    numbers_ui(ui, theme, "refused", &heads, &rows, 2);
}

/// Error before and after a new fit, table by table, and what to do with it.
pub(super) fn fit_ui(ui: &mut Ui, shown: &Shown<'_>, actions: &mut Actions) {
    let theme = shown.theme();
    let own = shown.calibrating;
    let Some(fit) = own.fit.as_deref() else {
        return;
    };
    answer_ui(ui, theme, own, fit, actions);
    let mut heads = id_heads();
    heads.extend([
        head("Rows", "", 48.0),
        head("Before", "median", 52.0),
        head("After", "median", 52.0),
        head("Before", "p95", 52.0),
        head("After", "p95", 52.0),
        head("After", "numbers", 56.0),
    ]);
    let mut rows = Vec::new();
    for after in fit.after.comparison.worst() {
        let before = fit.before.comparison.table(&after.id);
        rows.push(fit_row(before, after));
    }
    for (id, count) in &fit.refit.outcome.too_small {
        let mut row = id_entries(id);
        row.push(Entry::plain(count_text(*count)));
        row.extend((0..4).map(|_| Entry::plain("–").toned(Tone::Muted)));
        row.push(Entry::plain("too few").toned(Tone::Warning));
        rows.push(row);
    }
    numbers_ui(ui, theme, "before and after", &heads, &rows, 4);
}

fn fit_row(before: Option<&TableErrors>, after: &TableErrors) -> Vec<Entry> {
    let mut row = id_entries(&after.id);
    row.push(Entry::plain(count_text(after.errors.rows)));
    let known = before.filter(|own| own.near.is_some());
    for pick in [|e: &Errors| e.median, |e: &Errors| e.p95] {
        let now = pick(&after.errors);
        let then = known.map(|own| pick(&own.errors));
        row.push(match (then, known.and_then(|own| own.near)) {
            (Some(then), near) => Entry {
                working: near.map_or_else(String::new, |near| format!("By {}", near.name())),
                ..Entry::plain(error_text(then))
            },
            (None, _) => Entry {
                working: "Nothing near was measured: the roofline prices it".to_owned(),
                ..Entry::plain("–").toned(Tone::Muted)
            },
        });
        let tone = match then {
            Some(then) if now > then => Tone::Warning,
            _ => Tone::Best,
        };
        row.push(Entry {
            working: "On shapes the fit had not seen".to_owned(),
            ..Entry::plain(error_text(now)).toned(tone)
        });
    }
    row.push(Entry::plain(count_text(after.numbers)));
    row
}

/// What the fit is worth in all, and the buttons that keep or forget it.
fn answer_ui(ui: &mut Ui, theme: &Theme, own: &Calibrating, fit: &Fit, actions: &mut Actions) {
    ui.horizontal(|ui| {
        ui.set_min_height(30.0);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let idle = own.work_progress().is_none();
            let keep = ui.add_enabled(idle && own.home.is_some(), primary(theme, "Use the new fit"));
            let keep = match &own.home {
                Some(dir) => keep.on_hover_text(format!(
                    "Writes its parameters into {} and prices runs by them. Measured rows stay where they are.",
                    dir.display()
                )),
                None => keep.on_disabled_hover_text(
                    "There is no folder for your presets: set FRONTIER_PRESETS",
                ),
            };
            if keep.clicked() {
                actions.push(Action::Calibration(CalibrationTask::Keep));
            }
            if ui.add_enabled(idle, egui::Button::new("Discard")).clicked() {
                actions.push(Action::Calibration(CalibrationTask::Discard));
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                let (before, after) = (&fit.before.comparison.overall, &fit.after.comparison.overall);
                let words = if before.rows == 0 {
                    format!("Nothing predicted these tables before; now {}", error_text(after.median))
                } else {
                    format!("Median error {} before, {} after", error_text(before.median), error_text(after.median))
                };
                ui.label(RichText::new(words).family(style::medium()).color(theme.text));
                let rest = format!(
                    "p95 {} → {} · {} of {}",
                    if before.rows == 0 { "–".to_owned() } else { error_text(before.p95) },
                    error_text(after.p95),
                    counted(fit.after.comparison.tables.len(), "table"),
                    place(&fit.after)
                );
                let rest = RichText::new(rest).small().color(theme.text_muted);
                ui.add(Label::new(rest).truncate()).on_hover_text("On shapes the fit had not seen");
            });
        });
    });
}
