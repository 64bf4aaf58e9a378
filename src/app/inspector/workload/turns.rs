//! Conversations, hidden rounds and priorities.

use super::edit;
use super::lengths::length_ui;
use crate::app::command::Actions;
use crate::app::theme::Theme;
use crate::app::widgets::{Rows, choice, count_field, number_field, typed_field};
use crate::project::Project;
use crate::units::{Seconds, Tokens};
use crate::workload::{
    Count, Hidden, Length, MAX_CLASSES, MAX_SYSTEM_PROMPTS, MAX_TOKENS, MAX_TURNS, PriorityClass,
    Sessions, SystemPrompt, Wait, Workload,
};
use eframe::egui::Ui;

/// What switching conversations on begins with: short chats of people who read and type.
const CHAT: Sessions = Sessions {
    turns: Count::Geometric { mean: 4.0, max: 20 },
    think: Wait {
        mean: Seconds::new(10.0),
        cv: 1.0,
    },
    system: None,
};

/// What switching hidden rounds on begins with: a few calls of a tool that takes a second.
const TOOLS: Hidden = Hidden {
    rounds: Count::Fixed(2),
    tokens: Length::Fixed(Tokens::new(128)),
    tool: Some(Length::Fixed(Tokens::new(256))),
    wait: Wait {
        mean: Seconds::new(1.0),
        cv: 1.0,
    },
    kept: true,
};

/// A switch with words for off and on.
fn switch(
    ui: &mut Ui,
    rows: &Rows<'_>,
    words: &str,
    help: &str,
    on: bool,
    names: [&str; 2],
) -> Option<bool> {
    rows.field(ui, words, help, |ui| {
        choice(ui, words.to_owned(), &on, &[false, true], |on| {
            names[usize::from(*on)].to_owned()
        })
    })
}

fn sessions(project: &mut Project, set: impl FnOnce(&mut Sessions)) {
    if let Some(sessions) = &mut project.workload.sessions {
        set(sessions);
    }
}

fn hidden(project: &mut Project, set: impl FnOnce(&mut Hidden)) {
    if let Some(hidden) = &mut project.workload.hidden {
        set(hidden);
    }
}

pub(super) fn conversations_ui(
    ui: &mut Ui,
    theme: &Theme,
    rows: &Rows<'_>,
    workload: &Workload,
    actions: &mut Actions,
) {
    let help = "Turns that follow each other: each prompt holds what was said before";
    let names = ["single requests", "multi-turn"];
    if let Some(on) = switch(
        ui,
        rows,
        "Sessions",
        help,
        workload.sessions.is_some(),
        names,
    ) {
        edit(actions, "Sessions", false, move |p| {
            p.workload.sessions = on.then_some(CHAT);
        });
    }
    let Some(now) = workload.sessions else { return };
    count_ui(ui, rows, "Turns", 1, now.turns, actions, |p, count| {
        sessions(p, |s| s.turns = count);
    });
    wait_ui(
        ui,
        theme,
        rows,
        "Think time",
        now.think,
        actions,
        |p, wait| {
            sessions(p, |s| s.think = wait);
        },
    );
    let tokens = now.system.map_or(0, |s| s.tokens.get());
    let distinct = now.system.map_or(1, |s| s.distinct);
    let help = "Tokens every conversation begins with; 0: none";
    let new_tokens = rows.field(ui, "System prompt", help, |ui| {
        count_field(ui, tokens, 0..=MAX_TOKENS)
    });
    let help = "How many different system prompts there are";
    let new_distinct = (tokens > 0)
        .then(|| {
            rows.field(ui, "· different", help, |ui| {
                count_field(ui, u64::from(distinct), 1..=u64::from(MAX_SYSTEM_PROMPTS))
            })
        })
        .flatten();
    if new_tokens.is_some() || new_distinct.is_some() {
        let tokens = new_tokens.unwrap_or(tokens);
        let distinct = new_distinct
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or(distinct);
        edit(actions, "System prompt", true, move |p| {
            sessions(p, |s| {
                s.system = (tokens > 0).then(|| SystemPrompt {
                    tokens: Tokens::new(tokens),
                    distinct,
                });
            });
        });
    }
}

