//! What limits the design in view at one of its loads, and where its device time goes: sentences on
//! the left, on the right a table per pool of operator classes by what steps carried.

use super::plot::short;
use super::step_gantt::step_ui;
use super::{ResultsView, Shown, empty_ui, provenance_ui, what_to_do};
use crate::app::style;
use crate::app::theme::{Theme, space};
use crate::cost::Class;
use crate::jobs::CurvePoint;
use crate::report::load_value;
use crate::sim::{Limit, PhaseTime, PoolTime, Summary};
use crate::workload::Load;
use eframe::egui::{self, Align, ComboBox, Label, Layout, RichText, ScrollArea, Sense, Ui, vec2};

/// Height of the line below.
const FOOTER: f32 = 22.0;
/// Widths of a pool's table: names, and a column of bars with their numbers per kind of steps.
const NAMES: f32 = 96.0;
const COLUMN: f32 = 100.0;
const ROW: f32 = 18.0;

/// Which load is looked at: the design's place among the tabs and the point's on its curve.
pub type Chosen = Option<(usize, usize)>;

pub(super) fn breakdown_ui(ui: &mut Ui, view: &mut ResultsView, shown: &Shown<'_>) {
    let theme = shown.theme();
    let viewed = &shown.inspected.design.id;
    let Some(line) = shown
        .lines
        .iter()
        .find(|l| l.design.id == *viewed && !l.points.is_empty())
    else {
        let (title, words) = what_to_do(shown);
        empty_ui(ui, theme, &title, &words);
        return;
    };
    let chosen = view
        .load
        .filter(|(design, point)| *design == line.index && *point < line.points.len())
        .map_or_else(|| served(line.points), |(_, point)| point);
    let Some(point) = line.points.get(chosen) else {
        return;
    };
    ui.horizontal(|ui| {
        ui.set_min_height(24.0);
        let label = ui.label(RichText::new("At a load of").color(theme.text_muted));
        let list = ComboBox::from_id_salt("breakdown load")
            .selected_text(load_words(point))
            .show_ui(ui, |ui| {
                for (index, other) in line.points.iter().enumerate() {
                    if ui
                        .selectable_label(index == chosen, load_words(other))
                        .clicked()
                    {
                        view.load = Some((line.index, index));
                    }
                }
            });
        list.response.labelled_by(label.id);
    });
    let size = vec2(ui.available_width(), ui.available_height() - FOOTER);
    ui.allocate_ui(size, |ui| {
        ui.set_min_size(size);
        ScrollArea::both()
            .auto_shrink([false, false])
            .show(ui, |ui| {
                for own in &point.summary.splits {
                    step_ui(ui, theme, own);
                    ui.add_space(space::M);
                }
                ui.horizontal_top(|ui| {
                    ui.spacing_mut().item_spacing.x = 0.0;
                    let width = (size.x * 0.37).clamp(240.0, 460.0);
                    ui.allocate_ui(vec2(width, 10.0), |ui| {
                        ui.vertical(|ui| {
                            ui.set_width(width);
                            limits_ui(ui, theme, &point.summary);
                        });
                    });
                    ui.add_space(space::L);
                    for pool in &point.summary.breakdown {
                        ui.allocate_ui(vec2(NAMES + 2.0 * COLUMN, 10.0), |ui| {
                            ui.vertical(|ui| pool_ui(ui, theme, pool));
                        });
                        ui.add_space(space::L);
                    }
                });
            });
    });
    provenance_ui(ui, shown);
}

/// The highest load the design serves; if it serves none, the lowest.
fn served(points: &[CurvePoint]) -> usize {
    points
        .iter()
        .rposition(|point| !point.summary.saturated)
        .unwrap_or(0)
}

fn load_words(point: &CurvePoint) -> String {
    let value = short(load_value(point.load));
    let saturated = if point.summary.saturated {
        ", saturated"
    } else {
        ""
    };
    match point.load {
        Load::Rate(_) => format!("{value} requests/s{saturated}"),
        Load::Concurrency(_) => format!("{value} in flight{saturated}"),
        Load::TraceSpeed(_) => format!("{value} × the trace{saturated}"),
    }
}

fn limits_ui(ui: &mut Ui, theme: &Theme, summary: &Summary) {
    ui.spacing_mut().item_spacing.y = space::XS;
    ui.label(RichText::new("What limits it").family(style::semibold()));
    if summary.limits.is_empty() {
        ui.label(RichText::new("Nothing stands out.").color(theme.text_muted));
    }
    for limit in &summary.limits {
        limit_ui(ui, theme, limit);
    }
}

