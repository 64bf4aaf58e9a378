//! The workload and the limits: shared by all designs, because they are compared on it.

mod lengths;
mod trace;
mod turns;

use super::Inspected;
use crate::app::command::Actions;
use crate::app::edit::Edit;
use crate::app::widgets::{Rows, choice, count_field, number_field, section, typed_field};
use crate::project::Project;
use crate::report::Statistic;
use crate::units::Seconds;
use crate::workload::{Arrivals, MAX_REQUESTS, Process};
use eframe::egui::Ui;
use lengths::length_ui;
use trace::trace_ui;
use turns::{conversations_ui, hidden_ui, priorities_ui};

pub(super) fn workload_ui(ui: &mut Ui, view: &Inspected<'_>, actions: &mut Actions) {
    let theme = view.theme;
    let rows = Rows::new(theme);
    let workload = &view.project.workload;
    section(ui, theme, "Workload");
    arrivals_ui(ui, view, &rows, actions);
    if workload.arrivals != Arrivals::Trace {
        let input = if workload.sessions.is_some() {
            "New input"
        } else {
            "Input"
        };
        length_ui(ui, &rows, input, workload.input, actions, |p, l| {
            p.workload.input = l
        });
        length_ui(ui, &rows, "Output", workload.output, actions, |p, l| {
            p.workload.output = l
        });
    }
    let requests = rows.field(
        ui,
        "Requests",
        "Requests of one run; a turn of a conversation is one",
        |ui| {
            let least = u64::from(workload.arrivals != Arrivals::Trace);
            count_field(ui, workload.requests, least..=MAX_REQUESTS)
        },
    );
    if let Some(n) = requests {
        edit(actions, "Requests", true, move |p| p.workload.requests = n);
    }
    let seed = rows.field(
        ui,
        "Seed",
        "Of every random stream: the same seed, the same results",
        |ui| count_field(ui, workload.seed, 0..=u64::from(u32::MAX)),
    );
    if let Some(seed) = seed {
        edit(actions, "Seed", true, move |p| p.workload.seed = seed);
    }

    if workload.arrivals != Arrivals::Trace {
        conversations_ui(ui, theme, &rows, workload, actions);
        hidden_ui(ui, theme, &rows, workload, actions);
    }
    priorities_ui(ui, &rows, workload, actions);

    section(ui, theme, "Limits");
    let slo = view.project.slo;
    let ttft = rows.field(ui, "TTFT", "Longest time to first token", |ui| {
        let typed = typed_field::<Seconds>(ui, theme, "slo-ttft", slo.ttft);
        (typed.value, typed.response)
    });
    if let Some(time) = ttft {
        edit(actions, "TTFT limit", false, move |p| p.slo.ttft = time);
    }
    let tpot = rows.field(ui, "TPOT", "Longest time per output token", |ui| {
        let typed = typed_field::<Seconds>(ui, theme, "slo-tpot", slo.tpot);
        (typed.value, typed.response)
    });
    if let Some(time) = tpot {
        edit(actions, "TPOT limit", false, move |p| p.slo.tpot = time);
    }
    let share = rows.field(
        ui,
        "Met by",
        "Share of requests that must meet both",
        |ui| number_field(ui, slo.attainment * 100.0, 1.0..=100.0, 0.2, " %"),
    );
    if let Some(share) = share {
        edit(actions, "Share that meets the limits", true, move |p| {
            p.slo.attainment = share / 100.0;
        });
    }

    section(ui, theme, "Curve");
    let points = rows.field(ui, "Points", "Loads simulated per design", |ui| {
        count_field(ui, u64::from(view.project.curve.points), 2..=64)
    });
    if let Some(points) = points.and_then(|n| u32::try_from(n).ok()) {
        edit(actions, "Points of the curve", true, move |p| {
            p.curve.points = points
        });
    }
    let shown = Statistic::nearest(view.project.curve.percentile);
    let percentile = rows.field(ui, "Percentile", "Of TTFT and TPOT, as plotted", |ui| {
        choice(ui, "percentile", &shown, &Statistic::ALL[1..], |s| {
            s.name().to_owned()
        })
    });
    if let Some(percentile) = percentile.and_then(Statistic::percentile) {
        edit(actions, "Percentile", false, move |p| {
            p.curve.percentile = percentile
        });
    }
}

/// An edit of the project; scrubbed numbers are one step.
fn edit(
    actions: &mut Actions,
    label: &str,
    scrubbed: bool,
    change: impl FnOnce(&mut Project) + 'static,
) {
    let edit = Edit::project(format!("Change {}", lower(label)), change);
    actions.edit(if scrubbed {
        edit.merged(format!("workload/{label}"))
    } else {
        edit
    });
}

/// `Requests` inside a sentence; `TTFT` stays.
fn lower(label: &str) -> String {
    let mut chars = label.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => label.to_owned(),
    }
}

const fn arrivals_name(arrivals: Arrivals) -> &'static str {
    match arrivals {
        Arrivals::Open {
            process: Process::Poisson,
        } => "Poisson",
        Arrivals::Open {
            process: Process::Gamma { .. },
        } => "Gamma (bursts)",
        Arrivals::Open {
            process: Process::Constant,
        } => "Constant rate",
        Arrivals::Closed => "Closed loop",
        Arrivals::Trace => "Trace",
    }
}

fn arrivals_ui(ui: &mut Ui, view: &Inspected<'_>, rows: &Rows<'_>, actions: &mut Actions) {
    let now = view.project.workload.arrivals;
    let cv = match now {
        Arrivals::Open {
            process: Process::Gamma { cv },
        } => cv,
        _ => 2.0,
    };
    let all = [
        Arrivals::Open {
            process: Process::Poisson,
        },
        Arrivals::Open {
            process: Process::Gamma { cv },
        },
        Arrivals::Open {
            process: Process::Constant,
        },
        Arrivals::Closed,
        Arrivals::Trace,
    ];
    let chosen = rows.field(ui, "Arrivals", "When requests come", |ui| {
        choice(ui, "arrivals", &now, &all, |a| arrivals_name(*a).to_owned())
    });
    if let Some(arrivals) = chosen {
        // Loads of another kind mean nothing any more: 8 requests in flight are not 8 a second.
        edit(actions, "Arrivals", false, move |p| {
            p.workload.arrivals = arrivals;
            p.curve.loads.clear();
        });
    }
    if let Arrivals::Open {
        process: Process::Gamma { cv },
    } = now
    {
        let help = "Standard deviation of the gaps over their mean; 1 is Poisson";
        let changed = rows.field(ui, "Burstiness", help, |ui| {
            number_field(ui, cv, 0.05..=20.0, 0.02, "")
        });
        if let Some(cv) = changed {
            edit(actions, "Burstiness", true, move |p| {
                p.workload.arrivals = Arrivals::Open {
                    process: Process::Gamma { cv },
                };
            });
        }
    }
    if now == Arrivals::Trace {
        trace_ui(ui, view, rows, actions);
    }
}