pub(super) fn hidden_ui(
    ui: &mut Ui,
    theme: &Theme,
    rows: &Rows<'_>,
    workload: &Workload,
    actions: &mut Actions,
) {
    let help = "Reasoning and tool calls whose answers nobody reads, before the answer";
    let names = ["none", "reasoning or tools"];
    if let Some(on) = switch(
        ui,
        rows,
        "Hidden rounds",
        help,
        workload.hidden.is_some(),
        names,
    ) {
        edit(actions, "Hidden rounds", false, move |p| {
            p.workload.hidden = on.then_some(TOOLS);
        });
    }
    let Some(now) = workload.hidden else { return };
    count_ui(ui, rows, "Rounds", 0, now.rounds, actions, |p, count| {
        hidden(p, |h| h.rounds = count);
    });
    length_ui(
        ui,
        rows,
        "Round output",
        now.tokens,
        actions,
        |p, length| {
            hidden(p, |h| h.tokens = length);
        },
    );
    let help = "Whether what a tool returns is added to the next prompt";
    let names = ["adds nothing", "adds tokens"];
    if let Some(on) = switch(ui, rows, "Tool", help, now.tool.is_some(), names) {
        edit(actions, "Tool", false, move |p| {
            hidden(p, |h| h.tool = if on { TOOLS.tool } else { None });
        });
    }
    if let Some(tool) = now.tool {
        length_ui(ui, rows, "Tool result", tool, actions, |p, length| {
            hidden(p, |h| h.tool = Some(length));
        });
    }
    wait_ui(
        ui,
        theme,
        rows,
        "Tool wait",
        now.wait,
        actions,
        |p, wait| {
            hidden(p, |h| h.wait = wait);
        },
    );
    let help = "Whether the prompts of later turns hold the hidden rounds";
    if let Some(kept) = switch(
        ui,
        rows,
        "Later turns",
        help,
        now.kept,
        ["forget them", "see them"],
    ) {
        edit(actions, "Later turns", false, move |p| {
            hidden(p, |h| h.kept = kept);
        });
    }
}

/// A number of turns or rounds: the shape and its numbers.
fn count_ui(
    ui: &mut Ui,
    rows: &Rows<'_>,
    what: &'static str,
    least: u32,
    count: Count,
    actions: &mut Actions,
    set: fn(&mut Project, Count),
) {
    let mean = count.mean(least);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bounded by MAX_TURNS"
    )]
    let whole = (mean.round() as u32).clamp(least, MAX_TURNS);
    let most = whole.saturating_mul(2).clamp(least, MAX_TURNS);
    let shapes = [
        Count::Fixed(whole),
        Count::Uniform {
            min: least,
            max: most,
        },
        Count::Geometric {
            mean: f64::from(whole),
            max: whole.saturating_mul(8).clamp(least, MAX_TURNS),
        },
    ];
    let name = |count: &Count| match count {
        Count::Fixed(_) => "fixed",
        Count::Uniform { .. } => "uniform",
        Count::Geometric { .. } => "geometric",
    };
    let shown = shapes.into_iter().find(|shape| name(shape) == name(&count));
    let chosen = rows.field(ui, what, "How many", |ui| {
        choice(ui, (what, "shape"), &shown.unwrap_or(count), &shapes, |c| {
            name(c).to_owned()
        })
    });
    if let Some(next) = chosen {
        edit(actions, what, false, move |p| set(p, next));
    }
    let number = |ui: &mut Ui, words: &str, now: u32, from: u32, to: u32| {
        let field = |ui: &mut Ui| count_field(ui, u64::from(now), u64::from(from)..=u64::from(to));
        rows.field(ui, words, "", field)
            .and_then(|n| u32::try_from(n).ok())
    };
    let next = match count {
        Count::Fixed(n) => number(ui, "· number", n, least, MAX_TURNS).map(Count::Fixed),
        Count::Uniform { min, max } => {
            let low = number(ui, "· from", min, least, max);
            let high = number(ui, "· to", max, min, MAX_TURNS);
            (low.is_some() || high.is_some()).then(|| Count::Uniform {
                min: low.unwrap_or(min),
                max: high.unwrap_or(max),
            })
        }
        Count::Geometric { mean, max } => {
            let new_mean = rows.field(ui, "· mean", "Before clipping", |ui| {
                number_field(ui, mean, f64::from(least)..=f64::from(max), 0.05, "")
            });
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "bounded by MAX_TURNS"
            )]
            let from = mean.ceil() as u32;
            let new_max = number(ui, "· at most", max, from.max(1), MAX_TURNS);
            (new_mean.is_some() || new_max.is_some()).then(|| Count::Geometric {
                mean: new_mean.unwrap_or(mean),
                max: new_max.unwrap_or(max),
            })
        }
    };
    if let Some(next) = next {
        edit(actions, what, true, move |p| set(p, next));
    }
}

