//! The trace that is replayed, and how it is read.

use super::edit;
use crate::app::command::{Action, Actions};
use crate::app::files::{FileTask, Purpose};
use crate::app::inspector::Inspected;
use crate::app::widgets::{Rows, choice, count_field, hint, number_field};
use crate::units::Seconds;
use crate::workload::{MAX_TOKENS, TRACE_BLOCK, Ties, TraceOptions, Window};
use eframe::egui::{RichText, Ui};

/// Longest window that can be typed, s: a month.
const MAX_WINDOW: f64 = 31.0 * 86_400.0;

pub(super) fn trace_ui(ui: &mut Ui, view: &Inspected<'_>, rows: &Rows<'_>, actions: &mut Actions) {
    let file = view.project.workload.trace.as_ref();
    let name = file.map_or("Choose a file…", |file| {
        file.path.rsplit(['/', '\\']).next().unwrap_or(&file.path)
    });
    let clicked = rows.field(
        ui,
        "Trace",
        "A CSV with arrival times and lengths, or JSON lines after Mooncake with block hashes",
        |ui| {
            let button = ui.add_sized(
                [ui.available_width(), ui.spacing().interact_size.y],
                eframe::egui::Button::new(name).truncate(),
            );
            (button.clicked(), button)
        },
    );
    if clicked {
        actions.push(Action::File(FileTask::Ask(Purpose::Trace)));
    }
    if let Some(note) = &view.trace_note {
        ui.add(
            eframe::egui::Label::new(RichText::new(note).small().color(view.theme.warning)).wrap(),
        );
    } else if file.is_none() {
        hint(ui, view.theme, "Arrivals and lengths come from the trace");
    }
    if let Some(trace) = view.trace {
        hint(ui, view.theme, trace.about());
        for warning in &trace.warnings {
            hint(ui, view.theme, warning);
        }
    }
    if let Some(file) = file {
        options_ui(ui, rows, &file.options, actions);
    }
}

/// An edit of how the trace is read.
fn change(
    actions: &mut Actions,
    label: &str,
    scrubbed: bool,
    set: impl FnOnce(&mut TraceOptions) + 'static,
) {
    edit(actions, label, scrubbed, move |p| {
        if let Some(file) = &mut p.workload.trace {
            set(&mut file.options);
        }
    });
}

const fn ties_name(ties: Ties) -> &'static str {
    match ties {
        Ties::Together => "together",
        Ties::Even => "evenly spread",
        Ties::Random => "randomly spread",
    }
}

fn options_ui(ui: &mut Ui, rows: &Rows<'_>, options: &TraceOptions, actions: &mut Actions) {
    let all = [Ties::Together, Ties::Even, Ties::Random];
    let help = "Requests recorded at the same time arrive together, or spread until the next time";
    let ties = rows.field(ui, "Ties", help, |ui| {
        choice(ui, "ties", &options.ties, &all, |t| {
            ties_name(*t).to_owned()
        })
    });
    if let Some(ties) = ties {
        change(actions, "Ties of the trace", false, move |o| o.ties = ties);
    }
    let help = "Requests without answer tokens: an error of the file, or failures to leave out";
    let failed = rows.field(ui, "Failed", help, |ui| {
        choice(ui, "failed", &options.drop_failed, &[false, true], |drop| {
            if *drop { "left out" } else { "refused" }.to_owned()
        })
    });
    if let Some(drop) = failed {
        change(actions, "Failed requests", false, move |o| {
            o.drop_failed = drop
        });
    }
    let block = u64::from(options.block_tokens.unwrap_or(TRACE_BLOCK));
    let block = rows.field(ui, "Block", "Prompt tokens of a hashed block", |ui| {
        count_field(ui, block, 1..=MAX_TOKENS)
    });
    if let Some(block) = block.and_then(|n| u32::try_from(n).ok()) {
        change(actions, "Block of the trace", true, move |o| {
            o.block_tokens = (block != TRACE_BLOCK).then_some(block);
        });
    }
    let (from, to) = options
        .window
        .map_or((0.0, 0.0), |w| (w.from.get(), w.to.get()));
    let help = "Replay the requests from here on, after the first";
    let new_from = rows.field(ui, "From", help, |ui| {
        number_field(ui, from, 0.0..=MAX_WINDOW, 1.0, " s")
    });
    let new_to = rows.field(ui, "To", "Replay the requests before this; 0: all", |ui| {
        number_field(ui, to, 0.0..=MAX_WINDOW, 1.0, " s")
    });
    if new_from.is_some() || new_to.is_some() {
        let window = window_of(new_from.unwrap_or(from), new_to.unwrap_or(to));
        change(actions, "Window of the trace", true, move |o| {
            o.window = window
        });
    }
}

/// A window from two fields; an end that is not after the start means there is none.
fn window_of(from: f64, to: f64) -> Option<Window> {
    let to = if to > from { to } else { MAX_WINDOW };
    let whole = from <= 0.0 && to >= MAX_WINDOW;
    (!whole).then(|| Window {
        from: Seconds::new(from),
        to: Seconds::new(to),
    })
}