fn limit_ui(ui: &mut Ui, theme: &Theme, limit: &Limit) {
    ui.horizontal_top(|ui| {
        ui.spacing_mut().item_spacing.x = space::S;
        let (rect, _) = ui.allocate_exact_size(vec2(40.0, 16.0), Sense::hover());
        bar(ui, theme, rect, limit.weight);
        // A number stays with its sign.
        let mut text = limit.text.replace(" %", "\u{a0}%");
        if let Some(first) = text.get(..1) {
            // Sentences start with a pool's name or a small letter.
            text = format!("{}{}", first.to_uppercase(), &text[1..]);
        }
        ui.add(Label::new(RichText::new(text).color(theme.text)).wrap());
    });
}

/// A share as a bar along the middle of a space.
fn bar(ui: &Ui, theme: &Theme, rect: egui::Rect, share: f64) {
    let mut rect = egui::Rect::from_center_size(rect.center(), vec2(rect.width(), 4.0));
    ui.painter().rect_filled(rect, 2.0, theme.line);
    #[expect(clippy::cast_possible_truncation, reason = "a share of a bar")]
    let share = share.clamp(0.0, 1.0) as f32;
    rect.set_width(rect.width() * share);
    ui.painter().rect_filled(rect, 2.0, theme.accent);
}

fn pool_ui(ui: &mut Ui, theme: &Theme, pool: &PoolTime) {
    ui.spacing_mut().item_spacing = vec2(0.0, 1.0);
    ui.spacing_mut().interact_size.y = ROW;
    ui.add(Label::new(RichText::new(&pool.pool).family(style::semibold())).truncate());
    let counts = format!(
        "{:.0} % busy · {} run, {} wait · KV {:.0} %",
        pool.busy * 100.0,
        short(pool.running),
        short(pool.waiting),
        pool.kv * 100.0
    );
    ui.label(RichText::new(counts).small().color(theme.text_muted))
        .on_hover_text("Requests and KV memory on average while steps run");
    // A pool that only prefills or only decodes has one column.
    let phases: Vec<&PhaseTime> = pool.phases.iter().filter(|p| p.steps > 0).collect();
    row(ui, |ui| {
        name_ui(ui, theme, "of device time");
        for phase in &phases {
            let words = RichText::new(format!("steps {}", phase.carries)).small();
            let hover = format!(
                "{} steps, {:.0} tokens each, {:.0} of them decodes",
                phase.steps, phase.tokens_per_step, phase.decodes_per_step
            );
            cell(ui, |ui| {
                ui.label(words.color(theme.text_muted)).on_hover_text(hover);
            });
        }
    });
    let share = |seconds: f64| seconds / pool.seconds.max(f64::MIN_POSITIVE);
    let of = |name: &str, phase: &PhaseTime| {
        let found = phase.by_class.iter().find(|(class, _)| *class == name);
        found.map_or(0.0, |(_, seconds)| share(*seconds))
    };
    for class in Class::ALL {
        let shares: Vec<f64> = phases.iter().map(|p| of(class.name(), p)).collect();
        if shares.iter().all(|share| *share < 5e-4) {
            continue;
        }
        row(ui, |ui| {
            name_ui(ui, theme, class.name());
            for share in shares {
                cell(ui, |ui| share_ui(ui, theme, share));
            }
        });
    }
    if phases.len() > 1 {
        row(ui, |ui| {
            name_ui(ui, theme, "all");
            for phase in &phases {
                cell(ui, |ui| share_ui(ui, theme, share(phase.seconds)));
            }
        });
    }
}

fn row(ui: &mut Ui, add: impl FnOnce(&mut Ui)) {
    ui.horizontal(|ui| {
        ui.set_height(ROW);
        add(ui);
    });
}

fn cell(ui: &mut Ui, add: impl FnOnce(&mut Ui)) {
    let layout = Layout::left_to_right(Align::Center);
    ui.allocate_ui_with_layout(vec2(COLUMN, ROW), layout, |ui| {
        ui.set_min_width(COLUMN);
        add(ui);
    });
}

fn name_ui(ui: &mut Ui, theme: &Theme, words: &str) {
    let layout = Layout::left_to_right(Align::Center);
    ui.allocate_ui_with_layout(vec2(NAMES, ROW), layout, |ui| {
        ui.set_min_width(NAMES);
        ui.add(Label::new(RichText::new(words).small().color(theme.text_muted)).truncate());
    });
}

fn share_ui(ui: &mut Ui, theme: &Theme, share: f64) {
    let (rect, _) = ui.allocate_exact_size(vec2(56.0, ROW), Sense::hover());
    bar(ui, theme, rect, share);
    ui.add_space(6.0);
    let words = if share < 5e-4 {
        "–".to_owned()
    } else {
        format!("{:.1} %", share * 100.0)
    };
    ui.label(RichText::new(words).small().color(theme.text));
}