fn wait_ui(
    ui: &mut Ui,
    theme: &Theme,
    rows: &Rows<'_>,
    what: &'static str,
    wait: Wait,
    actions: &mut Actions,
    set: fn(&mut Project, Wait),
) {
    let mean = rows.field(ui, what, "Mean", |ui| {
        let typed = typed_field::<Seconds>(ui, theme, what, wait.mean);
        (typed.value, typed.response)
    });
    if let Some(mean) = mean {
        edit(actions, what, false, move |p| set(p, Wait { mean, ..wait }));
    }
    let help = "Standard deviation over mean; 0 is constant, 1 exponential";
    let cv = rows.field(ui, "· spread", help, |ui| {
        number_field(ui, wait.cv, 0.0..=20.0, 0.01, "")
    });
    if let Some(cv) = cv {
        edit(actions, what, true, move |p| set(p, Wait { cv, ..wait }));
    }
}

pub(super) fn priorities_ui(
    ui: &mut Ui,
    rows: &Rows<'_>,
    workload: &Workload,
    actions: &mut Actions,
) {
    let help = "How many priorities requests have (a trace's own go first); the lowest is served first, where the engine looks at it";
    let classes = &workload.priorities;
    let count = rows.field(ui, "Priorities", help, |ui| {
        count_field(ui, classes.len().max(1) as u64, 1..=MAX_CLASSES as u64)
    });
    if let Some(count) = count.and_then(|n| usize::try_from(n).ok()) {
        edit(actions, "Priorities", true, move |p| {
            let classes = &mut p.workload.priorities;
            while classes.len() < count {
                let priority = i32::try_from(classes.len()).unwrap_or(0);
                classes.push(PriorityClass {
                    priority,
                    share: 1.0,
                });
            }
            classes.truncate(count);
            // One class is none.
            if count == 1 {
                classes.clear();
            }
        });
    }
    for (index, class) in classes.iter().enumerate() {
        let priority = rows.field(ui, "· priority", "The lowest is served first", |ui| {
            number_field(ui, f64::from(class.priority), -1e6..=1e6, 0.05, "")
        });
        if let Some(priority) = priority {
            #[expect(clippy::cast_possible_truncation, reason = "bounded by the field")]
            let priority = priority.round() as i32;
            edit(actions, "Priority", true, move |p| {
                if let Some(class) = p.workload.priorities.get_mut(index) {
                    class.priority = priority;
                }
            });
        }
        let share = rows.field(ui, "· share", "Relative to the other classes", |ui| {
            number_field(ui, class.share, 0.001..=1e6, 0.01, "")
        });
        if let Some(share) = share {
            edit(actions, "Share of a priority", true, move |p| {
                if let Some(class) = p.workload.priorities.get_mut(index) {
                    class.share = share;
                }
            });
        }
    }
}
