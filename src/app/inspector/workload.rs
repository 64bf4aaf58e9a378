//! The workload and the limits: shared by all designs, because they are compared on it.

use super::Inspected;
use crate::app::command::{Action, Actions};
use crate::app::edit::Edit;
use crate::app::files::{FileTask, Purpose};
use crate::app::widgets::{Rows, choice, count_field, hint, number_field, section, typed_field};
use crate::project::Project;
use crate::report::Statistic;
use crate::units::{Seconds, Tokens};
use crate::workload::{Arrivals, Length, MAX_REQUESTS, MAX_TOKENS, Process};
use eframe::egui::{RichText, Ui};

pub(super) fn workload_ui(ui: &mut Ui, view: &Inspected<'_>, actions: &mut Actions) {
    let theme = view.theme;
    let rows = Rows::new(theme);
    let workload = &view.project.workload;
    section(ui, theme, "Workload");
    arrivals_ui(ui, view, &rows, actions);
    if workload.arrivals != Arrivals::Trace {
        length_ui(ui, &rows, "Input", workload.input, actions, |p, l| {
            p.workload.input = l
        });
        length_ui(ui, &rows, "Output", workload.output, actions, |p, l| {
            p.workload.output = l
        });
    }
    let requests = rows.field(ui, "Requests", "Requests of one run", |ui| {
        let least = u64::from(workload.arrivals != Arrivals::Trace);
        count_field(ui, workload.requests, least..=MAX_REQUESTS)
    });
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

fn trace_ui(ui: &mut Ui, view: &Inspected<'_>, rows: &Rows<'_>, actions: &mut Actions) {
    let file = view.project.workload.trace.as_ref();
    let name = file.map_or("Choose a CSV file…", |file| {
        file.path.rsplit(['/', '\\']).next().unwrap_or(&file.path)
    });
    let clicked = rows.field(ui, "Trace", "A CSV with arrival times and lengths", |ui| {
        let button = ui.add_sized(
            [ui.available_width(), ui.spacing().interact_size.y],
            eframe::egui::Button::new(name).truncate(),
        );
        (button.clicked(), button)
    });
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
}

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Fixed,
    Uniform,
    LogNormal,
}

impl Shape {
    const ALL: [Self; 3] = [Self::Fixed, Self::Uniform, Self::LogNormal];

    const fn of(length: Length) -> Self {
        match length {
            Length::Fixed(_) => Self::Fixed,
            Length::Uniform { .. } => Self::Uniform,
            Length::LogNormal { .. } => Self::LogNormal,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Uniform => "uniform",
            Self::LogNormal => "log-normal",
        }
    }

    /// The same mean in another shape.
    fn with_mean_of(self, length: Length) -> Length {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bounded by MAX_TOKENS"
        )]
        let mean = (length.mean().round() as u64).clamp(1, MAX_TOKENS);
        let tokens = |n: u64| Tokens::new(n.clamp(1, MAX_TOKENS));
        match self {
            Self::Fixed => Length::Fixed(tokens(mean)),
            Self::Uniform => Length::Uniform {
                min: tokens(mean / 2),
                max: tokens(mean + mean / 2),
            },
            Self::LogNormal => Length::LogNormal {
                mean: tokens(mean),
                cv: 1.0,
                max: tokens(mean * 8),
            },
        }
    }
}

fn length_ui(
    ui: &mut Ui,
    rows: &Rows<'_>,
    what: &'static str,
    length: Length,
    actions: &mut Actions,
    set: fn(&mut Project, Length),
) {
    let shape = Shape::of(length);
    let chosen = rows.field(ui, what, "Lengths in tokens", |ui| {
        choice(ui, (what, "shape"), &shape, &Shape::ALL, |s| {
            s.name().to_owned()
        })
    });
    if let Some(shape) = chosen {
        let next = shape.with_mean_of(length);
        edit(actions, &format!("{what} lengths"), false, move |p| {
            set(p, next)
        });
    }
    let tokens = |ui: &mut Ui, words: &str, now: Tokens, range| {
        rows.field(ui, words, "", |ui| {
            let (changed, response) = count_field(ui, now.get(), range);
            (changed.map(Tokens::new), response)
        })
    };
    let next = match length {
        Length::Fixed(n) => {
            tokens(ui, &format!("{what} tokens"), n, 1..=MAX_TOKENS).map(Length::Fixed)
        }
        Length::Uniform { min, max } => {
            let low = tokens(ui, "· from", min, 1..=max.get());
            let high = tokens(ui, "· to", max, min.get()..=MAX_TOKENS);
            (low.is_some() || high.is_some()).then(|| Length::Uniform {
                min: low.unwrap_or(min),
                max: high.unwrap_or(max),
            })
        }
        Length::LogNormal { mean, cv, max } => {
            let new_mean = tokens(ui, "· mean", mean, 1..=MAX_TOKENS);
            let new_cv = rows.field(ui, "· spread", "Standard deviation over mean", |ui| {
                number_field(ui, cv, 0.0..=20.0, 0.01, "")
            });
            let new_max = tokens(ui, "· at most", max, 1..=MAX_TOKENS);
            (new_mean.is_some() || new_cv.is_some() || new_max.is_some()).then(|| {
                Length::LogNormal {
                    mean: new_mean.unwrap_or(mean),
                    cv: new_cv.unwrap_or(cv),
                    max: new_max.unwrap_or(max),
                }
            })
        }
    };
    if let Some(next) = next {
        edit(actions, &format!("{what} lengths"), true, move |p| {
            set(p, next)
        });
    }
}
